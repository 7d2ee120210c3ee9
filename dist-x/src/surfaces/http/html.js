/** Safe HTML. Templates insert it without escaping. */
export class Html {
    text;
    constructor(text) {
        this.text = text;
    }
}
/** Escapes every value that is not `Html`, joins lists, and leaves out `undefined`. */
export const html = (parts, ...values) => new Html(parts.map((part, i) => part + render(values[i])).join(''));
function render(value) {
    if (value === undefined)
        return '';
    if (value instanceof Html)
        return value.text;
    if (typeof value === 'string' || typeof value === 'number')
        return escapeHtml(String(value));
    return value.map(render).join('');
}
const ENTITIES = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    "'": '&#39;',
};
export const escapeHtml = (text) => text.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char);
export const slug = (text) => text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '');
//# sourceMappingURL=html.js.map
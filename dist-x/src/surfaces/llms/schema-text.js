/** In characters. For a value with a longer pattern, the description is easier to read. OpenAPI has all patterns. */
const PATTERN_MAX = 60;
/** A type in words, such as `string of at most 240 characters or null`. */
export function typeText(node, nameOf) {
    const name = nameOf(node);
    if (name !== undefined)
        return name;
    if (node.const !== undefined)
        return code(node.const);
    if (node.enum)
        return node.enum
            .map(code)
            .join(', ')
            .replace(/, ([^,]*)$/, ' or $1');
    const alternatives = node.anyOf ?? node.oneOf;
    if (alternatives)
        return either(alternatives.map((one) => typeText(one, nameOf)));
    if (typeof node.type === 'object')
        return either(node.type.map((type) => typeText({ ...node, type }, nameOf)));
    if (node.type === 'array')
        return arrayText(node, nameOf);
    if (node.type === 'string')
        return stringText(node);
    if (node.type === 'integer' || node.type === 'number')
        return node.type + range(node.minimum, node.maximum);
    return node.type ?? 'any JSON value';
}
/** Joins types with "or", null before an array: "array of strings or null" could mean that the items are null. */
function either(types) {
    const [different, others] = [[...new Set(types)], types.filter((type) => type !== 'null')];
    if (others.length < types.length && others.some((type) => type.startsWith('array'))) {
        return `null or ${others.join(' or ')}`;
    }
    return different.join(' or ');
}
function arrayText({ items, prefixItems, maxItems }, nameOf) {
    if (prefixItems)
        return `[${prefixItems.map(({ type }) => type ?? 'any').join(', ')}]`;
    const size = maxItems === undefined ? '' : ` (at most ${maxItems})`;
    return `array${size} of ${items ? typeText(items, nameOf) : 'any values'}`;
}
function stringText({ format, pattern = '', description = '', minLength, maxLength }) {
    if (format !== undefined)
        return `${format} string`;
    const [, prefix] = /^\^([a-z]+)_\[0-9\]/.exec(pattern) ?? [];
    // An id's description often contains its prefix already.
    if (prefix !== undefined)
        return description.includes(`${prefix}_`) ? 'string' : `string ${code(`${prefix}_…`)}`;
    const length = range(minLength, maxLength);
    const size = length === '' ? '' : ` of${length} characters`;
    return `string${size}${pattern !== '' && pattern.length <= PATTERN_MAX ? ` matching ${code(pattern)}` : ''}`;
}
function range(minimum, maximum) {
    if (minimum === undefined)
        return maximum === undefined ? '' : ` at most ${grouped(maximum)}`;
    if (maximum === undefined)
        return minimum === 0 ? ' from 0' : ` at least ${grouped(minimum)}`;
    return minimum === maximum ? ` ${grouped(minimum)}` : ` ${grouped(minimum)} to ${grouped(maximum)}`;
}
const grouped = (value) => value.toLocaleString('en-US');
export const code = (value) => `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
export const codes = (values) => values.map(code).join(', ');
/** Lists the members of a value as a nested list. `?` after a name: the member can be absent. */
export function outline(node, nameOf, indent = '') {
    const forms = objectsIn(node, nameOf);
    return forms.flatMap((form, index) => {
        if (forms.length === 1)
            return membersOf(form, nameOf, indent);
        return [`${indent}- ${index === 0 ? 'either' : 'or'}:`, ...membersOf(form, nameOf, `${indent}  `)];
    });
}
function membersOf({ properties = {}, required = [] }, nameOf, indent) {
    return Object.entries(properties).flatMap(([name, property]) => {
        const optional = required.includes(name) ? '' : '?';
        const line = `${indent}- ${code(name)}${optional}: ${typeText(property, nameOf)}.${aboutText(property)}`;
        return [line, ...outline(property, nameOf, `${indent}  `)];
    });
}
/** With a space before. Ids such as `cnv_{tenant}_{site}` become code: underscores are emphasis in Markdown. */
export const aboutText = ({ description }) => description === undefined ? '' : ` ${description.replace(/\w+_\{\w+\}(_\{\w+\})*/g, code)}`;
function objectsIn(node, nameOf) {
    if (nameOf(node) !== undefined)
        return [];
    if (node.properties)
        return [node];
    return [...(node.anyOf ?? node.oneOf ?? []), ...(node.items ? [node.items] : [])].flatMap((one) => objectsIn(one, nameOf));
}
//# sourceMappingURL=schema-text.js.map
import { FAILURE_CODES } from '../../../core/failures.js';
import { html } from '../../http/html.js';
export const addressOf = ({ name }) => `/docs/reference/${name}`;
const CODES = new Set(FAILURE_CODES);
/** A name with an underscore, such as `next_cursor`, or a pattern with braces, such as `web_{tenant}_{site}`. */
const NAME = /[\w/]*\{\w+\}[\w{}]*|\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b/g;
/** A description as HTML. Names become code. Names of operations and failures become links. */
export function words(text, registry) {
    const parts = [];
    let end = 0;
    for (const { 0: name, index } of text.matchAll(NAME)) {
        parts.push(html `${text.slice(end, index)}${named(name, registry)}`);
        end = index + name.length;
    }
    return html `${parts}${text.slice(end)}`;
}
function named(name, registry) {
    const tool = registry.get(name);
    if (tool)
        return html `<a href="${addressOf(tool)}"><code>${name}</code></a>`;
    if (CODES.has(name))
        return html `<a href="/docs/errors#${name}"><code>${name}</code></a>`;
    return html `<code>${name}</code>`;
}
/** Values as code, separated by spaces so that a long list can continue on the next line. */
export const codes = (values) => values.map((value) => html `<code>${typeof value === 'string' ? value : JSON.stringify(value)}</code> `);
/** The scopes and flags that a caller needs, as links to the page of scopes. */
export const grants = ({ scopes, dataAccess }) => html `${scopes.map((scope) => html `<a class="chip scope" href="/docs/scopes#${scope}">${scope}</a> `)}${dataAccess.map((flag) => html `<a class="chip flag" href="/docs/scopes#${flag}">${flag}</a> `)}`;
export const method = (tool) => html `<span class="method ${tool.method.toLowerCase()}">${tool.method}</span>`;
//# sourceMappingURL=words.js.map
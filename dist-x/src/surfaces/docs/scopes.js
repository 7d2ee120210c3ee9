import { CLASSES, GROUPS, SCOPE_TEXTS } from '../../core/scope-texts.js';
import { DATA_ACCESS } from '../../core/scopes.js';
import { html, slug } from '../http/html.js';
import { addressOf, grants } from './reference/words.js';
export const SCOPE_SECTIONS = [
    ...GROUPS.map(({ title }) => ({ id: slug(title), title })),
    { id: 'data-access', title: 'Data access' },
];
export const scopesBody = (registry) => html `
<h1>Scopes</h1>
<p class="lead">A credential has scopes and data-access flags. A scope opens operations. A flag opens a kind of data in
their answers. An answer leaves out the fields that are not granted.</p>
${GROUPS.map(({ title, sentence, scopes }) => html `
<h2 id="${slug(title)}"><a class="anchor" href="#${slug(title)}">${title}</a></h2>
<p>${sentence}</p>
<ul class="grants">${scopes.map((scope) => scopeEntry(scope, registry))}</ul>`)}
<h2 id="data-access"><a class="anchor" href="#data-access">Data access</a></h2>
<p>The flags apply in addition to the scopes.</p>
<ul class="grants">${DATA_ACCESS.map((flag) => flagEntry(flag, registry))}</ul>`;
function scopeEntry(scope, registry) {
    const { title, sentence, together, flags } = SCOPE_TEXTS[scope];
    const also = { scopes: together, dataAccess: flags };
    return html `
<li id="${scope}"><p class="name"><code>${scope}</code> ${title}</p>
<p>${sentence}</p>${together.length + flags.length > 0 ? html `<p class="needs">Has an effect only with ${grants(also)}</p>` : undefined}${opened(registry, ({ scopes }) => scopes.includes(scope))}</li>`;
}
const flagEntry = (flag, registry) => html `
<li id="${flag}"><p class="name"><code>${flag}</code></p>
<p>Shows ${CLASSES[flag]} in answers.</p>${opened(registry, ({ dataAccess }) => dataAccess.includes(flag))}</li>`;
/** The operations that need a grant, in every call or only with one of their parameters. */
function opened(registry, needs) {
    const always = registry.operations.filter(({ required }) => needs(required));
    const sometimes = registry.operations.filter((tool) => !always.includes(tool) && tool.when.some(needs));
    const link = (tool) => html `<a href="${addressOf(tool)}">${tool.name}</a> `;
    const count = always.length + sometimes.length;
    if (count === 0)
        return undefined;
    return html `<details><summary>${count} ${count === 1 ? 'operation' : 'operations'}</summary>
${always.length > 0 ? html `<p>Needed by ${always.map(link)}</p>` : undefined}${sometimes.length > 0 ? html `<p>Needed for some parameters of ${sometimes.map(link)}</p>` : undefined}</details>`;
}
//# sourceMappingURL=scopes.js.map
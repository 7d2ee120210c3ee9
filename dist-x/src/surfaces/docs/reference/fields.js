import { conditionName } from '../../../core/conditions.js';
import { nodeOf } from '../../../core/json-schema.js';
import { html } from '../../http/html.js';
import { codes, grants, words } from './words.js';
/** In characters. The description explains longer patterns, and has the form of an id instead of its pattern. */
const PATTERN_MAX = 60;
const OF_ID = /^\^[a-z]{3}_\[0-9\]/;
const alternatives = ({ anyOf, oneOf }) => anyOf ?? oneOf ?? [];
/** A type in words, such as `array of strings` or `integer or null`. */
export function typeName(node) {
    const several = alternatives(node);
    if (several.length > 0)
        return [...new Set(several.map(typeName))].join(' or ');
    if (typeof node.type === 'object')
        return node.type.join(' or ');
    if (node.type === 'array') {
        if (node.items)
            return `array of ${plural(typeName(node.items))}`;
        return node.prefixItems ? `[${node.prefixItems.map(typeName).join(', ')}]` : 'array';
    }
    if (node.format !== undefined)
        return `${node.format} string`;
    return node.type ?? 'any JSON value';
}
const plural = (type) => /^(?:\[|any)/.test(type) ? type : type.replace(/\b(string|object|integer|number|boolean)$/, '$1s');
const grouped = (value) => value.toLocaleString('en-US');
function range(unit, minimum, maximum) {
    if (minimum === undefined && maximum === undefined)
        return [];
    if (maximum === undefined)
        return [`at least ${grouped(minimum ?? 0)}${unit}`];
    if (minimum === undefined)
        return [`at most ${grouped(maximum)}${unit}`];
    return [minimum === maximum ? `${grouped(minimum)}${unit}` : `${grouped(minimum)} to ${grouped(maximum)}${unit}`];
}
function limits(node) {
    const { pattern = '', format } = node;
    const texts = [
        ...range('', node.minimum, node.maximum),
        ...(OF_ID.test(pattern) ? [] : range(' characters', node.minLength, node.maxLength)),
        ...range(' items', node.minItems, node.maxItems),
        ...(node.uniqueItems ? ['no item twice'] : []),
    ];
    return [
        ...texts.map((text) => html `<li>${text}</li>`),
        ...(pattern !== '' && format === undefined && pattern.length <= PATTERN_MAX && !OF_ID.test(pattern)
            ? [html `<li>matches <code>${pattern}</code></li>`]
            : []),
    ];
}
/** The fixed values, forms and limits of a value, of its alternatives and of its items. */
function rules(node, more, registry) {
    const items = node.items && !node.items.properties ? [node.items] : [];
    const parts = [node, ...alternatives(node), ...items];
    const values = parts.flatMap((part) => part.enum ?? []);
    const fixed = parts.flatMap((part) => (part.const === undefined ? [] : [part.const]));
    const all = [...more, ...alternatives(node).flatMap(form), ...parts.flatMap(limits)];
    return html `${all.length > 0 ? html `<ul class="rules">${all}</ul>` : undefined}${values.length > 0 ? html `<p class="values">One of ${codes(values)}</p>` : undefined}${fixed.length > 0 ? html `<p class="values">Always ${codes(fixed)}</p>` : undefined}${items.map(({ description }) => description === undefined ? undefined : html `<p class="values">Each item: ${words(description, registry)}</p>`)}`;
}
/** The form of an id, such as `cnv_{tenant}_{site}_{number}`, from its description. */
function form({ description = '' }) {
    const [found] = /\w+_\{\w+\}[\w{}]*/.exec(description) ?? [];
    return found === undefined ? [] : [html `<li>form <code>${found}</code></li>`];
}
const text = (description, registry) => description === undefined ? undefined : html `<p>${words(description, registry)}</p>`;
/** A nested list of the members of an object and of the objects in it. */
export function members(node, registry) {
    const forms = objectsIn(node);
    if (forms.length === 0)
        return undefined;
    return html `${forms.map((form, i) => html `${i > 0 ? html `<p class="or">or</p>` : undefined}${list(form, registry)}`)}`;
}
const objectsIn = (node) => node.properties ? [node] : [...alternatives(node), ...(node.items ? [node.items] : [])].flatMap(objectsIn);
const list = ({ properties = {}, required = [] }, registry) => html `<ul class="members">${Object.entries(properties).map(([name, member]) => {
    const { needs } = member;
    const absent = required.includes(name)
        ? undefined
        : html ` <span class="mark">${needs ? 'masked' : 'optional'}</span>`;
    return html `
<li><p class="name"><code>${name}</code> <span class="type">${typeName(member)}</span>${absent ?? (needs && html ` <span class="mark">masked</span>`)}</p>
${text(member.description, registry)}${rules(member, [], registry)}${needs ? html `<p class="needs">Shown only with ${grants(needs)}</p>` : undefined}${members(member, registry)}</li>`;
})}</ul>`;
/** One parameter: its type, meaning, default, limits and example. */
export function parameter({ name, required, node, example, when }, registry) {
    const more = [
        ...(node.default === undefined ? [] : [html `<li>default ${codes([node.default])}</li>`]),
        ...(example === undefined || node.const !== undefined ? [] : [html `<li>example ${codes([example])}</li>`]),
    ];
    return html `
<li id="${name.toLowerCase()}"><p class="name"><a class="anchor" href="#${name.toLowerCase()}"><code>${name}</code></a>
<span class="type">${typeName(node)}</span>${required ? html ` <span class="mark must">required</span>` : undefined}</p>
${text(node.description, registry)}${rules(node, more, registry)}${when.map((one) => html `<p class="needs">${one.leftOut ? 'For' : 'With'} ${conditionName(one) === name ? 'this parameter' : html `<code>${conditionName(one)}</code>`}, the ${one.leftOut ? 'answer' : 'call'} also needs ${grants(one)}${one.unrestricted ? ' and a credential without restrictions' : ''}</p>`)}${members(node, registry)}</li>`;
}
export const ofHeader = ({ name, required, description, schema }, example) => ({
    name,
    required,
    node: { ...nodeOf(schema), description },
    example,
    when: [],
});
//# sourceMappingURL=fields.js.map
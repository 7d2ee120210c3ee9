import { exampleOf } from '../core/example.js';
import { jsonSchema, nameOf, nodeOf } from '../core/json-schema.js';
import { needsOf } from '../core/view.js';
const REVISION = 1;
const keyOf = (tool) => `${tool.name.replaceAll('_', '-')}-1042`;
/** The time in an example when the schema has no example of its own. */
const MOMENT = '2026-11-20T09:14:05.000Z';
const annotations = (schema) => {
    const [name, needs] = [nameOf(schema), needsOf(schema)];
    // The cast is correct, because zod calls the function only with zod schemas.
    return { ...(name && { name }), ...(needs && { needs }), ...exampleOf(schema) };
};
/** The JSON Schema of a schema as the documents show it: with names, needed grants and examples. */
const shown = (schema, io) => nodeOf(jsonSchema(schema, io, annotations));
/** An answer of a tool as the documents show it. */
export const shownOutput = (tool) => shown(tool.output, 'output');
/** An example of an answer, with all grants. A list has one item, or the items of its own example. */
export function exampleAnswer(tool) {
    const { cursor } = tool.paged ?? {};
    const next = (cursor && 'prefix' in cursor && exampleOf(cursor.schema)?.example) || 'eyJ2IjoxfQ.c2lnbmF0dXJl';
    return made(shownOutput(tool), [tool.name], next);
}
/**
 * The example of a schema. Without one, the value is made from the form of the schema. `path` holds the name of the
 * operation and the names of the members down to the value. `next` is a cursor.
 */
function made(node, path, next) {
    if ('example' in node)
        return node.example;
    const last = path.at(-1);
    if (last === 'next_cursor')
        return next;
    if (node.const !== undefined)
        return node.const;
    if (node.enum)
        return node.enum[0];
    const [first] = node.anyOf ?? node.oneOf ?? [];
    if (first)
        return made(first, path, next);
    const type = typeof node.type === 'object' ? node.type.find((one) => one !== 'null') : node.type;
    if (type === 'object') {
        const members = Object.entries(node.properties ?? {});
        return Object.fromEntries(members.map(([member, inner]) => [member, made(inner, [...path, member], next)]));
    }
    if (type === 'array') {
        return node.prefixItems?.map((one) => made(one, path, next)) ?? (node.items ? [made(node.items, path, next)] : []);
    }
    if (type === 'boolean')
        return true;
    // Integers whose names end in _at are Unix milliseconds. The other integers with a time have an example.
    if (type === 'integer' && last?.endsWith('_at'))
        return Date.parse(MOMENT);
    if (type === 'integer' || type === 'number')
        return Math.max(node.minimum ?? 0, 1);
    const text = textOf(node);
    if (text === undefined)
        throw new Error(`${path.join('.')} has no example: see src/core/example.ts`);
    return text;
}
/** An example of a time, or of an id with hexadecimal digits, made from the format or the pattern of the schema. */
function textOf({ pattern = '', format }) {
    if (format === 'date-time')
        return MOMENT;
    if (format === 'date')
        return '2026-11-20';
    const [, prefix = '', length] = /^\^([a-z]+_)?\[a-f0-9\]\{(?:\d+,)?(\d+)\}\$$/.exec(pattern) ?? [];
    return length === undefined ? undefined : `${prefix}${'0a1b2c3d'.repeat(8).slice(0, Number(length))}`;
}
/** The arguments in an example: all that are required, and optional ones whose schemas have an example. */
export function exampleArguments(tool) {
    const given = tool.parameters.flatMap(({ name, required, schema }) => {
        const own = exampleOf(schema);
        if (own)
            return [[name, own.example]];
        return required ? [[name, made(shown(schema, 'input'), [tool.name, name])]] : [];
    });
    return Object.fromEntries(given);
}
export const exampleToolArguments = (tool) => ({
    ...exampleArguments(tool),
    ...(tool.ifMatch && { if_match: REVISION }),
    ...(tool.idempotency === 'required' && { idempotency_key: keyOf(tool) }),
});
/**
 * Parameters whose examples are not in the demo. Their records exist only after a write, a subscription or a session.
 */
const INVENTED = ['operation_id', 'session_id', 'subscription_id', 'after'];
export const inventedArguments = (tool) => Object.keys(exampleArguments(tool)).filter((name) => INVENTED.includes(name));
export function exampleCall(tool) {
    const example = exampleArguments(tool);
    const path = tool.path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(example[name])));
    const given = (place) => tool.parameters.flatMap((one) => one.in === place && one.name in example ? [[one.name, example[one.name]]] : []);
    // A query may contain commas, and a list is easier to read with them.
    const query = given('query').map(([name, value]) => `${name}=${encodeURIComponent(String(value)).replaceAll('%2C', ',')}`);
    return {
        address: `${path}${query.length > 0 ? `?${query.join('&')}` : ''}`,
        headers: {
            ...(tool.origin && { Origin: 'https://app.example' }),
            ...(tool.ifMatch && { 'If-Match': `"${REVISION}"` }),
            ...(tool.idempotency === 'required' && { 'Idempotency-Key': keyOf(tool) }),
        },
        body: tool.body ? Object.fromEntries(given('body')) : undefined,
    };
}
//# sourceMappingURL=examples.js.map
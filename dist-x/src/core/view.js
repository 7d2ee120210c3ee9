import { z } from 'zod';
import { example } from './example.js';
import { named } from './json-schema.js';
import { CLASSES } from './scope-texts.js';
import { holds } from './scopes.js';
import { raw } from './sql.js';
import { writtenBy } from './texts.js';
const grants = new WeakMap();
/** The grants that show a member, by the member's schema. Undefined: no grant is needed. */
export const needsOf = (schema) => grants.get(schema);
export function defineView(declaration) {
    const shape = {};
    for (const [name, field] of Object.entries(declaration.fields)) {
        const { schema, needs, denied } = field;
        if (!needs)
            shape[name] = schema;
        else {
            const withheld = denied === 'omit'
                ? described(schema.optional(), schema, ' Absent if this data is not granted.')
                : described(schema.nullable(), schema, ' Null if this data is not granted.');
            grants.set(withheld, needs);
            shape[name] = withheld;
        }
    }
    // The cast is sound, because a strict object with exactly the declared members is a Projection of this view.
    const schema = named(declaration.name, z.strictObject(shape));
    return { ...declaration, schema };
}
const described = (schema, from, denied) => from.description === undefined ? schema : schema.describe(`${from.description}${denied}`);
/** The fields of `view` that a caller with `grants` may see, by name. */
export const seen = (view, grants) => Object.entries(view.fields).filter(([, field]) => !field.needs || holds(grants, field.needs));
function field(schema, select, build, { needs, denied = 'omit', ...shown } = {}) {
    return {
        schema: 'example' in shown ? example(shown.example, schema) : schema,
        select: select.map((s) => (typeof s === 'string' ? raw(s) : s)),
        build,
        denied,
        ...(needs ? { needs } : {}),
    };
}
export const derived = field;
export const column = (expression, schema, options) => field(schema, [expression], ([value]) => value, options);
/** A field for count(*) or another int8 value, which the driver returns as a string. */
export const count = (expression, description, options) => field(z.int().min(0).describe(description), [expression], ([value]) => Number(value), options);
/** A text of at most `max` UTF-16 code units. A longer text is cut, but never inside a surrogate pair. */
export const text = (expression, max, description, options) => field(writtenBy(options.writer, z.string().max(max)).describe(description), [expression], ([value]) => clip(value, max), options);
export const nullableText = (expression, max, description, options) => field(writtenBy(options.writer, z.string().max(max)).nullable().describe(description), [expression], ([value]) => (value === null ? null : clip(value, max)), options);
/** Reads one character more than `max`, which shows that the text must be cut. */
export const longText = (expression, max) => `left(${expression}, ${max + 1})`;
/**
 * Like `longText`, for the column in `weight`. `left` counts characters, which takes 0.19 ms for a text of 36 KB. So it
 * only cuts a text of more than two bytes for each character that is shown. `clip` cuts the others.
 */
export const weighedText = (column, max, when = 'true') => ({ unlessLong }) => {
    const wanted = unlessLong ? `${when} AND NOT ${column.split('.')[0]}.long` : when;
    const cut = `WHEN octet_length(${column}) > ${2 * max} THEN ${longText(column, max)}`;
    return raw(`CASE WHEN NOT (${wanted}) THEN NULL ${cut} ELSE ${column} END`);
};
export const truncated = (expression, max, options) => field(example(false, z.boolean().describe(`True if the text was cut to ${max} UTF-16 code units.`)), [expression], ([value]) => typeof value === 'string' && value.length > max, options);
export const Time = z.iso.datetime({ precision: 3 });
export const time = (expression, description, options) => field(Time.describe(description), [`${expression}::text`], ([value]) => rfc3339(String(value)), options);
export const nullableTime = (expression, description, options) => field(Time.nullable().describe(description), [`${expression}::text`], ([value]) => (value === null ? null : rfc3339(String(value))), options);
export const reference = (expression, kind, description, options) => field(kind.schema.nullable().describe(description), [expression], ([value], { website }) => (value === null ? null : kind.format(website, String(value))), options);
export const owner = (expression, kind) => field(kind.schema, [expression], ([value], { website }) => kind.format(website, String(value)));
export const ownId = (alias, kind) => owner(`${alias}.id`, kind);
export const websiteId = (schema) => field(schema, [], (_, { website }) => website.id);
/** A field with the classes of data that the caller may see. It explains why members are missing. */
export function access(classes) {
    const shape = Object.fromEntries(Object.entries(CLASSES)
        .filter(([name]) => name in classes)
        .map(([name, data]) => [name, z.boolean().describe(`True if the credential may see ${data} in this record.`)]));
    return field(z
        .strictObject(shape)
        .describe('Classes of data that the credential may see here. They explain why members are absent.'), [], (_, { grants }) => Object.fromEntries(Object.entries(classes).map(([name, requirement]) => [name, holds(grants, requirement)])));
}
export function clip(value, max) {
    const string = String(value);
    if (string.length <= max)
        return string;
    const last = string.charCodeAt(max - 1);
    return string.slice(0, last >= 0xd800 && last <= 0xdbff ? max - 1 : max);
}
/**
 * Converts a UTC timestamp from PostgreSQL's text (`2026-11-21 11:48:25.87+00`) to RFC 3339 with milliseconds. Date is
 * not used: it would take a tenth of the time of a page of conversations (measured).
 */
export function rfc3339(text) {
    if (text[10] !== ' ' || !text.endsWith('+00'))
        throw new TypeError('a time column is not in UTC, ISO style');
    const fraction = text[19] === '.' ? text.slice(20, -3).padEnd(3, '0').slice(0, 3) : '000';
    return `${text.slice(0, 10)}T${text.slice(11, 19)}.${fraction}Z`;
}
//# sourceMappingURL=view.js.map
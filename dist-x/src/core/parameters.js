import { z } from 'zod';
import { accepts } from './accepted-values.js';
import { example } from './example.js';
import { NEXT_CURSOR } from './failures.js';
import { idKind } from './ids.js';
import { nameOf } from './json-schema.js';
import { PAGE_RECORDS } from './limits.js';
const components = z.registry();
/** Names a parameter for OpenAPI. Use it if parameters with the same name differ. Otherwise, the name itself is enough. */
export function shared(component, schema) {
    components.add(schema, { component });
    return schema;
}
export function pageParameters({ limit, max = PAGE_RECORDS, cursor }) {
    const schema = 'schema' in cursor ? cursor.schema : cursor;
    return {
        limit: shared(limit === 25 && max === PAGE_RECORDS ? 'limit' : `limit_${limit}_of_${max}`, example(10, z
            .int()
            .min(1)
            .max(max)
            .default(limit)
            .describe(`Records per page. The range is 1 to ${max}, and the default is ${limit}. A page can hold fewer records.`))),
        cursor: shared(['cursor', nameOf(schema)].filter(Boolean).join('_'), accepts(schema.optional(), NEXT_CURSOR).describe('The last next_cursor. Absent: the first page.')),
    };
}
export function parameter(name, place, schema) {
    const core = unwrap(schema);
    const required = !schema.safeParse(undefined).success;
    const type = core instanceof z.ZodNumber ? 'integer' : core instanceof z.ZodBoolean ? 'boolean' : 'string';
    const nullIsAbsent = !required && !schema.safeParse(null).success;
    const optional = nullIsAbsent && schema instanceof z.ZodOptional;
    return {
        name,
        in: place,
        schema,
        required,
        type,
        nullIsAbsent,
        emptyIsAbsent: optional && place === 'query' && type === 'string' && name !== 'cursor',
        id: name === 'cursor' ? undefined : idKind(core),
        component: components.get(schema)?.component ?? name,
    };
}
/**
 * The values without those that mean that a parameter is not given: null for an optional parameter, and with `empty` an
 * empty text for a filter.
 */
export function givenOf(parameters, values, empty) {
    const absent = parameters.filter(({ name, nullIsAbsent, emptyIsAbsent }) => Object.hasOwn(values, name) &&
        ((nullIsAbsent && values[name] === null) || (empty && emptyIsAbsent && values[name] === '')));
    if (absent.length === 0)
        return values;
    const names = new Set(absent.map(({ name }) => name));
    return Object.fromEntries(Object.entries(values).filter(([name]) => !names.has(name)));
}
function unwrap(schema) {
    // The cast is needed, because zod types the inner schema only with its core interface.
    return schema instanceof z.ZodOptional || schema instanceof z.ZodDefault
        ? unwrap(schema.unwrap())
        : schema;
}
//# sourceMappingURL=parameters.js.map
import { z } from 'zod';
// The cast is correct, because `Node` names only the part of JSON Schema that the documents read.
export const nodeOf = (schema) => schema;
const names = z.registry();
/**
 * Names a schema. The name stands beside the schema, and OpenAPI shows it as a component. A copy, such as `describe`
 * or `example` makes, refers to the component of the named schema.
 */
export function named(name, schema) {
    names.add(schema, { name });
    return schema;
}
/** The name of a schema, or of the schema that it is a copy of. */
export const nameOf = (schema) => names.get(schema)?.name;
/** Makes a name such as `AiFeature` from words such as `ai_feature`. */
export const typeName = (words) => words
    .toLowerCase()
    .replace(/[^a-z0-9]*([a-z0-9]+)/g, (_, word) => word.charAt(0).toUpperCase() + word.slice(1));
/** The metadata of zod, with the names of schemas as ids. zod makes one definition of each schema with an id. */
class Definitions extends z.core.$ZodRegistry {
    get(schema) {
        const metadata = z.globalRegistry.get(schema);
        return names.has(schema) ? { ...metadata, id: nameOf(schema) } : metadata;
    }
}
const tidied = (annotate) => ({ zodSchema, jsonSchema: node }) => {
    Object.assign(node, annotate?.(zodSchema));
    // zod gives every integer the limits of a double. Every JSON number has them, so they say nothing.
    if (node.minimum === Number.MIN_SAFE_INTEGER)
        delete node.minimum;
    if (node.maximum === Number.MAX_SAFE_INTEGER)
        delete node.maximum;
    // zod adds a long pattern for times and dates. The format already says the same.
    if (node.format === 'date-time' || node.format === 'date')
        delete node.pattern;
};
/** The surfaces of a gateway convert the same schemas. */
const results = new Map();
/**
 * Converts a schema once for each `annotate`, which must therefore be a constant. Callers share the result, so they
 * must not change it.
 */
export function jsonSchema(schema, io, annotate) {
    const kept = results.get(annotate) ?? { input: new WeakMap(), output: new WeakMap() };
    results.set(annotate, kept);
    const known = kept[io].get(schema);
    if (known)
        return known;
    const { $schema: _, ...made } = z.toJSONSchema(schema, { io, override: tidied(annotate) });
    kept[io].set(schema, made);
    return made;
}
/**
 * Converts zod schemas together. A named schema stands there only once, and the others refer to it with `base` and its
 * name. Throws if two different schemas have the same name.
 */
export function references(schemas, io, base) {
    const all = [...new Set(schemas)];
    const whole = z.toJSONSchema(z.object(Object.fromEntries(all.entries())), {
        io,
        metadata: new Definitions(),
        override: tidied(),
    });
    // zod leaves out what a copy shares with its named schema. A copy of a copy repeats it, so leave it out here.
    const short = (_, node) => {
        const { $ref, ...own } = Object(node); // the cast is correct, because any object has members to look up
        const known = whole.$defs?.[String($ref).slice('#/$defs/'.length)];
        if (!known)
            return node;
        const differs = ([key, value]) => JSON.stringify(value) !== JSON.stringify(known[key]);
        return { ...Object.fromEntries(Object.entries(own).filter(differs)), $ref };
    };
    const text = JSON.stringify(whole, short).replaceAll('"$ref":"#/$defs/', `"$ref":"${base}`);
    // The cast is correct, because zod writes the properties and the definitions of an object in this form.
    const { properties, $defs = {} } = JSON.parse(text);
    const converted = new Map(all.map((schema, index) => [schema, properties[index]]));
    return {
        of(schema) {
            const node = converted.get(schema);
            if (!node)
                throw new Error('the schema is not among the converted schemas');
            return node;
        },
        named: new Map(Object.entries($defs)),
    };
}
//# sourceMappingURL=json-schema.js.map
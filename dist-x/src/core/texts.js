import { z } from 'zod';
const writers = z.registry();
/** Marks a schema with the writer of its text. A schema that is derived from a marked schema keeps the mark. */
export function writtenBy(writer, schema) {
    writers.add(schema, { writer });
    return schema;
}
export const ServiceText = writtenBy('service', z.string());
/** Lists every text in a body of this schema. An object's own texts come before those of its nested objects. */
export function textsOf(schema, pointer = '') {
    const writer = writers.get(schema)?.writer;
    if (writer !== undefined)
        return [{ pointer, writer }];
    const inside = partsOf(schema);
    if (inside === 'text')
        return [{ pointer, writer }];
    const found = inside.map(([step, part]) => textsOf(part, `${pointer}${step}`));
    const own = found.filter((texts, i) => texts.length === 1 && texts[0]?.pointer === `${pointer}${inside[i]?.[0]}`);
    return [...own, ...found.filter((texts) => !own.includes(texts))].flat();
}
const CLOSED = [z.ZodEnum, z.ZodLiteral, z.ZodBoolean, z.ZodNumber, z.ZodNull, z.ZodISODateTime, z.ZodISODate];
// The casts are needed, because zod types the inner schemas only with its core interface.
function partsOf(schema) {
    if (schema instanceof z.ZodObject)
        return Object.entries(schema.shape).map(([name, part]) => [`/${name}`, part]);
    if (schema instanceof z.ZodArray)
        return [['/*', schema.element]];
    if (schema instanceof z.ZodTuple)
        return schema.def.items.map((part, i) => [`/${i}`, part]);
    if (schema instanceof z.ZodUnion)
        return schema.options.map((part) => ['', part]);
    if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
        return [['', schema.unwrap()]];
    // A string with a pattern, such as an id or a digest, holds no free text.
    const pattern = schema instanceof z.ZodString && schema.format === 'regex';
    return pattern || CLOSED.some((kind) => schema instanceof kind) ? [] : 'text';
}
//# sourceMappingURL=texts.js.map
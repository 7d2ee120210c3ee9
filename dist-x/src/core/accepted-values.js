import { z } from 'zod';
/** Descriptions of schemas whose rule is a pattern or a function. A copy of a schema keeps its description. */
const words = z.registry();
const told = (schema) => words.get(schema)?.expected;
/** Describes what a schema accepts. Needed for a schema whose rule is a pattern or a function. */
export function accepts(schema, expected) {
    words.add(schema, { expected });
    return schema;
}
/** A parameter that takes several of some values, with a comma between two. */
export const commaList = (of) => accepts(z.string().regex(new RegExp(`^(${of.join('|')})(,(${of.join('|')})){0,${of.length - 1}}$`)), `one or more of ${of.join(', ')}, with a comma between two`);
/** Words for a time in RFC 3339. */
export const RFC3339_EXPECTED = 'a time such as 2026-11-30T09:00:00Z';
/** Describes the value that belongs at a path of an input, such as "an integer from 1 to 100". */
export const expectedAt = (input, path) => expectedText(schemaAt(input, path));
export function namesAt(input, path) {
    const object = schemaAt(input, path);
    return namesText(object instanceof z.ZodObject ? Object.keys(object.shape) : []);
}
export function namesText(names) {
    if (names.length === 0)
        return 'no parameters';
    return names.length === 1 ? `only the name ${names[0]}` : `one of the names ${names.join(', ')}`;
}
/** The schema at a path. If the path goes deeper than the schema, the deepest schema on the path. */
function schemaAt(schema, [part, ...rest]) {
    const here = unwrap(schema);
    if (part === undefined)
        return here;
    const next = here instanceof z.ZodObject ? here.shape[String(part)] : here instanceof z.ZodArray ? here.element : undefined;
    return next ? schemaAt(next, rest) : here; // the cast is needed, because zod types inner schemas only with its core interface
}
function unwrap(schema) {
    const wrapped = schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodNullable;
    return wrapped && told(schema) === undefined ? unwrap(schema.unwrap()) : schema; // the cast is needed, because zod types inner schemas only with its core interface
}
export function expectedText(given) {
    const schema = unwrap(given);
    const text = told(schema);
    if (text !== undefined)
        return text;
    if (schema instanceof z.ZodEnum)
        return `one of ${schema.options.join(', ')}`;
    if (schema instanceof z.ZodLiteral)
        return [...schema.values].map((value) => JSON.stringify(value)).join(' or ');
    if (schema instanceof z.ZodBoolean)
        return 'true or false';
    if (schema instanceof z.ZodNumber)
        return `an integer${range(schema.minValue, schema.maxValue, 'from', '')}`;
    if (schema instanceof z.ZodString)
        return `a text${range(schema.minLength, schema.maxLength, 'of', ' characters')}`;
    if (schema instanceof z.ZodArray)
        return `an array of values, each ${expectedText(schema.element)}`; // the cast is needed, because zod types inner schemas only with its core interface
    if (schema instanceof z.ZodObject)
        return `an object with ${membersText(schema)}`;
    return 'a value of the documented type';
}
/** Lists the members of an object with their rules. For a member that is itself an object, only the name. */
const membersText = ({ shape }) => Object.entries(shape) // the cast is needed, because zod types inner schemas only with its core interface
    .map(([name, member]) => {
    if (unwrap(member) instanceof z.ZodObject)
        return name;
    return `${name} (${expectedText(member)}${member instanceof z.ZodOptional ? ', or absent' : ''})`;
})
    .join(', ');
function range(minimum, maximum, word, unit) {
    const least = minimum === null || minimum <= Number.MIN_SAFE_INTEGER ? undefined : minimum;
    const most = maximum === null || maximum >= Number.MAX_SAFE_INTEGER ? undefined : maximum;
    if (least !== undefined && most !== undefined)
        return ` ${word} ${least} to ${most}${unit}`;
    if (most !== undefined)
        return ` of at most ${most}${unit}`;
    return least === undefined ? '' : ` of at least ${least}${unit}`;
}
//# sourceMappingURL=accepted-values.js.map
import { z } from 'zod';
const examples = z.registry();
/**
 * Gives a schema the value that documents show, most often a value of the demo. The result is a copy, so that other uses
 * of the schema stay without the example. A schema that is derived from the copy keeps the example.
 */
export function example(value, schema) {
    const copy = schema.clone();
    examples.add(copy, { example: value });
    return copy;
}
/** The example of a schema, not the examples inside it. Undefined if the schema has none. */
export const exampleOf = (schema) => examples.get(schema);
//# sourceMappingURL=example.js.map
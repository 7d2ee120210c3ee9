import { z } from 'zod';

const examples = z.registry<{ readonly example: unknown }>();

/**
 * Gives a schema the value that documents show, most often a value of the demo. The result is a copy, so that other uses
 * of the schema stay without the example. A schema that is derived from the copy keeps the example.
 */
export function example<S extends z.ZodType>(value: unknown, schema: S): S {
  const copy = schema.clone();
  examples.add(copy, { example: value });
  return copy;
}

/** The example of a schema, not the examples inside it. Undefined if the schema has none. */
export const exampleOf = (schema: z.ZodType): { readonly example: unknown } | undefined => examples.get(schema);

import { z } from 'zod';

/** A JSON Schema of draft 2020-12, the version of OpenAPI 3.1 and MCP. Use only `jsonSchema` to convert zod schemas. */
export type JsonSchema = Readonly<Record<string, unknown>>;

export function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    override: ({ jsonSchema: node }) => {
      // zod gives every integer the limits of a double. Delete these limits, because every JSON number has the same
      // limits.
      if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum;
      if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
      // zod adds a long pattern for timestamps. Delete the pattern, because `format: date-time` says the same.
      if (node.format === 'date-time') delete node.pattern;
    },
  });
  return rest;
}

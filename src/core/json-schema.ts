import { z } from 'zod';

/** JSON Schema of draft 2020-12, as in OpenAPI 3.1 and MCP. Only `jsonSchema` converts zod schemas to JSON Schema. */
export type JsonSchema = Readonly<Record<string, unknown>>;

export function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    override: ({ jsonSchema: node }) => {
      // zod gives every integer the limits of a double. These limits hold for any JSON number and do not help a reader.
      if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum;
      if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
      // `format: date-time` already says what the long pattern of zod says.
      if (node.format === 'date-time') delete node.pattern;
    },
  });
  return rest;
}

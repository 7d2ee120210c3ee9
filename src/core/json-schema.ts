import { z } from 'zod';

/** The one place where a zod schema becomes JSON Schema (draft 2020-12, the dialect of OpenAPI 3.1 and MCP). */
export type JsonSchema = Readonly<Record<string, unknown>>;

export function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    override: ({ jsonSchema: node }) => {
      // zod bounds every integer by what a double holds exactly: true of any JSON number and no help to a reader.
      if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum;
      if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
      // `format: date-time` says what zod's own pattern says, in one word.
      if (node.format === 'date-time') delete node.pattern;
    },
  });
  return rest;
}

import { z } from 'zod';

/** A JSON Schema of draft 2020-12, the version of OpenAPI 3.1 and MCP. Use only `jsonSchema` to convert zod schemas. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** The part of JSON Schema that the documents for readers show. */
export interface Node {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly required?: readonly string[];
  readonly items?: Node;
  readonly prefixItems?: readonly Node[];
  readonly anyOf?: readonly Node[];
  readonly oneOf?: readonly Node[];
}

// The cast is correct, because `Node` names only the part of JSON Schema that the documents read.
export const nodeOf = (schema: JsonSchema): Node => schema as Node;

/** Converts a zod schema. `annotate` gives further keywords for the JSON Schema of one zod schema. */
export function jsonSchema(
  schema: z.ZodType,
  io: 'input' | 'output',
  annotate?: (schema: unknown) => JsonSchema | undefined,
): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    override: ({ zodSchema, jsonSchema: node }) => {
      Object.assign(node, annotate?.(zodSchema));
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

import { type JsonSchema, jsonSchema, type Node, nodeOf } from '../../core/json-schema.ts';
import type { Tool } from '../../core/tool.ts';

type ObjectSchema = { readonly type: 'object'; readonly [member: string]: unknown };

export interface Descriptor {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: ObjectSchema;
  readonly outputSchema?: ObjectSchema;
  readonly annotations: Readonly<Record<string, string | boolean>>;
}

/**
 * A tool in `tools/list`. A model reads the whole list before its first call, so the list must be short. Input schemas
 * have no patterns, and output schemas name only the members of two levels.
 */
export const describe = (tool: Tool): Descriptor => ({
  name: tool.name,
  title: tool.title,
  description: tool.summary,
  inputSchema: inputSchema(tool),
  outputSchema: outputSchema(tool),
  annotations: hints(tool),
});

/** The form of MCP 2025-03-26: without output schema, and the title is an annotation. */
export const describedFirst = ({ outputSchema: _, ...rest }: Descriptor): Descriptor => ({
  ...rest,
  annotations: { title: rest.title, ...rest.annotations },
});

const hints = (tool: Tool): Readonly<Record<string, boolean>> => ({
  readOnlyHint: tool.effect === 'read',
  destructiveHint: tool.method === 'PATCH' || tool.method === 'DELETE',
  // Repeating these calls has no further effect: reads, writes that require an idempotency key, and writes that require
  // `if_match`. After the latter, the revision is different, so a repeated call is refused.
  idempotentHint: tool.idempotency !== 'optional' || tool.ifMatch,
  openWorldHint: false,
});

/** Members of every failure. As `properties` with `retry_after`, they would take 11 more tokens in each tool. */
const ERROR = { required: ['code', 'status', 'request_id'] };

/**
 * Levels of an answer whose members an output schema names. All levels would take 2,500 more tokens for 51 tools (o200k
 * tokenizer, 23 November 2026). OpenAPI has the complete schemas.
 */
const LEVELS = 2;

/** For results and failures, because the SDK's client validates the answers of failed calls too. */
const outputSchema = (tool: Tool): ObjectSchema => ({
  type: 'object',
  properties: {
    data: outline(nodeOf(jsonSchema(tool.output, 'output')), LEVELS),
    error: ERROR,
    ...(tool.effect === 'write' && { operation_id: {} }),
  },
  additionalProperties: false,
});

const KEY = {
  type: 'string',
  description: 'Your key, up to 128 characters, the same for retries.',
};

/** Answers give the revision as a number, so the schema says integer. The HTTP header's text form is accepted too. */
const REVISION = { type: 'integer', description: 'Current revision.' };

function inputSchema(tool: Tool): ObjectSchema {
  const schema = without(nodeOf(jsonSchema(tool.input, 'input')));
  if (tool.effect === 'read') return { type: 'object', ...schema };
  const { properties = {}, required = [] } = schema as { properties?: object; required?: readonly string[] }; // the schema of arguments is an object schema
  return {
    type: 'object',
    ...schema,
    properties: { ...properties, ...(tool.ifMatch && { if_match: REVISION }), idempotency_key: KEY },
    required: [
      ...required,
      ...(tool.ifMatch ? ['if_match'] : []),
      ...(tool.idempotency === 'required' ? ['idempotency_key'] : []),
    ],
  };
}

const VERBOSE: ReadonlySet<string> = new Set([
  ...['pattern', 'minLength', 'maxLength', 'minimum', 'minItems', 'uniqueItems', 'minProperties'],
]);

/** Removes rules that a model does not need. The gateway still enforces them. */
function without({ properties, items, description, ...rules }: Node): JsonSchema {
  // The list's description already says what its items are.
  const { description: _, ...item } = items ?? {};
  return {
    ...Object.fromEntries(
      Object.entries(rules).filter(
        ([key, value]) => (!VERBOSE.has(key) && value !== INT_MAX && value !== false) || key === 'additionalProperties',
      ),
    ),
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, without(property)])),
    }),
    ...(items && { items: without(item) }),
    // Only the first sentence, without the form of an id. A model copies ids from answers.
    ...(description !== undefined && { description: description.replace(/(?:, in the form|\.) .*$/, '.') }),
  };
}

const INT_MAX = 2_147_483_647;

/** The names of an answer's members, down to `levels` levels. Without rules, so the schema accepts every answer. */
function outline(node: Node, levels: number): JsonSchema {
  const alternatives = node.anyOf ?? [];
  const properties = Object.entries<Node>({
    ...node.properties,
    ...Object.assign({}, ...alternatives.map((one) => one.properties)),
  });
  const items = node.items ?? alternatives.find((one) => one.items)?.items;
  const inside = items && outline(items, levels);
  return {
    ...(levels > 0 &&
      properties.length > 0 && {
        properties: Object.fromEntries(properties.map(([name, member]) => [name, outline(member, levels - 1)])),
      }),
    ...(inside && Object.keys(inside).length > 0 && { items: inside }),
  };
}

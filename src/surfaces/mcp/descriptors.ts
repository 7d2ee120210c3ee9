import { type JsonSchema, jsonSchema } from '../../core/json-schema.ts';
import type { Tool } from '../../core/tool.ts';
import type { Version } from './versions.ts';

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
 * The entry of a tool in `tools/list`. A model reads the whole list before its first call, so every token counts. Input
 * schemas have no patterns. Output schemas have only the names of members: the complete output schemas of 35 tools take
 * 21,500 tokens (measured with the o200k tokenizer).
 */
export function describe(tool: Tool, version: Version): Descriptor {
  const first = version === '2025-03-26';
  return {
    name: tool.name,
    title: tool.title,
    description: tool.summary,
    inputSchema: inputSchema(tool),
    // Version 2025-03-26 has no output schemas, and a title only in the annotations.
    ...(!first && { outputSchema: outputSchema(tool) }),
    annotations: first ? { title: tool.title, ...hints(tool) } : hints(tool),
  };
}

const hints = (tool: Tool): Readonly<Record<string, boolean>> => ({
  readOnlyHint: tool.effect === 'read',
  destructiveHint: tool.method === 'PATCH' || tool.method === 'DELETE',
  // True for reads, for writes with a required key, and for writes to one revision. Two such calls have one effect.
  idempotentHint: tool.idempotency !== 'optional' || tool.ifMatch,
  openWorldHint: false,
});

const ERROR = { properties: { code: {}, status: {}, request_id: {}, retry_after: {} } };

/** Accepts a result and a failure, because the SDK's client also validates the answers of failed calls. */
const outputSchema = (tool: Tool): ObjectSchema => ({
  type: 'object',
  properties: {
    data: outline(jsonSchema(tool.output, 'output')),
    error: ERROR,
    ...(tool.effect === 'write' && { operation_id: {} }),
  },
  additionalProperties: false,
});

const KEY = {
  type: 'string',
  description: 'Your own key, up to 128 characters, for retries.',
};

/** The gateway also accepts the text form of the header. Answers give a revision as a number. */
const REVISION = { type: 'integer', description: 'Current revision.' };

function inputSchema(tool: Tool): ObjectSchema {
  const schema = without(jsonSchema(tool.input, 'input'));
  if (tool.effect === 'read') return { type: 'object', ...schema };
  const { properties = {}, required = [] } = schema as { properties?: object; required?: readonly string[] }; // the schema of an object
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

/** Removes rules that a model does not use. The gateway still enforces them. */
function without(schema: JsonSchema): JsonSchema {
  const { properties, items, description, ...rules } = schema as ObjectNode; // `jsonSchema` returns this form for arguments
  return {
    ...Object.fromEntries(
      Object.entries(rules).filter(
        ([key, value]) => (!VERBOSE.has(key) && value !== INT_MAX && value !== false) || key === 'additionalProperties',
      ),
    ),
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, without(property)])),
    }),
    // The description of the list already says what its items are.
    ...(items && { items: without({ ...items, description: undefined }) }),
    // Only the first sentence, without the form of an id: a model copies ids. The API reference has the whole text.
    ...(description !== undefined && { description: description.replace(/(?:, in the form|\.) .*$/, '.') }),
  };
}

/** The members of an arguments schema that `without` reads. */
interface ObjectNode extends JsonSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly description?: string;
}

/** Largest four-byte integer. */
const INT_MAX = 2_147_483_647;

interface Node {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly items?: Node;
  readonly anyOf?: readonly Node[];
}

/** The names of an answer's members at every depth. It has no rules, so it accepts every answer. */
function outline(node: Node): JsonSchema {
  const alternatives = node.anyOf ?? [];
  const properties = Object.entries({
    ...node.properties,
    ...Object.assign({}, ...alternatives.map((one) => one.properties)),
  });
  const items = node.items ?? alternatives.find((one) => one.items)?.items;
  const inside = items && outline(items);
  return {
    ...(properties.length > 0 && {
      // The values come from a Node's properties.
      properties: Object.fromEntries(properties.map(([name, member]) => [name, outline(member as Node)])),
    }),
    ...(inside && Object.keys(inside).length > 0 && { items: inside }),
  };
}

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
 * What `tools/list` says of a tool. A model reads all of it before it does anything, so every word has to earn its
 * tokens: of input schemas the patterns are left out, of output schemas all but the members' names (measured with the o200k
 * tokenizer: whole output schemas of 35 tools alone are 21,500 tokens).
 */
export function describe(tool: Tool, version: Version): Descriptor {
  const first = version === '2025-03-26';
  return {
    name: tool.name,
    title: tool.title,
    description: tool.summary,
    inputSchema: inputSchema(tool),
    // 2025-03-26 knows neither output schemas nor titles beside the annotations.
    ...(!first && { outputSchema: outputSchema(tool) }),
    annotations: first ? { title: tool.title, ...hints(tool) } : hints(tool),
  };
}

const hints = (tool: Tool): Readonly<Record<string, boolean>> => ({
  readOnlyHint: tool.effect === 'read',
  destructiveHint: tool.method === 'PATCH' || tool.method === 'DELETE',
  // Reads, and writes that their key makes happen once.
  idempotentHint: true,
  openWorldHint: false,
});

const ERROR = { properties: { code: {}, status: {}, request_id: {}, retry_after: {} } };

/** Admits a body and a failure: the SDK's client holds the answers of failed calls to it as well (decisions, section 19). */
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
  description: 'Your own key, at most 128 printable characters; keep it for retries.',
};

function inputSchema(tool: Tool): ObjectSchema {
  const schema = without(jsonSchema(tool.input, 'input'));
  if (tool.idempotency === 'none') return { type: 'object', ...schema };
  const { properties = {}, required = [] } = schema as { properties?: object; required?: readonly string[] }; // as below
  return {
    type: 'object',
    ...schema,
    properties: { ...properties, idempotency_key: KEY },
    required: [...required, 'idempotency_key'],
  };
}

const VERBOSE: ReadonlySet<string> = new Set(['pattern', 'minLength', 'maxLength']);

/** The schema without rules that the gateway applies anyway: a model does not check its arguments by patterns. */
function without(schema: JsonSchema): JsonSchema {
  const { properties = {} } = schema as { properties?: Record<string, JsonSchema> }; // JSON Schema of an object
  const brief = Object.entries(properties).map(([name, { description, ...property }]) => [
    name,
    {
      ...Object.fromEntries(Object.entries(property).filter(([key]) => !VERBOSE.has(key))),
      // What an id looks like is of no use to those who copy it.
      description: String(description).replace(/: \w+_\{tenant\}.*$/, '.'),
    },
  ]);
  return { ...schema, properties: Object.fromEntries(brief) };
}

interface Node {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly items?: Node;
  readonly anyOf?: readonly Node[];
}

/** The names of an answer's members, at every depth: what a model needs to find its way, and nothing that could refuse. */
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
      // The entries are those of a Node's properties.
      properties: Object.fromEntries(properties.map(([name, member]) => [name, outline(member as Node)])),
    }),
    ...(inside && Object.keys(inside).length > 0 && { items: inside }),
  };
}

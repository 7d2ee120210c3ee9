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
 * tokens: formats of ids are in their descriptions, not in patterns as well, and the outline of an answer is its member
 * names and the types that are not text (measured: 10,200 tokens for 35 tools; whole output schemas alone 21,500).
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

/** Admits a body and a failure: the SDK's client holds the answers of failed calls to it as well (decisions, section 19). */
const outputSchema = (tool: Tool): ObjectSchema => ({
  type: 'object',
  properties: {
    data: outline(jsonSchema(tool.output, 'output')),
    error: { type: 'object' },
    ...(tool.effect === 'write' && { operation_id: { type: 'string' } }),
  },
  additionalProperties: false,
});

const KEY = {
  type: 'string',
  description: 'Your own key for this write, 1 to 128 printable characters: keep it for retries.',
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

/** The schema without rules that say again what a description says. The gateway applies them all. */
function without(schema: JsonSchema): JsonSchema {
  const { properties = {} } = schema as { properties?: Record<string, JsonSchema> }; // JSON Schema of an object
  const brief = Object.entries(properties).map(([name, property]) => [
    name,
    Object.fromEntries(Object.entries(property).filter(([key]) => !VERBOSE.has(key))),
  ]);
  return { ...schema, properties: Object.fromEntries(brief) };
}

interface Node {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly items?: Node;
  readonly anyOf?: readonly Node[];
}

/** Member names and the types that are not text; everything that the schema admits, the outline admits. */
function outline(node: Node): JsonSchema {
  const alternatives = node.anyOf?.filter((one) => one.type !== 'null');
  if (alternatives) {
    const [only, ...others] = alternatives.map(outline);
    if (others.length > 0 || only?.['type'] === undefined) return {};
    return { ...only, type: [only['type'], 'null'] };
  }
  if (node.properties) {
    const members = Object.entries(node.properties).map(([name, member]) => [name, outline(member)]);
    return { type: 'object', properties: Object.fromEntries(members) };
  }
  if (node.items) {
    const items = outline(node.items);
    return { type: 'array', ...(Object.keys(items).length > 0 && { items }) };
  }
  return node.type === undefined || node.type === 'string' ? {} : { type: node.type };
}

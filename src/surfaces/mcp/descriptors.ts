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
  // Reads, writes that their key makes happen once, and those of one revision; not what two calls do twice.
  idempotentHint: tool.idempotency !== 'optional' || tool.ifMatch,
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
  description: 'Own key, up to 128 characters, for retries.',
};

/** Text as in the header is taken as well; a revision is read as a number. */
const REVISION = { type: 'integer', description: 'Current revision.' };

function inputSchema(tool: Tool): ObjectSchema {
  const schema = without(jsonSchema(tool.input, 'input'));
  if (tool.effect === 'read') return { type: 'object', ...schema };
  const { properties = {}, required = [] } = schema as { properties?: object; required?: readonly string[] }; // as below
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

/** The schema without rules that the gateway applies anyway: a model does not check its arguments by patterns. */
function without(schema: JsonSchema): JsonSchema {
  const { properties, items, description, ...rules } = schema as ObjectNode; // what `jsonSchema` writes of arguments
  return {
    ...Object.fromEntries(
      Object.entries(rules).filter(
        ([key, value]) => (!VERBOSE.has(key) && value !== INT_MAX && value !== false) || key === 'additionalProperties',
      ),
    ),
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, without(property)])),
    }),
    // What the items are, the list says.
    ...(items && { items: without({ ...items, description: undefined }) }),
    // What an id looks like is of no use to those who copy it.
    ...(description !== undefined && { description: description.replace(/: \w+_\{tenant\}.*$/, '.') }),
  };
}

/** What is looked at in a JSON Schema of arguments. */
interface ObjectNode extends JsonSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly description?: string;
}

/** Bound of integers that are stored in four bytes. */
const INT_MAX = 2_147_483_647;

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

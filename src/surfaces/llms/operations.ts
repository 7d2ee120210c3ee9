import { type Condition, conditionName } from '../../core/conditions.ts';
import { type FailureCode, statusOf } from '../../core/failures.ts';
import { jsonSchema, nodeOf } from '../../core/json-schema.ts';
import { costText } from '../../core/price.ts';
import { type Parameter, TAGS, type Tool } from '../../core/tool.ts';
import { exampleCall, exampleToolArguments, shownOutput } from '../../gateway/examples.ts';
import { GROUPS } from '../../gateway/operation-wire.ts';
import type { Registry } from '../../gateway/registry.ts';
import { aboutText, code, codes, type NameOf, outline, typeText } from './schema-text.ts';

const RESTRICTIONS: Readonly<Record<Tool['restrictions'], string>> = {
  refused: 'refused (`not_permitted`)',
  applied: 'get only the data that their channels, teams and subsites permit',
  none: 'no difference',
};

const KEY = {
  required: '- Needs an idempotency key of your own: header `Idempotency-Key`, argument `idempotency_key`.',
  optional: '- Optional idempotency key of your own: header `Idempotency-Key`, argument `idempotency_key`.',
};

export function operationsText(registry: Registry, nameOf: NameOf): string {
  return Object.entries(TAGS)
    .map(([tag, description]) => {
      const tools = registry.operations.filter((tool) => tool.tag === tag);
      return [`### ${tag}`, '', description, ...tools.map((tool) => `\n${operation(tool, nameOf)}`)].join('\n');
    })
    .join('\n\n');
}

function operation(tool: Tool, nameOf: NameOf): string {
  const { scopes, dataAccess } = tool.required;
  const errors: FailureCode[] = [
    ...tool.errors,
    ...(tool.bytes ? GROUPS.bytes : []),
    ...(tool.performs ? GROUPS.approval : []),
  ];
  const facts = [
    `- REST: ${code(`${tool.method} ${tool.path}`)} (${tool.effect}, ${costText(tool)})`,
    `- Scopes: ${codes(scopes) || 'none'}. Data access: ${codes(dataAccess) || 'none'}.`,
    ...tool.when.map(conditionText),
    `- Restricted credentials: ${RESTRICTIONS[tool.restrictions]}.`,
    ...(tool.author ? ['- Author: an enabled operator mapped to the credential on this website.'] : []),
    ...(tool.consent === 'refused' ? ['- Tokens from a person’s consent: refused (`not_permitted`).'] : []),
    ...(tool.idempotency === 'none' ? [] : [KEY[tool.idempotency]]),
    ...(tool.ifMatch ? ['- Needs the current revision: header `If-Match`, argument `if_match`.'] : []),
    ...(tool.origin ? ['- Needs the header `Origin` with an origin that is registered on the credential.'] : []),
    ...(tool.status === 200 ? [] : [`- Success status over REST: ${tool.status}${besideOf(tool)}.`]),
    ...(tool.emits.length > 0 ? [`- Event types in the journal: ${codes(tool.emits)}.`] : []),
    ...(errors.length > 0 ? [`- Error codes of its own: ${errors.map(errorText).join(', ')}.`] : []),
    ...(tool.untrusted.length > 0 ? [`- Untrusted text: ${codes(tool.untrusted)}.`] : []),
    ...(tool.bytes ? [BYTES] : []),
    `- REST example: ${code(requestText(tool))}`,
    tool.mcp
      ? `- MCP example: ${code({ name: tool.name, arguments: exampleToolArguments(tool) })}`
      : '- No MCP tool. The operation exists only over REST.',
  ];
  return [
    `#### ${tool.name}`,
    '',
    `${tool.title}. ${tool.summary}`,
    '',
    ...facts,
    '',
    ...(tool.parameters.length === 0
      ? ['Parameters: none.']
      : ['Parameters:', '', ...tool.parameters.map((parameter) => parameterText(parameter, nameOf))]),
    '',
    ...(tool.status === 101
      ? ['Answer: the WebSocket. The guide Event recovery describes the frames.']
      : answerText(tool, nameOf)),
  ].join('\n');
}

/** An example of a REST request in one line: method, path, headers and body. */
function requestText(tool: Tool): string {
  const { address, headers, body } = exampleCall(tool);
  return [
    `${tool.method} ${address}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(body ? [JSON.stringify(body)] : []),
  ].join(' ');
}

const besideOf = ({ status, location, revision }: Tool): string =>
  status === 204 ? ', without a body' : location && revision ? ', with `Location` and `ETag`' : '';

const BYTES =
  '- Raw bytes: over REST with `Accept: application/octet-stream`. Optional headers are one `Range` of at most 65,536 ' +
  'bytes, `If-Range` and `If-Match` with the version as an entity tag. The answer is 206 with `Content-Range`, `ETag` and ' +
  '`Content-Digest`.';

const errorText = (failure: FailureCode): string => `${code(failure)} (${statusOf(failure)})`;

function conditionText(condition: Condition): string {
  const { scopes, dataAccess, unrestricted } = condition;
  const needs = [
    ...(scopes.length > 0 ? [`scopes ${codes(scopes)}`] : []),
    ...(dataAccess.length > 0 ? [`data access ${codes(dataAccess)}`] : []),
    ...(unrestricted ? ['a credential without restrictions'] : []),
  ];
  const name = code(conditionName(condition));
  return condition.leftOut
    ? `- The answer leaves out ${name} without: ${needs.join('; ')}.`
    : `- With ${name} also: ${needs.join('; ')}.`;
}

function parameterText({ name, in: place, schema, required }: Parameter, nameOf: NameOf): string {
  const node = nodeOf(jsonSchema(schema, 'input'));
  const standard = node.default === undefined ? '' : `, default ${code(node.default)}`;
  return `- ${code(name)} (${place}${required ? ', required' : ''}): ${typeText(node, nameOf)}${standard}.${aboutText(node)}`;
}

function answerText(tool: Tool, nameOf: NameOf): string[] {
  const body = shownOutput(tool);
  const { data, ...others } = body.properties ?? {};
  if (!data || Object.keys(others).length > 0) return ['Answer:', '', ...outline(body, nameOf)];
  const name = nameOf(data);
  return name === undefined ? ['Answer, in `data`:', '', ...outline(data, nameOf)] : [`Answer: \`data\` is a ${name}.`];
}

import type { IdKind } from '../../core/ids.ts';
import type { Parameter, Tool } from '../../core/tool.ts';

/** Numbers of the example ids, the same as in the guides. */
const NUMBERS: Readonly<Record<string, number>> = { cnv: 11, msg: 64, fil: 6, vis: 96, ctc: 89, aif: 5 };

/** Plausible values of parameters that are not ids of records. */
const VALUES: Readonly<Record<string, unknown>> = {
  website_id: 'web_1_1',
  guide: 'overview',
  operation_id: `op_${'0a1b2c3d'.repeat(8)}`,
  path: '/ai/features',
  query: 'translat',
};

/** Optional parameters that an example shows because calls without them are rare. */
const SHOWN: Readonly<Record<string, unknown>> = { limit: 10, status: 'unassigned,pending', range: 'last-7-days' };

const idExample = ({ prefix }: IdKind): string => `${prefix}_1_1_${NUMBERS[prefix] ?? 3}`;

/** Arguments of a plausible call: what is required, and a little of what is usual. */
export function exampleArguments(tool: Tool): Record<string, unknown> {
  const given = tool.parameters.flatMap((parameter): [string, unknown][] => {
    if (parameter.required) return [[parameter.name, requiredValue(tool, parameter)]];
    return parameter.name in SHOWN ? [[parameter.name, SHOWN[parameter.name]]] : [];
  });
  return Object.fromEntries(given);
}

function requiredValue(tool: Tool, { name, id }: Parameter): unknown {
  const value = id ? idExample(id) : VALUES[name];
  if (value === undefined) throw new Error(`${tool.name}: examples.ts has no value for ${name}`);
  return value;
}

/** The request line of the same call over REST. */
export function exampleRequest(tool: Tool, baseUrl: string): string {
  const example = exampleArguments(tool);
  const path = tool.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(example[name])));
  const query = tool.parameters
    .filter((parameter) => parameter.in === 'query' && parameter.name in example)
    .map(({ name }) => `${name}=${encodeURIComponent(String(example[name]))}`);
  return `${tool.method} ${baseUrl}${path}${query.length > 0 ? `?${query.join('&')}` : ''}`;
}

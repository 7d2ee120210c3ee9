import type { IdKind } from '../core/ids.ts';
import type { Parameter, Tool } from '../core/tool.ts';

/**
 * The numbers in the ids of examples. For example, every conversation id in an example contains the number 11. The
 * guides use the same numbers, and the demo has records with these numbers.
 */
const NUMBERS: Readonly<Record<string, number>> = { cnv: 11, msg: 64, fil: 6, vis: 96, ctc: 89, aif: 5 };

const VALUES: Readonly<Record<string, unknown>> = {
  website_id: 'web_1_1',
  guide: 'overview',
  operation_id: `op_${'0a1b2c3d'.repeat(8)}`,
  path: '/ai/features',
  query: 'translat',
  session_id: `rts_${'0a1b2c3d'.repeat(4)}`,
  subscription_id: `sub_${'0a1b2c3d'.repeat(4)}`,
  after: 'eyJ2IjoxfQ.c2lnbmF0dXJl',
};

const SUBSCRIPTION = {
  website_ids: ['web_1_1'],
  event_types: ['conversation.*', 'privacy.*'],
  payload_mode: 'thin',
  delivery: { mode: 'pull' },
  start: 'beginning',
};

const OF_TOOL: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  // A note needs a visitor with a conversation. The numbers of the demo's visitors depend on the time of the load. The
  // visitor 60 had a conversation at each of 150 times.
  visitor_note_add: { visitor_id: 'vis_1_1_60', text: 'Asked for a refund on order 1042.' },
  conversation_disposition_set: { disposition: 'resolved' },
  ai_feature_execute: {
    expected_version: 3,
    context: { type: 'text', text: 'Wo ist mein Paket?', default_language: 'en' },
  },
  customer_find: { email: 'en.us.74@example.org' },
  config_plan: { path: '/ai/features/aif_1_1_5', expected_version: 3, changes: { enabled: false } },
  subscription_create: SUBSCRIPTION,
  subscription_replace: { ...SUBSCRIPTION, start: 'retained' },
};

const REVISION = 1;

const keyOf = (tool: Tool): string => `${tool.name.replaceAll('_', '-')}-1042`;

const SHOWN: Readonly<Record<string, unknown>> = {
  ...{ limit: 10, status: 'pending,closed', range: 'last-7-days' },
  operation_id: VALUES['operation_id'],
};

/** The number in the example of an id with this prefix. */
export const idNumber = (prefix: string): number => NUMBERS[prefix] ?? 3;

export const idExample = ({ prefix }: IdKind): string => `${prefix}_1_1_${idNumber(prefix)}`;

export function exampleArguments(tool: Tool): Record<string, unknown> {
  const given = tool.parameters.flatMap((parameter): [string, unknown][] => {
    if (parameter.required) return [[parameter.name, requiredValue(tool, parameter)]];
    const shown = OF_TOOL[tool.name]?.[parameter.name] ?? SHOWN[parameter.name];
    return shown === undefined ? [] : [[parameter.name, shown]];
  });
  return Object.fromEntries(given);
}

export const exampleToolArguments = (tool: Tool): Record<string, unknown> => ({
  ...exampleArguments(tool),
  ...(tool.ifMatch && { if_match: REVISION }),
  ...(tool.idempotency === 'required' && { idempotency_key: keyOf(tool) }),
});

/**
 * The parameters whose examples name nothing, not even in the demo. The records that these parameters name exist only
 * after a write, a subscription or a session.
 */
const INVENTED = ['operation_id', 'session_id', 'subscription_id', 'after'];

export const inventedArguments = (tool: Tool): string[] =>
  Object.keys(exampleArguments(tool)).filter((name) => INVENTED.includes(name));

function requiredValue(tool: Tool, { name, id }: Parameter): unknown {
  const value = OF_TOOL[tool.name]?.[name] ?? (id ? idExample(id) : VALUES[name]);
  if (value === undefined) throw new Error(`${tool.name}: examples.ts has no value for ${name}`);
  return value;
}

/** An example of a request. `address` is the path with the query. `body` is the JSON body. */
export interface ExampleCall {
  readonly address: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>> | undefined;
}

export function exampleCall(tool: Tool): ExampleCall {
  const example = exampleArguments(tool);
  const path = tool.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(example[name])));
  const given = (place: Parameter['in']): [string, unknown][] =>
    tool.parameters.flatMap((one) =>
      one.in === place && one.name in example ? [[one.name, example[one.name]] as const] : [],
    );
  // A query permits commas, and a list is easier to read with commas.
  const query = given('query').map(
    ([name, value]) => `${name}=${encodeURIComponent(String(value)).replaceAll('%2C', ',')}`,
  );
  return {
    address: `${path}${query.length > 0 ? `?${query.join('&')}` : ''}`,
    headers: {
      ...(tool.origin && { Origin: 'https://app.example' }),
      ...(tool.ifMatch && { 'If-Match': `"${REVISION}"` }),
      ...(tool.idempotency === 'required' && { 'Idempotency-Key': keyOf(tool) }),
    },
    body: tool.body ? Object.fromEntries(given('body')) : undefined,
  };
}

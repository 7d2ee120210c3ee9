import { type Flag, OPERATIONS, type Operation, type Scope } from './authority/expected.ts';
import { SUBSCRIPTION_WRITES, WRITES } from './authority/expected-writes.ts';

type Condition = readonly [given: string, is: true | string | undefined, scopes: Scope[], dataAccess: Flag[]];

/** What the contract says about an operation as a whole. Several test cases of one operation are combined. */
export interface ContractOperation {
  readonly method: string;
  readonly path: string;
  readonly scopes: readonly Scope[];
  readonly dataAccess: readonly Flag[];
  readonly unrestricted: boolean;
  /**
   * none: every credential may call the operation. refused: a token from a person's consent may not call the operation.
   */
  readonly consent: 'none' | 'refused';
  readonly author: boolean;
  readonly key: 'required' | 'optional' | 'none';
  readonly revision: boolean;
  readonly status: number;
  /** The members of the request body. */
  readonly body: readonly string[];
  readonly when: readonly Condition[];
  readonly paged: boolean;
  readonly outsiders: readonly string[];
  readonly configured: readonly string[];
}

/** The name of a path parameter, by the prefix of the ids that the parameter takes. */
const PARAMETERS: Readonly<Record<string, string>> = {
  receipt: 'operation_id',
  cnv: 'conversation_id',
  msg: 'message_id',
  vis: 'visitor_id',
  ctc: 'contact_id',
  fil: 'file_id',
  aif: 'feature_id',
  sub: 'subscription_id',
};

function template({ path, template: given }: Operation): string {
  const named = path.replace(/\?.*/, '').replace(/\{(\w+)(:\d+)?\}/g, (_, kind) => `{${PARAMETERS[kind] ?? kind}}`);
  return `/api/v1${given ?? named}`;
}

type Case = Operation & Partial<Pick<ContractOperation, 'method' | 'author' | 'key' | 'revision' | 'status' | 'body'>>;

const WEB = 'web_1_1';
const CASES: readonly Case[] = [
  ...OPERATIONS,
  ...WRITES.map(
    ({ body, ...one }): Case => ({
      ...{ ...one, method: 'POST', key: 'required', body: Object.keys(body(WEB)).sort() },
    }),
  ),
  ...SUBSCRIPTION_WRITES.map(
    ({ body, ...one }): Case => ({
      ...{ ...one, key: 'optional', body: Object.keys(body?.(WEB) ?? {}).sort() },
    }),
  ),
];

function whole(cases: readonly Case[]): [string, ContractOperation] {
  const [first] = cases;
  if (first === undefined) throw new Error('an operation without a case');
  const { tool, method = 'GET', author = false, key = 'none', revision = false, status = 200 } = first;
  const conditions = cases.flatMap(({ given }) => (given ? [given] : []));
  const kinds = cases
    .flatMap((one) => (one.kind === undefined ? [] : [{ ...one, kind: one.kind }]))
    .filter(({ kind }, i, all) => all.findIndex((one) => one.kind === kind) === i);
  const always = kinds.length > 0 ? { scopes: [], flags: [], unrestricted: false } : first;
  return [
    tool,
    {
      ...{ method, path: template(first), scopes: [...always.scopes].sort(), dataAccess: [...always.flags].sort() },
      ...{ unrestricted: always.unrestricted ?? false, consent: first.noConsent ? 'refused' : 'none' },
      ...{ author, key, revision, status, body: first.body ?? [] },
      when: conditions
        .filter(
          ({ parameter, has }, i) =>
            conditions.findIndex((one) => one.parameter === parameter && one.has === has) === i,
        )
        .map((one): Condition => [one.parameter, one.has ?? one.is, [...one.scopes].sort(), [...one.flags].sort()])
        .concat(
          kinds.map((one): Condition => {
            const name = `${one.kind}${one.unrestricted ? ' unrestricted' : ''}`;
            return [name, undefined, [...one.scopes].sort(), [...one.flags].sort()];
          }),
        )
        .sort(),
      paged: cases.some(({ cursor }) => cursor !== undefined),
      outsiders: cases.flatMap((one) => one.outsiders ?? []),
      configured: cases.flatMap((one) => one.configured ?? []),
    },
  ];
}

const NAMES = [...new Set(CASES.map(({ tool }) => tool))];

/** The contract's operations by name, derived from the tables in test/support/authority. */
export const CONTRACT: Readonly<Record<string, ContractOperation>> = Object.fromEntries(
  NAMES.map((name) => whole(CASES.filter(({ tool }) => tool === name))),
);

/** The contract's realtime operations. All four need website_read and event_read, and none of them has an MCP tool. */
export const CONTRACT_REALTIME: Readonly<
  Record<string, { readonly method: string; readonly path: string; readonly status: number; readonly body: boolean }>
> = {
  realtime_session_create: { method: 'POST', path: '/api/v1/realtime/sessions', status: 201, body: true },
  realtime_ticket_create: {
    method: 'POST',
    path: '/api/v1/realtime/sessions/{session_id}/tickets',
    status: 201,
    body: true,
  },
  realtime_session_close: {
    method: 'DELETE',
    path: '/api/v1/realtime/sessions/{session_id}',
    status: 204,
    body: false,
  },
  realtime_socket: { method: 'GET', path: '/api/v1/realtime/sessions/{session_id}/socket', status: 101, body: false },
};

/**
 * The contract's table of A2A skills, by hand. For each skill, it names the operation whose answer body becomes the
 * skill's artifact.
 */
export const CONTRACT_SKILLS: Readonly<
  Record<string, { runs: string; arguments: string; required: string; scopes: string; dataAccess: string }>
> = {
  support_insights: {
    runs: 'ai_conversation_summary',
    arguments: 'website_id range start end timezone',
    required: 'website_id range',
    scopes: 'reports_read conversation_read',
    dataAccess: '',
  },
  conversation_evidence: {
    runs: 'conversation_messages',
    arguments: 'conversation_id limit cursor',
    required: 'conversation_id',
    scopes: 'conversation_read message_content_read contact_read_pii',
    dataAccess: 'message_content pii',
  },
  configuration_inspection: {
    runs: 'config_get',
    arguments: 'website_id path limit cursor',
    required: 'website_id path',
    scopes: 'config_read',
    dataAccess: '',
  },
  contact_inspection: {
    runs: 'contact_get',
    arguments: 'contact_id',
    required: 'contact_id',
    scopes: 'contact_read',
    dataAccess: '',
  },
  offline_language_detection: {
    runs: 'ai_feature_execute',
    arguments: 'feature_id expected_version context',
    required: 'feature_id expected_version context',
    scopes: 'ai_features_read ai_execute',
    dataAccess: '',
  },
};

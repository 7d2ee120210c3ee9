import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { FAILURE_CODES, Failure, statusOf } from '../../src/core/failures.ts';
import type { Tool } from '../../src/core/tool.ts';
import type { Answer } from '../support/answer.ts';
import { cursorOf, subscriptionId } from '../support/authority/planted.ts';
import { CANARY, type Canary, plantReceipt, receiptId, World } from '../support/authority/world.ts';
import { CONTRACT_SKILLS } from '../support/contract.ts';
import type { Grant, Issued } from '../support/credentials.ts';
import { ORIGIN } from '../support/events/realtime.ts';
import { times } from '../support/form.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { resolved } from '../support/openapi.ts';
import { rpc as a2a, post as a2aPost, messageId } from '../support/surfaces/a2a.ts';
import {
  addressOf,
  type Body,
  type Document,
  like,
  mutated,
  mutatedBody,
  type Operation,
  readOperations,
  request,
  type Schema,
  seed,
  value,
} from '../support/surfaces/generated.ts';
import { rpc as mcp, post as mcpPost } from '../support/surfaces/mcp.ts';
import { type Example, examples, freshKey } from '../support/surfaces/wire.ts';

/**
 * Generates random requests from the documents that the gateway serves: the OpenAPI document, `tools/list` and the
 * agent card. A request is valid or has exactly one fault. The requests use every surface. Each answer must come within
 * ten seconds, with a documented status below 500, and must conform to the served schema. A refusal must name the
 * fault. No answer may show what its caller may not see. Over MCP and A2A, a failure can have HTTP status 200 and a
 * status of its own inside the answer. `TEST_FORM=long npx vitest run test/surfaces/fuzz.test.ts` sends a million requests.
 * FC_SEED repeats a run.
 */
const INPUTS = Number(process.env['FUZZ_INPUTS'] ?? times(7_000, 1_000_000));
/** The number of requests in one round. After each round, the test removes everything that the requests wrote. */
const ROUND = Math.min(20_000, INPUTS);
const LANES = 8;
const PATIENCE = 10_000;
const WEB = 'web_1_1';

type Surface = 'rest' | 'mcp' | 'a2a';
type Fault = '5xx' | 'undocumented' | 'leaks' | 'mismatches' | 'hangs';
const NONE: Readonly<Record<Fault, number>> = { '5xx': 0, undocumented: 0, leaks: 0, mismatches: 0, hangs: 0 };

class Tally {
  readonly found = { ...NONE };
  readonly inputs: Record<Surface, number> = { rest: 0, mcp: 0, a2a: 0 };
  readonly said = new Map<string, number>();
  /**
   * `right` is the number of valid requests of the caller with full authority. `full` is the number of successes among
   * these requests. `all` is the number of successes of all callers.
   */
  readonly done = new Map<string, { right: number; full: number; all: number }>();

  get total(): number {
    return this.inputs.rest + this.inputs.mcp + this.inputs.a2a;
  }
}

let gateway: TestGateway;
let world: World;
let targets: Target[];
process.stderr.write(`fuzz: FC_SEED=${seed}\n`);

interface Holder extends Issued {
  readonly name: string;
  readonly hidden: ReadonlySet<string>;
}
const holders = new Map<string, Holder>();
/** Six of nine requests come from the caller with full authority. `nobody` sends no token. */
const WHO = ['full', 'full', 'full', 'full', 'full', 'full', 'masked', 'restricted', 'nobody'] as const;
type Who = (typeof WHO)[number];

const FLAGGED =
  /^(contact|message|note|file|file_chunk)\.|^conversation\.(subject|language|rating_label)|^visitor\.nickname/;
const foreign = ({ tenant, site }: Canary): boolean => tenant !== 1 || site !== 1;
/** True for rows that a caller who is restricted to channel 1 may not see. */
const away = ({ table, row }: Canary): boolean =>
  (table === 'conversation' && (row === 2 || row === 5)) ||
  (table === 'message' && row >= 8) ||
  (table.startsWith('file') && row >= 3) ||
  (table === 'ai_result' && row === 2);

const GRANTS: Readonly<Record<Exclude<Who, 'nobody'>, readonly [Grant, (canary: Canary) => boolean]>> = {
  full: [{}, () => false],
  masked: [{ dataAccess: [] }, ({ table, column }) => FLAGGED.test(`${table}.${column}`)],
  restricted: [{ channels: ['chn_1_1_1'] }, away],
};

beforeAll(async () => {
  gateway = await openTestGateway('empty');
  world = await new World(gateway.database.sql).whole();
  for (const [name, [grant, hides]] of Object.entries(GRANTS)) {
    const issued = await gateway.issue({ websites: [WEB], authors: ['opr_1_1_1'], origins: [ORIGIN], ...grant });
    const hidden = world.canaries.filter((one) => foreign(one) || hides(one)).map(({ text }) => text);
    holders.set(name, { ...issued, name, hidden: new Set(hidden) });
  }
  await clear();
  targets = await readTargets();
});
afterAll(() => gateway.close());

const holder = (name: string): Holder => holders.get(name) ?? expect.fail(name);

/** Removes everything that the requests wrote. Plants the receipt and the subscription of each credential again. */
async function clear(): Promise<void> {
  const { sql } = gateway.database;
  await sql`DELETE FROM gateway.task WHERE id <> ${lastTask}`;
  await sql`DELETE FROM platform.note WHERE id > 100`;
  await sql`DELETE FROM gateway.subscription`;
  await sql`DELETE FROM gateway.operation`;
  for (const { credential } of holders.values()) await plantReceipt(sql, credential);
  readLog();
}

function readLog(): void {
  expect(gateway.log.filter((line) => /^DEFECT|"level":[56]0\b/.test(line)).slice(0, 3)).toEqual([]);
  expect(gateway.log.join('\n').match(CANARY)).toBeNull();
  gateway.log.length = 0;
}

/**
 * One generated request. `names` is the parameter or member that the refusal must name. `names` is empty when the
 * refusal need not name any place.
 */
interface Shot {
  readonly who: Who;
  readonly right: boolean;
  readonly names?: string | undefined;
  readonly url?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}
interface Target {
  readonly name: string;
  readonly surface: Surface;
  readonly weight: number;
  readonly shots: fc.Arbitrary<Shot>;
  ask(shot: Shot, asker: Holder | undefined): Promise<Answer>;
  judge(answer: Answer, shot: Shot, asker: Holder | undefined): void;
}

const who = fc.constantFrom(...WHO);

/**
 * In a generated request, these ids are placeholders. SESSION becomes the last realtime session of the caller. TASK
 * becomes the last task of the caller with full authority.
 */
const SESSION = `rts_${'0'.repeat(32)}`;
const TASK = `task_${'0'.repeat(32)}`;
const sessions = new Map<string, string>();
let lastTask = TASK;

/**
 * Remembers a created realtime session. When a request has deleted or replaced the caller's subscription, the function
 * plants the subscription again, because later requests need it.
 */
async function keep({ name }: Operation, surface: Surface, answer: Answer, asker: Holder | undefined): Promise<void> {
  if (!asker || !did(surface, answer)) return;
  if (name === 'realtime_session_create') sessions.set(asker.name, answer.body.session_id);
  if (name !== 'subscription_delete' && name !== 'subscription_replace') return;
  const { sql } = gateway.database;
  await sql`DELETE FROM gateway.subscription WHERE installation_id = ${asker.installation}`;
  await plantReceipt(sql, asker.credential);
}

async function readTargets(): Promise<Target[]> {
  const { credential } = holder('full');
  const document = resolved<Document>((await gateway.ask('/api/v1/openapi.json')).body);
  const mine = {
    ...{ subscription: subscriptionId(credential), after: cursorOf(credential) },
    operation: receiptId(credential),
  };
  const definition: Body = {
    website_ids: [WEB],
    event_types: ['conversation.*', 'visitor.changed'],
    ...{ payload_mode: 'thin', delivery: { mode: 'pull' }, start: 'retained' },
  };
  const all: Example[] = [
    ...(await examples(gateway)),
    ...gateway.corridor.registry.tools
      .filter(({ effect, idempotency }) => effect === 'write' && idempotency !== 'required')
      .map((tool) => ({
        tool,
        path: tool.path.replace('{subscription_id}', mine.subscription),
        query: [],
        url: '',
        body: tool.method === 'DELETE' ? undefined : definition,
      })),
    ...gateway.corridor.registry.operations
      .filter(({ mcp }) => !mcp)
      .map((tool) => ({
        tool,
        path: tool.path.replace('{session_id}', SESSION),
        ...{ query: [], url: '', body: tool.body ? {} : undefined },
      })),
  ].map((one) => ({
    ...one,
    path: one.path.replace(/sub_0{32}/, mine.subscription).replace(/op_0{64}/, mine.operation),
    query: one.query.map(([name, text]) => [
      name,
      name === 'after' ? mine.after : name === 'subscription_id' ? mine.subscription : text,
    ]),
  }));
  const operations = readOperations(document, all);
  const of = (name: string): Operation => operations.find((one) => one.name === name) ?? expect.fail(name);
  const tools: readonly { name: string; inputSchema: Schema }[] = (
    await mcp(gateway.port, holder('full').token, 'tools/list')
  ).body.result.tools;
  const card = (await gateway.ask('/.well-known/agent-card.json')).body;
  const skills: Readonly<Record<string, Schema>> = card.capabilities.extensions[0].params;
  return interleaved([
    operations.map(rest),
    tools.map(({ name, inputSchema }) =>
      tool(
        of(name),
        inputSchema,
        all.find((one) => one.tool.name === name),
      ),
    ),
    [
      ...Object.entries(skills).map(([name, schema]) =>
        skill(name, schema, of(CONTRACT_SKILLS[name]?.runs ?? ''), all),
      ),
      ...taskMethods(),
      ...envelopes(),
    ],
  ]);
}

/** Takes one item of each list in turn, so that no kind of request runs alone at the end. */
const interleaved = <T>(lists: readonly (readonly T[])[]): T[] =>
  Array.from({ length: Math.max(...lists.map(({ length }) => length)) }, (_, i) =>
    lists.flatMap((list) => list.slice(i, i + 1)),
  ).flat();

class Finding extends Error {
  constructor(
    readonly fault: Fault,
    where: string,
  ) {
    super(`${fault}: ${where}`);
  }
}
function hold(fault: Fault, fine: boolean, where: () => string): void {
  if (!fine) throw new Finding(fault, where());
}

function conforms(method: string, path: string, answer: Answer): void {
  try {
    gateway.check(method, path, answer);
  } catch (error) {
    const text = String(error);
    throw new Finding(text.includes('is not documented') ? 'undocumented' : 'mismatches', text);
  }
}

/**
 * Returns the status of an answer. A tool's result, a failed task or a JSON-RPC error can contain a status of its own.
 * Such a contained status is returned instead.
 */
function toldBy({ status, body }: Answer): number {
  const { error, result } = Object(body);
  if (error?.code === -32_603) return 500;
  const { state, message } = (result?.task ?? result)?.status ?? {};
  if (state !== 'TASK_STATE_FAILED') return result?.structuredContent?.error?.status ?? status;
  const code = FAILURE_CODES.find((one) => one === message?.parts[0].data.code);
  return code ? statusOf(code) : 500;
}

function did(surface: Surface, { status, body }: Answer): boolean {
  if (surface === 'rest') return status < 300;
  const { result } = Object(body);
  const { state = 'TASK_STATE_COMPLETED' } = result?.task?.status ?? {};
  return result !== undefined && result.isError !== true && state === 'TASK_STATE_COMPLETED';
}

/** Codes of faults that a schema cannot express, for example a cursor of another list or a date without a range. */
const RULES = /^invalid_(cursor|parameter)$/;

function rest(operation: Operation): Target {
  const { body: schema, method, headers: declared } = operation;
  const bodies = schema ? like(schema, operation.example?.body ?? {}) : fc.constant(undefined);
  const addresses = request(operation);
  const headers = fc
    .tuple(
      ...declared.map(({ name, schema: of, required }) => {
        const text =
          name === 'Idempotency-Key'
            ? fc.oneof({ weight: 9, arbitrary: fc.constant('fresh') }, value(of))
            : name === 'Origin'
              ? fc.constant(ORIGIN)
              : name === 'If-Match'
                ? fc.oneof({ weight: 3, arbitrary: fc.constant('1') }, value(of))
                : value(of);
        const sent = text.map((one) => [[name.toLowerCase(), String(one)]]);
        return required || name === 'Idempotency-Key' ? sent : fc.oneof(fc.constant([]), sent);
      }),
      declared.some(({ name }) => name === 'Range')
        ? fc.constantFrom([], [['accept', 'application/octet-stream']])
        : fc.constant([]),
    )
    .map((all): Readonly<Record<string, string>> => Object.fromEntries(all.flat()));
  const shots = fc
    .tuple(who, addresses, bodies, headers, fc.boolean())
    .chain(([asker, given, body, sent, right]): fc.Arbitrary<Shot> => {
      const shot: Shot = { who: asker, url: addressOf(operation, given), body, headers: sent, right };
      if (right) return fc.constant(shot);
      const address = () => mutated(operation, given).map((one): Shot => ({ ...shot, ...one }));
      const content = () => mutatedBody(schema ?? {}, body ?? {}).map((one): Shot => ({ ...shot, ...one }));
      return schema && body ? fc.boolean().chain((inBody) => (inBody ? content() : address())) : address();
    });
  return {
    name: `REST ${operation.name}`,
    surface: 'rest',
    weight: 46,
    shots,
    async ask({ url = '', body, headers: sent = {} }, asker) {
      const key = sent['idempotency-key'] === 'fresh' ? { 'idempotency-key': freshKey() } : {};
      const answer = await gateway.ask(url.replace(SESSION, sessions.get(asker?.name ?? '') ?? SESSION), {
        ...{ method, token: asker?.token, headers: { ...sent, ...key }, unchecked: true },
        ...(method !== 'GET' && body !== undefined && { body }),
      });
      await keep(operation, 'rest', answer, asker);
      return answer;
    },
    judge(answer, { url = '', body, headers: sent = {}, right, names }, asker) {
      conforms(method, url, answer);
      const { status } = answer;
      const where = () => `${method} ${url} ${JSON.stringify(body)} -> ${status} ${answer.text.slice(0, 600)}`;
      if (!asker) hold('mismatches', status === 401, where);
      else if (!right) {
        const refused = status === 400 || (asker.name !== 'full' && status === 404);
        hold('mismatches', refused, where);
        if (status === 400)
          hold('mismatches', names === undefined || namesOf(answer.body.errors).some(tells(names)), where);
      } else if (status === 400) hold('mismatches', RULES.test(answer.body.code) || 'if-match' in sent, where);
    },
  };
}

type Named = readonly { readonly parameter?: string; readonly pointer?: string }[];
const namesOf = (errors: Named | undefined): string[] =>
  (errors ?? []).map(({ parameter, pointer }) => parameter ?? pointer ?? '');
/**
 * When a member is missing, the refusal names the member and not the object that lacks it. A name inside the expected
 * name is therefore also correct.
 */
const tells =
  (names: string) =>
  (one: string): boolean =>
    one === names || one.startsWith(`${names}/`) || one.startsWith(`${names}.`);
const dotted = (pointer: string): string => pointer.slice(1).replaceAll('/', '.');

function asRest({ method, path, name }: Operation, answer: Answer, data: unknown): void {
  const { status = 200 } = gateway.corridor.registry.get(name) ?? {};
  if (status === 204) return;
  const headers = { ...answer.headers, 'content-type': 'application/json' };
  conforms(method, path.replace(/\{\w+\}/g, 'x'), { ...answer, status, headers, body: data });
}

const ID = 'fuzz';
const RPC = { jsonrpc: '2.0', id: ID };

/**
 * Generates random arguments for a tool. `tools/list` has no patterns, so the patterns come from the parameters of the
 * same name in the OpenAPI document.
 */
function tool(operation: Operation, served: Schema, example: Example | undefined): Target {
  const told: Readonly<Record<string, Schema>> = {
    ...Object.fromEntries(operation.parameters.map(({ name, schema }) => [name, schema])),
    ...operation.body?.properties,
    idempotency_key: { type: 'string', pattern: '^[!-~]{1,128}$', maxLength: 128 },
  };
  const { if_match: revision, ...properties } = served.properties ?? {};
  const known = Object.fromEntries(Object.keys(properties).map((name) => [name, told[name] ?? expect.fail(name)]));
  const required = (served.required ?? []).filter((name) => name !== 'if_match');
  const schema: Schema = { type: 'object', properties: known, required };
  const names = [...(example?.tool.path ?? '').matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const values = example?.path.split('/').filter((part, i) => part !== example.tool.path.split('/')[i]) ?? [];
  const typed = (name: string, text: string): unknown => (known[name]?.type === 'integer' ? Number(text) : text);
  const input: Body = {
    ...Object.fromEntries(names.map((name, i) => [name, values[i]])),
    ...Object.fromEntries((example?.query ?? []).map(([name, text]) => [name, typed(name, text)])),
    ...example?.body,
  };
  const shots = fc
    .tuple(who, like(schema, input), fc.boolean(), fc.integer({ min: 1, max: 3 }))
    .chain(([asker, body, right, at]): fc.Arbitrary<Shot> => {
      const whole = (of: unknown) => ({ ...Object(of), ...(revision && { if_match: at }) });
      if (right) return fc.constant({ who: asker, right, body: whole(body) });
      return mutatedBody(schema, body).map((one) => ({ who: asker, right, names: one.names, body: whole(one.body) }));
    });
  return {
    name: `MCP ${operation.name}`,
    surface: 'mcp',
    weight: 38,
    shots,
    async ask({ body }, asker) {
      const params = { name: operation.name, arguments: keyed(body) };
      const answer = await mcp(gateway.port, asker?.token, 'tools/call', params, { id: ID });
      await keep(operation, 'mcp', answer, asker);
      return answer;
    },
    judge(answer, { body, right, names: wrong = '' }, asker) {
      const where = () => `${operation.name} ${JSON.stringify(body)} -> ${answer.status} ${answer.text.slice(0, 600)}`;
      if (!asker) {
        hold('mismatches', answer.status === 401, where);
        return;
      }
      hold('undocumented', answer.status === 200, where);
      const { result, error, ...envelope } = answer.body;
      expect(envelope).toEqual(RPC);
      if (error) {
        hold('undocumented', error.code === -32_602, where);
        const denied = error.data.code === 'not_permitted';
        if (denied) hold('mismatches', asker.name !== 'full', where);
        else if (right) hold('mismatches', RULES.test(error.data.code), where);
        else hold('mismatches', namesOf(error.data.errors).some(tells(dotted(wrong))), where);
        return;
      }
      // The gateway checks the website before the key. A caller without the website therefore gets a refusal that does
      // not name the key.
      const refused = result.isError && (asker.name !== 'full' || wrong === '/idempotency_key');
      hold('mismatches', right || refused, where);
      if (result.isError) hold('undocumented', operation.statuses.has(toldBy(answer)), where);
      else asRest(operation, answer, result.structuredContent.data);
    },
  };
}

/** Replaces a valid idempotency key in a body by a new key. Keys whose length is a multiple of 8 stay as they are. */
const keyed = (body: unknown): unknown => {
  const { idempotency_key: key, ...rest } = Object(body);
  return typeof key === 'string' && key.length % 8 !== 0 && /^[!-~]{1,128}$/.test(key)
    ? { ...rest, idempotency_key: freshKey() }
    : body;
};

function skill(name: string, schema: Schema, operation: Operation, all: readonly Example[]): Target {
  const example = all.find((one) => one.tool.name === operation.name);
  const [text = ''] = (example?.tool.path ?? '').match(/\{\w+\}/) ?? [];
  const at = (example?.tool.path ?? '').split('/').indexOf(text);
  const input: Body = {
    ...(text !== '' && { [text.slice(1, -1)]: example?.path.split('/')[at] }),
    ...Object.fromEntries(example?.query ?? []),
    ...(name === 'support_insights' && { website_id: WEB, range: 'today' }),
    ...example?.body,
  };
  const shots = fc.tuple(who, like(schema, input), fc.boolean()).chain(([asker, body, right]): fc.Arbitrary<Shot> => {
    if (right) return fc.constant({ who: asker, right, body });
    return mutatedBody(schema, body).map((one) => ({ who: asker, right, names: one.names, body: one.body }));
  });
  return {
    name: `A2A ${name}`,
    surface: 'a2a',
    weight: 24,
    shots,
    async ask({ body }, asker) {
      const parts = [{ data: { skill: name, arguments: body }, mediaType: 'application/json' }];
      const message = { messageId: messageId(), role: 'ROLE_USER', parts };
      const answer = await a2a(gateway.port, asker?.token, 'SendMessage', { message }, { id: ID });
      const { result } = Object(answer.body);
      if (asker?.name === 'full' && did('a2a', answer)) lastTask = result.task.id;
      if (asker && result) await room(asker);
      return answer;
    },
    judge(answer, { body, right, names = '' }, asker) {
      const where = () => `${name} ${JSON.stringify(body)} -> ${answer.status} ${answer.text.slice(0, 600)}`;
      if (!asker || answer.status === 404) {
        hold(
          'mismatches',
          asker ? asker.name !== 'full' && answer.body.code === 'not_permitted' : answer.status === 401,
          where,
        );
        return;
      }
      hold('undocumented', answer.status === 200, where);
      const { result, error, ...envelope } = answer.body;
      expect(envelope).toEqual(RPC);
      if (error) {
        hold('undocumented', error.code === -32_602, where);
        const [info, bad] = error.data;
        const fields: string[] = (bad?.fieldViolations ?? []).map(({ field }: { field: string }) => field);
        const place = `message.parts.0.data.arguments.${dotted(names)}`;
        if (right) hold('mismatches', RULES.test(info.reason), where);
        else hold('mismatches', fields.some(tells(place)), where);
        return;
      }
      const { state } = result.task.status;
      hold('mismatches', right && /^TASK_STATE_(COMPLETED|FAILED)$/.test(state), where);
      if (state === 'TASK_STATE_COMPLETED') asRest(operation, answer, result.task.artifacts[0].parts[0].data);
      else hold('undocumented', operation.statuses.has(toldBy(answer)), where);
    },
  };
}

const started = new Map<string, number>();
/**
 * Deletes the tasks of a caller in time, because an installation may have only a hundred tasks that have not expired.
 */
async function room({ name, installation }: Holder): Promise<void> {
  const n = (started.get(name) ?? 0) + 1;
  started.set(name, n % 40);
  if (n % 40 === 0)
    await gateway.database.sql`DELETE FROM gateway.task WHERE installation_id = ${installation}
      AND state IN ('completed', 'failed', 'canceled') AND id <> ${lastTask}`;
}

const RPC_CODES = new Set([-32_700, -32_600, -32_601, -32_602, ...Array.from({ length: 9 }, (_, i) => -32_001 - i)]);

function anyRpc(answer: Answer, asker: Holder | undefined, where: () => string): void {
  const { status, body, text } = answer;
  if (!asker) hold('mismatches', status === 401, where);
  else hold('undocumented', [200, 202, 400, 404].includes(status), where);
  if (status === 202) hold('mismatches', text === '', where);
  else if (body?.jsonrpc === '2.0') {
    hold('mismatches', 'error' in body !== 'result' in body, where);
    if (body.error) hold('undocumented', RPC_CODES.has(body.error.code), where);
  } else hold('mismatches', answer.headers['content-type'] === 'application/problem+json', where);
}

function taskMethods(): Target[] {
  const anything = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom<unknown>('\0', '', null, -1, 1e300));
  const mostly = (one: fc.Arbitrary<unknown>) => fc.oneof({ weight: 3, arbitrary: one }, anything);
  const id = fc.oneof(
    { weight: 3, arbitrary: fc.constant(TASK) },
    ...[fc.stringMatching(/^task_[a-f0-9]{32}$/), anything].map((arbitrary) => ({ weight: 1, arbitrary })),
  );
  const methods: Readonly<Record<string, Readonly<Record<string, fc.Arbitrary<unknown>>>>> = {
    GetTask: { id, historyLength: mostly(fc.nat(3)), tenant: mostly(fc.constant('')) },
    CancelTask: { id, metadata: anything },
    ListTasks: {
      contextId: mostly(fc.string({ maxLength: 20 })),
      status: mostly(fc.constantFrom('TASK_STATE_COMPLETED', 'TASK_STATE_FAILED')),
      pageSize: mostly(fc.integer({ min: 1, max: 100 })),
      pageToken: fc.oneof(fc.base64String({ maxLength: 120 }), anything),
      statusTimestampAfter: mostly(value({ format: 'date-time' })),
      includeArtifacts: mostly(fc.boolean()),
    },
  };
  return Object.entries(methods).map(([method, members]) => ({
    name: `A2A ${method}`,
    surface: 'a2a',
    weight: 14,
    shots: fc.record({ who, right: fc.constant(false), body: fc.record(members, { requiredKeys: [] }) }),
    ask({ body }, asker) {
      const { id: task } = Object(body);
      const params = task === TASK ? { ...Object(body), id: lastTask } : body;
      return a2a(gateway.port, asker?.token, method, params, { id: ID });
    },
    judge: (answer, { body }, asker) =>
      anyRpc(answer, asker, () => `${method} ${JSON.stringify(body)} -> ${answer.status} ${answer.text.slice(0, 600)}`),
  }));
}

function envelopes(): Target[] {
  const anything = fc.jsonValue({ maxDepth: 3 });
  const named = (methods: readonly string[], params: fc.Arbitrary<unknown>) =>
    fc.record(
      {
        jsonrpc: fc.oneof({ weight: 9, arbitrary: fc.constant('2.0') }, anything),
        id: fc.oneof({ weight: 5, arbitrary: fc.constant(ID) }, anything),
        method: fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...methods) }, fc.string(), anything),
        params: fc.oneof(params, anything),
      },
      { requiredKeys: [] },
    );
  const text = (messages: fc.Arbitrary<unknown>) =>
    fc.oneof(
      { weight: 6, arbitrary: messages.map((one) => JSON.stringify(one)) },
      { weight: 1, arbitrary: fc.string({ unit: 'grapheme' }) },
      {
        weight: 2,
        arbitrary: messages
          .map((one) => JSON.stringify(one))
          .chain((whole) => fc.nat(whole.length).map((at) => whole.slice(0, at))),
      },
    );
  const uri = fc.oneof(
    fc.constantFrom('gateway://context', 'gateway://capabilities', 'gateway://guides/overview'),
    fc.webUrl(),
    fc.string(),
  );
  const kinds: readonly [Surface, readonly string[], fc.Arbitrary<unknown>, typeof mcpPost | typeof a2aPost][] = [
    [
      'mcp',
      [
        ...['initialize', 'ping', 'tools/list', 'tools/call', 'prompts/list', 'prompts/get', 'resources/read'],
        'resources/list',
      ],
      fc.record(
        {
          uri,
          name: fc.oneof(fc.constantFrom('websites_list', 'performance_summary'), fc.string()),
          arguments: anything,
        },
        { requiredKeys: [] },
      ),
      mcpPost,
    ],
    [
      'a2a',
      ['SendMessage', 'GetTask', 'ListTasks', 'CancelTask', 'SubscribeToTask', 'GetExtendedAgentCard'],
      fc.record({ message: anything, id: fc.string(), configuration: anything }, { requiredKeys: [] }),
      a2aPost,
    ],
  ];
  return kinds.map(([surface, methods, params, post]) => ({
    name: `${surface} envelope`,
    surface,
    weight: 60,
    shots: fc.record({ who, right: fc.constant(false), url: text(named(methods, params)) }),
    ask: ({ url = '' }, asker) => post(gateway.port, asker?.token, url),
    judge: (answer, { url = '' }, asker) =>
      anyRpc(answer, asker, () => `${surface} ${url} -> ${answer.status} ${answer.text.slice(0, 600)}`),
  }));
}

async function shoot(target: Target, shot: Shot, tally: Tally, patience = PATIENCE): Promise<void> {
  const { name, surface } = target;
  const asker = holders.get(shot.who);
  const where = () => `${name} ${JSON.stringify(shot)}`;
  tally.inputs[surface]++;
  let timer: NodeJS.Timeout | undefined;
  const hang = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Finding('hangs', `no answer in ${patience} ms: ${where()}`)), patience);
  });
  try {
    const answer = await Promise.race([target.ask(shot, asker), hang]).finally(() => clearTimeout(timer));
    const told = toldBy(answer);
    hold('5xx', told < 500, () => `${where()} ${answer.text}`);
    const shown = answer.text + Object.values(answer.headers).join();
    if (shown.includes('Zq'))
      for (const [canary] of shown.matchAll(CANARY))
        hold('leaks', asker !== undefined && !asker.hidden.has(canary), where);
    for (const { token } of holders.values()) hold('leaks', !shown.includes(token), where);
    target.judge(answer, shot, asker);
    const key = `${surface} ${told}`;
    tally.said.set(key, (tally.said.get(key) ?? 0) + 1);
    const done = tally.done.get(name) ?? { right: 0, full: 0, all: 0 };
    tally.done.set(name, done);
    const full = shot.right && asker?.name === 'full';
    if (full) done.right++;
    if (!did(surface, answer)) return;
    done.all++;
    if (full) done.full++;
  } catch (error) {
    tally.found[error instanceof Finding ? error.fault : 'mismatches']++;
    throw error;
  }
}

/** These targets never succeed. The tasks end too fast to be canceled, and a plain request cannot open a WebSocket. */
const NEVER: readonly string[] = ['A2A CancelTask', 'REST realtime_socket'];
/** A random key is seldom the key of an earlier write. test/tools/discovery/operation-get.test.ts looks up such keys. */
const SELDOM = 'REST operation_get_without_id';
const idle = (tally: Tally): Target[] => targets.filter(({ name }) => (tally.done.get(name)?.all ?? 0) === 0);

/**
 * Random requests to some targets seldom succeed. Sends more requests to such a target, until one request succeeds. An
 * earlier request can have closed the realtime session of the caller, and `room` can have deleted its last task while
 * another lane waited for the answer, so targets that need one of these get a new one.
 */
async function insist(target: Target, tally: Tally): Promise<void> {
  if (target.name.startsWith('REST realtime_')) {
    const { token } = holder('full');
    const opened = await gateway.ask('/api/v1/realtime/sessions', {
      ...{ method: 'POST', token, headers: { origin: ORIGIN }, body: {} },
    });
    expect(opened.status, opened.text).toBe(201);
    sessions.set('full', opened.body.session_id);
  }
  if (target.name === 'A2A GetTask') {
    const data = { skill: 'configuration_inspection', arguments: { website_id: WEB, path: '/ai/features' } };
    const parts = [{ data, mediaType: 'application/json' }];
    const message = { messageId: messageId(), role: 'ROLE_USER', parts };
    const answer = await a2a(gateway.port, holder('full').token, 'SendMessage', { message }, { id: ID });
    expect(did('a2a', answer), answer.text).toBe(true);
    lastTask = answer.body.result.task.id;
  }
  const shots = fc.sample(
    target.shots.filter((shot) => shot.who === 'full'),
    { seed, numRuns: 200 },
  );
  for (const shot of shots) if (idle(tally).includes(target)) await shoot(target, shot, tally);
}

it('whatever is asked, over every surface: documented answers, no 5xx, no leak, no hang', {
  timeout: times(300_000, 4 * 3_600_000),
}, async ({ task }) => {
  const weights = targets.reduce((sum, { weight }) => sum + weight, 0);
  const tally = new Tally();
  const { found, inputs, said, done } = tally;
  for (let round = 0; tally.total < INPUTS; round++) {
    const queue = [...targets];
    const lane = async (): Promise<void> => {
      for (let target = queue.shift(); target; target = queue.shift()) {
        const one = target;
        const numRuns = Math.ceil((ROUND * one.weight) / weights);
        await fc.assert(
          fc.asyncProperty(one.shots, (shot) => shoot(one, shot, tally)),
          { seed: seed + round, numRuns },
        );
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane)).finally(() => {
      task.meta.shown = { inputs: { asked: tally.total, '5xx': found['5xx'], leaks: found.leaks } };
    });
    for (const target of idle(tally)) if (!NEVER.includes(target.name)) await insist(target, tally);
    await clear();
  }
  const shares = new Map<Surface, number>();
  for (const surface of ['rest', 'mcp', 'a2a'] as const) {
    const of = targets.filter((one) => one.surface === surface).flatMap(({ name }) => done.get(name) ?? []);
    const sum = (what: 'right' | 'full'): number => of.reduce((n, one) => n + one[what], 0);
    shares.set(surface, sum('full') / sum('right'));
  }
  console.info(
    `fuzz: inputs ${tally.total} (${JSON.stringify(inputs)}), 5xx ${found['5xx']}, undocumented ${found.undocumented}, leaks ${found.leaks}, mismatches ${found.mismatches}, hangs ${found.hangs}; ` +
      `${JSON.stringify(Object.fromEntries([...said].sort()))}; of what was right and permitted, done: ${[...shares].map(([surface, share]) => `${surface} ${(share * 100).toFixed(0)} %`).join(', ')}`,
  );
  expect(tally.total).toBeGreaterThanOrEqual(INPUTS);
  expect(found).toEqual(NONE);
  // Enough valid requests must succeed. Otherwise the test would see only refusals. Measured: 59 % over REST, 55 % over
  // MCP and 53 % over A2A.
  expect(
    idle(tally)
      .map(({ name }) => name)
      .filter((name) => name !== SELDOM)
      .sort(),
  ).toEqual(NEVER);
  for (const [surface, share] of shares) expect(share, surface).toBeGreaterThan(surface === 'a2a' ? 0.25 : 0.4);
});

/**
 * Each surface gets its own planted defects, to prove that the test finds defects on every surface. The defects are in
 * the same tool on all three surfaces.
 */
const PLANTED_IN = [
  ['REST', 'REST contact_get'],
  ['MCP', 'MCP contact_get'],
  ['A2A', 'A2A contact_inspection'],
] as const;

describe.each(PLANTED_IN)('the fuzz has power over %s', (_, name) => {
  let contact: Tool;
  let release = (): void => undefined;
  beforeAll(() => {
    contact = gateway.corridor.registry.get('contact_get') ?? expect.fail('contact_get');
  });
  afterEach(() => {
    vi.restoreAllMocks();
    gateway.log.length = 0;
  });

  /**
   * Changes what the tool answers. The check of the output schema is off, so the gateway itself does not notice the
   * change.
   */
  const rewritten = (change: (text: string) => string) => (): void => {
    const { handle } = contact;
    vi.spyOn(contact.output, 'safeParse').mockImplementation((data) => ({ success: true, data }));
    vi.spyOn(contact, 'handle').mockImplementation(async (context) =>
      JSON.parse(change(JSON.stringify(await handle(context)))),
    );
  };
  const theirs = (): string => world.canaries.find(({ tenant }) => tenant === 2)?.text ?? expect.fail('no canary');

  it.each<[string, Fault, () => void]>([
    ['a handler that throws', '5xx', () => vi.spyOn(contact, 'handle').mockRejectedValue(new Error('planted'))],
    [
      'a refusal that is not documented',
      'undocumented',
      () => vi.spyOn(contact, 'handle').mockRejectedValue(new Failure('precondition_failed')),
    ],
    ['a text of another organization', 'leaks', rewritten((text) => text.replace(CANARY, theirs()))],
    ['a member that no schema has', 'mismatches', rewritten((text) => text.replace('{"', '{"planted":1,"'))],
    [
      'a handler that does not answer',
      'hangs',
      () => {
        const { handle } = contact;
        const gate = new Promise<void>((resolve) => {
          release = resolve;
        });
        vi.spyOn(contact, 'handle').mockImplementation((context) => gate.then(() => handle(context)));
      },
    ],
  ])('it finds %s: %s', { meta: { shown: { planted: 1 } } }, async (_, fault, plant) => {
    const target = targets.find((one) => one.name === name) ?? expect.fail(name);
    const asked: Promise<Answer>[] = [];
    const watched: Target = {
      ...target,
      ask(shot, asker) {
        const answer = target.ask(shot, asker);
        asked.push(answer);
        return answer;
      },
    };
    const run = async (tally: Tally): Promise<boolean> => {
      const right = target.shots.filter((shot) => shot.right && shot.who === 'full');
      const property = fc.asyncProperty(right, (shot) => shoot(watched, shot, tally, 500));
      return (await fc.check(property, { seed, numRuns: 40, endOnFailure: true })).failed;
    };
    const tally = new Tally();
    plant();
    expect(await run(tally)).toBe(true);
    expect(tally.found).toEqual({ ...NONE, [fault]: 1 });
    release();
    await Promise.all(asked);
    if (fault === '5xx') expect(readLog).toThrow();
  });
});

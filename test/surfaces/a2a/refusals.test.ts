import { readFileSync } from 'node:fs';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadSkills } from '../../../src/gateway/load.ts';
import { a2aSurface } from '../../../src/surfaces/a2a/a2a.ts';
import { Streams } from '../../../src/surfaces/a2a/streams.ts';
import { startServer } from '../../../src/surfaces/http/server.ts';
import { openTasks } from '../../../src/tasks/tasks.ts';
import type { Answer } from '../../support/answer.ts';
import { BASE_URL, openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { messageId, post, rpc, work } from '../../support/surfaces/a2a.ts';
import { openStream } from '../../support/surfaces/a2a-stream.ts';

let gateway: TestGateway;
let token: string;

beforeAll(async () => {
  gateway = await openTestGateway();
  ({ token } = await gateway.issue());
});
afterAll(() => gateway.close());

/** The refusals of docs/orchestrators.md, such as `400 duplicate_parameter`, `401`, `-32602 message_id_conflict`. */
function documented(): string[] {
  const text = readFileSync(new URL('../../../docs/orchestrators.md', import.meta.url), 'utf8');
  const rows = text.slice(text.indexOf('\n## Refusals')).match(/^\| [−\d].*$/gm) ?? [];
  return rows.flatMap((row) => {
    const cell = row.split('|')[1] ?? '';
    const [code = ''] = cell.match(/−?\d+/) ?? [];
    const names = [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => ` ${name}`);
    return (names.length > 0 ? names : ['']).map((name) => code.replace('−', '-') + name);
  });
}

/** A refusal in the form of `documented`. The table names some codes only by their number. */
function refusalOf({ status, body, text }: Pick<Answer, 'status' | 'body' | 'text'>, table: readonly string[]): string {
  const code = status === 200 ? body.error?.code : status;
  const names = status === 200 ? [body.error?.data?.[0]?.reason] : [body?.code];
  const [named] = names.map((name) => `${code} ${name}`).filter((one) => table.includes(one));
  return named ?? (code === undefined ? text : `${code}`);
}

/** A process that takes no work, and that checks authorities often. */
async function full() {
  const skills = await loadSkills(gateway.corridor.registry);
  const { db } = gateway.database;
  const tasks = openTasks({ db, corridor: gateway.corridor, onError: () => undefined, held: 0 });
  const server = await startServer({
    host: '127.0.0.1',
    baseUrl: BASE_URL,
    port: 0,
    tls: undefined,
    log: pino({ level: 'silent' }),
    handlers: [
      a2aSurface(gateway.corridor, {
        baseUrl: BASE_URL,
        tasks,
        skills,
        streams: new Streams(gateway.corridor, { check: 20 }),
      }),
    ],
    otherwise: (_, response) => response.writeHead(404).end(),
  });
  return { port: server.port, close: () => Promise.all([server.close(), tasks.stop()]) };
}

const inspect = (message: object = {}): ReturnType<typeof work> =>
  work('contact_inspection', { contact_id: 'ctc_1_1_1' }, message);
const call = (method: string, params: unknown = {}, by = token): Promise<Answer> =>
  rpc(gateway.port, by, method, params);
const LIST = '{"jsonrpc":"2.0","id":1,"method":"ListTasks"}';
const list = (options: Parameters<typeof post>[3]): Promise<Answer> => post(gateway.port, token, LIST, options);
const UNKNOWN = 'task_0123456789abcdef0123456789abcdef';

async function lapsed(): Promise<Pick<Answer, 'status' | 'headers' | 'text' | 'body'>> {
  const other = await full();
  const { sql } = gateway.database;
  const issued = await gateway.issue();
  // A task that no process runs.
  const [row] = await sql<{ id: string }[]>`
    INSERT INTO gateway.task (id, installation_id, credential_id, message, fingerprint, grants, context_id, skill, state,
        state_at, owner, lost_as, lease_until, created_at, expires_at)
    SELECT 'task_' || md5(${issued.credential}), ${issued.installation}, ${issued.credential}, sha256('m'), sha256('f'), sha256('g'),
           'ctx', 'contact_inspection', 'submitted', now(), 'nobody', 'interrupted', now() + interval '1 minute', now(),
           now() + interval '1 minute'
    RETURNING id`;
  const open = await openStream(other.port, issued.token, 'SubscribeToTask', { id: row?.id });
  await sql`UPDATE gateway.token SET revoked_at = now() WHERE credential_id = ${issued.credential}`;
  await open.ended;
  await other.close();
  return { status: 200, headers: {}, text: open.text(), body: open.events.at(-1) };
}

/** The same request until it is refused. */
async function many(ask: () => Promise<Answer>): Promise<Answer> {
  for (let i = 0; i < 120; i++) {
    const answer = await ask();
    if (answer.status !== 200) return answer;
  }
  return expect.fail('never refused');
}

const PROBES: Readonly<Record<string, () => ReturnType<typeof lapsed>>> = {
  '400 unsupported_parameter': () => list({ path: '/a2a?x=1' }),
  '400 duplicate_parameter': () => list({ path: '/a2a?A2A-Version=1.0' }),
  '400 invalid_request': () =>
    list({ headers: Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`x-${i}`, '1'])) }),
  '401': () => post(gateway.port, undefined, LIST),
  '404 not_permitted': async () => {
    const poor = await gateway.issue({ scopes: ['config_read'], dataAccess: [] });
    return call('SendMessage', inspect(), poor.token);
  },
  '404 not_found': () => list({ path: '/a2a/tasks' }),
  '405 method_not_allowed': () => list({ verb: 'PUT' }),
  '406 not_acceptable': () => list({ headers: { accept: 'text/event-stream' } }),
  '415 unsupported_media_type': () => list({ headers: { 'content-type': 'text/plain' } }),
  '429 quota_exceeded': async () => {
    const small = await gateway.issue({ perMinute: 1, burst: 2 });
    return many(() => call('ListTasks', {}, small.token));
  },
  '429 task_limit': async () => {
    const own = await gateway.issue();
    const text = { messageId: '', role: 'ROLE_USER', parts: [{ text: 'x' }] };
    return many(() => call('SendMessage', { message: { ...text, messageId: messageId() } }, own.token));
  },
  '431': () => list({ headers: { 'x-long': 'x'.repeat(20_000) } }),
  '503 service_unavailable': async () => {
    const other = await full();
    const answer = await rpc(other.port, token, 'SendMessage', inspect());
    await other.close();
    return answer;
  },
  '-32700': () => post(gateway.port, token, LIST.padEnd(65_537)),
  '-32600': () => post(gateway.port, token, `[${LIST}]`),
  '-32601': () => call('message/send'),
  '-32602': () => call('GetTask'),
  '-32602 message_id_conflict': async () => {
    const message = { messageId: messageId() };
    await call('SendMessage', inspect(message));
    return call('SendMessage', work('contact_inspection', { contact_id: 'ctc_1_1_2' }, message));
  },
  '-32001': () => call('GetTask', { id: UNKNOWN }),
  '-32002': async () => call('CancelTask', { id: (await call('SendMessage', inspect())).body.result.task.id }),
  '-32003': () => call('CreateTaskPushNotificationConfig'),
  '-32004': async () => call('SubscribeToTask', { id: (await call('SendMessage', inspect())).body.result.task.id }),
  '-32005': () =>
    call('SendMessage', { message: { messageId: messageId(), role: 'ROLE_USER', parts: [{ raw: 'AA==' }] } }),
  '-32009': () => list({ version: null }),
  '-32000 AUTHORITY_LAPSED': lapsed,
};
/** Refusals that other files bring about. */
const ELSEWHERE = new Map([
  ['408', 'surfaces/http/http.test.ts'],
  ['421 organization_moved', 'gateway/cells/moved.test.ts'],
  ['429 stream_limit', 'surfaces/a2a/streams.test.ts'],
  ['500 internal', 'surfaces/a2a/gate.test.ts'],
  ['429 answers_unread', 'hostile/budgets.test.ts'],
]);

describe('the table of refusals in docs/orchestrators.md', () => {
  const table = documented();

  it('has each refusal once, and a probe for each', () => {
    expect(table.length).toBeGreaterThan(24);
    expect(table.filter((one, i) => table.indexOf(one) !== i)).toEqual([]);
    const shown = new Set([...Object.keys(PROBES), ...ELSEWHERE.keys()]);
    expect([...shown].sort()).toEqual([...table].sort());
    for (const [refusal, file] of ELSEWHERE)
      expect(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')).toContain(refusal.split(' ').at(-1));
  });

  it.each(Object.keys(PROBES).filter((one) => !ELSEWHERE.has(one)))(
    '%s is what the gateway answers',
    async (refusal) => {
      const answer = await PROBES[refusal]?.();
      expect(answer && refusalOf(answer, table), answer?.text).toBe(refusal);
      if (answer?.status === 429) expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    },
  );
});

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { decide } from '../../../src/gateway/approvals.ts';
import type { Answer } from '../../support/answer.ts';
import type { Fault } from '../../support/chatwoot/api.ts';
import { type WriteBackWorld, writeBackWorld } from '../../support/chatwoot/write-back-world.ts';
import type { Issued } from '../../support/credentials.ts';
import { startReplica } from '../../support/replica.ts';

/** Tests writes by policy to Chatwoot whose gateway is killed at a step, and those that a person approves first. */
let world: WriteBackWorld;
let writer: Issued;
let conversation: string;
let ada: string;
let count = 0;
const fresh = (): string => `kill-${++count}`;
const WRITES = ['conversation_reply', 'conversation_status_set', 'conversation_assign'];

beforeAll(async () => {
  world = await writeBackWorld();
  conversation = await world.conversation(1);
  const [row] = await world.store.sql<{ id: string }[]>`
    SELECT concat_ws('_', 'opr', tenant, site, id) AS id FROM platform.operator WHERE external_id = 'cw:1:operator:1'`;
  ada = row?.id ?? expect.fail('no operator');
  writer = await issue(['conversation_reply']);
});
beforeEach(async () => {
  await inDesk({ status: 0, assignee_id: 1, team_id: null });
  // After an unknown outcome, a conversation waits for ten seconds. The next test does not wait.
  await world.store.sql`UPDATE gateway.write_back SET busy_until = NULL`;
});
afterEach(() => world.api.heal());
afterAll(() => world.close());

const issue = (withoutApproval: readonly string[]): Promise<Issued> =>
  world.gateway.issue({ authors: [ada], write: WRITES, withoutApproval }, world.source.tenant);

type Body = Readonly<Record<string, unknown>>;
const send = (route: string, body: Body, key = fresh(), { token } = writer): Promise<Answer> =>
  world.gateway.ask(`/api/v1/conversations/${conversation}/${route}`, {
    ...{ token, body, headers: { 'idempotency-key': key } },
  });
const outcomeOf = ({ status, body }: Answer) => (status === 200 ? [200] : [status, body.code]);
const posts = (path: string): number =>
  world.api.asked.filter((one) => one.startsWith('POST') && one.endsWith(path)).length;

/** Changes the conversation as an agent does, and waits until the gateway has it. */
async function inDesk(columns: Body): Promise<void> {
  const { sql } = world.desk;
  await sql`UPDATE conversations SET ${sql({ ...columns })}, updated_at = clock_timestamp() AT TIME ZONE 'UTC' WHERE id = 1`;
  await world.settled();
}
async function inChatwoot(): Promise<Body> {
  const [row] = await world.desk.sql`SELECT status, assignee_id::integer AS operator, team_id::integer AS team,
      (SELECT count(*)::integer FROM messages) AS messages FROM conversations WHERE id = 1`;
  return { ...row };
}
const updatedAt = async (): Promise<string> =>
  (await world.gateway.ask(`/api/v1/conversations/${conversation}`, { token: writer.token })).body.data.conversation
    .updated_at;
const lastOperation = async (): Promise<string> =>
  (
    await world.store.sql<{ id: string }[]>`
      SELECT operation_id AS id FROM gateway.operation ORDER BY created_at DESC LIMIT 1`
  )[0]?.id ?? expect.fail('no operation');

interface Kill {
  readonly route: 'replies' | 'status' | 'assignment';
  readonly body: Body;
  /** The request during which the gateway is killed, and what happens to it. */
  readonly at: string;
  readonly fault?: Fault;
  /** True: the gateway cannot store what Chatwoot has answered. */
  readonly held?: boolean;
  readonly ending: 'acknowledged' | 'outcome_unknown';
  readonly effects: number;
}
const EFFECTS = { replies: '/messages', status: '/toggle_status', assignment: '/assignments' };
const HANG: Fault = { kind: 'hang' };
const SLOW: Fault = { kind: 'slow', ms: 500 };
const reply = { text: 'On its way', visibility: 'public' };
const close = { status: 'closed' };
const clear = { none: true };
const [done, unknown] = ['acknowledged', 'outcome_unknown'] as const;
const KILLS: [string, Kill][] = [
  [
    'before the mark of a status',
    { route: 'status', body: close, at: '/custom_attributes', fault: HANG, ending: unknown, effects: 0 },
  ],
  [
    'after the mark of a status',
    { route: 'status', body: close, at: '/toggle_status', fault: HANG, ending: unknown, effects: 1 },
  ],
  [
    'while Chatwoot sets a status',
    { route: 'status', body: close, at: '/toggle_status', fault: SLOW, ending: done, effects: 1 },
  ],
  [
    'before the operator is put back',
    { route: 'status', body: { status: 'open' }, at: '/assignments', fault: HANG, ending: done, effects: 1 },
  ],
  [
    'before a status is stored',
    { route: 'status', body: close, at: '/toggle_status', held: true, ending: done, effects: 1 },
  ],
  [
    'before the mark of an assignment',
    { route: 'assignment', body: clear, at: '/custom_attributes', fault: HANG, ending: unknown, effects: 0 },
  ],
  [
    'after the mark of an assignment',
    { route: 'assignment', body: clear, at: '/assignments', fault: HANG, ending: unknown, effects: 1 },
  ],
  [
    'while Chatwoot assigns',
    { route: 'assignment', body: clear, at: '/assignments', fault: SLOW, ending: done, effects: 1 },
  ],
  [
    'before an assignment is stored',
    { route: 'assignment', body: clear, at: '/assignments', held: true, ending: done, effects: 1 },
  ],
  [
    'before a reply stands',
    { route: 'replies', body: reply, at: '/messages', fault: HANG, ending: unknown, effects: 1 },
  ],
  [
    'while Chatwoot stores a reply',
    { route: 'replies', body: reply, at: '/messages', fault: SLOW, ending: done, effects: 1 },
  ],
  [
    'before a reply is stored here',
    { route: 'replies', body: reply, at: '/messages', held: true, ending: done, effects: 1 },
  ],
];

describe('a gateway that is killed', () => {
  it.each(KILLS)('%s leaves at most one effect, which is told', async (name, kill) => {
    const { route, at, fault, held = false, ending, effects } = kill;
    const body = route === 'replies' ? { ...kill.body, text: `${kill.body['text']} (${name})` } : kill.body;
    const before = await inChatwoot();
    const { host, port, name: database } = world.store;
    const one = await startReplica({
      databaseUrl: `postgres://postgres@${encodeURIComponent(host)}:${port}/${database}`,
      env: { GATEWAY_KEYS: `1:${Buffer.alloc(32, 7).toString('base64')}` },
    });
    if (fault) world.api.fail('POST', at, fault);
    const [key, asked, sent] = [fresh(), posts(at), posts(EFFECTS[route])];
    const hold = held ? await holdSource() : undefined;
    const call = fetch(`${one.url}/api/v1/conversations/${conversation}/${route}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${writer.token}`,
        ...{ 'content-type': 'application/json', 'idempotency-key': key },
      },
      body: JSON.stringify(body),
    }).catch(() => 'cut');
    await expect.poll(() => posts(at), { interval: 10 }).toBe(asked + 1);
    // The effect is there, and only the store of the gateway is missing.
    if (held) await expect.poll(inChatwoot, { timeout: 10_000 }).not.toEqual(before);
    await one.kill9();
    await hold?.();
    expect(await call).toBe('cut');
    expect(outcomeOf(await send(route, body, key))).toEqual([409, 'operation_in_progress']);
    // On a busy machine, the first look can run out of time. Then a later look settles the operation.
    const told = async (): Promise<string> => {
      await world.reconcile(await lastOperation());
      return world.status(await lastOperation());
    };
    await expect.poll(told).toBe(ending);
    const again = await send(route, body, key);
    expect(outcomeOf(again)).toEqual(ending === 'acknowledged' ? [200] : [409, 'outcome_unknown']);
    expect(posts(EFFECTS[route]) - sent).toBe(effects);
    if (ending === 'outcome_unknown') expect(await inChatwoot()).toEqual(before);
    if (route === 'replies') {
      const there = await world.store.sql`SELECT 1 FROM platform.message WHERE text = ${String(body['text'])}`;
      expect(there).toHaveLength(ending === 'acknowledged' ? 1 : 0);
    }
    // Nobody puts the operator back any more, so the answer tells it.
    if (at !== EFFECTS[route] && ending === 'acknowledged') expect(again.body.data.operator_changed).toBe(true);
  });

  /** Locks the source, so that no gateway can store what the helpdesk has answered. Returns how to let it go. */
  async function holdSource(): Promise<() => Promise<void>> {
    let release = (): void => undefined;
    const free = new Promise<void>((resolve) => {
      release = resolve;
    });
    let end = Promise.resolve<unknown>(undefined);
    await new Promise<void>((locked) => {
      end = world.store.sql.begin(async (sql) => {
        await sql`SELECT FROM gateway.source FOR NO KEY UPDATE`;
        locked();
        await free;
      });
    });
    return async () => {
      release();
      await end;
    };
  }
});

const APPROVED: [string, string, string, Body][] = [
  ['conversation_reply', 'replies', '/messages', { text: 'May I?', visibility: 'public' }],
  ['conversation_status_set', 'status', '/toggle_status', { status: 'closed' }],
  ['conversation_assign', 'assignment', '/assignments', { none: true }],
];
describe.each(APPROVED)('%s that waits for a person', (operation, route, path, body) => {
  async function waiting(more: Body = {}): Promise<string> {
    const careful = await issue([]);
    await world.store.sql`UPDATE gateway.credential SET approve = ARRAY[${operation}] WHERE id = ${careful.credential}`;
    const asked = await send(route, { ...body, ...more }, fresh(), careful);
    expect(asked.status).toBe(202);
    return lastOperation();
  }
  const desk = (remote = world.remote) => ({
    ...{ db: world.store.db, registry: world.gateway.corridor.registry, remote },
  });

  it('is compared with if_updated_at when it is approved', async () => {
    for (const moves of [false, true]) {
      const sent = posts(path);
      const id = await waiting({ if_updated_at: await updatedAt() });
      expect(posts(path) - sent).toBe(0);
      if (moves) await inDesk({ team_id: 1 });
      expect(await decide(desk(), id, true, () => undefined)).toMatchObject(
        moves ? { rejected: 'operation_conflict' } : { status: 'acknowledged' },
      );
      expect(posts(path) - sent).toBe(moves ? 0 : 1);
    }
  });

  it('whose gateway dies between the approval and Chatwoot is never sent, and told as unknown', async () => {
    const sent = posts(path);
    const id = await waiting();
    let died = (): void => undefined;
    const dying = new Promise<void>((resolve) => {
      died = resolve;
    });
    const perform = (): Promise<never> => {
      died();
      return new Promise(() => undefined);
    };
    const never = { perform, find: async () => undefined };
    const lost = decide({ ...desk(), remote: { ...never, onlySources: true } }, id, true, () => undefined);
    await dying;
    await world.reconcile(id);
    expect(await world.status(id)).toBe('outcome_unknown');
    expect(await decide(desk(), id, true, () => undefined)).toMatchObject({ state: 'decided' });
    expect(posts(path) - sent).toBe(0);
    await lost;
  });
});

it('an opened conversation without an operator gets none, though Chatwoot assigns the user of the token', async () => {
  await inDesk({ status: 1, assignee_id: null });
  const opened = await send('status', { status: 'open' });
  expect(opened.body.data).toEqual({ success: true, status: 'unassigned', updated_at: expect.any(String) });
  expect(await inChatwoot()).toMatchObject({ status: 0, operator: null });
});

it('a status whose mark somebody has removed stays unknown', async () => {
  world.api.fail('POST', '/toggle_status', { kind: 'lost' });
  await send('status', { status: 'closed' });
  await world.desk.sql`UPDATE conversations SET custom_attributes = '{}' WHERE id = 1`;
  await world.reconcile(await lastOperation());
  expect(await world.status(await lastOperation())).toBe('outcome_unknown');
});

it.each([true, 'mixed', false] as const)(
  'the mark of a status leaves attributes of others (Chatwoot merges: %s)',
  async (merges) => {
    // Each gateway asks once whether Chatwoot merges.
    await world.reopen();
    world.api.merges(merges);
    await world.desk.sql`UPDATE conversations SET custom_attributes = '{"plan": "gold"}' WHERE id = 1`;
    expect((await send('status', { status: 'closed' })).status).toBe(200);
    const [row] = await world.desk.sql`SELECT custom_attributes AS a FROM conversations WHERE id = 1`;
    expect(row?.['a']).toMatchObject({
      plan: 'gold',
      gateway_operations: `${(await lastOperation()).slice(0, 35)}:status:resolved:1`,
    });
  },
);

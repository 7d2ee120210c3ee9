import { type ChildProcess, spawn } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sql } from '../../../src/core/sql.ts';
import { type Decision, decide } from '../../../src/gateway/approvals.ts';
import { openGateway } from '../../../src/gateway/open.ts';
import { type Database, openDatabase } from '../../../src/store/driver/postgres.ts';
import { checkout, main, shellEnvironment } from '../../support/command.ts';
import type { Issued } from '../../support/credentials.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { KEYS } from '../../support/keys.ts';
import { asked, asker, freshKey, send, statusOf } from '../../support/ledger/approvals.ts';
import { assignment, BY_POLICY, type Command, note, reply, status } from '../../support/ledger/commands.ts';
import { LOG_EFFECTS } from '../../support/ledger/effects.ts';
import { everyPoint, openProxy, type Point, type WireProxy } from '../../support/pgwire.ts';

/**
 * A pending write has at most one effect, and never one that nobody tells, whoever decides at the same time, and
 * wherever a connection or a process ends between request, decision and effect.
 */
let gateway: TestGateway;
let other: Database;
let proxied: Database;
let proxy: WireProxy;
let by: Issued;

const open = (host: string, port: number, database: string, name: string, connections: number): Database =>
  openDatabase({
    target: { host, port, database, username: 'postgres' },
    connections,
    statementTimeout: 5_000,
    name,
  });

beforeAll(async () => {
  gateway = await openTestGateway();
  const { host, port, name } = gateway.database;
  proxy = await openProxy({ host, port });
  other = open(host, port, name, 'other', 4);
  proxied = open(proxy.host, proxy.port, name, 'proxied', 1);
  await gateway.database.sql.unsafe(LOG_EFFECTS);
  by = await asker(gateway, ['visitor_note_add', ...BY_POLICY], { write: BY_POLICY });
});
afterAll(async () => {
  await other.close();
  await proxied.close();
  await proxy.close();
  await gateway.close();
});

const decideOn = (db: Database, id: string, approve: boolean): Promise<Decision> =>
  decide({ db, registry: gateway.corridor.registry }, id, approve, () => undefined);

const NAMES = ['visitor_note_add', ...BY_POLICY] as const;
type Name = (typeof NAMES)[number];
let made = 0;
/** A command that no other one equals, except that statuses and operators come in turn. */
function fresh(name: Name): Command {
  made++;
  if (name === 'visitor_note_add') return note(`Write ${made}`);
  if (name === 'conversation_reply') return reply(`Write ${made}`);
  return name === 'conversation_status_set' ? status(made) : assignment(made);
}

interface Counts {
  readonly approvals: number;
  readonly effects: number;
  readonly receipts: number;
}
async function counts(): Promise<Counts> {
  const [row] = await gateway.database.sql<Counts[]>`
    SELECT (SELECT count(*)::integer FROM gateway.approval) AS approvals,
           (SELECT count(*)::integer FROM public.effect) AS effects,
           (SELECT count(*)::integer FROM gateway.journal WHERE tenant = 1 AND site = 1) AS receipts`;
  return row ?? expect.fail('no counts');
}

interface Story {
  readonly command: Command;
  readonly key: string;
  readonly before: Counts;
}
const begun = async (name: Name): Promise<Story> => ({ command: fresh(name), key: freshKey(), before: await counts() });
const after = ({ approvals, effects, receipts }: Counts, n: number): Counts => ({
  ...{ approvals: approvals + 1, effects: effects + n, receipts: receipts + n },
});

/** Ends the story of a write: somebody approves it, whatever happened before. The call then has its result. */
async function settled(id: string, { command, key, before }: Story): Promise<void> {
  const last = await decideOn(other, id, true);
  expect(['performed', 'decided']).toContain(last.state);
  if (last.state === 'decided') expect(last.approval).toBe('approved');
  const told = await send(gateway, by, command, key);
  expect([told.status, told.replayed, told.id]).toEqual([200, true, id]);
  expect(await statusOf(gateway, by, id)).toBe('acknowledged');
  expect(await counts()).toEqual(after(before, 1));
}

describe('two deciders at once', () => {
  const RACES = NAMES.map((name) => [name, name === 'visitor_note_add' ? 200 : 40] as const);

  it.each(RACES)(
    '%s, %i times: one decision wins, and the other learns which',
    { timeout: 120_000 },
    async (name, n) => {
      let [approved, rejected] = [0, 0];
      for (let i = 0; i < n; i++) {
        const { command, key, before } = await begun(name);
        const id = await asked(gateway, by, command, key);
        // Every other race is between an approval and a rejection, of which each is often the first.
        const ends = await Promise.all([
          decideOn(gateway.database.db, id, i % 4 !== 1),
          decideOn(other, id, i % 4 !== 3),
          send(gateway, by, command, key),
        ]);
        const [a, b, called] = ends;
        const won = [a, b].filter(({ state }) => state === 'performed' || state === 'rejected');
        expect(won, `race ${i}`).toHaveLength(1);
        const lost = [a, b].find(({ state }) => state === 'decided');
        const isApproved = won[0]?.state === 'performed';
        expect(lost).toEqual({ state: 'decided', approval: isApproved ? 'approved' : 'rejected' });
        expect([200, 202, 409]).toContain(called.status);
        expect(await counts()).toEqual(after(before, isApproved ? 1 : 0));
        expect(await statusOf(gateway, by, id)).toBe(isApproved ? 'acknowledged' : 'rejected');
        if (isApproved) approved++;
        else rejected++;
      }
      // Both ends happen, so the race is one.
      expect([approved + rejected, approved >= n / 2, rejected > 0]).toEqual([n, true, true]);
    },
  );
});

it('two approvals of writes to one conversation take turns, without a deadlock', async () => {
  const { sql: planted } = gateway.database;
  const ids = [
    await asked(gateway, by, fresh('conversation_reply')),
    await asked(gateway, by, fresh('conversation_assign')),
  ];
  const count = async (query: string): Promise<number> => (await planted.unsafe(query))[0]?.['n'];
  const deadlocks = 'SELECT deadlocks::integer AS n FROM pg_stat_database WHERE datname = current_database()';
  const before = await count(deadlocks);
  let ends: Promise<Decision>[] = [];
  await planted.begin(async (held) => {
    // As a page of the source holds it.
    await held`SELECT FROM platform.conversation WHERE (tenant, site, id) = (1, 1, 2) FOR NO KEY UPDATE`;
    ends = ids.map((id, n) => decideOn(n === 0 ? gateway.database.db : other, id, true));
    const waiting = `SELECT count(*)::integer AS n FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%decide_approval%'`;
    await expect.poll(() => count(waiting), { timeout: 4_000 }).toBe(2);
  });
  expect(await Promise.all(ends)).toEqual(ids.map(() => ({ state: 'performed', status: 'acknowledged' })));
  await Promise.all([gateway.database.db, other].map((db) => db.query(sql`SELECT pg_stat_force_next_flush()`)));
  expect(await count(deadlocks)).toBe(before);
});

describe('a connection that ends', () => {
  /** Opens a new connection. On it, the next statement is new, and so it exchanges all messages. */
  async function reconnected(): Promise<void> {
    await gateway.database.sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name LIKE 'proxied%'`;
    const read = () => proxied.read(sql`SELECT 1 AS one`).catch(() => []);
    await expect.poll(read, { interval: 5, timeout: 10_000 }).toHaveLength(1);
  }

  /** The point after a message is the same as the point before the next one. */
  const pointsOf = (statement: RegExp): Point[] => [
    ...(['before-execute', 'sync-then-cut', 'after-sync'] as const),
    ...everyPoint(proxy.messagesOf(statement)).filter(({ when, at }) => when === 'before' || at === 1),
  ];

  it.each(NAMES)(
    'at each message of the decision, %s: one effect, and it is told',
    { timeout: 120_000 },
    async (name) => {
      const DECIDES = /decide_approval/;
      const warm = await asked(gateway, by, fresh(name));
      await reconnected();
      expect(await decideOn(proxied, warm, true)).toMatchObject({ state: 'performed' });
      const points = pointsOf(DECIDES);
      let hits = 0;
      for (const [i, at] of points.entries()) {
        const story = await begun(name);
        const id = await asked(gateway, by, story.command, story.key);
        await reconnected();
        const armed = proxy.arm({ match: DECIDES, at, action: i % 2 === 0 ? 'cut' : 'reset' });
        // If the reply was lost, the statement runs again and must find its own decision, not that of somebody else.
        const own = await decideOn(proxied, id, true).catch(() => undefined);
        expect([undefined, 'performed'], String(at)).toContain(own?.state);
        hits += armed.hits();
        proxy.disarm();
        await settled(id, story);
      }
      expect(hits).toBeGreaterThan(15);
    },
  );

  // Until the decision, the writes by policy are alike.
  const ASKING = NAMES.slice(0, 2);
  it.each(ASKING)(
    'at each message of the request, %s: one pending write at most',
    { timeout: 120_000 },
    async (name) => {
      const corridor = await openGateway({
        store: { db: proxied, slow: proxied },
        keys: KEYS,
        checkEvery: 1,
        onDefect: (_, error) => expect.fail(String(error)),
      });
      const tool = corridor.registry.get(name) ?? expect.fail('no such tool');
      const call = ({ input }: Command, idempotencyKey: string) =>
        corridor.call({ tool, resource: 'rest', bearer: by.token, input: { ...input }, idempotencyKey });
      const ASKS = /write_batch/;
      await reconnected();
      await call(fresh(name), freshKey());
      const points = pointsOf(ASKS);
      let hits = 0;
      for (const at of points) {
        const story = await begun(name);
        await reconnected();
        const armed = proxy.arm({ match: ASKS, at, action: 'cut' });
        await call(story.command, story.key);
        hits += armed.hits();
        proxy.disarm();
        await settled(await asked(gateway, by, story.command, story.key), story);
      }
      expect(hits).toBeGreaterThan(15);
    },
  );
});

describe('a decider that is killed', () => {
  const POINTS: readonly Point[] = ['before-execute', 'sync-then-cut', 'after-sync'];
  // Each kill costs a start of Node. So a status and an assignment meet only the kill that leaves the outcome unknown.
  const KILLS = NAMES.flatMap((name, i) =>
    POINTS.filter((at) => i < 2 || at === 'sync-then-cut').map((at) => ({ name, at })),
  );

  it.each(KILLS)('$name, at $at: one effect, and it is told', async ({ name, at }) => {
    const story = await begun(name);
    const id = await asked(gateway, by, story.command, story.key);
    let child: ChildProcess | undefined;
    const killed = async (): Promise<void> => {
      child?.kill('SIGKILL');
    };
    const armed = proxy.arm({ match: /decide_approval/, at, action: 'cut', run: killed });
    child = spawn(process.execPath, [main, 'approvals', 'approve', id, '--yes'], {
      cwd: checkout,
      env: shellEnvironment({ DATABASE_URL: proxy.url(gateway.database.name) }),
      stdio: 'ignore',
    });
    const ended = await new Promise<string>((resolve) =>
      child?.once('exit', (code, signal) => resolve(signal ?? String(code))),
    );
    expect([armed.hits(), ended]).toEqual([1, 'SIGKILL']);
    proxy.disarm();
    await settled(id, story);
  });
});

import { type ChildProcess, spawn } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Decision, decide } from '../../../src/gateway/approvals.ts';
import { openGateway } from '../../../src/gateway/open.ts';
import { type Database, openDatabase } from '../../../src/store/driver/postgres.ts';
import { checkout, main, shellEnvironment } from '../../support/command.ts';
import type { Issued } from '../../support/credentials.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { KEYS } from '../../support/keys.ts';
import { asked, asker, effectsOf, freshKey, send, statusOf } from '../../support/ledger/approvals.ts';
import { note, VISITOR } from '../../support/ledger/commands.ts';
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

const open = (host: string, port: number, database: string): Database =>
  openDatabase({
    target: { host, port, database, username: 'postgres' },
    connections: 4,
    statementTimeout: 5_000,
    name: 'test',
  });

beforeAll(async () => {
  gateway = await openTestGateway();
  const { host, port, name } = gateway.database;
  proxy = await openProxy({ host, port });
  other = open(host, port, name);
  proxied = open(proxy.host, proxy.port, name);
  by = await asker(gateway);
});
afterAll(async () => {
  await other.close();
  await proxied.close();
  await proxy.close();
  await gateway.close();
});

const decideOn = (db: Database, id: string, approve: boolean): Promise<Decision> =>
  decide({ db, registry: gateway.corridor.registry }, id, approve, () => undefined);

/** Ends the story of a write: somebody approves it, whatever happened before. The call then has its result. */
async function settled(id: string, text: string, key: string, began: number): Promise<void> {
  const last = await decideOn(other, id, true);
  expect(['performed', 'decided']).toContain(last.state);
  if (last.state === 'decided') expect(last.approval).toBe('approved');
  const told = await send(gateway, by, note(text), key);
  expect([told.status, told.replayed, told.id]).toEqual([200, true, id]);
  expect(await statusOf(gateway, by, id)).toBe('acknowledged');
  expect(await effectsOf(gateway.database, text)).toEqual({ notes: 1, receipts: began + 1 });
}

describe('two deciders at once', () => {
  it('200 times: one decision wins, and the other learns which', { timeout: 120_000 }, async () => {
    let [approved, rejected] = [0, 0];
    for (let i = 0; i < 200; i++) {
      const [text, key] = [`Race ${i}`, freshKey()];
      const id = await asked(gateway, by, note(text), key);
      // Every other race is between an approval and a rejection.
      const ends = await Promise.all([
        decideOn(gateway.database.db, id, true),
        decideOn(other, id, i % 2 === 0),
        send(gateway, by, note(text), key),
      ]);
      const [a, b, called] = ends;
      const won = [a, b].filter(({ state }) => state === 'performed' || state === 'rejected');
      expect(won, `race ${i}`).toHaveLength(1);
      const lost = [a, b].find(({ state }) => state === 'decided');
      const isApproved = won[0]?.state === 'performed';
      expect(lost).toEqual({ state: 'decided', approval: isApproved ? 'approved' : 'rejected' });
      expect([200, 202, 409]).toContain(called.status);
      expect((await effectsOf(gateway.database, text)).notes).toBe(isApproved ? 1 : 0);
      expect(await statusOf(gateway, by, id)).toBe(isApproved ? 'acknowledged' : 'rejected');
      if (isApproved) approved++;
      else rejected++;
    }
    // Both ends happen, so the race is one.
    expect([approved + rejected, approved >= 100, rejected > 0]).toEqual([200, true, true]);
  });
});

describe('a connection that ends', () => {
  it('at each message of the decision: one effect, and it is told', { timeout: 120_000 }, async () => {
    const DECIDES = /decide_approval/;
    const warm = await asked(gateway, by, note('Warm'));
    expect(await decideOn(proxied, warm, true)).toMatchObject({ state: 'performed' });
    const points: Point[] = [
      'before-execute',
      'sync-then-cut',
      'after-sync',
      ...everyPoint(proxy.messagesOf(DECIDES)).filter(({ when, at }) => when === 'before' || at === 1),
    ];
    let hits = 0;
    for (const [i, at] of points.entries()) {
      const [text, key] = [`Cut ${i}`, freshKey()];
      const id = await asked(gateway, by, note(text), key);
      const { receipts } = await effectsOf(gateway.database, text);
      const armed = proxy.arm({ match: DECIDES, at, action: i % 2 === 0 ? 'cut' : 'reset' });
      // If the reply was lost, the statement runs again and must find its own decision, not that of somebody else.
      const own = await decideOn(proxied, id, true).catch(() => undefined);
      expect([undefined, 'performed'], String(at)).toContain(own?.state);
      hits += armed.hits();
      proxy.disarm();
      await settled(id, text, key, receipts);
    }
    // A connection that has prepared the statement exchanges fewer messages, so some points do not occur.
    expect(hits).toBeGreaterThanOrEqual(10);
  });

  it('at each message of the request: one pending write at most', { timeout: 120_000 }, async () => {
    const corridor = await openGateway({
      store: { db: proxied, slow: proxied },
      keys: KEYS,
      checkEvery: 1,
      onDefect: (_, error) => expect.fail(String(error)),
    });
    const tool = corridor.registry.get('visitor_note_add');
    if (!tool) throw new Error('no such tool');
    const call = (text: string, key: string) =>
      corridor.call({
        tool,
        resource: 'rest',
        bearer: by.token,
        input: { visitor_id: VISITOR, text },
        idempotencyKey: key,
      });
    const ASKS = /write_batch/;
    await call('Warm request', freshKey());
    const points: Point[] = ['before-execute', 'sync-then-cut', 'after-sync', ...everyPoint(proxy.messagesOf(ASKS))];
    let hits = 0;
    for (const [i, at] of points.entries()) {
      const [text, key] = [`Request ${i}`, freshKey()];
      const armed = proxy.arm({ match: ASKS, at, action: 'cut' });
      await call(text, key);
      hits += armed.hits();
      proxy.disarm();
      const { receipts } = await effectsOf(gateway.database, text);
      const id = await asked(gateway, by, note(text), key);
      const [row] = await gateway.database.sql<{ n: number }[]>`
        SELECT count(*)::integer AS n FROM gateway.approval WHERE command ->> 'text' = ${text}`;
      expect(row?.n).toBe(1);
      await settled(id, text, key, receipts);
    }
    expect(hits).toBeGreaterThanOrEqual(15);
  });
});

describe('a decider that is killed', () => {
  const POINTS: readonly Point[] = ['before-execute', 'sync-then-cut', 'after-sync'];

  it.each(POINTS)('at %s: one effect, and it is told', { timeout: 60_000 }, async (at) => {
    const [text, key] = [`Killed ${String(at)}`, freshKey()];
    const id = await asked(gateway, by, note(text), key);
    const { receipts } = await effectsOf(gateway.database, text);
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
    await settled(id, text, key, receipts);
  });
});

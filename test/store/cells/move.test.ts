import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { partsOf } from '../../../src/store/cells/tables.ts';
import { openDatabase } from '../../../src/store/driver/postgres.ts';
import {
  BASE_URL,
  type Cell,
  type Cells,
  fill,
  leftovers,
  moveProcess,
  number,
  openCells,
} from '../../support/cells.ts';
import { closeClusters } from '../../support/cluster.ts';
import { type Issued, issue } from '../../support/credentials.ts';
import { definition } from '../../support/events/subscriptions.ts';
import { addEndpoint, answer, openReceiver, type Receiver, until, verified } from '../../support/events/webhooks.ts';
import { note, restOf } from '../../support/ledger/commands.ts';
import { type Replica, startReplica } from '../../support/replica.ts';

/**
 * One organization moves to another PostgreSQL while two organizations write (extensions, E7). Clients repeat a call with
 * its key until it has an answer, in the old cell and in the new one. The table of docs/move-organization.md:
 * `MOVE_MESSAGES=400000 npx vitest run test/store/cells/move.test.ts`
 */
const MESSAGES = Number(process.env['MOVE_MESSAGES'] ?? 0);
let cells: Cells;
let receiver: Receiver;
let [mover, other]: Issued[] = [];
let secret = '';
let gateways: { readonly source: Replica; readonly target: Replica };
beforeAll(async () => {
  cells = await openCells();
  await fill(cells.source, MESSAGES);
  receiver = await openReceiver(answer(200));
  mover = await issue(cells.source.sql, 1, { authors: ['opr_1_1_1'] });
  other = await issue(cells.source.sql, 2, { authors: ['opr_2_1_1'] });
  const db = openDatabase({ target: cells.source.url, connections: 1, statementTimeout: 5_000, name: 'test' });
  ({ secret } = await addEndpoint({ db }, mover.credential, receiver.url, { eventTypes: ['visitor.*'] }));
  await db.close();
  const env = {
    GATEWAY_KEYS: `test:${Buffer.alloc(32, 7).toString('base64')}`,
    GATEWAY_WEBHOOK_ALLOW: receiver.origin,
    GATEWAY_WEBHOOK_SCHEDULE: '0,1,1,1,1',
  };
  const start = ({ url: databaseUrl }: Cell): Promise<Replica> =>
    startReplica({ databaseUrl, env, args: ['--no-demo'] });
  await number(cells.target, 1);
  gateways = { source: await start(cells.source), target: await start(cells.target) };
  await number(cells.target, 2);
}, 600_000);
afterAll(async () => {
  await Promise.all([gateways?.source.kill9(), gateways?.target.kill9()]);
  await receiver?.close();
  await closeClusters();
});

interface Told {
  readonly status: number;
  readonly text: string;
  readonly replayed: boolean;
  readonly ms: number;
}

async function call(at: Replica, path: string, token: string, key?: string, body?: object): Promise<Told> {
  const began = performance.now();
  const response = await fetch(`${at.url}${path}`, {
    method: body ? 'POST' : 'GET',
    headers: {
      authorization: `Bearer ${token}`,
      ...(body && { 'content-type': 'application/json', 'a2a-version': '1.0' }),
      ...(key !== undefined && { 'idempotency-key': key }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const replayed = response.headers.get('idempotency-replayed') === 'true';
  return { status: response.status, text, replayed, ms: performance.now() - began };
}

/** Notes of one organization. A refused one is repeated with its key, in the old cell and in the new one by turns. */
class Writer {
  readonly acknowledged = new Map<string, string>();
  readonly refused = new Map<number, number>();
  readonly tasks: string[] = [];
  readonly failed: string[] = [];
  /** Answers to tasks that had not ended. */
  readonly unended: string[] = [];
  longest = 0;
  /** Milliseconds of the longest time between two acknowledged notes. */
  silence = 0;
  #last = performance.now();
  #open = true;
  /** All lanes stay where the last refusal has led them, like a client that was told a new URL. */
  #turn = 0;
  readonly #running: Promise<void>[] = [];

  constructor(
    readonly name: string,
    readonly token: string,
    readonly visitor: string,
    readonly turns: readonly Replica[],
  ) {}

  start(): void {
    for (let lane = 0; lane < 4; lane++) this.#running.push(this.#lane(lane));
    this.#running.push(this.#tasks());
  }

  async end(): Promise<void> {
    this.#open = false;
    await Promise.all(this.#running);
  }

  /** The turn after a refusal in this turn, unless another lane has gone on already. */
  #next(refused: number): number {
    if (this.#turn === refused) this.#turn++;
    return this.#turn;
  }

  /** A2A tasks. Those of both organizations are stored in common batches. */
  async #tasks(): Promise<void> {
    for (let n = 0; this.#open && n < 90; n++) {
      const data = { skill: 'contact_inspection', arguments: { contact_id: this.visitor.replace('vis', 'ctc') } };
      const message = {
        ...{ messageId: `${this.name}-task-${n}`, role: 'ROLE_USER' },
        parts: [{ data, mediaType: 'application/json' }],
      };
      const params = { message, configuration: { returnImmediately: false } };
      for (let turn = this.#turn; ; turn = this.#next(turn)) {
        const at = this.turns[turn % this.turns.length] ?? expect.fail();
        const body = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params };
        const told = await call(at, '/a2a', this.token, undefined, body);
        const task = told.status === 200 ? JSON.parse(told.text).result?.task : undefined;
        if (task?.status.state === 'TASK_STATE_COMPLETED') {
          this.tasks.push(`${this.name}-task-${n}`);
          break;
        }
        // A task that ran in the hold has ended. The same message leads to it.
        if (task?.status.state === 'TASK_STATE_FAILED') {
          this.failed.push(JSON.stringify(task.status));
          break;
        }
        this.unended.push(told.text.slice(0, 200));
        await pause(20);
      }
      await pause(20);
    }
  }

  async #lane(lane: number): Promise<void> {
    for (let n = 0; this.#open; n++) {
      const key = `${this.name}-${lane}-${n}`;
      const { path, body } = restOf(note(key, this.visitor));
      for (let turn = this.#turn; ; turn = this.#next(turn)) {
        const at = this.turns[turn % this.turns.length] ?? expect.fail();
        const told = await call(at, path, this.token, key, body);
        this.longest = Math.max(this.longest, told.ms);
        if (told.status === 200) {
          this.acknowledged.set(key, told.text);
          this.silence = Math.max(this.silence, performance.now() - this.#last);
          this.#last = performance.now();
          break;
        }
        this.refused.set(told.status, (this.refused.get(told.status) ?? 0) + 1);
        await pause(10);
      }
      await pause(30);
    }
  }
}

it(
  'under load: nothing is lost or doubled, the others do not wait, and all works at the target',
  async () => {
    const { source, target } = gateways;
    const subscribed = await call(
      source,
      '/api/v1/subscriptions',
      mover?.token ?? '',
      undefined,
      definition(['web_1_1']),
    );
    const { subscription, cursor } = JSON.parse(subscribed.text);
    const writers = [
      new Writer('moving', mover?.token ?? '', 'vis_1_1_1', [source, target]),
      new Writer('staying', other?.token ?? '', 'vis_2_1_1', [source]),
    ] as const;
    const [moving, staying] = writers;
    for (const one of writers) one.start();
    await pause(1_000);
    // On a busy machine, calls take long without a move, too.
    const usual = staying.longest;
    const began = performance.now();
    const moved = await moveProcess(cells);
    const took = performance.now() - began;
    await pause(1_500);
    for (const one of writers) await one.end();
    expect(moved, moved.stderr).toMatchObject({ code: 0 });
    const document = JSON.parse(moved.stdout);
    process.stdout.write(
      `${moved.stdout}others: longest ${staying.longest.toFixed(0)} ms, ${staying.acknowledged.size} notes; ` +
        `moving: ${moving.acknowledged.size} notes, silence ${moving.silence.toFixed(0)} ms, refused ${JSON.stringify([...moving.refused])}\n`,
    );
    expect(document).toMatchObject({ digests_equal: true, base_url: BASE_URL });
    expect(document.hold_ms).toBeLessThan(5_000);
    expect([...staying.refused]).toEqual([]);
    expect(staying.unended).toEqual([]);
    expect(staying.tasks.length).toBeGreaterThan(5);
    expect(staying.failed).toEqual([]);
    expect(moving.failed.length, moving.failed.join()).toBeLessThanOrEqual(1);
    const tasks = await cells.target.sql`SELECT DISTINCT message FROM gateway.task WHERE state = 'completed'`;
    expect(tasks).toHaveLength(moving.tasks.length);
    // Who had to wait for the move would wait for most of it.
    expect(staying.longest).toBeLessThan(Math.max(500, took / 4) + usual);
    expect([...moving.refused.keys()].filter((status) => ![401, 421, 503].includes(status))).toEqual([]);

    // Every acknowledged note is there once, none of another organization.
    const notes = await cells.target.sql<{ text: string; n: number }[]>`
    SELECT text, count(*)::integer AS n FROM platform.note WHERE text LIKE 'moving-%' GROUP BY text`;
    expect(notes.filter(({ n }) => n > 1)).toEqual([]);
    expect(new Set(notes.map(({ text }) => text))).toEqual(new Set(moving.acknowledged.keys()));
    expect(moving.acknowledged.size).toBeGreaterThan(50);
    expect(await cells.target.sql`SELECT tenant FROM platform.note WHERE tenant <> 1`).toHaveLength(0);
    const stayed = await cells.source.sql<{ n: number }[]>`
    SELECT count(*)::integer AS n FROM platform.note WHERE text LIKE 'staying-%'`;
    expect(stayed).toEqual([{ n: staying.acknowledged.size }]);

    // A repeated key has its answer, an old cursor continues, and the webhook gets what it has not got, under its secret.
    for (const [key, text] of [...moving.acknowledged].filter((_, i) => i % 20 === 0)) {
      const { path, body } = restOf(note(key, 'vis_1_1_1'));
      expect(await call(target, path, mover?.token ?? '', key, body)).toMatchObject({
        status: 200,
        text,
        replayed: true,
      });
    }
    let pulled = 0;
    for (let after: string = cursor, more = true; more; ) {
      const query = `subscription_id=${subscription.subscription_id}&after=${encodeURIComponent(after)}&limit=100`;
      const page = JSON.parse((await call(target, `/api/v1/events?${query}`, mover?.token ?? '')).text);
      pulled += page.events.length;
      after = page.next_cursor;
      more = page.events.length > 0;
    }
    const [head] = await cells.target.sql<{ n: number; gaps: number }[]>`
    SELECT count(*)::integer AS n, (max(position) - count(*))::integer AS gaps FROM gateway.journal WHERE (tenant, site) = (1, 1)`;
    expect(head?.gaps).toBe(0);
    expect(pulled).toBeGreaterThanOrEqual(moving.acknowledged.size);
    const found = await call(target, '/api/v1/search?query=order', mover?.token ?? '');
    expect(found.status).toBe(200);
    expect(found.text).toMatch(/"results":\[\{"id":"[a-z]+_1_[12]_\d+"/);
    const [due] = await cells.target.sql<{ n: number }[]>`
    SELECT count(DISTINCT event_id)::integer AS n FROM gateway.webhook_delivery WHERE NOT test`;
    await until(() => new Set(receiver.got.map(({ id }) => id)).size >= moving.acknowledged.size);
    expect(new Set(receiver.got.map(({ id }) => id)).size).toBe(due?.n);
    expect(receiver.got.filter((got) => !verified(secret, got))).toEqual([]);

    // The old cell knows where it lives, and nothing of the move is left.
    expect(await cells.source.sql`SELECT moved_to FROM platform.organization ORDER BY tenant`).toEqual([
      { moved_to: BASE_URL },
      { moved_to: null },
    ]);
    expect(await leftovers(cells)).toEqual([]);

    // When its days are over, upkeep deletes the rows at the source, and no row of the others.
    const others = (): Promise<object[]> => cells.source.sql`
    SELECT (SELECT count(*) FROM platform.message WHERE tenant = 2) AS messages,
           (SELECT count(*) FROM gateway.journal WHERE tenant = 2 AND event_type NOT LIKE 'capture.%') AS receipts`;
    const before = await others();
    await cells.source.sql`UPDATE gateway.move SET keep_until = now()`;
    await until(async () => (await cells.source.sql`SELECT FROM gateway.move`).length === 0, 60_000 + MESSAGES);
    for (const { name } of partsOf('1').filter((one) => !one.copied))
      expect(await cells.source.sql`SELECT FROM ${cells.source.sql(name)} WHERE tenant = 1 LIMIT 1`, name).toHaveLength(
        0,
      );
    expect(await others()).toEqual(before);
  },
  240_000 + 2 * MESSAGES,
);

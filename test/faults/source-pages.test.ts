import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writePage } from '../../src/sources/engine/page.ts';
import { SourceLost } from '../../src/sources/engine/run.ts';
import { runSource } from '../../src/sources/follow/runner.ts';
import { keepPosition, type SourceRow, takeSource } from '../../src/sources/follow/state.ts';
import type { Position, Source } from '../../src/sources/source.ts';
import { type Database, openDatabase } from '../../src/store/driver/postgres.ts';
import { migrate } from '../../src/store/open/migrate.ts';
import { createChatwoot, openChatwoot, populate } from '../support/chatwoot/populate.ts';
import { type ChatwootWorld, chatwootWorld } from '../support/chatwoot/source-world.ts';
import { closeClusters, openCluster } from '../support/cluster.ts';
import { addSource } from '../support/sources.ts';

/** What happens to one page of a source when its gateway or its server dies at the worst moment. */
let desk: ChatwootWorld;
let server: Awaited<ReturnType<typeof openCluster>>;
let db: Database;
let sql: ReturnType<typeof openChatwoot>;

beforeAll(async () => {
  desk = await chatwootWorld({ schema: false });
  await createChatwoot(desk.sql);
  await populate(desk.sql, { conversations: 20, messages: 40, seed: 1 });
  await desk.grant('live');
  server = await openCluster();
  const admin = server.sql('postgres');
  await admin.unsafe('CREATE DATABASE gateway');
  // PostgreSQL then writes a commit that does not wait for the disk as late as it can.
  await admin.unsafe(`ALTER SYSTEM SET wal_writer_delay = '10s'`);
  await admin`SELECT pg_reload_conf()`;
  const target = { host: '127.0.0.1', port: server.port, database: 'gateway', username: 'postgres' };
  db = openDatabase({ target, connections: 2, statementTimeout: 10_000, name: 'test' });
  sql = openChatwoot({ ...target, max: 2 });
  await migrate(db);
});
afterAll(async () => {
  await Promise.all([db.close(), sql.end({ timeout: 1 })]);
  await closeClusters();
  await desk.close();
});

interface Taken {
  readonly row: SourceRow;
  readonly source: Source;
  readonly position: Position;
}

/** A live source that this process holds. All rows of Chatwoot are in the store. */
async function taken(organization: string): Promise<Taken> {
  const { id } = await addSource({ db }, { address: desk.address(), mode: 'live', organization });
  const row = await takeSource(db, 'first', id);
  if (row === undefined) throw new Error('the source is taken');
  const source = desk.open({ organization, reader: id });
  const position = await source.begin();
  await keepPosition(db, row, position);
  for (let after: Position | null = null; ; ) {
    const page: Awaited<ReturnType<Source['load']>> = await source.load(after);
    await writePage(db, row, page.changes, null);
    if (page.after === null) return { row, source, position };
    after = page.after;
  }
}

async function say(content: string): Promise<string> {
  const [row] = await desk.sql<{ id: string }[]>`
    INSERT INTO messages (content, account_id, inbox_id, conversation_id, message_type, created_at, updated_at)
    SELECT ${content}, account_id, inbox_id, id, 0, now(), now() FROM conversations WHERE account_id = 1 ORDER BY id LIMIT 1 RETURNING id`;
  return `cw:1:message:${row?.id}`;
}

const texts = async (tenant: number, id: string): Promise<(string | null)[]> =>
  (
    await sql<
      { text: string | null }[]
    >`SELECT text FROM platform.message WHERE tenant = ${tenant} AND external_id = ${id}`
  ).map(({ text }) => text);

/** Writes pages until the source has no more. A new gateway would do this from the stored position. */
async function goOn({ row, source }: Taken): Promise<void> {
  const next = await takeSource(db, 'next', row.id);
  if (next?.position == null) throw new Error('the source has no position');
  for (let after = next.position, more = true; more; ) {
    const page = await source.changes(after);
    await writePage(db, next, page.changes, page.after);
    if (page.after !== null) after = page.after;
    more = page.more;
  }
}

const free = (id: string) => sql`UPDATE gateway.source SET lease_until = '-infinity' WHERE id = ${id}`;

test('a crash of the store right after a page loses no change, although the outbox is swept', async () => {
  const one = await taken('crash');
  const id = await say('said before the crash');
  const page = await one.source.changes(one.position);
  await writePage(db, one.row, page.changes, page.after);
  // A page without a record has no receipt. The commit of a receipt would wait for the disk.
  const refused = await say('x'.repeat(1_000_001));
  const second = await one.source.changes(page.after ?? {});
  await writePage(db, one.row, second.changes, second.after);
  // The next round deletes the entries that the pages had.
  await one.source.changes(second.after ?? {});
  await server.kill();
  await server.start();
  await free(one.row.id);
  await goOn(one);
  expect(await texts(one.row.tenant, id)).toEqual(['said before the crash']);
  const rejects = await sql`SELECT origin FROM gateway.source_reject WHERE source = ${one.row.id}`;
  expect(rejects).toEqual([{ origin: `messages/${refused.split(':').at(-1)}` }]);
  await one.source.forget();
});

test('a late writer writes nothing, and its position is not kept', async () => {
  const one = await taken('late');
  const id = await say('the first text');
  const late = await one.source.changes(one.position);
  // The writer sleeps here. Another gateway takes over, and the agent deletes the message.
  await free(one.row.id);
  await desk.sql`UPDATE messages SET content = 'This message was deleted', content_attributes = '"{\\"deleted\\":true}"' WHERE id = ${id.split(':').at(-1) ?? ''}`;
  await goOn(one);
  expect(await texts(one.row.tenant, id)).toEqual([null]);
  await expect(writePage(db, one.row, late.changes, late.after)).rejects.toThrow(SourceLost);
  await expect(keepPosition(db, one.row, one.position)).rejects.toThrow(SourceLost);
  expect(await texts(one.row.tenant, id)).toEqual([null]);
  const [kept] = await sql<{ position: Position }[]>`SELECT position FROM gateway.source WHERE id = ${one.row.id}`;
  expect(kept?.position).not.toEqual(late.after);
  await one.source.forget();
});

test('a page that is not written leaves the position before its changes', async () => {
  const one = await taken('halfway');
  const id = await say('said in a page that fails');
  const page = await one.source.changes(one.position);
  await sql`ALTER TABLE platform.message RENAME TO message_away`;
  await expect(writePage(db, one.row, page.changes, page.after)).rejects.toThrow();
  await sql`ALTER TABLE platform.message_away RENAME TO message`;
  await free(one.row.id);
  await goOn(one);
  expect(await texts(one.row.tenant, id)).toEqual(['said in a page that fails']);
  await one.source.forget();
});

test('a source that failed with the store is free again when the store is back, before its lease ends', async () => {
  const { id } = await addSource({ db }, { address: desk.address(), mode: 'live', organization: 'broken' });
  const row = await takeSource(db, 'first', id);
  if (row === undefined) throw new Error('the source is taken');
  const stop = new AbortController();
  const errors: unknown[] = [];
  const open = () => desk.open({ organization: 'broken', reader: id });
  const running = runSource(
    { db, writer: db, open, explain: String, onError: (error) => errors.push(error) },
    row,
    stop.signal,
  );
  const kept = async () =>
    (
      await sql<{ loaded: boolean; held: number }[]>`
        SELECT loaded, greatest(0, extract(epoch FROM lease_until - now()))::float8 AS held FROM gateway.source WHERE id = ${id}`
    )[0];
  await expect.poll(kept).toMatchObject({ loaded: true });
  await server.kill();
  const killed = performance.now();
  await pause(1_000);
  await server.start();
  await running;
  // It was renewed at most 3 s before, for 10 s.
  expect(performance.now() - killed).toBeLessThan(6_000);
  expect(await kept()).toMatchObject({ held: 0 });
  expect(errors).toHaveLength(1);
  stop.abort();
});

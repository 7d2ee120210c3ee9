import { getEventListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { erase } from '../../../src/privacy/erase.ts';
import { openDatabase } from '../../../src/store/driver/postgres.ts';
import { buildIndexes, missingIndexes } from '../../../src/store/open/build.ts';
import { openStore } from '../../../src/store/open/open.ts';
import { freshDatabase, type TestDatabase } from '../../support/database.ts';
import { times } from '../../support/form.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { KEYS } from '../../support/keys.ts';

/** The number of messages in the store when a migration wants the index of words. */
const MESSAGES = times(30_000, 200_000);
const going = new AbortController();
const lines: string[] = [];

function building({ name, host, port, db }: TestDatabase, stop = going.signal): Promise<void> {
  const target = { host, port, database: name, username: 'postgres' };
  const builder = openDatabase({ target, connections: 1, statementTimeout: 600_000, name: 'builder' });
  const log = (line: string) => void lines.push(line);
  return buildIndexes({ builder, db, log, stop, every: 50 }).finally(() => builder.close());
}

describe('the indexes that a migration wants in a store that has messages', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await freshDatabase();
    const { sql } = database;
    // As a migration leaves a large store: indexes and spellings are wanted, and nothing is noted of the rows.
    await sql`DROP INDEX platform.message_words, platform.conversation_words`;
    const tables = ['platform.conversation', 'platform.message'];
    for (const table of tables) await sql`ALTER TABLE ${sql(table)} DISABLE TRIGGER USER`;
    await sql`INSERT INTO platform.organization (tenant, external_id, name) VALUES (1, 'o', 'o')`;
    await sql`INSERT INTO platform.website (tenant, site, external_id, name, time_zone) VALUES (1, 1, 'w', 'w', 'UTC')`;
    await sql`INSERT INTO platform.conversation (tenant, site, id, external_id, status, platform, subject, created_at, updated_at)
      SELECT 1, 1, i, 'c' || i, 'closed', 'chat', 'a zebra', now(), now() FROM generate_series(1, 1000) i`;
    await sql`INSERT INTO platform.message (tenant, site, id, external_id, conversation_id, author_type, visibility, kind, text, created_at)
      SELECT 1, 1, i, 'm' || i, 1 + i % 1000, 'visitor', 'public', 'text',
             'zebra ' || repeat('crossing number ' || i || ' of the long street ', 3), '2026-01-01'::timestamptz + i * interval '1 minute'
        FROM generate_series(1, ${MESSAGES}) i`;
    for (const table of tables) await sql`ALTER TABLE ${sql(table)} ENABLE TRIGGER USER`;
    for (const [kind, relation, said] of [
      ['message', 'platform.message', `'message' AS said_kind, text AS said_text`],
      ['subject', 'platform.conversation', `'subject' AS said_kind, subject AS said_text`],
    ] as const) {
      await sql`INSERT INTO gateway.unnoted_block (kind, relation) VALUES (${kind}, ${relation})`;
      await sql`INSERT INTO gateway.unspelled (kind, relation, said) VALUES (${kind}, ${relation}, ${said})`;
    }
  });
  afterAll(() => database.close());

  const found = async (): Promise<number> => {
    const [row] = await database.sql<{ count: number }[]>`
      SELECT count(*)::integer FROM platform.newest_hits(
        (1, 1, 'message', true, NULL, NULL, NULL, NULL, NULL, 'infinity', 0)::platform.searched, 'zebra', 1000000)`;
    return row?.count ?? 0;
  };

  it('lets writers go on, continues after a lost build, and finds every message', async () => {
    const { db, sql } = database;
    const pauses: number[] = [];
    let [writing, written] = [true, 0];
    const writer = (async () => {
      while (writing) {
        const began = performance.now();
        written++;
        await sql`INSERT INTO platform.message (tenant, site, id, external_id, conversation_id, author_type, visibility, kind, text, created_at)
          VALUES (1, 1, ${MESSAGES + written}, ${`w${written}`}, ${1 + (written % 1000)}, 'visitor', 'public', 'text', 'a zebra while the index is built', now())`;
        pauses.push(performance.now() - began);
        await pause(1);
      }
    })();
    await expect(sql`SELECT gateway.built(NULL)`).rejects.toThrow('an index is being built');
    expect(await missingIndexes(db)).toBeGreaterThanOrEqual(2);

    const lost = building(database).catch((error: unknown) => error);
    // One statement finds the backend and ends it, so that it cannot have gone on to another index meanwhile.
    const ended = async (): Promise<number> => {
      const rows = await sql`
        SELECT pg_terminate_backend(pid) FROM pg_stat_progress_create_index
         WHERE index_relid = to_regclass('platform.message_words') AND blocks_done > 0 AND datname = current_database()`;
      return rows.count;
    };
    await expect.poll(ended, { interval: 5 }).toBe(1);
    expect(await lost).toBeInstanceOf(Error);
    const left = await sql`SELECT FROM pg_index WHERE indrelid = 'platform.message'::regclass AND NOT indisvalid`;
    expect(left).toHaveLength(1);

    // Two processes build at the same time, as two replicas do that start together.
    await Promise.all([building(database), building(database)]);
    writing = false;
    await writer;
    expect(await missingIndexes(db)).toBe(0);
    expect(lines.filter((line) => line === 'built the index message_words')).toHaveLength(1);
    expect(lines).toContainEqual(expect.stringMatching(/^building platform\.message_words: .+ \d+ %$/));
    expect(await found()).toBe(MESSAGES + written);
    expect(written).toBeGreaterThan(20);
    expect(await sql`SELECT FROM gateway.unspelled`).toEqual([]);
    const spelled =
      await sql`SELECT kind FROM platform.spelling WHERE tenant = 1 AND site = 1 AND key = 'zebr' AND word = 'zebra'`;
    expect(new Set(spelled.map(({ kind }) => kind))).toEqual(new Set(['message', 'subject']));
    expect(lines).toContain('the spellings of the search are noted');
    console.info(`${written} writes during the build; the longest took ${Math.round(Math.max(...pauses))} ms`);
    expect(Math.max(...pauses)).toBeLessThan(1_000);
    // Two more messages widen the times of a block that is noted already.
    await sql`INSERT INTO platform.message (tenant, site, id, external_id, conversation_id, author_type, visibility, kind, text, created_at)
      SELECT 1, 1, ${MESSAGES + written + 1} + n, 'late ' || n, 1, 'visitor', 'public', 'text', 'late', make_timestamptz(2010 + 20 * n, 1, 1, 0, 0, 0)
        FROM generate_series(0, 1) n`;
    const wrong = await sql`
      SELECT m.id FROM platform.message m LEFT JOIN platform.said_block b
          ON b.tenant = m.tenant AND b.site = m.site AND b.kind = 'message' AND b.block = m.id >> 11
         AND m.created_at >= b.oldest AND m.created_at < b.newest
       WHERE b.tenant IS NULL`;
    expect(wrong).toHaveLength(0);
  });
});

describe('while an index is missing', () => {
  let gateway: TestGateway;
  let token: string;
  beforeAll(async () => {
    gateway = await openTestGateway();
    ({ token } = await gateway.issue());
  });
  afterAll(() => gateway.close());
  const ask = async (path: string): Promise<unknown[]> => {
    const { status, body, headers } = await gateway.ask(path, { token });
    return [status, body.code, headers['retry-after']];
  };

  it.each([
    ['message_words', '/api/v1/search?query=order'],
    ['contact_words', '/api/v1/customers?name=jane'],
    ['contact_email_folded', '/api/v1/customers?email=jane@example.com'],
  ])('without %s, answers %s with 503, and everything else as before', async (name, path) => {
    const { sql } = gateway.database;
    await sql.unsafe(`DROP INDEX platform.${name}`);
    expect(await ask(path)).toEqual([503, 'service_unavailable', '30']);
    expect((await ask('/api/v1/conversations?website_id=web_1_1'))[0]).toBe(200);
    await building(gateway.database);
    expect((await ask(path))[0]).toBe(200);
  });

  it('without the index that erasures need, everything answers but the erasure', async () => {
    const { sql, db } = gateway.database;
    await sql`DROP INDEX platform.message_visitor`;
    for (const path of ['/api/v1/search?query=order', '/api/v1/customers?name=jane'])
      expect((await ask(path))[0]).toBe(200);
    const erased = () => erase(db, KEYS, { kind: 'contact', id: 'ctc_1_1_1', reason: 'asked' });
    await expect(erased()).rejects.toThrow('an index is being built');
    expect((await ask('/api/v1/contacts/ctc_1_1_1'))[0]).toBe(200);
    await building(gateway.database);
    expect(await erased()).toMatchObject({ counts: { contacts: 1 } });
  });

  it('a stop ends the wait for the build of another process', async () => {
    const { sql } = gateway.database;
    await sql`DROP INDEX platform.note_words`;
    const held = await sql.reserve();
    await held`SELECT pg_advisory_lock(7310483)`;
    const stop = new AbortController();
    const waiting = building(gateway.database, stop.signal);
    await pause(100);
    stop.abort();
    await waiting;
    expect(await missingIndexes(gateway.database.db)).toBe(1);
    await held`SELECT pg_advisory_unlock(7310483)`;
    held.release();
    await building(gateway.database);
    expect(await missingIndexes(gateway.database.db)).toBe(0);
  });

  // A gateway builds every 30 seconds. Node warns after ten listeners.
  it('a build without work leaves no listener on the signal of the process', async () => {
    const { host, port, name } = gateway.database;
    const databaseUrl = `postgres://postgres@${encodeURIComponent(host)}:${port}/${name}`;
    const store = await openStore({ databaseUrl, dataDir: '', connections: 1, log: () => undefined });
    const stop = new AbortController();
    expect(await store.build(stop.signal)).toBe(true);
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0);
    await store.close();
  });
});

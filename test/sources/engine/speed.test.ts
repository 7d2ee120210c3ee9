import { afterAll, beforeAll, expect, test } from 'vitest';
import { importRecords } from '../../../src/sources/files/import.ts';
import { freshDatabase, type TestDatabase } from '../../support/database.ts';
import { desk } from '../../support/import.ts';

let store: TestDatabase;

beforeAll(async () => {
  store = await freshDatabase();
  await store.sql.unsafe(`
    CREATE TABLE seen (at serial, waiting text);
    CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF EXISTS (SELECT FROM new_rows) THEN INSERT INTO seen (waiting) VALUES (current_setting('gin_pending_list_limit')); END IF;
      RETURN NULL;
    END $$;
    CREATE TRIGGER see AFTER INSERT ON platform.message REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION see()`);
  await importRecords(store.db, desk(1200));
});
afterAll(async () => store.close());

test('many words may wait during an import of messages, but few after its last batch and with any other writer', async () => {
  const seen = await store.sql<{ waiting: string }[]>`SELECT waiting FROM seen ORDER BY at`;
  // Two lanes write at the same time, so their batches come in any order.
  const limits = seen.map((row) => row.waiting);
  expect(limits.toSorted()).toEqual(['1MB', '1MB', '256kB', '256kB']);
  expect(limits.at(-1)).toBe('256kB');
  const [alone] = await store.sql.begin(async (sql) => {
    await sql`UPDATE platform.message SET text = text || '!' WHERE id = 1`;
    return sql`SELECT current_setting('gin_pending_list_limit') AS waiting`;
  });
  expect(alone).toEqual({ waiting: '256kB' });
});

test('a conversation has free space on its page for its totals', async () => {
  const [row] = await store.sql`SELECT reloptions FROM pg_class WHERE oid = 'platform.conversation'::regclass`;
  expect(row?.['reloptions']).toEqual(['fillfactor=50']);
});

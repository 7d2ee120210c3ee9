import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { WebsiteKey } from '../../../src/core/ids.ts';
import { takeRun } from '../../../src/sources/engine/run.ts';
import { ImportBusy, type ImportResult, importFiles, importRecords } from '../../../src/sources/files/import.ts';
import { wrongTotals } from '../../../src/store/doctor/doctor.ts';
import { freshDatabase, type TestDatabase } from '../../support/database.ts';
import { times } from '../../support/form.ts';
import { desk, dump, importerIn, ndjson, shuffled, temporary } from '../../support/import.ts';

const folder = temporary();
const path = join(folder, 'desk.ndjson');
const records = shuffled(desk(600), 11);
let script = '';
/** The store of an import that nobody kills. */
let untouched: TestDatabase;
let whole: { content: Record<string, string[]>; result: ImportResult };

beforeAll(async () => {
  script = importerIn(folder);
  writeFileSync(path, `${ndjson(records)}no json\n`);
  untouched = await freshDatabase();
  // Notes how many words may wait for the index of the search at each write of messages.
  await untouched.sql.unsafe(`
    CREATE TABLE seen (at serial, waiting text);
    CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF EXISTS (SELECT FROM new_rows) THEN INSERT INTO seen (waiting) VALUES (current_setting('gin_pending_list_limit')); END IF;
      RETURN NULL;
    END $$;
    CREATE TRIGGER see AFTER INSERT ON platform.message REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION see()`);
  whole = { result: await importFiles(untouched.db, { files: [path] }), content: await dump(untouched.sql) };
});
afterAll(async () => {
  await untouched.close();
  rmSync(folder, { recursive: true });
});

let store: TestDatabase;
const children: ChildProcess[] = [];
beforeEach(async () => {
  store = await freshDatabase();
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await store.close();
});

/**
 * Starts an import in a separate process and kills the process. The kill comes at a report for which `when` is true, or
 * some time later.
 */
async function killed(
  when: (report: { phase: string; done: number }, count: number) => boolean,
  later = 0,
): Promise<string> {
  const { host, port, name: database } = store;
  const target = JSON.stringify({ host, port, database, username: 'postgres' });
  const child = spawn(process.execPath, [script, target, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  let count = 0;
  let last = 'nothing';
  for await (const line of createInterface({ input: child.stdout })) {
    const report = JSON.parse(line);
    if (report.phase === undefined) continue;
    last = `${report.phase} ${report.done}`;
    if (!when(report, ++count)) continue;
    if (later === 0) child.kill('SIGKILL');
    else setTimeout(() => child.kill('SIGKILL'), later);
    if (later === 0) break;
    when = () => false;
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return last;
}

const events = async (): Promise<string[]> =>
  (
    await store.sql<{ event_type: string }[]>`SELECT event_type FROM gateway.journal ORDER BY tenant, site, position`
  ).map((row) => row.event_type);
const snapshots = ['conversation', 'operator', 'queue', 'visitor', 'website'].map((family) => `${family}.snapshot`);

test('killed again and again, a resumed import ends like one that was never interrupted', async () => {
  const places: string[] = [];
  // Each kill comes later than the kill before. Some kills interrupt the reading of the file, and some kills interrupt
  // the import of the records.
  const kills = times(6, 12);
  for (let i = 1; i <= kills; i++) places.push(await killed((_, count) => count >= 1 + Math.floor((i * 4) / kills)));
  const result = await importFiles(store.db, { files: [path], resume: true });
  expect(new Set(places).size, places.join(', ')).toBeGreaterThan(kills / 2);
  expect(await dump(store.sql)).toEqual(whole.content);
  expect(result).toEqual(whole.result);
  expect(await events()).toEqual([...snapshots, ...snapshots]);
});

test('killed at any moment, also in the middle of a statement', async () => {
  for (let i = 0; i < times(4, 8); i++) await killed(() => true, 1 + Math.random() * 250);
  await importFiles(store.db, { files: [path], resume: true });
  expect(await dump(store.sql)).toEqual(whole.content);
  // A kill can come after the end of a run but before its last report. The next run then starts again. Even so, no
  // event may come twice.
  expect(await events()).toEqual([...snapshots, ...snapshots]);
});

test('what a killed import had written is told to the journal by the next one', async () => {
  await killed(({ phase, done }) => phase === 'write message' && done > 200);
  expect(await events()).toEqual([]);
  // PostgreSQL needs a moment to notice that the killed process is gone, and to end its last statements.
  const alive = () => store.sql`
    SELECT FROM gateway.import_run r WHERE gateway.import_alive(r)
     UNION ALL SELECT FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid()`;
  await expect.poll(async () => (await alive()).length).toBe(0);
  const sites = await store.sql<WebsiteKey[]>`SELECT tenant, site, external_id AS id FROM platform.website`;
  expect(sites).not.toEqual([]);
  for (const site of sites) expect(await wrongTotals(store.db, site)).toBe(0);
  await importRecords(store.db, [{ type: 'organization', external_id: 'other', name: 'Other' }]);
  const told = await events();
  expect(told).toContain('conversation.snapshot');
  expect(new Set(told).size * 2).toBe(told.length);
  // The other import has not disturbed the killed import, which continues after its last batch.
  const result = await importFiles(store.db, { files: [path], resume: true });
  expect(result).toEqual(whole.result);
  expect(await dump(store.sql)).toMatchObject({ message: whole.content['message'] });
});

test('a resumed import does not read again what is staged, and a changed file begins anew', async () => {
  const reports: string[] = [];
  await killed(({ phase }) => phase === 'write contact');
  await importFiles(store.db, { files: [path], resume: true, onProgress: ({ phase }) => reports.push(phase) });
  expect(reports).not.toContain('read');
  expect(await dump(store.sql)).toEqual(whole.content);
  await killed(({ phase }) => phase === 'plan conversation');
  const other = join(folder, 'other.ndjson');
  writeFileSync(other, ndjson(records));
  const result = await importFiles(store.db, { files: [other], resume: true });
  expect(result).toMatchObject({ read: records.length, unchanged: records.length, written: 0 });
});

test('when PostgreSQL has lost the staged lines in a crash, a resumed import reads them again', async () => {
  await killed(({ phase, done }) => phase === 'write message' && done > 200);
  await store.sql`TRUNCATE gateway.import_stage_1, gateway.import_chunk_1, gateway.import_plan_1, gateway.import_reject_1`;
  const result = await importFiles(store.db, { files: [path], resume: true });
  expect(result.written + result.unchanged).toBe(records.length);
  expect((await dump(store.sql))['message']).toHaveLength(whole.content['message']?.length ?? 0);
});

test('two imports take turns; one that has lost its lease writes nothing more', async () => {
  const [one, two] = await Promise.all([
    importRecords(store.db, desk(60)),
    importRecords(store.db, shuffled(desk(60), 5)),
  ]);
  const read = desk(60).length;
  expect([one.written, two.written].sort((a, b) => a - b)).toEqual([0, read]);
  const run = await takeRun(store.db, { name: 'x' }, undefined);
  await store.sql`UPDATE gateway.import_run SET epoch = epoch + 1`;
  await expect(run.begin([], undefined)).rejects.toThrow(ImportBusy);
  await run.release();
  await store.sql`UPDATE gateway.import_run SET lease_until = '-infinity'`;
  async function* robbed() {
    yield* desk(5);
    await store.sql`UPDATE gateway.import_run SET epoch = epoch + 1`;
  }
  const before = await dump(store.sql);
  await expect(importRecords(store.db, robbed())).rejects.toThrow(ImportBusy);
  expect(await dump(store.sql)).toEqual(before);
});

test('many words may wait during an import of messages, but few after its last batch and with any other writer', async () => {
  const seen = await untouched.sql<{ waiting: string }[]>`SELECT waiting FROM seen ORDER BY at`;
  // Two lanes write at the same time, so their batches come in any order.
  const limits = seen.map((row) => row.waiting);
  expect(limits.toSorted()).toEqual(['1MB', '1MB', '256kB', '256kB']);
  expect(limits.at(-1)).toBe('256kB');
  const [alone] = await untouched.sql.begin(async (sql) => {
    await sql`UPDATE platform.message SET text = text || '!' WHERE id = 1`;
    return sql`SELECT current_setting('gin_pending_list_limit') AS waiting`;
  });
  expect(alone).toEqual({ waiting: '256kB' });
});

test('a conversation has free space on its page for its totals', async () => {
  const [row] = await untouched.sql`SELECT reloptions FROM pg_class WHERE oid = 'platform.conversation'::regclass`;
  expect(row?.['reloptions']).toEqual(['fillfactor=50']);
});

import { sql } from '../../core/sql.ts';
import { deleteBatch, type RowsOfTable } from '../driver/batches.ts';
import type { Database } from '../driver/postgres.ts';
import { type Administrator, door, doorAlone, within } from './administrator.ts';

/** Rows of one statement. It takes well below a second, and the shortest time-out of a statement is 2.5 s. */
const BATCH = 1_000;
/** Milliseconds of one round of upkeep. */
const ROUND = 1_000;

/** The tables with many rows of a website, children first. What is left goes with the row of the website. */
const TABLES = [
  ...['spelling', 'said_block', 'file_chunk', 'file', 'note', 'ai_result', 'message', 'conversation_contact'],
  ...['conversation', 'visitor_contact', 'visitor', 'contact', 'saved_response', 'saved_link', 'offer', 'disposition'],
];

const partsOf = (tenant: number, site: number): readonly RowsOfTable[] => [
  {
    // This table has no index by website.
    name: 'gateway.webhook_delivery',
    where: `t.endpoint_id IN (SELECT e.id FROM gateway.webhook_endpoint e WHERE e.tenant = ${tenant} AND e.site = ${site})`,
  },
  ...TABLES.map((name) => ({ name: `platform.${name}`, where: `t.tenant = ${tenant} AND t.site = ${site}` })),
];

/** Stops a source before it is removed. False if there is none, or the administrator may not remove it now. */
export async function holdSource(db: Database, id: string, by?: Administrator): Promise<boolean> {
  const rows = await db.query(sql`
    ${doorAlone(by)} UPDATE gateway.source SET paused = true, epoch = epoch + 1, lease_until = '-infinity', holder = NULL,
           last_error = NULL, failures = 0, retry_at = NULL
     WHERE id = ${id} AND ${within(by, sql`tenant`)} RETURNING id`);
  return rows.length > 0;
}

/** Deletes a source whose website stays. False if there is none, or if it is being removed with its website. */
export async function deleteSource(db: Database, id: string, by?: Administrator): Promise<boolean> {
  const rows = await db.query(sql`
    ${doorAlone(by)} DELETE FROM gateway.source WHERE id = ${id} AND removing_at IS NULL AND ${within(by, sql`tenant`)} RETURNING id`);
  if (rows.length > 0) await emptySlot(db, id);
  return rows.length > 0;
}

/**
 * Notes that a source goes with its website. All credentials lose the website now, and a later grant of it counts for
 * nothing (calls/authority.ts). Nobody can take it back: `deleteWebsite` or the upkeep of a gateway finishes it.
 */
export async function markRemoved(db: Database, id: string, by?: Administrator): Promise<boolean> {
  const rows = await db.query(sql`
    WITH ${door(by)}marked AS (
      UPDATE gateway.source SET removing_at = coalesce(removing_at, now()), paused = true
       WHERE id = ${id} AND ${within(by, sql`tenant`)} RETURNING tenant, site
    ), closed AS (
      UPDATE gateway.credential c SET sites = array_remove(c.sites, m.site)
        FROM marked m JOIN gateway.app a ON a.tenant = m.tenant JOIN gateway.installation i ON i.app_id = a.id
       WHERE i.id = c.installation_id AND m.site = ANY (c.sites)
    ) SELECT FROM marked`);
  return rows.length > 0;
}

/**
 * Deletes the website of a source that is marked, in short statements, then the source. Returns true when both are
 * gone, and false at `end` (by performance.now()): at least one statement has deleted rows, and the next call continues.
 * Also false if the organization has moved away meanwhile.
 */
export async function deleteWebsite(db: Database, id: string, end: number): Promise<boolean> {
  const [row] = await db.query<{ tenant: string; site: string }>(sql`
    SELECT tenant::text AS tenant, site::text AS site FROM gateway.source
     WHERE id = ${id} AND removing_at IS NOT NULL AND site IS NOT NULL AND gateway.lives_here(tenant)`);
  // A row that was written meanwhile is found by another pass.
  for (let before = 1; row && before > 0; ) {
    before = 0;
    for (const part of partsOf(Number(row.tenant), Number(row.site))) {
      for (let deleted = BATCH; deleted === BATCH; before += deleted) {
        deleted = await deleteMarked(db, id, part);
        // A look at an empty table is no progress. If it ended a turn, a short turn would never get further.
        if (deleted > 0 && performance.now() > end) return false;
      }
    }
  }
  await db.query(sql`
    WITH gone AS (
      DELETE FROM gateway.source WHERE id = ${id} AND removing_at IS NOT NULL AND gateway.lives_here(tenant) RETURNING tenant, site
    ), words AS (
      -- No foreign key leads from the words to their website.
      DELETE FROM platform.spelling s USING gone g WHERE s.tenant = g.tenant AND s.site = g.site
    )
    DELETE FROM platform.website w USING gone g WHERE w.tenant = g.tenant AND w.site = g.site`);
  const [left] = await db.query(sql`SELECT FROM gateway.source WHERE id = ${id}`);
  if (left !== undefined) return false;
  await emptySlot(db, id);
  return true;
}

/** Makes no receipts: no credential could read them. */
const deleteMarked = (db: Database, id: string, part: RowsOfTable): Promise<number> =>
  deleteBatch(
    db,
    part,
    BATCH,
    sql`SELECT set_config('gateway.capture', 'off', true) = 'off' AND set_config('gateway.removal', 'on', true) = 'on'
          FROM gateway.source s WHERE s.id = ${id} AND s.removing_at IS NOT NULL AND gateway.lives_here(s.tenant)`,
  );

/**
 * Upkeep: goes on with the removals that a command or a page of the console has begun. One round takes about a second,
 * which the sources share. They come in another order each time, and one that fails stops no other. At the end, the
 * first failure is thrown.
 */
export async function clearRemoved(db: Database, stop?: AbortSignal): Promise<void> {
  const due = await db.query<{ id: string }>(sql`
    SELECT id FROM gateway.source WHERE removing_at IS NOT NULL AND gateway.lives_here(tenant) ORDER BY random()`);
  const failures: unknown[] = [];
  const end = performance.now() + ROUND;
  for (const { id } of due) {
    if (performance.now() > end || stop?.aborted === true) break;
    try {
      await deleteWebsite(db, id, performance.now() + ROUND / due.length);
    } catch (cause) {
      failures.push(new Error(`records of the source ${id}, which is being removed`, { cause }));
    }
  }
  if (failures.length > 0) throw failures[0];
}

/** Empties the slots of removed sources. A process that was reading such a source keeps its slot for some seconds. */
export async function forgetRemoved(db: Database): Promise<void> {
  await db.query(sql`
    SELECT gateway.source_forget(r.source) FROM gateway.import_run r
     WHERE r.unfinished AND r.source IS NOT NULL AND NOT EXISTS (SELECT FROM gateway.source s WHERE s.id = r.source)`);
}

const emptySlot = (db: Database, id: string): Promise<object[]> => db.query(sql`SELECT gateway.source_forget(${id})`);

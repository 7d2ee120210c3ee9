import type { EVENT_FAMILIES } from '../core/events.ts';
import { sql } from '../core/sql.ts';
import type { Database } from './postgres.ts';

/** What keeps the journals of changes: retention, heartbeats, held families, lost places (0011_journal.sql). */

export type Family = (typeof EVENT_FAMILIES)[number];

/** A website's key; numbers as text. */
export interface JournalOf {
  readonly tenant: string;
  readonly site: string;
}

/** Seconds that a receipt is kept: 7 days (contract, Limits). */
const KEPT = 7 * 24 * 3600;
/** Seconds after which a family that somebody waits for is told to be alive. */
const SILENCE = 300;

/** Removes receipts older than 7 days, at most `n`; returns how many. */
export async function trimJournals(db: Database, n: number): Promise<number> {
  const [row] = await db.query<{ removed: number }>(
    sql`SELECT gateway.trim_journals(make_interval(secs => ${KEPT}::integer), ${n}::integer) AS removed`,
  );
  return row?.removed ?? 0;
}

/** Appends heartbeats of families that were silent for 5 minutes, on at most `n` websites; returns on how many. */
export async function beatFamilies(db: Database, n: number): Promise<number> {
  const [row] = await db.query<{ websites: number }>(
    sql`SELECT gateway.beat_families(make_interval(secs => ${SILENCE}::integer), ${n}::integer) AS websites`,
  );
  return row?.websites ?? 0;
}

/** Appends what an import that nobody holds any more has left owing; returns how many receipts. */
export async function settleAbandonedImport(db: Database): Promise<number> {
  const [row] = await db.query<{ settled: number }>(sql`SELECT gateway.settle_abandoned_import() AS settled`);
  return row?.settled ?? 0;
}

/** Holds a family's receipts back; whether it was not held before. */
export async function holdFamily(db: Database, { tenant, site }: JournalOf, family: Family): Promise<boolean> {
  const held = await db.query(
    sql`INSERT INTO gateway.family_hold (tenant, site, family) VALUES (${tenant}, ${site}, ${family})
        ON CONFLICT DO NOTHING RETURNING family`,
  );
  return held.length > 0;
}

/** Lets a family's receipts go; whether it was held. */
export async function releaseFamily(db: Database, { tenant, site }: JournalOf, family: Family): Promise<boolean> {
  const released = await db.query(
    sql`DELETE FROM gateway.family_hold WHERE tenant = ${tenant} AND site = ${site} AND family = ${family} RETURNING family`,
  );
  return released.length > 0;
}

/** Says that receipts of a family may be missing. Returns the types appended. */
export async function reportGap(db: Database, { tenant, site }: JournalOf, family: Family): Promise<readonly string[]> {
  const types = [...new Set(['capture.gap', `${family}.gap`])];
  await db.query(sql`SELECT gateway.append_receipts(${tenant}, ${site}, ${types}::text[])`);
  return types;
}

/**
 * Positions that a store may have given out between a backup and its loss; more than any journal takes in that time. What
 * they named must not be named again: receivers know receipts by an id that is made of website and position.
 */
const LEAP = 1_000_000_000;

/**
 * After a backup was put back: every journal goes on far behind what it may have given out, and its first receipts say
 * that others are missing. Returns the number of websites. Repeating it does no harm.
 */
export async function leapJournals(db: Database, families: readonly Family[]): Promise<number> {
  await db.query(sql`
    WITH gone AS (DELETE FROM gateway.journal)
    INSERT INTO gateway.journal_head AS h (tenant, site, position, trimmed)
    SELECT w.tenant, w.site, ${LEAP}::bigint, ${LEAP}::bigint FROM platform.website w ORDER BY w.tenant, w.site
        ON CONFLICT (tenant, site) DO UPDATE
       SET position = h.position + ${LEAP}::bigint, trimmed = h.position + ${LEAP}::bigint`);
  const types = families.map((family) => `${family}.gap`);
  const [row] = await db.query<{ websites: number }>(sql`
    SELECT count(gateway.append_receipts(w.tenant, w.site, ${types}::text[]))::integer AS websites
      FROM (SELECT tenant, site FROM platform.website ORDER BY tenant, site) w`);
  return row?.websites ?? 0;
}

import type { EVENT_FAMILIES } from '../../core/events.ts';
import type { WebsiteKey } from '../../core/ids.ts';
import { sql } from '../../core/sql.ts';
import { MOVED } from '../calls/moved.ts';
import { numberOf } from '../driver/answers.ts';
import type { Database } from '../driver/postgres.ts';

/** Upkeep of the journals: retention, heartbeats, held event families and gaps (06_journal.sql). */

/**
 * The tables whose records get their numbers from platform.reserve_ids. Operators have one numbering for all websites
 * of an organization.
 */
export const NUMBERED: readonly string[] = [
  ...['subsite', 'channel', 'team', 'contact', 'visitor', 'conversation', 'ai_feature', 'message', 'file', 'note'],
  ...['disposition', 'saved_response', 'saved_link', 'offer', 'ai_result', 'operator'],
];

export type Family = (typeof EVENT_FAMILIES)[number];

type JournalOf = Omit<WebsiteKey, 'id'>;

const KEPT = 7 * 24 * 3600;
/** After this many seconds without a receipt, an event family with subscribers gets a heartbeat. */
const SILENCE = 300;

/** Deletes at most `n` receipts older than 7 days. Returns their number. */
export const trimJournals = (db: Database, n: number): Promise<number> =>
  numberOf(db.query(sql`SELECT gateway.trim_journals(make_interval(secs => ${KEPT}::integer), ${n}::integer) AS n`));

/** Appends heartbeats for families that were silent for 5 minutes, on at most `n` websites. Returns their number. */
export const beatFamilies = (db: Database, n: number): Promise<number> =>
  numberOf(db.query(sql`SELECT gateway.beat_families(make_interval(secs => ${SILENCE}::integer), ${n}::integer) AS n`));

/** Appends the receipts that an abandoned import has not appended. Returns their number. */
export const settleAbandonedImport = (db: Database): Promise<number> =>
  numberOf(db.query(sql`SELECT gateway.settle_abandoned_import() AS n`));

/** Holds back the receipts of an event family. Returns false if they were already held back. */
export async function holdFamily(db: Database, { tenant, site }: JournalOf, family: Family): Promise<boolean> {
  const held = await db.query(
    sql`INSERT INTO gateway.family_hold (tenant, site, family) VALUES (${tenant}, ${site}, ${family})
        ON CONFLICT DO NOTHING RETURNING family`,
  );
  return held.length > 0;
}

/** Releases the receipts of an event family. Returns false if they were not held back. */
export async function releaseFamily(db: Database, { tenant, site }: JournalOf, family: Family): Promise<boolean> {
  const released = await db.query(
    sql`DELETE FROM gateway.family_hold WHERE tenant = ${tenant} AND site = ${site} AND family = ${family} RETURNING family`,
  );
  return released.length > 0;
}

/** Appends receipts that report a gap in an event family. Returns their types. */
export async function reportGap(db: Database, { tenant, site }: JournalOf, family: Family): Promise<readonly string[]> {
  const types = [...new Set(['capture.gap', `${family}.gap`])];
  await db.query(sql`SELECT gateway.append_receipts(${tenant}, ${site}, ${types}::text[])`);
  return types;
}

/**
 * Larger than the number of positions or record numbers that a store uses between a backup and the loss of the store.
 * The lost numbers must not be used again (06_journal.sql).
 */
const LEAP = 1_000_000_000;

/**
 * Must run after a backup was restored. Moves every journal far past all positions that were in use when the store was
 * lost. The first receipts of each journal then say that other receipts are missing. Also moves the numbers of
 * organizations, websites and their records. Handles one organization after another, and can be repeated safely.
 * Returns the number of websites.
 */
export async function leapJournals(db: Database, families: readonly Family[]): Promise<number> {
  const types = families.map((family) => `${family}.gap`);
  const kinds = NUMBERED.filter((kind) => kind !== 'operator');
  await db.query(sql`SELECT gateway.leap_tenants(${LEAP}::bigint)`);
  const owners = await db.query<Pick<JournalOf, 'tenant'>>(
    sql`SELECT tenant FROM platform.organization UNION SELECT tenant FROM gateway.journal_head EXCEPT ${MOVED} ORDER BY tenant`,
  );
  let websites = 0;
  for (const { tenant } of owners) {
    const [row] = await db.query<{ websites: number }>(
      sql`SELECT gateway.leap_organization(${tenant}, ${LEAP}::bigint, ${kinds}::text[], ${types}::text[]) AS websites`,
    );
    websites += row?.websites ?? 0;
  }
  return websites;
}

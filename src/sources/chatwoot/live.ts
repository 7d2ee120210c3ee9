import { z } from 'zod';
import { raw, sql } from '../../core/sql.ts';
import type { Database } from '../../store/driver/postgres.ts';
import { PositionLost } from '../lost.ts';
import type { Page, Position } from '../source.ts';
import { type Desk, PAGE_ROWS, RECORD_BYTES, sizesOf } from './desk.ts';
import { KINDS, type Kind } from './kinds.ts';
import { fitting } from './load.ts';
import { attachmentCounts, pendingParents, tellAll, type Wanted } from './together.ts';
import type { Noted } from './watched.ts';

const snapshot = z.string().regex(/^\d+:\d+:[\d,]*$/);
/**
 * A place in the outbox. All entries that `from` sees are read. Of the entries that `to` sees, those up to `seq` are
 * read. `to` is null at the start of a round.
 */
const place = z.strictObject({ from: snapshot, to: snapshot.nullable(), seq: z.number() });
type Place = z.infer<typeof place>;

function placeOf(after: Position): Place {
  const parsed = place.safeParse(after);
  if (!parsed.success) throw new PositionLost('the place in the outbox of Chatwoot cannot be read');
  return parsed.data;
}

/** A reader that read nothing for so long holds no entries any more. It must start over with a comparison. */
const PATIENCE = `interval '7 days'`;
/** The largest number of entries that one statement deletes. */
const SWEEP = 20_000;
/** Two readers that delete the same entries in different orders would wait for each other, so only one reader deletes. */
const ALONE = sql`(SELECT pg_try_advisory_xact_lock(hashtextextended('gateway_outbox.change', 0)))`;

/** Entries that `from` does not see. A transaction can commit late, so its entries can have small numbers. */
const unread = (from: string) =>
  sql`x.xid >= pg_snapshot_xmin(${from}::pg_snapshot) AND NOT pg_visible_in_snapshot(x.xid, ${from}::pg_snapshot)`;

const forAccount = (account: number) => sql`(x.account_id = ${account}::bigint OR x.account_id IS NULL)`;

/** Registers the reader. From then on, no entry is deleted before the reader has read it. */
export async function beginLive(db: Database, reader: string): Promise<Position> {
  const [row] = await db.query<{ snapshot: string }>(
    sql`INSERT INTO gateway_outbox.reader AS r (name, snapshot) VALUES (${reader}, pg_current_snapshot())
        ON CONFLICT (name) DO UPDATE SET snapshot = EXCLUDED.snapshot, at = now() RETURNING r.snapshot::text AS snapshot`,
  );
  if (row === undefined) throw new Error('Chatwoot did not register the reader of the outbox');
  return { from: row.snapshot, to: null, seq: 0 } satisfies Place;
}

/**
 * Says what the reader has read, and deletes the entries that all readers have read. A store that was restored from a
 * copy has an older place than the outbox remembers. The entries since this older place can be deleted already.
 */
async function keep(db: Database, reader: string, from: string): Promise<void> {
  const [kept] = await db.query<{ known: boolean }>(
    sql`UPDATE gateway_outbox.reader SET snapshot = ${from}::pg_snapshot, at = now()
         WHERE name = ${reader} AND pg_snapshot_xmax(${from}::pg_snapshot) <= pg_snapshot_xmax(pg_current_snapshot())
           AND pg_snapshot_xmin(snapshot) <= pg_snapshot_xmin(${from}::pg_snapshot)
        RETURNING true AS known`,
  );
  if (kept === undefined) throw new PositionLost('the outbox of Chatwoot does not hold the entries since this place');
  await db.query(sql`DELETE FROM gateway_outbox.reader WHERE at < now() - ${raw(PATIENCE)}`);
  await db.query(sql`DELETE FROM gateway_outbox.change WHERE seq IN (
    SELECT seq FROM gateway_outbox.change
     WHERE xid < (SELECT pg_snapshot_xmin(snapshot) FROM gateway_outbox.reader ORDER BY pg_snapshot_xmin(snapshot) LIMIT 1)
       AND ${ALONE} LIMIT ${SWEEP}::integer)`);
}

/** Removes the reader. Without any reader, nobody needs the entries, so all entries go too. */
export async function forgetLive(db: Database, reader: string): Promise<void> {
  await db.query(sql`DELETE FROM gateway_outbox.reader WHERE name = ${reader}`);
  for (let deleted = SWEEP; deleted === SWEEP; ) {
    const [row] = await db.query<{ deleted: number }>(sql`WITH gone AS (DELETE FROM gateway_outbox.change WHERE seq IN (
        SELECT seq FROM gateway_outbox.change WHERE NOT EXISTS (SELECT FROM gateway_outbox.reader) AND ${ALONE}
         LIMIT ${SWEEP}::integer) RETURNING seq)
      SELECT count(*)::integer AS deleted FROM gone`);
    deleted = row?.deleted ?? 0;
  }
}

interface Entry {
  readonly seq: string;
  readonly kind: Noted;
  readonly id: string;
}

/** Ends the page where its long texts reach the limit. */
async function bounded(desk: Desk, entries: readonly Entry[]): Promise<readonly Entry[]> {
  const sizes = new Map<string, number>();
  for (const kind of KINDS) {
    const ids = entries.filter((entry) => entry.kind === kind).map(({ id }) => id);
    for (const [id, bytes] of await sizesOf(desk, kind, ids)) sizes.set(`${kind}/${id}`, bytes);
  }
  const blobs = entries.filter(({ kind }) => kind === 'blobs').map(({ id }) => id);
  for (const [id, rows] of await attachmentCounts(desk, blobs)) sizes.set(`blobs/${id}`, rows * RECORD_BYTES);
  const counted = new Set<string>();
  return fitting(entries, ({ kind, id }) => {
    const name = `${kind}/${id}`;
    if (counted.has(name)) return 0;
    counted.add(name);
    return sizes.get(name) ?? 0;
  });
}

const isKind = (kind: Noted): kind is Kind => KINDS.some((one) => one === kind);

function wantedBy(entries: readonly Entry[]): Wanted {
  const rows = new Map<Kind, Set<string>>();
  const members = new Set<string>();
  const blobs = new Set<string>();
  for (const { kind, id } of entries) {
    if (kind === 'members') members.add(id);
    else if (kind === 'blobs') blobs.add(id);
    // An older or a newer version of the triggers can write other kinds. The check of the source tells this.
    else if (isKind(kind)) rows.set(kind, (rows.get(kind) ?? new Set()).add(id));
  }
  return { rows, members, blobs };
}

/** Reads one page of the outbox and tells the rows as they are now. */
export async function changesLive(desk: Desk, reader: string, after: Position): Promise<Page> {
  const { db, names } = desk;
  const { from, to, seq } = placeOf(after);
  if (to === null) await keep(db, reader, from);
  const until = to === null ? sql`pg_current_snapshot()` : sql`${to}::pg_snapshot`;
  const found = await db.read<{ to: string; seq: string | null; kind: Noted | null; id: string | null }>(
    sql`WITH until AS MATERIALIZED (SELECT ${until} AS snapshot)
    SELECT u.snapshot::text AS to, e.* FROM until u LEFT JOIN LATERAL (
      SELECT x.seq::text AS seq, x.kind, x.id::text AS id FROM gateway_outbox.change x
       WHERE ${unread(from)} AND pg_visible_in_snapshot(x.xid, u.snapshot) AND x.seq > ${seq}::bigint
         AND ${forAccount(names.account)}
       ORDER BY x.seq LIMIT ${PAGE_ROWS}::integer) e ON true`,
  );
  const reached = found[0]?.to ?? from;
  const all = found.flatMap(({ seq: at, kind, id }): Entry[] =>
    at === null || kind === null || id === null ? [] : [{ seq: at, kind, id }],
  );
  if (all.some(({ kind }) => kind === 'lost'))
    throw new PositionLost('the triggers of Chatwoot could not note a change');
  const entries = await bounded(desk, all);
  const more = all.length === PAGE_ROWS || entries.length < all.length;
  const told = await tellAll(desk, wantedBy(entries));
  // At the end of the outbox, a row can name a row that was written a moment ago. That row comes along.
  const changes = more ? told.changes : await pendingParents(desk, told, unread(from));
  const last = Number(entries.at(-1)?.seq ?? seq);
  const next: Place = more ? { from, to: reached, seq: last } : { from: reached, to: null, seq: 0 };
  return { changes, after: next, more };
}

/** The largest number of waiting entries that are counted. */
const COUNTED = 100_000;

export async function behindLive(desk: Desk, after: Position): Promise<{ seconds: number; changes: number }> {
  const { from, seq } = placeOf(after);
  const [row] = await desk.db.read<{ seconds: string | null; changes: string }>(
    sql`SELECT extract(epoch FROM clock_timestamp() - min(e.at))::text AS seconds, count(*)::text AS changes FROM (
      SELECT x.at FROM gateway_outbox.change x
       WHERE ${unread(from)} AND x.seq > ${seq}::bigint AND ${forAccount(desk.names.account)}
       ORDER BY x.seq LIMIT ${COUNTED}::integer) e`,
  );
  return { seconds: Math.max(0, Number(row?.seconds ?? 0)), changes: Number(row?.changes ?? 0) };
}

import { type Fragment, sql } from '../../core/sql.ts';
import { ASKED } from '../../store/administration/sources.ts';
import { sqlState } from '../../store/driver/errors.ts';
import type { Database } from '../../store/driver/postgres.ts';
import type { Progress } from '../engine/apply.ts';
import type { HeldSource } from '../engine/page.ts';
import { ImportBusy, SourceLost } from '../engine/run.ts';
import type { Finding, Position, Source } from '../source.ts';
import type { StoredSource } from './open.ts';

/** A source as it is stored. The address and the token are encrypted. */
export interface SourceRow extends StoredSource {
  readonly tenant: number;
  readonly organization: string;
  readonly epoch: number;
  readonly position: Position | null;
  readonly loaded: boolean;
  readonly digest?: HeldSource['digest'];
}

/** How many seconds a gateway can be silent before another gateway takes over its source. */
const LEASE = 10;

/** Takes a source that no gateway runs: the one with this id, or any source that is due. */
export async function takeSource(db: Database, holder: string, id?: string): Promise<SourceRow | undefined> {
  const [row] = await db.query<SourceRow>(sql`
    SELECT s.id, s.tenant::float8 AS tenant, o.external_id AS organization, s.kind, s.account, s.mode, s.period, s.time_zone, s.storage,
           s.address, s.api_url, s.api_token, s.epoch::float8 AS epoch, s.position, s.loaded
      FROM gateway.source_take(${holder}, ${LEASE}, ${id ?? null}::text) s JOIN platform.organization o ON o.tenant = s.tenant`);
  return row;
}

/** Renews the lease. Returns false when this process does not run the source any more. */
export async function renew(db: Database, { id, epoch }: HeldSource): Promise<boolean> {
  const rows = await db.query(sql`
    UPDATE gateway.source SET lease_until = now() + make_interval(secs => ${LEASE})
     WHERE id = ${id} AND epoch = ${epoch} AND holder IS NOT NULL AND NOT paused AND gateway.lives_here(tenant) RETURNING id`);
  return rows.length > 0;
}

export async function release(db: Database, { id, epoch }: HeldSource): Promise<void> {
  await db.query(sql`
    UPDATE gateway.source SET lease_until = '-infinity', holder = NULL WHERE id = ${id} AND epoch = ${epoch}`);
}

/** Ends an attempt that failed. The next attempt waits 1 s, then 2 s, then 4 s, then 5 s. */
export async function failed(db: Database, { id, epoch }: HeldSource, message: string): Promise<void> {
  await db.query(sql`
    UPDATE gateway.source
       SET last_error = ${message}, failures = failures + 1, lease_until = '-infinity', holder = NULL, progress = NULL,
           retry_at = now() + make_interval(secs => least(5, power(2, least(failures, 3))))
     WHERE id = ${id} AND epoch = ${epoch}`);
}

/** Ends a first load that took too long. The operator starts the source again. */
export async function stopped(db: Database, held: HeldSource, message: string): Promise<void> {
  const text = `${message} The first load stands still. Find out why the database of the helpdesk is slow. Then run: gateway source resume ${held.id}`;
  await db.query(
    forgettingSpent(
      held,
      sql`last_error = ${text}, failures = failures + 1, lease_until = '-infinity', holder = NULL, progress = NULL,
          retry_at = 'infinity'`,
    ),
  );
}

/**
 * Ends a comparison that took too long. The source is still followed. The next comparison comes a day later, or at once
 * if somebody asked for it meanwhile.
 */
export async function gaveUp(db: Database, held: HeldSource, message: string): Promise<void> {
  const text = `${message} The comparison was given up, so what only a comparison finds is missing. Find out why the database of the helpdesk is slow. Then run: gateway source check ${held.id}`;
  const rows = await db.query(
    forgettingSpent(
      held,
      sql`compare_error = ${text}, progress = NULL,
          compared_at = CASE WHEN compare_asked > compare_began THEN compare_began ELSE greatest(now(), compare_began) END`,
    ),
  );
  requireOne(rows);
}

/** Notes that the source was read, and how far behind the store is. */
export async function succeeded(
  db: Database,
  { id, epoch }: HeldSource,
  { seconds, changes }: Awaited<ReturnType<Source['behind']>>,
): Promise<void> {
  await db.query(sql`
    UPDATE gateway.source
       SET last_success_at = now(), last_error = NULL, failures = 0, retry_at = NULL, lag_seconds = ${seconds}, behind = ${changes}::bigint,
           seen_at = now()
     WHERE id = ${id} AND epoch = ${epoch}`);
}

export async function keepPosition(db: Database, held: HeldSource, position: Position): Promise<void> {
  await underLease(db, held, sql`position = ${JSON.stringify(position)}::text::jsonb`);
}

export async function keepFindings(db: Database, held: HeldSource, findings: readonly Finding[]): Promise<void> {
  await underLease(db, held, sql`findings = ${JSON.stringify(findings)}::text::jsonb`);
}

/** Keeps a new position after changes were lost. The comparison stays owed until it has ended. */
export async function keepLostPosition(db: Database, held: HeldSource, position: Position): Promise<void> {
  await underLease(db, held, sql`position = ${JSON.stringify(position)}::text::jsonb, compare_asked = ${ASKED}`);
}

/** Throws if this process does not run the source any more. */
export async function requireLease(db: Database, held: HeldSource): Promise<void> {
  if (!(await renew(db, held))) throw new SourceLost('another gateway runs this source now');
}

/**
 * Records the start of a load or comparison. The source could be read, so a single error counts as over, and a repeated
 * one stays visible until a success. The start is never before the request: after PostgreSQL's clock went back, the
 * comparison would be repeated until that time has come.
 */
export const beganComparison = (db: Database, held: HeldSource): Promise<void> =>
  underLease(
    db,
    held,
    sql`compare_began = greatest(now(), compare_asked), last_error = CASE WHEN failures > 1 THEN last_error END`,
  );

/** Asks for a comparison. While a source is refused, its changes can be lost: a trigger that is gone notes nothing. */
export async function compareLater(db: Database, held: HeldSource): Promise<void> {
  await underLease(db, held, sql`compare_asked = ${ASKED}`);
}

export async function keepProgress(db: Database, held: HeldSource, progress: Progress): Promise<void> {
  await underLease(db, held, sql`progress = ${JSON.stringify(progress)}::text::jsonb`);
}

/** Records the end of a load or a comparison, with the counts of its run. */
export async function loaded(
  db: Database,
  held: HeldSource,
  counts: { readonly written: number; readonly removed: number; readonly suppressed: number },
  website: string,
): Promise<void> {
  await underLease(
    db,
    held,
    sql`loaded = true, progress = NULL, compared_at = compare_began, compare_error = NULL, written = written + ${counts.written}::bigint,
        removed = removed + ${counts.removed}::bigint, suppressed = suppressed + ${counts.suppressed}::bigint,
        site = (SELECT w.site FROM platform.website w WHERE w.tenant = source.tenant AND w.external_id = ${website})`,
  );
}

/** Notes what has no place in the gateway. */
export const keepUnmapped = (
  db: Database,
  held: HeldSource,
  unmapped: Readonly<Record<string, number>>,
): Promise<void> => underLease(db, held, sql`unmapped = ${JSON.stringify(unmapped)}::text::jsonb`);

async function underLease(db: Database, held: HeldSource, set: Fragment): Promise<void> {
  requireOne(await db.query(updated(held, set)));
}

/** Changes the source if this process runs it. */
const updated = ({ id, epoch }: HeldSource, set: Fragment): Fragment =>
  sql`UPDATE gateway.source SET ${set} WHERE id = ${id} AND epoch = ${epoch} AND NOT paused RETURNING id`;

/** Like `updated`. The next load of the source may take as long as this one. */
const forgettingSpent = (held: HeldSource, set: Fragment): Fragment => sql`
  WITH mine AS (${updated(held, set)}),
       spent AS (UPDATE gateway.import_run r SET spent = '0', waited = '0', answers = 0 FROM mine WHERE r.subject = mine.id)
  SELECT id FROM mine`;

function requireOne(rows: readonly unknown[]): void {
  if (rows.length === 0) throw new SourceLost('another gateway runs this source now');
}

/**
 * True if the whole source must be compared: on request, after its website was deleted, or when the last comparison is
 * 20 hours old at night in the source's time zone, or 26 hours by day.
 */
export async function comparisonDue(db: Database, { id }: HeldSource): Promise<boolean> {
  const [row] = await db.query<{ due: boolean; nightly: boolean; now: Date; time_zone: string }>(sql`
    SELECT coalesce(compare_asked > coalesce(compared_at, '-infinity'), false)
           OR coalesce(compared_at, '-infinity') < now() - interval '26 hours'
           OR NOT EXISTS (SELECT FROM platform.website w WHERE w.tenant = s.tenant AND w.site = s.site) AS due,
           coalesce(compared_at, '-infinity') < now() - interval '20 hours' AS nightly, now(), time_zone
      FROM gateway.source s WHERE id = ${id}`);
  if (row === undefined) return false;
  return row.due || (row.nightly && NIGHT.has(hourOf(row.now, row.time_zone)));
}

const NIGHT = new Set(['02', '03', '04']);

/** The hour in a time zone. PostgreSQL does not know all zones that Node knows, and would fail. */
const hourOf = (moment: Date, timeZone: string): string =>
  new Intl.DateTimeFormat('en-GB', { hour: '2-digit', hourCycle: 'h23', timeZone }).format(moment);

/** The rows that wait for another row, for example a message whose conversation was refused. Oldest first. */
export async function waitingRows(db: Database, { id }: HeldSource, limit: number): Promise<string[]> {
  const rows = await db.query<{ origin: string }>(sql`
    SELECT origin FROM gateway.source_reject
     WHERE source = ${id} AND retry_at <= now() AND code IN ('unknown_reference', 'reference_elsewhere')
     GROUP BY origin ORDER BY min(retry_at), origin LIMIT ${limit}`);
  return rows.map(({ origin }) => origin);
}

/** True if the lease is lost, or if other loads must end first. Neither is a failure of the source. */
export const isLost = (error: unknown): boolean =>
  error instanceof SourceLost || error instanceof ImportBusy || sqlState(error) === 'GW001';

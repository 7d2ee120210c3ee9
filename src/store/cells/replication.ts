import { sql } from '../../core/sql.ts';
import type { Database } from '../driver/postgres.ts';
import { number, REPLICATED } from './tables.ts';

/** Names of what a move makes. Slots belong to the whole server, so their name has the database too. */
const named = (tenant: string): string => `gateway_move_${number(tenant)}`;

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;

async function slotOf(source: Database, tenant: string): Promise<string> {
  const [row] = await source.read<{ oid: number }>(
    sql`SELECT oid::integer FROM pg_database WHERE datname = current_database()`,
  );
  return `gateway_move_${row?.oid ?? 0}_${number(tenant)}`;
}

export async function publish(source: Database, tenant: string): Promise<void> {
  const [row] = await source.read<{ made: boolean }>(
    sql`SELECT EXISTS (SELECT FROM pg_publication WHERE pubname = ${named(tenant)}) AS made`,
  );
  if (row?.made === true) return;
  const tables = REPLICATED.map((name) => `${name} WHERE (tenant = ${number(tenant)})`).join(', ');
  await source.script(
    `CREATE PUBLICATION ${named(tenant)} FOR TABLE ${tables} WITH (publish = 'insert, update, delete')`,
  );
}

export interface MoveSubscription {
  readonly oid: string;
  readonly enabled: boolean;
}

export async function readSubscription(target: Database, tenant: string): Promise<MoveSubscription | undefined> {
  const [row] = await target.read<MoveSubscription>(sql`
    SELECT s.oid::bigint::text AS oid, s.subenabled AS enabled FROM pg_subscription s
     WHERE s.subname = ${named(tenant)} AND s.subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())`);
  return row;
}

/** True if the slot of the move can still deliver all changes. PostgreSQL gives up a slot that keeps too much WAL. */
export async function slotIsGood(source: Database, tenant: string): Promise<boolean> {
  const slot = await slotOf(source, tenant);
  const [row] = await source.read<{ good: boolean }>(sql`
    SELECT EXISTS (SELECT FROM pg_replication_slots
                    WHERE slot_name = ${slot} AND wal_status IS DISTINCT FROM 'lost') AS good`);
  return row?.good === true;
}

/**
 * Keeps the next scripts of the connection out of the server's log: they hold a password, digests of tokens and texts. Only
 * a superuser may (docs/move-organization.md). The setting is one of the connection, because PostgreSQL decides before a
 * script begins.
 */
export async function keepOutOfLog(db: Database): Promise<void> {
  await db.query(sql`
    SELECT set_config(s.name, s.value, false) FROM (VALUES ('log_statement', 'none'), ('log_min_duration_statement', '-1'),
           ('log_min_duration_sample', '-1'), ('log_min_error_statement', 'panic')) s (name, value)
     WHERE current_setting('is_superuser') = 'on'`);
}

/**
 * Creates the slot and the subscription, which begins to copy. `from` is the address of the source as the target's server
 * reaches it. PostgreSQL keeps it in pg_subscription until the move ends.
 */
export async function subscribe(source: Database, target: Database, tenant: string, from: string): Promise<void> {
  const slot = await slotOf(source, tenant);
  await keepOutOfLog(target);
  await target.script(`CREATE SUBSCRIPTION ${named(tenant)} CONNECTION ${literal(from)} PUBLICATION ${named(tenant)}
    WITH (slot_name = ${slot}, copy_data = true, binary = false, streaming = on, synchronous_commit = 'off')`);
}

export const enable = (target: Database, tenant: string): Promise<void> =>
  target.script(`ALTER SUBSCRIPTION ${named(tenant)} ENABLE`);

/** Removes the subscription. The slots at the source stay: `dropSlots` removes them. */
export async function unsubscribe(target: Database, tenant: string): Promise<void> {
  if (!(await readSubscription(target, tenant))) return;
  await target.script(`ALTER SUBSCRIPTION ${named(tenant)} DISABLE`);
  await target.script(`ALTER SUBSCRIPTION ${named(tenant)} SET (slot_name = NONE)`);
  await target.script(`DROP SUBSCRIPTION ${named(tenant)}`);
}

/**
 * Removes the slot of the move, and those with which its tables were copied. Ends the processes that use them. `peer`: the
 * target's system identifier and database. Slots that copy a table have the identifier in their name.
 */
export async function dropSlots(
  source: Database,
  tenant: string,
  { subscription, peer }: { readonly subscription: string | undefined; readonly peer: string },
): Promise<void> {
  const slot = await slotOf(source, tenant);
  const [system = ''] = peer.split(' ');
  const copying = subscription === undefined ? '' : `pg\\_${number(subscription)}\\_sync\\_%\\_${system}`;
  for (let left = 100; left > 0; left--) {
    // A slot that is in use cannot be dropped. Its process ends soon after it was told to.
    const rows = await source.query<{ active: boolean }>(sql`
      SELECT CASE WHEN s.active_pid IS NULL THEN pg_drop_replication_slot(s.slot_name) IS NULL
                  ELSE pg_terminate_backend(s.active_pid, 1000) END IS NULL AS active
        FROM pg_replication_slots s WHERE s.slot_name = ${slot} OR s.slot_name LIKE ${copying}`);
    if (rows.length === 0) return;
  }
  throw new Error('a replication slot stays in use');
}

export const unpublish = (source: Database, tenant: string): Promise<void> =>
  source.script(`DROP PUBLICATION IF EXISTS ${named(tenant)}`);

export interface CopyState {
  /** Tables that are copied, and follow. */
  readonly ready: readonly string[];
  /** Rows of the tables that are being copied now. */
  readonly copying: number;
  readonly tables: number;
  /** Errors of the target's workers since the subscription began. */
  readonly errors: number;
}

export async function copyState(target: Database, tenant: string): Promise<CopyState> {
  const [row] = await target.read<CopyState>(sql`
    SELECT coalesce(array_agg(n.nspname || '.' || c.relname) FILTER (WHERE r.srsubstate = 'r'), '{}')::text[] AS ready,
           count(*)::integer AS tables,
           (SELECT coalesce(sum(p.tuples_processed), 0)::float8 FROM pg_stat_progress_copy p
             WHERE p.relid IN (SELECT x.srrelid FROM pg_subscription_rel x WHERE x.srsubid = s.oid)) AS copying,
           (SELECT (e.apply_error_count + e.sync_error_count)::integer FROM pg_stat_subscription_stats e WHERE e.subid = s.oid) AS errors
      FROM pg_subscription s JOIN pg_subscription_rel r ON r.srsubid = s.oid
      JOIN pg_class c ON c.oid = r.srrelid JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE s.subname = ${named(tenant)} GROUP BY s.oid`);
  return row ?? { ready: [], copying: 0, tables: REPLICATED.length, errors: 0 };
}

/** Bytes of WAL that the target has not confirmed yet. */
export async function lag(source: Database, tenant: string): Promise<number> {
  const slot = await slotOf(source, tenant);
  const [row] = await source.read<{ bytes: number }>(sql`
    SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), confirmed_flush_lsn)::float8 AS bytes
      FROM pg_replication_slots WHERE slot_name = ${slot}`);
  return row?.bytes ?? Number.POSITIVE_INFINITY;
}

/** Flushes all that is committed, and returns the position behind it. Some commits of the gateway do not wait for the disk. */
export async function flushedPosition(source: Database): Promise<string> {
  await source.query(sql`SELECT pg_logical_emit_message(true, 'gateway.move', '')`);
  const [row] = await source.query<{ lsn: string }>(sql`SELECT pg_current_wal_insert_lsn()::text AS lsn`);
  if (!row) throw new Error('no position');
  return row.lsn;
}

/**
 * True if the target has applied all changes before `lsn`. The target's worker takes messages in their order: a
 * keep-alive whose position it has answered comes after all changes before that position.
 */
export async function hasApplied(target: Database, tenant: string, lsn: string): Promise<boolean> {
  const [row] = await target.query<{ met: boolean }>(sql`
    SELECT EXISTS (SELECT FROM pg_stat_subscription s
                    WHERE s.subname = ${named(tenant)} AND s.relid IS NULL AND s.pid IS NOT NULL
                      AND s.latest_end_lsn >= ${lsn}::text::pg_lsn) AS met`);
  return row?.met === true;
}

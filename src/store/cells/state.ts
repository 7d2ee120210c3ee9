import { sql } from '../../core/sql.ts';
import { holdsIn } from '../driver/answers.ts';
import type { Database } from '../driver/postgres.ts';
import { number } from './tables.ts';

/** The name of the advisory lock of a command, before the number of the organization. */
const COMMAND = 'gateway.move command ';

/** A row of gateway.move. */
export interface Move {
  readonly phase: 'copying' | 'holding' | 'moved' | 'arriving';
  readonly baseUrl: string;
  readonly peer: string;
  readonly subscription: string | null;
  /** Milliseconds from the start to the end of the copy. */
  readonly copyMs: number | null;
  readonly movedAt: Date | null;
  readonly keepUntil: Date | null;
  readonly cleared: boolean;
}

export async function readMove(db: Database, tenant: string): Promise<Move | undefined> {
  const [row] = await db.query<Move>(sql`
    SELECT phase, base_url AS "baseUrl", peer, subscription::text AS subscription, cleared,
           (extract(epoch FROM copied_at - started_at) * 1000)::float8 AS "copyMs", moved_at AS "movedAt", keep_until AS "keepUntil"
      FROM gateway.move WHERE tenant = ${tenant}`);
  return row;
}

/** A move that has not ended, or whose rows are still here: without an end, or a day after they were due. */
export interface OpenMove extends Pick<Move, 'phase' | 'baseUrl' | 'cleared' | 'keepUntil'> {
  readonly id: string;
  readonly externalId: string;
  readonly copied: boolean;
  /** When the organization left, or else when the move began. */
  readonly since: Date;
  /** True while a command works on it. */
  readonly commanded: boolean;
}

export const openMoves = (db: Database): Promise<OpenMove[]> =>
  db.query<OpenMove>(sql`
    SELECT o.public_id AS id, o.external_id AS "externalId", m.phase, m.base_url AS "baseUrl", m.cleared, m.keep_until AS "keepUntil",
           m.copied_at IS NOT NULL AS copied, coalesce(m.moved_at, m.started_at) AS since,
           EXISTS (SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database AND d.datname = current_database()
                    WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
                      AND (l.classid::bigint << 32 | l.objid::bigint) = hashtextextended(${COMMAND} || m.tenant, 0)) AS commanded
      FROM gateway.move m JOIN platform.organization o ON o.tenant = m.tenant
     WHERE m.phase <> 'moved' OR NOT m.cleared OR m.keep_until IS NULL OR m.keep_until < now() - interval '1 day' ORDER BY m.tenant`);

/** False: the move has ended, by a commit that was on its way when the row was read before. */
export async function startMove(source: Database, tenant: string, baseUrl: string, peer: string): Promise<boolean> {
  const rows = await source.query(sql`
    INSERT INTO gateway.move (tenant, phase, base_url, peer) VALUES (${tenant}, 'copying', ${baseUrl}, ${peer})
    ON CONFLICT (tenant) DO UPDATE SET phase = 'copying', base_url = excluded.base_url WHERE gateway.move.phase <> 'moved'
    RETURNING tenant`);
  return rows.length === 1;
}

/** Writes down the number of the subscription, because its slots at the source are named by it. */
export const noteSubscription = (source: Database, tenant: string, oid: string): Promise<object[]> =>
  source.query(sql`UPDATE gateway.move SET subscription = ${oid}::bigint WHERE tenant = ${tenant}`);

export const beginAgain = (source: Database, tenant: string): Promise<object[]> =>
  source.query(sql`UPDATE gateway.move SET started_at = now(), copied_at = NULL WHERE tenant = ${tenant}`);

export const noteCopied = (source: Database, tenant: string): Promise<object[]> =>
  source.query(sql`UPDATE gateway.move SET copied_at = now() WHERE tenant = ${tenant} AND copied_at IS NULL`);

/** `keepDays`: days until the rows at the source are deleted. Null: they are kept until a command says the days. */
export const noteCleared = (source: Database, tenant: string, keepDays: number | null): Promise<object[]> =>
  source.query(sql`
    UPDATE gateway.move SET cleared = true, keep_until = now() + ${keepDays}::integer * interval '1 day' WHERE tenant = ${tenant}`);

/** The rows at both sides were equal, so those at the source may be deleted when the move is cleared. */
export const noteEqual = (source: Database, tenant: string, keepDays: number): Promise<object[]> =>
  source.query(
    sql`UPDATE gateway.move SET keep_until = now() + ${keepDays}::integer * interval '1 day' WHERE tenant = ${tenant}`,
  );

/** Changes the URL to which callers of an organization that has moved are sent. */
export const redirect = (source: Database, tenant: string, baseUrl: string): Promise<object[]> =>
  source.query(sql`
    WITH told AS (UPDATE gateway.move SET base_url = ${baseUrl} WHERE tenant = ${tenant} AND phase = 'moved' AND base_url <> ${baseUrl} RETURNING tenant)
    UPDATE platform.organization o SET moved_to = ${baseUrl} FROM told t WHERE o.tenant = t.tenant`);

export const forgetMove = (db: Database, tenant: string): Promise<object[]> =>
  db.query(sql`DELETE FROM gateway.move WHERE tenant = ${tenant} AND phase <> 'moved'`);

/** Milliseconds after which the server ends a hold whose command is silent. */
export const HOLD = 5_000;

/**
 * Takes the lock of the move for the connection of `holder`, which has no other. Waits at most `patience` milliseconds
 * for the writers of the organization that run. New ones are refused from here on. Returns the connection's process.
 */
export async function takeHold(holder: Database, tenant: string, patience: number): Promise<number> {
  await holder.query(sql`
    SELECT set_config('lock_timeout', ${String(patience)}, false), set_config('idle_session_timeout', ${String(HOLD)}, false)`);
  const [row] = await holder.query<{ pid: number }>(sql`
    SELECT pg_backend_pid() AS pid, pg_advisory_lock(gateway.move_lock(${tenant}))::text AS taken`);
  await holder.query(
    sql`UPDATE gateway.move SET phase = 'holding' WHERE tenant = ${tenant} AND phase IN ('copying', 'holding')`,
  );
  return row?.pid ?? 0;
}

/**
 * The end of the hold: from this commit on, the organization lives in the other cell. It fails unless this connection has
 * held the lock the whole time. Returns false then.
 */
export async function commitMove(holder: Database, tenant: string, pid: number): Promise<boolean> {
  const rows = await holder.query(sql`
    WITH held AS (
      SELECT set_config('gateway.machine', 'move', true) FROM pg_locks l JOIN pg_database d ON d.oid = l.database AND d.datname = current_database()
       WHERE l.locktype = 'advisory' AND l.granted AND l.mode = 'ExclusiveLock' AND l.objsubid = 1
         AND l.pid = pg_backend_pid() AND l.pid = ${pid}::integer
         AND (l.classid::bigint << 32 | l.objid::bigint) = gateway.move_lock(${tenant})
    ), ended AS (
      UPDATE gateway.move m SET phase = 'moved', moved_at = now()
       WHERE m.tenant = ${tenant} AND m.phase = 'holding' AND EXISTS (SELECT FROM held) RETURNING m.*
    )
    UPDATE platform.organization o SET moved_to = e.base_url, moved_at = e.moved_at
      FROM ended e WHERE o.tenant = e.tenant RETURNING o.tenant`);
  return rows.length === 1;
}

/** Ends a hold without a move. A lost connection has released the lock by itself. */
export const releaseHold = async (source: Database, holder: Database, tenant: string): Promise<void> => {
  await holder.query(sql`SELECT pg_advisory_unlock_all()::text`).catch(() => undefined);
  await source.query(sql`UPDATE gateway.move SET phase = 'copying' WHERE tenant = ${tenant} AND phase = 'holding'`);
};

/**
 * Opens the organization at the target. No trigger fires: one would raise the revisions of all credentials, and with that
 * end writes that wait for an approval. Tasks that ran in the hold are over, because no process of this cell runs them.
 * False: the target has no such organization, because it has lost its data.
 */
export async function openArrival(target: Database, tenant: string): Promise<boolean> {
  await target.script(`
    SET LOCAL session_replication_role = replica;
    UPDATE platform.organization SET moved_to = NULL, moved_at = NULL
     WHERE tenant = ${number(tenant)} AND EXISTS (SELECT FROM gateway.move m WHERE m.tenant = ${number(tenant)} AND m.phase = 'arriving');
    UPDATE gateway.task k SET lease_until = now() FROM gateway.installation i JOIN gateway.app a ON a.id = i.app_id
     WHERE k.installation_id = i.id AND a.tenant = ${number(tenant)} AND k.lease_until > now()
       AND EXISTS (SELECT FROM gateway.move m WHERE m.tenant = ${number(tenant)} AND m.phase = 'arriving');
    DELETE FROM gateway.move WHERE tenant = ${number(tenant)} AND phase = 'arriving'`);
  const rows = await target.query(sql`SELECT FROM platform.organization WHERE tenant = ${tenant} AND moved_to IS NULL`);
  return rows.length === 1;
}

/** True if this connection holds the lock of the command, or takes it now. Only one command moves an organization. */
export async function holdCommand(locked: Database, tenant: string): Promise<boolean> {
  return holdsIn(
    locked.query(sql`SELECT pg_try_advisory_lock(hashtextextended(${COMMAND + number(tenant)}, 0)) AS holds`),
  );
}

/** What must end before an organization can leave: `import` or `erasure`. */
export async function runningWork(source: Database, tenant: string): Promise<string | undefined> {
  const [row] = await source.query<{ work: string | null }>(sql`
    SELECT CASE
      WHEN EXISTS (SELECT FROM gateway.import_run r JOIN platform.organization o ON o.tenant = ${tenant}
                    WHERE r.unfinished AND r.source IS NULL AND (o.tenant = ANY (r.scope) OR o.external_id = ANY (r.names)))
        OR EXISTS (SELECT FROM gateway.import_owed w WHERE w.tenant = ${tenant}) THEN 'import'
      WHEN EXISTS (SELECT FROM gateway.erasure e WHERE e.tenant = ${tenant} AND e.finished_at IS NULL) THEN 'erasure'
    END AS work`);
  return row?.work ?? undefined;
}

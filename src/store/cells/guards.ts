import { setTimeout as pause } from 'node:timers/promises';
import { sql } from '../../core/sql.ts';
import { sqlState } from '../driver/errors.ts';
import type { Database } from '../driver/postgres.ts';
import { COPIED, number, ORGANIZATION, REPLICATED } from './tables.ts';

/** Milliseconds for which a change of a trigger may wait for a table, and so let others wait. */
const LOCK = 300;
/** Milliseconds until the next attempt. */
const AGAIN = 200;
/** Milliseconds for all attempts on one table. A statement of the gateway ends sooner. */
const PATIENCE = 180_000;

interface TableGuard {
  readonly table: string;
  /** Arguments of gateway.guard_move (33_moves.sql). */
  readonly args: string;
  /** Conditions of the trigger for INSERT and UPDATE, and of the one for DELETE. */
  readonly put: string;
  readonly gone: string;
}

const guardsOf = (n: string): readonly TableGuard[] => [
  ...REPLICATED.map((table) => ({
    ...{ table, args: `${n}`, put: `WHEN (NEW.tenant = ${n})`, gone: `WHEN (OLD.tenant = ${n})` },
  })),
  ...COPIED.filter(({ guarded }) => guarded).map(({ name, kind, column }) => ({
    ...{ table: name, args: `${n}, ${kind}, ${column}`, put: '', gone: '' },
  })),
];

/** Runs DDL that locks one table, in short attempts, so that nobody waits for it long. False: the table was never free. */
async function patiently(db: Database, ddl: string): Promise<boolean> {
  for (const end = performance.now() + PATIENCE; ; await pause(AGAIN)) {
    try {
      await db.script(`SET LOCAL lock_timeout = ${LOCK}; ${ddl}`);
      return true;
    } catch (error) {
      if (sqlState(error) !== '55P03') throw error;
      if (performance.now() > end) return false;
    }
  }
}

/** Names of the triggers. `0` lets them run before all others of a table. */
const named = (n: string): readonly [put: string, gone: string] => [`"0_move_${n}_put"`, `"0_move_${n}_gone"`];

/**
 * Puts the guard on every table of the organization. After that, every writer of the organization shares the lock of the
 * move. Returns the name of a table that was never free.
 */
export async function putGuards(source: Database, tenant: string): Promise<string | undefined> {
  const n = number(tenant);
  const [put, gone] = named(n);
  for (const { table, args, ...when } of guardsOf(n)) {
    const made = await patiently(
      source,
      `CREATE OR REPLACE TRIGGER ${put} BEFORE INSERT OR UPDATE ON ${table} FOR EACH ROW ${when.put}
         EXECUTE FUNCTION gateway.guard_move(${args});
       CREATE OR REPLACE TRIGGER ${gone} BEFORE DELETE ON ${table} FOR EACH ROW ${when.gone}
         EXECUTE FUNCTION gateway.guard_move(${args})`,
    );
    if (!made) return table;
  }
  // The end of the move writes moved_to itself.
  const own = await patiently(
    source,
    `CREATE OR REPLACE TRIGGER ${put} BEFORE UPDATE ON ${ORGANIZATION} FOR EACH ROW
       WHEN (NEW.tenant = ${n} AND NEW.moved_to IS NOT DISTINCT FROM OLD.moved_to) EXECUTE FUNCTION gateway.guard_move(${n})`,
  );
  return own ? undefined : ORGANIZATION;
}

export async function takeGuards(source: Database, tenant: string): Promise<string | undefined> {
  const n = number(tenant);
  const [put, gone] = named(n);
  const there = await source.query<{ name: string }>(sql`
    SELECT DISTINCT t.tgrelid::regclass::text AS name FROM pg_trigger t
     WHERE t.tgname IN (${put.replaceAll('"', '')}, ${gone.replaceAll('"', '')})`);
  for (const { name } of there) {
    const ddl = `DROP TRIGGER IF EXISTS ${put} ON ${name}; DROP TRIGGER IF EXISTS ${gone} ON ${name}`;
    if (!(await patiently(source, ddl))) return name;
  }
  return undefined;
}

/**
 * Waits until every transaction that runs now has ended, or returns one that has not. One from before the end of the hold
 * that had not written yet could else write after its guard is gone. pg_locks shows the transactions of all roles;
 * pg_stat_activity does not say to a plain role when one began. Background processes have no user, and the copies of
 * other moves only read.
 */
export async function oldestTransaction(source: Database): Promise<{ pid: number; name: string } | undefined> {
  const old = await source.query<{ id: string }>(sql`
    SELECT l.virtualxid AS id FROM pg_locks l JOIN pg_stat_activity a USING (pid)
     WHERE l.locktype = 'virtualxid' AND l.mode = 'ExclusiveLock' AND a.datname = current_database()
       AND a.usesysid IS NOT NULL AND a.pid <> pg_backend_pid() AND a.pid NOT IN (SELECT r.pid FROM pg_stat_replication r)`);
  for (const end = performance.now() + PATIENCE; ; await pause(AGAIN)) {
    const [row] = await source.query<{ pid: number; name: string }>(sql`
      SELECT a.pid, coalesce(a.application_name, '') AS name FROM pg_locks l JOIN pg_stat_activity a USING (pid)
       WHERE l.locktype = 'virtualxid' AND l.mode = 'ExclusiveLock' AND l.virtualxid = ANY(${old.map(({ id }) => id)}::text[]) LIMIT 1`);
    if (!row || performance.now() > end) return row;
  }
}

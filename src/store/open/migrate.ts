import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { packageRoot } from '../../config/package.ts';
import { sql } from '../../core/sql.ts';
import { sqlState } from '../driver/errors.ts';
import type { Database } from '../driver/postgres.ts';
import { StoreUnavailable } from '../embedded/unavailable.ts';

const FOLDER = new URL('src/store/migrations/', packageRoot);
/** The advisory lock for migrations. The number is arbitrary but fixed. */
const LOCK = 7_310_482;
/** Milliseconds between two attempts of a migration to lock its tables. */
const AGAIN = 1_000;
/** The most attempts of a migration to lock its tables. */
const ATTEMPTS = 300;

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly text: string;
}

export async function migrations(): Promise<Migration[]> {
  const names = (await readdir(FOLDER)).filter((name) => /^\d{4}_[a-z_]+\.sql$/.test(name)).sort();
  return Promise.all(
    names.map(async (name, i) => {
      const version = Number(name.slice(0, 4));
      if (version !== i + 1)
        throw new Error(`Migrations are numbered without gaps: ${name} should be number ${i + 1}.`);
      return { version, name, text: await readFile(new URL(name, FOLDER), 'utf8') };
    }),
  );
}

/**
 * Migrates the store to the current schema and returns the schema version. Several processes can do this at the same
 * time. Each migration is one script and therefore one transaction. The transaction takes the lock, records the
 * migration and then changes the schema. A second process fails on the key of that record and continues with the next
 * migration. `cell` is the number of a new store (0039_cells.sql). Large tables get their new indexes later (build.ts).
 */
export async function migrate(db: Database, cell = 1): Promise<{ version: number; applied: string[] }> {
  await db.script(`SELECT pg_advisory_xact_lock(${LOCK});
    CREATE TABLE IF NOT EXISTS public.gateway_migration (
      version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`);
  const all = await migrations();
  const current = await storeVersion(db, all);
  const applied: string[] = [];
  for (const migration of all.slice(current)) if (await apply(db, migration, cell)) applied.push(migration.name);
  return { version: all.length, applied };
}

/** Returns false when another process has applied the migration at the same time. */
async function apply(db: Database, { version, name, text }: Migration, cell: number): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    try {
      await db.script(`SELECT pg_advisory_xact_lock(${LOCK}), set_config('gateway.cell', '${cell}', true);
        INSERT INTO public.gateway_migration (version, name) VALUES (${version}, '${name}');
        ${text}`);
      return true;
    } catch (error) {
      const state = sqlState(error);
      if (state === '23505') return false;
      if (state !== '55P03' || attempt === ATTEMPTS) throw error;
      await pause(AGAIN);
    }
  }
}

/** Returns the schema version, without migrating. Throws StoreUnavailable if the schema is not the current one. */
export async function requireMigrated(db: Database): Promise<number> {
  const [begun] = await db.read<{ begun: boolean }>(
    sql`SELECT to_regclass('public.gateway_migration') IS NOT NULL AS begun`,
  );
  const all = await migrations();
  const current = begun?.begun === true ? await storeVersion(db, all) : 0;
  if (current < all.length) {
    throw new StoreUnavailable(
      `The store has schema version ${current}, but this gateway needs ${all.length}, and this command does not change the schema. Run \`gateway migrate\` first, or use the gateway version that made the store.`,
    );
  }
  return current;
}

/** Returns the store's schema version. Throws StoreUnavailable if the store has unknown migrations. */
async function storeVersion(db: Database, all: readonly Migration[]): Promise<number> {
  const recorded = await db.query<{ version: number; name: string }>(
    sql`SELECT version, name FROM public.gateway_migration ORDER BY version`,
  );
  for (const { version, name } of recorded) {
    const expected = all[version - 1]?.name;
    if (expected === undefined || name === expected) continue;
    throw new StoreUnavailable(
      `The store has migration ${name}, but this gateway expects ${expected}. A store from before version 0.1.0 cannot be migrated. Create a new database, or remove the data folder of the embedded PostgreSQL, then import again.`,
    );
  }
  const current = recorded.at(-1)?.version ?? 0;
  if (current > all.length) {
    throw new StoreUnavailable(
      `The store has schema version ${current}, but this gateway knows only ${all.length}. Start the newer gateway, or restore a backup.`,
    );
  }
  return current;
}

/** Throws StoreUnavailable if the store is another cell than GATEWAY_CELL says. */
export async function requireCell(db: Database, cell: number): Promise<void> {
  const [row] = await db.read<{ number: number }>(sql`SELECT number FROM gateway.cell`);
  if (row === undefined || row.number === cell) return;
  throw new StoreUnavailable(
    `The store is cell ${row.number}, but GATEWAY_CELL is ${cell}${cell === 1 ? ' (the default)' : ''}. Set GATEWAY_CELL=${row.number}, or name the store of cell ${cell}. A store keeps its number. So make a new cell in an empty database.`,
  );
}

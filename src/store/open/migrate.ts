import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { packageRoot } from '../../config/package.ts';
import { sql } from '../../core/sql.ts';
import { sqlState } from '../driver/errors.ts';
import type { Database } from '../driver/postgres.ts';
import { StoreUnavailable } from '../embedded/unavailable.ts';

const SCHEMA = new URL('src/store/schema/', packageRoot);
const FOLDER = new URL('src/store/migrations/', packageRoot);
/**
 * The migration whose result the files of SCHEMA are. A new store begins with these files, by topic, and records this
 * migration. A store that the 50 migrations before have made goes on from here (docs/decisions/store.md).
 */
const BASE = { version: 50, name: '0050_webhook_rounds.sql' };
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

/** The schema of a new store, and the migrations that follow, in order. */
export async function migrations(): Promise<Migration[]> {
  const base = (await sqlFiles(SCHEMA, /^\d\d_[a-z_]+\.sql$/)).map(({ text }) => text).join('\n');
  const later = await sqlFiles(FOLDER, /^\d{4}_[a-z_]+\.sql$/);
  return [
    { ...BASE, text: base },
    ...later.map(({ name, text }, i) => {
      const version = BASE.version + 1 + i;
      if (Number(name.slice(0, 4)) !== version)
        throw new Error(`Migrations are numbered without gaps: ${name} should be number ${version}.`);
      return { version, name, text };
    }),
  ];
}

async function sqlFiles(folder: URL, named: RegExp): Promise<{ name: string; text: string }[]> {
  const names = (await readdir(folder)).filter((name) => named.test(name)).sort();
  return Promise.all(names.map(async (name) => ({ name, text: await readFile(new URL(name, folder), 'utf8') })));
}

/**
 * Migrates the store to the current schema and returns the schema version. Several processes can do this at the same
 * time. Each migration is one script and therefore one transaction. The transaction takes the lock, records the
 * migration and then changes the schema. A second process fails on the key of that record and continues with the next
 * migration. `cell` is the number of a new store (04_cells.sql). Large tables get their new indexes later (build.ts).
 */
export async function migrate(db: Database, cell = 1): Promise<{ version: number; applied: string[] }> {
  await db.script(`SELECT pg_advisory_xact_lock(${LOCK});
    CREATE TABLE IF NOT EXISTS public.gateway_migration (
      version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`);
  const all = await migrations();
  const current = await storeVersion(db, all);
  const applied: string[] = [];
  for (const migration of all.filter(({ version }) => version > current))
    if (await apply(db, migration, cell)) applied.push(migration.name);
  return { version: newest(all), applied };
}

const newest = (all: readonly Migration[]): number => all.at(-1)?.version ?? 0;

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
  if (current < newest(all)) {
    throw new StoreUnavailable(
      `The store has schema version ${current}, but this gateway needs ${newest(all)}, and this command does not change the schema. Run \`gateway migrate\` first, or use the gateway version that made the store.`,
    );
  }
  return current;
}

/** Returns the store's schema version. Throws StoreUnavailable if the store has unknown migrations. */
async function storeVersion(db: Database, all: readonly Migration[]): Promise<number> {
  const recorded = await db.query<{ version: number; name: string }>(
    sql`SELECT version, name FROM public.gateway_migration ORDER BY version`,
  );
  const current = recorded.at(-1)?.version ?? 0;
  if (current > newest(all)) {
    throw new StoreUnavailable(
      `The store has schema version ${current}, but this gateway knows only ${newest(all)}. Start the newer gateway, or restore a backup.`,
    );
  }
  for (const { version, name } of recorded) {
    const expected = all.find((one) => one.version === version)?.name;
    if (version < BASE.version || name === expected) continue;
    throw new StoreUnavailable(
      `The store has migration ${name}, but this gateway expects ${expected}. A store from before version 0.1.0 cannot be migrated. Create a new database, or remove the data folder of the embedded PostgreSQL, then import again.`,
    );
  }
  if (current > 0 && current < BASE.version) {
    throw new StoreUnavailable(
      `The store has schema version ${current}, but this gateway continues only from ${BASE.version} on. A store from before version 0.1.0 cannot be migrated. Create a new database, or remove the data folder of the embedded PostgreSQL, then import again.`,
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

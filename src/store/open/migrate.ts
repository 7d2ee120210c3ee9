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
 * A new store begins with the files of SCHEMA, one topic each, and records this migration: the last one of 50 that had made
 * the same schema. A store that they made goes on from here (docs/decisions/store.md).
 */
const BASE = { version: 50, name: '0050_webhook_rounds.sql', files: 34 };
/** The advisory lock for migrations. The number is arbitrary but fixed. */
const LOCK = 7_310_482;
/** Milliseconds between two attempts of a migration to lock its tables. */
const AGAIN = 1_000;
/** Milliseconds after which a migration is tried no more. */
const PATIENCE = 300_000;

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly text: string;
}

/** The schema of a new store, and the migrations that follow, in order. */
export async function migrations(): Promise<Migration[]> {
  const [schema, later] = [await schemaFiles(), await sqlFiles(FOLDER, 4, BASE.version + 1)];
  return [{ version: BASE.version, name: BASE.name, text: schema.map(({ text }) => text).join('\n') }, ...later];
}

/** Throws if a file is missing: a store without it would never get it. */
export async function schemaFiles(): Promise<Migration[]> {
  const files = await sqlFiles(SCHEMA, 2, 1);
  if (files.length !== BASE.files) throw new Error(`The schema has ${files.length} files in place of ${BASE.files}.`);
  return files;
}

/** The files of a folder by their numbers, which have so many digits and no gaps. */
async function sqlFiles(folder: URL, digits: number, first: number): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => /^\d+_[a-z_]+\.sql$/.test(name)).sort();
  return Promise.all(
    names.map(async (name, i) => {
      const number = String(first + i).padStart(digits, '0');
      if (!name.startsWith(`${number}_`))
        throw new Error(`SQL files are numbered without gaps: ${name} should be number ${number}.`);
      return { version: first + i, name, text: await readFile(new URL(name, folder), 'utf8') };
    }),
  );
}

/**
 * Migrates the store to the current schema and returns the schema version. Several processes can do this at the same
 * time. Each migration is one script and therefore one transaction. The transaction takes the lock, records the
 * migration and then changes the schema. A second process fails on the key of that record and continues with the next
 * migration. `cell` is the number of a new store (04_cells.sql). Large tables get their new indexes later (build.ts).
 */
export async function migrate(db: Database, cell = 1): Promise<{ version: number; applied: string[] }> {
  const begin = `SELECT pg_advisory_xact_lock(${LOCK});
    CREATE TABLE IF NOT EXISTS public.gateway_migration (
      version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`;
  // Another process can hold the lock for longer than a statement may take, while it makes the store.
  await repeated(() => db.script(begin), ['55P03', '57014']);
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
  const script = `SELECT pg_advisory_xact_lock(${LOCK}), set_config('gateway.cell', '${cell}', true);
    INSERT INTO public.gateway_migration (version, name) VALUES (${version}, '${name}');
    ${text}`;
  try {
    await repeated(() => db.script(script), ['55P03']);
    return true;
  } catch (error) {
    if (sqlState(error) === '23505') return false;
    throw error;
  }
}

/** Repeats a script while others hold a lock that it needs: it then fails with one of these codes of PostgreSQL. */
async function repeated(script: () => Promise<void>, codes: readonly string[]): Promise<void> {
  for (const end = performance.now() + PATIENCE; ; ) {
    try {
      await script();
      return;
    } catch (error) {
      if (!codes.includes(sqlState(error) ?? '') || performance.now() > end) throw error;
      await pause(AGAIN);
    }
  }
}

/**
 * Returns the schema version, without migrating. Throws StoreUnavailable if the schema is not the current one. `setting`:
 * the one that leads to the database.
 */
export async function requireMigrated(db: Database, setting: string): Promise<number> {
  const [begun] = await db.read<{ begun: boolean }>(
    sql`SELECT to_regclass('public.gateway_migration') IS NOT NULL AS begun`,
  );
  const all = await migrations();
  const current = begun?.begun === true ? await storeVersion(db, all) : 0;
  if (current === 0)
    throw new StoreUnavailable(
      `There is no store in the database of ${setting}. Name the database of the store, or make a store there with \`gateway migrate\`.`,
    );
  if (current < newest(all)) {
    throw new StoreUnavailable(
      `The store has schema version ${current}, but this gateway needs ${newest(all)}, and this command does not change the schema. Run \`gateway migrate\` first, or use the gateway version that made the store.`,
    );
  }
  return current;
}

/** Returns the store's schema version. Throws StoreUnavailable if this gateway cannot go on from there. */
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
  if (current > 0 && current < BASE.version) {
    throw new StoreUnavailable(
      `The store has schema version ${current}, but this gateway goes on only from ${BASE.version}. Run \`gateway migrate\` of a gateway with schema version ${BASE.version} first (docs/operations.md, Upgrade).`,
    );
  }
  for (const { version, name } of recorded) {
    const expected = all.find((one) => one.version === version)?.name;
    if (version < BASE.version || name === expected) continue;
    throw new StoreUnavailable(
      `The store has migration ${name}, but this gateway expects ${expected}. A store from before version 0.1.0 cannot be migrated. Create a new database, or remove the data folder of the embedded PostgreSQL, then import again.`,
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

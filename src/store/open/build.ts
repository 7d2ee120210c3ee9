import { setTimeout as pause } from 'node:timers/promises';
import { sql } from '../../core/sql.ts';
import { holdsIn, numberOf } from '../driver/answers.ts';
import type { Database } from '../driver/postgres.ts';

/**
 * The advisory lock of the building process: an arbitrary, fixed number. It belongs to the connection, so it outlives a
 * killed process while PostgreSQL still builds.
 */
const LOCK = 7_310_483;
/** Milliseconds between two lines of progress, and between two checks of another process's build. */
const EVERY = 5_000;
/** The number of rows in one transaction of gateway.note_blocks (18_indexes.sql). A transaction takes 50 to 100 ms. */
const ROWS = 20_000;
/** The same for gateway.spell_rows (23_spellings.sql), which reads the words of each text. */
const SPELLED_ROWS = 5_000;

export interface BuildOptions {
  /** One direct connection to the server, without a time-out. A build can take hours. */
  readonly builder: Database;
  /** Connections that read the progress of a build. */
  readonly db: Database;
  readonly log: (message: string) => void;
  readonly stop: AbortSignal;
  readonly every?: number;
}

interface MissingIndex {
  readonly name: string;
  readonly relation: string;
  readonly definition: string;
}

/**
 * Builds the indexes that a migration wants on large tables (18_indexes.sql). Writers go on meanwhile. One process builds
 * at a time, and the other processes wait. Returns when nothing is left to build, or after `stop`.
 *
 * A lost build continues at the index that was being built. PostgreSQL cannot continue a half-built index, so that
 * index is dropped and built again.
 */
export async function buildIndexes(options: BuildOptions): Promise<void> {
  const { builder, db, log, stop, every = EVERY } = options;
  let told = false;
  const timer = setInterval(() => {
    if (!stop.aborted) progress(db).then((line) => line === undefined || log(line), log);
  }, every);
  try {
    while (!stop.aborted && (await missingIndexes(db)) > 0) {
      if (!told) log('building indexes; what needs them (search, customer_find, erase) waits until they are built');
      told = true;
      // A statement that waits for a lock has a snapshot, and CREATE INDEX CONCURRENTLY waits for snapshots. So ask
      // again and again, and never wait in PostgreSQL.
      const mine = await holdsIn(builder.query(sql`SELECT pg_try_advisory_lock(${LOCK}) AS holds`));
      if (mine) await buildNext(builder, stop, log);
      else await pause(every, undefined, { signal: stop }).catch(() => undefined);
    }
    if (told && !stop.aborted) log('the indexes are built');
    // The search answers meanwhile, without corrections.
    const kinds = await db.query<{ kind: string }>(sql`SELECT kind FROM gateway.unspelled ORDER BY kind`);
    for (const { kind } of kinds) {
      for (let more = true; more && !stop.aborted; )
        more = await holdsIn(db.query(sql`SELECT gateway.spell_rows(${kind}, ${SPELLED_ROWS}) AS holds`));
    }
    if (kinds.length > 0 && !stop.aborted) log('the spellings of the search are noted');
  } finally {
    clearInterval(timer);
  }
}

async function buildNext(db: Database, stop: AbortSignal, log: BuildOptions['log']): Promise<void> {
  const kinds = await db.query<{ kind: string }>(sql`SELECT kind FROM gateway.unnoted_block ORDER BY kind`);
  for (const { kind } of kinds) {
    for (let more = true; more && !stop.aborted; )
      more = await holdsIn(db.query(sql`SELECT gateway.note_blocks(${kind}, ${ROWS}) AS holds`));
  }
  const [next] = await db.query<MissingIndex>(
    sql`SELECT name, relation, definition FROM gateway.unbuilt_index LIMIT 1`,
  );
  if (!next || stop.aborted) return;
  const { name, relation, definition } = next;
  const [schema = ''] = relation.split('.');
  // Neither statement can run in a transaction, so each is a script. Names and definition come from a migration, so
  // they are safe in SQL.
  await db.script(`DROP INDEX CONCURRENTLY IF EXISTS ${schema}.${name}`);
  await db.script(`CREATE INDEX CONCURRENTLY ${name} ON ${relation} ${definition}`);
  // An expression has statistics only after ANALYZE.
  await db.script(`ANALYZE ${relation}`);
  log(`built the index ${name}`);
}

/** Counts the tables and indexes that the search waits for. */
export const missingIndexes = (db: Database): Promise<number> =>
  numberOf(
    db.query(sql`
      SELECT ((SELECT count(*) FROM gateway.unbuilt_index) + (SELECT count(*) FROM gateway.unnoted_block))::integer AS n`),
  );

/** A line about the build that runs now, by whichever process. `undefined` if none runs. */
async function progress(db: Database): Promise<string | undefined> {
  const [row] = await db.read<{ line: string }>(sql`
    SELECT 'building ' || coalesce(p.index_relid::regclass::text, 'an index') || ': ' || p.phase
           || coalesce(', ' || 100 * greatest(p.blocks_done, p.tuples_done) / nullif(greatest(p.blocks_total, p.tuples_total), 0) || ' %', '') AS line
      FROM pg_stat_progress_create_index p
     WHERE p.datname = current_database() AND p.relid IN (SELECT relation::regclass FROM gateway.wanted_index)`);
  if (row) return row.line;
  const [left] = await db.read<{ line: string }>(
    sql`SELECT 'reading ' || relation || ': at row ' || id AS line FROM gateway.unnoted_block WHERE id > 0`,
  );
  return left?.line;
}

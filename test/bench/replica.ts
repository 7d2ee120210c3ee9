import { setTimeout as pause } from 'node:timers/promises';
import type postgres from 'postgres';
import { digestOf } from '../../src/auth/tokens.ts';
import { asLists, Fragment, sql } from '../../src/core/sql.ts';
import {
  FLUSHED,
  PRIMARY_LINEAGE,
  passing,
  REPLAYED,
  REPLICA_LINEAGE,
  written,
} from '../../src/store/driver/lineage.ts';
import { type Database, openDatabase } from '../../src/store/driver/postgres.ts';
import { closeClusters, openCluster } from '../support/cluster.ts';
import { issue } from '../support/credentials.ts';
import { postmasterOf, spentBelow } from './processor.ts';
import { median, quantile } from './report.ts';
import { fill, spelled } from './search.ts';
import { openCalls, openWorld } from './world.ts';

const CONVERSATIONS = 100_000;
const ROUNDS = 3;
const SECONDS = 6;
/** Point reads and pages a second, on the primary in every round. */
const LIGHT = 200;

const NOTES = 200;

const AT_PRIMARY = ' WHERE pg_current_wal_flush_lsn() IS NOT NULL';

type Call = readonly [tool: string, input: Record<string, unknown>];
type Place = 'nowhere' | 'primary' | 'replica';

/**
 * Measures what it would bring to read searches, counts and briefs from a streaming replica, as reports are: the
 * replica answers, and a statement at the primary then proves the authority and the source. The gateway does so for
 * reports only, so the other reads go through `lagging`. Point reads and pages run at the primary meanwhile, at a fixed
 * rate, so that the processor time of each PostgreSQL can be compared. Both share this machine.
 */
export async function replica(print: (line: string) => void): Promise<void> {
  const primary = await openCluster({ shared_buffers: '512MB' });
  const world = await openWorld({ host: '127.0.0.1', port: primary.port }, 'bench', 8);
  await fill(world.sql);
  const standby = await primary.replica();
  const open = (target: string, connections: number): Database =>
    openDatabase({ target, connections, statementTimeout: 15_000, name: 'bench' });
  const pools = { slow: open(primary.url('bench'), 3), far: open(standby.url('bench'), 6) };
  try {
    const { token } = await issue(world.sql, 1);
    await replayed(world.sql, pools.far);
    const far = lagging(world.db, pools.far, digestOf(token));
    const light = await openCalls(world.db, token, 0);
    const calls = {
      primary: await openCalls(world.db, token, 0, { slow: pools.slow }),
      replica: await openCalls(far.db, token, 0, { slow: far.db }),
    };
    const servers = [primary.sql('bench'), standby.sql('bench')] as const;
    const postmasters = await Promise.all(servers.map(postmasterOf));
    const spent = async (): Promise<number[]> => [
      process.cpuUsage().user / 1_000 + process.cpuUsage().system / 1_000,
      ...postmasters.map(spentBelow),
      ...(await Promise.all(servers.map(blocksOf))),
    ];
    const nth = (n: number): number => 1 + ((n * 7_919) % CONVERSATIONS);
    const point = (n: number): Promise<unknown> =>
      n % 10 < 8
        ? light('contact_get', { contact_id: `ctc_1_1_${nth(n)}` })
        : light('conversation_messages', { conversation_id: `cnv_1_1_${nth(n)}` });
    /** Runs the point reads, with or without the heavy reads beside them. */
    const round = async (place: Place, rate: number, heavy: (n: number) => Call) => {
      const before = await spent();
      await far.look();
      const [own, others] = await Promise.all([
        paced(LIGHT, point),
        place === 'nowhere' ? [] : paced(rate, (n) => calls[place](...heavy(n))),
      ]);
      // PostgreSQL counts blocks a second late, and only when the connection has work again.
      await pause(1_100);
      await Promise.all(Array.from({ length: 64 }, (_, n) => point(n)));
      if (place !== 'nowhere') await Promise.all(Array.from({ length: 6 }, (_, n) => calls[place](...heavy(n))));
      const after = await spent();
      return { own, others, spent: after.map((value, i) => value - (before[i] ?? 0)) };
    };
    for (const { name, rate, heavy } of kinds(nth)) {
      const rounds: Record<Place, Awaited<ReturnType<typeof round>>[]> = { nowhere: [], primary: [], replica: [] };
      for (const place of ['primary', 'replica'] as const) for (let n = 0; n < 8; n++) await calls[place](...heavy(n));
      for (let i = 0; i < ROUNDS; i++)
        for (const place of ['nowhere', 'primary', 'replica'] as const)
          rounds[place].push(await round(place, rate, heavy));
      const base = [0, 1, 2, 3, 4].map((i) => median(rounds.nowhere.map((one) => one.spent[i] ?? 0)));
      for (const place of ['nowhere', 'primary', 'replica'] as const) {
        const all = rounds[place];
        const number = Math.max(1, all[0]?.others.length ?? 1) + (place === 'nowhere' ? 0 : 6);
        const each = (i: number): string =>
          ((median(all.map((one) => one.spent[i] ?? 0)) - (base[i] ?? 0)) / number).toFixed(i > 2 ? 0 : 2);
        const times = (list: readonly number[]): string =>
          `p50 ${quantile(list, 0.5).toFixed(1)} p99 ${quantile(list, 0.99).toFixed(1)} ms`;
        print(
          `${name.padEnd(8)} ${place.padEnd(8)} reads ${times(all.flatMap((one) => one.own))}` +
            (place === 'nowhere'
              ? `   processor time of a round: gateway ${base[0]?.toFixed(0)} ms, primary ${base[1]?.toFixed(0)} ms, replica ${base[2]?.toFixed(0)} ms`
              : `   ${name} ${rate}/s ${times(all.flatMap((one) => one.others))}   each: gateway ${each(0)} ms, ` +
                `primary ${each(1)} ms and ${each(3)} blocks, replica ${each(2)} ms and ${each(4)} blocks`),
        );
      }
    }
    for (const place of ['primary', 'replica'] as const) {
      let found = 0;
      for (let n = 1; n <= NOTES; n++) {
        const own = n + (place === 'primary' ? 0 : NOTES);
        const word = spelled(`${place}note${n}x`);
        await world.sql`INSERT INTO platform.note (tenant, site, id, external_id, visitor_id, text, created_at)
          VALUES (1, 1, ${own}, ${word}, ${nth(own)}, ${word}, now())`;
        const { results } = await calls[place]('search', { query: word, kinds: 'notes' });
        // A search for a word that no text has finds texts with a similar word.
        if (results.some(({ id }: { id: string }) => id === `vis_1_1_${nth(own)}`)) found++;
      }
      print(`notes that a search at the ${place} finds right after their commit: ${found} of ${NOTES}`);
    }
    print(`reads that the replica did not answer: ${far.refused()}`);
  } finally {
    await Promise.all([pools.slow.close(), pools.far.close()]);
    await world.close();
    await closeClusters();
  }
}

const kinds = (nth: (n: number) => number): { name: string; rate: number; heavy: (n: number) => Call }[] => [
  {
    ...{ name: 'search', rate: 25 },
    heavy: (n) => {
      const queries = [`w${1 + ((n * 7) % 3_000)}`, 'w100 w1000', 'w1', `w${1000 + (n % 3_000)}z`];
      return ['search', { query: spelled(queries[n % 4] ?? ''), limit: 10 }];
    },
  },
  {
    ...{ name: 'count', rate: 8 },
    heavy: (n) => ['conversations_count', { website_id: 'web_1_1', group_by: ['status', 'day', 'contact'][n % 3] }],
  },
  { name: 'brief', rate: 50, heavy: (n) => ['conversation_brief', { conversation_id: `cnv_1_1_${nth(n)}` }] },
];

/**
 * The reads of a database whose guarded statements run on a replica. As for a report, the replica's statement proves that
 * the replica has all data of a moment, and the primary then proves the authority and the source of the answer.
 */
function lagging(primary: Database, replica: Database, digest: Uint8Array) {
  let mark: { lineage: string; position: number } | undefined;
  let revision = 0;
  let refused = 0;
  /** Notes a position that the primary has flushed. The gateway does so each second. */
  const look = async (): Promise<void> => {
    const [own] = await primary.read<{ lineage: string; position: string; revision: number }>(
      sql`SELECT ${PRIMARY_LINEAGE} AS lineage, ${FLUSHED} AS position, c.revision
            FROM gateway.token t JOIN gateway.credential c ON c.id = t.credential_id WHERE t.digest = ${digest}`,
    );
    const [theirs] = await replica.read<{ lineage: string }>(sql`SELECT ${REPLICA_LINEAGE} AS lineage`);
    if (!own || own.lineage !== theirs?.lineage) throw new Error('the replica follows another server');
    mark = { lineage: own.lineage, position: Number(own.position) };
    revision = own.revision;
  };
  const proof = (replayed: string): Fragment => sql`SELECT (
    SELECT true FROM gateway.token t JOIN gateway.credential c ON c.id = t.credential_id
     WHERE t.digest = ${digest} AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now())
       AND c.revision = ${revision} AND c.revoked_at IS NULL AND c.expires_at > now()) AS ok,
    ${written({ lineage: mark?.lineage ?? '', replayed })} AS written`;
  const read = async <Row extends object>(statement: Fragment): Promise<Row[]> => {
    const { texts, values, app, lists } = statement;
    if (!mark || texts[0]?.startsWith('SELECT guard.ok') !== true) return primary.read<Row>(statement);
    const inner = new Fragment(
      texts.map((text) => text.replaceAll(AT_PRIMARY, '')),
      values,
      app,
    );
    const whole = sql`SELECT s.*, ${REPLAYED} AS replayed FROM ${passing(mark)} JOIN LATERAL (${inner}) s ON guard.ok`;
    const rows = await replica.read<Row>(lists === true ? asLists(whole) : whole);
    // A list is then as long as that of the primary.
    const [replayed] = rows.map((row) => String(Array.isArray(row) ? row.pop() : Object.entries(row).at(-1)?.[1]));
    const [proved] =
      replayed === undefined ? [] : await primary.read<{ ok: boolean; written: boolean }>(proof(replayed));
    if (proved?.ok === true && proved.written) return rows;
    refused++;
    return primary.read<Row>(statement);
  };
  return { db: { ...primary, read }, look, refused: () => refused };
}

/** Starts a call at fixed times, whether earlier calls have ended or not. Returns the milliseconds since each time. */
async function paced(rate: number, call: (n: number) => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  const began = performance.now();
  const running: Promise<void>[] = [];
  for (let n = 0; n < rate * SECONDS; n++) {
    const due = began + (n * 1_000) / rate;
    await pause(Math.max(0, due - performance.now()));
    running.push(call(n).then(() => void times.push(Math.max(0, performance.now() - due))));
  }
  await Promise.all(running);
  return times;
}

async function blocksOf(server: postgres.Sql): Promise<number> {
  const [row] = await server<{ blocks: string }[]>`
    SELECT blks_hit + blks_read AS blocks FROM pg_stat_database WHERE datname = current_database()`;
  return Number(row?.blocks);
}

/** Waits until the replica has what the primary has written so far. */
async function replayed(primary: postgres.Sql, standby: Database): Promise<void> {
  const [own] = await primary<{ at: string }[]>`SELECT pg_current_wal_flush_lsn()::text AS at`;
  for (const end = performance.now() + 60_000; performance.now() < end; await pause(100)) {
    const [there] = await standby.read<{ done: boolean }>(
      sql`SELECT pg_last_wal_replay_lsn() >= ${own?.at ?? ''}::pg_lsn AS done`,
    );
    if (there?.done === true) return;
  }
  throw new Error('the replica does not follow');
}

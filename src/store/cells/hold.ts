import { setTimeout as pause } from 'node:timers/promises';
import { Refused } from '../../core/refused.ts';
import { isUnavailable, StoreUnreachable, sqlState } from '../driver/errors.ts';
import type { Database } from '../driver/postgres.ts';
import { mustStillFit } from './checks.ts';
import { flushedPosition, hasApplied } from './replication.ts';
import { copiedSums, copyRows, countRows, digestFrom, type RowSum } from './rows.ts';
import { commitMove, HOLD, openArrival, readMove, releaseHold, runningWork, takeHold } from './state.ts';
import { partsOf } from './tables.ts';

/** The two ends of a move. */
export interface MoveSides {
  readonly tenant: string;
  readonly source: Database;
  readonly target: Database;
  /** Opens one more connection of its own. Its statements end after `timeout` milliseconds. */
  open(side: 'source' | 'target', name: string, timeout: number): Database;
  /** True if two keys of suppressions, encrypted with GATEWAY_KEYS, are one key. */
  sameKey(one: string, other: string): boolean;
  /** Called at each step. A test ends the process there. */
  at(step: string): Promise<void> | void;
}

export interface HeldMove {
  /** Milliseconds from the first refused write until the organization was open at the target. */
  readonly ms: number;
  /** Rows by table in the hold. */
  readonly sums: readonly Pick<RowSum, 'name' | 'rows'>[];
  /** The target's sums at the moment of the move, of all replicated tables. */
  readonly sumsThere: Promise<RowSum[]>;
  readonly close: () => Promise<void>;
}

/** Milliseconds for writers that run, and for everything before the commit. The commit and the rest have what is left. */
const WRITERS = 1_500;
const DECIDED = HOLD - 700;

/** A hold that did not end with a move. The organization works on at the source. */
export class HoldOver extends Error {
  override readonly name = 'HoldOver';
}

/** Tables whose rows are counted in the hold: all that were counted fast enough before it. */
export async function countable(sides: MoveSides): Promise<ReadonlySet<string>> {
  const parts = partsOf(sides.tenant);
  const names = new Set<string>(parts.map(({ name }) => name));
  const began = performance.now();
  await Promise.all([countRows(sides.source, parts), countRows(sides.target, parts)]);
  if (performance.now() - began < 2_000) return names;
  // The digests after the hold compare these, too.
  for (const large of [
    'platform.message',
    'platform.spelling',
    'gateway.journal',
    'platform.said_block',
    'platform.conversation',
  ])
    names.delete(large);
  return names;
}

/**
 * One hold. Refuses the organization's writes, waits until the target has applied all others, copies what has no tenant,
 * compares, and commits the move: first at the source, which ends there, then at the target, which opens. A command that
 * dies in between leaves an organization that no cell serves, and the next run opens it. Never do two cells take writes.
 */
export async function hold(sides: MoveSides, counted: ReadonlySet<string>): Promise<HeldMove> {
  const { tenant, source, target, at } = sides;
  const holder = sides.open('source', 'hold', HOLD);
  const summing = sides.open('target', 'digest', 3_600_000);
  const began = performance.now();
  const inTime = (): void => {
    if (performance.now() - began > DECIDED) throw new HoldOver('the hold took too long');
  };
  let moved = false;
  try {
    const pid = await takeHold(holder, tenant, WRITERS).catch((error: unknown) => {
      if (sqlState(error) === '55P03') throw new HoldOver('writes of the organization did not end');
      throw error;
    });
    await at('held');
    const work = await runningWork(source, tenant);
    if (work !== undefined) throw new HoldOver(`an ${work} has begun`);
    await mustStillFit(sides);
    const position = await flushedPosition(source);
    while (!(await hasApplied(target, tenant, position))) {
      inTime();
      await pause(5);
    }
    await at('met');
    const parts = partsOf(tenant).filter(({ name }) => counted.has(name));
    const copied = await copyRows(source, target, tenant);
    await at('copied');
    const [here, there, copies] = await Promise.all([
      countRows(source, parts),
      countRows(target, parts),
      copiedSums(target, tenant),
    ]);
    mustAgree(here, there);
    mustAgree(copied, copies);
    inTime();
    const { sums } = await digestFrom(summing, tenant);
    await at('counted');
    inTime();
    moved = await commitMove(holder, tenant, pid).catch(async (error: unknown) => {
      // The answer was lost, or the commit failed. Only the store knows.
      if (!(error instanceof StoreUnreachable)) throw error;
      return (await readMove(source, tenant))?.phase === 'moved';
    });
    if (!moved) throw new HoldOver('the connection of the hold was lost');
    await at('left');
    await open(sides);
    const ms = performance.now() - began;
    await at('opened');
    return { ms, sums: here, sumsThere: sums, close: () => summing.close() };
  } catch (error) {
    if (!moved) await releaseHold(source, holder, tenant).catch(() => undefined);
    await summing.close();
    throw error;
  } finally {
    await holder.close();
  }
}

/** Opens the organization at the target. The source has already ended it, so this must not give up soon. */
export async function open({ target, tenant }: MoveSides): Promise<void> {
  for (let left = 60; ; left--) {
    try {
      if (await openArrival(target, tenant)) return;
      throw new Refused(
        'The move was committed, but the target has no such organization: it has lost data since. The rows are still at the source, and stay there. Bring the data of the target back, and run the command again; docs/move-organization.md says what else you can do.',
      );
    } catch (error) {
      if (left === 0 || !isUnavailable(error)) throw error;
      await pause(500);
    }
  }
}

function mustAgree(here: readonly Partial<RowSum>[], there: readonly Partial<RowSum>[]): void {
  for (const one of here) {
    const other = there.find(({ name }) => name === one.name);
    if (other?.rows !== one.rows || other?.digest !== one.digest)
      throw new HoldOver(`${one.name} differs at the target`);
  }
}

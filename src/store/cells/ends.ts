import { Refused } from '../../core/refused.ts';
import { sql } from '../../core/sql.ts';
import type { Database } from '../driver/postgres.ts';
import { oldestTransaction, takeGuards } from './guards.ts';
import type { MoveSides } from './hold.ts';
import { dropSlots, readSubscription, unpublish, unsubscribe } from './replication.ts';
import { countRows, deleteRows } from './rows.ts';
import { forgetMove, type Move, noteCleared, noteSubscription } from './state.ts';
import { deletionOrder, partsOf } from './tables.ts';

/** Rows of one statement that deletes. */
const BATCH = 5_000;
/** Rows of one statement of the gateway's upkeep, whose triggers run. */
const UPKEEP_BATCH = 300;
/** Milliseconds of one round of upkeep. */
const ROUND = 1_000;

/** What the source knows of the replication of a move. */
export type Replicating = Pick<Move, 'peer' | 'subscription'>;

/** Ends the replication at both sides. */
async function endReplication({ source, target, tenant }: MoveSides, { peer, subscription }: Replicating) {
  const found = await readSubscription(target, tenant);
  if (found) await noteSubscription(source, tenant, found.oid);
  await unsubscribe(target, tenant);
  await dropSlots(source, tenant, { peer, subscription: found?.oid ?? subscription ?? undefined });
}

/** Starts over: no subscription, no slot, no row of the organization at the target. */
export async function emptyTarget(sides: MoveSides, replicating: Replicating): Promise<void> {
  await mustNotLive(sides);
  await endReplication(sides, replicating);
  for (const part of deletionOrder(sides.tenant))
    while ((await deleteRows(sides.target, sides.tenant, part, { n: BATCH, phase: 'arriving' })) > 0)
      await sides.at('emptying');
}

/** Refuses to touch an organization that lives at the target. Each statement that deletes there looks again. */
async function mustNotLive({ target, tenant }: MoveSides): Promise<void> {
  const rows = await target.query(sql`
    SELECT FROM platform.organization o WHERE o.tenant = ${tenant}
       AND (o.moved_to IS NULL OR NOT EXISTS (SELECT FROM gateway.move m WHERE m.tenant = o.tenant AND m.phase = 'arriving'))`);
  if (rows.length > 0)
    throw new Refused(
      'The organization lives at the target, or its rows there are no arriving copy. Nothing was deleted.',
    );
}

async function removeGuards({ source, tenant }: MoveSides): Promise<void> {
  const busy = await takeGuards(source, tenant);
  if (busy !== undefined)
    throw new Refused(
      `A trigger of the move could not be removed from ${busy}, which is in use. Run the command again.`,
    );
}

/** After the move: removes what it has made, but for the rows at the source. */
export async function clearSides(sides: MoveSides, move: Move, keepDays: number | null): Promise<void> {
  await endReplication(sides, move);
  await sides.at('unsubscribed');
  await unpublish(sides.source, sides.tenant);
  const older = await oldestTransaction(sides.source);
  if (older)
    throw new Refused(
      `A transaction at the source is older than the move: process ${older.pid}, application_name ${older.name || 'empty'}. End it or wait, and run the command again.`,
    );
  await removeGuards(sides);
  await noteCleared(sides.source, sides.tenant, keepDays);
}

/** Undoes a move that has not ended. The organization stays at the source. */
export async function abandon(sides: MoveSides, replicating: Replicating): Promise<void> {
  const { target, tenant } = sides;
  await emptyTarget(sides, replicating);
  // An organization that had lived there before keeps its row, which leads callers to its cell.
  await target.query(sql`
    WITH mark AS (DELETE FROM gateway.move WHERE tenant = ${tenant} AND phase = 'arriving' RETURNING tenant, returns)
    DELETE FROM platform.organization o USING mark m WHERE o.tenant = m.tenant AND o.moved_to IS NOT NULL AND NOT m.returns`);
  await abandonSource(sides, replicating);
}

/** Undoes a move at the source only. With the slot, it no longer keeps WAL for the target. */
export async function abandonSource(sides: MoveSides, { peer, subscription }: Replicating): Promise<void> {
  const { source, tenant } = sides;
  await dropSlots(source, tenant, { peer, subscription: subscription ?? undefined });
  await unpublish(source, tenant);
  await removeGuards(sides);
  await forgetMove(source, tenant);
}

/** By organization, how many tables of its deletion order this process has found empty. The next round begins behind them. */
export type Emptied = Map<string, number>;

/**
 * Upkeep at the source: deletes rows of organizations that moved away, when their days are over. The organization's own
 * row stays: it leads callers to the new cell, and no import makes the organization anew. One round takes about a second,
 * which the organizations share. They begin in another order each time, and one that fails or is slow stops no other.
 * Throws what one has thrown, at the end of the round. Returns the number of deleted rows.
 */
export async function clearMoved(db: Database, emptied: Emptied): Promise<number> {
  const due = await db.query<{ tenant: string }>(sql`
    SELECT m.tenant FROM gateway.move m WHERE m.phase = 'moved' AND m.cleared AND m.keep_until <= now() ORDER BY random()`);
  for (const known of emptied.keys()) if (!due.some(({ tenant }) => tenant === known)) emptied.delete(known);
  const failures: unknown[] = [];
  let deleted = 0;
  const end = performance.now() + ROUND;
  for (const { tenant } of due) {
    if (performance.now() > end) break;
    try {
      deleted += await clearOne(db, tenant, performance.now() + ROUND / due.length, emptied);
    } catch (error) {
      failures.push(new Error(`rows of an organization that moved away: number ${tenant}`, { cause: error }));
    }
  }
  if (failures.length > 0) throw failures[0];
  return deleted;
}

/** At least one statement runs, so that each round gets further, however many organizations share it. */
async function clearOne(db: Database, tenant: string, end: number, emptied: Emptied): Promise<number> {
  const order = deletionOrder(tenant);
  let deleted = 0;
  for (let i = emptied.get(tenant) ?? 0; i < order.length; ) {
    const part = order[i];
    const rows = part ? await deleteRows(db, tenant, part, { n: UPKEEP_BATCH, phase: 'moved' }) : 0;
    if (rows === 0) emptied.set(tenant, ++i);
    deleted += rows;
    if (performance.now() > end) return deleted;
  }
  emptied.delete(tenant);
  // A row that another statement had locked was passed over.
  if ((await countRows(db, partsOf(tenant))).some(({ rows }) => rows > 0)) return deleted;
  await db.query(sql`DELETE FROM gateway.move WHERE tenant = ${tenant} AND phase = 'moved'`);
  return deleted;
}

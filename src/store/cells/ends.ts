import { Refused } from '../../core/refused.ts';
import { sql } from '../../core/sql.ts';
import type { Database } from '../driver/postgres.ts';
import { oldOnesEnded, takeGuards } from './guards.ts';
import type { MoveSides } from './hold.ts';
import { dropSlots, readSubscription, unpublish, unsubscribe } from './replication.ts';
import { deleteRows } from './rows.ts';
import { forgetMove, type Move, noteCleared, noteSubscription } from './state.ts';
import { deletionOrder } from './tables.ts';

/** Rows of one statement that deletes. */
const BATCH = 5_000;
/** Rows of one statement of the gateway's upkeep, whose triggers run. */
const UPKEEP_BATCH = 300;
/** Milliseconds of one round of upkeep. */
const ROUND = 1_000;

/** Ends the replication at both sides. `subscription`: its number, if the row of the move has it. */
async function endReplication({ source, target, tenant }: MoveSides, subscription: string | null): Promise<void> {
  const found = await readSubscription(target, tenant);
  if (found) await noteSubscription(source, tenant, found.oid);
  await unsubscribe(target, tenant);
  await dropSlots(source, tenant, found?.oid ?? subscription ?? undefined);
}

/** Starts over: no subscription, no slot, no row of the organization at the target. */
export async function emptyTarget(sides: MoveSides, subscription: string | null): Promise<void> {
  await endReplication(sides, subscription);
  for (const part of deletionOrder(sides.tenant))
    while ((await deleteRows(sides.target, part, BATCH, true)) > 0) await sides.at('emptying');
}

async function removeGuards({ source, tenant }: MoveSides): Promise<void> {
  const busy = await takeGuards(source, tenant);
  if (busy !== undefined)
    throw new Refused(
      `A trigger of the move could not be removed from ${busy}, which is in use. Run the command again.`,
    );
}

/** After the move: removes what it has made, but for the rows at the source. */
export async function clearSides(sides: MoveSides, move: Move): Promise<void> {
  await endReplication(sides, move.subscription);
  await sides.at('unsubscribed');
  await unpublish(sides.source, sides.tenant);
  if (!(await oldOnesEnded(sides.source, sides.tenant)))
    throw new Refused('A transaction at the source is older than the move. Run the command again when it has ended.');
  await removeGuards(sides);
  await noteCleared(sides.source, sides.tenant);
}

/** Undoes a move that has not ended. The organization stays at the source. */
export async function abandon(sides: MoveSides, move: Move | undefined): Promise<void> {
  const { source, target, tenant } = sides;
  await emptyTarget(sides, move?.subscription ?? null);
  await target.query(sql`
    WITH mark AS (DELETE FROM gateway.move WHERE tenant = ${tenant} AND phase = 'arriving' RETURNING tenant)
    DELETE FROM platform.organization o USING mark m WHERE o.tenant = m.tenant AND o.moved_to IS NOT NULL`);
  await unpublish(source, tenant);
  await removeGuards(sides);
  await forgetMove(source, tenant);
}

/**
 * Upkeep at the source: deletes rows of organizations that moved away, when their days are over. One round takes about a
 * second. Returns the number of deleted rows.
 */
export async function clearMoved(db: Database): Promise<number> {
  const [due] = await db.query<{ tenant: string }>(sql`
    SELECT m.tenant FROM gateway.move m WHERE m.phase = 'moved' AND m.cleared AND m.keep_until <= now() ORDER BY m.tenant LIMIT 1`);
  if (!due) return 0;
  let deleted = 0;
  const end = performance.now() + ROUND;
  for (const part of deletionOrder(due.tenant)) {
    for (let rows = 1; rows > 0; deleted += rows) {
      if (performance.now() > end) return deleted;
      rows = await deleteRows(db, part, UPKEEP_BATCH, false);
    }
  }
  await db.query(sql`
    WITH o AS (DELETE FROM platform.organization WHERE tenant = ${due.tenant} AND moved_to IS NOT NULL)
    DELETE FROM gateway.move WHERE tenant = ${due.tenant} AND phase = 'moved'`);
  return deleted;
}

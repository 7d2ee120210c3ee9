import { Refused } from '../../core/refused.ts';
import { sql } from '../../core/sql.ts';
import { StoreUnreachable } from '../driver/errors.ts';
import type { Database } from '../driver/postgres.ts';
import { mustBeTheSame, mustLeave, onlyCommand } from './command.ts';
import { abandon, abandonSource } from './ends.ts';
import { readCellFacts } from './facts.ts';
import type { MoveSides } from './hold.ts';
import { type Move, readMove } from './state.ts';

/** Undoes a move that has not ended, at both sides, or only here while the target is away. */
export async function abandonMove(sides: MoveSides): Promise<void> {
  const only = await onlyCommand(sides);
  try {
    const move = await readMove(sides.source, sides.tenant);
    if (move?.phase === 'moved')
      throw new Refused('The organization has moved, so there is nothing to abandon. Move it back from its new cell.');
    mustLeave(move);
    if (!(await isReached(sides.target))) return await abandonAlone(sides, move);
    if (move) await mustBeTheSame(sides, move);
    else await mustArrive(sides);
    await abandon(sides, move ?? { peer: (await readCellFacts(sides.target)).identity, subscription: null });
  } finally {
    await only.close();
  }
}

/** Without a row of the move at the source, only its own copy at the target may be deleted. */
async function mustArrive({ source, target, tenant }: MoveSides): Promise<void> {
  const [here, there] = await Promise.all([readCellFacts(source), readMove(target, tenant)]);
  if (there?.phase !== 'arriving' || there.peer !== here.identity)
    throw new Refused('No move of this organization has begun.');
}

async function isReached(target: Database): Promise<boolean> {
  try {
    await target.query(sql`SELECT 1`);
    return true;
  } catch (error) {
    if (error instanceof StoreUnreachable) return false;
    throw error;
  }
}

/** The target is away, perhaps for good. Its slot must not fill the disk of the source until it comes back. */
async function abandonAlone(sides: MoveSides, move: Move | undefined): Promise<never> {
  if (!move) throw new Refused('No move of this organization has begun here, and the target cannot be reached.');
  await abandonSource(sides, move);
  throw new Refused(
    'The move is undone here, and the organization lives here, as before. The PostgreSQL of --to cannot be reached. When it is back, run the command again: it deletes the copy there.',
  );
}

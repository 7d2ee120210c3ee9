import { Refused } from '../../core/refused.ts';
import { factsOfTarget } from './checks.ts';
import type { MoveSides } from './hold.ts';
import { holdCommand, type Move } from './state.ts';

/** Takes the lock of the command at the source until `close`. */
export async function onlyCommand(sides: MoveSides): Promise<{ mustHold(): Promise<void>; close(): Promise<void> }> {
  const locked = sides.open('source', 'command', 10_000);
  const mustHoldIt = async (): Promise<void> => {
    if (!(await holdCommand(locked, sides.tenant)))
      throw new Refused('Another command moves this organization now. Wait for its end.');
  };
  try {
    await mustHoldIt();
  } catch (error) {
    await locked.close();
    throw error;
  }
  return { mustHold: mustHoldIt, close: () => locked.close() };
}

/** Refuses a move that is another one than that which has begun. */
export async function mustBeTheSame({ target }: MoveSides, move: Move): Promise<void> {
  mustLeave(move);
  const there = await factsOfTarget(target);
  if (move.peer !== there.identity)
    throw new Refused(
      'The organization moves to another PostgreSQL. Give its address in --to, or abandon that move first.',
    );
}

export function mustLeave(move: Move | undefined): void {
  if (move?.phase === 'arriving')
    throw new Refused('The organization is arriving in this cell. Run the command at the cell that it leaves.');
}

import { type OpenMove, openMoves } from '../store/cells/state.ts';
import type { Database } from '../store/driver/postgres.ts';
import { plain, time } from './output.ts';

interface MoveFinding {
  /** `move`: it has not ended. `kept_rows`: it has, and its rows are still here. */
  readonly check: 'move' | 'kept_rows';
  readonly detail: string;
}

/** Each move of a store that waits for something, with its step, since when, and the command that comes next. */
export const findMoves = async (db: Database): Promise<MoveFinding[]> => (await openMoves(db)).map(findingOf);

function findingOf(move: OpenMove): MoveFinding {
  const { id, phase, baseUrl, cleared, keepUntil, copied, commanded } = move;
  const name = `${id} (${plain(move.externalId)})`;
  const since = time(move.since);
  const again = `gateway organization move ${id} --to URL --base-url ${baseUrl}`;
  if (cleared && keepUntil)
    return {
      check: 'kept_rows',
      detail: `${name} moved to ${baseUrl} on ${since}. Its rows were due to be deleted on ${time(keepUntil)} and are still here. See that a gateway runs, and look in its log for "rows of an organization that moved away".`,
    };
  if (cleared)
    return {
      check: 'kept_rows',
      detail: `${name} moved to ${baseUrl} on ${since}, and its rows stay here: they differed, or were not compared. Look at both sides, and run \`${again} --keep 7\`: they are deleted after 7 days.`,
    };
  const [step, next] =
    phase === 'arriving'
      ? [`arrives from another cell since ${since}`, 'Run the command of the move again in the cell that it leaves.']
      : phase === 'moved'
        ? [
            `left for ${baseUrl} on ${since}, but its move has not ended. Perhaps no cell serves it`,
            `At once, run \`${again}\`.`,
          ]
        : [
            `moves to ${baseUrl} since ${since}, and ${copied ? 'its copy is complete and follows' : 'its rows are being copied'}. Until its end, this PostgreSQL keeps WAL`,
            `Run \`${again}\`, or the same with --abandon.`,
          ];
  return { check: 'move', detail: `${name} ${step}. ${commanded ? 'A command works on it: wait for its end.' : next}` };
}

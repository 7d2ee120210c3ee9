import { setTimeout as pause } from 'node:timers/promises';
import type { RemoteWriter } from '../core/writes.ts';
import { eraseOutcomes, settle, takeLapsed } from '../store/calls/ledger.ts';
import type { Database } from '../store/driver/postgres.ts';
import { purgeOAuth } from '../store/sign-in/oauth.ts';
import type { Registry } from './registry.ts';

export interface UpkeepOptions {
  readonly db: Database;
  readonly registry: Registry;
  readonly remote?: RemoteWriter | undefined;
  readonly onError: (error: unknown) => void;
}

/** Rows of one statement: short locks, and other replicas skip them. */
const BATCH = 500;
const EVERY = 5_000;
/** Commands that one round asks the other system for, at the same time. */
const ASKED = 25;
/** Milliseconds that a round waits for the other system, well within the lease that it holds. */
const PATIENCE = 3_000;

/**
 * One round of upkeep, on any replica: finds out what became of remote commands that their replica did not settle, erases
 * outcomes after 24 hours, and deletes tokens and consents that ended long ago. Returns how many rows it changed.
 */
export async function upkeep({ db, registry, remote }: Omit<UpkeepOptions, 'onError'>): Promise<number> {
  let changed = 0;
  // All that is due: with a batch a round, more than a hundred writes a second would be kept ever longer than 24 hours.
  for (let erased = BATCH; erased === BATCH; changed += erased) erased = await eraseOutcomes(db, BATCH);
  for (let purged = BATCH; purged >= BATCH; changed += purged) purged = await purgeOAuth(db, BATCH);
  if (!remote) return changed;
  const lapsed = await takeLapsed(db, ASKED);
  await Promise.all(
    lapsed.map(async ({ operationId, epoch, website, operation }) => {
      const found = remote.find(operationId, website).catch(() => undefined);
      // Where the other system cannot tell either, or does not answer, the outcome is unknown, and asked for again.
      const outcome = (await Promise.race([found, pause(PATIENCE, undefined, { ref: false })])) ?? null;
      const receipts = registry.get(operation)?.emits ?? [];
      if (await settle(db, { operationId, epoch, receipts }, outcome)) changed++;
    }),
  );
  return changed;
}

/** Rounds every 5 s until `stop` is called, which waits for the round under way. */
export function startUpkeep(options: UpkeepOptions): { stop(): Promise<void> } {
  let under: Promise<unknown> = Promise.resolve();
  const timer = setInterval(() => {
    under = under.then(() => upkeep(options)).catch(options.onError);
  }, EVERY);
  return {
    stop: async () => {
      clearInterval(timer);
      await under;
    },
  };
}

import { setTimeout as pause } from 'node:timers/promises';
import { Rounds } from '../core/rounds.ts';
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

/** Most rows in one statement. Small batches hold locks only briefly, and other replicas skip locked rows. */
const BATCH = 500;
/** Milliseconds between two rounds. */
const EVERY = 5_000;
/** Number of commands that one round looks up in the other system at the same time. */
const ASKED = 25;
/** Milliseconds that a round waits for the other system. The lease of the round is much longer. */
const PATIENCE = 3_000;

/**
 * Runs one round of upkeep, on any replica. The round settles remote commands that another replica left unsettled. The
 * round erases outcomes after 24 hours. The round deletes tokens and consents that ended long ago. Returns the number
 * of changed rows.
 */
export async function upkeep({ db, registry, remote }: Omit<UpkeepOptions, 'onError'>): Promise<number> {
  let changed = 0;
  // Erase every outcome that is due. One batch in each round would cover only 100 writes per second, and the store
  // would keep other outcomes for more than 24 hours.
  for (let erased = BATCH; erased === BATCH; changed += erased) erased = await eraseOutcomes(db, BATCH);
  for (let purged = BATCH; purged >= BATCH; changed += purged) purged = await purgeOAuth(db, BATCH);
  if (!remote) return changed;
  const lapsed = await takeLapsed(db, ASKED);
  await Promise.all(
    lapsed.map(async ({ operationId, epoch, website, operation }) => {
      const found = remote.find(operationId, website).catch(() => undefined);
      // If the other system does not answer, or does not know the command, the outcome stays unknown. A later round
      // asks again.
      const outcome = (await Promise.race([found, pause(PATIENCE, undefined, { ref: false })])) ?? null;
      const receipts = registry.get(operation)?.emits ?? [];
      if (await settle(db, { operationId, epoch, receipts }, outcome)) changed++;
    }),
  );
  return changed;
}

/** Runs a round every 5 s. `stop` waits for the running round. */
export const startUpkeep = (options: UpkeepOptions): Rounds =>
  new Rounds({ every: EVERY, round: () => upkeep(options), onError: options.onError });

import { setTimeout as pause } from 'node:timers/promises';
import { Rounds } from '../core/rounds.ts';
import type { RemoteWriter } from '../core/writes.ts';
import { forgetRemoved } from '../store/administration/sources.ts';
import { eraseOutcomes, settle, takeLapsed } from '../store/calls/ledger.ts';
import type { Database } from '../store/driver/postgres.ts';
import { endStrangeHosts } from '../store/sign-in/hosted.ts';
import { purgeOAuth } from '../store/sign-in/oauth.ts';
import type { Registry } from './registry.ts';

export interface UpkeepOptions {
  readonly db: Database;
  readonly registry: Registry;
  readonly remote?: RemoteWriter | undefined;
  /** The hosts whose clients may keep their consents. Undefined means that every host may. */
  readonly clientHosts?: readonly string[] | undefined;
  readonly onError: (error: unknown) => void;
}

/** The largest number of rows in one statement. Small batches hold their locks only briefly. */
const BATCH = 500;
/** Milliseconds between two rounds. */
const EVERY = 5_000;
/** How many commands one round looks up in the other system at the same time. */
const ASKED = 25;
/** Milliseconds that a round waits for the other system. The lease of the round is much longer. */
const PATIENCE = 3_000;

/**
 * Runs one round of maintenance. Asks another system for the outcomes of commands that a lost replica left open. Erases
 * outcomes of writes after 24 hours. Deletes staged records of removed sources. Deletes tokens and consents that ended
 * long ago. Ends consents of clients whose host is no longer believed. Returns the number of changed rows.
 */
export async function upkeep({ db, registry, remote, clientHosts }: Omit<UpkeepOptions, 'onError'>): Promise<number> {
  let changed = 0;
  // Erase all outcomes that are due. One batch in each round would erase only 100 outcomes per second. With more writes
  // than that, outcomes would be kept for more than 24 hours.
  for (let erased = BATCH; erased === BATCH; changed += erased) erased = await eraseOutcomes(db, BATCH);
  for (let purged = BATCH; purged >= BATCH; changed += purged) purged = await purgeOAuth(db, BATCH);
  await forgetRemoved(db);
  // A replica with the old list can still store a consent while the replicas start again. So each round looks again.
  if (clientHosts) changed += await endStrangeHosts(db, clientHosts);
  if (!remote) return changed;
  const lapsed = await takeLapsed(db, ASKED);
  await Promise.all(
    lapsed.map(async ({ operationId, epoch, website, operation }) => {
      const found = remote.find(operationId, website).catch(() => undefined);
      // If the other system does not answer or does not know the command, the outcome stays unknown. A later round asks
      // again.
      const outcome = (await Promise.race([found, pause(PATIENCE, undefined, { ref: false })])) ?? null;
      const receipts = registry.get(operation)?.emits ?? [];
      if (await settle(db, { operationId, epoch, receipts }, outcome)) changed++;
    }),
  );
  return changed;
}

export const startUpkeep = (options: UpkeepOptions): Rounds =>
  new Rounds({ every: EVERY, round: () => upkeep(options), onError: options.onError });

import { setTimeout as pause } from 'node:timers/promises';
import type { RemoteWriter } from '../core/writes.ts';
import { PeriodicJob } from '../flow/periodic-job.ts';
import { allSteps } from '../flow/steps.ts';
import { sumAudit } from '../store/administration/overview.ts';
import { clearRemoved, forgetRemoved } from '../store/administration/removal.ts';
import { type Mended, mendClock } from '../store/calls/clock.ts';
import { eraseOutcomes, lapseApprovals, settle, takeLapsed } from '../store/calls/ledger.ts';
import { clearMoved, type Emptied } from '../store/cells/ends.ts';
import type { Database } from '../store/driver/postgres.ts';
import { endStrangeHosts, purgeOAuth } from '../store/sign-in/upkeep.ts';
import type { Registry } from './registry.ts';

export interface UpkeepOptions {
  readonly db: Database;
  readonly registry: Registry;
  readonly remote?: RemoteWriter | undefined;
  /** The hosts whose clients may keep their consents. Undefined: every host. */
  readonly clientHosts?: readonly string[] | undefined;
  readonly onError: (error: unknown) => void;
}

/** Rows of one statement. Small batches hold their locks only briefly. */
const BATCH = 500;
/** Milliseconds between two rounds. */
const EVERY = 5_000;
/** Commands that one round looks up in the other system at the same time. */
const ASKED = 25;
/** Milliseconds that a round waits for the other system. The round's lease is much longer. */
const PATIENCE = 3_000;

/**
 * One round of maintenance. Asks another system how commands of a lost replica ended. Erases outcomes of writes after
 * 24 hours, and lapses writes that nobody has approved until then. Deletes staged records of removed sources, and tokens
 * and consents that ended long ago. Sums audit records. Ends consents of clients whose host is no longer trusted. Returns
 * the number of changed rows. After `stop`, no further batch starts. A step that fails does not stop those behind it.
 */
export async function upkeep(
  { db, registry, remote, clientHosts }: Omit<UpkeepOptions, 'onError'>,
  stop?: AbortSignal,
): Promise<number> {
  let changed = 0;
  const ends = (): boolean => stop?.aborted === true;
  const repeat = async (batch: number, work: () => Promise<number>): Promise<void> => {
    for (let n = batch; n >= batch && !ends(); changed += n) n = await work();
  };
  const askRemote = async (other: RemoteWriter): Promise<void> => {
    const lapsed = await takeLapsed(db, ASKED);
    await Promise.all(
      lapsed.map(async ({ operationId, epoch, website, operation }) => {
        const found = other.find(operationId, website).catch(() => undefined);
        // If the other system does not answer or does not know the command, a later round asks again.
        const outcome = (await Promise.race([found, pause(PATIENCE, undefined, { ref: false })])) ?? null;
        const receipts = registry.get(operation)?.emits ?? [];
        if (await settle(db, { operationId, epoch, receipts }, outcome)) changed++;
      }),
    );
  };
  await allSteps(
    [
      // Erase everything that is due. One batch a round would erase only 100 outcomes a second, and more writes than
      // that would keep outcomes for longer than 24 hours.
      () => repeat(BATCH, () => lapseApprovals(db, BATCH)),
      () => repeat(BATCH, () => eraseOutcomes(db, BATCH)),
      () => repeat(BATCH, () => purgeOAuth(db, BATCH)),
      () => forgetRemoved(db),
      () => repeat(1, async () => Number(await sumAudit(db))),
      async () => {
        // While the replicas restart, one with the old list can still store a consent. So each round looks again.
        if (clientHosts) changed += await endStrangeHosts(db, clientHosts);
      },
      async () => {
        if (remote) await askRemote(remote);
      },
    ],
    stop,
  );
  return changed;
}

/**
 * Runs rounds of maintenance. Each begins with what a clock that went back holds up, because the rest depends on it. Rows
 * of removed sources and of organizations that moved away are deleted last, because that can take long.
 */
export function startUpkeep(options: UpkeepOptions): PeriodicJob {
  let mended: Mended = null;
  const emptied: Emptied = new Map();
  return new PeriodicJob({
    every: EVERY,
    run: async (stop) => {
      // It writes to many tables. What stops it must not stop the rest.
      mended = await mendClock(options.db, mended).catch((cause: unknown) => {
        options.onError(new Error('times that lie ahead, because the clock went back, were not mended', { cause }));
        return mended;
      });
      const { db } = options;
      await allSteps([() => upkeep(options, stop), () => clearRemoved(db, stop), () => clearMoved(db, emptied)], stop);
    },
    onError: options.onError,
  });
}

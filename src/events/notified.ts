import type { PeriodicJob } from '../flow/periodic-job.ts';
import type { Database } from '../store/driver/postgres.ts';

const CHANNEL = 'gateway_journal';
/**
 * Milliseconds between the two runs after a notification. A journal sends at most one notification in 25 ms for each
 * website. The second run finds receipts that came later in these 25 ms.
 */
const AGAIN = 30;

/**
 * Wakes a job at each notification of a journal. The payload is '<tenant> <site>', or empty when listening starts again
 * after a lost connection. `concerns`: whether the job needs it.
 */
export const wakeAtReceipts = (
  db: Database,
  job: PeriodicJob,
  concerns: (payload: string) => boolean = () => true,
): ReturnType<Database['listen']> =>
  db.listen(CHANNEL, (payload) => {
    if (!concerns(payload)) return;
    job.wake();
    job.wakeIn(AGAIN);
  });

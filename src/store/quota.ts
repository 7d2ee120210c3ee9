import { sql } from '../core/sql.ts';
import type { Database } from './postgres.ts';

export interface Grant {
  readonly granted: number;
  /** The window of time in which they were granted: what gives them back names it. */
  readonly granted_in: string;
  readonly remaining: number;
  readonly per_minute: number;
  readonly burst: number;
}

/** Takes units from an app's bucket (gateway.take_quota). `null`: no such app. */
export async function takeQuota(
  db: Database,
  app: string,
  ask: { need: number; want: number; held: number; unspent: number; heldIn: string; windowSeconds: number },
): Promise<Grant | null> {
  const [grant] = await db.query<Grant>(sql`
    SELECT * FROM gateway.take_quota(${app}, ${ask.need}, ${ask.want}, ${ask.held}, ${ask.unspent},
                                     ${ask.heldIn}, ${ask.windowSeconds}::float8 * interval '1 second')`);
  return grant ?? null;
}

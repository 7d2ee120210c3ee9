import type { HealthReading } from '../core/reads.ts';
import { sql } from '../core/sql.ts';
import { guard } from './guard.ts';
import { guarded, type ReadSession } from './read.ts';

/** The store's clock and the last receipt of each event family on the call's website. */
export async function readHealth(session: ReadSession): Promise<HealthReading> {
  const { authority, website } = session;
  const [row] = await guarded<{ now: Date; last_at: Record<string, number> | null }>(
    session,
    sql`now() AS now, h.last_at FROM ${guard(authority)}
      LEFT JOIN gateway.journal_head h ON guard.ok AND h.tenant = ${website.tenant} AND h.site = ${website.site}`,
  );
  return {
    checkedAt: row?.now.getTime() ?? 0,
    families: Object.entries(row?.last_at ?? {}).map(([family, lastEventAt]) => ({ family, lastEventAt })),
  };
}

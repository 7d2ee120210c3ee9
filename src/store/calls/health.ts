import { isRestricted } from '../../core/authority.ts';
import type { HealthReading } from '../../core/reads.ts';
import { sql } from '../../core/sql.ts';
import { guard } from './guard.ts';
import { guarded, type ReadSession } from './read.ts';

/** The store's clock, and for each event family of the website the time of its last receipt and whether it is held. */
export async function readHealth(session: ReadSession): Promise<HealthReading> {
  const { authority, website } = session;
  const [row] = await guarded<{ now: Date; last_at: Record<string, number> | null; held: string[] }>(
    session,
    sql`now() AS now, h.last_at, ARRAY(
        SELECT f.family FROM gateway.family_hold f
         WHERE guard.ok AND f.tenant = ${website.tenant} AND f.site = ${website.site}) AS held
      FROM ${guard(authority)} LEFT JOIN gateway.journal_head h ON guard.ok AND h.tenant = ${website.tenant} AND h.site = ${website.site}`,
  );
  return {
    checkedAt: row?.now.getTime() ?? 0,
    // Receipts cover the whole website. A restricted caller would learn when something happened outside its
    // restriction.
    lastEventAt: new Map(isRestricted(authority) ? [] : Object.entries(row?.last_at ?? {})),
    held: new Set(row?.held),
  };
}

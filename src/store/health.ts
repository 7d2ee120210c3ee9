import type { HealthReading } from '../core/reads.ts';
import { sql } from '../core/sql.ts';
import { guard } from './guard.ts';
import { guarded, type ReadSession } from './read.ts';

/** The store's clock and the last receipt of each event family on the call's website. */
export async function readHealth(session: ReadSession): Promise<HealthReading> {
  const { authority, website } = session;
  const rows = await guarded<{ now: Date; family: string | null; last: Date }>(
    session,
    sql`now() AS now, f.family, f.last FROM ${guard(authority)} LEFT JOIN LATERAL (
      SELECT family, last.occurred_at AS last
        FROM unnest(ARRAY['conversation', 'visitor', 'operator', 'queue', 'website', 'privacy', 'capture']) AS family
        CROSS JOIN LATERAL (
          SELECT max(j.occurred_at) AS occurred_at
            FROM unnest(ARRAY['changed', 'removed', 'snapshot', 'gap', 'heartbeat']) AS kind
            CROSS JOIN LATERAL (
              SELECT e.occurred_at FROM gateway.journal e
               WHERE e.tenant = ${website.tenant} AND e.site = ${website.site} AND e.event_type = family || '.' || kind
               ORDER BY e.position DESC LIMIT 1) j
        ) last
       WHERE guard.ok AND last.occurred_at IS NOT NULL
    ) f ON true`,
  );
  return {
    checkedAt: rows[0]?.now.getTime() ?? 0,
    families: rows.flatMap(({ family, last }) => (family ? [{ family, lastEventAt: last.getTime() }] : [])),
  };
}

import { sql } from '../../core/sql.ts';
import type { Database } from '../driver/postgres.ts';

/** A replica repeats a lost delivery at most this many seconds after the lease of the delivery has ended. */
const TAKEN_UP = 60;

/**
 * Counts deliveries whose lease has ended without another attempt. Deliveries of a held event family wait on purpose,
 * so they do not count.
 */
export async function lapsedDeliveries(db: Database): Promise<number> {
  const [row] = await db.query<{ count: number }>(sql`
    SELECT count(*)::integer AS count FROM gateway.webhook_delivery d JOIN gateway.webhook_endpoint e ON e.id = d.endpoint_id
     WHERE d.status = 'pending' AND e.enabled AND d.lease_until < now() - make_interval(secs => ${TAKEN_UP}::integer)
       AND NOT EXISTS (SELECT FROM gateway.family_hold f
                        WHERE f.tenant = d.tenant AND f.site = d.site AND f.family = split_part(d.event_type, '.', 1))`);
  return row?.count ?? 0;
}

/**
 * Counts enabled endpoints that get no events, because their credential has ended or may not get the website's events.
 */
export async function unpermittedEndpoints(db: Database): Promise<number> {
  const [row] = await db.query<{ count: number }>(sql`
    SELECT count(*)::integer AS count FROM gateway.webhook_endpoint e
     WHERE e.enabled AND NOT gateway.may_be_told(e.credential_id, e.tenant, e.site)`);
  return row?.count ?? 0;
}

import { raw, sql } from '../../core/sql.ts';
import type { Database } from '../driver/postgres.ts';

/** The store's queues, for `/metrics`. Counts stop at COUNTED, so that a long queue costs no more time. */
export interface Gauges {
  /** Commands without a known outcome: reserved, or with the status unknown. */
  readonly operationsUnsettled: number;
  /** PostgreSQL's estimate of the number of rows in the ledger of writes. */
  readonly operationsKept: number;
  readonly receiptsOwed: number;
  readonly deliveriesPending: number;
  /** Seconds since the oldest pending delivery was due. 0 when no delivery is late. */
  readonly deliveriesLate: number;
  /** The number of journal positions that the slowest endpoint has not reached yet. */
  readonly receiptsBehind: number;
  readonly endpointsEnabled: number;
  readonly tasksOpen: number;
  /** Live sources that are not paused and whose last attempt failed. */
  readonly sourcesFailing: number;
  /** The values of the first sources, one entry for each source. */
  readonly sources: readonly SourceGauges[];
}

export interface SourceGauges {
  readonly source: string;
  readonly lag: number | null;
  readonly behind: number | null;
  readonly lastSuccess: number | null;
  readonly failing: number;
  readonly written: number;
  readonly removed: number;
  readonly rejects: number;
}

export const COUNTED = 10_000;
/** How many sources `/metrics` shows one by one. */
const SOURCES = 100;

/**
 * Reads all gauges in one statement, with bounded counts and partial indexes: 0.3 ms with empty queues, 5.5 ms with
 * full ones.
 */
export async function readGauges(db: Database): Promise<Gauges | undefined> {
  const [row] = await db.query<Gauges & { operationsKept: string; receiptsBehind: string }>(sql`
    WITH endpoint AS MATERIALIZED (
      SELECT coalesce(h.position, e.position) - e.position AS behind,
             (SELECT d.due_at FROM gateway.webhook_delivery d WHERE d.endpoint_id = e.id AND d.status = 'pending'
               ORDER BY d.due_at LIMIT 1) AS due_at
        FROM (SELECT id, tenant, site, position FROM gateway.webhook_endpoint WHERE enabled AND gateway.lives_here(tenant) LIMIT ${COUNTED}::integer) e
        LEFT JOIN gateway.journal_head h ON h.tenant = e.tenant AND h.site = e.site)
    SELECT (SELECT count(*)::integer FROM (SELECT FROM gateway.operation
             WHERE status <> 'acknowledged' AND fingerprint IS NOT NULL AND lease_until IS NOT NULL LIMIT ${COUNTED}::integer) o) AS "operationsUnsettled",
           (SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'gateway.operation'::regclass) AS "operationsKept",
           (SELECT count(*)::integer FROM (SELECT FROM gateway.import_owed LIMIT ${COUNTED}::integer) r) AS "receiptsOwed",
           (SELECT count(*)::integer FROM (SELECT FROM gateway.webhook_delivery
             WHERE status = 'pending' LIMIT ${COUNTED}::integer) d) AS "deliveriesPending",
           (SELECT greatest(coalesce(extract(epoch FROM now() - min(e.due_at)), 0), 0)::double precision FROM endpoint e)
             AS "deliveriesLate",
           (SELECT coalesce(max(e.behind), 0) FROM endpoint e) AS "receiptsBehind",
           (SELECT count(*)::integer FROM endpoint) AS "endpointsEnabled",
           (SELECT count(*)::integer FROM (SELECT FROM gateway.task
             WHERE lease_until IS NOT NULL LIMIT ${COUNTED}::integer) t) AS "tasksOpen",
           (SELECT count(*)::integer FROM gateway.source s WHERE gateway.source_state(s) = 'failing' AND gateway.lives_here(s.tenant)) AS "sourcesFailing",
           (SELECT coalesce(jsonb_agg(jsonb_build_object('source', s.id, 'lag', gateway.source_lag(s), 'behind', s.behind,
                     'lastSuccess', extract(epoch FROM s.last_success_at), 'failing', (gateway.source_state(s) = 'failing')::integer,
                     'written', s.written, 'removed', s.removed, 'rejects', (SELECT count(*) FROM (
                       SELECT DISTINCT r.origin FROM gateway.source_reject r WHERE r.source = s.id LIMIT ${COUNTED}::integer) o))), '[]')
              FROM (SELECT * FROM gateway.source WHERE gateway.lives_here(tenant) ORDER BY created_at, id LIMIT ${raw(String(SOURCES))}) s) AS sources`);
  return row && { ...row, operationsKept: Number(row.operationsKept), receiptsBehind: Number(row.receiptsBehind) };
}

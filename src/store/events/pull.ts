import { EVENT_TYPE } from '../../core/events.ts';
import { Failure } from '../../core/failures.ts';
import { type Fragment, sql } from '../../core/sql.ts';
import { type Access, guarded, type Proved } from '../calls/guard.ts';
import { visible } from './subscriptions.ts';

/** A receipt in the journal. Both times are Unix milliseconds. */
export interface JournalRow {
  readonly position: number;
  readonly eventType: string;
  readonly occurredAt: number;
  readonly recordedAt: number;
}

export interface ScannedWebsite {
  readonly website: string;
  /** The last position of the website's journal. 0: the journal never had a receipt. */
  readonly head: number;
  /** The last position whose receipt was deleted because of its age. */
  readonly trimmed: number;
  /** True when the website's journal has ever had a receipt of one of the subscription's event families. */
  readonly reported: boolean;
  /** The website's fair share of the receipts after the given position, sorted by position. */
  readonly rows: readonly JournalRow[];
}

export interface Scan {
  /** PostgreSQL's time in Unix milliseconds. */
  readonly now: number;
  readonly revision: number;
  readonly eventTypes: readonly string[];
  readonly paused: boolean;
  readonly websites: readonly ScannedWebsite[];
}

/** The largest number of stored receipts that one pull examines. */
export const SCANNED = 100;

type Head = [site: string, head: number, trimmed: number, reported: boolean];
type FoundEvent = [site: string, position: number, eventType: string, occurredAt: number, recordedAt: number];

interface ScanRow {
  readonly now: number;
  readonly present: boolean | null;
  readonly revision: number;
  readonly event_types: string[];
  readonly paused: boolean;
  readonly heads: Head[] | null;
  readonly found: FoundEvent[] | null;
}

/** What a reader asks for without a stored subscription. The websites are granted, all of one tenant. */
export interface Filter {
  readonly tenant: string;
  readonly sites: readonly string[];
  readonly eventTypes: readonly string[];
}

const asked = (authority: Access['authority'], of: string | Filter): Fragment =>
  typeof of === 'string'
    ? sql`SELECT s.tenant, s.sites, s.revision, s.event_types FROM gateway.subscription s
           WHERE s.id = ${of} AND ${visible(authority)}`
    : sql`SELECT ${of.tenant}::bigint AS tenant, ${[...of.sites]}::bigint[] AS sites, 0 AS revision,
                 ${[...of.eventTypes]}::text[] AS event_types`;

/**
 * Reads the receipts of a subscription's id or a filter after `positions` (by website id), and proves the authority.
 * The websites with new receipts share the hundred receipts equally, so a busy website does not take the share of other
 * websites. The page then takes the oldest of these receipts. Positions have no gaps, so the share of a website is a
 * range of the primary key.
 */
export async function scanJournals(
  access: Access,
  of: string | Filter,
  positions: ReadonlyMap<string, number>,
): Promise<Proved<Scan>> {
  const { authority } = access;
  const known = [...positions].flatMap(([id, position]) => {
    const website = authority.websites.get(id);
    return website ? [{ site: website.site, position }] : [];
  });
  const { proof, rows } = await guarded<ScanRow>(
    access,
    sql`floor(extract(epoch FROM now()) * 1000)::double precision AS now, s.present, s.revision, s.event_types, s.paused,
      (SELECT json_agg(json_build_array(w.site::text, coalesce(h.position, 0), coalesce(h.trimmed, 0),
                                        coalesce(h.last_at ?| s.families, false)) ORDER BY w.n)
         FROM unnest(s.sites) WITH ORDINALITY AS w (site, n)
         LEFT JOIN gateway.journal_head h ON h.tenant = s.tenant AND h.site = w.site) AS heads,
      (SELECT json_agg(json_build_array(news.site::text, j.position, j.event_type,
                                        floor(extract(epoch FROM j.occurred_at) * 1000), floor(extract(epoch FROM j.recorded_at) * 1000))
                       ORDER BY j.position)
         FROM (SELECT h.site, k.position, ${SCANNED}::integer / count(*) OVER () AS share
                 FROM unnest(${known.map(({ site }) => site)}::bigint[], ${known.map(({ position }) => position)}::bigint[]) AS k (site, position)
                 JOIN gateway.journal_head h ON h.tenant = s.tenant AND h.site = k.site AND h.position > k.position
                WHERE k.site = ANY (s.sites)) news
        CROSS JOIN LATERAL (
          SELECT e.position, e.event_type, e.occurred_at, e.recorded_at FROM gateway.journal e
           WHERE e.tenant = s.tenant AND e.site = news.site
             AND e.position > news.position AND e.position <= news.position + news.share
           ORDER BY e.position LIMIT ${SCANNED}::integer) j) AS found`,
    sql`LEFT JOIN LATERAL (
        SELECT true AS present, s.tenant, s.sites, s.revision, s.event_types, f.families,
               EXISTS (SELECT FROM gateway.family_hold x
                        WHERE x.tenant = s.tenant AND x.site = ANY (s.sites) AND x.family = ANY (f.families)) AS paused
          FROM (${asked(authority, of)}) s
         CROSS JOIN LATERAL (SELECT ARRAY(SELECT DISTINCT split_part(t, '.', 1) FROM unnest(s.event_types) AS t)) AS f (families)
         WHERE guard.ok
      ) s ON true`,
  );
  const [row] = rows;
  if (row?.present !== true) return { proof, answer: new Failure('not_found') };
  if (!row.event_types.every((type) => EVENT_TYPE.test(type)))
    return { proof, answer: new Failure('subscription_corrupt') };
  const found = new Map<string, JournalRow[]>();
  for (const [site, position, eventType, occurredAt, recordedAt] of row.found ?? []) {
    const before = found.get(site) ?? [];
    before.push({ position, eventType, occurredAt, recordedAt });
    found.set(site, before);
  }
  const ids = new Map([...authority.websites.values()].map(({ id, site }) => [site, id]));
  const answer = {
    now: row.now,
    revision: row.revision,
    eventTypes: row.event_types,
    paused: row.paused,
    websites: (row.heads ?? []).map(([site, head, trimmed, reported]) => ({
      website: ids.get(site) ?? '',
      head,
      trimmed,
      reported,
      rows: found.get(site) ?? [],
    })),
  };
  return { proof, answer };
}

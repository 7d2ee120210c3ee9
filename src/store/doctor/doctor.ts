import { EVENT_FAMILIES, EVENT_KINDS } from '../../core/events.ts';
import type { WebsiteKey } from '../../core/ids.ts';
import { type Fragment, join, raw, sql } from '../../core/sql.ts';
import { mayConsent, mayEnter } from '../calls/guard.ts';
import type { Database } from '../driver/postgres.ts';
import { NUMBERED } from '../events/journal.ts';

// The checks of `gateway doctor`. Each check counts wrong rows in one snapshot of the store.

export const sitesOfStore = (db: Database): Promise<WebsiteKey[]> =>
  db.query<WebsiteKey>(
    sql`SELECT tenant, site, 'web_' || tenant || '_' || site AS id FROM platform.website ORDER BY tenant, site`,
  );

const countOf =
  (statement: Fragment) =>
  async (db: Database): Promise<number> =>
    (await db.query<{ count: number }>(statement))[0]?.count ?? 0;

/** 1 if the server would refuse a change: somebody has made it, the database or the role read-only. */
export const readOnly = countOf(
  sql`SELECT count(*)::integer AS count WHERE current_setting('transaction_read_only')::boolean`,
);

const countBySite =
  (statement: (site: WebsiteKey) => Fragment) =>
  async (db: Database, site: WebsiteKey): Promise<number> =>
    countOf(statement(site))(db);

/** Counts conversations whose stored totals (02_totals.sql) differ from their messages and AI results. */
export const wrongTotals = countBySite(
  ({ tenant, site }) => sql`
    WITH ordered AS (
      SELECT m.conversation_id AS id, m.author_type AS author, m.visibility = 'public' AS seen, m.ai_generated AS ai, m.created_at AS at,
             lag(m.author_type) OVER w AS before, lag(m.created_at) OVER w AS before_at,
             min(m.created_at) FILTER (WHERE m.visibility = 'public' AND m.author_type = 'visitor')
               OVER (PARTITION BY m.conversation_id) AS asked_at
        FROM platform.message m WHERE m.tenant = ${tenant} AND m.site = ${site}
      WINDOW w AS (PARTITION BY m.conversation_id, m.visibility ORDER BY m.created_at, m.id)
    ), said AS (
      SELECT id, count(*) FILTER (WHERE seen) AS total,
             count(*) FILTER (WHERE seen AND author = 'visitor') AS visitor,
             count(*) FILTER (WHERE seen AND author = 'bot') AS bot,
             count(*) FILTER (WHERE seen AND author = 'operator') AS operator,
             max(at) FILTER (WHERE seen) AS last_at, min(asked_at) AS asked_at,
             min(at) FILTER (WHERE seen AND author <> 'visitor' AND at >= asked_at) AS reply_at,
             min(at) FILTER (WHERE seen AND author = 'operator' AND at >= asked_at) AS operator_reply_at,
             max(at) FILTER (WHERE seen AND author = 'operator') AS last_operator_at,
             min(at) FILTER (WHERE ai) AS ai_at, bool_or(ai AND seen) AS ai_seen,
             coalesce(sum(extract(epoch FROM at - before_at)) FILTER (WHERE answers), 0) AS waited,
             count(*) FILTER (WHERE answers) AS answers
        FROM (SELECT *, seen AND author IN ('bot', 'operator') AND before = 'visitor' AS answers FROM ordered) o GROUP BY id
    ), recorded AS (
      SELECT DISTINCT r.conversation_id AS id FROM platform.ai_result r WHERE r.tenant = ${tenant} AND r.site = ${site}
    )
    SELECT count(*)::integer AS count
      FROM platform.conversation c LEFT JOIN said s ON s.id = c.id LEFT JOIN recorded r ON r.id = c.id
     WHERE c.tenant = ${tenant} AND c.site = ${site} AND (
           (c.message_count, c.visitor_messages, c.bot_messages, c.operator_messages, c.response_count)
             IS DISTINCT FROM (coalesce(s.total, 0), coalesce(s.visitor, 0), coalesce(s.bot, 0), coalesce(s.operator, 0), coalesce(s.answers, 0))
        OR (c.last_message_at, c.first_visitor_at, c.first_reply_at, c.first_operator_reply_at)
             IS DISTINCT FROM (s.last_at, s.asked_at, s.reply_at, s.operator_reply_at)
        OR abs(c.response_seconds - coalesce(s.waited, 0)) > 0.001
        OR c.ai_involved <> (s.ai_at IS NOT NULL OR r.id IS NOT NULL)
        OR c.ai_customer_facing <> coalesce(s.ai_seen, false)
        OR c.ai_escalated <> coalesce(s.last_operator_at > coalesce(s.ai_at, CASE WHEN r.id IS NOT NULL THEN c.created_at END), false))`,
);

/**
 * Counts two things: messages whose number of attachments is wrong, and wrong files. A file is wrong when its message
 * belongs to another conversation, or when content is missing.
 */
export const wrongFiles = countBySite(
  ({ tenant, site }) => sql`
    WITH files AS (
      SELECT f.id, f.message_id, f.conversation_id, f.size, f.sha256,
             (SELECT coalesce(sum(length(k.bytes)), 0) FROM platform.file_chunk k
               WHERE k.tenant = f.tenant AND k.site = f.site AND k.file_id = f.id) AS held
        FROM platform.file f WHERE f.tenant = ${tenant} AND f.site = ${site}
    ), attached AS (SELECT message_id, count(*) AS n FROM files GROUP BY message_id)
    SELECT ((SELECT count(*) FROM platform.message m LEFT JOIN attached a ON a.message_id = m.id
              WHERE m.tenant = ${tenant} AND m.site = ${site} AND m.attachment_count <> coalesce(a.n, 0))
          + (SELECT count(*) FROM files f JOIN platform.message m ON m.tenant = ${tenant} AND m.site = ${site} AND m.id = f.message_id
              WHERE m.conversation_id <> f.conversation_id 
                 -- A file without a digest has no content: only the helpdesk has it.
                 OR f.sha256 IS NOT NULL AND f.size <> f.held))::integer AS count`,
);

/**
 * Counts the kinds of record whose highest number is above the last reserved number. The next record of such a kind
 * would get a number that is already in use.
 */
export const overtakenNumbers = countBySite(
  ({ tenant, site }) => sql`
    SELECT count(*)::integer AS count FROM (${join(
      NUMBERED.map(
        (
          kind,
        ) => sql`SELECT ${kind}::text AS kind, ${kind === 'operator' ? '0' : site}::bigint AS site, max(x.id) AS highest
                        FROM platform.${raw(kind)} x WHERE x.tenant = ${tenant} AND x.site = ${site}`,
      ),
      ' UNION ALL ',
    )}) used
    LEFT JOIN platform.native_id n ON n.tenant = ${tenant} AND n.site = used.site AND n.kind = used.kind
   WHERE used.highest > coalesce(n.last, 0)`,
);

export const brokenJournals = (db: Database): Promise<{ id: string }[]> =>
  db.query<{ id: string }>(sql`
    SELECT 'web_' || tenant || '_' || site AS id
      FROM (SELECT tenant, site, count(*) AS held, min(position) AS low, max(position) AS high
              FROM gateway.journal GROUP BY tenant, site) j
      FULL JOIN gateway.journal_head h USING (tenant, site)
     WHERE coalesce(j.held, 0) <> coalesce(h.position - h.trimmed, 0)
        OR j.held > 0 AND (j.low, j.high) IS DISTINCT FROM (h.trimmed + 1, h.position)
     ORDER BY tenant, site`);

export const unknownReceipts = countOf(sql`
  SELECT count(*)::integer AS count FROM gateway.journal
   WHERE NOT (split_part(event_type, '.', 1) = ANY (${EVENT_FAMILIES}::text[])
              AND split_part(event_type, '.', 2) = ANY (${EVENT_KINDS}::text[]) AND split_part(event_type, '.', 3) = '')`);

/** How long (s) after the end of its lease a write can wait for a replica to take it over (gateway/upkeep.ts). */
export const UPKEEP_LIMIT = 60;

/** Counts writes that are pending long after the end of their lease, and old ones that have no lease and wait for no person. */
export const stuckOperations = countOf(sql`
  SELECT count(*)::integer AS count FROM gateway.operation
   WHERE status = 'pending' AND gateway.lives_here(tenant) AND NOT EXISTS (SELECT FROM gateway.approval a WHERE a.operation_id = operation.operation_id AND a.state = 'pending')
     AND coalesce(lease_until, created_at) < now() - make_interval(secs => ${UPKEEP_LIMIT}::integer)`);

/**
 * Counts notes whose write was not recorded completely. The ledger of writes stores a note, its acknowledged operation
 * and its receipt in one transaction, with the same time. The check finds notes that lack an operation with this time,
 * or a receipt with this time in the kept part of the journal.
 *
 * The check covers only notes. A disposition, or an effect in another system, leaves no row to compare.
 */
export const unrecordedNotes = countBySite(
  ({ tenant, site }) => sql`
    WITH written AS (
      SELECT o.created_at AS at, count(*) AS n
        FROM platform.note x
        LEFT JOIN gateway.operation o ON o.operation_id = x.external_id AND o.tenant = x.tenant AND o.site = x.site
         AND o.status = 'acknowledged'
       WHERE x.tenant = ${tenant} AND x.site = ${site} AND x.external_id ~ '^op_[a-f0-9]{64}$' GROUP BY 1
    ), told AS (
      SELECT occurred_at AS at, count(*) AS n FROM gateway.journal
       WHERE tenant = ${tenant} AND site = ${site} AND event_type = 'visitor.changed' GROUP BY 1
    ), kept AS (
      SELECT min(occurred_at) AS since FROM gateway.journal WHERE tenant = ${tenant} AND site = ${site}
    )
    SELECT coalesce(sum(greatest(0, w.n - coalesce(t.n, 0))), 0)::integer AS count
      FROM kept CROSS JOIN written w LEFT JOIN told t ON t.at = w.at
     WHERE w.at IS NULL OR w.at >= coalesce(kept.since, '-infinity')`,
);

/** Within this many seconds, a replica ends each task with an expired lease and deletes each expired task. */
const SWEPT = 5;

/** The old cell of a moved organization leaves its tasks alone. */
const LIVES_HERE = sql`gateway.credential_moved_to(credential_id) IS NULL`;

export const lapsedTasks = countOf(sql`
  SELECT count(*)::integer AS count FROM gateway.task
   WHERE state IN ('submitted', 'working') AND expires_at > now() AND ${LIVES_HERE}
     AND coalesce(lease_until, '-infinity') < now() - make_interval(secs => ${SWEPT}::integer)`);

export const misplacedArtifacts = countOf(sql`
  SELECT count(*)::integer AS count FROM gateway.task WHERE artifact IS NOT NULL AND state <> 'completed'`);

export const expiredTasks = countOf(sql`
  SELECT count(*)::integer AS count FROM gateway.task
   WHERE expires_at < now() - make_interval(secs => ${SWEPT}::integer) AND ${LIVES_HERE}`);

export const orphanedTokens = countOf(sql`
  SELECT count(*)::integer AS count FROM gateway.token t JOIN gateway.credential c ON c.id = t.credential_id
   WHERE c.revoked_at IS NOT NULL AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now())`);

export const missingWebsites = countOf(sql`
  SELECT count(*)::integer AS count
    FROM gateway.credential c JOIN gateway.installation i ON i.id = c.installation_id JOIN gateway.app a ON a.id = i.app_id
   WHERE c.revoked_at IS NULL AND EXISTS (
     SELECT FROM unnest(c.sites) AS s (site)
      WHERE NOT EXISTS (SELECT FROM platform.website w WHERE w.tenant = a.tenant AND w.site = s.site))`);

/**
 * Counts authors of active credentials who cannot write: they are disabled, or their website is not granted or belongs
 * to another organization.
 */
export const uselessAuthors = countOf(sql`
  SELECT count(*)::integer AS count
    FROM gateway.native_author n
    JOIN gateway.credential c ON c.id = n.credential_id
    JOIN gateway.installation i ON i.id = c.installation_id JOIN gateway.app a ON a.id = i.app_id
    JOIN platform.operator p ON p.tenant = n.tenant AND p.site = n.site AND p.id = n.operator_id
   WHERE c.revoked_at IS NULL AND NOT (p.enabled AND n.site = ANY (c.sites) AND n.tenant = a.tenant)`);

/**
 * Counts imports of files that neither run nor have finished, and the receipts that these imports have not appended to the
 * journals yet.
 */
export const unfinishedImports = countOf(sql`
  SELECT ((SELECT count(*) FROM gateway.import_run WHERE unfinished AND snapshots AND lease_until < clock_timestamp())
   + (SELECT count(*) FROM gateway.import_owed o
       WHERE NOT EXISTS (SELECT FROM gateway.import_run r WHERE r.slot = o.slot AND r.lease_until >= clock_timestamp())))::integer AS count`);

// The gateway's secrets. Most contain a checksum, which tells them from similar text (auth/tokens.ts). Webhook secrets
// have none.
const SECRET = 'igw[a-z]{0,2}_(?:live_|test_)?[0-9A-Za-z]{49}|whsec_[0-9A-Za-z+/]{43}=';

/**
 * Returns every value (text or bytes) in the gateway's own tables that looks like a secret, with its table. The caller
 * must show it to nobody.
 */
export async function suspectedSecrets(db: Database): Promise<{ table: string; secret: string }[]> {
  const tables = await db.query<{ name: string; row: string }>(sql`
    SELECT t.table_name AS name, concat_ws(' || '' '' || ', 'x::text',
             string_agg(format('coalesce(encode(x.%I, ''escape''), '''')', c.column_name), ' || '' '' || ')
               FILTER (WHERE c.data_type = 'bytea')) AS row
      FROM information_schema.tables t JOIN information_schema.columns c USING (table_schema, table_name)
     WHERE t.table_schema = 'gateway' AND t.table_type = 'BASE TABLE' AND t.table_name NOT LIKE 'import_chunk%'
     GROUP BY t.table_name ORDER BY t.table_name`);
  const found: { table: string; secret: string }[] = [];
  for (const { name, row } of tables) {
    // The catalog gives the table names, and PostgreSQL has quoted the columns, so both are safe in SQL.
    const rows = await db.query<{ secret: string }>(sql`
      SELECT m[1] AS secret
        FROM gateway.${raw(name)} x CROSS JOIN LATERAL regexp_matches(${raw(row)}, ${`(${SECRET})`}::text, 'g') AS m
       WHERE strpos(${raw(row)}, 'igw') > 0 OR strpos(${raw(row)}, 'whsec_') > 0`);
    found.push(...rows.map(({ secret }) => ({ table: name, secret })));
  }
  return found;
}

/** Counts usable access tokens of ended consents and of deleted credentials. orphanedTokens counts those of revoked ones. */
export const outlivingTokens = countOf(sql`
  SELECT count(*)::integer AS count
    FROM gateway.token t
    LEFT JOIN gateway.consent c ON c.id = t.consent_id
    LEFT JOIN gateway.credential k ON k.id = t.credential_id
   WHERE t.kind = 'access' AND t.revoked_at IS NULL AND t.expires_at > now()
     AND (k.id IS NULL OR (t.consent_id IS NOT NULL
          AND (c.id IS NULL OR c.revoked_at IS NOT NULL OR c.expires_at <= now() OR c.credential_id <> t.credential_id)))`);

export const unentitledPeople = countOf(sql`
  SELECT ((SELECT count(*) FROM gateway.session s JOIN gateway.person p ON p.id = s.person_id
       WHERE s.expires_at > now() AND gateway.lives_here(p.tenant) AND NOT (${mayEnter}))
   + (SELECT count(*) FROM gateway.consent c JOIN gateway.person p ON p.id = c.person_id
       WHERE c.revoked_at IS NULL AND c.expires_at > now() AND gateway.lives_here(p.tenant) AND NOT (${mayConsent})))::integer AS count`);

/** Counts consents with several usable refresh tokens. A consent may have only one. */
export const splitFamilies = countOf(sql`
  SELECT count(*)::integer AS count FROM (
   SELECT FROM gateway.refresh_token r WHERE r.used_at IS NULL GROUP BY r.consent_id HAVING count(*) > 1) split`);

/** A replica repeats a lost delivery at most this many seconds after the lease of the delivery has ended. */
const TAKEN_UP = 60;

/** Counts deliveries whose lease has ended without another attempt. Those of a held event family wait on purpose. */
export const lapsedDeliveries = countOf(sql`
  SELECT count(*)::integer AS count FROM gateway.webhook_delivery d JOIN gateway.webhook_endpoint e ON e.id = d.endpoint_id
   WHERE d.status = 'pending' AND e.enabled AND gateway.lives_here(e.tenant) AND d.lease_until < now() - make_interval(secs => ${TAKEN_UP}::integer)
     AND NOT EXISTS (SELECT FROM gateway.family_hold f
                      WHERE f.tenant = d.tenant AND f.site = d.site AND f.family = split_part(d.event_type, '.', 1))`);

/** Counts enabled endpoints without events, because their credential has ended or may not get the website's events. */
export const unpermittedEndpoints = countOf(sql`
  SELECT count(*)::integer AS count FROM gateway.webhook_endpoint e
   WHERE e.enabled AND e.subscription_id IS NULL AND NOT gateway.may_be_told(e.credential_id, e.tenant, e.site)`);

/** How far a source may be behind, in seconds. */
const BEHIND = 60;

/** Counts sources that fail, are behind, or could not be compared. A paused source does not count. */
export const lateSources = countOf(sql`
  SELECT count(*)::integer AS count FROM gateway.source s
   WHERE NOT s.paused AND gateway.lives_here(s.tenant) AND (gateway.source_state(s) = 'failing' OR gateway.source_lag(s) > ${BEHIND} OR s.compare_error IS NOT NULL)`);

export const rejectedRows = countOf(sql`
  SELECT count(DISTINCT (source, origin))::integer AS count FROM gateway.source_reject`);

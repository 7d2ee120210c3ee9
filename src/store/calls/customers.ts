import { Failure, invalidCursor } from '../../core/failures.ts';
import { fitsBigint, MAX_BIGINT, type WebsiteKey } from '../../core/ids.ts';
import type { Customer, CustomerPage, CustomerRequest } from '../../core/reads.ts';
import { type Fragment, join, raw, sql } from '../../core/sql.ts';
import { rfc3339 } from '../../core/view.ts';
import type { TypedPhone } from '../../views/phone.ts';
import { guarded, type Proved } from './guard.ts';
import type { WebsiteAccess } from './read.ts';
import { sealed, timeOf, unsealed, untilBuilt } from './search.ts';

/** A customer has at most this many visitors in an answer. */
const VISITORS = 100;
const SUBJECT = 500;
/** The newest conversations in an answer. */
const LAST = 5;
const MOST_SAME = raw('100');

/** A position in the list: newest contact first, then in the order of website and id. */
interface CustomerPosition {
  readonly micros: string;
  readonly site: string;
  readonly id: string;
}

interface CustomerRow extends CustomerPosition {
  readonly known: boolean;
  readonly name: string | null;
  readonly email: string | null;
  readonly phone: string | null;
  readonly visitors: readonly string[] | null;
  readonly conversations: string | null;
  readonly last: readonly LastConversation[] | null;
  readonly same_number: number | null;
  readonly same_name: number | null;
}

type LastConversation = readonly [
  ...[id: string, created_at: string, status: string, platform: string],
  ...[disposition: string | null, subject: string | null],
];

/** True if a contact's name is the only key. Then the index of words finds the contacts. */
const onlyByName = ({ name, email, phone, external_id }: CustomerRequest['by']): boolean =>
  name !== undefined && email === undefined && phone === undefined && external_id === undefined;

/** Finds contacts of several websites in one guarded statement. */
export async function readCustomers(access: WebsiteAccess, request: CustomerRequest): Promise<Proved<CustomerPage>> {
  const { by, websites, limit, cursor, conversations } = request;
  const search = JSON.stringify([by, websites.map(({ id }) => id)]);
  const start = cursor === undefined ? undefined : placeOf(cursor, search);
  // All websites of a credential belong to one organization.
  const tenant = websites[0]?.tenant ?? '0';
  const sites = websites.map((one) => one.site);
  const granted = [...access.authority.websites.values()].map((one) => one.site);
  const known = by.name !== undefined ? sql`platform.name_query(0, 0, ${by.name}) IS NOT NULL` : raw('true');
  const { proof, rows } = await guarded<CustomerRow>(
    access,
    sql`${known} AS known, d.*`,
    sql`LEFT JOIN LATERAL (
      SELECT (extract(epoch FROM ct.created_at) * 1000000)::bigint::text AS micros, ct.site, ct.id, ct.name, ct.email,
             ${shownPhone(by)} AS phone, ${sameOnes(tenant, granted, limit)}, ${conversations ? HISTORY : NO_HISTORY}
        FROM (SELECT f.site, f.id, row_number() OVER () AS place
                FROM (${found(by, { tenant, sites }, start, limit + 1)}) f) hit
       CROSS JOIN LATERAL (
          SELECT * FROM platform.contact p
           WHERE p.tenant = ${tenant} AND p.site = hit.site AND p.site = ANY(${sites}::bigint[]) AND p.id = hit.id LIMIT 1) ct
       WHERE guard.ok AND ${known} AND gateway.built('contact')
       ORDER BY ct.created_at DESC, ct.site DESC, ct.id DESC) d ON true`,
  ).catch(untilBuilt);
  if (rows[0]?.known !== true) return { proof, answer: new Failure('invalid_parameter', { errors: [NO_WORD] }) };
  const all = rows.filter(({ id }) => id !== null);
  const shown = all.slice(0, limit);
  const last = all.length > limit ? shown.at(-1) : undefined;
  return {
    proof,
    answer: {
      customers: shown.map((row) => customerOf(row, websites)),
      next_cursor: last ? cursorOf(last, search) : null,
    },
  };
}

const NO_WORD = { parameter: 'name', code: 'invalid_parameter' as const, expected: 'at least one letter or digit' };

// The same conversations that conversations_list shows for the contact.
const HISTORY = raw(`
  ARRAY(SELECT k.visitor_id FROM platform.visitor_contact k
         WHERE k.tenant = ct.tenant AND k.site = ct.site AND k.contact_id = ct.id
         ORDER BY k.visitor_id DESC LIMIT ${VISITORS})::text[] AS visitors,
  (SELECT count(*) FROM platform.conversation_contact k
    WHERE k.tenant = ct.tenant AND k.site = ct.site AND k.contact_id = ct.id) AS conversations,
  (SELECT jsonb_agg(jsonb_build_array(l.id::text, l.at, l.status, l.platform, l.disposition, l.subject)
            ORDER BY l.created_at DESC, l.id DESC)
     FROM (SELECT c.id, c.created_at, c.created_at::text AS at, c.status, c.platform, c.disposition,
                  left(c.subject, ${SUBJECT + 1}) AS subject
             FROM platform.conversation_contact k
             JOIN platform.conversation c ON c.tenant = k.tenant AND c.site = k.site AND c.id = k.conversation_id
            WHERE k.tenant = ct.tenant AND k.site = ct.site AND k.contact_id = ct.id
            ORDER BY c.created_at DESC, c.id DESC LIMIT ${LAST}) l) AS last`);
const NO_HISTORY = raw('NULL AS visitors, NULL AS conversations, NULL AS last');

/** False while an upgraded store builds the index. A count without it would read all contacts of a website. */
const NAMED_BY_INDEX = raw(`(SELECT gateway.index_built('contact_name_folded'))`);

/**
 * Other contacts of the granted websites with the number or the name of contact \`ct\`, counted up to MOST_SAME. By the index
 * of words, a look-up took 261 ms among four million people who share a word, such as "Visitor". By the index of names it
 * takes 1.9 ms (29 November 2026). The row after the page is not shown, so it needs no count.
 */
const sameOnes = (tenant: string, sites: readonly string[], limit: number): Fragment => sql`
  CASE WHEN hit.place <= ${limit}::integer AND coalesce(ct.mobile_e164, ct.phone_e164) IS NOT NULL THEN (
    SELECT count(*) FROM (
      SELECT FROM platform.contact s
       WHERE s.tenant = ${tenant} AND s.site = ANY(${sites}::bigint[]) AND NOT s.deleted AND (s.site, s.id) <> (ct.site, ct.id)
         AND (${sameNumber('s.mobile')} OR ${sameNumber('s.phone')}) LIMIT ${MOST_SAME}) o)::integer END AS same_number,
  CASE WHEN hit.place <= ${limit}::integer AND platform.name_query(0, 0, ct.name) IS NOT NULL AND ${NAMED_BY_INDEX} THEN (
    SELECT count(*) FROM (
      SELECT FROM unnest(${sites}::bigint[]) AS w (site)
       CROSS JOIN LATERAL (
          SELECT FROM platform.contact s
           WHERE s.tenant = ${tenant} AND s.site = w.site AND NOT s.deleted AND (s.site, s.id) <> (ct.site, ct.id)
             AND s.name IS NOT NULL AND lower(s.name) = lower(ct.name) LIMIT ${MOST_SAME}) s
       LIMIT ${MOST_SAME}) o)::integer END AS same_name`;

const sameNumber = (column: string): Fragment =>
  raw(`(coalesce(${column}_e164, ${column}) IS NOT NULL
    AND platform.phone_key(coalesce(${column}_e164, ${column})) = platform.phone_key(coalesce(ct.mobile_e164, ct.phone_e164))
    AND ${column}_e164 = coalesce(ct.mobile_e164, ct.phone_e164))`);

interface Websites {
  readonly tenant: string;
  readonly sites: readonly string[];
}

/** SQL: the site and the id of the next `limit` contacts. */
function found(
  by: CustomerRequest['by'],
  { tenant, sites }: Websites,
  start: CustomerPosition | undefined,
  limit: number,
): Fragment {
  const at = start ? timeOf(start.micros) : sql`'infinity'::timestamptz`;
  const { site = '0', id = '0' } = start ?? {};
  if (onlyByName(by))
    return sql`SELECT w.site, n.id FROM unnest(${sites}::bigint[]) AS w (site)
      CROSS JOIN LATERAL platform.newest_hits(
        (${tenant}::bigint, w.site, 'contact', true, NULL, NULL, NULL, NULL, NULL, ${at},
         CASE WHEN w.site = ${site}::bigint THEN ${id}::bigint WHEN w.site < ${site}::bigint THEN ${MAX_BIGINT}::bigint ELSE 0 END)::platform.searched,
        platform.name_query(${tenant}, w.site, ${by.name ?? ''}), ${limit}::integer) n
     ORDER BY n.at DESC, w.site DESC, n.id DESC LIMIT ${limit}::integer`;
  return sql`SELECT t.site, t.id FROM platform.contact t
     WHERE t.tenant = ${tenant} AND t.site = ANY(${sites}::bigint[]) AND NOT t.deleted AND ${join(matches(by), ' AND ')} AND (t.created_at, t.site, t.id) < (${at}, ${site}::bigint, ${id}::bigint)
     ORDER BY t.created_at DESC, t.site DESC, t.id DESC LIMIT ${limit}::integer`;
}

const matches = ({ email, phone, name, external_id }: CustomerRequest['by']): Fragment[] => [
  ...(email === undefined ? [] : [sql`t.email IS NOT NULL AND lower(t.email) = lower(${email})`]),
  ...(external_id === undefined ? [] : [sql`t.external_id = ${external_id}`]),
  ...(phone === undefined ? [] : [sql`(${samePhone(phone, 't.mobile')} OR ${samePhone(phone, 't.phone')})`]),
  ...(name === undefined
    ? []
    : [sql`platform.name_words(t.tenant, t.site, t.id, t.name) @@ platform.name_query(t.tenant, t.site, ${name})`]),
];

/** SQL: true if the number in a column is one of the numbers that the caller can mean. */
function samePhone(phones: readonly TypedPhone[], column: string): Fragment {
  const normal = raw(`${column}_e164`);
  const number = raw(`coalesce(${column}_e164, ${column})`);
  const same = phones.map(
    ({ e164, digits }) =>
      sql`(${number} IS NOT NULL AND platform.phone_key(${number}) = platform.phone_key(${e164 ?? digits}) AND
    CASE WHEN ${normal} IS NOT NULL AND ${e164}::text IS NOT NULL THEN ${normal} = ${e164} ELSE platform.same_phone(${number}, ${e164 ?? digits}) END)`,
  );
  return sql`(${join(same, ' OR ')})`;
}

/** SQL for the phone number to show: the number that the caller typed, else one in E.164 form, else any number. */
function shownPhone(by: CustomerRequest['by']): Fragment {
  const any = raw('coalesce(ct.mobile_e164, ct.phone_e164, ct.mobile, ct.phone)');
  if (by.phone === undefined) return any;
  return sql`CASE WHEN ${samePhone(by.phone, 'ct.mobile')} THEN coalesce(ct.mobile_e164, ct.mobile)
    WHEN ${samePhone(by.phone, 'ct.phone')} THEN coalesce(ct.phone_e164, ct.phone) ELSE ${any} END`;
}

function customerOf(row: CustomerRow, websites: readonly WebsiteKey[]): Customer {
  const website = websites.find(({ site }) => site === row.site);
  if (!website) throw new Error('the look-up has found a contact of a website that nobody asked for');
  const { id, name, email, phone, visitors, conversations } = row;
  const last = (row.last ?? []).map(([conversation, at, status, platform, disposition, subject]) => ({
    ...{ id: conversation, created_at: rfc3339(at), status, platform, disposition, subject },
  }));
  const history = visitors && conversations !== null ? { visitors, conversations: Number(conversations), last } : null;
  const same = { number: row.same_number, name: row.same_name };
  return { website, id, name, email, phone, same, history };
}

// The cursor has no signature, because it gives no rights: every page checks the authority of the caller.
const cursorOf = ({ micros, site, id }: CustomerPosition, search: string): string =>
  sealed(`${micros}.${site}.${id}`, search);

/** Throws `invalid_cursor` for a cursor of another search. */
function placeOf(cursor: string, search: string): CustomerPosition {
  const [, micros = '', site = '', id = ''] =
    /^(-?\d{1,17})\.([1-9]\d{0,18})\.([1-9]\d{0,18})$/.exec(unsealed(cursor, search)) ?? [];
  if (!fitsBigint(site) || !fitsBigint(id)) throw invalidCursor();
  return { micros, site, id };
}

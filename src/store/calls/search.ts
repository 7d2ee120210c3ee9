import { createHash } from 'node:crypto';
import { Failure, invalidCursor } from '../../core/failures.ts';
import { fitsBigint, MAX_BIGINT } from '../../core/ids.ts';
import type { SearchHit, SearchPage, SearchRequest } from '../../core/reads.ts';
import { RESTRICTIONS } from '../../core/scopes.ts';
import { type Correction, SAID } from '../../core/search.ts';
import { type Fragment, raw, sql } from '../../core/sql.ts';
import { sqlState } from '../driver/errors.ts';
import { guarded, type Proved } from './guard.ts';
import { permitted } from './projection.ts';
import type { WebsiteAccess } from './read.ts';

/** How many hits the order `best` ranks at a time: first the newest hits among themselves, then the next older ones. */
const WINDOW = 200;

/** A snippet is cut around the first match of these terms. Few, because each is searched in each text of a page. */
const TERMS = 16;

/** A position in the order of time. The page begins with the hits before it, without the first `skip` hits. */
interface ResultsPosition extends HitPosition {
  readonly skip: number;
  /** The time of the newest hit of the first page, in microseconds. */
  readonly top: string;
  /** The words of the query that the first page has corrected, as bits. All pages of a walk correct the same words. */
  readonly mask: string;
}

interface HitPosition {
  readonly micros: string;
  readonly kind: number;
  readonly site: string;
  readonly id: string;
  /** If the last page stopped inside a conversation: the next message to check. The page begins with the hit itself. */
  readonly unread: string | undefined;
}

interface SearchRow extends Omit<SearchHit, 'kind' | 'website' | 'created_at'> {
  readonly known: boolean;
  readonly found: number;
  /** The positions of the newest and the oldest hit of the window. Null if there is no hit. */
  readonly top: string | null;
  readonly bottom: string | null;
  /** Null if the page has no hit. */
  readonly kind: number | null;
  readonly site: string;
  readonly at: Date;
  readonly place: string;
  readonly corrected: readonly Correction[];
  readonly mask: number;
  /** The spellings that stand in the text of this hit. */
  readonly held: readonly string[];
}

/**
 * Searches texts of several websites in one guarded statement. Leaves out what the caller may not see before hits are
 * counted, ranked or cut.
 */
export async function readSearch(access: WebsiteAccess, request: SearchRequest): Promise<Proved<SearchPage>> {
  const { groups, websites, includeInternal, authors, each, order, limit, cursor } = request;
  const { kinds, from, to } = request;
  // A search without the last two has the cursors of the versions before them.
  const more = authors || each ? [[...new Set(authors)].sort(), each] : [];
  const search = JSON.stringify([
    groups,
    kinds,
    websites.map(({ id }) => id),
    includeInternal,
    from,
    to,
    order,
    ...more,
  ]);
  const start = cursor === undefined ? undefined : placeOf(cursor, search);
  const best = order === 'best';
  const window = best ? WINDOW : limit * 3;
  const terms = groups.flatMap((group) => group.flatMap(({ text, not }) => (not ? [] : [text]))).slice(0, TERMS);
  const { proof, rows } = await guarded<SearchRow>(
    access,
    sql`r.*`,
    sql`LEFT JOIN LATERAL (
      SELECT f.*, q.corrected, q.mask, ${beside(request)},
             CASE WHEN q.mask = 0 OR f.kind IS NULL THEN '{}'
                  ELSE platform.held_words((${KINDS}::text[])[f.kind + 1], (s.streams[1]).tenant, f.site, f.id, q.words) END AS held
        FROM (SELECT ${streams(access, request, start)} AS streams OFFSET 0) s
       CROSS JOIN LATERAL platform.respelled(s.streams, ${JSON.stringify(groups)}::text::jsonb, ${start?.mask ?? null}::integer) AS q
       CROSS JOIN LATERAL platform.search_page(${KINDS}::text[], s.streams, q.groups, (q.words || ${terms}::text[])[1:${TERMS}::integer],
        ${authors ?? null}::text[], ${each}, ${best}, ${window}::integer, ${start?.skip ?? 0}::integer, ${limit + 1}::integer,
        ${start ? timeOf(start.top) : raw('NULL')}, ${start?.unread ?? null}::bigint) AS f
       WHERE guard.ok) r ON true`,
  ).catch(untilBuilt);
  const [first] = rows;
  if (first?.known !== true) return { proof, answer: new Failure('invalid_parameter', { errors: [NO_WORD] }) };
  const found = rows.filter(({ kind }) => kind !== null);
  const shown = found.slice(0, limit);
  const newest = positionOf(first.top ?? '');
  const top = start?.top ?? newest?.micros ?? '0';
  const mask = String(first.mask);
  const next = (): ResultsPosition | undefined => {
    const last = shown.at(-1);
    const ended = found.length <= limit || !last;
    if (ended && first.found !== window) return undefined;
    // The next page has the same window, without the hits that were shown.
    if (!ended && best) return { ...(start ?? above(top)), skip: (start?.skip ?? 0) + limit, top, mask };
    const position = positionOf((ended ? first.bottom : last.place) ?? '');
    return position && { ...position, skip: 0, top, mask };
  };
  const place = next();
  const hits = shown.map((row) => hitOf(row, request));
  const held = new Set(shown.flatMap((row) => row.held));
  const corrected = first.corrected
    .map(({ word, used }) => ({ word, used: used.filter((one) => held.has(one)) }))
    .filter(({ used }) => used.length > 0);
  return { proof, answer: { hits, corrected, next_cursor: place ? cursorOf(place, search) : null } };
}

/** SQL for what a page tells beside each hit: the status, the author of a message, and the first contact. */
const beside = ({ people, websites }: SearchRequest): Fragment => {
  const tenant = websites[0]?.tenant ?? '0';
  const sites = sql`${websites.map(({ site }) => site)}::bigint[]`;
  return sql`
  CASE WHEN f.kind < 2 THEN (
    SELECT c.status FROM platform.conversation c
     WHERE c.tenant = ${tenant} AND c.site = f.site AND c.site = ANY(${sites}) AND c.id = f.conversation_id) END AS status,
  CASE WHEN f.kind = 0 THEN (
    SELECT m.author_type FROM platform.message m
     WHERE m.tenant = ${tenant} AND m.site = f.site AND m.site = ANY(${sites}) AND m.id = f.id) END AS author_type,
  ${
    people
      ? sql`CASE WHEN f.kind < 2 THEN (
    SELECT jsonb_build_array(ct.id::text, ct.name) FROM platform.conversation_contact k
      JOIN platform.contact ct ON ct.tenant = k.tenant AND ct.site = k.site AND ct.id = k.contact_id AND NOT ct.deleted
     WHERE k.tenant = ${tenant} AND k.site = f.site AND k.site = ANY(${sites}) AND k.conversation_id = f.conversation_id
     ORDER BY ct.id LIMIT 1) END`
      : raw('NULL::jsonb')
  } AS customer`;
};

/** Seconds after which a caller can ask again while an index is being built. */
const BUILT_SOON = 30;

/** Throws the failure of a read that needs an index which a migration has not built yet (18_indexes.sql). */
export function untilBuilt(error: unknown): never {
  if (sqlState(error) !== 'GW503') throw error;
  const detail = 'The gateway is building an index after an upgrade. This operation answers when the index is built.';
  throw new Failure('service_unavailable', { detail, retryAfter: BUILT_SOON, cause: error });
}

const NO_WORD = {
  parameter: 'query',
  code: 'invalid_parameter' as const,
  expected: 'at least one word or number to find, also in each part beside or',
};

const KINDS = SAID.map((name) => name.slice(0, -1));

const positionOf = (text: string): HitPosition | undefined => {
  const [, micros = '', kind = '', site = '', id = '', unread] =
    /^(-?\d{1,17})\.([0-3])\.(\d{1,19})\.(\d{1,19})(?:\.(\d{1,19}))?$/.exec(text) ?? [];
  if (!fitsBigint(site || '9'.repeat(20)) || !fitsBigint(id)) return undefined;
  // The next id (beforeId) must fit, too.
  if (unread !== undefined && (!fitsBigint(unread) || id === MAX_BIGINT)) return undefined;
  return { micros, kind: Number(kind), site, id, unread };
};

/** The position directly above all hits of a time. */
const above = (micros: string): HitPosition => ({
  ...{ micros: String(BigInt(micros) + 1n), kind: 0, site: '0', id: '0' },
  unread: undefined,
});

export const timeOf = (micros: string): Fragment =>
  sql`'epoch'::timestamptz + ${micros}::bigint * interval '1 microsecond'`;

/** Binds the text of a cursor to its search. So a cursor of another search and a shortened cursor are refused. */
export const sealed = (text: string, search: string): string => {
  const digest = createHash('sha256').update(`${text}\n${search}`).digest('base64url').slice(0, 10);
  return Buffer.from(`${digest}:${text}`).toString('base64url');
};

/** Returns the text of a cursor. Throws `invalid_cursor` for a cursor of another search, and for any other text. */
export function unsealed(cursor: string, search: string): string {
  const text = Buffer.from(cursor, 'base64url').toString('latin1').slice(11);
  if (sealed(text, search) !== cursor) throw invalidCursor();
  return text;
}

// The cursor has no signature, because it gives no rights: every page checks the authority of the caller.
const cursorOf = ({ micros, kind, site, id, unread, skip, top, mask }: ResultsPosition, search: string): string =>
  sealed(
    `${micros}.${kind}.${site}.${id}${unread === undefined ? '' : `.${unread}`}:${skip}:${top}${mask === '0' ? '' : `:${mask}`}`,
    search,
  );

/** Throws `invalid_cursor` for a cursor of another search. */
function placeOf(cursor: string, search: string): ResultsPosition {
  const [text = '', skip = '', top = '', mask = '0'] = unsealed(cursor, search).split(':');
  const numbers = /^\d{1,3}$/.test(skip) && /^-?\d{1,17}$/.test(top) && /^\d{1,3}$/.test(mask);
  const position = numbers && positionOf(text);
  if (!position) throw invalidCursor();
  return { ...position, skip: Number(skip), top, mask };
}

/** What the search reads: each kind of each website, with the restrictions of the caller. */
function streams({ authority }: WebsiteAccess, request: SearchRequest, start: ResultsPosition | undefined): Fragment {
  const { websites, kinds, includeInternal, from = null, to = null } = request;
  const all = websites.flatMap((website) =>
    kinds.map((name) => {
      const kind = SAID.indexOf(name);
      const [channels, teams, subsites] = RESTRICTIONS.map((one) => permitted(authority, website, one) ?? null);
      return {
        ...{ tenant: website.tenant, site: website.site, kind: KINDS[kind], internal: includeInternal },
        ...{ channels, teams, subsites, from_at: from, to_at: to },
        before_id: start ? beforeId(start, kind, website.site) : '0',
      };
    }),
  );
  const at = start ? timeOf(start.micros) : sql`'infinity'::timestamptz`;
  // A website of a credential can be deleted, so there may be no stream at all.
  return sql`(SELECT coalesce(array_agg((s.tenant, s.site, s.kind, s.internal, s.channels, s.teams, s.subsites, s.from_at, s.to_at, ${at}, s.before_id)::platform.searched), '{}')
     FROM jsonb_to_recordset(${JSON.stringify(all)}::text::jsonb) AS s (
       tenant bigint, site bigint, kind text, internal boolean, channels bigint[], teams bigint[], subsites bigint[],
       from_at timestamptz, to_at timestamptz, before_id bigint))`;
}

/** The id below which a stream continues. Hits of one time are ordered by kind, website and newest id. */
function beforeId({ kind, site, id, unread }: ResultsPosition, ofKind: number, ofSite: string): string {
  const later = ofKind - kind || Number(BigInt(ofSite) - BigInt(site));
  if (later === 0) return unread !== undefined ? String(BigInt(id) + 1n) : id;
  return later > 0 ? MAX_BIGINT : '0';
}

function hitOf(row: SearchRow, { websites }: SearchRequest): SearchHit {
  const website = websites.find((one) => one.site === row.site);
  const kind = SAID[row.kind ?? -1];
  if (!website || !kind) throw new Error('the search has found a text that nobody asked for');
  const { id, conversation_id, visitor_id, at, subject, snippet, status, author_type, matches, customer } = row;
  return {
    ...{ kind, website, id, conversation_id, visitor_id, created_at: at.toISOString(), subject, snippet },
    ...{ status, author_type, matches, customer },
  };
}

import { type Authority, isRestricted } from '../core/authority.ts';
import { Failure } from '../core/failures.ts';
import { fitsBigint, parseId, type WebsiteKey } from '../core/ids.ts';
import type { Page, PageRequest, Within } from '../core/reads.ts';
import { type Fragment, join, raw, sql } from '../core/sql.ts';
import type { Projection, View } from '../core/view.ts';
import { guard, type Session, StaleAuthority } from './guard.ts';
import type { Database } from './postgres.ts';
import { callerOf, projectionOf, type Row } from './projection.ts';

/** One call's way to data: who asks, for which website, and whether a statement has proved the authority yet. */
export interface ReadSession extends Session {
  readonly db: Database;
  readonly website: WebsiteKey;
}

/**
 * A session's way to a website's data on these connections; what a statement proves there is proved for all of it. A class:
 * V8 keeps each object that is written with accessors as a dictionary, in the old generation (1.4 µs, and 0.1 so).
 */
export class SessionOn implements ReadSession {
  readonly db: Database;
  readonly website: WebsiteKey;
  readonly #session: Session;

  constructor(session: Session, db: Database, website: WebsiteKey) {
    this.#session = session;
    this.db = db;
    this.website = website;
  }

  get authority(): Authority {
    return this.#session.authority;
  }

  get verified(): boolean {
    return this.#session.verified;
  }

  set verified(value: boolean) {
    this.#session.verified = value;
  }
}

const YES = sql`true`;

/** Everything that decides whether a row of `view` exists for this caller, but for its id. */
function scope(session: ReadSession, view: View, extra: readonly Fragment[] = []): Fragment {
  const { authority, website } = session;
  const { alias } = view;
  return join(
    [
      sql`${raw(alias)}.tenant = ${website.tenant} AND ${raw(alias)}.site = ${website.site}`,
      ...(view.visible ? [view.visible] : []),
      ...(view.reachable && isRestricted(authority) ? [view.reachable(callerOf(session))] : []),
      ...extra,
    ],
    ' AND ',
  );
}

/** The native id inside a public one that belongs to the session's website; otherwise there is no such record. */
export function nativeId(session: ReadSession, view: View, id: string): string {
  const parsed = view.id === 'plain' ? { website: session.website.id, native: id } : parseId(id);
  if (!parsed || parsed.website !== session.website.id || !fitsBigint(parsed.native)) throw new Failure('not_found');
  return parsed.native;
}

/** Whether the record under a native id, which may be a column, exists for the caller: true, or null. */
export const visible = (session: ReadSession, view: View, native: Fragment): Fragment =>
  sql`(SELECT true FROM ${raw(`${view.table} ${view.alias}`)} WHERE ${raw(view.alias)}.id = ${native} AND ${scope(session, view)})`;

/** Whether each record of a chain exists for the caller, the second within the first and so on. */
function exists(session: ReadSession, chain: readonly Within[]): Fragment {
  const links = chain.map(({ view, id, where }, i) => {
    const before = chain[i - 1];
    const link = before ? [linkTo(session, view, before)] : [];
    const native = nativeId(session, view, id);
    return sql`EXISTS (SELECT 1 FROM ${raw(`${view.table} ${view.alias}`)}
      WHERE ${raw(view.alias)}.id = ${native} AND ${scope(session, view, [...link, ...(where ?? [])])})`;
  });
  return links.length === 0 ? YES : join(links, ' AND ');
}

function linkTo(session: ReadSession, view: View, owner: Within): Fragment {
  const link = view.within?.[owner.view.name];
  if (!link) throw new Error(`${view.name} does not say how it belongs to ${owner.view.name}`);
  return link(nativeId(session, owner.view, owner.id), session.website);
}

/** Runs a guarded statement: `ok` of its first row proves the authority, `found` tells whether the owners exist. */
export async function guarded<R extends object>(
  session: Session & Pick<ReadSession, 'db'>,
  rest: Fragment,
): Promise<(R & { ok: boolean })[]> {
  const rows = await session.db.read<R & { ok: boolean }>(sql`SELECT guard.ok, ${rest}`);
  if (rows[0]?.ok !== true) throw new StaleAuthority();
  session.verified = true;
  return rows;
}

export async function readOne<Name extends string>(
  session: ReadSession,
  view: View<Name>,
  id: string,
  options: { within?: readonly Within[]; where?: readonly Fragment[] } = {},
): Promise<Projection<Name>> {
  const { select, build } = projectionOf(session, view);
  const owner = options.within?.at(-1);
  const conditions = [...(options.where ?? []), ...(owner ? [linkTo(session, view, owner)] : [])];
  const [row] = await guarded<Row>(
    session,
    sql`d.* FROM ${guard(session.authority)} LEFT JOIN LATERAL (
      SELECT true AS present, ${select} FROM ${raw(`${view.table} ${view.alias}`)}
       WHERE guard.ok AND ${options.within ? exists(session, options.within) : YES}
         AND ${raw(view.alias)}.id = ${nativeId(session, view, id)} AND ${scope(session, view, conditions)}
    ) d ON true`,
  );
  if (row?.['present'] !== true) throw new Failure('not_found');
  return build(row);
}

export async function readPage<Name extends string>(
  session: ReadSession,
  view: View<Name>,
  request: PageRequest,
): Promise<Page<Name>> {
  const { select, build } = projectionOf(session, view);
  const { alias } = view;
  const owner = request.within?.at(-1);
  const order = keyset(session, view, request);
  const conditions = [
    ...(request.where ?? []),
    ...(owner ? [linkTo(session, view, owner)] : []),
    ...(order.after ? [order.after] : []),
  ];
  const rows = await guarded<Row>(
    session,
    sql`p.found, d.* FROM ${guard(session.authority)}
    LEFT JOIN LATERAL (SELECT true AS found WHERE guard.ok AND ${exists(session, request.within ?? [])}) p ON true
    LEFT JOIN LATERAL (
      SELECT ${raw(alias)}.id AS native, ${order.key}, ${select} FROM ${raw(`${view.table} ${alias}`)}
       WHERE p.found AND ${scope(session, view, conditions)}
       ORDER BY ${order.by} LIMIT ${raw(String(enough(request.limit)))}
    ) d ON true`,
  );
  if (rows[0]?.['found'] !== true) throw new Failure('not_found');
  const found = rows[0]['native'] === null ? [] : rows;
  const page = found.slice(0, request.limit);
  const last = page.at(-1);
  return {
    rows: page.map(build),
    next_cursor: last && found.length > request.limit ? order.cursor(last) : null,
  };
}

/**
 * Rows to ask for: the page and one more, rounded up to a few sizes. As a literal, because with a parameter PostgreSQL
 * plans for a tenth of the website and then plans every call anew (lists took 1.6 to 1.9 times as long in a website of
 * 4 million messages); of few sizes, because each text is prepared on every connection.
 */
const enough = (limit: number): number => [2, 11, 26, 51].find((size) => size > limit) ?? 101;

interface Keyset {
  readonly by: Fragment;
  readonly key: Fragment;
  readonly after: Fragment | undefined;
  cursor(row: Row): string;
}

/** Continues after a position that every caller can compute: a row deleted meanwhile changes nothing. */
function keyset(session: ReadSession, view: View, request: PageRequest): Keyset {
  const { website } = session;
  const alias = raw(view.alias);
  const invalid = (): never => {
    throw new Failure('invalid_cursor', { errors: [{ parameter: 'cursor', code: 'invalid_cursor' }] });
  };
  if (request.by === 'updated_at') {
    const at = request.cursor === undefined ? undefined : (readUpdatedCursor(request.cursor, website) ?? invalid());
    return {
      by: sql`${alias}.updated_at, ${alias}.id`,
      key: sql`(extract(epoch FROM ${alias}.updated_at) * 1000000)::bigint AS moment`,
      after:
        at &&
        sql`(${alias}.updated_at, ${alias}.id) > ('epoch'::timestamptz + ${at.moment}::bigint * interval '1 microsecond', ${at.native}::bigint)`,
      cursor: (row) => writeUpdatedCursor(website, String(row['moment']), String(row['native'])),
    };
  }
  const descending = (request.direction ?? view.order ?? 'desc') === 'desc';
  const parsed =
    request.cursor === undefined
      ? undefined
      : view.id === 'plain'
        ? { website: website.id, native: request.cursor }
        : // A list whose cursor has two forms takes any text: what is no id of its kind is refused here.
          view.id.schema.safeParse(request.cursor).success
          ? parseId(request.cursor)
          : null;
  if (parsed === null || (parsed && (parsed.website !== website.id || !fitsBigint(parsed.native)))) return invalid();
  const kind = view.id;
  return {
    by: descending ? sql`${alias}.id DESC` : sql`${alias}.id ASC`,
    key: sql`NULL AS moment`,
    after: parsed && (descending ? sql`${alias}.id < ${parsed.native}` : sql`${alias}.id > ${parsed.native}`),
    cursor: (row) => (kind === 'plain' ? String(row['native']) : kind.format(website, String(row['native']))),
  };
}

// Opaque to callers, because two numbers are needed: website, microseconds, native id. It grants nothing (every page
// applies the caller's own authority), so it needs no signature.
const writeUpdatedCursor = (website: WebsiteKey, moment: string, native: string): string =>
  Buffer.from(`${website.id}_${moment}_${native}`).toString('base64url');

function readUpdatedCursor(cursor: string, website: WebsiteKey): { moment: string; native: string } | undefined {
  const text = Buffer.from(cursor, 'base64url').toString('latin1');
  const match = /^(web_[0-9]{1,20}_[1-9][0-9]{0,18})_(-?[0-9]{1,17})_([1-9][0-9]{0,18})$/.exec(text);
  const [, site, moment, native] = match ?? [];
  if (site !== website.id || moment === undefined || native === undefined || !fitsBigint(native)) return undefined;
  return Buffer.from(text).toString('base64url') === cursor ? { moment, native } : undefined;
}

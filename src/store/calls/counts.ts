import { isRestricted } from '../../core/authority.ts';
import { parseId, type WebsiteKey, websiteKey } from '../../core/ids.ts';
import type { CountReading, CountRequest, NamedTable } from '../../core/reads.ts';
import { RESTRICTIONS } from '../../core/scopes.ts';
import { empty, type Fragment, join, raw, sql } from '../../core/sql.ts';
import { wrongZone } from '../../views/report-range.ts';
import { fromDay, untilDay, zoneName } from '../../views/zone.ts';
import { sqlState } from '../driver/errors.ts';
import type { Database } from '../driver/postgres.ts';
import { guarded, type Proved } from './guard.ts';
import { COLUMN, callerOf } from './projection.ts';
import type { WebsiteAccess } from './read.ts';

interface CountRow {
  total: string;
  groups:
    | readonly (readonly [count: number, site: string | null, names: (string | null)[], ...values: (string | null)[]])[]
    | null;
  time_zone: string | null;
}

/** Counts conversations in one guarded statement on a slow connection, on all granted websites by default. */
export async function readCounts(
  access: WebsiteAccess,
  slow: Database,
  request: CountRequest,
): Promise<Proved<CountReading>> {
  const { authority, website } = access;
  const websites = website.id === '' ? [...authority.websites.values()] : [website];
  const tenant = websites[0]?.tenant ?? '0';
  const { proof, rows } = await guarded<CountRow>(
    { authority, db: slow },
    sql`r.*`,
    countJoin(access, websites, request),
  ).catch((error: unknown) => {
    // PostgreSQL decides which time zones are valid. If the website's own is not, the caller can send another one.
    if (sqlState(error) !== '22023') throw error;
    throw wrongZone(request.timezone === undefined ? 'missing' : undefined);
  });
  const groups = (rows[0]?.groups ?? []).map(([count, site, called, ...values]) => ({
    key: Object.fromEntries(
      request.by.map((one, i) => [one.member, one.public(values[i] ?? null, websiteKey(tenant, String(site)))]),
    ),
    count,
    names: called,
  }));
  return { proof, answer: { total: Number(rows[0]?.total ?? 0), groups, timezone: rows[0]?.time_zone ?? null } };
}

function countJoin(access: WebsiteAccess, websites: readonly WebsiteKey[], request: CountRequest): Fragment {
  const { by, timezone } = request;
  const [only] = websites;
  const tenant = only?.tenant ?? '0';
  const sites = sql`${websites.map(({ site }) => site)}::bigint[]`;
  const days = request.from !== undefined || request.to !== undefined || by.some(({ column }) => column === 'day');
  const single = websites.length === 1;
  const own = days && timezone === undefined && !single;
  // A scalar subquery, so that PostgreSQL looks the zone up once and not for each conversation.
  const zone =
    timezone === undefined
      ? raw(single ? '(SELECT o.zone FROM own o)' : 's.zone')
      : sql`(SELECT ${zoneName(sql`${timezone}::text`)})`;
  const day = sql`(c.created_at AT TIME ZONE ${zone})::date`;
  const names = by.map((_, i) => raw(`k${i}`));
  const columns = by.map(({ column }, i) => sql`, ${column === 'day' ? day : column} AS ${raw(`k${i}`)}`);
  const ofWebsites = (alias: string): Fragment => {
    const site = raw(`${alias}.site`);
    return sql`${raw(alias)}.tenant = ${tenant} AND ${single ? sql`${site} = ${only?.site ?? '0'}` : sql`${site} = ANY(${sites})`}`;
  };
  const joins = by.flatMap((one) => one.join?.(ofWebsites) ?? []);
  // Equal ids of two websites are two groups. A null is the same group for all websites.
  const ids = names.filter((_, i) => by[i]?.within);
  const one = single || ids.length === 0;
  const site = one
    ? sql`${only?.site ?? '0'}::bigint`
    : sql`CASE WHEN coalesce(${join(ids, ', ')}) IS NOT NULL THEN site END`;
  const isDay = (_: Fragment, i: number): boolean => by[i]?.column === 'day';
  const texts = names.filter((name, i) => !isDay(name, i)).map((name) => sql`${name}::text COLLATE "C"`);
  const order = join([...names.filter(isDay), raw('n DESC'), raw('site'), ...texts], ', ');
  const called = by.flatMap(({ name }, i) => (name ? [nameSql(name.table, tenant, raw(`g.k${i}`))] : []));
  const shown = join(
    [
      raw('n'),
      raw('site::text'),
      sql`ARRAY[${join(called, ', ')}]::text[]`,
      ...names.map((name) => sql`${name}::text`),
    ],
    ', ',
  );
  return sql`LEFT JOIN LATERAL (
  WITH own AS MATERIALIZED (
    SELECT w.tenant, w.site, w.time_zone, ${zoneName(raw('w.time_zone'))} AS zone
      FROM platform.website w WHERE guard.ok AND w.tenant = ${tenant} AND w.site = ANY(${sites})
  ), counted AS MATERIALIZED (
    SELECT ${site} AS site, ${join(
      names.map((name) => sql`${name}, `),
      '',
    )}count(*) AS n
      FROM (
        SELECT c.site${join(columns, '')}
          FROM platform.conversation c ${own ? raw('JOIN own s ON s.tenant = c.tenant AND s.site = c.site') : empty}
               ${join(joins, ' ')}
         WHERE guard.ok AND ${ofWebsites('c')} AND ${join([...allowed(access, websites), ...request.where, ...within(request, day), raw('true')], ' AND ')}
        OFFSET 0
      ) e
     GROUP BY ${join([raw('1'), ...names], ', ')}
  )
  SELECT (SELECT coalesce(sum(n), 0) FROM counted) AS total,
         (SELECT jsonb_agg(jsonb_build_array(${shown}) ORDER BY ${order})
            FROM (SELECT * FROM counted ORDER BY ${order} LIMIT ${request.limit}::bigint) g) AS groups,
         ${timezone === undefined ? raw(single ? '(SELECT o.time_zone FROM own o)' : 'NULL::text') : sql`${timezone}::text`} AS time_zone
) r ON true`;
}

/** SQL for the name of a group’s record. `g` has the site of the group. */
const nameSql = (table: NamedTable, tenant: string, id: Fragment): Fragment =>
  table === 'website'
    ? sql`(SELECT o.name FROM platform.website o WHERE o.tenant = ${tenant} AND o.site = ${id})`
    : sql`(SELECT o.name FROM platform.${raw(table)} o WHERE o.tenant = ${tenant} AND o.site = g.site AND o.id = ${id}${
        table === 'contact' ? raw(' AND NOT o.deleted') : empty
      })`;

const within = ({ from, to }: CountRequest, day: Fragment): Fragment[] => [
  ...(from === undefined ? [] : [fromDay(from, day)]),
  ...(to === undefined ? [] : [untilDay(to, day)]),
];

/** SQL conditions for the caller's restrictions. A restricted id belongs to one website. */
function allowed({ authority }: WebsiteAccess, websites: readonly WebsiteKey[]): Fragment[] {
  const [website] = websites;
  if (!website || !isRestricted(authority)) return [];
  if (websites.length === 1) return [callerOf({ authority, website }).allowed('c')];
  return RESTRICTIONS.flatMap((dimension) => {
    const ids = authority.restrictions[dimension]?.map(parseId);
    if (!ids) return [];
    const found = ids.flatMap((id) => {
      const of = websites.find(({ id: name }) => name === id?.website);
      return id && of ? [{ site: of.site, native: id.native }] : [];
    });
    return [
      sql`(c.site, c.${raw(COLUMN[dimension])}) IN (SELECT * FROM unnest(${found.map(({ site }) => site)}::bigint[], ${found.map((one) => one.native)}::bigint[]))`,
    ];
  });
}

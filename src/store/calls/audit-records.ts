import type { AuditFilter, AuditPage, AuditRecord, AuditSurface, OwnAuditFilter } from '../../core/audit-records.ts';
import { invalidCursor } from '../../core/failures.ts';
import { type Fragment, join, raw, sql } from '../../core/sql.ts';
import { type Access, guarded, type Proved } from './guard.ts';
import { sealed, unsealed } from './search.ts';

/** A place in the order of the records. `at` is in Unix milliseconds, because a record has its time in milliseconds. */
export interface AuditPlace {
  readonly at: number;
  readonly id: string;
}

/** What to find. The person can be an SQL expression. */
type Sought = Omit<AuditFilter, 'person'> & { readonly person?: string | Fragment | undefined };

export interface AuditRow {
  readonly at: Date;
  readonly id: string;
  readonly organization_id: string;
  readonly website_id: string | null;
  readonly app_id: string | null;
  readonly installation_id: string | null;
  readonly credential_id: string | null;
  readonly person_id: string | null;
  readonly client_name: string | null;
  readonly client_version: string | null;
  readonly address: string | null;
  readonly surface: AuditSurface;
  readonly operation: string;
  readonly targets: readonly string[];
  readonly count: number | null;
  readonly outcome: string;
  readonly status: number;
  readonly units: number;
  readonly duration_ms: number;
  readonly request_id: string | null;
  readonly trace_id: string | null;
  readonly operation_id: string | null;
  readonly replayed: boolean;
  /** False for the last record that was looked at, if the filter does not match it. */
  readonly matches: boolean;
  /** The number of the record among those that were looked at. */
  readonly place: string;
}

interface AuditReading {
  readonly order: 'newest' | 'oldest';
  /** Start after this place. */
  readonly after: AuditPlace | undefined;
  /** The largest number of records, as a constant of the program: PostgreSQL plans a LIMIT with a parameter badly. */
  readonly rows: number;
}

/** The records that one statement looks at. A page ends there, with a cursor that continues behind them. */
export const LOOKED_AT = 10_000;

/** A record has at most three targets (0028_audit.sql), and each place in the array has an index. */
const TARGETS = [1, 2, 3].map((n) => raw(`a.targets[${n}]`));

const COLUMNS = raw(`a.time AS at, a.id, a.organization_id, a.website_id, a.app_id, a.installation_id, a.credential_id,
  a.person_id, a.client_name, a.client_version, a.address, a.surface, a.operation, a.targets, a.count, a.outcome, a.status,
  a.units, round(a.duration_ms::numeric, 3)::float8 AS duration_ms, a.request_id, a.trace_id, a.operation_id, a.replayed`);

/**
 * The only SQL that finds audit records, for apps, for the command line and for pages. One index gives the records in
 * order: that of the person, of the credential with or without the target, or of the organization. The other filters are tested on each record, and
 * at most LOOKED_AT records are. So every filter has a bound, also one that matches nothing
 * (docs/decisions/audit-reading.md). A filter is null if it is not given, so there are few different statements, however
 * many filters callers combine.
 *
 * Without a target, a credential and an organization there is no index. `allowed` is a condition before all others.
 */
export function auditRows(filter: Sought, { order, after, rows }: AuditReading, allowed = sql`true`): Fragment {
  const newest = order === 'newest';
  const by = (alias: string): Fragment => {
    const way = newest ? 'DESC' : 'ASC';
    return raw(`${alias}.time ${way}, ${alias}.id ${way}`);
  };
  const bounds = sql`${allowed} AND a.time >= coalesce(${filter.from ?? null}::timestamptz, '-infinity')
      AND a.time < coalesce(${filter.to ?? null}::timestamptz, 'infinity') AND ${behind(after, newest)}`;
  const sources = sourcesOf(filter).map(
    (source) => sql`(SELECT a.* FROM gateway.audit a WHERE ${source} AND ${bounds}
      ORDER BY ${by('a')} LIMIT ${raw(String(LOOKED_AT))})`,
  );
  return sql`SELECT ${COLUMNS}, a.place, a.matches FROM (
    SELECT a.*, ${matching(filter)} AS matches, row_number() OVER (ORDER BY ${by('a')}) AS place
      FROM (SELECT a.* FROM (${join(sources, ' UNION ALL ')}) a ORDER BY ${by('a')} LIMIT ${raw(String(LOOKED_AT))}) a) a
   WHERE a.matches OR a.place = ${raw(String(LOOKED_AT))} ORDER BY ${by('a')} LIMIT ${raw(String(rows))}`;
}

/** SQL: the record is behind the place. The comparison of the time alone lets PostgreSQL skip the days before it. */
function behind(after: AuditPlace | undefined, newest: boolean): Fragment {
  const time = after ? sql`'epoch'::timestamptz + ${after.at}::bigint * interval '1 millisecond'` : undefined;
  const at = time ?? (newest ? sql`'infinity'::timestamptz` : sql`'-infinity'::timestamptz`);
  const id = sql`${after?.id ?? '00000000-0000-0000-0000-000000000000'}::uuid`;
  return newest
    ? sql`a.time <= ${at} AND (a.time, a.id) < (${at}, ${id})`
    : sql`a.time >= ${at} AND (a.time, a.id) > (${at}, ${id})`;
}

/**
 * SQL conditions, each on the first columns of one index. The id of a website is the target of every list, so an
 * organization's records are read in order and compared. The records of one credential have an index with the target.
 */
function sourcesOf({ target, credential, organization, person }: Sought): Fragment[] {
  if (person !== undefined) return [sql`a.person_id = ${person}`];
  if (target !== undefined && credential !== undefined)
    return TARGETS.map((column) => sql`${column} = ${target} AND a.credential_id = ${credential}`);
  if (credential !== undefined) return [sql`a.credential_id = ${credential}`];
  if (target !== undefined && !target.startsWith('web_')) return TARGETS.map((column) => sql`${column} = ${target}`);
  if (organization === undefined) throw new Error('audit records are read by organization, credential or target');
  return [sql`a.organization_id = ${organization}`];
}

const matching = (filter: Sought): Fragment => {
  const same = (column: string, value: string | Fragment | undefined): Fragment =>
    sql`(${value ?? null}::text IS NULL OR ${raw(`a.${column}`)} = ${value ?? null})`;
  const { organization, app, credential, person, surface, operation, outcome, target } = filter;
  return join(
    [
      ...[same('organization_id', organization), same('app_id', app), same('credential_id', credential)],
      ...[same('person_id', person), same('surface', surface), same('operation', operation), same('outcome', outcome)],
      sql`(${target ?? null}::text IS NULL OR ${target ?? null} = ANY(a.targets))`,
    ],
    ' AND ',
  );
};

export interface AuditRows {
  readonly rows: readonly AuditRow[];
  /** The place behind which the next page starts. Undefined: there are no more records. */
  readonly next: AuditPlace | undefined;
}

/**
 * The rows of a page, from what `auditRows` has found. If a page has too few records, the next one continues behind the
 * last record that was looked at.
 */
export function pageOf(found: readonly AuditRow[], limit: number): AuditRows {
  const matches = found.filter((row) => row.matches);
  const rows = matches.slice(0, limit);
  const last = matches.length > limit ? rows.at(-1) : found.find(({ place }) => place === String(LOOKED_AT));
  return { rows, next: last && { at: last.at.getTime(), id: last.id } };
}

/** A record as every reader gets it. A member without a value is absent, or null if every record has the member. */
export function recordOf(row: AuditRow): AuditRecord {
  const { website_id, person_id, client_name: name, client_version: version, count, trace_id, operation_id } = row;
  return {
    audit_id: `aud_${row.id.replaceAll('-', '')}`,
    time: row.at.toISOString(),
    organization_id: row.organization_id,
    ...(website_id !== null && { website_id }),
    installation_id: row.installation_id,
    credential_id: row.credential_id,
    ...(person_id !== null && { person_id }),
    ...((name !== null || version !== null) && { client: { name, version } }),
    ...{ address: row.address, surface: row.surface, operation: row.operation, targets: row.targets },
    ...(count !== null && { count }),
    ...{ outcome: row.outcome, status: row.status, units: row.units, duration_ms: row.duration_ms },
    request_id: row.request_id,
    ...(trace_id !== null && { trace_id }),
    ...(operation_id !== null && { operation_id, replayed: row.replayed }),
  };
}

/** The sizes of a statement's answer. There are few, because every connection prepares a statement for each. */
const sizeFor = (limit: number): number => (limit < 26 ? 26 : 101);

/**
 * Reads the records of the caller's own credential in one guarded statement. A token from a person's consent sees only
 * what was done with tokens of the same person, because one credential serves all people who approved the client.
 */
export async function readAudit(
  access: Access,
  filter: OwnAuditFilter,
  { limit, cursor }: { readonly limit: number; readonly cursor: string | undefined },
): Promise<Proved<AuditPage>> {
  const { credentialId: credential, consentId } = access.authority;
  const person =
    consentId === null ? undefined : sql`(SELECT n.person_id FROM gateway.consent n WHERE n.id = ${consentId})`;
  const search = JSON.stringify([credential, filter.operation, filter.target, filter.outcome, filter.from, filter.to]);
  const after = cursor === undefined ? undefined : placeOf(unsealed(cursor, search));
  const found = auditRows(
    { ...filter, credential, person },
    { order: 'newest', after, rows: sizeFor(limit) },
    sql`guard.ok`,
  );
  const { proof, rows } = await guarded<AuditRow | { id: null }>(
    access,
    sql`d.*`,
    sql`LEFT JOIN LATERAL (${found}) d ON true`,
  );
  const page = pageOf(
    rows.flatMap((row) => (row.id === null ? [] : [row])),
    limit,
  );
  const next = page.next && sealed(`${page.next.at}.${page.next.id}`, search);
  return { proof, answer: { records: page.rows.map(recordOf), next_cursor: next ?? null } };
}

function placeOf(text: string): AuditPlace {
  const [, at, id] = /^(\d{1,15})\.([0-9a-f-]{36})$/.exec(text) ?? [];
  if (at === undefined || id === undefined || !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id))
    throw invalidCursor();
  return { at: Number(at), id };
}

import type { AuditSurface } from '../../core/audit.ts';
import type { AuditFilter, AuditPage, AuditRecordDocument, OwnAuditFilter } from '../../core/audit-records.ts';
import { invalidCursor } from '../../core/failures.ts';
import { type Fragment, raw, sql } from '../../core/sql.ts';
import { type Access, guarded, type Proved } from './guard.ts';
import { sealed, unsealed } from './search.ts';

/** A place in the order of the records. `at` is in Unix milliseconds, because a record has its time in milliseconds. */
export interface AuditPlace {
  readonly at: number;
  readonly id: string;
}

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
  /** The largest number of rows. One more than the records of a page shows whether there are more. */
  readonly rows: number;
}

/**
 * The records that one statement looks at, or those of one second if these are more. A page ends there, with a cursor that
 * continues behind them: the last of them has this place.
 */
export const LOOKED_AT = 10_000;

const COLUMNS = raw(`a.time AS at, a.id, a.organization_id, a.website_id, a.app_id, a.installation_id, a.credential_id,
  a.person_id, a.client_name, a.client_version, a.address, a.surface, a.operation, a.targets, a.count, a.outcome, a.status,
  a.units, round(a.duration_ms::numeric, 3)::float8 AS duration_ms, a.request_id, a.trace_id, a.operation_id, a.replayed`);

/**
 * The only SQL that finds audit records, for apps, for the command line and for pages. One index gives the records in
 * order: that of the person, of the credential with or without the target, or of the organization. Records of blocks are put
 * between the others. The other filters are tested on each record, and at most LOOKED_AT records are. So every filter has a bound, also one that matches nothing
 * (28_audit_reading.sql). The text of the statement does not depend on the filters, however many a caller combines.
 *
 * `holds` is a condition. If it is not true, PostgreSQL reads no record.
 */
export function auditRows(filter: AuditSource, { order, after, rows }: AuditReading, holds = sql`true`): Fragment {
  const { organization = null, app = null, person = null, surface = null, operation = null, target = null } = filter;
  const { credential = null, outcome = null, from = null, to = null } = filter;
  const at = after
    ? sql`'epoch'::timestamptz + ${after.at}::bigint * interval '1 millisecond'`
    : raw(order === 'newest' ? "'infinity'::timestamptz" : "'-infinity'::timestamptz");
  return sql`SELECT ${COLUMNS}, f.place, f.matches
    FROM gateway.${raw(`audit_by_${sourceOf(filter)}_${order}`)}(
      ${organization}, ${app}, ${credential}, ${person}, ${surface}, ${operation}, ${target}, ${outcome},
      coalesce(${from}::timestamptz, '-infinity'), coalesce(${to}::timestamptz, 'infinity'), ${at}, ${after?.id ?? '00000000-0000-0000-0000-000000000000'}::uuid,
      ${rows}::integer) f
   CROSS JOIN LATERAL (SELECT (f.record).*) a
   WHERE ${holds} ORDER BY f.place`;
}

/** The filter of one statement. A credential that is null means records without a credential. */
export type AuditSource = Omit<AuditFilter, 'credential'> & { readonly credential?: string | null | undefined };

/** A list has no target of its own, so readers see its website there. No index of targets has it. */
export const isWebsite = (target: string): boolean => target.startsWith('web_');

function sourceOf({ person, target, credential, organization }: AuditSource): string {
  const named = target !== undefined && !isWebsite(target);
  // The credential comes before the person. Otherwise the pages and cursors of an app would depend on records of other
  // credentials, which the person has approved too.
  if (typeof credential === 'string') return named ? 'target' : 'credential';
  if (person !== undefined) return 'person';
  if (named && credential === null) return 'bare_target';
  if (organization === undefined) throw new Error('audit records are read by organization, credential or person');
  return 'organization';
}

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
export function recordOf(row: AuditRow): AuditRecordDocument {
  const isList = row.count !== null && row.targets.length === 0;
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
    ...{ address: row.address, surface: row.surface, operation: row.operation },
    targets: isList && website_id !== null ? [website_id] : row.targets,
    ...(count !== null && { count }),
    ...{ outcome: row.outcome, status: row.status, units: row.units, duration_ms: row.duration_ms },
    request_id: row.request_id,
    ...(trace_id !== null && { trace_id }),
    ...(operation_id !== null && { operation_id, replayed: row.replayed }),
  };
}

/**
 * Reads the records of the caller's own credential in one guarded statement. A token from a person's consent sees only
 * what was done with tokens of the same person, because one credential serves all people who approved the client.
 */
export async function readAudit(
  access: Access,
  filter: OwnAuditFilter,
  { limit, cursor }: { readonly limit: number; readonly cursor: string | undefined },
): Promise<Proved<AuditPage>> {
  const { credentialId: credential, personId } = access.authority;
  const person = personId ?? undefined;
  const search = JSON.stringify([credential, filter.operation, filter.target, filter.outcome, filter.from, filter.to]);
  const after = cursor === undefined ? undefined : placeOf(unsealed(cursor, search));
  const found = auditRows(
    { ...filter, credential, person },
    { order: 'newest', after, rows: limit + 1 },
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

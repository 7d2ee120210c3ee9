import { pick } from '../core/json.ts';
import type { AuditReader } from '../store/administration/audit-records.ts';
import { type AuditRow, recordOf } from '../store/calls/audit-records.ts';
import { plain, table, time } from './output.ts';

function targetsOf(row: AuditRow): string {
  const { targets, count } = recordOf(row);
  return `${plain(targets.join(' '))}${count === undefined ? '' : ` (${count})`}`;
}

export const recordTable = (rows: readonly AuditRow[]): string =>
  table(
    ['TIME', 'ORGANIZATION', 'WHO', 'SURFACE', 'OPERATION', 'TARGETS', 'OUTCOME', 'ADDRESS'],
    rows.map((row) => [
      time(row.at),
      plain(row.organization_id),
      plain(row.credential_id ?? row.person_id ?? ''),
      row.surface,
      plain(row.operation),
      targetsOf(row),
      `${plain(row.outcome)} ${row.status}`,
      plain(row.address ?? ''),
    ]),
    'There is no such record.',
  );

export const readerDocument = (reader: AuditReader): object => ({
  ...pick(reader, 'organization_id', 'app_id', 'app_name', 'credential_id', 'person_id', 'email'),
  ...pick(reader, 'calls', 'failed', 'first_at', 'last_at'),
});

export const readerTable = (readers: readonly AuditReader[]): string =>
  table(
    ['APP', 'CREDENTIAL', 'PERSON', 'CALLS', 'FAILED', 'FIRST', 'LAST'],
    readers.map((reader) => [
      plain(reader.app_name ?? (reader.credential_id === null && reader.person_id === null ? 'the command line' : '')),
      plain(reader.credential_id ?? ''),
      plain(reader.email ?? reader.person_id ?? ''),
      String(reader.calls),
      String(reader.failed),
      time(reader.first_at),
      time(reader.last_at),
    ]),
    'No call named this record.',
  );

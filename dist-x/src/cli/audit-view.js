import { recordOf } from '../store/calls/audit-records.js';
import { plain, table, time } from './output.js';
function targetsOf(row) {
    const { targets, count } = recordOf(row);
    return `${plain(targets.join(' '))}${count === undefined ? '' : ` (${count})`}`;
}
export const recordTable = (rows) => table(['TIME', 'ORGANIZATION', 'WHO', 'SURFACE', 'OPERATION', 'TARGETS', 'OUTCOME', 'ADDRESS'], rows.map((row) => [
    time(row.at),
    plain(row.organization_id),
    plain(row.credential_id ?? row.person_id ?? ''),
    row.surface,
    plain(row.operation),
    targetsOf(row),
    `${plain(row.outcome)} ${row.status}`,
    plain(row.address ?? ''),
]), 'There is no such record.');
export const readerDocument = (reader) => ({
    organization_id: reader.organization_id,
    app_id: reader.app_id,
    app_name: reader.app_name,
    credential_id: reader.credential_id,
    person_id: reader.person_id,
    email: reader.email,
    calls: reader.calls,
    failed: reader.failed,
    first_at: reader.first_at,
    last_at: reader.last_at,
});
export const readerTable = (readers) => table(['APP', 'CREDENTIAL', 'PERSON', 'CALLS', 'FAILED', 'FIRST', 'LAST'], readers.map((reader) => [
    plain(reader.app_name ?? (reader.credential_id === null && reader.person_id === null ? 'the command line' : '')),
    plain(reader.credential_id ?? ''),
    plain(reader.email ?? reader.person_id ?? ''),
    String(reader.calls),
    String(reader.failed),
    time(reader.first_at),
    time(reader.last_at),
]), 'No call named this record.');
//# sourceMappingURL=audit-view.js.map
import { pick } from '../core/json.ts';
import {
  countRows,
  findingsOf,
  isAlone,
  lagOf,
  type RejectRecord,
  readRejects,
  readSources,
  type SourceRecord,
} from '../store/administration/sources.ts';
import type { Database } from '../store/driver/postgres.ts';
import { facts, plain, Refused, table, time } from './output.ts';

interface SourceDetails {
  readonly rows: Readonly<Record<string, number>>;
  readonly examples: readonly RejectRecord[];
}

export const sourceDocument = (record: SourceRecord, { rows, examples }: SourceDetails): object => ({
  source_id: record.id,
  ...pick(record, 'kind', 'account', 'organization_id'),
  website_ids: record.website_id === null ? [] : [record.website_id],
  mode: record.mode,
  period_seconds: record.mode === 'poll' ? record.period : null,
  state: record.state,
  running: record.held,
  lag_seconds: record.lag_seconds === null ? null : Math.round(record.lag_seconds * 10) / 10,
  ...pick(record, 'behind', 'last_success_at', 'last_error', 'progress', 'compared_at'),
  rows,
  ...pick(record, 'rejects', 'suppressed'),
  reject_examples: examples.map(({ origin, pointer, code }) => ({ row: origin, pointer, code })),
  unmapped: { labels: 0, custom_attributes: 0, ...record.unmapped },
  writes_back: record.writes_back,
  findings: findingsOf(record),
  created_at: record.created_at,
});

export function sourceText(record: SourceRecord, { rows, examples }: SourceDetails): string {
  const { progress } = record;
  const findings = findingsOf(record);
  const counted = Object.entries(rows).filter(([, n]) => n > 0);
  return facts([
    ['source', `${record.id}, ${record.kind} account ${plain(record.account)}`],
    ['organization', record.organization_id],
    ['website', record.website_id ?? 'not written yet'],
    ['mode', record.mode === 'poll' ? `poll, every ${record.period} s` : 'live'],
    ['state', `${record.state}${isAlone(record) ? ' (no gateway runs it now)' : ''}`],
    ...(progress ? [['progress', progressText(progress)] as const] : []),
    ['behind', lagOf(record)],
    ['last success', record.last_success_at ? time(record.last_success_at) : 'none'],
    ...(record.last_error === null ? [] : [['last error', plain(record.last_error)] as const]),
    ['compared', record.compared_at ? time(record.compared_at) : 'never'],
    ['records', counted.length === 0 ? 'none' : counted.map(([name, n]) => `${n} ${name}`)],
    ['rejects', record.rejects === 0 ? '0' : [`${record.rejects} rows, for example:`, ...examples.map(rejectText)]],
    ...(record.suppressed === 0
      ? []
      : [['erased', `${record.suppressed} records of erased people were left out`] as const]),
    ['without place', Object.entries(record.unmapped).map(([name, n]) => `${n} ${name}`)],
    ['writes go back', record.writes_back ? 'yes' : 'no: notes and dispositions stay in the gateway'],
    ...(findings.length === 0 ? [] : [['findings', findings.map(findingText)] as const]),
  ]);
}

const progressText = ({ phase, done, total }: NonNullable<SourceRecord['progress']>): string =>
  `${phase}: ${done}${total === null ? '' : ` of ${total}`} records`;

const rejectText = ({ origin, pointer, code }: RejectRecord): string =>
  `${plain(origin)}  ${pointer === '' ? '(the whole row)' : plain(pointer)}  ${code}`;

export const findingText = ({ level, about, text }: SourceRecord['findings'][number]): string =>
  `${level}: ${plain(about)}: ${plain(text)}`;

export const sourceTable = (records: readonly SourceRecord[]): string =>
  table(
    ['SOURCE', 'KIND', 'ACCOUNT', 'WEBSITE', 'MODE', 'STATE', 'BEHIND', 'REJECTS'],
    records.map((record) => [
      record.id,
      record.kind,
      plain(record.account),
      record.website_id ?? '',
      record.mode,
      record.state,
      lagOf(record),
      String(record.rejects),
    ]),
    'There is no source.',
  );

/** How many rejects are shown. */
const SHOWN = 5;

export async function source(db: Database, id: string): Promise<SourceRecord> {
  const [record] = await readSources(db, id);
  if (!record) throw new Refused(`There is no source ${JSON.stringify(plain(id))}.`);
  return record;
}

export async function detailsOf(db: Database, record: SourceRecord): Promise<SourceDetails> {
  const [rows, examples] = await Promise.all([
    record.site === null ? {} : countRows(db, record.tenant, record.site),
    readRejects(db, record.id, SHOWN),
  ]);
  return { rows, examples };
}

import { type Command, InvalidArgumentError, Option } from 'commander';
import { AUDIT_SURFACES, type AuditFilter } from '../core/audit-records.ts';
import { pick } from '../core/json.ts';
import { ocsfOf } from '../gateway/audit-ocsf.ts';
import { auditPages, newestAudit, readAuditReaders } from '../store/administration/audit-records.ts';
import { recordOf } from '../store/calls/audit-records.ts';
import type { Database } from '../store/driver/postgres.ts';
import { verifyCommand } from './audit-verify.ts';
import { readerDocument, readerTable, recordTable } from './audit-view.ts';
import type { RunAction } from './context.ts';
import { credential } from './credential.ts';
import { moment, whole } from './options.ts';
import { Refused } from './output.ts';
import { app, organization, person } from './references.ts';

export function auditCommands(program: Command, register: RunAction): void {
  const group = program
    .command('audit')
    .description(
      'read and check the audit: a record of each call, each page that a person opens, and each change by a command',
    );
  listCommand(group, register);
  exportCommand(group, register);
  readersCommand(group, register);
  verifyCommand(group, register);
}

interface Filters extends Omit<AuditFilter, 'from' | 'to'> {
  readonly from?: Date;
  readonly to?: Date;
}

const DAYS_MAX = 3_650;

function days(value: string): number {
  const n = whole(value);
  if (n > DAYS_MAX) throw new InvalidArgumentError(`There are at most ${DAYS_MAX} days.`);
  return n;
}

/** A name or an id, as a record can have it. Another text could match no record. */
function word(value: string): string {
  if (!/^[A-Za-z0-9_.: -]{1,128}$/.test(value)) {
    throw new InvalidArgumentError('Expected a name or an id, such as contact_get or ctc_1_1_89.');
  }
  return value;
}

const filterOptions = (command: Command): Command =>
  command
    .option('--organization <ORG>', 'only this organization, by id or external_id')
    .option('--app <APP>', 'only this app, by id or name')
    .option('--credential <CRD>', 'only this credential')
    .option('--person <PERSON>', 'only this person, by id or e-mail address')
    .option('--operation <NAME>', 'only this operation, such as contact_get', word)
    .option('--target <ID>', 'only records with this id among their targets', word)
    .option('--outcome <CODE>', 'only this outcome: ok, or a failure code', word)
    .addOption(new Option('--surface <S>', 'only this surface').choices(AUDIT_SURFACES));

/** Finds the ids that the options name. */
async function filterOf(db: Database, given: Filters): Promise<AuditFilter> {
  if (given.from && given.to && given.from >= given.to)
    throw new Refused('The time of --to must be after that of --from.');
  const within = given.organization === undefined ? undefined : await organization(db, given.organization);
  const of = given.app === undefined ? undefined : await app(db, given.app);
  if (of && within && of.tenant !== within.tenant) throw new Refused(`App ${of.id} belongs to another organization.`);
  return {
    organization: within?.id,
    app: of?.id,
    credential: given.credential === undefined ? undefined : (await credential(db, given.credential)).id,
    person: given.person === undefined ? undefined : (await person(db, given.person, within?.tenant)).id,
    ...pick(given, 'operation', 'target', 'outcome', 'surface'),
    ...{ from: given.from?.toISOString(), to: given.to?.toISOString() },
  };
}

function listCommand(group: Command, register: RunAction): void {
  const command = filterOptions(group.command('list').description('list audit records, newest first'))
    .option('--from <TIME>', 'only records at or after this time, RFC 3339', moment)
    .option('--to <TIME>', 'only records before this time, RFC 3339', moment)
    .option('--limit <N>', 'number of records', whole, 25);
  register(command, async ({ out, store }) => {
    const given = command.opts<Filters & { limit: number }>();
    const { db } = await store();
    const rows = await newestAudit(db, await filterOf(db, given), given.limit);
    out.result({ records: rows.map(recordOf) }, recordTable(rows));
  });
}

const FORMATS = ['ndjson', 'ocsf'] as const;

function exportCommand(group: Command, register: RunAction): void {
  const command = filterOptions(
    group
      .command('export')
      .description(
        'write audit records to standard output, one JSON document a line, oldest first for each organization',
      ),
  )
    .requiredOption('--from <TIME>', 'records at or after this time, RFC 3339', moment)
    .requiredOption('--to <TIME>', 'records before this time, RFC 3339', moment)
    .addOption(
      new Option('--format <F>', 'ndjson: records as audit_list has them; ocsf: events of API Activity (class 6003)')
        .choices(FORMATS)
        .default('ndjson'),
    );
  register(command, async ({ out, store }) => {
    const given = command.opts<Filters & { format: (typeof FORMATS)[number] }>();
    const { db } = await store();
    for await (const rows of auditPages(db, await filterOf(db, given), 'oldest')) {
      const records = rows.map(recordOf);
      if (!(await out.lines(given.format === 'ocsf' ? records.map(ocsfOf) : records))) break;
    }
  });
}

function readersCommand(group: Command, register: RunAction): void {
  const command = group
    .command('readers <ID>')
    .description('list the apps and people whose calls named a record, such as a contact')
    .option('--organization <ORG>', 'only apps and people of this organization, by id or external_id')
    .option('--days <N>', 'number of days to look back', days, 30);
  register(command, async ({ out, store }) => {
    const given = command.opts<{ organization?: string; days: number }>();
    const target = command.args[0] ?? '';
    const { db } = await store();
    const within = given.organization === undefined ? undefined : await organization(db, given.organization);
    const readers = await readAuditReaders(db, { target, days: given.days, organization: within?.id ?? null });
    out.result({ target, days: given.days, readers: readers.map(readerDocument) }, readerTable(readers));
  });
}

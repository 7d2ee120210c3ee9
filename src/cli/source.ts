import { type Command, InvalidArgumentError, Option } from 'commander';
import { newId } from '../auth/issue.ts';
import { openGivenKeys } from '../auth/key-file.ts';
import type { SourceKind } from '../sources/kinds.ts';
import type { Change, Finding, Installation } from '../sources/source.ts';
import {
  deleteSource,
  insertSource,
  keepInstallation,
  pauseSource,
  readSources,
  startSource,
  takeOrganization,
} from '../store/administration/sources.ts';
import type { Database } from '../store/driver/postgres.ts';
import { confirm, irreversible } from './confirm.ts';
import type { CommandContext, RunAction } from './context.ts';
import { displayName, whole } from './options.ts';
import { plain, Refused } from './output.ts';
import { checkCommand } from './source-check.ts';
import { type Added, databaseUrl, safeUrl, token, webUrl, withInput, zone } from './source-options.ts';
import { detailsOf, findingText, source, sourceDocument, sourceTable, sourceText } from './source-view.ts';

/** The kinds of src/sources/kinds.ts. That file loads the database driver, which the help does not need. */
const KINDS: readonly SourceKind[] = ['chatwoot'];
/** Seconds between two polls, if the operator gives no period. */
const PERIOD = 15;
/** Seconds for which no gateway may run a new source, so that `add` can write its website. */
const ADDING = 30;
export function sourceCommands(program: Command, register: RunAction): void {
  const group = program.command('source').description('manage live sources: helpdesks whose data the gateway follows');
  addCommand(group, register);
  listCommand(group, register);
  showCommand(group, register);
  checkCommand(group, register);
  pauseCommands(group, register);
  removeCommand(group, register);
  grantsCommand(group, register);
}

const kindArgument = (command: Command): Command => command.argument('<KIND>', `helpdesk: ${KINDS.join(', ')}`, kind);
const modeOption = (): Option =>
  new Option('--mode <MODE>', 'poll reads again and again; live needs triggers')
    .choices(['poll', 'live'])
    .default('poll');

function kind(value: string): SourceKind {
  const found = KINDS.find((one) => one === value);
  if (found === undefined) throw new InvalidArgumentError(`The helpdesks are ${KINDS.join(', ')}.`);
  return found;
}

function addCommand(group: Command, register: RunAction): void {
  const command = kindArgument(group.command('add'))
    .description('add a source; a running gateway loads it and then follows it')
    .requiredOption(
      '--url <URL>',
      'address of the database of the helpdesk, kept encrypted; - reads the address from standard input',
      databaseUrl,
    )
    .option('--insecure', 'let the data of a helpdesk on another machine travel without encryption')
    .requiredOption('--account <N>', 'number of the account in the helpdesk', whole)
    .option(
      '--organization <NAME>',
      'organization, by id or external_id, or a new one (default: the name of the account)',
      displayName,
    )
    .addOption(modeOption())
    .option('--period <SECONDS>', 'seconds between two polls', whole, PERIOD)
    .option('--time-zone <ZONE>', 'IANA time zone of the website', zone, 'UTC')
    .option('--storage <PATH>', 'folder with the content of files, the same on every gateway')
    .option(
      '--api-url <URL>',
      'address of the REST API of the helpdesk, to which notes and dispositions go back',
      webUrl,
    )
    .option(
      '--api-token <TOKEN>',
      'token for the REST API, kept encrypted; - reads the token from standard input, after the address',
      token,
    );
  register(command, async (context) => {
    const options = command.opts<Added>();
    if ((options.apiUrl === undefined) !== (options.apiToken === undefined))
      command.error("error: options '--api-url' and '--api-token' need each other");
    const read = withInput(command, options);
    const given = { ...read, url: safeUrl(command, read) };
    const { out, store } = context;
    // The keys are opened before the store, so that a missing key is reported before anything is written.
    await openGivenKeys(context.config);
    const { db } = await store();
    const id = await add(context, db, kind(command.args[0] ?? ''), given);
    const record = await source(db, id);
    const details = await detailsOf(db, record);
    out.result(sourceDocument(record, details), sourceText(record, details));
    out.note(`A running gateway loads the source now. Its progress: gateway source show ${id}`);
  });
}

async function add({ out, config }: CommandContext, db: Database, of: SourceKind, given: Added): Promise<string> {
  const [{ SOURCE_KINDS }, { openReader }, { writePage }, { explainSource, OTHER_INSTALLATION }] = await Promise.all([
    import('../sources/openers.ts'),
    import('../sources/reader/reader.ts'),
    import('../sources/engine/page.ts'),
    import('../sources/follow/explain.ts'),
  ]);
  const id = newId('src');
  const account = String(given.account);
  const { row, external_id: website } = SOURCE_KINDS[of].website(account);
  const settings = {
    address: given.url,
    account,
    mode: given.mode,
    period: given.period,
    timeZone: given.timeZone,
    storage: given.storage ?? null,
    reader: id,
  };
  const helpdesk = openReader(of, settings);
  const changes: Change[] = [];
  let installation: Installation;
  try {
    tell(out, await helpdesk.check(), `gateway source grants ${of} --mode ${given.mode}`);
    installation = await helpdesk.installation();
    for await (const page of helpdesk.reread([row])) changes.push(...page);
  } catch (error) {
    throw error instanceof Refused ? error : new Refused(explainSource(error), { cause: error });
  } finally {
    await helpdesk.close();
  }
  const rows = changes.flatMap((change) =>
    'prepared' in change && 'row' in change.prepared ? [change.prepared.row] : [],
  );
  if (rows.length < changes.length)
    throw new Refused('The gateway cannot take the account of the helpdesk: its name is empty or not valid.');
  const named = rows.find(({ type }) => type === 'organization');
  const organization = await takeOrganization(db, {
    external_id: given.organization ?? String(named?.external_id),
    name: given.organization ?? String(named?.data['name']),
  });
  if (!(await keepInstallation(db, { tenant: organization.tenant, website }, installation)))
    throw new Refused(OTHER_INSTALLATION);
  const keys = await openGivenKeys(config);
  const added = await insertSource(
    db,
    {
      ...settings,
      id,
      tenant: organization.tenant,
      kind: of,
      address: keys.seal('source', given.url),
      apiUrl: given.apiUrl ?? null,
      apiToken: given.apiToken === undefined ? null : keys.seal('source', given.apiToken),
    },
    ADDING,
  );
  if (!added)
    throw new Refused(
      `The organization ${plain(organization.external_id)} has a source of this account already. See: gateway source list. For another installation with the same account number, give --organization.`,
    );
  const own = rows
    .filter(({ type }) => type === 'website')
    .map((one) => ({ from: row, prepared: { row: { ...one, owner: organization.external_id } } }));
  await writePage(db, { id, tenant: Number(organization.tenant), epoch: 0 }, own, null);
  await keepInstallation(db, { tenant: organization.tenant, website }, installation);
  await startSource(db, id, website);
  return id;
}

/** Prints the warnings of a check. Throws when the source cannot be read. */
function tell({ note }: CommandContext['out'], findings: readonly Finding[], grants: string): void {
  for (const finding of findings) note(findingText(finding));
  const refused = findings.filter(({ level }) => level === 'refused').length;
  // If the address, the account or the server is wrong, missing rights are not the cause.
  const rights = !findings.some(({ about }) => about === 'address' || about === 'account' || about === 'server');
  if (refused > 0)
    throw new Refused(
      `The source cannot be read: see the ${refused === 1 ? 'reason' : `${refused} reasons`} above.${rights ? ` The SQL that gives all rights: ${grants}` : ''}`,
    );
}

function listCommand(group: Command, register: RunAction): void {
  const command = group.command('list').description('list sources in order of creation');
  register(command, async ({ out, store }) => {
    const { db } = await store();
    const records = await readSources(db, null);
    const documents = await Promise.all(records.map(async (one) => sourceDocument(one, await detailsOf(db, one))));
    out.result({ sources: documents }, sourceTable(records));
  });
}

function showCommand(group: Command, register: RunAction): void {
  const command = group
    .command('show <SRC>')
    .description('show the state of a source, its lag, its records and its rejects');
  register(command, async ({ out, store }) => {
    const { db } = await store();
    const record = await source(db, command.args[0] ?? '');
    const details = await detailsOf(db, record);
    out.result(sourceDocument(record, details), sourceText(record, details));
  });
}

function pauseCommands(group: Command, register: RunAction): void {
  const change = (name: 'pause' | 'resume', description: string, paused: boolean): void => {
    const command = group.command(`${name} <SRC>`).description(description);
    register(command, async ({ out, store }) => {
      const { db } = await store();
      const { id } = await source(db, command.args[0] ?? '');
      const changed = await pauseSource(db, id, paused);
      out.result(
        { source_id: id, state: (await source(db, id)).state, changed },
        `Source ${id} ${changed ? 'is' : 'was already'} ${paused ? 'paused' : 'running'}.`,
      );
    });
  };
  change('pause', 'stop reading a source; its records stay', true);
  change('resume', 'start a source that is paused or stands still, from where it was', false);
}

function removeCommand(group: Command, register: RunAction): void {
  const command = irreversible(
    group
      .command('remove <SRC>')
      .description('remove a source; its records stay unless --with-data is given')
      .option('--with-data', 'also delete the website of the source with all its records'),
  );
  register(command, async ({ out, store, config }) => {
    const { withData = false } = command.opts<{ withData?: true }>();
    const { db } = await store();
    const record = await source(db, command.args[0] ?? '');
    const lost = withData
      ? `The website ${record.website_id ?? ''} and all its records are deleted.`
      : 'Its records stay.';
    await confirm(command, `Remove ${record.id}? ${lost}`);
    await pauseSource(db, record.id, true);
    const { openStoredReader } = await import('../sources/reader/reader.ts');
    let forgotten = true;
    try {
      const helpdesk = openStoredReader(await openGivenKeys(config), record);
      await helpdesk.forget().finally(() => helpdesk.close());
    } catch {
      // A source can be removed while its helpdesk does not answer.
      forgotten = false;
    }
    if (!(await deleteSource(db, record.id, withData))) throw new Refused(`There is no source ${record.id}.`);
    if (!forgotten && record.mode === 'live')
      out.note(
        'The helpdesk could not be told. If no other source reads its outbox, run the statements at the end of the grants there.',
      );
    out.result(
      { source_id: record.id, removed: true, data_removed: withData },
      `Source ${record.id} is removed. ${lost}`,
    );
  });
}

function grantsCommand(group: Command, register: RunAction): void {
  const command = kindArgument(group.command('grants'))
    .description('print the SQL that gives the gateway its rights in the database of the helpdesk')
    .addOption(modeOption())
    .option('--role <NAME>', 'role with which the gateway connects (default: gateway_reader)');
  register(command, async ({ out }) => {
    const { mode, role } = command.opts<{ mode: 'poll' | 'live'; role?: string }>();
    const { SOURCE_KINDS } = await import('../sources/openers.ts');
    const text = SOURCE_KINDS[kind(command.args[0] ?? '')].grants({ mode, ...(role !== undefined && { role }) });
    out.result({ sql: text }, text);
  });
}

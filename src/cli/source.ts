import { type Command, InvalidArgumentError, Option } from 'commander';
import { openGivenKeys } from '../auth/key-file.ts';
import type { Config } from '../config/config.ts';
import { addSource, PERIOD, removeSource, type SourceDoor } from '../sources/administration.ts';
import type { SourceKind } from '../sources/kinds.ts';
import type { Finding } from '../sources/source.ts';
import { pauseSource, readSources } from '../store/administration/sources.ts';
import type { Database } from '../store/driver/postgres.ts';
import { confirm, irreversible } from './confirm.ts';
import type { RunAction } from './context.ts';
import { displayName, whole } from './options.ts';
import { Refused } from './output.ts';
import { checkCommand } from './source-check.ts';
import { type Added, databaseUrl, safeUrl, token, webUrl, withInput, zone } from './source-options.ts';
import { detailsOf, findingText, source, sourceDocument, sourceTable, sourceText } from './source-view.ts';

/** The kinds of src/sources/kinds.ts. That file loads the database driver, which the help does not need. */
const KINDS: readonly SourceKind[] = ['chatwoot'];
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

const sourceDoor = (db: Database, config: Config): Pick<SourceDoor, 'db' | 'keys'> => ({
  db,
  keys: () => openGivenKeys(config),
});

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
    // A source brings its organization with it, as an import does, so this can be the first command of a new store.
    const { db } = await store({ migrates: true });
    const tell = (finding: Finding): void => out.note(findingText(finding));
    const id = await addSource({ ...sourceDoor(db, context.config), tell }, kind(command.args[0] ?? ''), given);
    const record = await source(db, id);
    const details = await detailsOf(db, record);
    out.result(sourceDocument(record, details), sourceText(record, details));
    out.note(`A running gateway loads the source now. Its progress: gateway source show ${id}`);
  });
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
      const { id, state } = await source(db, command.args[0] ?? '');
      if (state === 'removing') throw new Refused(`Source ${id} is being removed. Nobody can take it back.`);
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
    if (record.state === 'removing' && !withData)
      throw new Refused(`Source ${record.id} is being removed with its records. To finish it now, use --with-data.`);
    if (withData)
      out.note('The records go in steps. If this command is interrupted, it or a running gateway continues.');
    const { left, finished } = await removeSource(sourceDoor(db, config), record, { withData });
    if (!finished)
      throw new Refused(
        `Source ${record.id} is still there: its organization has moved. Remove it where it lives now.`,
      );
    if (left !== undefined) out.note(left);
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

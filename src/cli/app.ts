import type { Command } from 'commander';
import { newId } from '../auth/issue.ts';
import { type AppRecord, insertApp, readApps, updateQuota } from '../store/administration/apps.ts';
import { type Candidate, findApps } from '../store/administration/references.ts';
import type { Database } from '../store/driver/postgres.ts';
import type { RunAction } from './context.ts';
import { displayName, operations, whole } from './options.ts';
import { appOf, facts, plain, Refused, table } from './output.ts';
import { app, organization, tenantOf } from './references.ts';

interface QuotaOptions {
  readonly quotaPerMinute?: number;
  readonly burst?: number;
}

interface AppUpdate extends QuotaOptions {
  readonly switchOff?: string[];
  readonly switchOn?: string[];
}

export function appCommands(program: Command, register: RunAction): void {
  const group = program.command('app').description('manage apps, their installations and quotas');
  createCommand(group, register);
  listCommand(group, register);
  updateCommand(group, register);
}

const quotaOptions = (command: Command): Command =>
  command
    .option(
      '--quota-per-minute <N>',
      'quota in units per minute, 1 to 1000000, shared by all surfaces and replicas (default of create: 600)',
      whole,
    )
    .option('--burst <N>', 'quota units that can be spent at once, 1 to 1000000 (default of create: 120)', whole);

const quotaOf = ({ quotaPerMinute, burst }: QuotaOptions): { perMinute?: number; burst?: number } => ({
  ...(quotaPerMinute !== undefined && { perMinute: quotaPerMinute }),
  ...(burst !== undefined && { burst }),
});

function createCommand(group: Command, register: RunAction): void {
  const command = quotaOptions(
    group
      .command('create')
      .description('create an app with one installation')
      .requiredOption('--organization <ORG>', 'organization of the app, by id or external_id')
      .requiredOption('--name <NAME>', 'display name of the app, 1 to 120 characters', displayName),
  );
  register(command, async ({ out, store }) => {
    const options = command.opts<QuotaOptions & { organization: string; name: string }>();
    const { db } = await store();
    const { id: organization_id, tenant } = await organization(db, options.organization);
    const made = { id: newId('app'), installation: newId('ins'), tenant, name: options.name, quota: quotaOf(options) };
    const quota = await insertApp(db, made);
    if (!quota) throw new Refused('The organization has just been removed.');
    const { id: app_id, installation: installation_id, name } = made;
    const others = (await findApps(db, [name])).filter(({ id }) => id !== app_id);
    if (others.length > 0)
      out.note(
        `There is more than one app ${JSON.stringify(plain(name))} now: ${[...others.map(({ id }) => id), app_id].join(', ')}. Commands take them only by id.`,
      );
    out.result(
      { app_id, installation_id, organization_id, name, ...quota },
      facts([
        ['app', `${app_id} (${plain(name)})`],
        ['installation', installation_id],
        ['organization', organization_id],
        ['quota', `${quota.quota_per_minute} units a minute, ${quota.burst} at once`],
      ]),
    );
  });
}

function listCommand(group: Command, register: RunAction): void {
  const command = group
    .command('list')
    .description('list apps in order of creation')
    .option('--organization <ORG>', 'list only apps of this organization');
  register(command, async ({ out, store }) => {
    const given = command.opts<{ organization?: string }>();
    const { db } = await store();
    const apps = await readApps(db, await tenantOf(db, given.organization));
    out.result({ apps: apps.map(document) }, appTable(apps));
  });
}

function updateCommand(group: Command, register: RunAction): void {
  const command = quotaOptions(
    group
      .command('update <APP>')
      .description(
        'change the quota of an app, or switch operations off and on for it; a quota takes effect within seconds, a switch at the next call',
      ),
  )
    .option('--switch-off <OPERATION,...>', 'operations that the app can no longer call (repeatable)', operations)
    .option('--switch-on <OPERATION,...>', 'operations that are no longer switched off (repeatable)', operations);
  register(command, async ({ out, store }) => {
    const { switchOff: off = [], switchOn: on = [], ...options } = command.opts<AppUpdate>();
    const quota = quotaOf(options);
    if (off.some((name) => on.includes(name)))
      command.error("error: option '--switch-off' contradicts '--switch-on': both name the same operation");
    if (Object.keys(quota).length + off.length + on.length === 0)
      command.error('error: nothing to change: give --quota-per-minute, --burst, --switch-off or --switch-on');
    const { db } = await store();
    const target = await app(db, command.args[0] ?? '');
    const { id } = target;
    if (off.length + on.length > 0) await switches(db, target, { off, on });
    if (Object.keys(quota).length > 0) await updateQuota(db, id, quota);
    const [updated] = await readApps(db, { id });
    if (!updated) throw new Refused(`App ${id} has just been removed.`);
    out.result(document(updated), appTable([updated]));
  });
}

async function switches(db: Database, target: Candidate, change: { off: string[]; on: string[] }): Promise<void> {
  // Only this option needs the declarations of all operations.
  const [{ loadTools }, { switchTools, UnknownOperations }] = await Promise.all([
    import('../gateway/load.ts'),
    import('../gateway/switches.ts'),
  ]);
  try {
    await switchTools(db, await loadTools(), target, change);
  } catch (error) {
    if (!(error instanceof UnknownOperations)) throw error;
    throw new Refused(`There is no operation ${error.names.join(', ')}. access_explain lists the operations.`);
  }
}

const document = (record: AppRecord): object => ({
  app_id: record.id,
  name: record.name,
  ...(record.client_host !== null && { client_host: record.client_host }),
  organization_id: record.organization_id,
  installation_ids: record.installation_ids,
  quota_per_minute: record.quota_per_minute,
  burst: record.burst,
  switched_off: record.switched_off,
  created_at: record.created_at,
});

const appTable = (apps: readonly AppRecord[]): string =>
  table(
    ['APP', 'NAME', 'ORGANIZATION', 'INSTALLATIONS', 'PER MINUTE', 'BURST', 'SWITCHED OFF'],
    apps.map((record) => [
      record.id,
      appOf(record.client_host, record.name),
      plain(record.organization_external_id),
      record.installation_ids.join(' '),
      String(record.quota_per_minute),
      String(record.burst),
      record.switched_off.join(' '),
    ]),
    'There is no app.',
  );

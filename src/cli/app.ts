import type { Command } from 'commander';
import { newId } from '../auth/issue.ts';
import { type AppRecord, insertApp, readApps, updateQuota } from '../store/administration/apps.ts';
import type { RunAction } from './context.ts';
import { displayName, whole } from './options.ts';
import { appOf, facts, plain, Refused, table } from './output.ts';
import { app, organization, tenantOf } from './references.ts';

interface QuotaOptions {
  readonly quotaPerMinute?: number;
  readonly burst?: number;
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
    group.command('update <APP>').description('change the quota of an app; the new quota takes effect within seconds'),
  );
  register(command, async ({ out, store }) => {
    const quota = quotaOf(command.opts<QuotaOptions>());
    if (Object.keys(quota).length === 0) command.error('error: nothing to change: give --quota-per-minute or --burst');
    const { db } = await store();
    const { id } = await app(db, command.args[0] ?? '');
    await updateQuota(db, id, quota);
    const [updated] = await readApps(db, { id });
    if (!updated) throw new Refused(`App ${id} has just been removed.`);
    out.result(document(updated), appTable([updated]));
  });
}

const document = (record: AppRecord): object => ({
  app_id: record.id,
  name: record.name,
  ...(record.client_host !== null && { client_host: record.client_host }),
  organization_id: record.organization_id,
  installation_ids: record.installation_ids,
  quota_per_minute: record.quota_per_minute,
  burst: record.burst,
  created_at: record.created_at,
});

const appTable = (apps: readonly AppRecord[]): string =>
  table(
    ['APP', 'NAME', 'ORGANIZATION', 'INSTALLATIONS', 'PER MINUTE', 'BURST'],
    apps.map((record) => [
      record.id,
      appOf(record.client_host, record.name),
      plain(record.organization_external_id),
      record.installation_ids.join(' '),
      String(record.quota_per_minute),
      String(record.burst),
    ]),
    'There is no app.',
  );

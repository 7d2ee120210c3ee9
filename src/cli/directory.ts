import { type Command, InvalidArgumentError } from 'commander';
import { keepMessages, readOrganizations, readWebsites } from '../store/administration/directory.ts';
import { confirm, irreversible } from './confirm.ts';
import type { RunAction } from './context.ts';
import { moveCommand } from './organization-move.ts';
import { plain, table } from './output.ts';
import { organization, tenantOf } from './references.ts';

export function organizationCommands(program: Command, register: RunAction): void {
  const group = program
    .command('organization')
    .description(
      'list organizations, which own websites, apps and people, set how long they keep messages, and move them',
    );
  updateCommand(group, register);
  moveCommand(group, register);
  register(group.command('list').description('list organizations in order of creation'), async ({ out, store }) => {
    const { db } = await store();
    const found = await readOrganizations(db);
    out.result(
      { organizations: found.map(({ id, ...rest }) => ({ organization_id: id, ...rest })) },
      table(
        ['ORGANIZATION', 'EXTERNAL ID', 'NAME', 'WEBSITES', 'APPS', 'PEOPLE'],
        found.map(({ id, external_id, name, websites, apps, people }) => [
          id,
          plain(external_id),
          plain(name),
          ...[websites, apps, people].map(String),
        ]),
        'There is no organization. Load data with `gateway import`, or the demo with `gateway demo`.',
      ),
    );
  });
}

function updateCommand(group: Command, register: RunAction): void {
  const command = irreversible(
    group
      .command('update <ORG>')
      .description('set how long the texts and files of messages are kept')
      .requiredOption(
        '--keep-messages-days <N>',
        'days, 1 to 36500: older texts and files go every night, for ever; off: they stay',
        days,
      ),
  );
  register(command, async ({ out, store }) => {
    const { keepMessagesDays: given } = command.opts<{ keepMessagesDays: number | 'off' }>();
    const { db } = await store();
    const { id, tenant, name } = await organization(db, command.args[0] ?? '');
    const kept = given === 'off' ? null : given;
    if (kept !== null)
      await confirm(
        command,
        `Clear all texts and files of ${plain(name)} that are older than ${kept} days? It begins at once.`,
      );
    await keepMessages(db, tenant, kept);
    out.result(
      { organization_id: id, keep_messages_days: kept },
      kept === null ? `${plain(name)} keeps all messages.` : `${plain(name)} keeps texts and files for ${kept} days.`,
    );
  });
}

function days(value: string): number | 'off' {
  if (value === 'off') return value;
  const n = Number(value);
  if (!/^\d{1,5}$/.test(value) || n < 1 || n > 36_500)
    throw new InvalidArgumentError('It must be a number of days from 1 to 36500, or off.');
  return n;
}

export function websiteCommands(program: Command, register: RunAction): void {
  const group = program.command('website').description('list websites, whose support data apps may read');
  const command = group
    .command('list')
    .description('list websites in order of creation')
    .option('--organization <ORG>', 'list only websites of this organization, by id or external_id');
  register(command, async ({ out, store }) => {
    const given = command.opts<{ organization?: string }>();
    const { db } = await store();
    const found = await readWebsites(db, await tenantOf(db, given.organization));
    out.result(
      { websites: found.map(({ id, organization_external_id: _, ...rest }) => ({ website_id: id, ...rest })) },
      table(
        ['WEBSITE', 'EXTERNAL ID', 'NAME', 'ORGANIZATION', 'TIME ZONE'],
        found.map(({ id, external_id, name, organization_external_id: owner, time_zone }) => [
          id,
          ...[external_id, name, owner].map(plain),
          time_zone,
        ]),
        'There is no website. Load data with `gateway import`, or the demo with `gateway demo`.',
      ),
    );
  });
}

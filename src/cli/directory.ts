import { type Command, InvalidArgumentError } from 'commander';
import { isHost } from '../config/values.ts';
import { readOrganizations, readWebsites, updateOrganization } from '../store/administration/directory.ts';
import { confirm, irreversible } from './confirm.ts';
import type { RunAction } from './context.ts';
import { moveCommand } from './organization-move.ts';
import { plain, Refused, table } from './output.ts';
import { organization, tenantOf } from './references.ts';

/** Words for a move that has not ended. */
const MOVES: Readonly<Record<string, string>> = { copying: 'leaves', holding: 'leaves', arriving: 'arrives' };

export function organizationCommands(program: Command, register: RunAction): void {
  const group = program
    .command('organization')
    .description(
      'list organizations, which own websites, apps and people, set their host and how long they keep messages, and move them',
    );
  updateCommand(group, register);
  moveCommand(group, register);
  register(group.command('list').description('list organizations in order of creation'), async ({ out, store }) => {
    const { db } = await store();
    const found = await readOrganizations(db);
    out.result(
      { organizations: found.map(({ id, ...rest }) => ({ organization_id: id, ...rest })) },
      table(
        ['ORGANIZATION', 'NUMBER', 'EXTERNAL ID', 'NAME', 'WEBSITES', 'APPS', 'PEOPLE', 'HOST', 'MOVED TO'],
        found.map(({ id, number, external_id, name, websites, apps, people, host, moved_to, move }) => [
          ...[id, String(number)],
          plain(external_id),
          plain(name),
          ...[websites, apps, people].map(String),
          ...[host ?? '', MOVES[move ?? 'moved'] ?? moved_to ?? ''],
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
      .description('set how long texts and files of messages are kept, or the host of the organization')
      .option(
        '--keep-messages-days <N>',
        'days, 1 to 36500: older texts and files go every night, for ever; off: they stay',
        days,
      )
      .option(
        '--host <NAME>',
        'name by which the clients of the organization reach the gateway, such as acme.support.example; none: the base URL',
        hostName,
      ),
  );
  register(command, async ({ out, store, config }) => {
    const given = command.opts<{ keepMessagesDays?: number | 'off'; host?: string }>();
    if (given.keepMessagesDays === undefined && given.host === undefined)
      command.error('error: nothing to change: give --keep-messages-days or --host');
    if (given.host === new URL(config.baseUrl).hostname)
      throw new Refused(
        `${given.host} is the host of the base URL ${config.baseUrl}, which all organizations share. Give another name.`,
      );
    const { db } = await store();
    const { id, tenant, name } = await organization(db, command.args[0] ?? '');
    const kept = given.keepMessagesDays === 'off' ? null : given.keepMessagesDays;
    const host = given.host === 'none' ? null : given.host;
    if (typeof kept === 'number')
      await confirm(
        command,
        `Clear all texts and files of ${plain(name)} that are older than ${kept} ${kept === 1 ? 'day' : 'days'}? It begins at once.`,
      );
    const taken = await updateOrganization(db, tenant, { host, days: kept });
    if (taken !== undefined)
      throw new Refused(`Nothing was changed: organization ${taken} has the host ${host}. Remove it there first.`);
    const told: string[] = [];
    const document: Record<string, unknown> = { organization_id: id };
    if (kept !== undefined) {
      document['keep_messages_days'] = kept;
      told.push(
        kept === null
          ? `${plain(name)} keeps all messages.`
          : `${plain(name)} keeps texts and files for ${kept} ${kept === 1 ? 'day' : 'days'}.`,
      );
    }
    if (host !== undefined) {
      document['host'] = host;
      told.push(
        host === null
          ? `${plain(name)} has no host.`
          : `${plain(name)} has the host ${host}. All processes know it in 5 s.`,
      );
    }
    out.result(document, told.join(' '));
  });
}

/** A name of DNS with a dot, in lower case. Not an address, and not the one word that removes the host. */
function hostName(value: string): string {
  const host = value.toLowerCase();
  if (host !== 'none' && (!isHost(host) || !/\.[a-z][a-z\d-]*$/.test(host)))
    throw new InvalidArgumentError(
      'It must be a host name without scheme and port, such as acme.support.example, or none.',
    );
  return host;
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

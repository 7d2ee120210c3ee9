import type { Command } from 'commander';
import { readOrganizations, readWebsites } from '../store/administration/directory.ts';
import type { Run } from './context.ts';
import { table } from './output.ts';
import { organization } from './references.ts';
import { plain } from './text.ts';

export function organizationCommands(program: Command, register: Run): void {
  const group = program.command('organization').description('list organizations, which own websites, apps and people');
  register(group.command('list').description('list organizations in order of creation'), async ({ out, store }) => {
    const { db } = await store();
    const found = await readOrganizations(db);
    out.result(
      { organizations: found.map(({ id, ...rest }) => ({ organization_id: id, ...rest })) },
      found.length === 0
        ? 'There is no organization. Load data with `gateway import`, or the demo with `gateway demo`.'
        : table(
            ['ORGANIZATION', 'EXTERNAL ID', 'NAME', 'WEBSITES', 'APPS', 'PEOPLE'],
            found.map(({ id, external_id, name, websites, apps, people }) => [
              id,
              plain(external_id),
              plain(name),
              ...[websites, apps, people].map(String),
            ]),
          ),
    );
  });
}

export function websiteCommands(program: Command, register: Run): void {
  const group = program.command('website').description('list websites, whose support data apps may read');
  const command = group
    .command('list')
    .description('list websites in order of creation')
    .option('--organization <ORG>', 'list only websites of this organization, by id or external_id');
  register(command, async ({ out, store }) => {
    const given = command.opts<{ organization?: string }>();
    const { db } = await store();
    const found = await readWebsites(
      db,
      given.organization === undefined ? {} : { tenant: (await organization(db, given.organization)).tenant },
    );
    out.result(
      { websites: found.map(({ id, organization_external_id: _, ...rest }) => ({ website_id: id, ...rest })) },
      found.length === 0
        ? 'There is no website. Load data with `gateway import`, or the demo with `gateway demo`.'
        : table(
            ['WEBSITE', 'EXTERNAL ID', 'NAME', 'ORGANIZATION', 'TIME ZONE'],
            found.map((one) => [
              one.id,
              plain(one.external_id),
              plain(one.name),
              plain(one.organization_external_id),
              one.time_zone,
            ]),
          ),
    );
  });
}

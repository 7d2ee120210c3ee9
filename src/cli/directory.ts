import type { Command } from 'commander';
import { readOrganizations, readWebsites } from '../store/administration/directory.ts';
import type { RunAction } from './context.ts';
import { plain, table } from './output.ts';
import { tenantOf } from './references.ts';

export function organizationCommands(program: Command, register: RunAction): void {
  const group = program.command('organization').description('list organizations, which own websites, apps and people');
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

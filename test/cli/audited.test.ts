import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { auditOf, brief } from '../support/audit.ts';
import { cliDatabase, fed, gateway } from '../support/cli.ts';
import type { TestDatabase } from '../support/database.ts';

/** E6: each command that changes something of an organization leaves one record. */
let database: TestDatabase;
let organization: string;
beforeAll(async () => {
  vi.stubEnv('GATEWAY_KEYS', `1:${Buffer.alloc(32, 7).toString('base64')}`);
  database = await cliDatabase('demo');
  const [row] = await database.sql<
    { id: string }[]
  >`SELECT public_id AS id FROM platform.organization WHERE tenant = 1`;
  organization = row?.id ?? '';
});
afterAll(() => {
  vi.unstubAllEnvs();
  return database.close();
});

async function recorded(run: Promise<{ code: number; stdout: string; stderr: string }>): Promise<unknown[]> {
  const { code, stderr } = await run;
  expect(code, stderr).toBe(0);
  const found = (await auditOf(database)).map(brief);
  await database.sql`DELETE FROM gateway.audit`;
  return found;
}
const change = (operation: string, ...targets: unknown[]) => [
  {
    ...{ organization_id: organization, surface: 'cli', operation, targets },
    ...{ outcome: 'ok', status: 200, units: 0, replayed: false },
  },
];
const id = (prefix: string) => expect.stringMatching(new RegExp(`^${prefix}_[0-9a-f]{32}$`));

it('a change names what it has changed, and a look leaves nothing', async () => {
  const create = gateway('app', 'create', '--organization', organization, '--name', 'zqx7canary');
  expect(await recorded(create)).toEqual(change('app create', id('app'), id('ins')));
  const [app] = await database.sql<{ id: string }[]>`SELECT id FROM gateway.app WHERE name = 'zqx7canary'`;
  expect(await recorded(gateway('app', 'update', app?.id ?? '', '--burst', '7'))).toMatchObject(
    change('app update', app?.id),
  );
  const grants = ['--website', 'web_1_1', '--scope', 'health_read', '--environment', 'test'];
  const issue = gateway('credential', 'issue', '--installation', app?.id ?? '', ...grants);
  expect(await recorded(issue)).toMatchObject(
    change('credential issue', id('crd'), ...[]).map((one) => ({
      ...one,
      targets: expect.arrayContaining([id('crd')]),
    })),
  );
  const [credential] = await database.sql<{ id: string }[]>`
    SELECT c.id FROM gateway.credential c JOIN gateway.installation i ON i.id = c.installation_id WHERE i.app_id = ${app?.id ?? ''}`;
  expect(await recorded(gateway('credential', 'revoke', credential?.id ?? '', '--yes'))).toMatchObject([
    { operation: 'credential revoke', organization_id: organization, surface: 'cli' },
  ]);
  const person = fed(
    'a long pass phrase\n',
    'person',
    'add',
    '--organization',
    organization,
    '--email',
    'zqx7@canary.test',
    '--role',
    'admin',
    '--password-stdin',
  );
  expect(await recorded(person)).toMatchObject([
    { operation: 'person add', targets: expect.arrayContaining([id('prs')]) },
  ]);
  for (const looks of [['app', 'list'], ['credential', 'show', credential?.id ?? ''], ['person', 'list'], ['doctor']])
    expect(await recorded(gateway(...looks))).toEqual([]);
  const keep = gateway('organization', 'update', organization, '--keep-messages-days', '36500', '--yes');
  expect(await recorded(keep)).toEqual(change('organization update'));
  const [contact] = await database.sql<{ id: string }[]>`
    SELECT 'ctc_' || tenant || '_' || site || '_' || min(id) AS id FROM platform.contact
     WHERE tenant = 1 AND site = 1 GROUP BY tenant, site`;
  const erase = ['erase', 'contact', contact?.id ?? '', '--reason', 'asked'];
  expect(await recorded(gateway(...erase, '--dry-run'))).toEqual([]);
  const erased = change('erase contact', id('era'), contact?.id);
  expect(await recorded(gateway(...erase, '--yes'))).toEqual(erased);
  expect(await recorded(gateway(...erase, '--yes'))).toEqual(erased);
  expect(await recorded(gateway('erase', 'list'))).toEqual([]);
  const refused = await gateway('credential', 'rotate', credential?.id ?? '');
  expect([refused.code, await auditOf(database)]).toEqual([1, []]);
});

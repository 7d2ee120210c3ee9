import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cliDatabase, demoApp, document, gateway, issue, refused, text } from '../support/cli.ts';
import type { TestDatabase } from '../support/database.ts';

let database: TestDatabase;
let installation: string;
let app: string;

beforeAll(async () => {
  database = await cliDatabase('demo');
  ({ app, installation } = await demoApp());
});
afterAll(() => database.close());

test('migrate says the version', async () => {
  expect(await document('migrate')).toEqual({ version: expect.any(Number) });
  expect((await gateway('migrate')).stdout).toMatch(/^The schema is at version \d+\.\n$/);
});

describe('app', () => {
  test('create, list, update', async () => {
    const [organization] = await database.sql`SELECT public_id FROM platform.organization`;
    const given = ['--organization', String(organization?.['public_id']), '--name', ' Zoë’s agent ', '--burst', '5'];
    const made = await document('app', 'create', ...given);
    expect(made).toEqual({
      app_id: expect.stringMatching(/^app_[a-f0-9]{32}$/),
      installation_id: expect.stringMatching(/^ins_[a-f0-9]{32}$/),
      organization_id: organization?.['public_id'],
      name: 'Zoë’s agent',
      quota_per_minute: 600,
      burst: 5,
    });
    expect(await document('app', 'update', 'Zoë’s agent', '--quota-per-minute', '60')).toMatchObject({
      app_id: made['app_id'],
      installation_ids: [made['installation_id']],
      quota_per_minute: 60,
      burst: 5,
      switched_off: [],
    });
    const { apps } = await document('app', 'list', '--organization', 'larkspur');
    expect(apps).toContainEqual(expect.objectContaining({ app_id: made['app_id'], quota_per_minute: 60 }));
    expect((await gateway('app', 'list')).stdout).toContain('Zoë’s agent');
    const again = await gateway('app', 'create', ...given);
    expect(again).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(
        new RegExp(
          `^There is more than one app "Zoë’s agent" now: ${made['app_id']}, app_\\w+\\. Commands take them only by id\\.\n$`,
        ),
      ),
    });
    expect(await gateway('app', 'update', 'Zoë’s agent', '--burst', '6')).toEqual(refused('matches more than one app'));
  });

  test('update switches operations off and on, and the quota with them', async () => {
    const update = (...options: string[]) => document('app', 'update', app, ...options);
    const off = ['search', 'visitor_note_add'];
    const both = ['--switch-off', 'visitor_note_add, search', '--switch-off', 'search', '--burst', '7'];
    expect(await update(...both)).toMatchObject({ switched_off: off, burst: 7 });
    const { apps } = await document('app', 'list');
    expect(apps).toContainEqual(expect.objectContaining({ app_id: app, switched_off: off }));
    expect((await gateway('app', 'list')).stdout).toContain(off.join(' '));
    const swapped = ['--switch-on', 'search', '--switch-off', 'realtime_socket'];
    expect(await update(...swapped)).toMatchObject({ switched_off: ['realtime_socket', 'visitor_note_add'] });
    const unknown = await gateway('app', 'update', app, '--switch-off', 'contact_get,nonsense', '--burst', '8');
    expect(unknown).toMatchObject(refused('There is no operation nonsense.'));
    const [record] = (await document('app', 'list', '--organization', 'larkspur'))['apps'] as { app_id: string }[]; // a list of apps
    expect(record).toMatchObject({ app_id: app, switched_off: ['realtime_socket', 'visitor_note_add'], burst: 7 });
    const none = ['--switch-on', 'realtime_socket,visitor_note_add'];
    expect(await update(...none)).toMatchObject({ switched_off: [] });
  });
});

describe('author', () => {
  test('map, list, unmap', async () => {
    const credential = text(await issue(installation), 'credential_id');
    const on = ['--credential', credential, '--website', 'larkspur-us'];
    const mapped = await document('author', 'map', ...on, '--operator', 'op-jonah');
    expect(mapped).toEqual({
      credential_id: credential,
      website_id: 'web_1_1',
      operator_id: expect.stringMatching(/^opr_1_1_\d+$/),
      operator_name: 'Jonah Beck',
    });
    const other = await document('author', 'map', ...on, '--operator', 'op-priya');
    expect(await document('author', 'list', '--credential', credential)).toEqual({
      authors: [{ ...other, usable: true, created_at: expect.stringMatching(/Z$/) }],
    });
    expect(await gateway('author', 'unmap', ...on, '--operator', 'op-jonah')).toMatchObject({ code: 1 });
    expect(await document('author', 'unmap', ...on)).toMatchObject({
      operator_id: other['operator_id'],
      removed: true,
    });
    expect(await document('author', 'unmap', ...on)).toMatchObject({ operator_id: null, removed: false });
    expect(await document('author', 'list', '--credential', credential)).toEqual({ authors: [] });
  });

  test.each([
    ['a disabled operator', 'larkspur-us', 'op-sam', 'is disabled'],
    ['an operator of another website', 'larkspur-us', 'op-anke', 'web_1_2'],
    ['a website that is not granted', 'larkspur-eu', 'op-anke', 'is not granted'],
    ['an unknown operator', 'larkspur-us', 'op-nobody', 'There is no operator "op-nobody"'],
  ])('%s is refused, and nothing is mapped', async (_, website, operator, reason) => {
    const credential = text(await issue(installation), 'credential_id');
    const on = ['--credential', credential, '--website', website];
    const ran = await gateway('author', 'map', ...on, '--operator', operator);
    expect(ran).toMatchObject(refused(reason));
    expect(await document('author', 'list', '--credential', credential)).toEqual({ authors: [] });
  });
});

describe('names that mean more than one record, or another organization’s', () => {
  beforeAll(async () => {
    await database.sql`INSERT INTO platform.organization (tenant, external_id, name) VALUES (7, 'rival', 'Rival')`;
    await database.sql`
      INSERT INTO platform.website (tenant, site, external_id, name, time_zone)
      VALUES (7, 1, 'larkspur-us', 'Its own', 'UTC'), (7, 2, 'web_1_1', 'Named like an id', 'UTC'), (7, 3, 'rival-web', ${'Ri\u001b[31mval'}, 'UTC')`;
    await database.sql`
      INSERT INTO platform.channel (tenant, site, id, external_id, platform)
      VALUES (1, 1, 99, 'chn_1_1_1', 'chat'), (7, 1, 1, 'rival-chat', 'chat')`;
  });

  const issuing = (...more: string[]) =>
    gateway('credential', 'issue', '--installation', installation, '--environment', 'test', '--scopes', 'all', ...more);

  test('a website is looked up in the app’s organization', async () => {
    expect(await issue(installation)).toMatchObject({ website_ids: ['web_1_1'] });
    expect(await issuing('--website', 'web_1_1')).toMatchObject({ code: 0 });
    for (const foreign of ['web_7_1', 'rival-web']) {
      expect(await issuing('--website', 'larkspur-us', '--website', foreign)).toMatchObject({
        code: 1,
        stderr: `gateway: Website "${foreign}" belongs to another organization.\n`,
      });
    }
  });

  test('without an organization, the candidates are named', async () => {
    const ran = await gateway('author', 'list', '--website', 'larkspur-us');
    expect(ran).toMatchObject({ code: 1, stdout: '' });
    expect(ran.stderr).toBe(
      'gateway: "larkspur-us" matches more than one website: web_1_1 (Larkspur Outfitters US, organization larkspur), web_7_1 (Its own, organization rival). Use the id.\n',
    );
  });

  test('an external_id that looks like an id is no way to another record', async () => {
    expect(await issuing('--website', 'larkspur-us', '--channel', 'chn_1_1_1')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/matches more than one channel: chn_1_1_1 .*chn_1_1_99/),
    });
  });

  test('a restriction is of a granted website', async () => {
    for (const [channel, reason] of [
      ['eu-chat', 'belongs to website web_1_2'],
      ['rival-chat', 'There is no channel'],
      ['chn_7_1_1', 'There is no channel'],
    ] as const) {
      expect(await issuing('--website', 'larkspur-us', '--channel', channel)).toMatchObject(refused(reason));
    }
  });

  test('two apps of one name', async () => {
    await document('app', 'create', '--organization', 'rival', '--name', 'Test agent');
    expect(await gateway('app', 'update', 'Test agent', '--burst', '9')).toMatchObject(
      refused(`${app} (Test agent, organization larkspur)`),
    );
  });

  test('stored control characters do not reach the terminal', async () => {
    await database.sql`UPDATE platform.website SET external_id = 'larkspur-eu' WHERE tenant = 7 AND site = 3`;
    const { stderr } = await gateway('author', 'list', '--website', 'larkspur-eu');
    expect(stderr).toContain('Ri\u{fffd}[31mval');
  });
});

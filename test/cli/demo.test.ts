import { afterEach, beforeEach, expect, test } from 'vitest';
import { isEmpty } from '../../src/cli/demo.ts';
import { SCOPES } from '../../src/core/scopes.ts';
import { loadAuthority } from '../../src/store/calls/authority.ts';
import { cliDatabase, digest, document, dump, gateway, parse } from '../support/cli.ts';
import type { TestDatabase } from '../support/database.ts';

let database: TestDatabase;
beforeEach(async () => {
  database = await cliDatabase('empty');
});
afterEach(() => database.close());

const NOW = ['--now', '2026-11-15T12:00:00Z'];
const credential = {
  credential_id: expect.stringMatching(/^crd_/),
  secret: expect.stringMatching(/^igws_/),
  token: expect.stringMatching(/^igw_test_/),
};

async function authorityOf(demo: unknown, which: string) {
  const token = /"token":"([^"]+)"/.exec(JSON.stringify(Object(demo)[which]))?.[1] ?? '';
  return (await loadAuthority(database.db, digest(token)))?.authority;
}

test('loads the organization, an app and two credentials, and no secret in clear', async () => {
  expect(await isEmpty(database.db)).toBe(true);
  const demo = await document('demo');
  expect(demo).toEqual({
    organization_id: expect.stringMatching(/^org_/),
    app_id: expect.stringMatching(/^app_/),
    installation_id: expect.stringMatching(/^ins_/),
    website_ids: ['web_1_1', 'web_1_2'],
    full: credential,
    restricted: credential,
  });
  expect(await authorityOf(demo, 'full')).toMatchObject({
    environment: 'test',
    scopes: new Set(SCOPES),
    dataAccess: new Set(['message_content', 'pii', 'internal_notes']),
    restrictions: {},
    websites: new Map([
      ['web_1_1', expect.anything()],
      ['web_1_2', expect.anything()],
    ]),
  });
  const restricted = await authorityOf(demo, 'restricted');
  expect(restricted).toMatchObject({
    dataAccess: new Set(['message_content']),
    restrictions: { channel_ids: ['chn_1_1_1'] },
  });
  expect(restricted?.scopes).not.toContain('contact_read_pii');
  expect(restricted?.scopes).not.toContain('visitor_notes_write');
  const { authors } = await document('author', 'list');
  expect(authors).toMatchObject([
    { website_id: 'web_1_1', usable: true },
    { website_id: 'web_1_2', usable: true },
  ]);
  const [row] = await database.sql`SELECT count(*)::integer AS n FROM platform.conversation`;
  expect(row).toEqual({ n: 400 });
  expect(await document('doctor')).toMatchObject({ findings: [] });
  expect(await dump(database)).not.toMatch(/igws?_[0-9A-Za-z_]{49}/);
  expect(await gateway('demo')).toMatchObject({ code: 1, stdout: '' });
});

test('the text says everything that the document does', async () => {
  const { code, stdout } = await gateway('demo', ...NOW);
  expect(code).toBe(0);
  for (const form of [
    /org_[a-f0-9]{32}/,
    /app_[a-f0-9]{32}/,
    /web_1_2/,
    /igw_test_\w{49}/,
    /igws_\w{49}/,
    /shown only now/,
  ]) {
    expect(stdout).toMatch(form);
  }
});

test('same seed and clock, same rows', async () => {
  const rows = async (): Promise<string> =>
    (await dump(database))
      .split('\n')
      .filter(
        (row) => /^\(1,[12],\d+,/.test(row) && !/,\w+\.(snapshot|changed),"/.test(row) && !row.includes('""website"":'),
      )
      .sort()
      .join('\n');
  await document('demo', ...NOW);
  const first = await rows();
  await database.close();
  database = await cliDatabase('empty');
  await document('demo', ...NOW, '--seed', '1');
  expect(await rows()).toBe(first);
  expect(first.length).toBeGreaterThan(100_000);
  await database.close();
  database = await cliDatabase('empty');
  await document('demo', ...NOW, '--seed', '2');
  expect(await rows()).not.toBe(first);
});

test('a store with an organization, or with a credential, is not empty; a demo that was killed is begun again', async () => {
  await document('demo', ...NOW);
  expect(await isEmpty(database.db)).toBe(false);
  await database.sql`DELETE FROM gateway.app`;
  expect(await isEmpty(database.db)).toBe(true);
  const { code, stdout } = await gateway('demo', ...NOW, '--json');
  expect(code).toBe(0);
  expect(parse(stdout)).toMatchObject({ website_ids: ['web_1_1', 'web_1_2'] });
  await database.sql`DELETE FROM gateway.app`;
  await database.sql`INSERT INTO platform.organization (external_id, name) VALUES ('mine', 'Mine')`;
  expect(await isEmpty(database.db)).toBe(false);
});

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { Keyring } from '../../src/auth/keys.ts';
import { cliDatabase, document, gateway, refused } from '../support/cli.ts';
import type { TestDatabase } from '../support/database.ts';

const key = (fill: number): string => `${fill}:${Buffer.alloc(32, fill).toString('base64')}`;
const file = join(mkdtempSync(join(tmpdir(), 'erasures-')), 'erasures.json');

let before: TestDatabase;
let restored: TestDatabase;
let fresh: TestDatabase;
beforeAll(async () => {
  vi.stubEnv('GATEWAY_KEYS', key(7));
  restored = await cliDatabase('demo');
  fresh = await cliDatabase('demo');
  before = await cliDatabase('demo');
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await Promise.all([before, restored, fresh].map((one) => one.close()));
});

it('erases the people of the list again, in a store from an older backup', async () => {
  const people = await before.sql<{ id: string }[]>`
    SELECT 'ctc_' || tenant || '_' || site || '_' || id AS id FROM platform.contact WHERE tenant = 1 AND site = 1 AND email IS NOT NULL ORDER BY id LIMIT 3`;
  const [first, second, third] = people.map(({ id }) => id);
  const certificates = [];
  for (const id of [first, second, third])
    certificates.push(await document('erase', 'contact', id ?? '', '--reason', 'asked', '--yes'));
  const listed = await document('erase', 'list');
  writeFileSync(file, JSON.stringify(listed));
  expect((await gateway('erase', 'list')).stdout).toContain(first);

  // The restored store has the first person, has somebody else in the place of the second, and lacks the third.
  vi.stubEnv('DATABASE_URL', `postgres:///${restored.name}`);
  const native = (id: string | undefined): string => id?.split('_')[3] ?? '';
  const [was] =
    await restored.sql`SELECT external_id FROM platform.contact WHERE tenant = 1 AND site = 1 AND id = ${native(second)}`;
  await restored.sql`UPDATE platform.contact SET external_id = 'somebody else' WHERE tenant = 1 AND site = 1 AND id = ${native(second)}`;
  await restored.sql`DELETE FROM platform.contact WHERE tenant = 1 AND site = 1 AND id = ${native(third)}`;
  vi.stubEnv('GATEWAY_KEYS', key(8));
  expect(await gateway('restored', '--yes', '--erasures', file)).toEqual(refused('GATEWAY_KEYS must hold the key'));
  vi.stubEnv('GATEWAY_KEYS', `${key(8)},${key(7)}`);
  expect(await gateway('restored', '--yes', '--erasures', `${file}.txt`)).toEqual(refused('cannot be read'));
  writeFileSync(`${file}.txt`, '{"key": 1}');
  expect(await gateway('restored', '--yes', '--erasures', `${file}.txt`)).toEqual(refused('is no list of'));
  const ran = await gateway('restored', '--yes', '--erasures', file, '--json');
  expect(ran).toMatchObject({ code: 0, stderr: expect.stringContaining(`${second} is somebody else`) });
  expect(JSON.parse(ran.stdout)).toMatchObject({ erased: 1, absent: 1 });
  expect(await document('restored', '--yes', '--erasures', file)).toMatchObject({ erased: 0, absent: 2 });

  // Certificates are the same, but for the counts of the second time.
  const again = await document('erase', 'contact', first ?? '', '--reason', 'again', '--yes');
  expect({ ...again, counts: {} }).toEqual({ ...certificates[0], counts: {} });
  expect(await document('erase', 'contact', third ?? '', '--reason', 'again', '--yes')).toEqual(certificates[2]);
  expect(await gateway('erase', 'contact', 'ctc_1_1_99999', '--reason', 'x', '--yes')).toEqual(
    refused('There is no contact'),
  );
  expect(await gateway('erase', 'contact', first ?? '', '--reason', ' ', '--yes')).toEqual(
    refused('--reason must have'),
  );
  expect((await gateway('erase', 'contact', first ?? '')).code).toBe(2);
  // What the list suppresses stays out: the records of the demo come again.
  const counts = await document('import', join(import.meta.dirname, '../../resources/demo/conversations.ndjson'));
  expect(counts).toMatchObject({ rejected: 0, suppressed: expect.any(Number) });
  expect(Number(counts['suppressed'])).toBeGreaterThan(5);
  // After an upgrade of a large store, the index that erasures need can be missing.
  await restored.sql`DROP INDEX platform.message_visitor`;
  expect(await gateway('erase', 'contact', second ?? '', '--reason', 'asked', '--yes')).toEqual(
    refused('is not built yet. Run `gateway migrate`'),
  );
  await restored.sql`UPDATE platform.contact SET external_id = ${was?.['external_id']} WHERE tenant = 1 AND site = 1 AND id = ${native(second)}`;
  expect(await gateway('restored', '--yes', '--erasures', file)).toEqual(
    refused('is not built yet. Run `gateway migrate`'),
  );
});

it('refuses a first erasure with keys that cannot open what the store has encrypted', async () => {
  const own = new Keyring([{ kid: '7', secret: Buffer.alloc(32, 7) }]);
  await fresh.sql`INSERT INTO gateway.source (id, tenant, site, kind, account, mode, period, time_zone, address, paused)
    VALUES (${`src_${'a'.repeat(32)}`}, 1, 1, 'chatwoot', '1', 'poll', 15, 'UTC', ${own.seal('source', 'postgres://x@127.0.0.1/x')}, true)`;
  vi.stubEnv('DATABASE_URL', `postgres:///${fresh.name}`);
  const [contact] = await fresh.sql<{ id: string }[]>`
    SELECT 'ctc_1_1_' || min(id) AS id FROM platform.contact WHERE tenant = 1 AND site = 1`;
  const erase = ['erase', 'contact', contact?.id ?? '', '--reason', 'asked', '--yes'];
  const records = join(import.meta.dirname, '../../resources/demo/conversations.ndjson');
  for (const wrong of [key(8), `7:${Buffer.alloc(32, 9).toString('base64')}`]) {
    vi.stubEnv('GATEWAY_KEYS', wrong);
    expect(await gateway(...erase)).toEqual(refused('Run the command with the GATEWAY_KEYS of the gateways'));
  }
  // The gateways, which have the right key, still import and erase.
  vi.stubEnv('GATEWAY_KEYS', key(7));
  expect(await document('import', records)).toMatchObject({ rejected: 0, suppressed: 0 });
  expect(await document('erase', 'list')).toMatchObject({ key: null, erasures: [] });
  expect(await document(...erase)).toMatchObject({ counts: { contacts: 1 } });
});

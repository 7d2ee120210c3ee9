import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { cliDatabase, demoApp, document, dump, gateway, issue, refused, text } from '../support/cli.ts';
import { command } from '../support/command.ts';
import type { TestDatabase } from '../support/database.ts';
import { openReceiver, type Receiver, run, tell, until, verified } from '../support/events/webhooks.ts';
import { KEYS } from '../support/keys.ts';

let database: TestDatabase;
let installation: string;
let credential: string;
let receiver: Receiver;
beforeAll(async () => {
  database = await cliDatabase('demo');
  ({ installation } = await demoApp());
  credential = text(await issue(installation), 'credential_id');
  receiver = await openReceiver();
  Object.assign(process.env, {
    GATEWAY_WEBHOOK_ALLOW: receiver.origin,
    GATEWAY_KEYS: `test:${Buffer.alloc(32, 7).toString('base64')}`,
  });
});
afterAll(async () => {
  delete process.env['GATEWAY_WEBHOOK_ALLOW'];
  delete process.env['GATEWAY_KEYS'];
  await receiver.close();
  await database.close();
});
afterEach(async () => {
  await database.sql`DELETE FROM gateway.webhook_endpoint`;
});

const createArguments = (...more: string[]): string[] => [
  ...['webhook', 'create', '--credential', credential, '--website', 'larkspur-us', '--url', receiver.url, ...more],
];
const create = (...more: string[]) => document(...createArguments(...more));

test('create shows the secret once, and the store holds it sealed', async () => {
  const types = ['--event-type', 'conversation.*', '--event-type', 'privacy.changed'];
  const made = await create(...types, '--description', 'CRM');
  expect(made).toMatchObject({
    endpoint_id: expect.stringMatching(/^whk_[a-f0-9]{32}$/),
    credential_id: credential,
    website_id: 'web_1_1',
    url: receiver.url,
    event_types: ['conversation.*', 'privacy.changed'],
    description: 'CRM',
    enabled: true,
    disabled_because: null,
    secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
  });
  const secret = text(made, 'secret');
  const other = text(await create(), 'secret');
  expect(other).not.toBe(secret);
  const stored = await dump(database);
  for (const one of [secret, other]) {
    expect(stored).not.toContain(one);
    expect(stored).not.toContain(one.slice('whsec_'.length));
  }
  const listed = await gateway('webhook', 'list', '--credential', credential, '--json');
  expect(listed.stdout).toContain(text(made, 'endpoint_id'));
  expect(listed.stdout).not.toMatch(/whsec_|"secret"/);
  expect(await gateway('webhook', 'list')).toMatchObject({ code: 0, stdout: expect.stringContaining(receiver.url) });
});

test('nothing is sealed with a key that the gateway of DATABASE_URL does not have', async () => {
  const id = text(await create(), 'endpoint_id');
  const folder = mkdtempSync(join(tmpdir(), 'gateway-keys-'));
  vi.stubEnv('GATEWAY_KEYS', '');
  vi.stubEnv('GATEWAY_DATA_DIR', folder);
  for (const argv of [createArguments(), ['webhook', 'rotate', id], ['webhook', 'test', id]])
    expect(await gateway(...argv)).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'gateway: GATEWAY_KEYS must be the keys of the gateway that serves DATABASE_URL. Alternatively, set GATEWAY_DATA_DIR to the folder that holds its file keys.\n',
    });
  expect(readdirSync(folder)).toEqual([]);
  expect((await document('webhook', 'list'))['endpoints']).toHaveLength(1);
  writeFileSync(join(folder, 'keys'), `kept:${Buffer.alloc(32, 8).toString('base64')}\n`);
  await create();
  // An earlier gateway in the default folder may have left a key file there. The command must not use this key file.
  vi.stubEnv('GATEWAY_DATA_DIR', '');
  const here = process.cwd();
  mkdirSync(join(folder, '.data'));
  renameSync(join(folder, 'keys'), join(folder, '.data/keys'));
  process.chdir(folder);
  try {
    expect(await gateway(...createArguments())).toMatchObject(refused('GATEWAY_KEYS must be'));
  } finally {
    process.chdir(here);
  }
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

test('WH-11 the query of an address is shown by no command', async () => {
  const { stdout } = await gateway(...createArguments(), '--url', `${receiver.url}?key=canary-query`);
  const listed = await gateway('webhook', 'list', '--json');
  expect(stdout + listed.stdout).not.toContain('canary-query');
  expect(listed.stdout).toContain(`${receiver.url}?…`);
});

describe('create is refused', () => {
  test.each([
    ['http://receiver.example/hook', 'https'],
    ['https://receiver.example:444/hook', '443 or 8443'],
    ['https://ada:secret@receiver.example/hook', 'user or password'],
    ['https://127.0.0.1/hook', 'public address'],
    ['https://localhost/hook', 'public host name'],
  ])('%s', async (url, why) => {
    const ran = await gateway(...createArguments('--url', url));
    expect(ran).toMatchObject({ code: 1, stdout: '' });
    expect(ran.stderr).toContain(why);
    // The setting cannot help against a password in the address.
    const helps = !url.includes('secret');
    expect(ran.stderr.includes(`To allow this receiver, set GATEWAY_WEBHOOK_ALLOW=${new URL(url).origin} `)).toBe(
      helps,
    );
  });

  test('for a credential that may not pull events either', async () => {
    const restricted = text(await issue(installation, '--channel', 'chn_1_1_1'), 'credential_id');
    const ran = await gateway(...createArguments('--credential', restricted));
    expect(ran).toMatchObject(refused('lacks a grant'));
  });

  test.each(['conversation', 'conversation.*.*', 'message.changed'])('event type %s', async (type) => {
    expect(await gateway(...createArguments('--event-type', type))).toMatchObject({ code: 2 });
  });
});

test('update takes create’s options, disables and enables', async () => {
  const id = text(await create(), 'endpoint_id');
  const updated = await document('webhook', 'update', id, '--website', 'larkspur-eu', '--event-type', 'queue.*');
  expect(updated).toMatchObject({ event_types: ['queue.*'], enabled: true, permitted: false });
  expect(await document('webhook', 'update', id, '--disable')).toMatchObject({
    enabled: false,
    disabled_because: 'owner',
  });
  expect(await document('webhook', 'update', id, '--enable', '--website', 'web_1_1')).toMatchObject({
    enabled: true,
    disabled_because: null,
    permitted: true,
    gap_since: expect.any(String),
  });
  expect(await gateway('webhook', 'update', id)).toMatchObject({ code: 2 });
  expect(await gateway('webhook', 'update', id, '--enable', '--disable')).toMatchObject({ code: 2 });
  expect(await gateway('webhook', 'update', 'whk_0', '--enable')).toMatchObject({ code: 1 });
});

test('on a terminal it asks before a queue or a secret is lost', async () => {
  const id = text(await create(), 'endpoint_id');
  const about = `${id} for ${receiver.url}`;
  for (const [argv, question] of [
    [['update', id, '--disable'], `Disable ${about}? Its queued deliveries are lost.`],
    [['update', id, '--website', 'larkspur-eu'], `Move ${about} to web_1_2? Its queued deliveries are lost.`],
    [['rotate', id, '--overlap', '0s'], `Rotate the secret of ${about}? The old one ends at once and for ever.`],
    [['delete', id], `Delete ${about}? Its queue and its log are lost.`],
  ] as const) {
    const asked = await command(database, ['webhook', ...argv], '\n');
    expect([asked.code, asked.stdout]).toEqual([1, expect.stringContaining(`${question} [y/N] `)]);
  }
  expect((await document('webhook', 'list'))['endpoints']).toMatchObject([
    { enabled: true, website_id: 'web_1_1', old_secret_until: null },
  ]);
  const silent = await command(database, ['webhook', 'update', id, '--website', 'web_1_1', '--description', 'Own'], '');
  expect([silent.code, silent.stdout]).toEqual([0, expect.not.stringContaining('[y/N]')]);
});

test('test sends a heartbeat, once, and says what came of it', async () => {
  const made = await create('--event-type', 'conversation.*');
  const id = text(made, 'endpoint_id');
  const before = receiver.got.length;
  expect(await document('webhook', 'test', id)).toMatchObject({
    status: 'delivered',
    response_status: 200,
    error: null,
  });
  const got = receiver.got.at(-1);
  expect(receiver.got.length).toBe(before + 1);
  expect(got && verified(text(made, 'secret'), got)).toBe(true);
  expect(got?.headers['x-gateway-test']).toBe('1');
  expect(JSON.parse(got?.bytes.toString() ?? '')).toMatchObject({
    type: 'website.heartbeat',
    data: { website_id: 'web_1_1' },
  });
  receiver.reply((_, response) => void response.writeHead(500).end());
  const failed = await gateway('webhook', 'test', id, '--json');
  expect(failed.code).toBe(1);
  expect(JSON.parse(failed.stdout)).toMatchObject({ status: 'failed', response_status: 500 });
  expect(await gateway('webhook', 'test', id)).toEqual({
    code: 1,
    stdout: 'The receiver did not accept the test: status 500.\n',
    stderr: '',
  });
  receiver.reply((_, response) => void response.destroy());
  expect(await gateway('webhook', 'test', id)).toMatchObject({
    code: 1,
    stdout: 'The receiver did not accept the test: connection_failed.\n',
  });
  receiver.reply((_, response) => void response.writeHead(200).end());
  // A refused test begins no time of failures.
  const [{ enabled, failing_since } = {}] = await database.sql`SELECT * FROM gateway.webhook_endpoint WHERE id = ${id}`;
  expect([enabled, failing_since]).toEqual([true, null]);
  const { deliveries } = await document('webhook', 'deliveries', id);
  expect(deliveries).toMatchObject([
    ...Array.from({ length: 3 }, () => ({ status: 'failed', test: true, attempts: 1 })),
    { status: 'delivered', test: true, attempts: 1 },
  ]);
  expect((await document('webhook', 'deliveries', id, '--status', 'failed'))['deliveries']).toHaveLength(3);
  expect((await gateway('webhook', 'deliveries', id, '--status', 'pending')).stdout).toBe(
    'There is no delivery with the status pending.\n',
  );
  expect(await gateway('webhook', 'deliveries', id, '--status', 'lost')).toMatchObject({ code: 2 });
});

test('rotate: both secrets sign until the overlap ends', async () => {
  const made = await create();
  const id = text(made, 'endpoint_id');
  const rotated = await document('webhook', 'rotate', id, '--overlap', '1h');
  expect(rotated).toMatchObject({ old_secret_until: expect.any(String) });
  await document('webhook', 'test', id);
  const both = receiver.got.at(-1);
  for (const one of [made, rotated]) expect(both && verified(text(one, 'secret'), both)).toBe(true);
  const last = await document('webhook', 'rotate', id, '--overlap', '0s');
  await document('webhook', 'test', id);
  const one = receiver.got.at(-1);
  expect([made, rotated, last].map((from) => one && verified(text(from, 'secret'), one))).toEqual([false, false, true]);
});

test('replay by id, and by time', async () => {
  const made = await create('--event-type', 'visitor.*');
  const id = text(made, 'endpoint_id');
  const running = run(database, [receiver], { keys: KEYS });
  const began = new Date().toISOString();
  const first = receiver.got.length;
  await tell(database, 3);
  await until(() => receiver.got.length === first + 3);
  const event = receiver.got[first]?.id ?? '';
  await until(
    async () => JSON.stringify(await document('webhook', 'deliveries', id)).match(/"delivered"/g)?.length === 3,
  );
  expect(await document('webhook', 'replay', id, '--event', event)).toMatchObject({ found: 1, queued: 1 });
  await until(() => receiver.got.length === first + 4);
  expect(receiver.got.at(-1)).toMatchObject({ id: event, attempt: 1 });
  await until(
    async () => JSON.stringify(await document('webhook', 'deliveries', id)).match(/"delivered"/g)?.length === 3,
  );
  expect(await document('webhook', 'replay', id, '--since', began)).toMatchObject({ found: 3, queued: 3 });
  await until(() => receiver.got.length === first + 7);
  await running.stop();
  expect(new Set(receiver.got.slice(first).map((got) => got.id)).size).toBe(3);
  expect(await gateway('webhook', 'replay', id)).toMatchObject({ code: 2 });
  expect(await gateway('webhook', 'replay', id, '--event', event, '--since', began)).toMatchObject({ code: 2 });
  expect(await gateway('webhook', 'replay', id, '--event', `evt_${'0'.repeat(64)}`)).toMatchObject({ code: 1 });
  const later = new Date(Date.now() + 3_600_000).toISOString();
  expect(await gateway('webhook', 'replay', id, '--since', later)).toEqual(refused('--since is in the future'));
  for (const until of [began, '2026-11-01T00:00:00Z'])
    expect(await gateway('webhook', 'replay', id, '--since', began, '--until', until)).toEqual(
      refused('The time of --until must be after that of --since.'),
    );
  await document('webhook', 'update', id, '--disable');
  expect(await gateway('webhook', 'replay', id, '--since', began)).toMatchObject(refused('disabled'));
});

test('delete', async () => {
  const id = text(await create(), 'endpoint_id');
  expect(await document('webhook', 'delete', id)).toEqual({ endpoint_id: id, deleted: true });
  expect(await gateway('webhook', 'delete', id)).toMatchObject({ code: 1 });
  expect((await document('webhook', 'list'))['endpoints']).toEqual([]);
});

import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { Command } from 'commander';
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { runChecks } from '../../src/cli/doctor.ts';
import { safeUrl } from '../../src/cli/source-options.ts';
import { openChatwootStandIn, TOKEN } from '../support/chatwoot/api.ts';
import { createChatwoot, populate } from '../support/chatwoot/populate.ts';
import { type ChatwootWorld, chatwootWorld } from '../support/chatwoot/source-world.ts';
import { cliDatabase, type Document, document, gateway, text } from '../support/cli.ts';
import type { TestDatabase } from '../support/database.ts';
import { until } from '../support/events/webhooks.ts';

let store: TestDatabase;
let desk: ChatwootWorld;
/** A helpdesk to copy: to fill one takes longer. */
let filled: ChatwootWorld;
beforeAll(async () => {
  filled = await chatwootWorld({ schema: false });
  await createChatwoot(filled.sql);
  await populate(filled.sql, { conversations: 40, messages: 200, seed: 5 });
  // PostgreSQL copies only a database without connections.
  await filled.sql.end();
});
afterAll(() => filled.close());
beforeEach(async () => {
  vi.stubEnv('GATEWAY_KEYS', `1:${randomBytes(32).toString('base64')}`);
  store = await cliDatabase('empty');
  desk = await chatwootWorld({ schema: false, template: filled.database });
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await store.close();
  await desk.close();
});

const adding = (...more: string[]) => ['source', 'add', 'chatwoot', '--url', desk.address(), '--account', '1', ...more];
const at = (url: string, ...more: string[]) =>
  gateway('source', 'add', 'chatwoot', '--url', url, '--account', '1', ...more);
const add = (...more: string[]): Promise<Document> => document(...adding(...more));
const id = (source: Document): string => text(source, 'source_id');
const counted = async (): Promise<number> =>
  (await store.sql<{ n: number }[]>`SELECT count(*)::integer AS n FROM platform.message`)[0]?.n ?? 0;

test('a source is added, checked without a gateway, paused, resumed and removed with its data', async () => {
  await desk.grant('live');
  const added = await add('--mode', 'live');
  expect(added).toMatchObject({
    kind: 'chatwoot',
    mode: 'live',
    state: 'loading',
    website_ids: ['web_1_1'],
    lag_seconds: null,
    behind: null,
    last_success_at: null,
    last_error: null,
    rejects: 0,
    unmapped: { labels: 0, custom_attributes: 0 },
    writes_back: false,
  });
  const [website] = await store.sql`SELECT external_id, name, time_zone FROM platform.website`;
  expect(website).toEqual({ external_id: 'cw:1:website:1', name: 'Account 1', time_zone: 'UTC' });

  // No gateway runs, so the command itself loads the source.
  const checked = await document('source', 'check', id(added));
  expect(checked).toMatchObject({ state: 'following', rejects: 0, rows: { message: 180, conversation: 36 } });
  expect(await counted()).toBe(180);
  await desk.sql`DELETE FROM messages WHERE id = (SELECT min(id) FROM messages WHERE account_id = 1)`;
  expect(await document('source', 'check', id(added))).toMatchObject({ rows: { message: 179 } });

  expect(await document('source', 'pause', id(added))).toMatchObject({ state: 'paused', changed: true });
  expect((await gateway('source', 'check', id(added))).stderr).toContain('is paused');
  expect(await document('source', 'resume', id(added))).toMatchObject({ changed: true });
  const shown = await gateway('source', 'show', id(added));
  expect(shown.stdout).toContain('179 message');
  expect(shown.stdout).toContain('notes and dispositions stay in the gateway');
  expect((await gateway('source', 'list')).stdout).toContain(id(added));

  expect(await document('source', 'remove', id(added), '--with-data', '--yes')).toMatchObject({ data_removed: true });
  expect(await counted()).toBe(0);
  expect(await desk.sql`SELECT FROM gateway_outbox.reader`).toEqual([]);
  expect(await document('source', 'list')).toEqual({ sources: [] });
});

test('the address is kept encrypted and is never shown', async () => {
  await desk.grant('poll');
  const source = id(await add());
  const stored = await store.sql`SELECT * FROM gateway.source`;
  expect(JSON.stringify(stored)).not.toContain(desk.role);
  for (const command of [['show', source], ['list']])
    for (const more of [[], ['--json']])
      expect((await gateway('source', ...command, ...more)).stdout).not.toContain(desk.role);
});

test('the API for writes needs a token, and its address holds no secret', async () => {
  await desk.grant('poll');
  const given = adding();
  const without = await gateway(...given, '--api-url', 'https://cw.example');
  expect([without.code, without.stderr]).toEqual([
    2,
    expect.stringContaining("'--api-url' and '--api-token' need each other"),
  ]);
  for (const address of ['https://me:secret@cw.example', 'https://cw.example/?token=secret', 'ftp://cw.example'])
    expect((await gateway(...given, '--api-url', address, '--api-token', 't')).code).toBe(2);
  // A header cannot hold such a token.
  for (const token of ['', 'two words', 'line\nbreak', 'abc…'])
    expect((await gateway(...given, '--api-url', 'https://cw.example', '--api-token', token)).code).toBe(2);
  const added = await add('--api-url', 'https://cw.example/', '--api-token', 'cwtoken-1');
  expect(added).toMatchObject({ writes_back: true });
  const shown = await gateway('source', 'show', id(added));
  expect(shown.stdout).toContain('yes');
  const rows = await store.sql<{ row: string }[]>`SELECT s::text AS row FROM gateway.source s`;
  expect(`${shown.stdout}${rows[0]?.row}`).not.toContain('cwtoken-1');
});

test('the API and the database must be one helpdesk', async () => {
  await desk.grant('poll');
  const other = await chatwootWorld({ schema: false, template: filled.database });
  await other.sql`UPDATE accounts SET created_at = created_at + interval '1 second'`;
  const [member] = await other.sql<{ id: number }[]>`
    SELECT user_id::integer AS id FROM account_users WHERE account_id = 1 LIMIT 1`;
  const [own, foreign] = await Promise.all(
    [desk, other].map((one) => openChatwootStandIn(one.connect(), member?.id ?? expect.fail('no member'))),
  );
  if (own === undefined || foreign === undefined) throw new Error('no stand-in');
  onTestFinished(async () => {
    await Promise.all([own.close(), foreign.close()]);
    await other.close();
  });
  const given = (url: string, token = TOKEN) => adding('--api-url', url, '--api-token', token);
  const refused = await gateway(...given(foreign.url));
  expect([refused.code, refused.stdout]).toEqual([1, '']);
  expect(refused.stderr).toContain('The API leads to another Chatwoot than the database');
  expect(refused.stderr).toContain('Give --api-url and --api-token of the helpdesk whose database --url names');
  expect(await store.sql`SELECT FROM gateway.source`).toHaveLength(0);
  // A token that may not read the account keeps nobody from reading the helpdesk.
  const bot = await gateway(...given(own.url, 'cwtoken-of-a-bot'), '--json');
  expect([bot.code, bot.stderr]).toEqual([0, expect.stringMatching(/answered 401.*agent bot/)]);
  expect((await gateway('source', 'remove', id(JSON.parse(bot.stdout)), '--yes')).code).toBe(0);
  const added = await gateway(...given(`${own.url}/`));
  expect([added.code, added.stderr]).toEqual([0, expect.not.stringContaining('API')]);
  expect(own.asked).toEqual([]);
});

test('the address and the token can come from standard input, so that no list of processes shows them', async () => {
  await desk.grant('poll');
  const given = ['--url', '-', '--account', '1', '--api-url', 'https://cw.example', '--api-token', '-'];
  const typed = (input: string) =>
    spawnSync(process.execPath, ['dist/src/main.js', 'source', 'add', 'chatwoot', ...given], {
      input,
      encoding: 'utf8',
    });
  for (const input of ['', `${desk.address()}\n`, '-\n-\n', `cwtoken-1\n${desk.address()}\n`]) {
    const ran = typed(input);
    expect([ran.status, ran.stdout]).toEqual([2, '']);
    expect(ran.stderr).toContain('standard input is invalid. Expected');
  }
  const ran = typed(`${desk.address()}\ncwtoken-1\n`);
  expect([ran.status, ran.stderr]).toEqual([0, expect.not.stringContaining('cwtoken-1')]);
  expect(ran.stdout).toMatch(/^ +writes go back +yes/m);
});

test('a time zone is a name, and an account that cannot be a website is not added', async () => {
  await desk.grant('poll');
  for (const name of ['+01:00', 'Mars/Olympus'])
    expect((await gateway(...adding('--time-zone', name))).stderr).toContain('IANA time zone');
  await desk.sql`UPDATE accounts SET name = '' WHERE id = 1`;
  const ran = await gateway(...adding());
  expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining('its name is empty or not valid')]);
  expect(await store.sql`SELECT FROM gateway.source`).toEqual([]);
  expect(await store.sql`SELECT FROM platform.organization`).toEqual([]);
});

test('an organization takes a source, and one account can be a source only once in it', async () => {
  await desk.grant('poll');
  expect(await add('--organization', 'Acme', '--time-zone', 'Europe/Berlin', '--period', '5')).toMatchObject({
    period_seconds: 5,
  });
  const again = await gateway(...adding('--organization', 'Acme'));
  expect(again).toMatchObject({ code: 1 });
  expect(again.stderr).toContain('has a source of this account already');
  expect(await add('--organization', 'Other')).toMatchObject({ website_ids: ['web_2_1'] });
  const names = await store.sql`SELECT name FROM platform.organization ORDER BY tenant`;
  expect(names.map(({ name }) => name)).toEqual(['Acme', 'Other']);
});

test('without rights, without its account, or live without its outbox, nothing is added and the reason is told', async () => {
  const refused = async (account: string, mode: string, reason: string): Promise<void> => {
    const ran = await gateway(...adding('--account', account, '--mode', mode));
    expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining(reason)]);
    expect(await store.sql`SELECT FROM gateway.source`).toEqual([]);
    expect(await store.sql`SELECT FROM platform.organization`).toEqual([]);
  };
  await desk.sql.unsafe(`CREATE ROLE ${desk.role} LOGIN`);
  await refused('1', 'poll', 'gateway source grants chatwoot');
  await desk.grant('poll');
  await refused('77', 'poll', 'account');
  await refused('1', 'live', '--mode live');
});

test('a server that is away and an address of the gateway itself are refused', async () => {
  const away = await at('postgres://u:geheim@127.0.0.1:1/x');
  expect(away).toMatchObject({ code: 1, stdout: '' });
  expect(away.stderr).toContain('cannot be reached');
  expect(away.stderr).not.toContain('geheim');
  const own = `postgres://postgres@${encodeURIComponent(store.host)}:${store.port}/${store.name}`;
  const itself = await at(own);
  expect(itself).toMatchObject({ code: 1, stdout: '' });
  expect(itself.stderr).toContain('gateway');
});

test('another Chatwoot with the same account does not take over the website of a removed source', async () => {
  await desk.grant('poll');
  const added = await add();
  await document('source', 'remove', id(added), '--yes');
  // The account was made at another time there.
  await desk.sql`UPDATE accounts SET created_at = created_at + interval '1 second', name = 'Taker'`;
  const refused = await gateway(...adding());
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('another helpdesk')]);
  expect(await document('source', 'list')).toEqual({ sources: [] });
  expect(await store.sql`SELECT name FROM platform.website`).toEqual([{ name: 'Account 1' }]);
  // In an organization of its own, the other Chatwoot gets a website of its own.
  expect(await add('--organization', 'Elsewhere')).toMatchObject({ state: 'loading' });
  expect(await store.sql`SELECT name FROM platform.website ORDER BY tenant`).toHaveLength(2);
});

test('doctor tells of a source that fails', async () => {
  await desk.grant('poll');
  await add();
  expect(await runChecks(store.db)).toEqual([]);
  await store.sql`UPDATE gateway.source SET last_error = 'x', loaded = true, lag_seconds = 0, seen_at = now()`;
  expect(await runChecks(store.db)).toMatchObject([{ check: 'sources', severity: 'warning', count: 1 }]);
});

test('a failing check says why', async () => {
  await desk.grant('poll');
  const source = id(await add());
  await desk.sql.unsafe(`REVOKE SELECT ON ALL TABLES IN SCHEMA public FROM ${desk.role}`);
  await desk.sql.unsafe('ALTER TABLE conversations RENAME COLUMN status TO state');
  await until(async () => (await gateway('source', 'check', source)).code === 1);
  const ran = await gateway('source', 'check', source);
  expect(ran.stderr).toContain('conversations.status');
});

test('without TLS, a helpdesk on another machine needs --insecure, and its stored address says so', async () => {
  await desk.grant('poll');
  vi.stubEnv('PGHOST', desk.host);
  // 0.0.0.0 leads to this machine, but the gateway takes it for another one.
  const away = `postgres://reader:canary-1@0.0.0.0:1/desk`;
  for (const url of [away, `${away}?sslmode=disable`, `${away}?sslmode=prefer`, `${away}?application_name=x`]) {
    const ran = await at(url);
    expect([ran.code, ran.stderr]).toEqual([
      2,
      expect.stringMatching(/sslmode=verify-full.*sslmode=require.*--insecure/),
    ]);
    expect(ran.stdout + ran.stderr).not.toContain('canary');
  }
  // These are let through, and then nobody answers.
  for (const [url, ...more] of [
    [`${away}?sslmode=require`],
    [`${away}?sslmode=verify-full`],
    [away, '--insecure'],
    ['postgres://reader@127.0.0.1:1/desk'],
    ['postgres://reader@localhost:1/desk'],
  ] as const)
    expect((await at(url, ...more)).stderr).toContain('cannot be reached');
  expect(await add()).toMatchObject({ kind: 'chatwoot' });
});

test('the stored address of an insecure source allows what was chosen', () => {
  const command = new Command();
  const url = 'postgres://reader@db.example/desk';
  expect(safeUrl(command, { url, insecure: true })).toBe(`${url}?sslmode=disable`);
  expect(safeUrl(command, { url: `${url}?`, insecure: true })).toBe(`${url}?sslmode=disable`);
  expect(safeUrl(command, { url: `${url}?a=b`, insecure: true })).toBe(`${url}?a=b&sslmode=disable`);
  expect(safeUrl(command, { url: `${url}?sslmode=prefer`, insecure: true })).toBe(`${url}?sslmode=prefer`);
  expect(safeUrl(command, { url: `${url}?sslmode=require` })).toBe(`${url}?sslmode=require`);
  expect(safeUrl(command, { url: 'postgres://reader@%2Ftmp%2Fpg/desk' })).toBe('postgres://reader@%2Ftmp%2Fpg/desk');
});

test('a check goes on here when the gateway that ran the source has stopped', async () => {
  await desk.grant('poll');
  const source = id(await add());
  // A gateway held the source when the check began. It was killed, so its lease runs out.
  await store.sql`UPDATE gateway.source SET holder = 'killed', lease_until = now() + interval '2 seconds'`;
  expect(await document('source', 'check', source)).toMatchObject({ state: 'following', rows: { message: 180 } });
}, 30_000);

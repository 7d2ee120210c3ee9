import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { buildProgram } from '../../src/cli/program.ts';
import { fed, gateway } from '../support/cli.ts';

/** A command with a wrong setting makes no store, migrates none, and does not say that there is nothing. */
const folder = mkdtempSync(join(tmpdir(), 'gateway-no-store-'));
const nowhere = join(folder, 'nowhere');
const lines = join(folder, 'lines.ndjson');
const erasures = join(folder, 'erasures.json');
const NAME = `foreign_${process.pid}`;
let admin: postgres.Sql;

/** Commands that make a store, or need none. */
const OTHERS = ['serve', 'generate', 'migrate', 'demo', 'source add', 'source grants'];
const URL = 'postgres://nobody@127.0.0.1:1/none';

const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  import: [lines, '--dry-run'],
  'organization list': [],
  'organization move': ['larkspur', '--to', URL],
  'organization update': ['larkspur', '--keep-messages-days', '30', '--yes'],
  'website list': [],
  'app create': ['--organization', 'larkspur', '--name', 'Mine'],
  'app list': [],
  'app update': ['Mine', '--burst', '5'],
  'credential issue': ['--installation', 'x', '--environment', 'test', '--website', 'w', '--scopes', 'read'],
  'credential list': [],
  'credential show': ['crd_1'],
  'credential update': ['crd_1', '--expires', '90d'],
  'credential rotate': ['crd_1', '--overlap', '1h'],
  'credential revoke': ['crd_1', '--yes'],
  'author map': ['--credential', 'crd_1', '--website', 'web_1_1', '--operator', 'opr_1_1_3'],
  'author unmap': ['--credential', 'crd_1', '--website', 'web_1_1'],
  'author list': [],
  'person add': ['--organization', 'larkspur', '--email', 'a@example.com', '--role', 'owner', '--no-password'],
  'person list': [],
  'person disable': ['a@example.com', '--yes'],
  'person enable': ['a@example.com'],
  'person unlock': ['a@example.com'],
  'person role': ['a@example.com', '--role', 'admin'],
  'person password': ['a@example.com'],
  'person sign-in-link': ['a@example.com'],
  'consent list': [],
  'consent revoke': ['cns_1', '--yes'],
  'approvals list': [],
  'approvals show': ['op_1'],
  'approvals approve': ['op_1', '--yes'],
  'approvals reject': ['op_1', '--yes'],
  'family pause': ['--website', 'web_1_1', '--family', 'conversation'],
  'family resume': ['--website', 'web_1_1', '--family', 'conversation'],
  'family gap': ['--website', 'web_1_1', '--family', 'conversation'],
  'webhook create': ['--credential', 'crd_1', '--website', 'web_1_1', '--url', 'https://example.com/hook'],
  'webhook list': [],
  'webhook update': ['whk_1', '--enable'],
  'webhook rotate': ['whk_1', '--overlap', '1h'],
  'webhook test': ['whk_1'],
  'webhook replay': ['whk_1', '--since', '2026-11-20T00:00:00Z'],
  'webhook deliveries': ['whk_1'],
  'webhook delete': ['whk_1', '--yes'],
  'source list': [],
  'source show': ['src_1'],
  'source check': ['src_1'],
  'source pause': ['src_1'],
  'source resume': ['src_1'],
  'source remove': ['src_1', '--yes'],
  'erase contact': ['ctc_1_1_41', '--reason', 'asked', '--yes'],
  'erase visitor': ['vis_1_1_41', '--reason', 'asked', '--yes'],
  'erase list': [],
  'audit list': [],
  'audit export': ['--from', '2026-11-01T00:00:00Z', '--to', '2026-11-02T00:00:00Z'],
  'audit readers': ['ctc_1_1_89'],
  'audit verify': [],
  'cells check': [URL],
  restored: ['--yes', '--erasures', erasures],
  doctor: [],
};

beforeAll(async () => {
  writeFileSync(lines, '{"type":"organization","external_id":"acme","name":"Acme"}\n');
  writeFileSync(erasures, JSON.stringify({ erasures: [] }));
  const { host, port } = inject('server');
  admin = postgres({ host, port, username: 'postgres', database: 'postgres', max: 1, onnotice: () => undefined });
  await admin.unsafe(`CREATE DATABASE ${NAME} TEMPLATE template0`);
  vi.stubEnv('PGHOST', host);
  vi.stubEnv('PGPORT', String(port));
  vi.stubEnv('PGUSER', 'postgres');
});
afterAll(async () => {
  await admin.unsafe(`DROP DATABASE IF EXISTS ${NAME} WITH (FORCE)`);
  await admin.end();
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

const leaves = (command: Command, path: readonly string[] = []): string[] =>
  command.commands.length === 0
    ? [path.join(' ')]
    : command.commands.flatMap((one) => leaves(one, [...path, one.name()]));

it('is asked of every command', async () => {
  const nothing = async (): Promise<void> => undefined;
  const all = leaves(await buildProgram(() => undefined, { serve: nothing, generate: nothing }));
  expect(all.length).toBeGreaterThan(50);
  expect([...Object.keys(COMMANDS), ...OTHERS].sort()).toEqual(all.sort());
});

describe.each(Object.entries(COMMANDS))('%s', (name, given) => {
  const ran = () => fed('one two three four five\n', ...name.split(' '), ...given);

  it('makes no embedded store', async () => {
    vi.stubEnv('DATABASE_URL', '');
    vi.stubEnv('GATEWAY_DATA_DIR', nowhere);
    expect(await ran()).toEqual({
      code: 1,
      stdout: '',
      stderr: `gateway: There is no store in ${nowhere}. Set GATEWAY_DATA_DIR to the folder of the store, or DATABASE_URL to its server.\n`,
    });
    expect(existsSync(nowhere)).toBe(false);
  });
});

it('a command leaves a database without a store, and a store of an older gateway, as they are', async () => {
  const { host, port } = inject('server');
  vi.stubEnv('DATABASE_URL', `postgres:///${NAME}`);
  const own = postgres({ host, port, username: 'postgres', database: NAME, max: 1, onnotice: () => undefined });
  const tables = async () =>
    (
      await own`SELECT relname FROM pg_class WHERE relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname !~ '^(pg_|information)')`
    ).length;
  try {
    const asked = [
      ['erase', 'list', '--json'],
      ['person', 'list'],
      ['app', 'list'],
      ['import', lines, '--dry-run'],
    ];
    for (const argv of asked)
      expect(await gateway(...argv)).toEqual({
        code: 1,
        stdout: '',
        stderr:
          'gateway: There is no store in the database of DATABASE_URL. Name the database of the store, or make a store there with `gateway migrate`.\n',
      });
    expect(await tables()).toBe(0);
    expect((await gateway('migrate')).code).toBe(0);
    expect(await tables()).toBeGreaterThan(100);
    expect(await gateway('erase', 'list')).toMatchObject({ code: 0, stdout: 'Nobody was erased.\n' });
    const [last] = await own`DELETE FROM public.gateway_migration
      WHERE version = (SELECT max(version) FROM public.gateway_migration) AND version > 50 RETURNING version`;
    expect(last).toBeDefined();
    for (const argv of asked)
      expect(await gateway(...argv)).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(
          /^gateway: The store has schema version \d+, but .*Run `gateway migrate` first, .*\n$/,
        ),
      });
    expect(await own`SELECT FROM public.gateway_migration WHERE version = ${last?.['version']}`).toHaveLength(0);
  } finally {
    await own.end();
  }
});

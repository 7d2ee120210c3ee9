import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EXAMPLES } from '../../src/cli/help.ts';
import { buildProgram } from '../../src/cli/program.ts';
import { DATA_ACCESS, SCOPES } from '../../src/core/scopes.ts';
import { cliDatabase, demoApp, gateway, issue, text } from '../support/cli.ts';
import { command, main, shellEnvironment, urlOf } from '../support/command.ts';
import type { TestDatabase } from '../support/database.ts';

let database: TestDatabase;
let folder: string;
beforeAll(async () => {
  database = await cliDatabase('demo');
  folder = mkdtempSync(join(tmpdir(), 'gateway-help-'));
});
afterAll(async () => {
  await database.close();
  rmSync(folder, { recursive: true });
});

const never = (): Promise<never> => Promise.reject(new Error('the test runs no command'));
/** The program whose commands do nothing: only their options and arguments are parsed. */
const idle = (): Promise<Command> =>
  buildProgram((one) => void one.option('--json').action(() => undefined), { serve: never, generate: never });

function leaves(of: Command, path = ''): [path: string, command: Command][] {
  const below = of.createHelp().visibleCommands(of);
  const rest = below.filter((one) => one.name() !== 'help');
  if (rest.length === 0) return [[path, of]];
  return rest.flatMap((one) => leaves(one, `${path} ${one.name()}`.trim()));
}

describe('the help', () => {
  test('every command has an example, every example parses, and no example is for another command', async () => {
    const names = leaves(await idle()).map(([path]) => path);
    expect(Object.keys(EXAMPLES).toSorted()).toEqual(names.toSorted());
    expect(names.length).toBeGreaterThan(35);
    for (const [path, lines] of Object.entries(EXAMPLES)) {
      for (const line of lines) {
        expect(line.startsWith(path)).toBe(true);
        const words = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
        await expect((await idle()).parseAsync(words, { from: 'user' }), line).resolves.toBeDefined();
      }
    }
  });

  test('help of a command is that of --help, also below a group', async () => {
    for (const words of [['credential', 'issue'], ['credential'], ['doctor'], []])
      expect(await gateway('help', ...words)).toEqual(await gateway(...words, '--help'));
    expect((await gateway('help', 'credential', 'issue')).stdout).toContain('--environment <ENV>');
    expect((await gateway('audit', '--help')).stdout).not.toContain('each command');
  });

  test('marks required options, and lists scopes and flags of data access', async () => {
    const { stdout } = await gateway('credential', 'issue', '--help');
    const help = stdout.replaceAll(/\s+/g, ' ');
    expect(help).toMatch(
      /--installation <INS> [^-]*\(required\) --environment <ENV> [^-]*\(required\) \(one of: live, test\)/,
    );
    expect(help).toContain(`(one of: ${SCOPES.join(', ')})`);
    expect(help).toContain(`(one of: ${DATA_ACCESS.join(', ')})`);
    expect(help).toContain('Examples: gateway credential issue --installation');
    expect((await gateway('credential', 'update', '--help')).stdout).not.toContain('(required)');
  });
});

test('a command loads only what it needs', () => {
  const coverage = join(folder, 'coverage');
  const { status } = spawnSync(process.execPath, [main, 'app', 'list'], {
    env: shellEnvironment({ DATABASE_URL: urlOf(database), NODE_V8_COVERAGE: coverage }),
  });
  expect(status).toBe(0);
  const [file = ''] = readdirSync(coverage);
  const loaded = [...readFileSync(join(coverage, file), 'utf8').matchAll(/"url":"file:[^"]*"/g)].map(String);
  expect(loaded.filter((url) => url.includes('/dist/src/cli/app.js'))).toHaveLength(1);
  // A command loads 193 files (2026-11-30). One of them came with the check that there is a store. Five came with the check of what foreign servers send and with the
  // report of what nobody has caught, three with the audit record of a change, two with several hosts in DATABASE_URL,
  // one with the second attempt after a deadlock, and six hold what stood in several files before. Each is small.
  expect(loaded.length).toBeLessThanOrEqual(193);
  expect(
    loaded.filter((url) => /html-to-text|libphonenumber|express|pino|\/(sources|surfaces|events)\//.test(url)),
  ).toEqual([]);
});

describe('a command whose effect nobody can undo', () => {
  const state = async (id: string) =>
    (await database.sql`SELECT revoked_at IS NOT NULL AS revoked FROM gateway.credential WHERE id = ${id}`)[0]?.[
      'revoked'
    ];

  test('asks on a terminal, where only yes goes on; --yes and a pipe are not asked', async () => {
    const { installation } = await demoApp();
    const issued = async (): Promise<string> => text(await issue(installation), 'credential_id');
    const [first, second] = [await issued(), await issued()];
    const asked = await command(database, ['credential', 'revoke', first], '\n');
    expect(asked.code).toBe(1);
    expect(asked.stdout).toContain(
      `Revoke ${first} of Test agent? Its secret and tokens end at once and for ever. [y/N] `,
    );
    expect(asked.stdout).toContain('gateway: Nothing was changed.');
    expect(await state(first)).toBe(false);
    expect(await command(database, ['credential', 'revoke', first], 'y\n')).toMatchObject({ code: 0 });
    expect(await state(first)).toBe(true);
    const piped = await command(database, ['credential', 'revoke', second]);
    expect(piped).toEqual({ code: 0, stdout: `Credential ${second} is revoked.\n`, stderr: '' });
    const yes = await command(database, ['credential', 'revoke', second, '--yes'], '');
    expect(yes.stdout).not.toContain('[y/N]');
    expect(yes.code).toBe(0);
  });

  test('names what it is about, and asks only about what cannot be undone', async () => {
    const { installation } = await demoApp();
    const id = text(await issue(installation), 'credential_id');
    const person = 'ask@example.org';
    const added = await gateway(
      ...['person', 'add', '--organization', 'larkspur', '--email', person, '--role', 'owner', '--no-password'],
    );
    expect(added.code).toBe(0);
    const [{ org } = { org: '' }] = await database.sql<{ org: string }[]>`
      SELECT public_id AS org FROM platform.organization WHERE tenant = 1`;
    const role = (name: string) => ['person', 'role', person, '--role', name];
    const rotate = (overlap: string) => ['credential', 'rotate', id, '--overlap', overlap];
    const asking: readonly (readonly [argv: string[], question: string])[] = [
      [['person', 'disable', person], `Disable ${person} of ${org}? The consents of the person end for ever.`],
      [role('operator'), `Make ${person} of ${org} an operator? Sessions and consents of the person end for ever.`],
      [
        ['person', 'password', person, '--no-password', '--end-consents'],
        `End all consents of ${person} of ${org}? They end for ever.`,
      ],
      [rotate('0s'), `Rotate ${id} of Test agent? Its old secret and token end at once and for ever.`],
      [
        ['family', 'gap', '--website', 'larkspur-us', '--family', 'queue'],
        'Report a gap of queue to the receivers of web_1_1? They read everything again, and nobody can undo it.',
      ],
    ];
    for (const [argv, question] of asking) {
      const asked = await command(database, argv, '\n');
      expect([asked.code, asked.stdout]).toEqual([1, expect.stringContaining(`${question} [y/N] `)]);
      expect(asked.stdout).toContain('gateway: Nothing was changed.');
    }
    const keep = await command(database, ['organization', 'update', 'larkspur', '--keep-messages-days', '1'], '\n');
    expect(keep.stdout).toContain('that are older than 1 day? It begins at once. [y/N] ');
    for (const argv of [role('admin'), rotate('1h'), ['person', 'password', person, '--no-password']]) {
      const silent = await command(database, argv, '');
      expect([silent.code, silent.stdout]).toEqual([0, expect.not.stringContaining('[y/N]')]);
    }
    // A script has no terminal, and is not asked.
    for (const [argv] of [...asking.slice(1), ...asking.slice(0, 1)])
      expect((await command(database, argv)).code).toBe(0);
  });
});

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
  // A command loads 192 files (2026-11-30). Five of them came with the check of what foreign servers send and with the
  // report of what nobody has caught, three with the audit record of a change, two with several hosts in DATABASE_URL,
  // one with the second attempt after a deadlock, and six hold what stood in several files before. Each is small.
  expect(loaded.length).toBeLessThanOrEqual(192);
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
});

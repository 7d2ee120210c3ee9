import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { Command, Option } from 'commander';
import { afterAll, afterEach, beforeAll, describe, expect, test as inEachForm, vi } from 'vitest';
import { buildProgram } from '../../src/cli/program.ts';
import { withoutValues } from '../../src/cli/secrets.ts';
import { EXPECTED } from '../../src/config/allowed-values.ts';
import { Attempts } from '../../src/store/driver/attempts.ts';
import { cliDatabase, fed, gateway } from '../support/cli.ts';
import { checkout, main, shellEnvironment, urlOf } from '../support/command.ts';
import type { TestDatabase } from '../support/database.ts';
import { everyOnce, LONG, repeats, itOnce as test } from '../support/form.ts';

/**
 * Somebody types a password or a token at a wrong place, or in a wrong form. No output may show it. The cases come from
 * the program itself and from the list of settings, so that a new option cannot be forgotten.
 */
const CANARY = 'Kanarie7f3a';
const ADDRESSES = [
  `mysql://reader:${CANARY}@db.example/desk`,
  `reader:${CANARY}@db.example/desk`,
  `postgres:/reader:${CANARY}@db.example/desk`,
  `postgres://reader:${CANARY}%zz@db.example/desk`,
  `postgres://reader:${CANARY} x@db.example/desk`,
  `postgres://reader:${CANARY}\n@db.example/desk`,
  `postgres://reader:a@${CANARY}@db.example/desk`,
  `postgres://reader:${CANARY}@[::1/desk`,
  `postgres://reader:${CANARY}@db.example:99999/desk`,
  `postgres://reader:${CANARY}@db.example:x/desk`,
  `postgres://reader:${CANARY}@127.0.0.1:1`,
  `postgres://reader:${CANARY}/x@db.example/desk`,
  `postgres://reader:${CANARY}#x@db.example/desk`,
  `postgres://reader:${CANARY}@a.example,b.example/desk`,
  `https://reader:${CANARY}@db.example/?token=${CANARY}`,
  `'postgres://reader:${CANARY}'@db.example' is invalid`,
];
const TOKENS = [
  `${CANARY} two`,
  `${CANARY}\nx`,
  `${CANARY}…`,
  CANARY.repeat(50),
  `-${CANARY}`,
  `--${CANARY}`,
  ` ${CANARY}`,
];
const FORMS = [...ADDRESSES, ...TOKENS];

interface Place {
  readonly words: readonly string[];
  readonly options: readonly Option[];
  readonly positionals: number;
}
const leaves = (command: Command, words: readonly string[] = []): Place[] =>
  command.commands.length === 0
    ? [
        {
          words,
          options: command.options.filter((one) => one.required || one.optional),
          positionals: command.registeredArguments.length,
        },
      ]
    : command.commands.flatMap((one) => leaves(one, [...words, one.name()]));

let places: readonly Place[];
let store: TestDatabase;
beforeAll(async () => {
  // Nothing answers at many of the addresses here. The limit of attempts would make each command wait 60 ms.
  vi.spyOn(Attempts.prototype, 'wait').mockReturnValue(0);
  store = await cliDatabase('demo');
  const none = { serve: () => Promise.resolve(), generate: () => Promise.resolve() };
  places = leaves(await buildProgram((command) => void command.action(() => undefined), none)).filter(
    ({ words }) => words[0] !== 'generate',
  );
});
afterAll(() => store.close());
afterEach(() => vi.unstubAllEnvs());

const quiet = async (argv: readonly string[], seen: string[]): Promise<void> => {
  const { stdout, stderr } = await gateway(...argv);
  if (`${stdout}${stderr}`.includes(CANARY)) seen.push(`${argv.join(' ')} -> ${stdout}${stderr}`);
};

/** Runs a command in a process of its own. Returns everything that it prints. */
function inProcess(argv: readonly string[], env: Readonly<Record<string, string>>, input = ''): string {
  const options = { cwd: checkout, env: shellEnvironment(env), input, encoding: 'utf8', timeout: 30_000 } as const;
  const { stdout, stderr } = spawnSync(process.execPath, [main, ...argv], options);
  return stdout + stderr;
}

describe('no refusal shows a secret', () => {
  inEachForm('every option that takes a value, of every command, in every wrong form', async () => {
    // Nothing answers here. A command that gets as far as its store ends at once.
    vi.stubEnv('DATABASE_URL', 'postgres://127.0.0.1:1/none');
    vi.stubEnv('GATEWAY_KEYS', `1:${randomBytes(32).toString('base64')}`);
    const seen: string[] = [];
    let cases = 0;
    for (const { words, options } of everyOnce(places, 3)) {
      for (const [n, option] of options.entries()) {
        const flag = option.long ?? '';
        for (const form of FORMS) {
          // An option without a value of its own shape says nothing wrong, and then a mandatory option is missing. An unknown
          // option and a second one do not depend on which option it is.
          const ways = [[`${flag}=${form}`], [flag, form]];
          if (n === 0) ways.push([`${flag}x=${form}`], [flag, form, flag, form]);
          for (const way of ways) {
            await quiet([...words, ...way, '--json'], seen);
            cases++;
          }
        }
      }
    }
    expect(seen).toEqual([]);
    expect(cases).toBeGreaterThan(repeats(4_000, 4_000, 1_000));
    expect(places.flatMap(({ options }) => options.map(({ long }) => long))).toEqual(
      expect.arrayContaining(['--url', '--api-token', '--api-url', '--callback', '--email']),
    );
  });

  test('a secret as one word too many, as a command, and as the name of a record', async () => {
    const seen: string[] = [];
    let cases = 0;
    for (const { words, positionals } of places) {
      if (words[0] === 'serve' || words[0] === 'import') continue;
      // Too many words, also words that are no address.
      for (const form of [CANARY, ...FORMS]) {
        await quiet([...words, ...Array.from({ length: positionals }, () => 'x'), form], seen);
        cases++;
      }
      // An address, where a command expects the name of a record.
      if (positionals === 0) continue;
      for (const form of ADDRESSES.slice(0, 3)) {
        await quiet([...words, form], seen);
        cases++;
      }
    }
    for (const form of [CANARY, ...FORMS]) await quiet([form], seen);
    expect(seen).toEqual([]);
    expect(cases).toBeGreaterThan(800);
  });

  test('source add and the password commands, with everything else right', async () => {
    vi.stubEnv('GATEWAY_KEYS', `1:${randomBytes(32).toString('base64')}`);
    const seen: string[] = [];
    for (const form of ADDRESSES)
      await quiet(['source', 'add', 'chatwoot', '--account', '1', '--insecure', '--url', form], seen);
    const right = ['source', 'add', 'chatwoot', '--account', '1', '--url', 'postgres://reader@127.0.0.1:1/desk'];
    for (const form of TOKENS) await quiet([...right, '--api-url', 'https://desk.example', '--api-token', form], seen);
    for (const [argv, input] of [
      [['source', 'add', 'chatwoot', '--account', '1', '--url', '-'], `${ADDRESSES[0]}\n`],
      [[...right, '--api-url', 'https://desk.example', '--api-token', '-'], `${CANARY} two\n`],
    ] as const) {
      const said = inProcess(argv, { DATABASE_URL: urlOf(store) }, input);
      expect(said).toContain('standard input is invalid');
      if (said.includes(CANARY)) seen.push(said);
    }
    const person = ['person', 'add', '--organization', 'larkspur', '--email', 'a@b.example', '--role', 'owner'];
    for (const input of [CANARY, CANARY.repeat(40), `${CANARY}\n${CANARY}`]) {
      const { stdout, stderr } = await fed(input, ...person, '--password-stdin');
      if (`${stdout}${stderr}`.includes(CANARY)) seen.push(`${stdout}${stderr}`);
    }
    expect(seen).toEqual([]);
  });

  test('every setting, in every wrong form, in the output and in the log', async () => {
    const seen: string[] = [];
    let cases = 0;
    for (const name of Object.keys(EXPECTED)) {
      for (const form of [`${CANARY}:${CANARY}`, CANARY, ...FORMS]) {
        // These are shown on purpose: a folder, a host and a port hold no secret.
        if (['GATEWAY_DATA_DIR', 'HOST', 'PORT'].includes(name)) continue;
        vi.stubEnv('DATABASE_URL', 'postgres://127.0.0.1:1/none');
        vi.stubEnv(name, form);
        await quiet(['migrate'], seen);
        vi.unstubAllEnvs();
        cases++;
      }
    }
    const secrets: readonly Readonly<Record<string, string>>[] = [
      { DATABASE_URL: `postgres://u:${CANARY}@127.0.0.1:1/d` },
      {
        DATABASE_URL: `postgres://u:${CANARY}@127.0.0.1:1/d`,
        DATABASE_DIRECT_URL: `postgres://u:${CANARY}@127.0.0.1:1/d`,
      },
      { DATABASE_URL: urlOf(store), DATABASE_REPLICA_URL: `mysql://u:${CANARY}@127.0.0.1:1/d` },
      { DATABASE_URL: urlOf(store), GATEWAY_KEYS: `${CANARY}:${CANARY}` },
      { DATABASE_URL: `mysql://u:${CANARY}@127.0.0.1:1/d` },
    ];
    for (const given of secrets)
      for (const argv of LONG ? [['serve'], ['doctor']] : [['serve']]) {
        const said = inProcess(argv, { LOG_LEVEL: 'trace', PORT: '0', ...given });
        if (said.includes(CANARY)) seen.push(`${Object.keys(given)} ${argv} ${said}`);
        expect(said).not.toBe('');
        cases++;
      }
    expect(seen).toEqual([]);
    expect(cases).toBeGreaterThan(700);
  });

  test('a program without the filter shows the secret, so this test can fail', async () => {
    for (const filtered of [false, true]) {
      let said = '';
      const planted = new Command('planted')
        .exitOverride()
        .configureOutput({
          writeErr: (text) => (said += text),
          outputError: (text, write) => write(filtered ? withoutValues(text) : text),
        })
        .addOption(
          new Option('--url <URL>').argParser(() => {
            throw Object.assign(new Error('Expected an address.'), { code: 'commander.invalidArgument' });
          }),
        );
      const shown: boolean[] = [];
      for (const form of ADDRESSES) {
        said = '';
        expect(() => planted.parse(['--url', form], { from: 'user' })).toThrow();
        shown.push(said.includes(CANARY));
        expect(said).toContain('is invalid');
      }
      expect(new Set(shown)).toEqual(new Set([!filtered]));
    }
  });
});

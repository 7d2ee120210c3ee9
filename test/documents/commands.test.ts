import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newSecret, type SecretKind } from '../../src/auth/tokens.ts';
import { packageRoot } from '../../src/config/package.ts';
import { newWebhookSecret } from '../../src/outbound/signature.ts';
import { type Command, commandsOf } from '../support/documents/blocks.ts';
import { type Launched, launch } from '../support/documents/gateway.ts';
import { hasClients, type OwnServer, openOwnServer } from '../support/documents/server.ts';
import { openShell, type Shell } from '../support/documents/shell.ts';
import { freePort } from '../support/port.ts';

/**
 * Runs every command of the documents in one shell: the fenced `sh` blocks, in the order of the text. The working
 * directory is like a checkout in which `npm start` has started a gateway. The documents of READ_FIRST come first, in
 * this order, because later commands use the output of earlier commands. The other files of docs/ follow. NOT_HERE
 * lists the commands that cannot run in a test, each with the reason.
 */
const READ_FIRST = ['README.md', 'docs/tour.md', 'docs/configuration.md', 'docs/operations.md', 'docs/security.md'];
const DOCUMENTS = [
  ...READ_FIRST,
  ...['SECURITY.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md'],
  ...readdirSync(new URL('docs', packageRoot), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`)
    .filter((name) => !READ_FIRST.includes(name))
    .toSorted(),
];

const THIS_SUITE = 'is this suite';
const NOT_HERE: readonly (readonly [command: RegExp, reason: string])[] = [
  [/^(npm ci && )?npm (test|run test:all)\b/, THIS_SUITE],
  [/^(TEST_FORM=long )?npx vitest run /, 'is a part of this suite'],
  [/^npm run dev$/, 'runs until it is stopped: test/process/dev.test.ts'],
  [/^npm run (check|generate)\b/, 'is the CI itself: .ci/run'],
  [/^npm run new\b/, 'writes into the checkout: test/laws/new.test.ts'],
  [/^npx (tsc --noEmit|biome)\b/, 'is the CI itself: .ci/run'],
  [/^npm run bench:agents$/, 'takes ten seconds of both cores: test/agents runs the same tasks'],
  [/^AGENT_API=/, 'asks a model: test/agents/driver.test.ts has a scripted one'],
  [/^npm run bench\b/, 'takes minutes of both cores'],
  [/^node dist\/test\/(faults|bench)\//, 'takes minutes of both cores'],
  [/^docker (compose|buildx) /, 'needs a Docker engine: test/deploy holds what the compose files name'],
  [/^(kubectl |for rules in )/, 'needs a cluster: test/deploy compares the manifests with the gateway'],
  [/gateway -- (migrate --like|cells check) /, 'needs a second cell: test/cli/cells.test.ts has one'],
  [/^node dist\/test\/deploy\//, 'needs caddy, and takes minutes'],
  [
    /^psql /,
    'needs a PostgreSQL server of the operator’s own: test/store/open/pooler.test.ts gives the role its limits',
  ],
  [/^\[ -e \.env \] /, 'makes the settings of docker compose: test/deploy/files.test.ts'],
  [/^npm start -- --no-demo$/, 'needs an empty store: test/cli/source.test.ts has one'],
  [/^npm run --silent gateway -- source /, 'needs a Chatwoot: test/cli/source.test.ts'],
  [/^npm run --silent gateway -- organization move /, 'needs two PostgreSQL servers: test/store/cells'],
  [/"cw:1:|query=invoice/, 'names or searches records of a Chatwoot: test/cli/source.test.ts'],
  [/person add (?!.*--no-password)/, 'asks for a password on a terminal: test/cli/person.test.ts'],
  [/^createuser --pwprompt /, 'asks for a password on a terminal'],
  ...(hasClients
    ? []
    : [
        [
          /^(createdb|\(umask 077; pg_dump|pg_restore|export RESTORED_URL)|"\$RESTORED_URL"/,
          'needs a PostgreSQL server and its client programs: the long form runs it where they are',
        ] as const,
      ]),
];

/**
 * Placeholders in the documents, each with a pattern. The latest output that matches the pattern gives the value of the
 * placeholder.
 */
const WORDS: Readonly<Record<string, RegExp>> = {
  APP: /\bapp_[0-9a-f]{32}\b/g,
  CRD: /\bcrd_[0-9a-f]{32}\b/g,
  WHK: /\bwhk_[0-9a-f]{32}\b/g,
  SUB: /\bsub_[0-9a-f]{32}\b/g,
  OP: /\bop_[0-9a-f]{64}\b/g,
  LIVE_TOKEN: /\bigw_live_\w+/g,
  SECRET: /\bigws_\w+/g,
  CURSOR: /(?<="(?:next_)?cursor":")[^"]+/g,
};

let above: string;
let folder: string;
let port: number;
let receiver: number;
let gateway: Launched | undefined;
let shell: Shell;
let server: OwnServer | undefined;

/** An empty setting counts as unset, so the gateway ignores a value in the environment of the test. */
const settings = (): Record<string, string> => ({
  DATABASE_URL: '',
  GATEWAY_KEYS: '',
  GATEWAY_DATA_DIR: join(folder, '.data'),
  GATEWAY_WEBHOOK_ALLOW: `http://127.0.0.1:${receiver}`,
  PORT: String(port),
  LOG_LEVEL: 'silent',
});
/** Commands that run until they are stopped. The gateway of the last such command serves the commands after it. */
const SERVES = /^(npm start( -- --workers 4)?|node dist\/src\/main\.js serve --no-demo)$/;
const serve = async (command = 'npm start'): Promise<void> => {
  await stop();
  // In the checkout itself, the build has nothing to do. From the folder, tsc would write the files of other tests again.
  gateway = await launch(command, fileURLToPath(packageRoot), settings());
};
const stop = async (): Promise<void> => {
  await gateway?.stop();
  gateway = undefined;
};

const nothing = async (): Promise<void> => undefined;

async function fillServer(): Promise<void> {
  if (!server) return;
  const { code, stderr } = await shell.run(
    `DATABASE_URL=${server.url('gateway')} npm run --silent gateway -- migrate --json`,
  );
  expect(code, stderr).toBe(0);
  await server.ask('gateway', `INSERT INTO platform.organization (external_id, name) VALUES ('acme', 'Acme')`);
  await server.ask(
    'gateway',
    `INSERT INTO platform.website (tenant, site, external_id, name, time_zone)
     SELECT 1, platform.reserve_ids(1, 0, 'website', 1) + 1, 'acme-shop', 'Shop', 'UTC'`,
  );
}

async function heldApart(): Promise<void> {
  if (!server) return;
  const told = `SELECT position > 1e9 AS leapt, (SELECT count(*)::integer FROM gateway.journal) AS kept FROM gateway.journal_head`;
  expect(await server.ask('gateway', told)).toEqual({ leapt: false, kept: 1 });
  expect(await server.ask('gateway_restored', told)).toEqual({ leapt: true, kept: 7 });
}

const ours = (file: string): void => expect(statSync(join(folder, file)).mode & 0o077, file).toBe(0);

/**
 * Each entry is a command of the documents with a function before it and a function after it. The first function does
 * what the document only says in words. The second function checks the result of the command.
 */
const AROUND: readonly (readonly [command: RegExp, before: () => Promise<void>, after: () => Promise<void>])[] = [
  [/^set -a/, async () => writeFileSync(join(folder, 'gateway.env'), fileOf(settings())), nothing],
  [/^createdb --owner gateway gateway$/, nothing, fillServer],
  [/tar -cf gateway-backup/, stop, async () => ours('gateway-backup.tar')],
  [/pg_dump .*--file=gateway\.dump/, nothing, async () => ours('gateway.dump')],
  [/-- restored --yes --erasures/, stop, () => serve()],
  // `gateway restored` and the doctor run while the gateway is stopped. Start the gateway again after these commands.
  [/^npm run --silent gateway -- doctor$/, nothing, async () => void (gateway ?? (await serve()))],
];

/**
 * A test has no network, so `npm install` links the packages of test/integrations. The versions in the document must be
 * the versions of these packages.
 */
const CLIENTS = new URL('test/integrations/', packageRoot);
const { dependencies: VERSIONS }: { dependencies: Record<string, string> } = JSON.parse(
  readFileSync(new URL('package.json', CLIENTS), 'utf8'),
);
function linked(packages: string): string {
  for (const named of packages.split(' ')) {
    const [name, version = ''] = named.split(/(?<=.)@/);
    expect(VERSIONS[name ?? ''], named).toBe(version);
  }
  return `ln -sfn ${fileURLToPath(new URL('node_modules', CLIENTS))} node_modules`;
}

it('the documents name the versions of clients that the tests run', () => {
  const read = (name: string): string => readFileSync(new URL(name, packageRoot), 'utf8');
  const table = read('docs/integrations.md').match(/^\|.*$/gm) ?? [];
  const commands = [
    'docs/clients.md',
    'docs/integrations.md',
    'docs/tour.md',
    'README.md',
    'src/surfaces/docs/clients.ts',
  ].map(read);
  const named = [
    ...table.flatMap((row) => [...row.matchAll(/`([^`]+)` (\d+\.\d+\.\d+)/g)]),
    ...commands.flatMap((text) => [...text.matchAll(/((?:@[\w-]+\/)?[\w-]+)@(\d+\.\d+\.\d+)/g)]),
  ].filter(([, name = '']) => name in VERSIONS);
  for (const [, name = '', version] of named) expect(version, name).toBe(VERSIONS[name]);
  expect(named.length).toBeGreaterThan(16);
});

const fileOf = (given: Readonly<Record<string, string>>): string =>
  Object.entries(given)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');

beforeAll(async () => {
  above = mkdtempSync(join(tmpdir(), 'gateway-documents-'));
  folder = join(above, 'checkout');
  mkdirSync(folder);
  const root = fileURLToPath(packageRoot);
  for (const name of readdirSync(root)) if (!name.startsWith('.')) symlinkSync(join(root, name), join(folder, name));
  [port, receiver] = [await freePort(), await freePort()];
  server = hasClients ? await openOwnServer() : undefined;
  shell = await openShell(folder, settings());
});
afterAll(async () => {
  await shell?.close();
  await server?.close();
  await stop();
  rmSync(above, { recursive: true, force: true });
});

const printed = new Map<string, string>();

function typed({ text, document, line }: Command): string {
  // PostgreSQL's own tools need a separate server. All other commands use the embedded store.
  const own = server && /^(createdb|\(umask 077; pg_dump|pg_restore) /.test(text);
  const words = new RegExp(`(?<![\\w$])(${Object.keys(WORDS).join('|')})\\b`, 'g');
  return (
    (own ? `(export DATABASE_URL=${server?.url('gateway')} ${server?.env}; ${text})` : text)
      // A dry run compares the lock file with package.json, and installs nothing.
      .replace(/^npm ci$/, 'npm ci --dry-run --offline --no-audit --no-fund')
      .replace(/^npm run build$/, `npm --prefix ${fileURLToPath(packageRoot)} run build`)
      .replace(/^npm install (.+)$/m, (_, packages: string) => linked(packages))
      .replaceAll('db.internal:5432', `127.0.0.1:${server?.port}`)
      .replaceAll('127.0.0.1:8420', `127.0.0.1:${port}`)
      .replaceAll(/\b9000\b/g, String(receiver))
      .replaceAll(
        words,
        (word) => printed.get(word) ?? expect.fail(`${document}:${line}: nothing has printed ${word} yet`),
      )
  );
}

it('every command of the documents runs, or stands with its reason among those that cannot', async () => {
  const commands = DOCUMENTS.flatMap(commandsOf);
  const unused = new Set(NOT_HERE);
  const started = new Set<string>();
  let ran = 0;
  for (const command of commands) {
    const elsewhere = NOT_HERE.find(([pattern]) => pattern.test(command.text));
    if (elsewhere) {
      // A reader of the README runs all its commands.
      if (elsewhere[1] !== THIS_SUITE) expect(command.document).not.toBe('README.md');
      unused.delete(elsewhere);
      continue;
    }
    const around = AROUND.filter(([pattern]) => pattern.test(command.text));
    for (const [, before] of around) await before();
    const served = SERVES.test(command.text);
    if (served && !started.has(command.text)) await serve(command.text);
    if (served) started.add(command.text);
    const { code, stdout, stderr } = served
      ? { code: 0, stdout: '', stderr: gateway?.said() ?? '' }
      : await shell.run(typed(command));
    for (const [, , after] of around) await after();
    ran++;
    const told = `${command.document}:${command.line}: ${command.text}\n${stdout}${stderr}`;
    expect(code, told).toBe(0);
    for (const [, status = ''] of stderr.matchAll(/^HTTP (\d+)$/gm)) expect(status, told).toMatch(/^2/);
    // Over MCP and A2A, a failed operation also answers with HTTP status 200.
    expect(stdout, told).not.toMatch(/"isError":true|"error":\{|TASK_STATE_FAILED/);
    for (const [word, pattern] of Object.entries(WORDS)) {
      const last = `${stdout}${stderr}`.match(pattern)?.at(-1);
      if (last !== undefined) printed.set(word, last);
    }
  }
  await heldApart();
  console.info(`documents: ${ran} commands ran, ${commands.length - ran} stand with a reason`);
  expect([...unused].map(([pattern]) => pattern.source)).toEqual([]);
  expect(ran).toBeGreaterThan(40);
}, 600_000);

it('the pattern for secret scanners finds each kind of secret, whole', () => {
  const text = readFileSync(new URL('docs/security.md', packageRoot), 'utf8');
  const [, pattern = ''] = /secret scanners find them by\s+`([^`]+)`/.exec(text) ?? [];
  const live: SecretKind[] = ['installation_live', 'access_live', 'refresh_live'];
  const others: SecretKind[] = ['installation_test', 'access_test', 'refresh_test', 'code', 'session', 'secret'];
  for (const secret of [...[...live, ...others].map(newSecret), newWebhookSecret()])
    expect(new RegExp(pattern).exec(`"${secret}"`)?.[0]).toBe(secret);
});

it('every file and heading that the documents name exists', () => {
  const broken: string[] = [];
  let count = 0;
  for (const document of DOCUMENTS) {
    const text = readFileSync(new URL(document, packageRoot), 'utf8');
    const paths = [
      ...text.matchAll(
        /`((?!(?:tools|resources|skills)\/(?:list|get|call|read|directory\/read)`)(?:src|test|tools|skills|resources|prompts|llms|docs|\.ci|\.github)\/[\w./-]*[\w/])`/g,
      ),
    ];
    const links = [...text.matchAll(/\]\((?!https?:)([^)#]*)(?:#([\w-]+))?\)/g)];
    const at = new URL(document, packageRoot);
    const named = [
      ...paths.map(([, path = '']) => ({ path, file: new URL(path, packageRoot), heading: undefined })),
      ...links.map(([, path = '', heading]) => ({ path, file: path ? new URL(path, at) : at, heading })),
    ];
    for (const { path, file, heading } of named) {
      count++;
      if (!existsSync(file)) broken.push(`${document}: ${path}`);
      else if (heading !== undefined && !headings(readFileSync(file, 'utf8')).includes(heading))
        broken.push(`${document}: ${path}#${heading}`);
    }
  }
  expect(broken).toEqual([]);
  expect(count).toBeGreaterThan(150);
});

it('what a stranger reads first stays short', () => {
  const ceilings = { 'README.md': 9 * 1024, 'CONTRIBUTING.md': 8 * 1024 };
  for (const [document, bytes] of Object.entries(ceilings))
    expect(statSync(new URL(document, packageRoot)).size, document).toBeLessThanOrEqual(bytes);
});

const headings = (markdown: string): string[] =>
  [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  );

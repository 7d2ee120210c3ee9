import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { openOutput } from '../../../src/cli/output.ts';
import { createChatwoot } from '../../support/chatwoot/populate.ts';
import { seed } from '../../support/chatwoot/source-rows.ts';
import { type ChatwootWorld, chatwootWorld } from '../../support/chatwoot/source-world.ts';
import { cliDatabase, gateway, type Ran } from '../../support/cli.ts';
import { issue } from '../../support/credentials.ts';
import type { TestDatabase } from '../../support/database.ts';
import { fileOf } from '../../support/poison/as-lines.ts';
import { CORPUS } from '../../support/poison/corpus.ts';
import { tableOf } from '../../support/poison/outcomes.ts';
import type { Poison } from '../../support/poison/poison.ts';
import { addSource } from '../../support/sources.ts';

/** Characters that move the cursor, change a terminal, turn a line around, or end it. */
const OBEYED = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Surrogate}]/u;

/** Short items. The command line shows names, pointers and numbers, and no texts. */
const ITEMS = CORPUS.filter(({ at, value }) => at !== 'query' && value.length < 2_000);
/** Names that a terminal would obey, and that the store can hold. */
const NAMES = ITEMS.filter(
  ({ value }, n) =>
    OBEYED.test(value) &&
    !/\0|\p{Surrogate}/u.test(value) &&
    value.length < 120 &&
    ITEMS.findIndex((one) => one.value === value) === n,
);
/** Some of them, because each refusal starts a command of its own. */
const PASTED = NAMES.filter((_, n) => n % 4 === 0);

let store: TestDatabase;
let desk: ChatwootWorld;
let folder: string;
let source: string;
beforeAll(async () => {
  vi.stubEnv('GATEWAY_KEYS', `1:${Buffer.alloc(32, 7).toString('base64')}`);
  store = await cliDatabase('empty');
  desk = await chatwootWorld({ schema: false });
  await createChatwoot(desk.sql);
  await seed(desk.sql);
  await desk.grant('poll');
  folder = mkdtempSync(join(tmpdir(), 'poison-'));
  source = (await addSource(store, { address: desk.address(), mode: 'poll', organization: 'followed' })).id;
  await plant();
});
afterAll(async () => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
  await desk.close();
  await store.close();
});

/** Writes each name into every place that a command shows: an organization with its website, app, person and author. */
async function plant(): Promise<void> {
  const { sql } = store;
  const tenant = 5_000;
  for (const [n, { value }] of NAMES.entries()) {
    const own = tenant + n;
    await sql`INSERT INTO platform.organization (tenant, external_id, name) VALUES (${own}, ${`${value}${n}`}, ${value})`;
    await sql`INSERT INTO platform.website (tenant, site, external_id, name, time_zone)
      VALUES (${own}, 1, ${`${value}${n}`}, ${value}, 'UTC')`;
    await sql`INSERT INTO platform.operator (tenant, site, id, external_id, name, email, role, enabled, team_ids)
      VALUES (${own}, 1, 1, ${value}, ${value}, ${value}, 'operator', true, '{}')`;
    const { app } = await issue(sql, own, { authors: [`opr_${own}_1_1`] });
    await sql`UPDATE gateway.app SET name = ${value} WHERE id = ${app}`;
    await sql`INSERT INTO gateway.person (id, tenant, email, role)
      VALUES (${`prs_${n.toString(16).padStart(32, '0')}`}, ${own}, ${value.toLowerCase()}, 'owner')`;
    await sql`INSERT INTO gateway.source_reject (source, origin, pointer, code)
      VALUES (${source}, ${`messages/${value}${n}`}, ${`/${value}`}, 'invalid_text')`;
  }
  const [worst] = NAMES;
  await sql`UPDATE gateway.source SET last_error = ${worst?.value ?? ''}, account = ${worst?.value ?? ''} WHERE id = ${source}`;
}

const faults = (where: string, { stdout, stderr }: Ran): string[] =>
  [stdout, stderr].flatMap((text) => {
    const found = OBEYED.exec(text);
    return found ? [`${where}: ${JSON.stringify(text.slice(Math.max(0, found.index - 60), found.index + 20))}`] : [];
  });

const SHOWN: readonly (readonly string[])[] = [
  ['organization', 'list'],
  ['website', 'list'],
  ['app', 'list'],
  ['credential', 'list'],
  ['author', 'list'],
  ['person', 'list'],
  ['consent', 'list'],
  ['webhook', 'list'],
  ['source', 'list'],
  ['doctor'],
];

test('no command that shows names from outside writes what a terminal obeys', async () => {
  expect(NAMES.length).toBeGreaterThan(30);
  const all: string[] = [];
  let shown = 0;
  for (const words of [...SHOWN, ['source', 'show', source]])
    for (const json of [[], ['--json']]) {
      const ran = await gateway(...words, ...json);
      all.push(...faults([...words, ...json].join(' '), ran));
      if (/\ufffd|\\u001b/.test(ran.stdout)) shown += 1;
      if (json.length > 0) expect(() => JSON.parse(ran.stdout), words.join(' ')).not.toThrow();
    }
  expect(all).toEqual([]);
  // Organizations, websites, apps, people, sources and rejects were shown, each in both forms.
  expect(shown).toBeGreaterThan(10);
});

test('an import of poison prints rejects that a terminal shows as they are', async () => {
  const file = join(folder, 'odd\u001b[31m\u009b2J\u202e.ndjson');
  writeFileSync(file, fileOf(ITEMS, CORPUS).bytes);
  const outcomes = new Map<Poison, string>(ITEMS.map((item) => [item, 'shown']));
  for (const json of [[], ['--json']]) {
    const ran = await gateway('import', file, '--dry-run', ...json);
    expect(faults('import', ran)).toEqual([]);
    expect(ran.stderr).toContain('lines were rejected');
  }
  console.info(tableOf('terminal', outcomes, {}));
});

test('words that somebody pasted are shown, not obeyed, in every refusal', async () => {
  const all: string[] = [];
  for (const { name, value } of PASTED) {
    for (const words of [
      [value],
      ['source', value],
      ['source', 'show', value],
      ['source', 'list', value],
      ['source', 'list', `--${value}`],
      ['app', 'create', '--organization', value, '--name', 'n'],
      ['app', 'create', '--organization', 'o', '--name', value],
      ['website', 'list', '--organization', value],
      ['import', join('/nowhere', value)],
      ['import', '--schema', value],
    ]) {
      const ran = await gateway(...words);
      expect([0, 1, 2]).toContain(ran.code);
      all.push(...faults(`${name}: ${words.slice(0, 2).join(' ')}`, ran));
    }
  }
  expect([...new Set(all)]).toEqual([]);
});

test('an output that passes names on is found', { meta: { shown: { planted: 2 } } }, () => {
  expect(faults('planted', { code: 0, stdout: 'a \u001b[31m', stderr: '' })).toHaveLength(1);
  expect(faults('planted', { code: 0, stdout: '', stderr: 'a \u009b2J \u202e' })).toHaveLength(1);
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  openOutput(true).result({ name: 'a\u009b2J\u202e\u{e0041}\ud83d' }, '');
  openOutput(false).result({}, 'a\u001b[31m\nb\u2028c');
  const told = write.mock.calls.map(([text]) => String(text));
  write.mockRestore();
  expect(told).toEqual(['{"name":"a\\u009b2J\\u202e\\udb40\\udc41\\ud83d"}\n', 'a\ufffd[31m\nb\ufffdc\n']);
});

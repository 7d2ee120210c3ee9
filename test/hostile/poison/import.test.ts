import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compile } from 'html-to-text';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkout, main, shellEnvironment, urlOf } from '../../support/command.ts';
import { freshDatabase, type TestDatabase } from '../../support/database.ts';
import { fileOf, type PoisonFile, sentinelOf, storedAt } from './as-lines.ts';
import { CORPUS, counted, FLOORS } from './corpus.ts';
import {
  culprits,
  digestsOf,
  NEIGHBOUR_MS,
  type Neighbour,
  type Outcomes,
  openNeighbour,
  peakOf,
  tableOf,
  told,
} from './door.ts';
import type { Poison } from './poison.ts';

/** The memory of the process that imports the whole corpus, and of the gateway that serves meanwhile, in MB. */
const IMPORT_MB = 400;
const SERVING_MB = 250;

const ITEMS = CORPUS.filter(({ at }) => at !== 'query');
let neighbour: Neighbour;
let folder: string;
beforeAll(async () => {
  neighbour = await openNeighbour();
  folder = mkdtempSync(join(tmpdir(), 'poison-'));
}, 200_000);
afterAll(async () => {
  await neighbour.close();
  rmSync(folder, { recursive: true, force: true });
});

test('the corpus has more than 650 items, each category its share, and no item twice', () => {
  const items = CORPUS.map(({ at, value, bytes }) => JSON.stringify([at, value, bytes]));
  expect(new Set(items).size).toBe(CORPUS.length);
  expect(new Set(CORPUS.map(({ name }) => name)).size).toBe(CORPUS.length);
  expect(CORPUS.length).toBeGreaterThan(650);
  for (const [category, floor] of Object.entries(FLOORS))
    expect([category, counted(CORPUS)[category] ?? 0]).toEqual([category, expect.toSatisfy((n) => n >= floor)]);
});

interface Imported {
  readonly code: number;
  readonly peak: number;
  readonly seconds: number;
  readonly rejects: ReadonlyMap<number, string>;
}

async function imported(database: TestDatabase, bytes: Buffer): Promise<Imported> {
  const [file, rejects] = [join(folder, 'poison.ndjson'), join(folder, 'rejects.ndjson')];
  writeFileSync(file, bytes);
  writeFileSync(rejects, '');
  const began = performance.now();
  const child = spawn(process.execPath, [main, 'import', file, '--rejects', rejects], {
    cwd: checkout,
    env: shellEnvironment({ DATABASE_URL: urlOf(database) }),
    stdio: 'ignore',
  });
  let peak = 0;
  const watch = setInterval(() => {
    peak = Math.max(peak, peakOf(child.pid ?? 0));
  }, 50);
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  clearInterval(watch);
  const told = readFileSync(rejects, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    // Each line of the file has these members, as the documents say.
    .map((line) => JSON.parse(line) as { line: number; code: string });
  return {
    code: code ?? -1,
    peak,
    seconds: (performance.now() - began) / 1000,
    rejects: new Map(told.reverse().map(({ line, code }) => [line, code])),
  };
}

/** The items whose sentinel is not in the store. */
async function unfollowed({ sql }: TestDatabase, items: readonly Poison[]): Promise<readonly Poison[]> {
  const rows = await sql<{ text: string }[]>`SELECT text FROM platform.message WHERE external_id LIKE 's-%'`;
  const written = new Set(rows.map(({ text }) => text));
  return items.filter((item) => !written.has(sentinelOf(CORPUS.indexOf(item))));
}

/** Imports some items into a store of their own. True if every next record is written. */
async function passes(some: readonly Poison[]): Promise<boolean> {
  const database = await freshDatabase();
  try {
    await imported(database, fileOf(some, CORPUS).bytes);
    return (await unfollowed(database, some)).length === 0;
  } finally {
    await database.close();
  }
}

async function outcomesOf({ sql }: TestDatabase, file: PoisonFile, { rejects }: Imported): Promise<Outcomes> {
  const outcomes = new Map<Poison, string>();
  const [owner] = await sql<{ tenant: number }[]>`
    SELECT tenant::integer AS tenant FROM platform.organization WHERE external_id = 'poison'`;
  const digests = new Map<string, ReadonlyMap<string, string | null>>();
  for (const item of ITEMS) {
    const refused = rejects.get(file.lineOf.get(item) ?? 0);
    const place = storedAt(CORPUS.indexOf(item), item);
    if (refused !== undefined) outcomes.set(item, `rejected ${refused}`);
    else if (place === undefined) outcomes.set(item, 'taken');
    else {
      const [table, column, id] = place;
      const found = digests.get(`${table} ${column}`) ?? (await digestsOf(sql, table, column, owner?.tenant ?? 0));
      digests.set(`${table} ${column}`, found);
      const own = createHash('md5').update(item.value).digest('hex');
      outcomes.set(item, !found.has(id) ? 'lost' : found.get(id) === own ? 'stored' : 'converted');
    }
  }
  return outcomes;
}

test('a file of poison: every next record is written, no record is lost, and the neighbour is served', async () => {
  const file = fileOf(ITEMS, CORPUS);
  const done = await imported(neighbour.database, file.bytes);
  const missing = await unfollowed(neighbour.database, ITEMS);
  if (missing.length > 0)
    expect.fail(`${missing.length} sentinels are missing. The items at fault: ${await culprits(ITEMS, passes)}`);
  const outcomes = await outcomesOf(neighbour.database, file, done);
  const seen = neighbour.seen();
  const serving = peakOf(neighbour.gateway.pid);
  console.info(
    tableOf('import of a file', outcomes, {
      bytes: file.bytes.length,
      seconds: done.seconds.toFixed(1),
      'peak MB of the import': Math.round(done.peak),
      'peak MB of the gateway': Math.round(serving),
      ...told(seen),
    }),
  );
  expect([...outcomes].flatMap(([{ name }, outcome]) => (outcome === 'lost' ? [name] : []))).toEqual([]);
  expect(seen.failed).toBe(0);
  expect(seen.excess).toBeLessThan(NEIGHBOUR_MS);
  expect(done.peak).toBeLessThan(IMPORT_MB);
  expect(serving).toBeLessThan(SERVING_MB);
}, 400_000);

const convertAsBefore = compile({ wordwrap: false });

/** The items of HTML that a converter does not hold: it throws, or makes far more text than it got. */
const brokenBy = (convert: (text: string) => string, items: readonly Poison[]): readonly string[] =>
  items.flatMap(({ name, value }) => {
    try {
      return convert(value).length > 4 * value.length + 100_000 ? [name] : [];
    } catch {
      return [name];
    }
  });

test('a converter that calls itself, or copies each line for each level, is found', {
  meta: { shown: { planted: 2 } },
}, () => {
  const known = [
    'html message.html: 3,000 nested <b>',
    'html message.html: 300 nested <blockquote> around 1,000 lines',
  ];
  const items = CORPUS.filter(({ name }) => known.includes(name));
  expect(brokenBy(convertAsBefore, items)).toEqual(known);
  expect(brokenBy((text) => text.replaceAll(/<[^>]*>/g, ''), items)).toEqual([]);
});

test('the search for the item at fault names it, and only it', { meta: { shown: { planted: 1 } } }, async () => {
  const at = ITEMS.filter((_, i) => i === 77 || i === 300);
  const found = await culprits(ITEMS, async (some) => !some.some((item) => at.includes(item)));
  expect(found).toEqual(at.map(({ name }) => name));
  expect(await culprits(ITEMS, async () => true)).toEqual([]);
});

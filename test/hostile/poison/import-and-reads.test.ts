import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compile } from 'html-to-text';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { digestOf, newSecret } from '../../../src/auth/tokens.ts';
import { type Answer, exchange } from '../../support/answer.ts';
import { checkout, main, shellEnvironment, urlOf } from '../../support/command.ts';
import { issue } from '../../support/credentials.ts';
import { freshDatabase, type TestDatabase } from '../../support/database.ts';
import { openOracle } from '../../support/oracle.ts';
import { fileOf, storedAt } from '../../support/poison/as-lines.ts';
import { CORPUS, counted, FLOORS } from '../../support/poison/corpus.ts';
import { culprits, NEIGHBOUR_MS, type Neighbour, openNeighbour, peakOf, told } from '../../support/poison/door.ts';
import { outcomesOf, tableOf, unfollowed } from '../../support/poison/outcomes.ts';
import type { Poison } from '../../support/poison/poison.ts';
import { rpc as askA2a, work } from '../../support/surfaces/a2a.ts';
import { rpc as askMcp } from '../../support/surfaces/mcp.ts';

/** The memory of the process that imports the whole corpus, and of the gateway that serves meanwhile, in MB. */
const IMPORT_MB = 400;
const SERVING_MB = 250;

/** The memory of a gateway that answers every read of the corpus, in MB. */
const READING_MB = 450;
/** A person may see so many records a minute. */
const VIEWS = 60;

const ITEMS = CORPUS.filter(({ at }) => at !== 'query');
let neighbour: Neighbour;
let folder: string;
/** The organization of the corpus, once the file is imported. */
let tenant = 0;
beforeAll(async () => {
  neighbour = await openNeighbour();
  folder = mkdtempSync(join(tmpdir(), 'poison-'));
});
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

/** The organization of the corpus, or 0 if the import has ended before it. */
async function tenantOf({ sql }: TestDatabase): Promise<number> {
  const [owner] = await sql<{ tenant: number }[]>`
    SELECT tenant::integer AS tenant FROM platform.organization WHERE external_id = 'poison'`;
  return owner?.tenant ?? 0;
}

/** Imports some items into a store of their own. True if every next record is written. */
async function passes(some: readonly Poison[]): Promise<boolean> {
  const database = await freshDatabase();
  try {
    await imported(database, fileOf(some, CORPUS).bytes);
    return (await unfollowed(database.sql, await tenantOf(database), some)).length === 0;
  } finally {
    await database.close();
  }
}

test('a file of poison: every next record is written, no record is lost, and the neighbour is served', async () => {
  // The queries bring records that the reads ask for.
  const file = fileOf(CORPUS, CORPUS);
  const done = await imported(neighbour.database, file.bytes);
  tenant = await tenantOf(neighbour.database);
  const { sql } = neighbour.database;
  const missing = await unfollowed(sql, tenant, ITEMS);
  if (missing.length > 0)
    expect.fail(`${missing.length} sentinels are missing. The items at fault: ${await culprits(ITEMS, passes)}`);
  const outcomes = await outcomesOf(sql, tenant, ITEMS, storedAt, (item) => {
    const refused = done.rejects.get(file.lineOf.get(item) ?? 0);
    return refused === undefined ? undefined : `rejected ${refused}`;
  });
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
  expect(seen.held).toBeLessThan(NEIGHBOUR_MS);
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

let token: string;
let port: number;
let check: ReturnType<typeof openOracle>;
let installations: readonly string[];
let worked = 0;
const slowest = { ms: 0, what: '' };

/** Notes how long an answer took. */
async function timed(what: string, asking: Promise<Answer>): Promise<Answer> {
  const began = performance.now();
  const answer = await asking;
  const ms = performance.now() - began;
  if (ms > slowest.ms) Object.assign(slowest, { ms: Math.round(ms), what: what.slice(0, 120) });
  return answer;
}

async function ask(path: string): Promise<Answer> {
  const answer = await timed(path, exchange({ port, path, headers: { authorization: `Bearer ${token}` } }));
  check('GET', path, answer);
  return answer;
}

/** Calls a tool over MCP, and judges its content as the answer of this path of REST. Returns the status. */
async function callTool(name: string, input: object, path: string): Promise<string> {
  const answer = await timed(`MCP ${name}`, askMcp(port, token, 'tools/call', { name, arguments: input }));
  const { result } = answer.body;
  if (answer.status !== 200 || result === undefined) return String(answer.status);
  const { isError, structuredContent: content } = result;
  const status: number = isError === true ? content.error.status : 200;
  if (status !== 200) return String(status);
  const body = content.data;
  check('GET', path, { ...answer, status, body, headers: { ...answer.headers, 'content-type': 'application/json' } });
  return String(status);
}

/** Lets a skill work over A2A. Returns the state of its task. An installation may keep 200 tasks, so several take turns. */
async function workOn(skill: string, input: object): Promise<string> {
  const one = installations[worked++ % installations.length];
  const answer = await timed(`A2A ${skill}`, askA2a(port, one, 'SendMessage', work(skill, input)));
  return String(answer.body.result?.task?.status?.state ?? answer.text.slice(0, 200));
}

/** A part of an address. Half a surrogate pair becomes the bytes that a careless client sends. */
const encoded = (text: string): string =>
  [...text].map((letter) => (/\p{Surrogate}/u.test(letter) ? '%ED%A0%BD' : encodeURIComponent(letter))).join('');

/** A session of a new owner of the organization, who may see `VIEWS` records. */
async function newSession(): Promise<string> {
  const { sql } = neighbour.database;
  const id = `prs_${randomBytes(16).toString('hex')}`;
  const secret = newSecret('session');
  await sql`INSERT INTO gateway.person (id, tenant, email, role) VALUES (${id}, ${tenant}, ${`${id}@example.com`}, 'owner')`;
  await sql`INSERT INTO gateway.session (digest, person_id, expires_at) VALUES (${digestOf(secret)}, ${id}, now() + interval '1 hour')`;
  return `igw_session=${secret}`;
}

/** The ids of the records of each item, by external id. */
async function idsOf(table: string, prefix: string): Promise<ReadonlyMap<string, string>> {
  const rows = await neighbour.database.sql.unsafe<{ name: string; id: string }[]>(
    `SELECT external_id AS name, '${prefix}_' || tenant || '_' || site || '_' || id AS id FROM platform.${table} WHERE tenant = ${tenant}`,
  );
  return new Map(rows.map(({ name, id }) => [name, id]));
}

interface Asked {
  readonly item: Poison;
  /** What is asked for, as a path of REST. */
  readonly path: string;
  /** Asks over another surface than REST. Returns the status or the state. */
  readonly over?: () => Promise<string>;
}

/** What an answer may be. */
const RIGHT = /^(200|400|404|TASK_STATE_COMPLETED)$/;

/** Asks three at a time. Returns the outcome of each item: the statuses that its answers had. */
async function answersTo(all: readonly Asked[]): Promise<ReadonlyMap<Poison, string>> {
  const statuses = new Map<Poison, Set<string>>();
  const left = [...all];
  const faults: string[] = [];
  const worker = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const { item, path, over } = next;
      try {
        const status = over === undefined ? String((await ask(path)).status) : await over();
        statuses.set(item, (statuses.get(item) ?? new Set()).add(status));
        if (!RIGHT.test(status)) faults.push(`${item.name}: ${status} at ${path.slice(0, 100)}`);
      } catch (error) {
        faults.push(`${item.name}: ${String(error).slice(0, 400)} at ${path.slice(0, 100)}`);
      }
    }
  };
  await Promise.all([worker(), worker(), worker()]);
  expect(faults).toEqual([]);
  return new Map([...statuses].map(([item, set]) => [item, [...set].sort().join(' and ')]));
}

/** Shows what the neighbour saw, and holds its bounds. */
function held(door: string, outcomes: ReadonlyMap<Poison, string>): void {
  const [seen, peak] = [neighbour.seen(), peakOf(neighbour.gateway.pid)];
  const facts = { 'slowest answer ms': `${slowest.ms} (${slowest.what})`, 'peak MB': Math.round(peak), ...told(seen) };
  console.info(tableOf(door, outcomes, facts));
  expect(seen.failed).toBe(0);
  expect(seen.excess).toBeLessThan(NEIGHBOUR_MS);
  expect(seen.held).toBeLessThan(NEIGHBOUR_MS);
  expect(peak).toBeLessThan(READING_MB);
}

describe('the reads of the corpus', () => {
  beforeAll(async () => {
    const issued = await Promise.all(
      Array.from({ length: 6 }, async () => (await issue(neighbour.database.sql, tenant)).token),
    );
    [token = ''] = installations = issued;
    port = Number(new URL(neighbour.gateway.url).port);
    const { body } = await exchange({ port, path: '/api/v1/openapi.json' });
    check = openOracle(body);
  });

  test('brief, fetch and the lists of each record answer by the contract', async () => {
    const [conversations, contacts, visitors] = await Promise.all([
      idsOf('conversation', 'cnv'),
      idsOf('contact', 'ctc'),
      idsOf('visitor', 'vis'),
    ]);
    const asked = CORPUS.flatMap((item, n): Asked[] => {
      const [cnv, ctc, vis] = [
        conversations.get(`conversation-${n}`),
        contacts.get(`contact-${n}`),
        visitors.get(`visitor-${n}`),
      ];
      const paths = [
        ...(cnv
          ? [`conversations/${cnv}/brief?include_internal=true`, `conversations/${cnv}/messages`, `records/${cnv}`]
          : []),
        ...(ctc && item.at.startsWith('contact.') ? [`contacts/${ctc}`, `records/${ctc}`] : []),
        ...(vis && item.at === 'note.text' ? [`visitors/${vis}/notes`, `records/${vis}`] : []),
      ];
      return paths.map((path) => ({ item, path: `/api/v1/${path}` }));
    });
    expect(asked.length).toBeGreaterThan(1_500);
    held('brief, fetch and lists of a record', await answersTo(asked));
  });

  test('each conversation, each contact and each query is read over MCP and A2A by the same contract', async () => {
    const [conversations, contacts] = await Promise.all([idsOf('conversation', 'cnv'), idsOf('contact', 'ctc')]);
    const asked = CORPUS.flatMap((item, n): Asked[] => {
      if (item.at === 'query') {
        const query = item.value.slice(0, 400);
        const path = `/api/v1/search?query=${encoded(query)}`;
        return [{ item, path, over: () => callTool('search', { query }, path) }];
      }
      const isContact = item.at.startsWith('contact.');
      const id = isContact ? contacts.get(`contact-${n}`) : conversations.get(`conversation-${n}`);
      if (id === undefined) return [];
      const path = `/api/v1/records/${id}`;
      const [skill, input] = isContact
        ? ['contact_inspection', { contact_id: id }]
        : ['conversation_evidence', { conversation_id: id }];
      return [
        { item, path, over: () => callTool('fetch', { id }, path) },
        { item, path, over: () => workOn(skill, input) },
      ];
    });
    expect(asked.length).toBeGreaterThan(1_000);
    const outcomes = await answersTo(asked);
    expect([...outcomes.values()].filter((one) => one === '200 and TASK_STATE_COMPLETED').length).toBeGreaterThan(500);
    held('reads over MCP and A2A', outcomes);
  });

  test('the search and the look-up of customers answer by the contract, whatever is asked', async () => {
    const asked = CORPUS.flatMap((item): Asked[] => {
      const words = encoded(item.value.slice(0, 400));
      const key = ['email', 'phone', 'name'].find((one) => item.at === `contact.${one}`) ?? 'external_id';
      return [
        { item, path: `/api/v1/search?query=${words}` },
        ...(item.at === 'query' ? [{ item, path: `/api/v1/search?order=newest&limit=50&query=${words}` }] : []),
        { item, path: `/api/v1/customers?${key}=${encoded(item.value.slice(0, 200))}` },
      ];
    });
    held('search and customers', await answersTo(asked));
  });

  test('every list of the organization is walked to its end', async () => {
    const walked: Record<string, number> = {};
    const lists = 'conversations contacts channels operators teams saved_responses saved_links offers dispositions';
    for (const list of lists.split(' ')) {
      for (let cursor: string | null = ''; cursor !== null; ) {
        const site = `website_id=web_${tenant}_1&limit=100`;
        const answer = await ask(
          `/api/v1/${list}?${site}${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
        );
        expect([list, answer.status, answer.text.slice(0, 300)]).toEqual([list, 200, expect.anything()]);
        // The oracle has checked the body. The list is the member whose value is an array.
        const { next_cursor, ...members } = answer.body.data;
        walked[list] = (walked[list] ?? 0) + (Object.values(members).find(Array.isArray)?.length ?? 0);
        cursor = next_cursor;
      }
    }
    console.info(`lists: ${JSON.stringify(walked)}`);
    expect(walked['conversations']).toBeGreaterThan(400);
    expect(walked['contacts']).toBeGreaterThan(400);
  });

  test('the page of each conversation and contact is shown, without any markup of an outsider', async () => {
    const [conversations, contacts] = await Promise.all([idsOf('conversation', 'cnv'), idsOf('contact', 'ctc')]);
    const shown = CORPUS.flatMap((item, n) => {
      const isContact = item.at.startsWith('contact.') || item.at === 'note.text';
      const id = isContact ? contacts.get(`contact-${n}`) : conversations.get(`conversation-${n}`);
      return id === undefined || item.at === 'query' || item.at === 'line' ? [] : [{ item, path: `/c/${id}` }];
    });
    const outcomes = new Map<Poison, string>();
    const faults: string[] = [];
    const viewer = async (): Promise<void> => {
      for (let some = shown.splice(0, VIEWS); some.length > 0; some = shown.splice(0, VIEWS)) {
        const cookie = await newSession();
        for (const { item, path } of some) {
          // The page of a record is no operation, and has other headers.
          const { status, text } = await timed(path, exchange({ port, path, headers: { cookie } }));
          outcomes.set(item, String(status));
          const live = /<script>alert|<img src=x|<iframe|javascript:alert\(1\)"/.exec(text)?.[0];
          if (status !== 200 || live !== undefined) faults.push(`${item.name}: ${status} ${live ?? ''}`);
        }
      }
    };
    await Promise.all([viewer(), viewer(), viewer()]);
    expect(faults).toEqual([]);
    expect(outcomes.size).toBeGreaterThan(400);
    held('pages of records', outcomes);
  });
});

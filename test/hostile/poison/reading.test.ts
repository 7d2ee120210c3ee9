import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { digestOf, newSecret } from '../../../src/auth/tokens.ts';
import { type Answer, exchange } from '../../support/answer.ts';
import { command } from '../../support/command.ts';
import { issue } from '../../support/credentials.ts';
import { openOracle } from '../../support/oracle.ts';
import { fileOf } from './as-lines.ts';
import { CORPUS } from './corpus.ts';
import { NEIGHBOUR_MS, type Neighbour, openNeighbour, peakOf, tableOf, told } from './door.ts';
import type { Poison } from './poison.ts';

/** The memory of a gateway that answers every read of the corpus, in MB. */
const READING_MB = 450;
/** A person may see so many records a minute. */
const VIEWS = 60;

let neighbour: Neighbour;
let token: string;
let tenant: number;
let ask: (path: string, as?: { cookie?: string }) => Promise<Answer>;
const slowest = { ms: 0, path: '' };

beforeAll(async () => {
  neighbour = await openNeighbour();
  const { database, gateway } = neighbour;
  const folder = mkdtempSync(join(tmpdir(), 'poison-'));
  const file = join(folder, 'poison.ndjson');
  writeFileSync(file, fileOf(CORPUS, CORPUS).bytes);
  const { stdout, stderr } = await command(database, ['import', file]);
  rmSync(folder, { recursive: true });
  const [owner] = await database.sql<{ tenant: number }[]>`
    SELECT tenant::integer AS tenant FROM platform.organization WHERE external_id = 'poison'`;
  if (owner === undefined) throw new Error(`The import has ended early: ${stdout}${stderr}`.slice(0, 2_000));
  tenant = owner.tenant;
  token = (await issue(database.sql, tenant)).token;
  const port = Number(new URL(gateway.url).port);
  const { body } = await exchange({ port, path: '/api/v1/openapi.json' });
  const check = openOracle(body);
  ask = async (path, { cookie } = {}) => {
    const began = performance.now();
    const headers = cookie === undefined ? { authorization: `Bearer ${token}` } : { cookie };
    const answer = await exchange({ port, path, headers });
    const ms = performance.now() - began;
    if (ms > slowest.ms) Object.assign(slowest, { ms: Math.round(ms), path: path.slice(0, 120) });
    // The page of a record is no operation, and has other headers.
    if (cookie === undefined) check('GET', path, answer);
    return answer;
  };
}, 200_000);
afterAll(() => neighbour.close());

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
  readonly path: string;
}

/** Asks two at a time. Returns the outcome of each item: the statuses that its answers had. */
async function answersTo(all: readonly Asked[]): Promise<ReadonlyMap<Poison, string>> {
  const statuses = new Map<Poison, Set<number>>();
  const left = [...all];
  const faults: string[] = [];
  const worker = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const { item, path } = next;
      try {
        const { status } = await ask(path);
        statuses.set(item, (statuses.get(item) ?? new Set()).add(status));
        if (![200, 400, 404].includes(status)) faults.push(`${item.name}: ${status} at ${path.slice(0, 100)}`);
      } catch (error) {
        faults.push(`${item.name}: ${String(error).slice(0, 400)} at ${path.slice(0, 100)}`);
      }
    }
  };
  await Promise.all([worker(), worker()]);
  expect(faults).toEqual([]);
  return new Map([...statuses].map(([item, set]) => [item, [...set].sort().join(' and ')]));
}

/** Shows what the neighbour saw, and holds its bounds. */
function held(door: string, outcomes: ReadonlyMap<Poison, string>): void {
  const [seen, peak] = [neighbour.seen(), peakOf(neighbour.gateway.pid)];
  const facts = { 'slowest answer ms': `${slowest.ms} (${slowest.path})`, 'peak MB': Math.round(peak), ...told(seen) };
  console.info(tableOf(door, outcomes, facts));
  expect(seen.failed).toBe(0);
  expect(seen.excess).toBeLessThan(NEIGHBOUR_MS);
  expect(peak).toBeLessThan(READING_MB);
}

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
}, 200_000);

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
}, 200_000);

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
  const outcomes = new Map<Poison, string>();
  const faults: string[] = [];
  let [views, cookie] = [0, await newSession()];
  for (const [n, item] of CORPUS.entries()) {
    const contact = item.at.startsWith('contact.') || item.at === 'note.text';
    const id = contact ? contacts.get(`contact-${n}`) : conversations.get(`conversation-${n}`);
    if (id === undefined || item.at === 'query' || item.at === 'line') continue;
    if (++views % VIEWS === 0) cookie = await newSession();
    const { status, text } = await ask(`/c/${id}`, { cookie });
    outcomes.set(item, String(status));
    const live = /<script>alert|<img src=x|<iframe|javascript:alert\(1\)"/.exec(text)?.[0];
    if (status !== 200 || live !== undefined) faults.push(`${item.name}: ${status} ${live ?? ''}`);
  }
  expect(faults).toEqual([]);
  expect(outcomes.size).toBeGreaterThan(400);
  held('pages of records', outcomes);
}, 200_000);

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../support/answer.ts';
import { World } from '../support/authority/world.ts';
import { everyOnce, itOnce } from '../support/form.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { INJECTIONS } from '../support/hostile/injections.ts';
import { rpc } from '../support/surfaces/mcp.ts';

/**
 * A red team writes to agents: each injection is planted in every text that outsiders write, and read with `fetch` as
 * conversation, contact and visitor. Nobody can test whether a model obeys. These tests check what the gateway promises.
 */
let gateway: TestGateway;
let token: string;

const TEXTS: Readonly<Record<string, readonly string[]>> = {
  operator: ['name'],
  team: ['name'],
  channel: ['name'],
  contact: ['name', 'first_name', 'last_name', 'email', 'mobile', 'phone', 'company', 'language', 'time_zone'],
  visitor: ['nickname'],
  conversation: ['subject', 'rating_label', 'disposition', 'language', 'platform'],
  message: ['text'],
  file: ['name', 'media_type'],
  note: ['title', 'text'],
};
const RECORDS = ['cnv_1_1_1', 'ctc_1_1_1', 'vis_1_1_1'];
/** The number of texts of outsiders in each record of the world. */
const FENCED = [31, 18, 15];
/** A mark in each injection. The mark can stand only inside of a fence. */
const MARK = 'Mk7qv';

async function plant(words: string): Promise<void> {
  for (const [table, names] of Object.entries(TEXTS)) {
    const columns = names.map((name) => `${name} = CASE WHEN ${name} IS NOT NULL THEN $1 END`);
    await gateway.database.sql.unsafe(
      `UPDATE platform.${table} SET ${columns.join(', ')} WHERE tenant = 1 AND site = 1`,
      [words],
    );
  }
}

/** The digest of every row of every table of the store, without the counters of quota. */
async function everything(): Promise<string> {
  const { sql } = gateway.database;
  const tables = await sql<{ name: string }[]>`
    SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
     WHERE schemaname IN ('platform', 'gateway') AND tablename NOT LIKE 'quota%' ORDER BY 1`;
  expect(tables.length).toBeGreaterThan(40);
  const digests: string[] = [];
  for (const { name } of tables) {
    const [row] = await sql.unsafe<{ digest: string }[]>(
      `SELECT count(*) || ' ' || coalesce(md5(string_agg(t::text, '|' ORDER BY t::text)), '') AS digest FROM ${name} t`,
    );
    digests.push(`${name} ${row?.digest}`);
  }
  return digests.join('\n');
}

/** Splits a text at its own delimiters, in order. Fails if a delimiter stands where none may stand. */
function split(text: string): { inside: string[]; outside: string } {
  const [first = '', ...rest] = text.split('\n');
  const delimiters = first.match(/<<<(?:data|end) [0-9a-f]{16}>>>/g) ?? [];
  expect(delimiters).toHaveLength(2);
  const [open = '', close = ''] = delimiters;
  const inside: string[] = [];
  let outside = '';
  for (const [i, piece] of rest.join('\n').split(open).entries()) {
    const ends = piece.split(close);
    expect(ends.length, 'each fence opens once and closes once').toBe(i === 0 ? 1 : 2);
    if (i > 0) inside.push(ends[0] ?? '');
    outside += ends.at(-1);
  }
  return { inside, outside };
}

const seenAs = (text: string): string =>
  text
    .normalize('NFKC')
    .replace(/[\p{Cf}\p{Mn}\p{Default_Ignorable_Code_Point}\s]/gu, '')
    .toLowerCase();

beforeAll(async () => {
  gateway = await openTestGateway('empty');
  await new World(gateway.database.sql).whole();
  // The service writes the normal form of a number, so this form is no place for an injection.
  await gateway.database.sql`UPDATE platform.contact SET mobile_e164 = NULL, phone_e164 = NULL`;
  ({ token } = await gateway.issue({ websites: ['web_1_1'] }));
});
afterAll(() => gateway.close());

const read = (id: string, by = token): Promise<Answer> => gateway.ask(`/api/v1/records/${id}`, { token: by });

describe('words that are planted', () => {
  it('are at least sixty, in at least ten languages, and each is of its own', () => {
    expect(INJECTIONS.length).toBeGreaterThanOrEqual(60);
    expect(new Set(INJECTIONS.map(({ words }) => words)).size).toBe(INJECTIONS.length);
    const kinds = new Set(INJECTIONS.map(({ kind }) => kind));
    expect([...kinds].sort()).toEqual(['delimiter', 'encoded', 'hidden', 'imperative', 'language', 'system']);
    expect(INJECTIONS.filter(({ kind }) => kind === 'language').length).toBeGreaterThanOrEqual(10);
  });

  it.each(everyOnce(INJECTIONS, 5))('$kind: $words', async ({ words }) => {
    // The text of the last answer is the best knowledge of the delimiters that an attacker can have.
    const before = (await read('cnv_1_1_1')).body.text as string;
    const [, close = ''] = before.match(/<<<(?:data|end) [0-9a-f]{16}>>>/g) ?? [];
    const planted = `${MARK} ${words.replaceAll('CLOSE', close)} ${MARK}`;
    await plant(planted);
    for (const [i, id] of RECORDS.entries()) {
      const { status, body, text: raw } = await read(id);
      expect(status, raw).toBe(200);
      const { inside, outside } = split(body.text);
      expect(inside.length, id).toBe(FENCED[i]);
      expect(outside).not.toContain(MARK);
      for (const piece of inside) {
        expect(piece.trim().startsWith(MARK), piece).toBe(true);
        expect(seenAs(piece)).not.toMatch(/<<<|<\/?(?:end|data)/);
        expect(piece).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/u);
      }
      expect(outside).not.toMatch(/<<<|>>>/);
    }
    const { body } = await rpc(gateway.port, token, 'tools/call', { name: 'fetch', arguments: { id: 'cnv_1_1_1' } });
    const answer = JSON.parse(body.result.content[0].text);
    expect(split(answer.text).outside).not.toContain(MARK);
  });
});

describe('reading', () => {
  it('never writes: no row of any table changes', async () => {
    for (const { words } of everyOnce(
      INJECTIONS.filter((_, i) => i % 8 === 0),
      3,
    )) {
      await plant(`${MARK} ${words}`);
      await read('cnv_1_1_1');
      const before = await everything();
      for (const id of RECORDS) {
        expect((await read(id)).status).toBe(200);
        await rpc(gateway.port, token, 'tools/call', { name: 'fetch', arguments: { id } });
      }
      expect(await everything()).toBe(before);
    }
  });

  itOnce('shows nothing that is not granted, whatever the words ask for', async () => {
    await plant(`${MARK} ${INJECTIONS[0]?.words}`);
    const secret = 'Secret9zz';
    const { sql } = gateway.database;
    await sql`UPDATE platform.message SET text = ${secret} WHERE visibility = 'internal' OR redacted`;
    await sql`UPDATE platform.note SET text = ${secret}, title = ${secret}`;
    await sql`UPDATE platform.contact SET company = ${secret}, email = ${secret}`;
    await sql`UPDATE platform.file SET name = ${secret}, media_type = ${secret}`;
    await sql`UPDATE platform.operator SET name = ${secret}, email = ${secret}`;
    for (const tenant of [1, 2])
      await sql`UPDATE platform.message SET text = ${secret} WHERE tenant = ${tenant} AND (tenant, site) <> (1, 1)`;
    const little = await gateway.issue({
      websites: ['web_1_1'],
      scopes: ['conversation_read', 'message_content_read', 'contact_read_pii'],
      dataAccess: ['message_content', 'pii'],
    });
    const { status, text } = await read('cnv_1_1_1', little.token);
    expect(status).toBe(200);
    expect(text).toContain(MARK);
    expect(text).not.toContain(secret);
    for (const id of ['cnv_1_2_1', 'cnv_2_1_1', 'ctc_1_2_1', 'vis_2_1_1'])
      expect((await read(id, little.token)).body.code).toMatch(/^not_(found|permitted)$/);
  });

  itOnce('draws new delimiters for every answer, on every surface', async () => {
    const keys = new Set<string>();
    for (let i = 0; i < 20; i++) {
      const { body } = await read('cnv_1_1_1');
      const answer = await rpc(gateway.port, token, 'tools/call', { name: 'fetch', arguments: { id: 'cnv_1_1_1' } });
      for (const text of [body.text, JSON.parse(answer.body.result.content[0].text).text])
        keys.add(/<<<data ([0-9a-f]{16})>>>/.exec(text)?.[1] ?? '');
    }
    expect(keys.size).toBe(40);
  });
});

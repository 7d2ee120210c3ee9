import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readPhone } from '../../../src/views/phone.ts';
import type { Answer } from '../../support/answer.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';

let gateway: TestGateway;
let token: string;

/** The planted people, newest first: name, e-mail address, mobile, its E.164 form, phone, its E.164 form. */
const PEOPLE: readonly (readonly (string | null)[])[] = [
  ['Zora Neale-Hurston', 'Zora@Example.com', '+49 (0)30 7654321', '+49307654321', null, null],
  ['Zoë O’Brien', null, '030/765 43 21', null, null, null],
  ['Ann zorana', 'zora@example.com', null, null, '+1 (212) 765-4321', '+12127654321'],
  ['東京 太郎', 'taro@example.jp', '+81 90-1234-5678', '+819012345678', null, null],
  [null, 'none@example.com', '1234', null, null, null],
  [null, null, '07700 900767', '+447700900767', null, null],
  [null, null, '+4980 0012345', '+49800012345', null, null],
  [null, null, '0000', null, null, null],
  [null, null, '090 0767', null, '0012399', null],
  [null, null, '+999 12', null, null, null],
];
const FIRST = 900_001;

beforeAll(async () => {
  gateway = await openTestGateway();
  ({ token } = await gateway.issue());
  for (const [
    i,
    [name = null, email = null, mobile = null, e164 = null, phone = null, other = null],
  ] of PEOPLE.entries())
    await gateway.database.sql`INSERT INTO platform.contact
      (tenant, site, id, external_id, name, email, mobile, mobile_e164, phone, phone_e164, created_at)
      VALUES (1, 1, ${FIRST + i}, ${`planted-${i}`}, ${name}, ${email}, ${mobile}, ${e164}, ${phone}, ${other}, now() - ${i} * interval '1 s')`;
});
afterAll(() => gateway.close());

type Query = Readonly<Record<string, string>>;
const find = (query: Query, by = token): Promise<Answer> =>
  gateway.ask(`/api/v1/customers?${new URLSearchParams(query)}`, { token: by });

/** The places of the planted people in PEOPLE, in the order of the answer. */
async function planted(query: Query): Promise<number[]> {
  const { status, body, text } = await find({ limit: '50', ...query });
  expect(status, text).toBe(200);
  return body.data.customers
    .map(({ contact_id }: { contact_id: string }) => Number(contact_id.split('_')[3]) - FIRST)
    .filter((place: number) => place >= 0);
}

describe('customer_find', () => {
  it.each([
    ['+49 30 7654321', [0, 1]],
    ['0049307654321', [0, 1]],
    ['(0049) 30 / 765-4321', [0, 1]],
    ['+49 (0)30 765 43 21', [0, 1]],
    ['030 7654321', [0, 1]],
    ['30 7654321', [0, 1]],
    ['7654321', [0, 1, 2]],
    ['765-4321', [0, 1, 2]],
    ['654321', []],
    ['031 7654321', []],
    ['+44 30 7654321', [1]],
    ['+1 212 765 4321', [2]],
    ['(212) 765 4321', [2]],
    ['1 212 765 4321', [2]],
    ['+12127654322', []],
    ['０９０-１２３４-５６７８', [3]],
    ['٠٩٠١٢٣٤٥٦٧٨', [3]],
    ['1234', [4]],
    ['01234', []],
    ['234', []],
    ['7700900767', [5, 8]],
    ['0900767', [5, 8]],
    ['900767', []],
    ['1900767', []],
    ['+44 7700 900767', [5, 8]],
    ['+49 7700 900767', [8]],
    ['0012345', [6]],
    ['00012345', [6]],
    ['+12345', []],
    ['0012399', [8]],
    ['0000', [7]],
    ['0', []],
    ['00', []],
    ['000', []],
    ['00000', []],
    ['+0000', [7]],
    ['00 999 12', [9]],
  ])('compares the telephone number %s as people mean it', async (phone, due) => {
    expect(await planted({ phone })).toEqual(due);
  });

  it('shows the number that was searched, else a number that can be read', async () => {
    const { sql } = gateway.database;
    const shown = async (query: Query): Promise<string[]> =>
      (await find(query)).body.data.customers.map(({ phone }: { phone: string }) => phone);
    await sql`UPDATE platform.contact SET mobile = 'see e-mail' WHERE tenant = 1 AND site = 1 AND id = ${FIRST + 2}`;
    expect(await shown({ phone: '212 765 4321' })).toEqual(['+12127654321']);
    expect(await shown({ name: 'zorana' })).toEqual(['+12127654321']);
    await sql`UPDATE platform.contact SET mobile_e164 = '+4915112345678' WHERE tenant = 1 AND site = 1 AND id = ${FIRST + 2}`;
    expect(await shown({ phone: '212 765 4321' })).toEqual(['+12127654321']);
    expect(await shown({ phone: '0151 12345678' })).toEqual(['+4915112345678']);
    await sql`UPDATE platform.contact SET mobile = NULL, mobile_e164 = NULL WHERE tenant = 1 AND site = 1 AND id = ${FIRST + 2}`;
  });

  it.each([
    ['zora', [0, 2]],
    ['ZORA', [0, 2]],
    ['zorana', [2]],
    ['hurs', [0]],
    ['hurst zo', [0]],
    ['neale-h', [0]],
    ['zoe', [1]],
    ['Zoë o’b', [1]],
    ['brien', [1]],
    ['ora', []],
    ['zora brien', []],
    ['東京', [3]],
    ["z' | !x:* & (", []],
  ])('finds the name %s as the start of words', async (name, due) => {
    expect(await planted({ name })).toEqual(due);
  });

  it('finds an e-mail address in any letter case, and only the whole address', async () => {
    expect(await planted({ email: 'ZORA@example.COM' })).toEqual([0, 2]);
    expect(await planted({ email: 'zora@example.co' })).toEqual([]);
    expect(await planted({ email: 'zora%' })).toEqual([]);
  });

  it('finds an external id as stored', async () => {
    expect(await planted({ external_id: 'planted-3' })).toEqual([3]);
    expect(await planted({ external_id: 'Planted-3' })).toEqual([]);
  });

  it('finds only contacts of the website that was asked for, and no deleted ones', async () => {
    expect(await planted({ external_id: 'planted-3', website_id: 'web_1_1' })).toEqual([3]);
    const { sql } = gateway.database;
    await sql`INSERT INTO platform.website (tenant, site, external_id, name, time_zone) VALUES (1, 77, 'w77', 'Other', 'UTC')`;
    expect((await find({ external_id: 'planted-3', website_id: 'web_1_77' })).body.code).toBe('not_found');
    const both = await gateway.issue({ websites: ['web_1_1', 'web_1_77'] });
    await sql`INSERT INTO platform.contact (tenant, site, id, external_id, email, created_at)
      VALUES (1, 77, 5, 'away', 'ZORA@example.com', now() - interval '1 day')`;
    const away = (await find({ email: 'zora@example.com' }, both.token)).body.data.customers;
    expect(away.map((one: { contact_id: string; website_id: string }) => [one.contact_id, one.website_id])).toEqual([
      [`ctc_1_1_${FIRST}`, 'web_1_1'],
      [`ctc_1_1_${FIRST + 2}`, 'web_1_1'],
      ['ctc_1_77_5', 'web_1_77'],
    ]);
    const one = await find({ email: 'zora@example.com', website_id: 'web_1_77' }, both.token);
    expect(one.body.data.customers).toHaveLength(1);
    await sql`UPDATE platform.contact SET deleted = true WHERE tenant = 1 AND site = 1 AND id = ${FIRST}`;
    for (const query of [
      { email: 'zora@example.com' },
      { name: 'hurston' },
      { phone: '+49307654321' },
      { external_id: 'planted-0' },
    ])
      expect(await planted(query), JSON.stringify(query)).not.toContain(0);
    await sql`UPDATE platform.contact SET deleted = false WHERE tenant = 1 AND site = 1 AND id = ${FIRST}`;
  });

  it('walks all pages of a name, over websites, in one order', async () => {
    const all: string[] = [];
    let cursor: string | null = null;
    const { token: by } = await gateway.issue({ websites: ['web_1_1', 'web_1_2'] });
    do {
      const { body, status } = await find({ name: 'a', limit: '7', ...(cursor !== null && { cursor }) }, by);
      expect(status).toBe(200);
      all.push(...body.data.customers.map((one: { contact_id: string }) => one.contact_id));
      cursor = body.data.next_cursor;
    } while (cursor !== null);
    const rows = await gateway.database.sql<{ id: string }[]>`
      SELECT 'ctc_' || tenant || '_' || site || '_' || id AS id FROM platform.contact
       WHERE tenant = 1 AND site IN (1, 2) AND NOT deleted AND name ~* '(^|[^[:alnum:]])[aàáâãäåāăą]'
       ORDER BY created_at DESC, site DESC, contact.id DESC`;
    expect(all).toEqual(rows.map(({ id }) => id));
    expect(all.length).toBeGreaterThan(20);
  });

  it('reads as much of the index of names, however many names other organizations have (TN-04)', async () => {
    const { sql } = gateway.database;
    const explained = `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM platform.newest_hits(
      (1, 1, 'contact', true, NULL, NULL, NULL, NULL, NULL, 'infinity', 0)::platform.searched, platform.name_query(1, 1, 'a'), 11)`;
    const blocks = async (): Promise<number> => {
      await sql`SELECT gin_clean_pending_list('platform.contact_words')`;
      await sql`ANALYZE platform.contact`;
      await sql.unsafe(explained);
      const [row] = await sql.unsafe(explained);
      const plan = row?.['QUERY PLAN'][0].Plan;
      return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
    };
    await sql`INSERT INTO platform.organization (tenant, external_id, name) VALUES (88, 'o88', 'Other')`;
    await sql`INSERT INTO platform.website (tenant, site, external_id, name, time_zone) VALUES (88, 1, 'w88', 'Other', 'UTC')`;
    const before = await blocks();
    await sql`INSERT INTO platform.contact (tenant, site, id, external_id, name, created_at)
      SELECT 88, 1, i, 'f' || i, 'a' || md5(i::text), now() FROM generate_series(1, 20000) i`;
    expect(await blocks()).toBeLessThan(before + 20);
  });

  it.each<[Query, number[]]>([
    [{ email: 'zora@example.com' }, [0, 2]],
    [{ email: 'zora@example.com', name: 'ann' }, [2]],
    [{ email: 'zora@example.com', name: 'bob' }, []],
    [{ phone: '7654321', name: 'zo' }, [0, 1, 2]],
    [{ phone: '7654321', email: 'ZORA@example.com' }, [0, 2]],
    [{ phone: '7654321', email: 'zora@example.com', name: 'hurston' }, [0]],
  ])('keys together narrow: %j', async (query, expected) => {
    expect(await planted(query)).toEqual(expected);
  });

  it('counts others with the same number and the same name on the granted websites only', async () => {
    const { sql } = gateway.database;
    const twin = (site: number, id: number, name: string, e164: string | null, deleted = false) => sql`
      INSERT INTO platform.contact (tenant, site, id, external_id, name, phone, phone_e164, deleted, created_at)
      VALUES (1, ${site}, ${id}, ${`twin-${id}`}, ${name}, ${e164}, ${e164}, ${deleted}, now())`;
    await twin(2, 910_001, 'zora NEALE-hurston', '+49307654321');
    await twin(2, 910_002, 'Zora Neale-Hurston Jr', '+49307654321');
    await twin(1, 910_003, 'Zora Neale-Hurston', null, true);
    const { token: one } = await gateway.issue({ websites: ['web_1_1'] });
    const same = async (by: string) => {
      const { body } = await find({ external_id: 'planted-0', website_id: 'web_1_1' }, by);
      const [{ same_number, same_name }] = body.data.customers;
      return [same_number, same_name];
    };
    expect(await same(token)).toEqual([2, 1]);
    expect(await same(one)).toEqual([0, 0]);
    const { body } = await find({ email: 'none@example.com' });
    expect(body.data.customers[0]).toMatchObject({ same_number: null, same_name: null });
    await sql`DELETE FROM platform.contact WHERE tenant = 1 AND id BETWEEN 910001 AND 910003`;
  });

  it('finds those of the same name among thousands who share a word, and waits for no index', async () => {
    const { sql } = gateway.database;
    await sql`
      INSERT INTO platform.contact (tenant, site, id, external_id, name, created_at)
      SELECT 1, 2, 920000 + n, 'visitor-' || n, 'Visitor ' || CASE n WHEN 2500 THEN 7 ELSE n END, now() FROM generate_series(1, 2500) n`;
    await sql`UPDATE platform.contact SET name = 'VISITOR 7' WHERE tenant = 1 AND site = 2 AND id = 922400`;
    const same = async (): Promise<number | null> => {
      const { body } = await find({ external_id: 'visitor-7' });
      return body.data.customers[0].same_name;
    };
    expect(await same()).toBe(2);
    const built = (valid: boolean) =>
      sql`UPDATE pg_index SET indisvalid = ${valid} WHERE indexrelid = 'platform.contact_name_folded'::regclass`;
    await built(false);
    expect(await same()).toBeNull();
    await built(true);
    await sql`DELETE FROM platform.contact WHERE tenant = 1 AND id BETWEEN 920001 AND 922500`;
  });

  it('tells the history as the other operations tell it', async () => {
    const [row] = await gateway.database.sql<{ email: string; id: string }[]>`
      SELECT ct.email, ct.id FROM platform.contact ct JOIN platform.conversation_contact k USING (tenant, site)
       WHERE tenant = 1 AND site = 1 AND k.contact_id = ct.id AND ct.email IS NOT NULL GROUP BY 1, 2 ORDER BY count(*) DESC LIMIT 1`;
    const { body } = await find({ email: row?.email ?? '' });
    const [customer] = body.data.customers;
    const id = `ctc_1_1_${row?.id}`;
    const list = await gateway.ask(`/api/v1/conversations?website_id=web_1_1&contact_id=${id}&limit=100`, { token });
    const visitors = await gateway.ask(`/api/v1/contacts/${id}/visitors?limit=100`, { token });
    expect(customer).toMatchObject({
      contact_id: id,
      conversation_count: list.body.data.conversations.length,
      visitor_ids: visitors.body.data.visitors.map((one: { id: string }) => one.id),
    });
    const newest = [...list.body.data.conversations].sort((a, b) => (a.created_at < b.created_at ? 1 : -1))[0];
    const told = ({ id: one, created_at, status, subject, platform, disposition }: typeof newest) => ({
      ...{ id: one, created_at, status, subject, platform, disposition },
    });
    expect(customer.last_conversation).toEqual(told(newest));
    const byAge = [...list.body.data.conversations].sort((a, b) => (a.created_at < b.created_at ? 1 : -1));
    expect(customer.last_conversations).toEqual(byAge.slice(0, 5).map(told));
    expect((await find({ external_id: 'planted-3' })).body.data.customers[0]).toEqual({
      contact_id: `ctc_1_1_${FIRST + 3}`,
      website_id: 'web_1_1',
      name: '東京 太郎',
      email: 'taro@example.jp',
      phone: '+819012345678',
      visitor_ids: [],
      conversation_count: 0,
      last_conversation: null,
      last_conversations: [],
      same_number: 0,
      same_name: 0,
    });
  });

  it.each<[Query, string]>([
    [{}, 'email'],
    [{ email: 'a@b.c', external_id: 'b' }, 'external_id'],
    [{ email: 'a@b.c', phone: 'no digits' }, 'phone'],
    [{ email: 'a@b.c', name: ' ,;! ' }, 'name'],
    [{ name: 'a', external_id: 'b' }, 'external_id'],
    [{ phone: 'no digits' }, 'phone'],
    [{ name: ' ,;! ' }, 'name'],
    [{ email: '' }, 'email'],
    [{ name: 'x'.repeat(201) }, 'name'],
    [{ name: '\u0000' }, 'name'],
    [{ email: 'a@b.c', limit: '51' }, 'limit'],
  ])('refuses %j', async (query, parameter) => {
    const { status, body } = await find(query);
    expect([status, body.errors?.[0]?.parameter]).toEqual([400, parameter]);
  });

  it('searches nothing for a name without a word', async () => {
    const { sql } = gateway.database;
    const [made] = await sql<{ text: string }[]>`
      SELECT pg_get_functiondef('platform.newest_hits'::regproc) AS text`;
    await sql.unsafe(`CREATE OR REPLACE FUNCTION platform.newest_hits(p platform.searched, p_query tsquery, p_want integer)
      RETURNS SETOF platform.hit LANGUAGE plpgsql STABLE AS $$ BEGIN RAISE 'searched' USING ERRCODE = 'GW503'; END $$`);
    try {
      expect((await find({ name: 'a' })).status).toBe(503);
      expect((await find({ name: '%' })).body.errors?.[0]?.parameter).toBe('name');
    } finally {
      await sql.unsafe(made?.text ?? '');
    }
    expect((await find({ name: 'a' })).status).toBe(200);
  });

  it('refuses the cursor of another search, and a forged one', async () => {
    const { body } = await find({ name: 'a', limit: '1' });
    expect(body.data.next_cursor).toMatch(/^[\w-]+$/);
    for (const query of [{ name: 'b' }, { email: 'a@b.c' }, { name: 'a', website_id: 'web_1_1' }])
      expect((await find({ ...query, cursor: body.data.next_cursor })).body.code).toBe('invalid_cursor');
    for (const cursor of ['x', `${body.data.next_cursor}A`, 'ctc_1_1_1'])
      expect((await find({ name: 'a', cursor })).body.code).toBe('invalid_cursor');
  });

  it('reads digits of other writings', () => {
    expect(readPhone('＋４９ ３０ ７６５４３２１')).toEqual([{ digits: '49307654321', e164: '+49307654321' }]);
    expect(readPhone('۰۰۴۹۳۰۷۶۵۴۳۲۱')).toEqual([{ digits: '49307654321', e164: '+49307654321' }]);
    expect(readPhone('+999 12')).toEqual([{ digits: '99912', e164: null }]);
    expect(readPhone('-')).toEqual([]);
  });
});

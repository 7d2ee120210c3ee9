import { expect, test } from 'vitest';
import { attachment, conversation, message, put, seed } from '../support/chatwoot/source-rows.ts';
import { times } from '../support/form.ts';
import { hostileBench } from '../support/hostile/sources.ts';

/** What the rows of a helpdesk can hold to harm the gateway that follows it. */
const bench = hostileBench();

test('a message of 200 MB is a reject, costs little memory, and is taken when it is shorter', async () => {
  const sql = await bench.open();
  await seed(sql);
  await bench.followed();
  const before = process.memoryUsage().rss;
  let most = before;
  const watch = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
  }, 20);
  await sql`INSERT INTO messages (id, account_id, inbox_id, conversation_id, message_type, content, content_attributes, created_at, updated_at)
    SELECT 7, 1, 1, 1, 0, repeat('long ', 40000000), '{}', now(), now()`;
  await sql`INSERT INTO messages (id, account_id, inbox_id, conversation_id, message_type, content, content_attributes, created_at, updated_at)
    SELECT 9, 1, 1, 1, 0, 'text 9', ('{"x":"' || repeat('long ', 40000000) || '"}')::json, now(), now()`;
  await message(sql, 8);
  await bench.shows(8, 40_000);
  await expect.poll(() => bench.rejects()).toContain('messages/7 /text too_long');
  expect(await bench.texts(7)).toEqual([]);
  clearInterval(watch);
  expect((most - before) / 2 ** 20).toBeLessThan(150);
  await sql`UPDATE messages SET content = 'text 7' WHERE id = 7`;
  await bench.shows(7);
  expect((await bench.rejects()).filter((one) => one.startsWith('messages/7'))).toEqual([]);
  expect(bench.errors).toEqual([]);
});

test('broken encodings in a database without an encoding stop no other row', async () => {
  const sql = await bench.open({ encoding: 'SQL_ASCII' });
  await seed(sql);
  const source = await bench.followed();
  await sql.unsafe(`INSERT INTO messages (id, account_id, inbox_id, conversation_id, message_type, content, created_at, updated_at)
    VALUES (5, 1, 1, 1, 0, E'caf\\xe9 \\xff\\xfe \\xc3', now(), now())`);
  await sql.unsafe(`UPDATE contacts SET name = E'\\xf0\\x9f\\x98' WHERE id = 1`);
  await message(sql, 6);
  await bench.shows(6);
  expect((await bench.texts(5))[0]).toMatch(/^caf\uFFFD /);
  expect((await source.state()).findings.map(({ about }) => about)).toEqual(['encoding']);
  expect(bench.errors).toEqual([]);
});

test('polling tells a new contact, although a broken encoding in the same page needs another connection', async () => {
  const sql = await bench.open({ encoding: 'SQL_ASCII' });
  await seed(sql);
  await bench.followed('poll');
  // One transaction, so that one page of polling reads the contact and then the message.
  await sql.unsafe(`BEGIN;
    INSERT INTO contacts (id, account_id, name, created_at, updated_at) VALUES (5, 1, 'New', now(), now());
    INSERT INTO messages (id, account_id, inbox_id, conversation_id, message_type, content, created_at, updated_at)
    VALUES (5, 1, 1, 1, 0, E'caf\\xe9', now(), now()); COMMIT`);
  await expect.poll(() => bench.texts(5)).toEqual(['caf\uFFFD']);
  const contacts = () => bench.store.sql`SELECT name FROM platform.contact WHERE external_id = 'cw:1:contact:5'`;
  await expect.poll(contacts).toEqual([{ name: 'New' }]);
  expect(bench.errors).toEqual([]);
});

test('NUL, lone surrogates and numbers beyond all limits stop no other row', async () => {
  const sql = await bench.open();
  await seed(sql);
  const source = await bench.followed();
  const attributes = [
    `{"in_reply_to": 9223372036854775808, "x": "\\u0000"}`,
    `"{\\"in_reply_to\\":\\"\\\\u0000\\",\\"external_created_at\\":1e308}"`,
    `{"external_created_at": 99999999999999999999, "deleted": "\\ud800"}`,
    `{"external_created_at": -62135596801}`,
    `[1, 2]`,
    `"\\u0000"`,
    `{"in_reply_to": {"a": 1}, "external_created_at": "NaN"}`,
  ];
  for (const [i, text] of attributes.entries())
    await sql.unsafe(
      `INSERT INTO messages (id, account_id, inbox_id, conversation_id, message_type, content, content_attributes, created_at, updated_at)
      VALUES (${10 + i}, 1, 1, 1, 0, 'text ${10 + i}', $1::text::json, now(), now())`,
      [text],
    );
  await attachment(sql, 1, 10, { byte_size: '9223372036854775807' });
  await put(sql, 'csat_survey_responses', {
    account_id: 1,
    conversation_id: 1,
    message_id: 10,
    contact_id: 1,
    rating: 2147483647,
  });
  await sql`UPDATE accounts SET locale = 2147483647 WHERE id = 1`;
  await message(sql, 30);
  await bench.shows(30);
  for (const i of attributes.keys()) {
    const refused = (await bench.rejects()).some((one) => one.startsWith(`messages/${10 + i} `));
    expect([i, refused ? 'refused' : (await bench.texts(10 + i))[0]]).toEqual([
      i,
      refused ? 'refused' : `text ${10 + i}`,
    ]);
  }
  expect((await source.state()).state).toBe('following');
  expect(bench.errors).toEqual([]);
});

test.each(['live', 'poll'] as const)(
  'absurd times in a %s source are rejects or rows, and stop no other row',
  async (mode) => {
    const sql = await bench.open();
    await seed(sql);
    const source = await bench.followed(mode);
    const absurd = [
      'infinity',
      '-infinity',
      '9999-12-31 23:59:59.999999',
      '0044-03-15 BC',
      '294276-12-31',
      '4713-01-01 BC',
    ];
    for (const [i, at] of absurd.entries()) {
      await sql`INSERT INTO messages (id, account_id, inbox_id, conversation_id, message_type, content, created_at, updated_at)
      VALUES (${10 + i}, 1, 1, 1, 0, ${`text ${10 + i}`}, ${at}::text::timestamp, ${at}::text::timestamp)`;
      await sql`INSERT INTO contacts (id, account_id, name, created_at, updated_at) VALUES (${10 + i}, 1, 'absurd', ${at}::text::timestamp, ${at}::text::timestamp)`;
      await conversation(sql, 10 + i, {
        created_at: at,
        updated_at: at,
        last_activity_at: at,
        first_reply_created_at: at,
      });
    }
    await put(sql, 'messages', {
      id: 30,
      account_id: 1,
      inbox_id: 1,
      conversation_id: 1,
      message_type: 0,
      content: 'text 30',
      created_at: new Date().toISOString(),
      updated_at: new Date(Date.now()).toISOString(),
    });
    await bench.shows(30);
    if (mode === 'poll') await bench.compared(source);
    for (const i of absurd.keys()) {
      const name = absurd[i] ?? '';
      const refused = (await bench.rejects()).some((one) => one.startsWith(`messages/${10 + i} `));
      expect([name, refused || (await bench.texts(10 + i))[0] === `text ${10 + i}`]).toEqual([name, true]);
    }
    expect((await source.state()).state).toBe('following');
    expect(bench.errors).toEqual([]);
  },
);

test.each([
  ['live', 1],
  ['live', -1],
  ['poll', 1],
  ['poll', -1],
] as const)('a %s source of a Chatwoot whose clock is %i hour off loses nothing', async (mode, hours) => {
  const sql = await bench.open();
  await seed(sql);
  const source = await bench.followed(mode);
  const at = new Date(Date.now() + hours * 3_600_000).toISOString();
  await message(sql, 5, { created_at: at, updated_at: at });
  await conversation(sql, 2, { created_at: at, updated_at: at, last_activity_at: at });
  // A poll cannot see a row whose time is an hour old. The comparison finds the row.
  if (mode === 'poll' && hours < 0) await bench.compared(source);
  await bench.shows(5);
  await bench.equals(source);
  expect(bench.errors).toEqual([]);
});

test('many rejects hold up no other row, and one repair lets all of them in', async () => {
  const sql = await bench.open();
  await seed(sql);
  const source = await bench.followed();
  const many = times(2_000, 100_000);
  // A status that Chatwoot does not have yet.
  await conversation(sql, 2, { status: 9 });
  await sql`INSERT INTO messages (id, account_id, inbox_id, conversation_id, message_type, content, created_at, updated_at)
    SELECT 100 + n, 1, 1, 2, 0, 'text ' || 100 + n, now(), now() FROM generate_series(1, ${many}) n`;
  await message(sql, 50);
  await bench.shows(50, 60_000);
  await expect.poll(async () => (await source.state()).rejects, { timeout: 120_000 }).toBe(many + 1);
  const began = performance.now();
  await sql`UPDATE conversations SET status = 0 WHERE id = 2`;
  await expect.poll(async () => (await source.state()).rejects, { timeout: 200_000 }).toBe(0);
  console.info(`${many} rejects are taken after ${Math.round(performance.now() - began)} ms`);
  await bench.equals(source);
  expect(bench.errors).toEqual([]);
}, 400_000);

test('one merge moves a contact with thousands of conversations', async () => {
  const sql = await bench.open();
  await seed(sql);
  const source = await bench.followed();
  const many = times(2_000, 10_000);
  await put(sql, 'contacts', { id: 2, account_id: 1, name: 'Twin' });
  await put(sql, 'contact_inboxes', { id: 2, contact_id: 2, inbox_id: 1, source_id: 's2' });
  await sql`INSERT INTO conversations (id, account_id, inbox_id, contact_id, contact_inbox_id, status, last_activity_at, created_at, updated_at)
    SELECT 100 + n, 1, 1, 2, 2, 0, now(), now(), now() FROM generate_series(1, ${many}) n`;
  await bench.equals(source, 60_000);
  const began = performance.now();
  await sql.unsafe(`BEGIN; UPDATE conversations SET contact_id = 1, updated_at = now() WHERE contact_id = 2;
    UPDATE contact_inboxes SET contact_id = 1, updated_at = now() WHERE contact_id = 2; DELETE FROM contacts WHERE id = 2; COMMIT`);
  await expect
    .poll(() => bench.store.sql`SELECT FROM platform.contact WHERE external_id = 'cw:1:contact:2'`, {
      timeout: 60_000,
      interval: 100,
    })
    .toEqual([]);
  console.info(`${many} conversations are moved after ${Math.round(performance.now() - began)} ms`);
  await bench.equals(source);
  expect(bench.errors).toEqual([]);
});

test('a long note on a contact with thousands of visitors is loaded and changed, and costs little memory', async () => {
  const sql = await bench.open();
  await seed(sql);
  const many = times(900, 10_000);
  await sql`INSERT INTO contact_inboxes (id, contact_id, inbox_id, source_id, created_at, updated_at)
    SELECT 100 + n, 1, 1, 'many' || n, now(), now() FROM generate_series(1, ${many}) n`;
  await put(sql, 'notes', { id: 1, account_id: 1, contact_id: 1, content: 'x'.repeat(20_000) });
  const before = process.memoryUsage().rss;
  let most = before;
  const watch = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
  }, 20);
  await bench.followed();
  const stored = async (text: string): Promise<number> =>
    (await bench.store.sql`SELECT FROM platform.note WHERE starts_with(text, ${text})`).length;
  expect(await stored('xxx')).toBe(many + 1);
  const began = performance.now();
  await sql`UPDATE notes SET content = repeat('y', 20000), updated_at = now()`;
  await expect.poll(() => stored('yyy'), { timeout: 120_000, interval: 100 }).toBe(many + 1);
  console.info(`a note on ${many} visitors is changed after ${Math.round(performance.now() - began)} ms`);
  clearInterval(watch);
  console.info(`it costs ${Math.round((most - before) / 2 ** 20)} MiB`);
  expect((most - before) / 2 ** 20).toBeLessThan(400);
  expect(bench.errors).toEqual([]);
});

import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CANARY, World, webId } from '../../support/authority/world.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';

/** Checks CU-03, CU-04 and CU-05. A cursor is an id, a number, or an encoded position for incremental sync. */
let gateway: TestGateway;
let token: string;
const WEB = webId(1, 1);
const q = `website_id=${WEB}`;

beforeAll(async () => {
  gateway = await openTestGateway('empty');
  await new World(gateway.database.sql).whole();
  ({ token } = await gateway.issue());
});
afterAll(() => gateway.close());

interface List {
  readonly path: string;
  readonly member: string;
  readonly key: string;
  /** The prefix of an id that serves as a cursor. Empty when the cursor is a number. */
  readonly prefix: string;
}
const list = (path: string, member: string, prefix: string, key = 'id'): List => ({
  path: `/api/v1${path}${path.includes('?') ? '&' : '?'}`,
  member,
  key,
  prefix,
});
const LISTS: readonly List[] = [
  list(`/conversations?${q}`, 'conversations', 'cnv'),
  list('/conversations/cnv_1_1_1/contacts', 'contacts', 'ctc'),
  list('/conversations/cnv_1_1_1/messages', 'messages', 'msg'),
  list('/conversations/cnv_1_1_1/messages/msg_1_1_1/attachments', 'attachments', 'fil'),
  list('/dashboard/visitors/vis_1_1_1/conversations', 'conversations', 'cnv'),
  list('/visitors/vis_1_1_1/notes', 'notes', ''),
  list(`/contacts?${q}`, 'data', 'ctc'),
  list('/contacts/ctc_1_1_1/visitors', 'visitors', 'vis'),
  list('/contacts/ctc_1_1_1/notes', 'notes', ''),
  list(`/operators?${q}`, 'operators', 'opr'),
  list(`/dispositions?${q}`, 'dispositions', 'dsp', 'value'),
  list(`/saved_responses?${q}`, 'saved_responses', ''),
  list(`/saved_links?${q}`, 'saved_links', ''),
  list(`/offers?${q}`, 'offers', 'ofr'),
  list(`/channels?${q}`, 'channels', 'chn'),
  list(`/teams?${q}`, 'teams', 'tem'),
  list(`/ai/features?${q}`, 'features', 'aif'),
  list(`/settings/item?${q}&path=/ai/features`, 'items', 'aif'),
  list(`/settings/search?${q}&query=Zq`, 'matches', 'aif', 'path'),
];

const ask = (path: string) => gateway.ask(path, { token });

describe('CU-03 what is no cursor of the list', () => {
  it('CU-03 is 400 invalid_cursor in one and the same wording, never 500', async () => {
    let tried = 0;
    for (const { path, prefix } of LISTS) {
      const other = prefix === 'cnv' ? 'msg' : 'cnv';
      const wrong =
        prefix === ''
          ? [
              '0',
              '01',
              '-1',
              '1.0',
              '1e1',
              'x',
              '9'.repeat(19),
              '9'.repeat(20),
              '9223372036854775808',
              'cnv_1_1_1',
              ' 1',
            ]
          : [
              ...[`${other}_1_1_1`, `${prefix}_1_1_0`, `${prefix}_1_1_01`, `${prefix}_1_1_x`, `${prefix}_1_1_`],
              ...[`${prefix}_1_1`, `${prefix}_1_1_1_1`, `${prefix}_1_1_-1`, `${prefix}_1_1_1.5`, `${prefix}_1_1_1e3`],
              ...[
                `${prefix}__1_1`,
                `${prefix}_1_0_1`,
                `${prefix.toUpperCase()}_1_1_1`,
                ` ${prefix}_1_1_1`,
                '_1_1_1',
                '1',
              ],
              // Of another website, another organization, or none at all.
              ...['1_2_1', '1_2_77', '2_1_1', '2_2_3', '1_9_1', '9_1_1', '0_1_1'].map((tail) => `${prefix}_${tail}`),
              ...[`${prefix}_1_1_${'9'.repeat(19)}`, `${prefix}_1_1_9223372036854775808`, 'nonsense', '~', '\u0000'],
            ];
      const bodies = new Set<string>();
      for (const cursor of wrong) {
        const answer = await ask(`${path}cursor=${encodeURIComponent(cursor)}`);
        expect([answer.status, cursor, path], answer.text).toEqual([400, cursor, path]);
        if (cursor !== '\u0000') bodies.add(answer.text.replace(/req_[a-f0-9]{32}/, ''));
        tried++;
      }
      expect([...bodies], path).toEqual([expect.stringContaining('"code":"invalid_cursor"')]);
    }
    expect(tried).toBeGreaterThan(300);
  });

  it('CU-03 an opaque cursor of the order of change is exact: no other text is taken for it', async () => {
    const path = `/api/v1/conversations?${q}&order=updated_asc&limit=1`;
    const { body } = await ask(path);
    const cursor: string = body.data.next_cursor;
    expect((await ask(`${path}&cursor=${cursor}`)).status).toBe(200);
    const encode = (text: string): string => Buffer.from(text).toString('base64url');
    const plain = Buffer.from(cursor, 'base64url').toString();
    const wrong = [
      ...[
        'cnv_1_1_1',
        `${cursor}=`,
        `${cursor}A`,
        cursor.slice(1),
        `${cursor} `,
        encode(`${plain}\n`),
        encode(` ${plain}`),
      ],
      ...[encode(plain.replace('web_1_1', 'web_1_2')), encode(plain.replace('web_1_1', 'web_2_1'))],
      ...[encode(plain.replace(/_\d+$/, '_9223372036854775808')), encode(plain.replace(/_\d+$/, '_0'))],
      ...[encode(`${WEB}_${'9'.repeat(18)}_1`), encode(`${WEB}_1e3_1`), encode(WEB), encode('')],
    ].filter((text) => text !== '');
    for (const text of wrong) {
      const answer = await ask(`${path}&cursor=${encodeURIComponent(text)}`);
      expect([answer.status, answer.body.code], text).toEqual([400, 'invalid_cursor']);
    }
    // A position may have any time that the format allows, even the most distant time.
    for (const moment of ['9'.repeat(17), `-${'9'.repeat(17)}`, '0']) {
      expect((await ask(`${path}&cursor=${encode(`${WEB}_${moment}_1`)}`)).status, moment).toBe(200);
    }
    expect((await ask(`/api/v1/conversations?${q}&cursor=${cursor}`)).body.code).toBe('invalid_cursor');
  });

  it('CU-03 an id of one’s own website that does not exist is a position like any other', async () => {
    for (const { path, prefix, member } of LISTS) {
      const all = (await ask(`${path}limit=100`)).body.data[member];
      const end = prefix === '' ? '2000000000' : `${prefix}_1_1_9223372036854775807`;
      const ascending = prefix === 'aif';
      expect((await ask(`${path}cursor=${end}`)).body.data[member], path).toEqual(ascending ? [] : all);
    }
  });
});

describe('CU-04 a walk while rows come and go', () => {
  /** For each table, the columns of a new row beside its key, and their values. `id` is the number of the row. */
  const tables = {
    contact: ['created_at', 'now()'],
    conversation: [
      'status, platform, created_at, updated_at',
      "'closed', 'api', now(), '2026-01-01'::timestamptz + id / 3 * interval '1 second'",
    ],
    message: [
      'conversation_id, author_type, visibility, kind, text, created_at',
      "3, 'visitor', 'public', 'text', '', now()",
    ],
    saved_link: ['label, url', "'', 'https://example.test/'"],
    note: ['visitor_id, text, created_at', "3, '', now()"],
    ai_feature: ['name, type, versions, active_version', "'walk', 'copilot', '{1}', 1"],
  } as const;
  const add = (table: Table, ids: readonly number[]) =>
    gateway.database.sql.unsafe(
      `INSERT INTO platform.${table} (tenant, site, id, external_id, ${tables[table][0]})
       SELECT 1, 1, id, 'walk ' || id, ${tables[table][1]} FROM unnest($1::bigint[]) AS id`,
      [[...ids]],
    );
  type Table = keyof typeof tables;
  const remove = (table: Table, id: number) =>
    gateway.database
      .sql`DELETE FROM ${gateway.database.sql(`platform.${table}`)} WHERE tenant = 1 AND site = 1 AND id = ${id}`;

  const WALKS: readonly [Table, path: string, member: string][] = [
    ['contact', `contacts?${q}`, 'data'],
    ['conversation', `conversations?${q}&platform=api`, 'conversations'],
    ['conversation', `conversations?${q}&platform=api&order=updated_asc`, 'conversations'],
    ['message', 'conversations/cnv_1_1_3/messages?order=desc', 'messages'],
    ['message', 'conversations/cnv_1_1_3/messages?order=asc', 'messages'],
    ['saved_link', `saved_links?${q}`, 'saved_links'],
    ['note', 'visitors/vis_1_1_3/notes?', 'notes'],
    ['ai_feature', `ai/features?${q}`, 'features'],
    ['ai_feature', `settings/search?${q}&query=walk`, 'matches'],
  ];
  const tail = (row: Record<string, unknown>): number =>
    Number(
      String(row['id'] ?? row['path'])
        .split('_')
        .at(-1),
    );

  it.each(WALKS)(
    'CU-04 %s: %s has no duplicates and skips nothing that was there throughout',
    async (table, path, member) => {
      const change = fc.record({ adds: fc.boolean(), id: fc.integer({ min: 1_000, max: 1_060 }) });
      await fc.assert(
        fc.asyncProperty(
          fc.uniqueArray(fc.integer({ min: 1_000, max: 1_060 }), { minLength: 5, maxLength: 25 }),
          fc.oneof(
            { weight: 3, arbitrary: fc.integer({ min: 1, max: 6 }) },
            { weight: 1, arbitrary: fc.integer({ min: 7, max: 100 }) },
          ),
          fc.array(fc.array(change, { maxLength: 4 }), { minLength: 1, maxLength: 30 }),
          async (initial, limit, changes) => {
            await gateway.database
              .sql`DELETE FROM ${gateway.database.sql(`platform.${table}`)} WHERE tenant = 1 AND id >= 1000`;
            await add(table, initial);
            const present = new Set(initial);
            const throughout = new Set(initial);
            const seen: number[] = [];
            let cursor: string | null = null;
            let page = 0;
            do {
              const mark = path.endsWith('?') ? '' : '&';
              const from: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
              const answer = await ask(`/api/v1/${path}${mark}limit=${limit}${from}`);
              expect(answer.status, answer.text).toBe(200);
              const rows: Record<string, unknown>[] = answer.body.data[member];
              expect(rows.length).toBeLessThanOrEqual(limit);
              seen.push(...rows.map(tail).filter((id) => id >= 1_000));
              cursor = answer.body.data.next_cursor;
              if (cursor !== null) expect(rows.length).toBe(limit);
              for (const { adds, id } of changes[page++ % changes.length] ?? []) {
                if (adds && !present.has(id)) {
                  await add(table, [id]);
                  present.add(id);
                } else if (!adds && present.has(id)) {
                  await remove(table, id);
                  present.delete(id);
                  throughout.delete(id);
                }
              }
              // The walk must end although writers add rows meanwhile, because every page moves forward.
              expect(page).toBeLessThan(200);
            } while (cursor !== null);
            expect(seen.length, 'duplicates').toBe(new Set(seen).size);
            if (!path.includes('updated_asc')) {
              const ascending = path.includes('asc') || table === 'ai_feature';
              expect(seen).toEqual([...seen].sort((a, b) => (ascending ? a - b : b - a)));
            }
            expect(
              [...throughout].filter((id) => !seen.includes(id)),
              'skipped',
            ).toEqual([]);
          },
        ),
        { numRuns: 15 },
      );
    },
  );

  it('CU-04 in the order of change: a row that changes meanwhile is met again, none is lost', async () => {
    await gateway.database.sql`DELETE FROM platform.conversation WHERE tenant = 1 AND id >= 1000`;
    await add(
      'conversation',
      Array.from({ length: 20 }, (_, i) => 1_000 + i),
    );
    const path = `/api/v1/conversations?${q}&platform=api&order=updated_asc&limit=3`;
    const seen: number[] = [];
    let cursor: string | null = null;
    do {
      const { body } = await ask(`${path}${cursor === null ? '' : `&cursor=${cursor}`}`);
      const rows: Record<string, unknown>[] = body.data.conversations;
      seen.push(...rows.map(tail));
      cursor = body.data.next_cursor;
      if (seen.length === 6) {
        await gateway.database
          .sql`UPDATE platform.conversation SET updated_at = '2026-06-01' WHERE tenant = 1 AND site = 1 AND id = 1001`;
      }
    } while (cursor !== null);
    expect(seen).toEqual([...Array.from({ length: 20 }, (_, i) => 1_000 + i), 1_001]);
  });
});

describe('CU-05 what a cursor tells', () => {
  it('CU-05 is the last row’s id, or its moment and id: no text, nothing of other websites', async () => {
    await gateway.database.sql`DELETE FROM platform.conversation WHERE tenant = 1 AND id >= 1000`;
    for (const table of ['contact', 'message', 'saved_link', 'note', 'ai_feature']) {
      await gateway.database
        .sql`DELETE FROM ${gateway.database.sql(`platform.${table}`)} WHERE tenant = 1 AND id >= 1000`;
    }
    const cursors = new Set<string>();
    for (const { path, prefix } of [
      ...LISTS,
      { path: `/api/v1/conversations?${q}&order=updated_asc&`, prefix: 'opaque' },
    ]) {
      let cursor: string | null = null;
      do {
        const { body } = await ask(`${path}limit=1${cursor === null ? '' : `&cursor=${cursor}`}`);
        cursor = body.data.next_cursor;
        if (cursor === null) break;
        cursors.add(cursor);
        const decoded = Buffer.from(cursor, 'base64url').toString('latin1');
        for (const text of [cursor, decoded]) expect(text.match(CANARY)).toBeNull();
        if (prefix === 'opaque') expect(decoded).toMatch(/^web_1_1_\d{16}_\d$/);
        else expect(cursor).toMatch(prefix === '' ? /^\d$/ : new RegExp(`^${prefix}_1_1_\\d$`));
      } while (cursor !== null);
    }
    expect(cursors.size).toBeGreaterThan(15);
  });
});

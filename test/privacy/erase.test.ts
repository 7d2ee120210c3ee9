import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../src/auth/issue.ts';
import { Keyring } from '../../src/auth/keys.ts';
import type { Fragment } from '../../src/core/sql.ts';
import { openDigest } from '../../src/privacy/digests.ts';
import { erase } from '../../src/privacy/erase.ts';
import { writePage } from '../../src/sources/engine/page.ts';
import { ImportBusy, type ImportResult, importRecords } from '../../src/sources/files/import.ts';
import { load } from '../../src/sources/follow/load.ts';
import type { Source } from '../../src/sources/source.ts';
import type { Database } from '../../src/store/driver/postgres.ts';
import { freshDatabase, type TestDatabase } from '../support/database.ts';
import { create, definition, pull } from '../support/events/subscriptions.ts';
import { openTestGateway } from '../support/gateway.ts';
import { content, dump, desk as sharedDesk } from '../support/import.ts';
import { keys } from '../support/sources.ts';

let store: TestDatabase;
beforeAll(async () => {
  store = await freshDatabase('empty');
  await importRecords(store.db, [...desk(40), ...elsewhere]);
});
afterAll(() => store.close());

const at = '2026-02-01T00:00:00Z';
/** The desk. Its people share one telephone, so each gets a number of its own here. */
const desk = (scale: number) =>
  sharedDesk(scale).map((one) =>
    'mobile' in one ? { ...one, mobile: `030 9018${one.external_id.slice(3).padStart(4, '0')}` } : one,
  );
/** Another organization has records with the same external_ids. */
const elsewhere: object[] = [
  { type: 'organization', external_id: 'other', name: 'Other' },
  { type: 'website', external_id: 'x0', organization: 'other', name: 'X', time_zone: 'UTC' },
  { type: 'contact', external_id: 'con0', website: 'x0', name: 'Con', email: 'one@example.com', created_at: at },
  { type: 'visitor', external_id: 'vis0', website: 'x0', contacts: ['con0'], created_at: at },
];

async function idOf(kind: 'contact' | 'visitor', external: string, database = store, org = 'org'): Promise<string> {
  const [row] = await database.sql.unsafe<{ id: string }[]>(
    `SELECT '${kind === 'contact' ? 'ctc' : 'vis'}_' || r.tenant || '_' || r.site || '_' || r.id AS id FROM platform.${kind} r
       JOIN platform.organization o USING (tenant) WHERE r.external_id = '${external}' AND o.external_id = '${org}'`,
  );
  return row?.id ?? '';
}
const erased = async (external: string, kind: 'contact' | 'visitor' = 'contact', database = store) =>
  erase(database.db, keys, { kind, id: await idOf(kind, external, database), reason: 'asked' });
const digestOf = async (database = store) => openDigest(database.db, async () => keys);
const load_ = async (records: Iterable<object>, database = store): Promise<ImportResult> =>
  importRecords(database.db, records, { digest: await digestOf(database) });
/** The records of one person of the desk, without the catalogues. */
const of = (n: number): object[] =>
  desk(n + 1).filter(({ external_id }) => new RegExp(`^(con|vis|cnv|air|not|fil)${n}(-\\d)?$`).test(external_id));

it('refuses ids of no person', async () => {
  for (const id of [
    '',
    'ctc_1_1_999',
    'vis_1_1_1',
    'ctc_0_1_1',
    'ctc_1_1_1_1',
    "ctc_1_1_1'",
    'ctc_1_1_99999999999999999999',
  ])
    expect(await erase(store.db, keys, { kind: 'contact', id, reason: 'x' }), id).toBeUndefined();
});

it('changes nothing in a dry run, and counts what the erasure then clears', async () => {
  const before = await dump(store.sql);
  const id = await idOf('contact', 'con10');
  const dry = await erase(store.db, keys, { kind: 'contact', id, reason: 'x', dryRun: true });
  expect(await dump(store.sql)).toEqual(before);
  expect(await store.sql`SELECT count(*)::integer AS n FROM gateway.erasure`).toEqual([{ n: 0 }]);
  expect(dry).toMatchObject({ erasure_id: null, dry_run: true });
  const counts = { contacts: 1, visitors: 1, conversations: 1, messages: 2, files: 1, notes: 1 };
  expect(dry?.counts).toEqual(counts);
  const certificate = await erased('con10');
  expect(certificate).toMatchObject({ kind: 'contact', counts, dry_run: false });
  expect(Object.keys(certificate ?? {}).sort()).toEqual(
    'backups counts dry_run erasure_id kind organization_id subject_digest time'.split(' '),
  );
  // A second erasure, also as a dry run, gives the certificate of the first one.
  for (const dryRun of [false, true])
    expect(await erase(store.db, keys, { kind: 'contact', id, reason: 'again', dryRun })).toEqual(certificate);
});

it('leaves other people and other organizations as they were', async () => {
  const rest = async (): Promise<string[]> =>
    Object.values(await content(store.sql))
      .flat()
      .filter((row) => !/con0|vis0|cnv0|not0"|air0"|fil0"|erased:/.test(row) || row.includes('"x0"'))
      .map((row) => row.replace(/"last":"?\d+"?/, ''));
  const before = await rest();
  await erased('con0');
  expect(await rest()).toEqual(before);
  expect(before.length).toBeGreaterThan(200);
});

it('erases a visitor and leaves the contact', async () => {
  await store.sql`INSERT INTO platform.visitor_contact (tenant, site, visitor_id, contact_id)
    SELECT v.tenant, v.site, v.id, c.id FROM platform.visitor v JOIN platform.contact c USING (tenant, site)
     WHERE v.external_id = 'vis4' AND c.external_id = 'con2'`;
  expect(await erased('vis4', 'visitor')).toMatchObject({ kind: 'visitor', counts: { visitors: 1, conversations: 1 } });
  expect(await idOf('contact', 'con4')).not.toBe('');
  expect(await idOf('visitor', 'vis4')).toBe('');
  // A consumer that reads in the order of changes finds the shells of all erased conversations.
  const found =
    await store.sql`SELECT count(*)::integer AS shells, count(*) FILTER (WHERE updated_at > now() - interval '1 hour')::integer AS found
    FROM platform.conversation WHERE external_id LIKE 'erased:%'`;
  expect(found).toEqual([{ shells: expect.any(Number), found: found[0]?.['shells'] }]);
  expect(found[0]?.['shells']).toBeGreaterThan(0);
  // The contact itself may come back. What the visitor wrote may not.
  expect(await load_(of(4))).toMatchObject({ rejected: 0, unchanged: 1, suppressed: 6 });
});

describe('what was erased does not come back', () => {
  it('by an import, whatever name the record has now', async () => {
    await load_([
      {
        type: 'contact',
        external_id: 'jane',
        website: 'w0',
        email: 'Jane@Example.com',
        phone: '+1 415 555 0101',
        created_at: at,
      },
    ]);
    await erased('jane');
    const next: object[] = [
      { type: 'contact', external_id: 'jane', website: 'w0', name: 'Jane', created_at: at },
      { type: 'contact', external_id: 'jane2', website: 'w0', email: ' jane@EXAMPLE.com', created_at: at },
      { type: 'contact', external_id: 'jane3', website: 'w1', mobile: '001-415-555-0101', created_at: at },
      { type: 'contact', external_id: 'june', website: 'w0', email: 'june@example.com', created_at: at },
      { type: 'visitor', external_id: 'jv', website: 'w0', contacts: ['jane2'], created_at: at },
      { type: 'visitor', external_id: 'both', website: 'w0', contacts: ['jane', 'june'], created_at: at },
      {
        type: 'conversation',
        external_id: 'jc',
        website: 'w0',
        visitor: 'jv',
        status: 'closed',
        platform: 'chat',
        created_at: at,
      },
      {
        type: 'conversation',
        external_id: 'jd',
        website: 'w0',
        contacts: ['jane'],
        status: 'closed',
        platform: 'chat',
        created_at: at,
      },
      {
        type: 'conversation',
        external_id: 'je',
        website: 'w0',
        visitor: 'both',
        contacts: ['jane', 'june'],
        status: 'closed',
        platform: 'chat',
        created_at: at,
      },
      {
        type: 'message',
        external_id: 'jm',
        conversation: 'jc',
        author_type: 'visitor',
        author: 'jv',
        visibility: 'public',
        kind: 'text',
        text: 'Jane',
        created_at: at,
      },
      {
        type: 'file',
        external_id: 'jf',
        message: 'jm',
        name: 'f',
        media_type: 'text/plain',
        content_base64: 'YQ==',
        created_at: at,
      },
      { type: 'note', external_id: 'jn', visitor: 'jv', text: 'Jane', created_at: at },
      { type: 'ai_result', external_id: 'ja', conversation: 'jd', topics: ['Jane'] },
    ];
    const digest = await digestOf();
    const dry = await importRecords(store.db, next, { digest, dryRun: true });
    expect(dry).toMatchObject({ read: 13, written: 3, rejected: 0, suppressed: 10 });
    expect(await load_(next)).toMatchObject({ read: 13, written: 3, rejected: 0, suppressed: 10 });
    expect(await load_(next)).toMatchObject({ read: 13, unchanged: 3, rejected: 0, suppressed: 10 });
    const kept = await store.sql`SELECT c.external_id FROM platform.conversation k JOIN platform.conversation_contact l
      ON l.conversation_id = k.id AND l.tenant = k.tenant AND l.site = k.site JOIN platform.contact c
      ON c.id = l.contact_id AND c.tenant = k.tenant AND c.site = k.site WHERE k.external_id = 'je'`;
    expect(kept).toEqual([{ external_id: 'june' }]);
  });

  it('by an import without the digests', async () => {
    await expect(importRecords(store.db, of(10))).rejects.toThrow(ImportBusy);
    expect(await load_(of(10))).toMatchObject({ written: 0, rejected: 0, suppressed: 8 });
  });

  it('by a source, which goes on and keeps the shells', async () => {
    await erased('con20');
    const [{ tenant } = { tenant: '' }] =
      await store.sql`SELECT tenant FROM platform.organization WHERE external_id = 'org'`;
    const id = newId('src');
    await store.sql`INSERT INTO gateway.source (id, tenant, kind, account, mode, period, time_zone, address, loaded, position)
      VALUES (${id}, ${tenant}, 'chatwoot', '1', 'poll', 15, 'UTC', '', true, '{}')`;
    const held = { id, tenant: Number(tenant), epoch: 0, digest: await digestOf() };
    const changes = [...of(20), ...of(21)].map((record, n) => ({ from: `rows/${n}`, record: { ...record } }));
    const pages = changes.filter(({ record }) => !('content_base64' in record));
    expect(await writePage(store.db, held, pages, { n: 1 })).toMatchObject({
      rejected: 0,
      suppressed: 7,
      unchanged: 7,
    });
    await expect(writePage(store.db, { ...held, digest: undefined }, pages, null)).rejects.toMatchObject({
      code: 'GW005',
    });
    expect(await store.sql`SELECT suppressed::integer, position FROM gateway.source WHERE id = ${id}`).toEqual([
      { suppressed: 7, position: { n: 1 } },
    ]);
    // The nightly comparison asks which of the stored records the helpdesk still has.
    const asked: string[] = [];
    const source = {
      load: async () => ({ changes: pages, after: null, more: false }),
      missing: async (_: string, ids: readonly string[]) => {
        asked.push(...ids);
        return [];
      },
    } as unknown as Source; // a comparison calls no more of a source
    const row = { ...held, organization: 'org', storage: null };
    const stores = { db: store.db, writer: store.db };
    const signal = new AbortController().signal;
    expect(await load(stores, row, source, { resumes: false, signal })).toMatchObject({
      removed: 0,
      rejected: 0,
      suppressed: 7,
    });
    expect(asked.length).toBeGreaterThan(100);
    expect(asked.filter((one) => one.startsWith('erased:'))).toEqual([]);
    await store.sql`DELETE FROM gateway.source WHERE id = ${id}`;
  });

  it('after the keys of the operator were changed', async () => {
    const [old, fresh, foreign] = [7, 8, 9].map((fill, i) => ({
      kid: String(i + 1),
      secret: new Uint8Array(32).fill(fill),
    }));
    if (!old || !fresh || !foreign) throw new Error('no keys');
    const open = (...list: (typeof old)[]) => openDigest(store.db, async () => new Keyring(list));
    const known = (await digestOf())?.('contact', 'con10');
    await expect(open(foreign)).rejects.toThrow('The list of erased people cannot be read.');
    expect((await open(fresh, old))?.('contact', 'con10')).toBe(known);
    const dry = { kind: 'contact' as const, id: await idOf('contact', 'con22'), reason: 'x', dryRun: true }; // one of the kinds
    const sealed = await store.sql`SELECT sealed FROM gateway.suppression_key`;
    expect(await erase(store.db, new Keyring([old, fresh]), dry)).toMatchObject({ dry_run: true });
    expect(await store.sql`SELECT sealed FROM gateway.suppression_key`).toEqual(sealed);
    // Any process with both keys renews the seal. The old key can then go.
    expect((await open(fresh))?.('contact', 'con10')).toBe(known);
    await expect(open(old)).rejects.toThrow('The list of erased people cannot be read.');
    expect((await open(old, fresh))?.('contact', 'con10')).toBe(known);
  });
});

/** A database that fails after some statements, as if the process was killed. */
function dying(db: Database, after: number): Database {
  let left = after;
  const query: Database['query'] = async (statement) => {
    if (left-- <= 0) throw new Error('killed');
    return db.query(statement);
  };
  return { ...db, query, read: query };
}

it('continues an erasure that was killed anywhere', async () => {
  let kills = 0;
  for (let n = 0; n < 60; n++) {
    const own = 30 + (n % 10);
    if (n >= 10) break;
    const id = await idOf('contact', `con${own}`);
    for (let after = n; ; after += 10) {
      try {
        await erase(dying(store.db, after), keys, { kind: 'contact', id, reason: 'x' });
        break;
      } catch (error) {
        if (!(error instanceof Error) || error.message !== 'killed') throw error;
        kills++;
      }
    }
    expect(await erase(store.db, keys, { kind: 'contact', id, reason: 'x' })).toMatchObject({
      counts: { contacts: 1, visitors: 1, conversations: 1, messages: 2, notes: 1 },
    });
  }
  expect(kills).toBeGreaterThan(15);
  expect(await store.sql`SELECT 1 FROM gateway.erasure WHERE finished_at IS NULL`).toEqual([]);
  expect(await store.sql`SELECT 1 FROM gateway.erasure_work`).toEqual([]);
  const shells = await store.sql`SELECT count(*)::integer AS n FROM platform.message m JOIN platform.conversation c
    ON c.id = m.conversation_id AND c.tenant = m.tenant AND c.site = m.site
   WHERE c.external_id LIKE 'erased:%' AND (m.text IS NOT NULL OR NOT m.redacted OR m.external_id NOT LIKE 'erased:%')`;
  expect(shells).toEqual([{ n: 0 }]);
});

/** A database that calls `act` once, before the first statement of an import that contains `text`. */
function interrupted(db: Database, text: string, act: () => Promise<unknown>): Database {
  let acted = false;
  const query: Database['query'] = async (statement: Fragment) => {
    if (!acted && statement.texts.join('').includes(text)) {
      acted = true;
      await act();
    }
    return db.query(statement);
  };
  return { ...db, query };
}

describe('during an import', () => {
  const STEPS = [
    'import_staged(',
    "'plan contact'",
    "'plan conversation'",
    "'write visitor 0'",
    "'write conversation 0'",
    "'plan message'",
    "'write message 0'",
  ];
  it.each(STEPS)('of files, before the statement with %s, the person does not come back', async (step) => {
    const own = await freshDatabase('empty');
    try {
      await importRecords(own.db, desk(12));
      await erased('con1', 'contact', own); // later imports have digests
      let acts = 0;
      const db = interrupted(own.db, step, async () => {
        acts++;
        await erased('con10', 'contact', own);
      });
      const renewed = desk(14).map((record) =>
        'text' in record ? { ...record, text: `${record.text} again` } : record,
      );
      const result = await importRecords(db, renewed, { digest: await digestOf(own) });
      expect(acts).toBe(1);
      expect(result).toMatchObject({ rejected: 0 });
      expect(result.read).toBe(result.written + result.unchanged + result.removed + result.suppressed);
      const left = Object.values(await content(own.sql))
        .flat()
        .filter((row) => /con10"|vis10"|cnv10|not10"|fil10"|Name 10"/.test(row));
      expect(left).toEqual([]);
      expect(await own.sql`SELECT text FROM platform.message WHERE text ~ '\\m10\\M'`).toEqual([]);
      expect(await idOf('contact', 'con13', own)).not.toBe('');
    } finally {
      await own.close();
    }
  });

  it('that began before the first erasure of the store, the import ends and can be repeated', async () => {
    const own = await freshDatabase('empty');
    try {
      await importRecords(own.db, desk(12));
      const db = interrupted(own.db, "'plan conversation'", () => erased('con10', 'contact', own));
      await expect(importRecords(db, desk(12))).rejects.toThrow(ImportBusy);
      expect(await load_(desk(12), own)).toMatchObject({ rejected: 0, suppressed: 8 });
      expect(await idOf('contact', 'con10', own)).toBe('');
    } finally {
      await own.close();
    }
  });
});

it('tells readers of the journal', async () => {
  const gateway = await openTestGateway('demo');
  try {
    const { token } = await gateway.issue();
    const { id, cursor } = await create(gateway, token, definition(['web_1_1'], { start: 'now' as 'retained' })); // the type knows the older starts
    const person = await idOf('contact', 'ct-1', gateway.database, 'larkspur').catch(() => '');
    const [first] = await gateway.database
      .sql`SELECT 'ctc_1_1_' || contact_id AS id, 'cnv_1_1_' || conversation_id AS conversation
      FROM platform.conversation_contact WHERE tenant = 1 AND site = 1 ORDER BY contact_id LIMIT 1`;
    const contact = person === '' ? String(first?.['id']) : person;
    const seen = await gateway.ask(`/api/v1/contacts/${contact}?website_id=web_1_1`, { token });
    expect(seen.status).toBe(200);
    await erase(gateway.database.db, keys, { kind: 'contact', id: contact, reason: 'asked' });
    const { body } = await pull(gateway, token, id, cursor, 100);
    const types = body.events.map(({ event_type }: { event_type: string }) => event_type);
    expect(types).toEqual(expect.arrayContaining(['privacy.removed', 'visitor.removed', 'conversation.removed']));
    expect((await gateway.ask(`/api/v1/contacts/${contact}?website_id=web_1_1`, { token })).status).toBe(404);
    const messages = await gateway.ask(`/api/v1/conversations/${first?.['conversation']}/messages?website_id=web_1_1`, {
      token,
    });
    expect(messages.status).toBe(200);
    expect(messages.body.data.messages.length).toBeGreaterThan(0);
  } finally {
    await gateway.close();
  }
});

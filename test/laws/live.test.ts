import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ALL_FLAGS,
  ALL_SCOPES,
  type Flag,
  FULL,
  granted,
  LACKING,
  limitsOf,
  type Restricted,
  type Scope,
} from '../support/authority/grants.ts';
import {
  expectMembers,
  idsIn,
  NOT_FOUND,
  nameOf,
  OPERATIONS,
  type Operation,
  pathOf,
  refusalOf,
  WRITES,
  type Write,
} from '../support/authority/operations.ts';
import { plantReceipt, receiptId, World, webId } from '../support/authority/world.ts';
import { freshDatabase, type TestDatabase } from '../support/database.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';

/**
 * Check TN-05: a change of authority applies to the very next request. Both gateways keep the authority in memory but
 * must still notice the change.
 */
let database: TestDatabase;
let gateways: TestGateway[];
const WEB = webId(1, 1);

beforeAll(async () => {
  database = await freshDatabase('empty');
  await new World(database.sql).whole();
  const shared = { ...database, close: async () => undefined };
  gateways = [await openTestGateway('empty', shared), await openTestGateway('empty', shared)];
});
afterAll(async () => {
  for (const gateway of gateways) await gateway.close();
  await database.close();
});

const gateway = (n: number): TestGateway => gateways[n] ?? expect.fail('there are two gateways');

interface Credential {
  readonly token: string;
  readonly credential: string;
}

async function warm({ token }: Credential): Promise<void> {
  for (const one of gateways) expect((await one.ask('/api/v1/context', { token })).status).toBe(200);
}

async function ending(name: string, { credential }: Credential, undo: boolean): Promise<void> {
  const { sql } = database;
  const past = sql`now() - interval '1 millisecond'`;
  const none = sql`NULL`;
  if (name === MOVED[0]) {
    await sql`UPDATE platform.organization SET moved_to = ${undo ? none : sql`'https://b.example'`} WHERE tenant = 1`;
  } else if (name === 'revoked credential') {
    await sql`UPDATE gateway.credential SET revoked_at = ${undo ? none : past} WHERE id = ${credential}`;
  } else if (name === 'expired credential') {
    await sql`UPDATE gateway.credential SET expires_at = ${undo ? sql`now() + interval '1 day'` : past} WHERE id = ${credential}`;
  } else if (name === 'revoked token') {
    await sql`UPDATE gateway.token SET revoked_at = ${undo ? none : past} WHERE credential_id = ${credential}`;
  } else {
    await sql`UPDATE gateway.token SET expires_at = ${undo ? none : past} WHERE credential_id = ${credential}`;
  }
}
/** Of the whole organization, so the other tests of this file leave it out. */
const MOVED: [name: string, code: string] = ['moved organization', 'organization_moved'];
const statusOf = (code: string): number => (code === MOVED[1] ? 421 : 401);
const ENDINGS: [name: string, code: string][] = [
  ['revoked credential', 'token_revoked'],
  ['expired credential', 'token_expired'],
  ['revoked token', 'token_revoked'],
  ['expired token', 'token_expired'],
];

const q = `website_id=${WEB}`;
const bytes = { accept: 'application/octet-stream' };
/**
 * One request for every way in which a call can end. After the loss of authority, the gateway must refuse each request,
 * although the gateway still remembers the authority.
 */
const ROADS: [name: string, path: string, status: number, headers?: Record<string, string>, method?: string][] = [
  ['data', `/api/v1/conversations?${q}`, 200],
  ['an empty page', `/api/v1/conversations?${q}&created_from=2030-01-01T00:00:00Z`, 200],
  ['the report, on slow connections', `/api/v1/analytics/ai-conversations/summary?${q}`, 200],
  ['no statement: context', '/api/v1/context', 200],
  ['no statement: guide', '/api/v1/guides/overview', 200],
  ['no statement: capabilities', `/api/v1/capabilities?${q}`, 200],
  ['no statement: catalogue', `/api/v1/settings/catalog?${q}`, 200],
  ['no statement: schema', `/api/v1/settings/schema?${q}&path=/ai/features`, 200],
  ['websites', '/api/v1/websites', 200],
  ['health', `/api/v1/health?${q}`, 200],
  ['HEAD', `/api/v1/conversations?${q}`, 200, {}, 'HEAD'],
  ['bytes', '/api/v1/files/fil_1_1_1/content', 206, bytes],
  ['bytes of another version', '/api/v1/files/fil_1_1_1/content', 412, { ...bytes, 'if-match': `"${'0'.repeat(32)}"` }],
  ['bytes outside', '/api/v1/files/fil_1_1_1/content', 416, { ...bytes, range: 'bytes=70000-' }],
  ['another version', `/api/v1/files/fil_1_1_1/content?version=${'0'.repeat(32)}`, 409],
  ['a chunk that is not there', '/api/v1/files/fil_1_1_1/content?chunk=7', 404],
  ['an unknown parameter', `/api/v1/conversations?${q}&nonsense=1`, 400],
  ['a missing parameter', '/api/v1/conversations', 400],
  ['a malformed id', '/api/v1/conversations/nonsense', 400],
  ['a bad cursor', `/api/v1/conversations?${q}&cursor=nonsense`, 400],
  ['a cursor of another website', `/api/v1/contacts?${q}&cursor=ctc_1_2_1`, 400],
  ['a bad time zone', `/api/v1/analytics/ai-conversations/summary?${q}&timezone=Nowhere/Town`, 400],
  ['a website that is not granted', `/api/v1/conversations?website_id=${webId(2, 1)}`, 404],
  ['a website that does not match', `/api/v1/conversations/cnv_1_1_1?website_id=${webId(1, 2)}`, 404],
  ['a record that is not there', '/api/v1/conversations/cnv_1_1_77', 404],
  ['an owner that is not there', '/api/v1/conversations/cnv_1_1_77/messages', 404],
  ['an item of another website', `/api/v1/settings/item?${q}&path=/ai/features/aif_1_2_1`, 404],
  ['a number beyond bigint', `/api/v1/conversations/cnv_1_1_${'9'.repeat(19)}`, 404],
];

describe('TN-05 an ended authority is refused by every road, on both gateways, at the very next request', () => {
  it.each([...ENDINGS, MOVED])('TN-05 %s', async (name, code) => {
    const holder = await gateway(0).issue();
    for (const [road, path, status, headers = {}, method = 'GET'] of ROADS) {
      await warm(holder);
      for (const one of gateways) {
        const before = await one.ask(path, { token: holder.token, headers, method });
        expect(before.status, `${road}: ${before.text}`).toBe(status);
      }
      await ending(name, holder, false);
      for (const one of gateways) {
        const after = await one.ask(path, { token: holder.token, headers, method });
        expect(after.status, `${road} after ${name}: ${after.text}`).toBe(statusOf(code));
        if (method === 'GET') expect(after.body.code, road).toBe(code);
        expect(after.headers['ratelimit'], road).toBeUndefined();
      }
      await ending(name, holder, true);
    }
  });

  it.each([...ENDINGS, MOVED])('TN-05 %s, with what it lacks and with its quota used up', async (name, code) => {
    const lacking = await gateway(0).issue({ scopes: ['conversation_read'] });
    const poor = await gateway(0).issue({ perMinute: 1, burst: 2 });
    await warm(lacking);
    await warm(poor);
    const roads: [Credential, string, number][] = [
      [lacking, '/api/v1/websites', 404],
      [lacking, `/api/v1/conversations?${q}&query=x`, 404],
      [poor, '/api/v1/websites', 429],
      [poor, '/api/v1/context', 429],
      [poor, `/api/v1/analytics/ai-conversations/summary?${q}`, 429],
    ];
    for (const [holder, path, status] of roads) {
      for (const one of gateways) expect((await one.ask(path, holder)).status, path).toBe(status);
      await ending(name, holder, false);
      for (const one of gateways) {
        const after = await one.ask(path, holder);
        expect([after.status, after.body.code], path).toEqual([statusOf(code), code]);
      }
      await ending(name, holder, true);
    }
  });
});

/** The rights of a credential, and `put`, which writes these rights to the store. */
interface State {
  readonly scopes: readonly Scope[];
  readonly flags: readonly Flag[];
  readonly sites: readonly number[];
  readonly restricted: Restricted | undefined;
  readonly ended: string | undefined;
}
const WHOLE: State = { ...FULL, sites: [1, 2], restricted: undefined, ended: undefined };

async function put({ credential }: Credential, state: State): Promise<void> {
  const { sql } = database;
  const limits = limitsOf(state.restricted);
  const ends = (name: string, otherwise: string) =>
    sql.unsafe(state.ended === name ? `now() - interval '1 millisecond'` : otherwise);
  await sql`WITH t AS (
      UPDATE gateway.token SET revoked_at = ${ends('revoked token', 'NULL')}, expires_at = ${ends('expired token', 'NULL')}
       WHERE credential_id = ${credential})
    UPDATE gateway.credential SET scopes = ${[...state.scopes]}, data_access = ${[...state.flags]},
           sites = ${[...state.sites]}::bigint[], channel_ids = ${limits.channels ?? null}, team_ids = ${limits.teams ?? null},
           subsite_ids = ${limits.subsites ?? null}, revoked_at = ${ends('revoked credential', 'NULL')},
           expires_at = ${ends('expired credential', `'2027-01-01'`)}
     WHERE id = ${credential}`;
}

const OF_SUBSCRIPTION: readonly string[] = ['subscription_get', 'events_pull'];

function expected(operation: Operation, state: State): [status: number, code: string | undefined] {
  if (state.ended !== undefined) return [401, ENDINGS.find(([name]) => name === state.ended)?.[1]];
  const refusal = refusalOf(operation, state, state.restricted);
  if (refusal?.code === 'not_permitted') return [refusal.status, refusal.code];
  const ofWebsite = operation.website !== 'none' || OF_SUBSCRIPTION.includes(operation.tool);
  const absent = ofWebsite && !state.sites.includes(1) ? NOT_FOUND : refusal;
  return absent ? [absent.status, absent.code] : [200, undefined];
}

async function probe(n: number, operation: Operation, holder: Credential, state: State): Promise<void> {
  const answer = await gateway(n).ask(pathOf(operation, WEB, receiptId(holder.credential)), holder);
  const where = `${nameOf(operation)} on gateway ${n}: ${answer.text.slice(0, 300)}`;
  expect([answer.status, answer.body.code], where).toEqual(expected(operation, state));
  if (answer.status !== 200) return;
  expectMembers(operation, answer.body, state, state.restricted, where);
  if (operation.list) expect(idsIn(answer.body, operation.list), where).toEqual(operation.list[2](state.restricted));
}

// A receipt belongs to one revision of the credential, and every change raises the revision. This test therefore leaves
// out operation_get.
const PROBES = OPERATIONS.filter(({ tool }) => tool !== 'operation_get');
const operation = (name: string): Operation => PROBES.find((one) => nameOf(one) === name) ?? expect.fail(name);

describe('TN-05 a narrower or wider authority acts at the very next request', () => {
  const changes: [name: string, state: State][] = [
    ...LACKING.map(([name, grants]): [string, State] => [name, { ...WHOLE, ...grants }]),
    ['website', { ...WHOLE, sites: [2] }],
    ['every website', { ...WHOLE, sites: [] }],
    ...(['channel_ids', 'team_ids', 'subsite_ids'] as const).flatMap((dimension): [string, State][] => [
      [`${dimension} to the other one`, { ...WHOLE, restricted: { dimension, ids: [9] } }],
      [`${dimension} to the same`, { ...WHOLE, restricted: { dimension, ids: [1] } }],
      [`${dimension} to nothing`, { ...WHOLE, restricted: { dimension, ids: [] } }],
    ]),
  ];

  it('TN-05 each scope, flag, website and restriction, taken and given back, by every operation that feels it', async () => {
    const holder = await gateway(0).issue();
    await plantReceipt(database.sql, holder.credential);
    let felt = 0;
    for (const [name, state] of changes) {
      const before = (one: Operation) => JSON.stringify([expected(one, WHOLE), maskOf(one, WHOLE)]);
      const after = (one: Operation) => JSON.stringify([expected(one, state), maskOf(one, state)]);
      const concerned = PROBES.filter((one) => before(one) !== after(one));
      // A call of every operation after every change would need 1,200 changes. A few operations for each change are
      // enough, because all operations share the code that checks the authority.
      for (const one of concerned.filter((_, i) => i % Math.ceil(concerned.length / 4) === 0)) {
        await put(holder, state);
        for (const n of [0, 1]) await probe(n, one, holder, state);
        await put(holder, WHOLE);
        for (const n of [0, 1]) await probe(n, one, holder, WHOLE);
        felt++;
      }
      // Only writes use these grants. The loss of such a grant therefore changes no read.
      if (!['without config_plan', 'without visitor_notes_write', 'without conversation_update'].includes(name))
        expect(concerned.length, name).toBeGreaterThan(0);
    }
    expect(felt).toBeGreaterThan(60);
  });

  it('TN-05 the same for every write: whoever has lost the right leaves no trace, and the key is as good as new', async () => {
    const holder = await gateway(0).issue({ authors: ['opr_1_1_1'] });
    await database.sql`INSERT INTO platform.disposition (tenant, site, id, external_id, value, label)
      VALUES (1, 1, 9001, 'settled', 'settled', 'Settled')`;
    const [first] = await database.sql<{ disposition: string; updated_at: Date }[]>`
      SELECT disposition, updated_at FROM platform.conversation WHERE tenant = 1 AND site = 1 AND id = 1`;
    const traces = async () => {
      const [row] = await database.sql<{ all: string }[]>`
        SELECT (SELECT count(*) FROM platform.note) || ' ' || (SELECT count(*) FROM gateway.journal) || ' ' ||
               (SELECT count(*) FROM gateway.operation WHERE credential_id = ${holder.credential}) AS all`;
      return row?.all;
    };
    const write = (n: number, one: Write, key: string) =>
      gateway(n).ask(pathOf(one, WEB), { ...holder, body: one.body(WEB), headers: { 'idempotency-key': key } });
    const ended = ENDINGS.map(([name]): [string, State] => [name, { ...WHOLE, ended: name }]);
    let denied = 0;
    for (const [name, state] of [...changes, ...ended]) {
      const concerned = WRITES.filter((one) => expected(one, state)[0] !== 200);
      for (const [i, one] of concerned.entries()) {
        const key = `${name.replaceAll(' ', '-')}-${i}`;
        await put(holder, WHOLE);
        for (const n of [0, 1]) expect((await write(n, one, `${key}-before-${n}`)).status, name).toBe(200);
        const before = await traces();
        await put(holder, state);
        for (const n of [0, 1]) {
          const { status, body, text } = await write(n, one, key);
          expect([status, body.code], `${one.tool} ${name} on gateway ${n}: ${text}`).toEqual(expected(one, state));
          // A caller who has lost the authority for a stored answer does not get the answer again (ID-08).
          const replay = await write(n, one, `${key}-before-${n}`);
          expect(replay.status, `${one.tool} ${name}`).toBe(expected(one, state)[0]);
          expect(replay.headers['idempotency-replayed']).toBeUndefined();
          denied += 2;
        }
        expect(await traces(), `${one.tool} ${name}`).toBe(before);
        await put(holder, WHOLE);
        expect((await write(1, one, key)).status, `${one.tool} after ${name}`).toBe(200);
      }
    }
    expect(denied).toBeGreaterThan(150);
    await database.sql`UPDATE platform.conversation
      SET disposition = ${first?.disposition ?? null}, updated_at = ${first?.updated_at ?? null}
      WHERE tenant = 1 AND site = 1 AND id = 1`;
    await database.sql`DELETE FROM platform.note WHERE id > 100`;
  });

  const maskOf = (one: Operation, state: State) => [
    Object.values(one.members).map((members) => granted(members, state, state.restricted)),
    one.list?.[2](state.restricted),
  ];

  it('TN-05 whatever the order of changes and requests', async () => {
    const holder = await gateway(0).issue();
    await plantReceipt(database.sql, holder.credential);
    const change = fc.record({
      scopes: fc.subarray([...ALL_SCOPES], { minLength: 14 }),
      flags: fc.oneof(fc.constant([...ALL_FLAGS]), fc.subarray([...ALL_FLAGS])),
      sites: fc.constantFrom([1, 2], [1], [2]),
      restricted: fc.option(
        fc.record({
          dimension: fc.constantFrom(...(['channel_ids', 'team_ids', 'subsite_ids'] as const)),
          ids: fc.constantFrom([1], [9], []),
        }),
        { nil: undefined, freq: 3 },
      ),
      ended: fc.option(fc.constantFrom(...ENDINGS.map(([name]) => name)), { nil: undefined, freq: 4 }),
    });
    const request = fc.record({ n: fc.nat({ max: 1 }), one: fc.constantFrom(...PROBES) });
    const step = fc.record({ change: fc.option(change, { nil: undefined, freq: 3 }), request });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 30 }), async (steps) => {
        let state = WHOLE;
        await put(holder, state);
        for (const { change, request } of steps) {
          if (change) {
            state = change;
            await put(holder, state);
          }
          await probe(request.n, request.one, holder, state);
        }
      }),
      { numRuns: 40 },
    );
  });

  it('TN-05 in a stream of requests: what starts after the commit is denied, what ended before it was answered', async () => {
    const roads = ['conversations_list', 'contact_get', 'gateway_context', 'config_catalog', 'ai_conversation_summary'];
    let late = 0;
    for (let round = 0; round < 12; round++) {
      const holder = await gateway(0).issue();
      await warm(holder);
      let from = Number.POSITIVE_INFINITY;
      let until = Number.POSITIVE_INFINITY;
      const stream = async (n: number, name: string): Promise<void> => {
        const path = pathOf(operation(name), WEB);
        for (let rest = 4; rest > 0; ) {
          const began = performance.now();
          const { status, text } = await gateway(n).ask(path, holder);
          const ended = performance.now();
          if (began >= until) {
            expect(status, `${name} began ${began - until} ms after the commit: ${text}`).toBe(401);
            late++;
            rest--;
          } else if (ended < from) expect(status, `${name} ended before: ${text}`).toBe(200);
          else expect([200, 401], text).toContain(status);
        }
      };
      // Each round uses only one kind of request. A refused request of another kind would make the gateway forget the
      // remembered authority too early.
      const road = roads[round % roads.length] ?? '';
      const streams = [0, 1].flatMap((n) => roads.map(() => stream(n, road)));
      await new Promise((resolve) => setTimeout(resolve, 5 + ((round * 7) % 40)));
      from = performance.now();
      await ending(ENDINGS[round % 4]?.[0] ?? '', holder, false);
      until = performance.now();
      await Promise.all(streams);
    }
    expect(late).toBe(12 * 2 * roads.length * 4);
  });
});

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { chatwootGrants } from '../../../src/sources/chatwoot/grants.ts';
import type { Answer } from '../../support/answer.ts';
import { type ChatwootApi, type Fault, openChatwootStandIn } from '../../support/chatwoot/api.ts';
import { put, seed } from '../../support/chatwoot/source-rows.ts';
import { type ChatwootWorld, chatwootWorld } from '../../support/chatwoot/source-world.ts';
import { type WriteBackWorld, writeBackWorld } from '../../support/chatwoot/write-back-world.ts';
import { disposition, note } from '../../support/ledger/commands.ts';
import { type Reply, replyOf } from '../../support/ledger/world.ts';
import { keys } from '../../support/sources.ts';

/**
 * Two Chatwoots, each with an account 1 and a conversation 41 of another customer. No write reaches the second one,
 * whichever of the two addresses of the source leads there.
 */
let world: WriteBackWorld;
let other: ChatwootWorld;
let otherApi: ChatwootApi;
let token: string;
let visitor: string;
let conversation: string;
let count = 0;
const fresh = (): string => `pair-${++count}`;

beforeAll(async () => {
  world = await writeBackWorld();
  other = await chatwootWorld();
  await seed(other.sql);
  await put(other.sql, 'users', { id: 2, name: 'Token Robot', email: 'robot@example.org', uid: 'robot' });
  await put(other.sql, 'account_users', { account_id: 1, user_id: 2, role: 0 });
  const [own] = await world.desk.sql`SELECT created_at::text AS at FROM accounts WHERE id = 1`;
  await other.sql`UPDATE accounts SET created_at = ${own?.['at']}::timestamp + interval '2 milliseconds'`;
  await other.sql`UPDATE conversations SET display_id = 41`;
  await other.sql.unsafe(chatwootGrants({ role: world.desk.role, mode: 'live' }));
  otherApi = await openChatwootStandIn(other.connect(), 2);
  [visitor, conversation] = [await world.visitor(1), await world.conversation(1)];
  const [ada] = await world.store.sql<{ id: string }[]>`
    SELECT concat_ws('_', 'opr', tenant, site, id) AS id FROM platform.operator WHERE external_id = 'cw:1:operator:1'`;
  const write = ['conversation_reply', 'conversation_status_set'];
  ({ token } = await world.gateway.issue(
    { authors: [ada?.id ?? ''], write, withoutApproval: ['conversation_reply'] },
    world.source.tenant,
  ));
});
beforeEach(async () => {
  await world.reopen();
  otherApi.asked.length = 0;
});
afterEach(async () => {
  await lead({ api: world.api.url, address: world.desk.address() });
  await world.store.sql`UPDATE gateway.write_back SET busy_until = NULL`;
});
afterAll(async () => {
  await other.sql.unsafe(`DROP OWNED BY ${world.desk.role}`);
  await world.close();
  await otherApi.close();
  await other.close();
});

/** Lets the addresses of the source lead elsewhere. */
async function lead({ api, address }: { api?: string; address?: string }): Promise<void> {
  if (api !== undefined) await world.store.sql`UPDATE gateway.source SET api_url = ${api}`;
  if (address !== undefined) await world.store.sql`UPDATE gateway.source SET address = ${keys.seal('source', address)}`;
}
const ask = async (end: string, body: object, key: string): Promise<Answer> =>
  world.gateway.ask(`/api/v1/conversations/${conversation}/${end}`, {
    ...{ token, body, headers: { 'idempotency-key': key } },
  });
const WRITES = {
  'a note': (key: string): Promise<Reply> => world.write('REST', note('A note', visitor), key),
  'a disposition': (key: string): Promise<Reply> => world.write('REST', disposition('solved', conversation), key),
  'a reply': async (key: string): Promise<Reply> =>
    replyOf('REST', await ask('replies', { text: 'A reply', visibility: 'public' }, key)),
  'a status': async (key: string): Promise<Reply> => replyOf('REST', await ask('status', { status: 'closed' }, key)),
};
const NAMES = Object.keys(WRITES) as (keyof typeof WRITES)[]; // Object.keys forgets the type of the keys
const posts = (): string[] => [...world.api.asked, ...otherApi.asked].filter((one) => one.startsWith('POST'));
const reasons = (): string => world.logged.map(String).join('\n');
const UNAVAILABLE = [503, 'native_unavailable'];
/** What the other customer and the other account have. */
const elsewhere = async (): Promise<unknown> => [
  await other.sql`SELECT content FROM messages`,
  await other.sql`SELECT content FROM notes`,
  await other.sql`SELECT status, custom_attributes FROM conversations`,
];

describe.each(NAMES)('%s', (name) => {
  it('does not reach the API of another Chatwoot, and goes to its own one later', async () => {
    const [key, before] = [fresh(), await elsewhere()];
    await lead({ api: otherApi.url });
    const refused = await WRITES[name](key);
    expect([refused.status, refused.code, posts()]).toEqual([...UNAVAILABLE, []]);
    expect(await elsewhere()).toEqual(before);
    expect(reasons()).toContain('the API leads to another Chatwoot than the database');
    await lead({ api: world.api.url });
    expect((await WRITES[name](key)).status).toBe(200);
  });

  it('is not sent while the address of the database leads to another Chatwoot', async () => {
    await lead({ address: other.address(world.desk.role) });
    const key = fresh();
    const refused = await WRITES[name](key);
    expect([refused.status, refused.code, posts()]).toEqual([...UNAVAILABLE, []]);
    expect(reasons()).toContain('the database leads to another Chatwoot');
    await lead({ address: world.desk.address() });
    expect((await WRITES[name](key)).status).toBe(200);
  });
});

it('a reply is not sent when both addresses lead to another Chatwoot', async () => {
  await lead({ api: otherApi.url, address: other.address(world.desk.role) });
  const before = await elsewhere();
  const refused = await WRITES['a reply'](fresh());
  expect([refused.status, refused.code, posts()]).toEqual([...UNAVAILABLE, []]);
  expect(await elsewhere()).toEqual(before);
});

it('a reply is not sent when the database becomes another one between two replies', async () => {
  expect((await WRITES['a reply'](fresh())).status).toBe(200);
  world.api.asked.length = 0;
  await world.withoutSource(async () => {
    await swap();
    try {
      const refused = await WRITES['a reply'](fresh());
      expect([refused.status, refused.code, posts()]).toEqual([...UNAVAILABLE, []]);
    } finally {
      await swap();
    }
  });
  await expect.poll(async () => (await WRITES['a reply'](fresh())).status).toBe(200);
});

/** Lets each of the two databases have the name of the other one, as a changed DNS record does. */
async function swap(): Promise<void> {
  const { sql } = world.store;
  const [one, two] = [world.desk.database, other.database];
  const end = () => sql`
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname IN (${one}, ${two}, 'x_' || ${one})
       AND pid <> pg_backend_pid()`;
  for (const [from, to] of [
    [one, `x_${one}`],
    [two, one],
    [`x_${one}`, two],
  ] as const) {
    await expect
      .poll(() =>
        end()
          .then(() => sql.unsafe(`ALTER DATABASE ${from} RENAME TO ${to}`))
          .then(() => 'done', String),
      )
      .toBe('done');
  }
}

it('the source says that its API is another Chatwoot, and is read all the same', async () => {
  const found = async () => (await world.source.state()).findings.filter(({ about }) => about.startsWith('api'));
  // A gateway checks a source at its start, and each minute.
  await world.withoutSource(() => lead({ api: otherApi.url }));
  await expect.poll(found).toEqual([expect.objectContaining({ level: 'degraded', about: 'api.account' })]);
  expect((await found())[0]?.text).toContain('source remove');
  await world.settled();
  expect((await world.source.state()).last_error).toBeNull();
  await world.withoutSource(async () => {
    await lead({ api: world.api.url });
    world.api.fail('GET', '/accounts/1', { kind: 'status', status: 401 });
  });
  await expect.poll(found).toEqual([expect.objectContaining({ level: 'warning', about: 'api' })]);
  expect((await found())[0]?.text).toMatch(/answered 401.*agent bot/);
  await world.withoutSource(async () => undefined);
  await expect.poll(found).toEqual([]);
});

const UNSEEN: [string, Fault][] = [
  ['401, as to the token of an agent bot', { kind: 'status', status: 401 }],
  ['403', { kind: 'status', status: 403 }],
  ['404 of Chatwoot', { kind: 'status', status: 404 }],
  ['422', { kind: 'status', status: 422 }],
  ['500', { kind: 'status', status: 500 }],
  ['no JSON', { kind: 'text' }],
  ['an account without a time', { kind: 'wrong' }],
  ['no date', { kind: 'body', body: Buffer.from('{"created_at":"a while ago"}') }],
  ['a reset', { kind: 'reset' }],
  ['silence', { kind: 'hang' }],
];
it.each(UNSEEN)('a reply waits until the API shows the account: %s', async (_, fault) => {
  const key = fresh();
  world.api.fail('GET', '/accounts/1', fault);
  const refused = await WRITES['a reply'](key);
  expect([refused.status, refused.code, posts()]).toEqual([...UNAVAILABLE, []]);
  expect((await WRITES['a reply'](key)).status).toBe(200);
});

it.each([0, 1, 3, 6])('a time with %i decimals is enough', async (decimals) => {
  const [row] = await world.desk.sql<{ at: string }[]>`
    SELECT to_char(created_at, 'YYYY-MM-DD"T"HH24:MI:SS.US') AS at FROM accounts WHERE id = 1`;
  const at = (row?.at ?? '').slice(0, 19 + (decimals === 0 ? 0 : 1 + decimals));
  expect(at).toHaveLength(19 + (decimals === 0 ? 0 : 1 + decimals));
  world.api.fail('GET', '/accounts/1', { kind: 'body', body: Buffer.from(JSON.stringify({ created_at: `${at}Z` })) });
  expect((await WRITES['a reply'](fresh())).status).toBe(200);
});

it('the API is asked for its account once, not at each write', async () => {
  world.api.accounts.length = 0;
  for (let n = 0; n < 5; n++) for (const name of NAMES) expect((await WRITES[name](fresh())).status).toBe(200);
  expect(world.api.accounts).toEqual(['GET /api/v1/accounts/1']);
});

it('no write is sent while no gateway has read which Chatwoot it is', async () => {
  const { sql } = world.store;
  const kept = await sql`DELETE FROM gateway.source_installation RETURNING *`;
  const refused = await WRITES['a reply'](fresh());
  await sql`INSERT INTO gateway.source_installation ${sql(kept)}`;
  expect([refused.status, refused.code, posts()]).toEqual([...UNAVAILABLE, []]);
  expect((await WRITES['a reply'](fresh())).status).toBe(200);
});

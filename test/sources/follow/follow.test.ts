import postgres from 'postgres';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { askComparison } from '../../../src/store/administration/sources.ts';
import { ACTIONS } from '../../support/chatwoot/actions.ts';
import { difference, emptyWorld, type Held, type Stored } from '../../support/chatwoot/difference.ts';
import { openProbe } from '../../support/chatwoot/lag.ts';
import { expected } from '../../support/chatwoot/oracle.ts';
import { createChatwoot, populate } from '../../support/chatwoot/populate.ts';
import { type Action, type Committed, plan, type Simulated, simulate } from '../../support/chatwoot/simulator.ts';
import { type ChatwootWorld, chatwootWorld } from '../../support/chatwoot/source-world.ts';
import { misordered, stored } from '../../support/chatwoot/stored.ts';
import { freshDatabase, type TestDatabase } from '../../support/database.ts';
import { LONG, times } from '../../support/form.ts';
import { type AddedSource, addSource, runSources } from '../../support/sources.ts';

let store: TestDatabase;
let desk: ChatwootWorld;
let rails: postgres.Sql;
beforeEach(async () => {
  store = await freshDatabase();
  desk = await chatwootWorld({ schema: false });
  await createChatwoot(desk.sql);
  const { host, port, database } = desk;
  rails = postgres({ host, port, database, username: 'postgres', max: 8, onnotice: () => undefined });
});
afterEach(async () => {
  await rails.end();
  await store.close();
  await desk.close();
});

/** What differs between the store and Chatwoot, as the oracle sees them. */
const differences = async ({ tenant }: AddedSource, account: number) =>
  difference(await expected(desk.sql, { account }), await stored(store.sql, tenant));

async function settled(sources: readonly AddedSource[]): Promise<void> {
  const found = async () => {
    const all = await Promise.all(sources.map((source, i) => differences(source, i + 1)));
    if (all.some(({ count }) => count > 0)) console.info(JSON.stringify(all.map(({ kinds }) => kinds)));
    return all.map(({ kinds }) => kinds);
  };
  await expect.poll(found, { interval: 500 }).toEqual(sources.map(() => ({})));
}

/** The modes of the sources of two accounts. */
const MODES = [
  ['live', 'poll'],
  ['poll', 'live'],
] as const;
test.each(LONG ? MODES : MODES.slice(0, 1))(
  'a %s source and a %s source of two accounts at rest equal Chatwoot row for row',
  async (first, second) => {
    await desk.grant('live');
    await populate(desk.sql, { conversations: 300, messages: 2_000, seed: 1 });
    const sources = [
      await addSource(store, { address: desk.address(), mode: first }),
      await addSource(store, { address: desk.address(), mode: second, account: 2 }),
    ];
    let gateway = runSources(store);
    await settled(sources);
    // The first load keeps the order of messages: time, then id.
    for (const { tenant } of sources) expect(await misordered(store.sql, tenant)).toEqual([]);
    const acted: Action[] = [];
    const committed: Committed[] = [];
    const run = { seed: 3, seconds: times(8, 60), rate: 60 };
    const running = simulate(rails, {
      ...run,
      acted: (one) => acted.push(one),
      committed: (one) => committed.push(one),
    });
    for (let i = 0; i < 2; i++) {
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      await gateway.stop();
      expect(gateway.errors).toEqual([]);
      gateway = runSources(store);
    }
    const done = await running;
    const polled = first === 'poll' ? sources[0] : sources[1];
    if (polled) await askComparison(store.db, polled.id);
    await settled(sources);
    expect(gateway.errors).toEqual([]);
    await gateway.stop();
    const made = acted.sort((a, b) => a.n - b.n);
    expect(made).toEqual([...plan(run)].filter(({ n }) => made.some((one) => one.n === n)));
    expect(done.actions).toBe(run.seconds * run.rate);
    expect(made.length + done.refused).toBeGreaterThanOrEqual(done.actions);
    expect(new Set(committed.map(({ what }) => what))).toEqual(new Set(['message', 'redacted', 'gone']));
    await judge(done);
  },
);

/** The simulator did every kind of action, wrote what a connector must stand, and ended at rest. */
async function judge({ kinds, jobs }: Simulated): Promise<void> {
  const { sql } = desk;
  expect(Object.keys(ACTIONS).filter((kind) => !new Map<string, number>(kinds).has(kind))).toEqual([]);
  expect(jobs).toBeGreaterThan(50);
  const open =
    await sql`SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND state <> 'idle' AND pid <> pg_backend_pid() AND backend_type = 'client backend'`;
  expect(open).toHaveLength(0);
  const orphans = await sql`
    SELECT 'message' AS what, id FROM messages m WHERE NOT EXISTS (SELECT FROM conversations c WHERE c.id = m.conversation_id)
    UNION ALL SELECT 'attachment', id FROM attachments a WHERE NOT EXISTS (SELECT FROM messages m WHERE m.id = a.message_id)
    UNION ALL SELECT 'visitor', id FROM contact_inboxes v WHERE NOT EXISTS (SELECT FROM contacts c WHERE c.id = v.contact_id)
    UNION ALL SELECT 'conversation', id FROM conversations v WHERE NOT EXISTS (SELECT FROM contact_inboxes c WHERE c.id = v.contact_inbox_id)
    UNION ALL SELECT 'note', id FROM notes n WHERE NOT EXISTS (SELECT FROM contacts c WHERE c.id = n.contact_id)`;
  expect(orphans).toEqual([]);
  const [seen = {}] = await sql<Record<string, boolean>[]>`SELECT
    bool_or(content_attributes::text LIKE '"%') AS twice, bool_or(content_attributes::text LIKE '{%') AS once,
    bool_or(content_attributes::text LIKE '%external_created_at%') AS external, bool_or(length(content) > 50000) AS long,
    bool_or(content_attributes::text LIKE '%deleted%') AS deleted, bool_or(content_type = 8) AS mail,
    EXISTS (SELECT FROM conversations WHERE last_activity_at > updated_at) AS touched FROM messages`;
  const all = { twice: true, once: true, external: true, long: true, deleted: true, mail: true, touched: true };
  expect(seen).toEqual(all);
}

test('the oracle names the rows of its account, without what hangs on a refused row, and each difference is found', async () => {
  const { sql } = desk;
  await populate(sql, { conversations: 150, messages: 1_500, seed: 1 });
  const namesOf = async (account: number): Promise<string[]> =>
    Object.values(await expected(sql, { account })).flatMap((held) => [...held.keys()]);
  expect(await namesOf(99)).toEqual([]);
  await sql`INSERT INTO accounts (id, name, created_at, updated_at) VALUES (98, 'Empty', now(), now())`;
  expect(await namesOf(98)).toEqual(['cw:98:organization:98', 'cw:98:website:98']);
  for (const account of [1, 2]) {
    const names = await namesOf(account);
    expect(names.filter((id) => !id.startsWith(`cw:${account}:`))).toEqual([]);
    expect(names.length).toBeGreaterThan(100);
  }
  // The import refuses an operator without a name.
  const before = await expected(sql, { account: 2 });
  await sql`UPDATE users SET name = '', display_name = '' WHERE id = (SELECT assignee_id FROM conversations c WHERE account_id = 2 AND assignee_id IS NOT NULL AND EXISTS (SELECT FROM messages m WHERE m.conversation_id = c.id) LIMIT 1)`;
  const after = await expected(sql, { account: 2 });
  for (const type of ['operator', 'conversation', 'message'] as const)
    expect(after[type].size, type).toBeLessThan(before[type].size);

  const world = await expected(sql, { account: 1 });
  expect(difference(world, world).count).toBe(0);
  const plant = (type: Stored, edit: (rows: Map<string, Held>) => void): Record<string, number> => {
    const other = { ...world, [type]: new Map(world[type]) };
    edit(other[type]);
    return difference(world, other).kinds;
  };
  const [[id, held] = ['', { members: {}, optional: false }]] = [...world.message];
  expect(plant('message', (rows) => rows.delete(id))).toEqual({ 'message missing': 1 });
  expect(plant('message', (rows) => rows.set('cw:2:message:1', held))).toEqual({ 'message superfluous': 1 });
  const members = { ...held.members, text: 'other' };
  expect(plant('message', (rows) => rows.set(id, { ...held, members }))).toEqual({ 'message different text': 1 });
  const [[visitor, link] = ['', held]] = [...world.visitor];
  const moved = { ...link, members: { ...link.members, contacts: ['cw:1:contact:0'] } };
  expect(plant('visitor', (rows) => rows.set(visitor, moved))).toEqual({ 'visitor different contacts': 1 });
  const bare = plant('operator', (rows) => rows.set('cw:1:operator:1', { members: {}, optional: false }));
  expect(bare['operator different role']).toBe(1);
  const all = difference(world, emptyWorld(), 3);
  expect(all.list.filter(({ type }) => type === 'message')).toHaveLength(3);
  expect(all.count).toBeGreaterThan(500);
  const optional = { ...world, operator: new Map([['cw:1:operator:7', { members: {}, optional: true }]]) };
  expect(difference(optional, { ...world, operator: new Map() }).count).toBe(0);
});

test('the probe sees what is gone, and names what it has not seen', async () => {
  const probe = openProbe(store.sql, new Map([[1, 1]]), 1);
  probe.committed({ what: 'gone', account: 1, id: 987654321, at: performance.now() });
  probe.committed({ what: 'message', account: 1, id: 987654321, at: performance.now() });
  expect(await probe.stop(300)).toMatchObject({ seen: 1, unseen: ['message cw:1:message:987654321'] });
});

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Fault } from '../../support/chatwoot/api.ts';
import { SENDING, type WriteBackWorld, writeBackWorld } from '../../support/chatwoot/write-back-world.ts';
import { type Command, disposition, note } from '../../support/ledger/commands.ts';
import { type Reply, SURFACES } from '../../support/ledger/world.ts';

/** Tests the way of notes and dispositions to Chatwoot, with a stand-in for Chatwoot's API over Chatwoot's tables. */
let world: WriteBackWorld;
let count = 0;
const fresh = (): string => `key-${++count}`;
let visitor: string;
let conversation: string;

beforeAll(async () => {
  world = await writeBackWorld();
  visitor = await world.visitor(1);
  conversation = await world.conversation(1);
});
afterEach(async () => {
  world.api.heal();
  // After an unknown outcome, a conversation waits for ten seconds. The next test does not wait.
  await world.store.sql`UPDATE gateway.write_back SET busy_until = NULL`;
});
afterAll(() => world.close());

const add = (text: string, key = fresh()): Promise<Reply> => world.write('REST', note(text, visitor), key);
const set = (value: string, key = fresh()): Promise<Reply> =>
  world.write('REST', disposition(value, conversation), key);
/** The notes in Chatwoot with this text, with the number of their copies in the gateway. */
const inChatwoot = async (text: string): Promise<number> =>
  (await world.desk.sql`SELECT 1 FROM notes WHERE starts_with(content, ${text})`).length;
/** Checks the note in Chatwoot and its copies, one for each visitor of the contact. Gives the copies. */
const copiesOf = async (text: string): Promise<Stored[]> => {
  const rows = await world.desk.sql`SELECT id, content, user_id FROM notes WHERE starts_with(content, ${text})`;
  const mark = /\n\n— Ada \[gateway op_[0-9a-f]{32}\]$/;
  expect(rows.map(({ content, user_id }) => [content.replace(mark, ''), mark.test(content), user_id])).toEqual([
    [text, true, '2'],
  ]);
  const copies = [1, 2].map((id) => ({ external_id: `cw:1:note:${rows[0]?.['id']}:${id}`, author: 'Ada', text }));
  expect(await stored(text)).toEqual(copies);
  return copies;
};
interface Stored {
  readonly external_id: string;
  readonly author: string | null;
  readonly text: string;
}
const stored = (text: string): Promise<Stored[]> =>
  world.store.sql<Stored[]>`SELECT n.external_id, o.name AS author, n.text FROM platform.note n
    LEFT JOIN platform.operator o ON o.tenant = n.tenant AND o.site = n.site AND o.id = n.operator_id
    WHERE n.text = ${text} OR starts_with(n.text, ${`${text}\n`}) ORDER BY n.external_id`.then((rows) => [...rows]);
const attributes = async (id = 1): Promise<Record<string, unknown>> =>
  (
    await world.desk.sql<
      { a: Record<string, unknown> }[]
    >`SELECT custom_attributes AS a FROM conversations WHERE id = ${id}`
  )[0]?.a ?? {};
const agentSets = async (patch: object): Promise<void> => {
  await world.desk
    .sql`UPDATE conversations SET custom_attributes = custom_attributes || ${world.desk.sql.json({ ...patch })} WHERE id = 1`;
};
const local = async (id = 1): Promise<unknown> =>
  (
    await world.store
      .sql`SELECT disposition FROM platform.conversation WHERE external_id = ${`cw:1:conversation:${id}`}`
  )[0]?.['disposition'];
const posts = (path: string): number =>
  world.api.asked.filter((one) => one.startsWith('POST') && one.endsWith(path)).length;

describe('a note', () => {
  it.each(SURFACES)('reaches Chatwoot over %s and stands once when it comes back', async (surface) => {
    const text = `Called back (${surface})`;
    const [key, before] = [fresh(), await world.receipts()];
    // The source reads Chatwoot only after the write.
    const [first, copies] = await world.withoutSource(async () => {
      const answer = await world.write(surface, note(text, visitor), key);
      expect([answer.status, answer.code]).toEqual([200, undefined]);
      return [answer, await copiesOf(text)];
    });
    await world.settled();
    // The source changes nothing: author and text stay.
    expect(await stored(text)).toEqual(copies);
    expect((await world.receipts()).slice(before.length).filter((type) => type === 'visitor.changed')).toHaveLength(1);
    const again = await world.write(surface, note(text, visitor), key);
    expect([again.status, again.text]).toEqual([200, first.text]);
    expect([await inChatwoot(text), await world.status(first.operationId)]).toEqual([1, 'acknowledged']);
    expect((await world.write(surface, note('Other', visitor), key)).code).toBe('idempotency_conflict');
  });

  it('stands once with its author when the source reads it before Chatwoot answers', async () => {
    const before = await world.receipts();
    world.api.fail('POST', '/notes', { kind: 'held', ms: 1_000 });
    const answer = add('Read early');
    // Until the answer comes, the author is the user of the token.
    await expect
      .poll(async () => (await stored('Read early')).map(({ author }) => author))
      .toEqual(['Token Robot', 'Token Robot']);
    expect((await answer).status).toBe(200);
    const copies = await copiesOf('Read early');
    await world.settled();
    expect(await stored('Read early')).toEqual(copies);
    // Two changes: the note came, and it got its author.
    expect((await world.receipts()).slice(before.length).filter((type) => type === 'visitor.changed')).toHaveLength(2);
  });

  it('is edited and deleted in Chatwoot like any note', async () => {
    await add('To be edited');
    await world.desk
      .sql`UPDATE notes SET content = replace(content, 'To be', 'Was'), updated_at = now() WHERE starts_with(content, 'To be edited')`;
    await expect.poll(async () => (await stored('Was edited')).map(({ author }) => author)).toEqual(['Ada', 'Ada']);
    await world.desk.sql`DELETE FROM notes WHERE starts_with(content, 'Was edited')`;
    await expect.poll(() => stored('Was edited')).toEqual([]);
  });
});

describe('a disposition', () => {
  it('becomes a custom attribute beside the others, and the source keeps it', async () => {
    await agentSets({ plan: 'gold' });
    const [key, before] = [fresh(), await world.receipts()];
    const first = await set('solved', key);
    expect(first.status).toBe(200);
    expect(await attributes()).toEqual({
      plan: 'gold',
      gateway_disposition: 'solved',
      gateway_operations: first.operationId?.slice(0, 35),
    });
    await world.settled();
    expect([await local(), (await set('solved', key)).replayed]).toEqual(['solved', true]);
    expect(new Set((await world.receipts()).slice(before.length))).toEqual(new Set(['conversation.changed']));
    expect((await world.source.state()).unmapped).not.toHaveProperty('gateway_disposition');
    expect((await set('unknown value')).code).toBe('operation_conflict');
  });

  it.each([true, 'mixed', false] as const)('loses no attribute of others (Chatwoot merges: %s)', async (merges) => {
    const other = await writeBackAgain();
    world.api.merges(merges);
    await agentSets({ plan: 'silver', region: 'EU' });
    // A Chatwoot that merges keeps also what an agent changes between the read and the write.
    if (merges === true) world.api.beforeWrite(() => agentSets({ plan: 'bronze' }));
    expect((await other('refund')).status).toBe(200);
    expect(await attributes()).toMatchObject({
      plan: merges === true ? 'bronze' : 'silver',
      region: 'EU',
      gateway_disposition: 'refund',
    });
  });

  it.each(['region', 'region plan'])('does not bring back what an agent deletes meanwhile (%s)', async (deleted) => {
    const other = await writeBackAgain();
    await agentSets({ plan: 'silver', region: 'EU' });
    world.api.beforeWrite(async () => {
      await world.desk
        .sql`UPDATE conversations SET custom_attributes = custom_attributes - ${deleted.split(' ')}::text[] WHERE id = 1`;
    });
    expect((await other('spam')).status).toBe(200);
    const now = await attributes();
    expect(now).toMatchObject({ gateway_disposition: 'spam' });
    for (const name of deleted.split(' ')) expect(now).not.toHaveProperty(name);
  });

  it('is merged again after a moment in which Chatwoot seemed old', async () => {
    const other = await writeBackAgain();
    world.api.fail('POST', '/destroy_custom_attributes', { kind: 'status', status: 404, html: true });
    expect((await other('solved')).status).toBe(200);
    await agentSets({ plan: 'silver' });
    // Only a Chatwoot that merges keeps what an agent changes between the read and the write.
    world.api.beforeWrite(() => agentSets({ plan: 'bronze' }));
    expect((await other('refund')).status).toBe(200);
    expect(await attributes()).toMatchObject({ plan: 'bronze', gateway_disposition: 'refund' });
  });

  it('goes to a conversation about which Chatwoot answers with a long email', async () => {
    world.api.fail('GET', '/conversations/41', { kind: 'huge' }, 10);
    expect((await set('solved')).status).toBe(200);
    expect(await attributes()).toMatchObject({ gateway_disposition: 'solved' });
  });

  it('two writers at two replicas end alike in Chatwoot and here', async () => {
    const other = await writeBackAgain();
    await agentSets({ kept: 'yes' });
    world.api.merges(false);
    const values = ['solved', 'refund', 'spam'];
    const replies = await Promise.all(values.map((value, i) => (i % 2 ? other(value) : set(value))));
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
    const now = await attributes();
    expect(now['kept']).toBe('yes');
    expect(await local()).toBe(now['gateway_disposition']);
    for (const { operationId = '' } of replies) expect(now['gateway_operations']).toContain(operationId.slice(0, 35));
  });
});

const replicas: { close(): Promise<void> }[] = [];
afterAll(async () => {
  for (const one of replicas) await one.close();
});
/** Writes dispositions through a second gateway that has not asked Chatwoot yet. */
async function writeBackAgain(): Promise<(value: string) => Promise<Reply>> {
  const { openWriteBack } = await import('../../../src/sources/write-back.ts');
  const { keys } = await import('../../support/sources.ts');
  const remote = openWriteBack({ db: world.store.db, keys, onError: (error) => world.logged.push(error) });
  const gateway = await world.replica(remote);
  replicas.push({ close: () => remote.close() });
  const by = { token: world.writer.token, gateway };
  // The first write starts a thread. A disposition that waits for it would hold its conversation meanwhile.
  expect((await world.write('REST', note('Starts a thread', visitor), fresh(), by)).status).toBe(200);
  return (value) => world.write('REST', disposition(value, conversation), fresh(), by);
}

const CASES: [string, Fault, number, string][] = [
  ['401', { kind: 'status', status: 401 }, 503, 'native_unavailable'],
  ['404 of Chatwoot', { kind: 'status', status: 404 }, 404, 'not_found'],
  ['404 of a proxy', { kind: 'status', status: 404, html: true }, 503, 'native_unavailable'],
  ['422', { kind: 'status', status: 422 }, 409, 'operation_conflict'],
  ['429', { kind: 'status', status: 429 }, 503, 'native_unavailable'],
  ['301', { kind: 'status', status: 301 }, 503, 'native_unavailable'],
  ['302', { kind: 'status', status: 302 }, 409, 'outcome_unknown'],
  ['500', { kind: 'status', status: 500 }, 409, 'outcome_unknown'],
  ['503', { kind: 'status', status: 503, html: true }, 409, 'outcome_unknown'],
  ['a reset before the effect', { kind: 'reset' }, 409, 'outcome_unknown'],
  ['a reset after the effect', { kind: 'lost' }, 409, 'outcome_unknown'],
  ['no JSON', { kind: 'text' }, 409, 'outcome_unknown'],
  ['JSON of another shape', { kind: 'wrong' }, 409, 'outcome_unknown'],
  ['a huge answer', { kind: 'huge' }, 409, 'outcome_unknown'],
  ['silence', { kind: 'hang' }, 409, 'outcome_unknown'],
];
/** The faults after which the effect is there. */
const EFFECTIVE = ['a reset after the effect', 'no JSON', 'JSON of another shape', 'a huge answer'];

describe.each([
  ['note', '/notes', (value: string): Command => note(`Fault ${value}`, visitor)],
  ['disposition', '/custom_attributes', (_: string): Command => disposition(NEXT(), conversation)],
] as const)('a fault at a %s', (kind, path, command) => {
  it.each(CASES)('%s', async (name, fault, status, code) => {
    world.api.fail('POST', path, fault);
    const [key, one] = [fresh(), command(name)];
    const [sent, before] = [posts(path), await world.receipts()];
    const answer = world.write('REST', one, key);
    // The wait for a thread, which may take 3 s, comes before the time of the sending.
    await expect.poll(() => posts(path) - sent, { timeout: 4_500, interval: 5 }).toBe(1);
    const began = Date.now();
    const first = await answer;
    expect([first.status, first.code]).toEqual([status, code]);
    expect(Date.now() - began).toBeLessThan(SENDING + 1_500);
    expect(posts(path) - sent).toBe(1);
    if (code === 'outcome_unknown') {
      expect(await world.status(first.operationId)).toBe('outcome_unknown');
      expect((await world.write('MCP', one, fresh(), { token: 'x' })).status).toBe(401);
      await world.reconcile(first.operationId);
      const again = await world.write('REST', one, key);
      const there = EFFECTIVE.includes(name);
      expect([again.status, again.code]).toEqual(there ? [200, undefined] : [409, 'outcome_unknown']);
      await world.reconcile(first.operationId);
      await world.settled();
      if (kind === 'note') {
        expect(await inChatwoot(`Fault ${name}`)).toBe(there ? 1 : 0);
        expect((await stored(`Fault ${name}`)).map(({ author }) => author)).toEqual(there ? ['Ada', 'Ada'] : []);
      } else if (there) expect(await local()).toBe(one.input['disposition']);
      const own = (await world.receipts()).slice(before.length);
      if (there) expect(own).toContain(kind === 'note' ? 'visitor.changed' : 'conversation.changed');
    } else {
      // A definite rejection is stored. After a refusal, the key can be used again.
      const again = await world.write('REST', one, key);
      expect([again.status, again.replayed]).toEqual(status === 409 ? [409, true] : [200, false]);
    }
    // A request for the same effect was never sent twice.
    expect(posts(path) - sent).toBe(code === 'outcome_unknown' || status === 409 ? 1 : 2);
  });
});
let turn = 0;
const NEXT = (): string => ['solved', 'refund', 'spam'][turn++ % 3] ?? '';

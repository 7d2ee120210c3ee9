import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { decide } from '../../../src/gateway/approvals.ts';
import type { Fault } from '../../support/chatwoot/api.ts';
import { SENDING, type WriteBackWorld, writeBackWorld } from '../../support/chatwoot/write-back-world.ts';
import type { Issued } from '../../support/credentials.ts';
import { MCP_HEADERS, note } from '../../support/ledger/commands.ts';
import { type Reply, replyOf, SURFACES, type Surface } from '../../support/ledger/world.ts';

/** Tests the way of replies to Chatwoot, with a stand-in for Chatwoot's API over Chatwoot's tables. */
let world: WriteBackWorld;
let writer: Issued;
let conversation: string;
let count = 0;
const fresh = (): string => `reply-${++count}`;

beforeAll(async () => {
  world = await writeBackWorld();
  conversation = await world.conversation(1);
  writer = await issue(['conversation_reply']);
});
afterEach(() => world.api.heal());
afterAll(() => world.close());

const WRITES = ['conversation_reply', 'conversation_status_set', 'conversation_assign'];
async function issue(withoutApproval: readonly string[]): Promise<Issued> {
  const [ada] = await world.store.sql<{ id: string }[]>`
    SELECT concat_ws('_', 'opr', tenant, site, id) AS id FROM platform.operator WHERE external_id = 'cw:1:operator:1'`;
  return world.gateway.issue({ authors: [ada?.id ?? ''], write: WRITES, withoutApproval }, world.source.tenant);
}

interface Sent {
  readonly text: string;
  readonly visibility?: 'public' | 'internal';
  readonly if_updated_at?: string;
}

async function write(surface: Surface, sent: Sent, key = fresh(), { token } = writer): Promise<Reply> {
  const body = { visibility: 'public', ...sent };
  const input = { conversation_id: conversation, ...body, idempotency_key: key };
  const call = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'conversation_reply', arguments: input },
  };
  return replyOf(
    surface,
    surface === 'REST'
      ? await world.gateway.ask(`/api/v1/conversations/${conversation}/replies`, {
          ...{ token, body, headers: { 'idempotency-key': key } },
        })
      : await world.gateway.ask('/mcp', { token, body: call, headers: MCP_HEADERS }),
  );
}

const inChatwoot = async (text: string) =>
  world.desk.sql<{ id: string; private: boolean; source_id: string | null; attributes: string }[]>`
    SELECT id::text, private, source_id, content_attributes #>> '{}' AS attributes FROM messages WHERE content = ${text}`;
const stored = async (text: string) => [
  ...(await world.store.sql<{ external_id: string; visibility: string; author: string }[]>`
    SELECT m.external_id, m.visibility, o.external_id AS author FROM platform.message m
      LEFT JOIN platform.operator o ON (o.tenant, o.site, o.id) = (m.tenant, m.site, m.author_id) WHERE m.text = ${text}`),
];
const posts = (): number =>
  world.api.asked.filter((one) => one === 'POST /api/v1/accounts/1/conversations/41/messages').length;
const updatedAt = async (): Promise<string> =>
  (await world.gateway.ask(`/api/v1/conversations/${conversation}`, { token: writer.token })).body.data.conversation
    .updated_at;

describe('a reply', () => {
  it.each(SURFACES.flatMap((surface) => (['public', 'internal'] as const).map((one) => [surface, one] as const)))(
    'reaches Chatwoot over %s as a %s message, and stands once when it comes back',
    async (surface, visibility) => {
      const text = `On its way (${surface}, ${visibility})`;
      const [key, sent, before] = [fresh(), posts(), await world.receipts()];
      const first = await write(surface, { text, visibility }, key);
      expect([first.status, first.code]).toEqual([200, undefined]);
      const [message, ...more] = await inChatwoot(text);
      // The customer reads the text alone. With a source_id, Chatwoot would not send the message.
      expect(more).toEqual([]);
      expect(message).toMatchObject({ private: visibility === 'internal', source_id: null });
      expect(JSON.parse(message?.attributes ?? '')).toEqual({ gateway_operation: first.operationId?.slice(0, 35) });
      const copy = [{ external_id: `cw:1:message:${message?.id}`, visibility, author: 'cw:1:operator:2' }];
      expect(await stored(text)).toEqual(copy);
      await world.settled();
      expect(await stored(text)).toEqual(copy);
      expect((await world.receipts()).slice(before.length)).toContain('conversation.changed');
      const again = await write(surface, { text, visibility }, key);
      expect([again.status, again.text, posts() - sent]).toEqual([200, first.text, 1]);
      expect(await world.status(first.operationId)).toBe('acknowledged');
    },
  );

  it('is sent only if the conversation has not moved on', async () => {
    await world.settled();
    const sent = posts();
    const stale = await write('REST', { text: 'Stale', if_updated_at: '2020-01-01T00:00:00.000Z' });
    expect([stale.status, stale.code, posts() - sent]).toEqual([409, 'operation_conflict', 0]);
    const timely = await write('REST', { text: 'Timely', if_updated_at: await updatedAt() });
    expect([timely.status, posts() - sent]).toEqual([200, 1]);
  });

  it('that is public waits for a person, and reaches Chatwoot when it is approved', async () => {
    const waiting = await issue([]);
    const [key, sent] = [fresh(), posts()];
    const asked = await write('REST', { text: 'May I?' }, key, waiting);
    expect([asked.status, posts() - sent]).toEqual([202, 0]);
    const desk = { db: world.store.db, registry: world.gateway.corridor.registry, remote: world.remote };
    const decisions = await Promise.all(
      Array.from({ length: 8 }, () => decide(desk, asked.operationId ?? '', true, () => undefined)),
    );
    expect(decisions.filter(({ state }) => state === 'performed')).toEqual([
      { state: 'performed', status: 'acknowledged' },
    ]);
    expect([posts() - sent, (await inChatwoot('May I?')).length]).toEqual([1, 1]);
    expect((await write('REST', { text: 'May I?' }, key, waiting)).status).toBe(200);
  });

  it.each([
    ['Dear {{contact.email}}', 'public'],
    ['{{ conversation.custom_attribute.secret }}', 'internal'],
    ['{% if contact %}you{% endif %}', 'internal'],
  ] as const)('that Chatwoot would fill with other data is not sent: %s', async (text, visibility) => {
    const [key, sent] = [fresh(), posts()];
    for (let round = 0; round < 2; round++) {
      const { status, code } = await write('REST', { text, visibility }, key);
      expect([status, code, posts() - sent]).toEqual([409, 'operation_conflict', 0]);
    }
    expect(await stored(text)).toEqual([]);
  });

  it('to an erased conversation is not sent, and one that was on its way does not come back', async () => {
    await world.settled();
    const sent = posts();
    const { sql } = world.store;
    const erase = () =>
      sql`UPDATE platform.conversation SET external_id = 'erased:1' WHERE external_id = 'cw:1:conversation:1'`;
    const restore = () =>
      sql`UPDATE platform.conversation SET external_id = 'cw:1:conversation:1' WHERE external_id = 'erased:1'`;
    await erase();
    const refused = await write('REST', { text: 'To nobody' });
    await restore();
    expect([refused.status, refused.code, posts() - sent]).toEqual([409, 'operation_conflict', 0]);
  });
});

const CASES: [string, Fault, number, string][] = [
  ['401', { kind: 'status', status: 401 }, 503, 'native_unavailable'],
  ['404 of Chatwoot', { kind: 'status', status: 404 }, 404, 'not_found'],
  ['404 of a proxy', { kind: 'status', status: 404, html: true }, 503, 'native_unavailable'],
  ['422', { kind: 'status', status: 422 }, 409, 'operation_conflict'],
  ['302', { kind: 'status', status: 302 }, 409, 'outcome_unknown'],
  ['500', { kind: 'status', status: 500 }, 409, 'outcome_unknown'],
  ['a reset before the effect', { kind: 'reset' }, 409, 'outcome_unknown'],
  ['a reset after the effect', { kind: 'lost' }, 409, 'outcome_unknown'],
  ['no JSON', { kind: 'text' }, 409, 'outcome_unknown'],
  ['JSON of another shape', { kind: 'wrong' }, 409, 'outcome_unknown'],
  ['a huge answer', { kind: 'huge' }, 409, 'outcome_unknown'],
  ['silence', { kind: 'hang' }, 409, 'outcome_unknown'],
  ['an answer after the timeout', { kind: 'late', ms: SENDING + 500 }, 409, 'outcome_unknown'],
];
/** Faults of an answer whose write Chatwoot has made. */
const EFFECTIVE = [
  'a reset after the effect',
  'no JSON',
  'JSON of another shape',
  'a huge answer',
  'an answer after the timeout',
];

describe('a fault at a reply', () => {
  it.each(CASES)('%s', async (name, fault, status, code) => {
    world.api.fail('POST', '/messages', fault);
    const text = `Fault: ${name}`;
    const [key, sent] = [fresh(), posts()];
    const first = await write('REST', { text }, key);
    expect([first.status, first.code, posts() - sent]).toEqual([status, code, 1]);
    if (code === 'outcome_unknown') {
      expect(await world.status(first.operationId)).toBe('outcome_unknown');
      const there = EFFECTIVE.includes(name);
      await expect.poll(async () => (await inChatwoot(text)).length).toBe(there ? 1 : 0);
      await world.reconcile(first.operationId);
      const again = await write('REST', { text }, key);
      expect([again.status, again.code]).toEqual(there ? [200, undefined] : [409, 'outcome_unknown']);
      await world.settled();
      expect((await stored(text)).length).toBe(there ? 1 : 0);
      expect(posts() - sent).toBe(1);
    } else {
      // A definite rejection is stored. After a refusal, the key can be used again.
      const again = await write('REST', { text }, key);
      expect([again.status, again.replayed]).toEqual(status === 409 ? [409, true] : [200, false]);
      expect((await inChatwoot(text)).length).toBe(status === 409 ? 0 : 1);
    }
  });
});

describe('a reply that Chatwoot has stored before it answers 422', () => {
  const late = (then?: () => Promise<unknown>): Fault => ({
    ...{ kind: 'status', status: 422, after: true },
    ...(then && { then }),
  });

  it('counts as sent', async () => {
    const [text, key, sent] = ['Sent, then 422', fresh(), posts()];
    world.api.fail('POST', '/messages', late());
    const first = await write('REST', { text }, key);
    expect([first.status, first.code]).toEqual([200, undefined]);
    const again = await write('REST', { text }, key);
    expect([again.text, again.replayed, posts() - sent, (await inChatwoot(text)).length]).toEqual([
      first.text,
      true,
      1,
      1,
    ]);
    await world.settled();
    expect((await stored(text)).map(({ author }) => author)).toEqual(['cw:1:operator:2']);
  });

  it('stays unknown if its mark is dropped, as an older Chatwoot does', async () => {
    world.api.drops(true);
    world.api.fail('POST', '/messages', late());
    const first = await write('REST', { text: 'Sent without a mark' });
    expect([first.status, first.code, (await inChatwoot('Sent without a mark')).length]).toEqual([
      409,
      'outcome_unknown',
      1,
    ]);
  });

  it('stays unknown at a standby server, which can be behind', async () => {
    const { sql, role } = world.desk;
    await sql.unsafe(`CREATE FUNCTION public.pg_is_in_recovery() RETURNS boolean LANGUAGE sql AS 'SELECT true'`);
    await sql.unsafe(`ALTER ROLE ${role} SET search_path = public, pg_catalog`);
    try {
      await world.reopen();
      world.api.fail('POST', '/messages', { kind: 'status', status: 422 });
      const first = await write('REST', { text: 'Perhaps sent' });
      expect([first.status, first.code]).toEqual([409, 'outcome_unknown']);
      expect(world.api.asked).toContain('GET /api/v1/accounts/1/conversations/41');
    } finally {
      await sql.unsafe(`ALTER ROLE ${role} RESET search_path`);
      await sql.unsafe(`DROP FUNCTION public.pg_is_in_recovery()`);
      await world.reopen();
    }
  });

  it('stays unknown until Chatwoot can be read again', async () => {
    const { sql, role } = world.desk;
    const [text, key] = ['Sent, then unreadable', fresh()];
    world.api.fail(
      'POST',
      '/messages',
      late(() => sql.unsafe(`REVOKE SELECT (private) ON messages FROM ${role}`)),
    );
    const first = await write('REST', { text }, key);
    await sql.unsafe(`GRANT SELECT (private) ON messages TO ${role}`);
    expect([first.status, first.code]).toEqual([409, 'outcome_unknown']);
    await world.reconcile(first.operationId);
    const again = await write('REST', { text }, key);
    expect([again.status, again.code, (await inChatwoot(text)).length]).toEqual([200, undefined, 1]);
  });
});

describe('after a restore of the store', () => {
  /** The store forgets an operation and its effect, as a backup from before them does. */
  async function forget(operationId: string | undefined, text: string): Promise<void> {
    await world.store.sql`DELETE FROM gateway.operation WHERE operation_id = ${operationId ?? ''}`;
    await world.store.sql`DELETE FROM platform.message WHERE text = ${text}`;
    await world.store.sql`DELETE FROM platform.note WHERE text = ${text}`;
  }

  it.each(SURFACES)('a repeated reply is not sent again over %s', async (surface) => {
    const [text, key, sent] = [`Before the backup (${surface})`, fresh(), posts()];
    const first = await write(surface, { text }, key);
    await world.settled();
    await forget(first.operationId, text);
    const again = await write(surface, { text }, key);
    expect([first.status, again.status, again.operationId]).toEqual([200, 200, first.operationId]);
    expect([posts() - sent, (await inChatwoot(text)).length, (await stored(text)).length]).toEqual([1, 1, 1]);
    // Another key is another reply.
    expect([(await write(surface, { text })).status, (await inChatwoot(text)).length]).toEqual([200, 2]);
  });

  it.each(SURFACES)('a repeated note is not sent again over %s', async (surface) => {
    const [text, key] = [`Noted before the backup (${surface})`, fresh()];
    const visitor = await world.visitor(1);
    const first = await world.write(surface, note(text, visitor), key);
    await world.settled();
    await forget(first.operationId, text);
    const again = await world.write(surface, note(text, visitor), key);
    expect([first.status, again.status, again.operationId]).toEqual([200, 200, first.operationId]);
    const notes = await world.desk.sql`SELECT FROM notes WHERE starts_with(content, ${text})`;
    const copies = await world.store.sql`SELECT FROM platform.note WHERE text = ${text}`;
    expect([notes.length, copies.length]).toEqual([1, 2]);
  });
});

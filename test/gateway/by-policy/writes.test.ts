import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../../support/answer.ts';
import { FULL, type Grants } from '../../support/authority/grants.ts';
import { inOrder, nameOf, WRITES_BY_POLICY } from '../../support/authority/operations.ts';
import { callOver, SURFACES } from '../../support/authority/writes.ts';
import type { Grant, Issued } from '../../support/credentials.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { freshKey, statusOf } from '../../support/ledger/approvals.ts';

/** The writes by policy on a website without a helpdesk: grants, effect, ledger and refusals. */
const WEB = 'web_1_1';
const AUTHORS = ['opr_1_1_1'];
const ALL = WRITES_BY_POLICY.map(({ tool }) => tool);
const CASES = WRITES_BY_POLICY.map((write) => [nameOf(write), write] as const);

let gateway: TestGateway;
let holder: Issued;
beforeAll(async () => {
  gateway = await openTestGateway('demo');
  holder = await issue();
});
afterAll(() => gateway.close());

const issue = (grant: Grant = {}): Promise<Issued> =>
  gateway.issue({ authors: AUTHORS, write: ALL, withoutApproval: ['conversation_reply'], ...grant });

type Body = Readonly<Record<string, unknown>>;
const send = (
  route: string,
  body: Body,
  options: { number?: number; token?: string; key?: string } = {},
): Promise<Answer> =>
  gateway.ask(`/api/v1/conversations/cnv_1_1_${options.number ?? 2}/${route}`, {
    ...{ token: options.token ?? holder.token, body, headers: { 'idempotency-key': options.key ?? freshKey() } },
  });

const outcomeOf = ({ status, body }: Answer) => (status === 200 ? [200] : [status, body.code]);

async function conversation(number = 2): Promise<Body> {
  const { body } = await gateway.ask(`/api/v1/conversations/cnv_1_1_${number}`, { token: holder.token });
  return body.data.conversation;
}

/** How many receipts of conversations and messages the website has. */
async function counts(): Promise<{ readonly receipts: number; readonly messages: number }> {
  const [row] = await gateway.database.sql<{ receipts: number; messages: number }[]>`
    SELECT (SELECT count(*)::integer FROM gateway.journal WHERE tenant = 1 AND site = 1 AND event_type = 'conversation.changed') AS receipts,
           (SELECT count(*)::integer FROM platform.message WHERE tenant = 1 AND site = 1) AS messages`;
  return row ?? expect.fail('no counts');
}

describe.each(CASES)('%s', (_, write) => {
  const made = ({ token }: Pick<Issued, 'token'>, key = freshKey(), number = 1) => ({
    write,
    website: WEB,
    number,
    token,
    key,
  });

  it.each(SURFACES)('takes effect once for its key, over %s, with one receipt', async (surface) => {
    const key = freshKey();
    const before = await counts();
    const first = await callOver[surface](gateway, made(holder, key));
    expect(first).toMatchObject({ status: 200, operation: expect.stringMatching(/^op_/) });
    const after = await counts();
    const replies = write.tool === 'conversation_reply' ? 1 : 0;
    expect(after).toEqual({ receipts: before.receipts + 1, messages: before.messages + replies });
    // The key is the same on both interfaces, so the other one finds the outcome.
    for (const other of SURFACES) {
      const again = await callOver[other](gateway, made(holder, key));
      expect([again.status, again.body, again.operation]).toEqual([200, first.body, first.operation]);
    }
    expect(await counts()).toEqual(after);
    expect(await statusOf(gateway, holder, String(first.operation))).toBe('acknowledged');
    const reused = await callOver[surface](gateway, made(holder, key, 5));
    expect([reused.status, reused.code]).toEqual([409, 'idempotency_conflict']);
  });

  it('needs each of its grants', async () => {
    const asked = {
      scopes: [...write.scopes, ...(write.given?.scopes ?? [])],
      flags: [...write.flags, ...(write.given?.flags ?? [])],
    };
    const without = (grants: Grants): Grant => ({ scopes: grants.scopes, dataAccess: grants.flags });
    for (const scope of asked.scopes) {
      const lacking = await issue(without({ ...FULL, scopes: FULL.scopes.filter((one) => one !== scope) }));
      await expectRefused(lacking, { scopes: [scope], data_access: [], unrestricted: false });
    }
    for (const flag of asked.flags) {
      const lacking = await issue(without({ ...FULL, flags: FULL.flags.filter((one) => one !== flag) }));
      await expectRefused(lacking, { scopes: [], data_access: [flag], unrestricted: false });
    }
    const exact = await issue(without({ scopes: asked.scopes, flags: asked.flags }));
    expect((await callOver.rest(gateway, made(exact))).status).toBe(200);
  });

  async function expectRefused(lacking: Issued, required: NonNullable<Parameters<typeof inOrder>[0]>): Promise<void> {
    const said = await callOver.rest(gateway, made(lacking));
    expect([said.status, said.code, inOrder(said.required)]).toEqual([404, 'not_permitted', required]);
  }

  it('needs an author, and hides the conversations that a restriction hides', async () => {
    const before = await counts();
    const unmapped = await issue({ authors: [] });
    expect(await callOver.rest(gateway, made(unmapped))).toMatchObject({ status: 503, code: 'enrollment_unavailable' });
    const restricted = await issue({ channels: [] });
    expect(await callOver.rest(gateway, made(restricted))).toMatchObject({ status: 404, code: 'not_found' });
    expect(await callOver.rest(gateway, made(holder, freshKey(), 999_999))).toMatchObject({
      status: 404,
      code: 'not_found',
    });
    const foreign = await issue({ websites: ['web_1_2'], authors: [] });
    expect(await callOver.rest(gateway, made(foreign))).toMatchObject({ status: 404, code: 'not_found' });
    expect(await counts()).toEqual(before);
  });

  it('is refused when the conversation has moved on', async () => {
    const route = write.path.replace(/.*\//, '');
    const body = write.body(WEB);
    const { updated_at } = await conversation();
    const first = await send(route, { ...body, if_updated_at: updated_at });
    expect(first.status).toBe(200);
    expect(first.body.data.updated_at).toBe((await conversation())['updated_at']);
    const key = freshKey();
    const before = await counts();
    for (let round = 0; round < 2; round++) {
      const stale = await send(route, { ...body, if_updated_at: updated_at }, { key });
      expect(outcomeOf(stale)).toEqual([409, 'operation_conflict']);
    }
    expect(await counts()).toEqual(before);
    // Two writes of the same moment leave two times, so the second of two callers with the same time always fails.
    const both = await Promise.all(
      [1, 2].map(() => send(route, { ...body, if_updated_at: first.body.data.updated_at }, {})),
    );
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
  });

  it('leaves a later time than the last one, also when that lies ahead of the clock', async () => {
    const { sql } = gateway.database;
    await sql`UPDATE platform.conversation SET updated_at = date_trunc('milliseconds', now()) + interval '1 hour'
      WHERE (tenant, site, id) = (1, 1, 2)`;
    const route = write.path.replace(/.*\//, '');
    const { updated_at } = await conversation();
    const first = await send(route, { ...write.body(WEB), if_updated_at: updated_at });
    expect(Date.parse(first.body.data.updated_at)).toBe(Date.parse(String(updated_at)) + 1);
    expect(outcomeOf(await send(route, { ...write.body(WEB), if_updated_at: updated_at }))).toEqual([
      ...[409, 'operation_conflict'],
    ]);
    await sql`UPDATE platform.conversation SET updated_at = now() WHERE (tenant, site, id) = (1, 1, 2)`;
  });

  it.each(['yesterday', '0000-01-01T00:00:00Z', 5, '9999-12-31T23:59:60Z'])(
    'refuses if_updated_at %s with 400',
    async (time) => {
      const route = write.path.replace(/.*\//, '');
      const { status, body } = await send(route, { ...write.body(WEB), if_updated_at: time });
      expect([status, body.errors[0].pointer]).toEqual([400, '/if_updated_at']);
    },
  );

  it('has no effect on an erased conversation, and on a website that follows a helpdesk without an API', async () => {
    const { sql } = gateway.database;
    const before = await counts();
    await sql`UPDATE platform.conversation SET external_id = 'erased:1' WHERE (tenant, site, id) = (1, 1, 3)`;
    const erased = await callOver.rest(gateway, made(holder, freshKey(), 3));
    await sql`UPDATE platform.conversation SET external_id = 'back' WHERE (tenant, site, id) = (1, 1, 3)`;
    expect(erased).toMatchObject({ status: 409, code: 'operation_conflict' });
    const id = `src_${'a'.repeat(32)}`;
    await sql`INSERT INTO gateway.source (id, tenant, site, kind, account, mode, period, time_zone, address)
      VALUES (${id}, 1, 1, 'chatwoot', '1', 'poll', 60, 'UTC', 'sealed')`;
    const followed = await callOver.rest(gateway, made(holder));
    await sql`DELETE FROM gateway.source WHERE id = ${id}`;
    expect(followed).toMatchObject({ status: 409, code: 'operation_conflict' });
    expect((await counts()).messages).toBe(before.messages);
  });
});

describe('a reply', () => {
  it.each(['public', 'internal'] as const)(
    'is a %s message of the mapped operator, with its text as sent',
    async (visibility) => {
      const said = ` Grüße 😀\u202e\n${'x'.repeat(3_900)} `;
      const before = await conversation();
      const { status, body } = await send('replies', { text: said, visibility });
      expect(status).toBe(200);
      const { message_id, updated_at } = body.data;
      const read = await gateway.ask(`/api/v1/conversations/cnv_1_1_2/messages/${message_id}?include_internal=true`, {
        token: holder.token,
      });
      expect(read.body.data.message).toMatchObject({
        ...{ id: message_id, conversation_id: 'cnv_1_1_2', visibility, text: said, created_at: updated_at },
        author: { type: 'operator', id: 'opr_1_1_1' },
      });
      const after = await conversation();
      expect(Number(after['message_count']) - Number(before['message_count'])).toBe(visibility === 'public' ? 1 : 0);
    },
  );

  it('has 1 to 4,000 UTF-16 code units, and is never blank', async () => {
    for (const text of ['', '  \n', '😀'.repeat(2_001), 'x'.repeat(4_001)])
      expect(outcomeOf(await send('replies', { text, visibility: 'internal' })), text.slice(0, 4)).toEqual([
        400,
        'invalid_parameter',
      ]);
    expect(outcomeOf(await send('replies', { text: '😀'.repeat(2_000), visibility: 'internal' }))).toEqual([200]);
    expect(outcomeOf(await send('replies', { text: 'x', visibility: 'secret' }))).toEqual([400, 'invalid_parameter']);
  });

  it('that is public needs no grant for internal notes', async () => {
    const { token } = await issue({
      scopes: ['conversation_read', 'conversation_update', 'message_content_read', 'contact_read_pii'],
      dataAccess: ['message_content', 'pii'],
    });
    expect(outcomeOf(await send('replies', { text: 'Hello', visibility: 'public' }, { token }))).toEqual([200]);
    expect(outcomeOf(await send('replies', { text: 'Hello', visibility: 'internal' }, { token }))).toEqual([
      404,
      'not_permitted',
    ]);
  });
});

describe('a status', () => {
  const assign = (body: Body) => send('assignment', body);
  const set = async (status: string): Promise<unknown> => (await send('status', { status })).body.data.status;

  it('follows the assignment when the conversation is open, and leaves the assignee', async () => {
    expect((await assign({ operator_id: 'opr_1_1_2' })).status).toBe(200);
    expect(await set('closed')).toBe('closed');
    expect((await conversation())['closed_at']).toBe((await conversation())['updated_at']);
    const closed = (await conversation())['closed_at'];
    expect(await set('closed')).toBe('closed');
    expect((await conversation())['closed_at']).toBe(closed);
    expect(await set('open')).toBe('assigned');
    expect((await conversation())['closed_at']).toBe(null);
    expect(await set('snoozed')).toBe('snoozed');
    expect((await assign({ none: true })).status).toBe(200);
    expect(await conversation()).toMatchObject({ status: 'snoozed' });
    expect(await set('open')).toBe('unassigned');
    expect(await set('pending')).toBe('pending');
  });

  it('has a time only when it is snoozed, and only where a helpdesk can wake the conversation', async () => {
    const until = '2027-01-01T09:00:00.000Z';
    const closed = await send('status', { status: 'closed', until });
    expect([closed.status, closed.body.errors[0].pointer]).toEqual([400, '/until']);
    expect(outcomeOf(await send('status', { status: 'snoozed', until }))).toEqual([409, 'operation_conflict']);
    expect(outcomeOf(await send('status', { status: 'spam' }))).toEqual([400, 'invalid_parameter']);
  });
});

it('a disposition moves updated_at also when it lies ahead, so if_updated_at sees it', async () => {
  await gateway.database
    .sql`UPDATE platform.conversation SET updated_at = '2027-06-01T00:00:00Z' WHERE (tenant, site, id) = (1, 1, 2)`;
  const seen = (await conversation())['updated_at'];
  expect((await send('disposition', { disposition: 'spam' })).status).toBe(200);
  expect((await conversation())['updated_at']).toBe('2027-06-01T00:00:00.001Z');
  expect(outcomeOf(await send('status', { status: 'open', if_updated_at: seen }))).toEqual([409, 'operation_conflict']);
  await gateway.database.sql`UPDATE platform.conversation SET updated_at = now() WHERE (tenant, site, id) = (1, 1, 2)`;
});

describe('an assignment', () => {
  it('names exactly one of operator, team and none', async () => {
    for (const body of [
      {},
      { operator_id: 'opr_1_1_2', none: true },
      { operator_id: 'opr_1_1_2', team_id: 'tem_1_1_2' },
    ])
      expect(outcomeOf(await send('assignment', body))).toEqual([400, 'invalid_parameter']);
    expect(outcomeOf(await send('assignment', { none: false }))).toEqual([400, 'invalid_parameter']);
  });

  it('sets the operator and the team apart, and none clears only the operator', async () => {
    const assigned = async (body: Body) => (await send('assignment', body)).body.data;
    await send('status', { status: 'open' });
    expect(await assigned({ operator_id: 'opr_1_1_2' })).toMatchObject({ operator_id: 'opr_1_1_2' });
    expect(await conversation()).toMatchObject({ status: 'assigned' });
    expect(await assigned({ team_id: 'tem_1_1_2' })).toMatchObject({ operator_id: 'opr_1_1_2', team_id: 'tem_1_1_2' });
    expect(await assigned({ none: true })).toMatchObject({ operator_id: null, team_id: 'tem_1_1_2' });
    expect(await conversation()).toMatchObject({ status: 'unassigned', team_id: 'tem_1_1_2' });
  });

  it('of a team tells the operator only to a credential that may see operators, also when it is repeated', async () => {
    const { token } = await issue({
      scopes: ['conversation_read', 'conversation_update', 'directory_read'],
      dataAccess: [],
    });
    const told = async (body: Body, key = freshKey()) =>
      Object.keys((await send('assignment', body, { token, key })).body.data).sort();
    expect(await told({ operator_id: 'opr_1_1_2' })).toContain('operator_id');
    const key = freshKey();
    const without = ['success', 'team_id', 'updated_at'];
    expect(await told({ team_id: 'tem_1_1_2' }, key)).toEqual(without);
    expect(await told({ team_id: 'tem_1_1_2' }, key)).toEqual(without);
    expect(await told({ none: true })).toContain('operator_id');
  });

  it('takes only enabled operators and teams of the website that the credential may see', async () => {
    const { sql } = gateway.database;
    expect(outcomeOf(await send('assignment', { operator_id: 'opr_1_2_1' }))).toEqual([404, 'not_found']);
    expect(outcomeOf(await send('assignment', { team_id: 'tem_1_1_999' }))).toEqual([409, 'operation_conflict']);
    expect(outcomeOf(await send('assignment', { operator_id: 'opr_1_1_999' }))).toEqual([409, 'operation_conflict']);
    await sql`UPDATE platform.operator SET enabled = false WHERE (tenant, site, id) = (1, 1, 3)`;
    await sql`UPDATE platform.team SET enabled = false WHERE (tenant, site, id) = (1, 1, 3)`;
    expect(outcomeOf(await send('assignment', { operator_id: 'opr_1_1_3' }))).toEqual([409, 'operation_conflict']);
    expect(outcomeOf(await send('assignment', { team_id: 'tem_1_1_3' }))).toEqual([409, 'operation_conflict']);
    await send('assignment', { team_id: 'tem_1_1_1' });
    const { token } = await issue({ teams: ['tem_1_1_1'] });
    const hidden = await send('assignment', { team_id: 'tem_1_1_2' }, { token });
    const absent = await send('assignment', { team_id: 'tem_1_1_999' }, { token });
    expect([outcomeOf(hidden), outcomeOf(absent)]).toEqual([
      [409, 'operation_conflict'],
      [409, 'operation_conflict'],
    ]);
    expect(outcomeOf(await send('assignment', { team_id: 'tem_1_1_1' }, { token }))).toEqual([200]);
  });
});

describe('many writes at the same time', () => {
  it('on the same conversations all take effect, one receipt each, and no batch deadlocks', async () => {
    const before = await counts();
    const bodies = [
      ...[...Array(12).keys()].map((n) => ['replies', { text: `Number ${n}`, visibility: 'internal' }] as const),
      ...[...Array(12).keys()].map((n) => ['status', { status: n % 2 ? 'pending' : 'open' }] as const),
      ...[...Array(12).keys()].map(
        (n) => ['assignment', n % 2 ? { none: true } : { operator_id: 'opr_1_1_2' }] as const,
      ),
    ];
    const answers = await Promise.all(bodies.map(([route, body], n) => send(route, body, { number: 1 + (n % 5) })));
    expect(answers.map(({ status }) => status)).toEqual(bodies.map(() => 200));
    expect(await counts()).toEqual({ receipts: before.receipts + 36, messages: before.messages + 12 });
  });
});

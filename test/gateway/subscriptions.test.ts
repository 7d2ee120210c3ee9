import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digestOf, newSecret } from '../../src/auth/tokens.ts';
import { type Database, openDatabase } from '../../src/store/driver/postgres.ts';
import type { Answer } from '../support/answer.ts';
import { create, definition, pull, tool } from '../support/events/subscriptions.ts';
import type { AskOptions } from '../support/gateway.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';

/** Tests subscriptions over REST and MCP (ID-01 to ID-03, ID-05, ID-07, ID-11, HT-10). */
let gateway: TestGateway;
let other: TestGateway;
let own: Database;
const WEB = 'web_1_1';
const SUBSCRIPTIONS = '/api/v1/subscriptions';

beforeAll(async () => {
  gateway = await openTestGateway('demo');
  const { database } = gateway;
  const target = { host: database.host, port: database.port, database: database.name, username: 'postgres' };
  // The second gateway has its own connections, as a gateway in another process has.
  own = openDatabase({ target, connections: 8, statementTimeout: 5_000, name: 'test-other' });
  other = await openTestGateway('demo', { ...database, db: own });
});
afterAll(async () => {
  await own.close();
  await gateway.close();
});

const count = async (installation: string): Promise<number> => {
  const [row] = await gateway.database.sql<{ n: number }[]>`
    SELECT count(*)::integer AS n FROM gateway.subscription WHERE installation_id = ${installation}`;
  return row?.n ?? 0;
};
const said = ({ status, body }: Answer): [number, string | undefined] => [
  status,
  status >= 400 ? body.code : undefined,
];
const masked = (text: string): string => text.replace(/req_[a-f0-9]{32}/, '');
const path = (id: string): string => `${SUBSCRIPTIONS}/${id}`;
const put = (id: string, token: string, revision: string | undefined, more: Partial<AskOptions> = {}, key?: string) =>
  gateway.ask(path(id), {
    ...{ token, method: 'PATCH', body: definition([WEB]) },
    ...more,
    headers: {
      ...(revision !== undefined && { 'if-match': revision }),
      ...(key !== undefined && { 'idempotency-key': key }),
    },
  });
const remove = (id: string, token: string, revision: string | undefined, key?: string, through = gateway) =>
  through.ask(path(id), {
    ...{ token, method: 'DELETE' },
    headers: {
      ...(revision !== undefined && { 'if-match': revision }),
      ...(key !== undefined && { 'idempotency-key': key }),
    },
  });

describe('subscriptions', () => {
  it('are created, listed, read, replaced and deleted, the same over REST and MCP', async () => {
    const { token, installation } = await gateway.issue();
    const body = definition([WEB, 'web_1_2'], { event_types: ['privacy.removed', 'conversation.*'] });
    const created = await gateway.ask(SUBSCRIPTIONS, { token, body });
    expect(created.status, created.text).toBe(201);
    const { subscription, cursor } = created.body;
    const { subscription_id: id, created_at } = subscription;
    expect(subscription).toEqual({
      ...body,
      ...{ subscription_id: id, revision: 1, status: 'active', created_at, updated_at: created_at },
    });
    expect(Object.keys(created.body)).toEqual(['subscription', 'cursor']);
    expect(created.headers['location']).toBe(path(id));
    expect([created.headers.etag, created.headers['x-gateway-operation-id']]).toEqual(['"1"', undefined]);
    expect(Math.abs(created_at - Date.now())).toBeLessThan(60_000);
    const read = await gateway.ask(path(id), { token });
    expect([read.status, read.headers.etag, read.body]).toEqual([200, '"1"', { subscription }]);
    expect((await tool(gateway, token, 'subscription_get', { subscription_id: id })).body).toEqual(read.body);
    const second = await tool(gateway, token, 'subscription_create', { ...definition(['web_1_2']) });
    expect([second.status, second.operation]).toEqual([200, undefined]);
    const list = await gateway.ask(SUBSCRIPTIONS, { token });
    expect(list.body).toEqual({ subscriptions: [subscription, second.body.subscription] });
    expect((await tool(gateway, token, 'subscriptions_list', {})).body).toEqual(list.body);

    const replaced = await put(id, token, '"1"', { body: definition(['web_1_2'], { start: 'retained' }) });
    expect([replaced.status, replaced.headers.etag, replaced.headers['location']]).toEqual([200, '"2"', undefined]);
    expect(replaced.body.subscription).toMatchObject({
      revision: 2,
      website_ids: ['web_1_2'],
      start: 'retained',
      created_at,
    });
    expect(replaced.body.subscription.updated_at).toBeGreaterThanOrEqual(created_at);
    expect(said(await pull(gateway, token, id, cursor))).toEqual([409, 'revision_changed']);
    expect((await pull(gateway, token, id, replaced.body.cursor)).status).toBe(200);
    const again = await tool(gateway, token, 'subscription_replace', { subscription_id: id, ...body, if_match: 2 });
    expect(again.body.subscription).toMatchObject({ revision: 3, website_ids: body.website_ids });

    const gone = await remove(id, token, '3');
    expect([gone.status, gone.text, gone.headers['content-type'], gone.headers['content-length']]).toEqual([
      ...[204, '', undefined, undefined],
    ]);
    const deleted = await tool(gateway, token, 'subscription_delete', {
      subscription_id: second.body.subscription.subscription_id,
      if_match: '"1"',
    });
    expect([deleted.status, deleted.body]).toEqual([200, {}]);
    expect(await count(installation)).toBe(0);
    for (const answer of [
      await gateway.ask(path(id), { token }),
      await remove(id, token, '3'),
      await put(id, token, '3'),
    ])
      expect(said(answer)).toEqual([404, 'not_found']);
    expect(said(await pull(gateway, token, id, again.body.cursor))).toEqual([404, 'not_found']);
  });

  it('HT-10 If-Match: an entity tag or a number; missing, weak, any and lists are 400, another revision 409', async () => {
    const { token } = await gateway.issue();
    const { id } = await create(gateway, token, definition([WEB]));
    const bad = [
      '*',
      'W/"1"',
      '"1", "2"',
      '1,2',
      '"1"2',
      '"1',
      '01',
      '0',
      '-1',
      '1.0',
      '1e0',
      'one',
      '"one"',
      '""',
      '',
      ' ',
    ];
    for (const revision of bad) {
      for (const answer of [await put(id, token, revision), await remove(id, token, revision)])
        expect([answer.status, answer.body.errors], revision).toEqual([
          ...[400, [{ parameter: 'If-Match', code: 'invalid_parameter', expected: 'the current revision, such as 3' }]],
        ]);
      const input = { subscription_id: id, if_match: revision };
      expect((await tool(gateway, token, 'subscription_delete', input)).code, revision).toBe('invalid_parameter');
    }
    for (const if_match of [null, 1.5, true, [1], { a: 1 }, -1, 0])
      expect((await tool(gateway, token, 'subscription_delete', { subscription_id: id, if_match })).status).toBe(400);
    expect(said(await put(id, token, undefined))).toEqual([400, 'if_match_required']);
    expect(said(await remove(id, token, undefined))).toEqual([400, 'if_match_required']);
    expect((await tool(gateway, token, 'subscription_delete', { subscription_id: id })).code).toBe('if_match_required');
    for (const revision of ['2', '"2"', '9999999999', '"4294967297"']) {
      expect(said(await put(id, token, revision)), revision).toEqual([409, 'revision_changed']);
      expect(said(await remove(id, token, revision)), revision).toEqual([409, 'revision_changed']);
    }
    expect((await put(id, token, '"1"')).status).toBe(200);
    expect((await put(id, token, '2')).status).toBe(200);
    expect((await gateway.ask(path(id), { token })).body.subscription.revision).toBe(3);
    const head = await gateway.ask(path(id), { token, method: 'HEAD' });
    expect([head.status, head.headers.etag, head.text]).toEqual([200, '"3"', '']);
    // HT-06: a deletion takes no body.
    const withBody = await gateway.ask(path(id), { token, method: 'DELETE', body: {}, headers: { 'if-match': '3' } });
    expect(said(withBody)).toEqual([400, 'invalid_request']);
    expect([withBody.body.detail, withBody.body.errors]).toEqual([
      'The operation takes no body. Send the request without one.',
      [{ pointer: '', code: 'invalid_request', expected: 'no body' }],
    ]);
    const twice = await gateway.ask(path(id), {
      token,
      method: 'DELETE',
      headers: { 'If-Match': ['3', '3'] },
      unchecked: true,
    });
    expect(said(twice)).toEqual([400, 'duplicate_parameter']);
    expect((await gateway.ask(SUBSCRIPTIONS, { token, headers: { 'if-match': '*' } })).status).toBe(200);
  });

  it('bad definitions are 400 with their place, over REST and MCP', async () => {
    const { token, installation } = await gateway.issue();
    const good = definition([WEB]);
    const many = Array.from({ length: 51 }, (_, i) => `web_1_${i + 1}`);
    const { start: _start, ...startless } = good;
    const cases: [object, string][] = [
      [{ ...good, website_ids: [] }, '/website_ids'],
      [{ ...good, website_ids: many }, '/website_ids'],
      [{ ...good, website_ids: [WEB, WEB] }, '/website_ids'],
      [{ ...good, website_ids: ['1'] }, '/website_ids/0'],
      [{ ...good, website_ids: WEB }, '/website_ids'],
      [{ ...good, event_types: [] }, '/event_types'],
      [{ ...good, event_types: ['*'] }, '/event_types/0'],
      [{ ...good, event_types: ['conversation'] }, '/event_types/0'],
      [{ ...good, event_types: ['conversation.created'] }, '/event_types/0'],
      [{ ...good, event_types: ['conversation.*\n'] }, '/event_types/0'],
      [{ ...good, event_types: ['queue.gap', 'queue.gap'] }, '/event_types'],
      [{ ...good, payload_mode: 'full' }, '/payload_mode'],
      [{ ...good, delivery: { mode: 'webhook' } }, '/delivery/mode'],
      [{ ...good, delivery: { mode: 'pull', url: 'https://example.test' } }, '/delivery/url'],
      [{ ...good, start: 'later' }, '/start'],
      [startless, '/start'],
      [{ ...good, name: 'x' }, '/name'],
    ];
    for (const [body, pointer] of cases) {
      const answer = await gateway.ask(SUBSCRIPTIONS, { token, body });
      expect(answer.status, pointer).toBe(400);
      expect(answer.body.errors[0].pointer, answer.text).toBe(pointer);
      expect((await tool(gateway, token, 'subscription_create', { ...body })).status, pointer).toBe(400);
    }
    expect(await count(installation)).toBe(0);
  });

  it('belong to an installation, and are there for who is granted all their websites', async () => {
    const { token, installation, app } = await gateway.issue();
    const { id, cursor } = await create(gateway, token, definition([WEB, 'web_1_2']));
    const absent = `sub_${'0'.repeat(32)}`;
    const narrowed = await gateway.issue({ app, websites: [WEB] });
    const second = await gateway.issue({ app });
    for (const { credential } of [narrowed, second])
      await gateway.database
        .sql`UPDATE gateway.credential SET installation_id = ${installation} WHERE id = ${credential}`;
    const stranger = await gateway.issue();
    for (const bearer of [narrowed.token, stranger.token]) {
      const asked = async (which: string): Promise<string[]> => [
        masked((await gateway.ask(path(which), { token: bearer })).text),
        masked((await put(which, bearer, '1')).text),
        masked((await put(which, bearer, '7')).text),
        masked((await remove(which, bearer, '1')).text),
        masked((await tool(gateway, bearer, 'subscription_get', { subscription_id: which })).code ?? ''),
      ];
      expect(await asked(id)).toEqual(await asked(absent));
      expect((await gateway.ask(SUBSCRIPTIONS, { token: bearer })).body).toEqual({ subscriptions: [] });
      expect(said(await pull(gateway, bearer, id, cursor))).toEqual([400, 'invalid_cursor']);
    }
    expect((await gateway.ask(path(id), second)).status).toBe(200);
    const beyond = definition([WEB, 'web_1_2']);
    for (const answer of [
      await gateway.ask(SUBSCRIPTIONS, { token: narrowed.token, body: beyond }),
      await gateway.ask(SUBSCRIPTIONS, { token, body: definition(['web_1_99']) }),
      await gateway.ask(SUBSCRIPTIONS, { token, body: definition(['web_2_1']) }),
    ])
      expect(said(answer)).toEqual([404, 'not_found']);
    expect(await count(installation)).toBe(1);
  });
});

describe('limits and races', () => {
  it('twenty for an installation, however many ask at once on two gateways', async () => {
    const { token, installation } = await gateway.issue();
    // The slow trigger delays every commit, so many requests count the subscriptions before the first request commits.
    await gateway.database.sql.unsafe(`
      CREATE FUNCTION public.slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.02); RETURN NEW; END';
      CREATE TRIGGER slow BEFORE INSERT ON gateway.subscription FOR EACH ROW EXECUTE FUNCTION public.slow()`);
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        (i % 2 === 0 ? gateway : other).ask(SUBSCRIPTIONS, { token, body: definition([WEB]) }),
      ),
    );
    await gateway.database.sql.unsafe('DROP TRIGGER slow ON gateway.subscription; DROP FUNCTION public.slow()');
    const made = answers.filter(({ status }) => status === 201);
    expect(made).toHaveLength(20);
    expect(new Set(answers.filter(({ status }) => status !== 201).map((one) => said(one).join()))).toEqual(
      new Set(['409,inventory_limit']),
    );
    expect(await count(installation)).toBe(20);
    expect((await gateway.ask(SUBSCRIPTIONS, { token })).body.subscriptions).toHaveLength(20);
    // A refused creation does not use up its idempotency key. When a deletion has made room, the creation succeeds with
    // the same key.
    const key = randomUUID();
    const again = (): Promise<Answer> =>
      gateway.ask(SUBSCRIPTIONS, { token, body: definition([WEB]), headers: { 'idempotency-key': key } });
    expect(said(await again())).toEqual([409, 'inventory_limit']);
    expect((await remove(made[0]?.body.subscription.subscription_id, token, '1')).status).toBe(204);
    expect((await again()).status).toBe(201);
    expect(said(await gateway.ask(SUBSCRIPTIONS, { token, body: definition([WEB]) }))).toEqual([
      409,
      'inventory_limit',
    ]);
  });

  it('the oldest that no credential finds any more gives up its place', async () => {
    const { token, credential, installation } = await gateway.issue();
    for (let i = 0; i < 20; i++) await create(gateway, token, definition([i < 3 ? 'web_1_2' : WEB]));
    await gateway.database.sql`UPDATE gateway.credential SET sites = '{1}' WHERE id = ${credential}`;
    expect((await gateway.ask(SUBSCRIPTIONS, { token })).body.subscriptions).toHaveLength(17);
    await create(gateway, token, definition([WEB]));
    expect(await count(installation)).toBe(20);
    await gateway.database.sql`UPDATE gateway.credential SET sites = '{1,2}' WHERE id = ${credential}`;
    expect((await gateway.ask(SUBSCRIPTIONS, { token })).body.subscriptions).toHaveLength(20);
  });

  it('of parallel edits of one revision one is done; the others are told why not', async () => {
    const { token } = await gateway.issue();
    for (let round = 1; round <= 5; round++) {
      const { id } = await create(gateway, token, definition([WEB]));
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, i) =>
          i % 4 === 3
            ? remove(id, token, '1', undefined, other)
            : (i % 2 === 0 ? gateway : other).ask(path(id), {
                ...{ token, method: 'PATCH', body: definition(['web_1_2']), headers: { 'if-match': '1' } },
              }),
        ),
      );
      const done = answers.filter(({ status }) => status < 300);
      expect(done).toHaveLength(1);
      for (const answer of answers.filter(({ status }) => status >= 300)) {
        const allowed = ['409,revision_changed', '409,concurrent_mutation'];
        if (done[0]?.status === 204) allowed.push('404,not_found');
        expect(allowed).toContain(said(answer).join());
      }
      if (done[0]?.status === 200) await remove(id, token, '2');
    }
  });

  it('409 concurrent_mutation while another change holds the row', async () => {
    const { token } = await gateway.issue();
    const { id } = await create(gateway, token, definition([WEB]));
    await gateway.database.sql.begin(async (tx) => {
      await tx`SELECT FROM gateway.subscription WHERE id = ${id} FOR UPDATE`;
      expect(said(await put(id, token, '1'))).toEqual([409, 'concurrent_mutation']);
      expect(said(await remove(id, token, '1'))).toEqual([409, 'concurrent_mutation']);
      expect((await gateway.ask(path(id), { token })).status).toBe(200);
    });
    expect((await put(id, token, '1')).status).toBe(200);
  });
});

describe('keys', () => {
  const keyed = (token: string, key: string, body: unknown = definition([WEB]), through = gateway): Promise<Answer> =>
    through.ask(SUBSCRIPTIONS, { token, body, headers: { 'idempotency-key': key } });

  it('ID-01 a key is optional, and a bad one is 400', async () => {
    const { token, installation } = await gateway.issue();
    for (const key of ['', 'a'.repeat(129), 'a b', 'a\tb', 'ä'].map((one) => Buffer.from(one).toString('latin1')))
      expect(said(await keyed(token, key)), key).toEqual([400, 'invalid_idempotency_key']);
    expect(
      (await tool(gateway, token, 'subscription_create', { ...definition([WEB]), idempotency_key: 7 })).status,
    ).toBe(400);
    expect(await count(installation)).toBe(0);
  });

  it('ID-02 ID-11 with a key once, with the same answer; without one, twice', async () => {
    const { token, installation } = await gateway.issue();
    const first = await keyed(token, 'k');
    const again = await keyed(token, 'k', Object.fromEntries(Object.entries(definition([WEB])).reverse()), other);
    expect([first.status, again.status, again.text]).toEqual([201, 201, first.text]);
    expect([first.headers['idempotency-replayed'], again.headers['idempotency-replayed']]).toEqual([undefined, 'true']);
    expect([again.headers.etag, again.headers['location']]).toEqual([first.headers.etag, first.headers['location']]);
    const operation = first.headers['x-gateway-operation-id'];
    expect([again.headers['x-gateway-operation-id'], /^op_[a-f0-9]{64}$/.test(String(operation))]).toEqual([
      operation,
      true,
    ]);
    const called = await tool(gateway, token, 'subscription_create', { ...definition([WEB]), idempotency_key: 'k' });
    expect([called.body, called.operation]).toEqual([first.body, operation]);
    expect(await count(installation)).toBe(1);
    // operation_get shows only the four reviewed writes, so operation_get does not show a change of a subscription.
    expect(said(await gateway.ask(`/api/v1/operations/${operation}?website_id=${WEB}`, { token }))).toEqual([
      404,
      'not_found',
    ]);
    const plain = { token, body: definition([WEB]) };
    const two = await Promise.all([gateway.ask(SUBSCRIPTIONS, plain), gateway.ask(SUBSCRIPTIONS, plain)]);
    expect(new Set(two.map(({ body }) => body.subscription.subscription_id)).size).toBe(2);
    expect(await count(installation)).toBe(3);
    const id = first.body.subscription.subscription_id;
    const replaced = await put(id, token, '1', {}, 'r');
    expect((await put(id, token, '1', {}, 'r')).text).toBe(replaced.text);
    expect((await gateway.ask(path(id), { token })).body.subscription.revision).toBe(2);
    const gone = await remove(id, token, '2', 'd');
    const goneAgain = await remove(id, token, '2', 'd');
    expect([gone.status, goneAgain.status, goneAgain.headers['idempotency-replayed']]).toEqual([204, 204, 'true']);
    expect(said(await remove(id, token, '2'))).toEqual([404, 'not_found']);
    expect((await keyed(token, 'k')).text).toBe(first.text);
  });

  it('ID-03 another body, revision, path or policy under a key is a conflict; another operation or credential is not', async () => {
    const { token, credential } = await gateway.issue();
    const first = await keyed(token, 'k');
    const id = first.body.subscription.subscription_id;
    expect(said(await keyed(token, 'k', definition(['web_1_2'])))).toEqual([409, 'idempotency_conflict']);
    expect((await put(id, token, '1', {}, 'k')).status).toBe(200);
    expect(said(await put(id, token, '2', {}, 'k'))).toEqual([409, 'idempotency_conflict']);
    expect(said(await put(id, token, '"1"', { body: definition(['web_1_2']) }, 'k'))).toEqual([
      409,
      'idempotency_conflict',
    ]);
    expect((await put(id, token, '"1"', {}, 'k')).headers['idempotency-replayed']).toBe('true');
    const second = await create(gateway, token, definition([WEB]));
    expect(said(await put(second.id, token, '1', {}, 'k'))).toEqual([409, 'idempotency_conflict']);
    expect((await keyed((await gateway.issue()).token, 'k')).headers['idempotency-replayed']).toBeUndefined();
    await gateway.database
      .sql`UPDATE gateway.credential SET scopes = array_remove(scopes, 'live_read') WHERE id = ${credential}`;
    expect(said(await keyed(token, 'k'))).toEqual([409, 'idempotency_conflict']);
  });

  it('ID-05 fifty at once under one key on two gateways: one subscription', async () => {
    const { token, installation } = await gateway.issue();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => keyed(token, 'k', definition([WEB]), i % 2 === 0 ? gateway : other)),
    );
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers.filter(({ headers }) => headers['idempotency-replayed'] === undefined)).toHaveLength(1);
    expect(await count(installation)).toBe(1);
  });

  it('ID-06 a refusal leaves the key free', async () => {
    const { token } = await gateway.issue();
    expect(said(await keyed(token, 'k', { ...definition([WEB]), start: 'later' }))[0]).toBe(400);
    expect(said(await keyed(token, 'k', definition(['web_1_99'])))).toEqual([404, 'not_found']);
    const { id } = await create(gateway, token, definition([WEB]));
    expect(said(await put(id, token, '5', {}, 'k'))).toEqual([409, 'revision_changed']);
    expect((await put(id, token, '1', {}, 'k')).status).toBe(200);
    expect((await keyed(token, 'k')).status).toBe(201);
  });

  it('ID-07 after 24 hours the key is spent: outcome_unknown, and no second effect', async () => {
    const { token, installation, credential } = await gateway.issue();
    const first = await keyed(token, 'k');
    expect(first.status).toBe(201);
    await gateway.database.sql`UPDATE gateway.operation SET created_at = now() - interval '24 hours 1 second'
      WHERE credential_id = ${credential}`;
    expect(said(await keyed(token, 'k'))).toEqual([409, 'outcome_unknown']);
    await gateway.database.sql`SELECT gateway.erase_outcomes(100)`;
    expect(said(await keyed(token, 'k'))).toEqual([409, 'outcome_unknown']);
    const [row] = await gateway.database
      .sql`SELECT fingerprint, outcome FROM gateway.operation WHERE credential_id = ${credential}`;
    expect(row).toEqual({ fingerprint: null, outcome: null });
    expect(await count(installation)).toBe(1);
  });

  it('a token of fewer websites is not told what another of its credential has made', async () => {
    const { token, credential } = await gateway.issue();
    const first = await keyed(token, 'k');
    const narrow = newSecret('access_test');
    await gateway.database
      .sql`INSERT INTO gateway.token (digest, credential_id, kind, audience, scopes, sites, expires_at)
      SELECT ${digestOf(narrow)}, id, 'access', 'rest', scopes, '{2}', now() + interval '10 minutes'
        FROM gateway.credential WHERE id = ${credential}`;
    const id = first.body.subscription.subscription_id;
    expect((await remove(id, token, '1', 'd')).status).toBe(204);
    expect(said(await remove(id, narrow, '1', 'd'))).toEqual([404, 'not_found']);
    expect(said(await keyed(narrow, 'k'))).toEqual([404, 'not_found']);
  });
});

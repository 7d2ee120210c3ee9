import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { digestOf } from '../../../src/auth/tokens.ts';
import { newWebhookSecret } from '../../../src/outbound/signature.ts';
import { deleteEndpoint } from '../../../src/store/administration/endpoints.ts';
import { append, create, definition } from '../../support/events/subscriptions.ts';
import {
  answer,
  type Got,
  openReceiver,
  type Receiver,
  type Reply,
  type Running,
  run,
  until,
  verified,
} from '../../support/events/webhooks.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { KEYS } from '../../support/keys.ts';
import { family } from '../../support/oauth/ends.ts';
import { connect, type DocumentServer, hostedOptions, lineOf, openDocuments } from '../../support/oauth/hosted.ts';
import { newClient, newPerson } from '../../support/oauth/oauth.ts';
import { modern } from '../../support/surfaces/mcp.ts';

/** Events over MCP, delivered by webhook: `events/subscribe`, the deliveries, `events/unsubscribe`. */
let gateway: TestGateway;
let token: string;
let credential: string;
let receiver: Receiver;
let running: Running | undefined;

let documents: DocumentServer;

beforeAll(async () => {
  documents = await openDocuments();
  gateway = await openTestGateway('demo', undefined, KEYS, {}, hostedOptions(documents));
});
afterAll(async () => {
  await gateway.close();
  await documents.close();
});
beforeEach(async () => {
  ({ token, credential } = await gateway.issue());
  receiver = await openReceiver(confirming());
  gateway.receivers.add(receiver.origin);
});
afterEach(async () => {
  await running?.stop();
  expect(running?.errors ?? []).toEqual([]);
  running = undefined;
  await receiver.close();
  await gateway.database.sql`DELETE FROM gateway.subscription`;
});

/** Confirms challenges as a receiver must, and answers deliveries with `then`. */
const confirming =
  (then: Reply = answer(200)): Reply =>
  (request, response, got) => {
    const body = bodyOf(got);
    if (body.type !== 'verification') return then(request, response, got);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ challenge: body.challenge }));
  };

// biome-ignore lint/suspicious/noExplicitAny: a test reads members of a body whose form it asserts
const bodyOf = ({ bytes }: Got): any => JSON.parse(bytes.toString());
const bodies = () => receiver.got.map(bodyOf).filter(({ type }) => type !== 'verification');
const start = (schedule: readonly number[] = [0, 0.1, 0.1, 0.1, 0.1]): void => {
  running = run(gateway.database, [receiver], {
    schedule,
    mcp: { text: 'current', webhookId: 'event', keys: KEYS },
  });
};

type Params = Readonly<Record<string, unknown>>;
const secret = newWebhookSecret();
const wanted = (more: Params = {}) => {
  const { delivery, ...others } = more;
  return {
    name: 'visitor',
    arguments: { website_id: 'web_1_1' },
    delivery: { mode: 'webhook', url: receiver.url, secret, ...(delivery as object | undefined) }, // tests give an object
    ...others,
  };
};
const ask = (method: string, params: Params, bearer = token) => modern(gateway.port, bearer, method, params);
async function subscribe(more: Params = {}, bearer = token) {
  const { body, text } = await ask('events/subscribe', wanted(more), bearer);
  expect(body.error, text).toBeUndefined();
  return body.result;
}
async function errorOf(method: string, params: Params, bearer = token) {
  const { body, text } = await ask(method, params, bearer);
  expect(body.error, text).toBeDefined();
  return body.error;
}
const unsubscribe = ({ name, arguments: given, delivery: { url } } = wanted()) =>
  ask('events/unsubscribe', { name, arguments: given, delivery: { url } });
const tell = (...types: string[]) => append(gateway.database.sql, 'web_1_1', types);
const listed = async (bearer = token): Promise<string[]> => {
  const { body } = await gateway.ask('/api/v1/subscriptions', { token: bearer });
  return body.subscriptions.map(({ subscription_id }: { subscription_id: string }) => subscription_id);
};
const rows = async (): Promise<number> => (await gateway.database.sql`SELECT FROM gateway.webhook_endpoint`).length;

describe('events/subscribe', () => {
  it('asks the receiver once, signed, and delivers each receipt under its own id', async () => {
    const made = await subscribe({ ttlMs: 600_000 });
    expect(made).toMatchObject({ id: expect.stringMatching(/^sub_[a-f0-9]{32}$/), truncated: false });
    expect(made.deliveryStatus).toBeUndefined();
    const lasts = Date.parse(made.refreshBefore) - Date.now();
    expect(lasts > 590_000 && lasts <= 601_000, String(lasts)).toBe(true);
    const [asked] = receiver.got;
    expect(asked && verified(secret, asked)).toBe(true);
    expect(asked?.headers).toMatchObject({ 'x-mcp-subscription-id': made.id, 'content-type': 'application/json' });
    expect(asked?.id).toMatch(/^msg_verification_/);

    start();
    await tell('visitor.changed', 'conversation.changed', 'visitor.removed');
    await append(gateway.database.sql, 'web_1_2', ['visitor.changed']);
    await until(() => bodies().length === 2);
    const pulled = await ask('events/poll', { name: 'visitor', arguments: wanted().arguments, cursor: made.cursor });
    const told = bodies().map(({ cursor, ...event }) => event);
    expect(told.sort((a, b) => a.data.cursor - b.data.cursor)).toEqual(pulled.body.result.events);
    for (const got of receiver.got.slice(1)) {
      expect([verified(secret, got), got.id]).toEqual([true, bodyOf(got).eventId]);
      expect(got.headers['x-mcp-subscription-id']).toBe(made.id);
      expect(got.headers).not.toHaveProperty('x-gateway-attempt');
    }
    // The same subscription again is a refresh: same id, no second challenge, and everything is told.
    await until(async () => (await subscribe()).cursor !== made.cursor);
    const again = await subscribe();
    expect(again).toMatchObject({ id: made.id, truncated: false, deliveryStatus: { active: true, lastError: null } });
    expect(Date.parse(again.deliveryStatus.lastDeliveryAt)).toBeGreaterThan(Date.now() - 60_000);
    const rest = await ask('events/poll', { name: 'visitor', arguments: wanted().arguments, cursor: again.cursor });
    expect(rest.body.result.events).toEqual([]);
    await subscribe({ arguments: { website_id: 'web_1_1', types: ['removed'] } });
    expect(receiver.got.map(bodyOf).filter(({ type }) => type === 'verification')).toHaveLength(1);
    expect(await listed()).toContain(made.id);
  });

  it('keeps to the limits of a lifetime', async () => {
    const lasts = async (ttlMs: number | null | undefined) => {
      const { refreshBefore } = await subscribe(ttlMs === undefined ? {} : { ttlMs });
      return Math.round((Date.parse(refreshBefore) - Date.now()) / 60_000);
    };
    const asked = [undefined, null, 1, 0, -1, 9_000_000_000];
    const got: number[] = [];
    for (const ttlMs of asked) got.push(await lasts(ttlMs));
    expect(got).toEqual([60, 1440, 1, 1, 1, 1440]);
    await gateway.database
      .sql`UPDATE gateway.credential SET expires_at = now() + interval '5 minutes' WHERE id = ${credential}`;
    expect(await lasts(null)).toBe(5);
  });

  it('refuses what is wrong, before a request to anybody', async () => {
    const none = { name: 'visitor', arguments: {}, delivery: { url: receiver.url, secret } };
    const cases: [object, number, object?][] = [
      [{ name: 'nothing' }, -32023, { kind: 'event' }],
      [{ arguments: { website_id: 'web_9_9' } }, -32024],
      [{ arguments: { website: 'web_1_1' } }, -32602],
      [{ delivery: { mode: 'push' } }, -32026, { feature: 'deliveryMode', value: 'push' }],
      ...['http://93.184.216.34/x', 'https://127.0.0.1/x', 'https://10.0.0.1/', 'https://localhost/', 'x', ''].map(
        (url): [object, number] => [{ delivery: { url } }, -32602],
      ),
      [{ delivery: { url: 'https://user:word@example.com/' } }, -32602],
      ...[
        '',
        'whsec_',
        `whsec_${randomBytes(23).toString('base64')}`,
        `whsec_${randomBytes(65).toString('base64')}`,
      ].map((one): [object, number] => [{ delivery: { secret: one } }, -32602]),
      [{ delivery: { secret: randomBytes(32).toString('base64') } }, -32602],
      [{ delivery: { secret: `whsec_${'é'.repeat(40)}` } }, -32602],
      [{ cursor: 'abc' }, -32602],
      [{ ttlMs: 'long' }, -32602],
      [{ maxAgeMs: -1 }, -32602],
    ];
    for (const [more, code, data] of cases) {
      const error = await errorOf('events/subscribe', wanted({ ...more }));
      expect([error.code, ...(data ? [error.data] : [])], JSON.stringify(more)).toEqual([
        code,
        ...(data ? [data] : []),
      ]);
    }
    const { delivery: _, ...without } = none;
    expect((await errorOf('events/subscribe', without)).code).toBe(-32602);
    expect(receiver.got).toEqual([]);
    expect(await rows()).toBe(0);
  });

  it.each<[string, Reply, string]>([
    ['another nonce', (_, response) => void response.end('{"challenge":"no"}'), 'challenge_failed'],
    ['no JSON', answer(200), 'challenge_failed'],
    ['a list', (_, response) => void response.end('[]'), 'challenge_failed'],
    ['a redirect', answer(302, { location: 'http://127.0.0.1:1/' }), 'challenge_failed'],
    ['401', answer(401), 'http_4xx'],
    ['500', answer(500), 'http_5xx'],
    ['a cut connection', (request) => void request.socket.destroy(), 'connection_refused'],
  ])('makes nothing when the receiver answers with %s', async (_name, reply, reason) => {
    receiver.reply(reply);
    const error = await errorOf('events/subscribe', wanted());
    expect([error.code, error.data]).toEqual([-32027, { reason }]);
    expect([await rows(), await listed()]).toEqual([0, []]);
  });

  it('asks one host at most six times a minute for one app', async () => {
    receiver.reply(answer(500));
    for (let n = 0; n < 6; n++) expect((await errorOf('events/subscribe', wanted())).code).toBe(-32027);
    const error = await errorOf('events/subscribe', wanted());
    expect([error.code, error.data]).toEqual([-32025, { limit: 'challenges', retryAfterMs: expect.any(Number) }]);
    expect(receiver.got).toHaveLength(6);
    const other = await gateway.issue();
    expect((await errorOf('events/subscribe', wanted(), other.token)).code).toBe(-32027);
  });

  it('counts with the subscriptions of every door, twenty in all', async () => {
    const others: string[] = [];
    for (let n = 0; n < 20; n++) others.push((await create(gateway, token, definition(['web_1_1']))).id);
    expect((await errorOf('events/subscribe', wanted())).code).toBe(-32025);
    expect(receiver.got).toEqual([]); // nobody is asked for what cannot be made
    const path = `/api/v1/subscriptions/${others[0]}`;
    await gateway.ask(path, { token, method: 'DELETE', headers: { 'if-match': '"1"' } });
    const { id } = await subscribe();
    expect((await errorOf('events/subscribe', wanted({ name: 'queue' }))).data).toEqual({
      limit: 'subscriptions',
      max: 20,
    });
    expect((await listed()).length).toBe(20);
    // A refresh is no new subscription.
    expect((await subscribe()).id).toBe(id);
    const both = await Promise.all([unsubscribe(), unsubscribe()]);
    expect(both.map(({ body }) => body.error?.code ?? 0).sort()).toEqual([-32023, 0]);
    await Promise.all([
      ask('events/subscribe', wanted({ name: 'queue' })),
      ask('events/subscribe', wanted({ name: 'privacy' })),
    ]);
    expect((await listed()).length).toBe(20);
  });

  it('belongs to one client: another has its own, and cannot end this one', async () => {
    const { id } = await subscribe();
    const other = await gateway.issue();
    const { delivery, ...rest } = wanted();
    const error = await errorOf('events/unsubscribe', { ...rest, delivery: { url: delivery.url } }, other.token);
    expect([error.code, error.data]).toEqual([-32023, { kind: 'subscription' }]);
    expect((await subscribe({}, other.token)).id).not.toBe(id);
    expect(receiver.got).toHaveLength(2); // each client is confirmed by itself
  });
});

it('is in the log as what it does: a subscription that is made, and one that is deleted', async () => {
  const made = await ask('events/subscribe', wanted());
  const ended = await unsubscribe();
  const logged = [made, ended].map((answer) => lineOf(gateway, answer));
  expect(logged.map(({ operation, audit, decision }) => [operation, audit, decision])).toEqual([
    ['subscription_create', 'write', 'allowed'],
    ['subscription_delete', 'write', 'allowed'],
  ]);
  expect(JSON.stringify(logged)).not.toContain(receiver.origin);
});

describe('deliveries', () => {
  it('start at the cursor, and say what retention has deleted', async () => {
    const { body } = await ask('events/poll', { name: 'visitor', arguments: wanted().arguments });
    const { cursor } = body.result;
    await tell('visitor.changed', 'visitor.removed');
    start();
    expect((await subscribe({ cursor, maxAgeMs: Number.MAX_SAFE_INTEGER })).truncated).toBe(false);
    await until(() => bodies().length === 2);
    await unsubscribe();
    await gateway.database.sql`UPDATE gateway.journal_head SET trimmed = position WHERE tenant = 1 AND site = 1`;
    expect((await subscribe({ cursor })).truncated).toBe(true);
    await unsubscribe();
    await gateway.database.sql`UPDATE gateway.journal_head SET trimmed = 0 WHERE tenant = 1 AND site = 1`;
    expect((await subscribe({ cursor, maxAgeMs: 0 })).truncated).toBe(true);
    expect((await subscribe({ cursor })).truncated).toBe(false); // it lives: its own position counts
  });

  it('repeat what was refused, but neither 410 nor 413, and never end the subscription for it', async () => {
    const answers = [503, 410, 413];
    receiver.reply(confirming((request, response, got) => answer(answers.shift() ?? 200)(request, response, got)));
    await subscribe();
    start();
    await tell('visitor.changed');
    await until(() => bodies().length === 2); // 503, then 410
    await tell('visitor.changed');
    await until(() => bodies().length === 4); // 413, and then the message that something was lost
    await tell('visitor.changed');
    await until(() => bodies().length === 5);
    const [one, same, two, gap, three] = bodies();
    expect(one.eventId).toBe(same.eventId);
    expect(new Set([one.eventId, two.eventId, three.eventId]).size).toBe(3);
    expect(gap).toEqual({ type: 'gap', cursor: expect.any(String) });
    expect((await subscribe()).deliveryStatus).toMatchObject({ active: true });
  });

  it('wait before they tell a loss again, when the receiver has refused to hear of it', async () => {
    receiver.reply(confirming(answer(413)));
    await subscribe();
    start();
    await tell('visitor.changed');
    await until(() => bodies().length === 2);
    await pause(1_500);
    expect(bodies().map(({ type }) => type)).toEqual([undefined, 'gap']);
    const { sql } = gateway.database;
    receiver.reply(answer(200));
    await sql`UPDATE gateway.webhook_delivery SET due_at = now() WHERE status = 'pending'`;
    await until(() => bodies().length === 3);
    expect(bodies()[2].type).toBe('gap');
  });

  it('go on after a disabled endpoint: what was dropped, and what failed after the cursor', async () => {
    const { sql } = gateway.database;
    const begun = await subscribe();
    receiver.reply(answer(500));
    start([0]);
    await tell('visitor.changed');
    await until(async () => (await sql`SELECT FROM gateway.webhook_delivery WHERE status = 'failed'`).length > 0);
    await running?.stop();
    start([3600]);
    await tell('visitor.removed');
    await until(
      async () => (await sql`SELECT FROM gateway.webhook_delivery WHERE event_type = 'visitor.removed'`).length > 0,
    );
    await running?.stop();
    await sql`SELECT gateway.disable_webhook(id, 'failing') FROM gateway.webhook_endpoint`;
    await tell('visitor.snapshot');
    receiver.reply(confirming());
    const before = receiver.got.length;
    const kinds = () =>
      receiver.got
        .slice(before)
        .map(bodyOf)
        .flatMap(({ data }) => data?.event_type ?? [])
        .sort();

    const { deliveryStatus, truncated } = await subscribe({ cursor: begun.cursor });
    expect([deliveryStatus, truncated]).toMatchObject([{ active: false, lastError: 'http_5xx' }, false]);
    start();
    await until(() => kinds().length === 3);
    expect(kinds()).toEqual(['visitor.changed', 'visitor.removed', 'visitor.snapshot']);
    expect((await subscribe()).deliveryStatus).toMatchObject({ active: true, lastError: null });
  });

  it('of one subscription are at most sixteen at a time, over all its websites', async () => {
    const waiting: (() => void)[] = [];
    receiver.reply(confirming((...given) => void waiting.push(() => answer(200)(...given))));
    await subscribe({ arguments: {} });
    start();
    for (const website of ['web_1_1', 'web_1_2'])
      await append(
        gateway.database.sql,
        website,
        Array.from({ length: 30 }, () => 'visitor.changed'),
      );
    await until(() => waiting.length >= 16);
    await pause(1_200);
    expect(waiting).toHaveLength(16);
    receiver.reply(answer(200));
    for (const reply of waiting) reply();
    await until(() => bodies().length === 60);
  });

  it('tell a gap as an envelope: a gap receipt', async () => {
    await subscribe();
    start();
    await tell('visitor.gap');
    await until(() => bodies().length === 1);
    const [envelope] = bodies();
    expect(envelope).toEqual({ type: 'gap', cursor: expect.any(String) });
    expect(receiver.got.at(-1)?.id).toMatch(/^msg_gap_/);
    const { body } = await ask('events/poll', {
      name: 'visitor',
      arguments: wanted().arguments,
      cursor: envelope.cursor,
    });
    expect(body.result).toMatchObject({ events: [], truncated: false });
  });

  it('never give a cursor past a receipt that is not accepted yet', async () => {
    receiver.reply(
      confirming((request, response, got) => answer(held.has(got.id) ? 500 : 200)(request, response, got)),
    );
    const held = new Set<string>();
    await subscribe();
    start([0, 2, 2, 2, 2]);
    receiver.reply(
      confirming((request, response, got) => {
        if (held.size === 0) held.add(got.id);
        answer(held.has(got.id) ? 500 : 200)(request, response, got);
      }),
    );
    await tell('visitor.changed');
    await until(() => held.size === 1);
    await tell('visitor.changed', 'visitor.changed');
    await until(() => new Set(receiver.got.slice(1).map(({ id }) => id)).size === 3);
    const { cursor } = await subscribe();
    for (const at of [cursor, bodies().at(-1).cursor]) {
      const { body } = await ask('events/poll', { name: 'visitor', arguments: wanted().arguments, cursor: at });
      expect(body.result.events.map(({ eventId }: { eventId: string }) => eventId)).toContain([...held][0]);
    }
    held.add('nobody');
    held.delete([...held][0] ?? '');
    await until(async () => {
      const at = (await subscribe()).cursor;
      const { body } = await ask('events/poll', { name: 'visitor', arguments: wanted().arguments, cursor: at });
      return body.result.events.length === 0;
    });
  });

  it('are signed with both secrets for a while after a new one', async () => {
    await subscribe();
    const next = newWebhookSecret();
    await subscribe({ delivery: { secret: next } });
    await subscribe({ delivery: { secret: next } });
    start();
    await tell('visitor.changed');
    await until(() => bodies().length === 1);
    const got = receiver.got.at(-1);
    expect(got && [verified(secret, got), verified(next, got)]).toEqual([true, true]);
  });

  it('are signed again after a refresh, when the key that sealed the secret is gone', async () => {
    await subscribe();
    await gateway.database.sql`UPDATE gateway.webhook_endpoint SET secret = 'gone.a.b.c'`;
    await subscribe(); // the client sends its secret, which has not changed
    start();
    await tell('visitor.changed');
    await until(() => bodies().length === 1);
    expect(verified(secret, receiver.got.at(-1) as Got)).toBe(true); // until() has seen one
  });

  it('end by webhook delete, also while the client refreshes', async () => {
    await subscribe();
    const { sql, db } = gateway.database;
    const [{ id } = { id: '' }] = await sql<{ id: string }[]>`SELECT id FROM gateway.webhook_endpoint`;
    let deleted: Promise<boolean> | undefined;
    await sql.begin(async (refresh) => {
      await refresh`SELECT FROM gateway.subscription FOR UPDATE`;
      deleted = deleteEndpoint(db, id);
      await Promise.race([deleted, pause(300)]);
      await refresh`UPDATE gateway.webhook_endpoint SET updated_at = now()`;
    });
    expect(await deleted).toBe(true);
    expect([await rows(), await listed()]).toEqual([0, []]);
  });

  it('never make a round of the dispatcher wait for a subscription that is being deleted', async () => {
    await subscribe();
    const { sql } = gateway.database;
    await sql.begin(async (deletion) => {
      await deletion`SELECT FROM gateway.mcp_subscription FOR UPDATE`;
      await sql.begin(async (round) => {
        await round`SET LOCAL lock_timeout = '1s'`;
        for (const since of [new Date(0), new Date(1)])
          await round`SELECT gateway.lose_webhooks(id, ${since}) FROM gateway.webhook_endpoint`;
      });
    });
  });

  it('end in time, also when no process sends them or can read the secret', async () => {
    const { sql } = gateway.database;
    await subscribe();
    await sql`UPDATE gateway.mcp_subscription SET expires_at = now()`;
    running = run(gateway.database, [receiver], {}); // GATEWAY_MCP_EVENTS=off
    await until(async () => (await listed()).length === 0);
    await running.stop();

    await subscribe();
    await sql`UPDATE gateway.webhook_endpoint SET secret = 'gone.a.b.c'`;
    await sql`UPDATE gateway.credential SET scopes = '{website_read}' WHERE id = ${credential}`;
    start();
    await until(
      async () => (await sql`SELECT FROM gateway.webhook_endpoint WHERE disabled_because = 'ended'`).length > 0,
    );
    await sql`UPDATE gateway.mcp_subscription SET ended_at = now() - interval '61 minutes'`;
    await until(async () => (await rows()) === 0);
    expect(bodies()).toEqual([]);
  });

  it('end with events/unsubscribe, with the lifetime, and when another door deletes or replaces it', async () => {
    start();
    const ways: (() => Promise<unknown>)[] = [
      () => unsubscribe(),
      () => gateway.database.sql`UPDATE gateway.mcp_subscription SET expires_at = now()`,
      async () => {
        const [id = ''] = await listed();
        return gateway.ask(`/api/v1/subscriptions/${id}`, { token, method: 'DELETE', headers: { 'if-match': '"1"' } });
      },
      async () => {
        const [id = ''] = await listed();
        const body = definition(['web_1_1'], { event_types: ['visitor.*'] });
        return gateway.ask(`/api/v1/subscriptions/${id}`, {
          token,
          method: 'PATCH',
          body,
          headers: { 'if-match': '"1"' },
        });
      },
    ];
    for (const [n, end] of ways.entries()) {
      await subscribe();
      await end();
      const before = receiver.got.length;
      await tell('visitor.changed');
      await until(async () => (await rows()) === 0);
      expect(receiver.got.length, String(n)).toBe(before);
      expect((await unsubscribe()).body.error.code).toBe(-32023);
    }
    expect(await listed()).toHaveLength(1); // the replaced one is a subscription that is pulled
    await subscribe(); // and a client may take it back
    expect(await listed()).toHaveLength(1);
  });
});

describe('the end of the rights', () => {
  const ends: [string, (sql: TestGateway['database']['sql']) => Promise<unknown>][] = [
    ['a revoked credential', (sql) => sql`UPDATE gateway.credential SET revoked_at = now() WHERE id = ${credential}`],
    ['a lost scope', (sql) => sql`UPDATE gateway.credential SET scopes = '{website_read}' WHERE id = ${credential}`],
    ['a lost website', (sql) => sql`UPDATE gateway.credential SET sites = '{2}' WHERE id = ${credential}`],
    ['a restriction', (sql) => sql`UPDATE gateway.credential SET channel_ids = '{chn_1_1_1}' WHERE id = ${credential}`],
    [
      'an expiry',
      (sql) => sql`UPDATE gateway.credential SET expires_at = now() - interval '1 second' WHERE id = ${credential}`,
    ],
    [
      'an operation that the owner has switched off',
      (sql) => sql`UPDATE gateway.app a SET switched_off = '{subscription_create}' FROM gateway.installation i
        JOIN gateway.credential c ON c.installation_id = i.id WHERE a.id = i.app_id AND c.id = ${credential}`,
    ],
  ];
  it.each(ends)('is told once, as terminated, and nothing more: %s', async (_name, end) => {
    const { id } = await subscribe();
    await end(gateway.database.sql);
    await tell('visitor.changed', 'visitor.removed');
    receiver.reply(answer(500));
    start();
    await until(() => bodies().length === 1);
    receiver.reply(answer(200));
    await until(() => bodies().length === 2);
    await until(async () => (await rows()) === 0);
    await tell('visitor.changed');
    for (const body of bodies()) {
      expect(body).toEqual({
        type: 'terminated',
        error: { code: -32024, message: expect.any(String), data: { reason: 'Access revoked' } },
      });
    }
    const [, one, two] = receiver.got;
    expect([one?.id === two?.id, one?.headers['x-mcp-subscription-id']]).toEqual([true, id]);
    expect(one?.id).toMatch(/^msg_terminated_[a-f0-9]{32}$/);
  });

  it('narrows a subscription of all websites while one is left', async () => {
    await subscribe({ arguments: {} });
    await gateway.database.sql`UPDATE gateway.credential SET sites = '{1}' WHERE id = ${credential}`;
    start();
    await append(gateway.database.sql, 'web_1_2', ['visitor.changed']);
    await tell('visitor.removed');
    await until(() => bodies().length === 1);
    expect(bodies()[0].data).toMatchObject({ event_type: 'visitor.removed', website_id: 'web_1_1' });
  });
});

it('events/subscribe tells once that the cursor lacks a website which the credential holds again', async () => {
  const { sql } = gateway.database;
  const hold = (sites: string) =>
    sql`UPDATE gateway.credential SET sites = ${sites}::text::bigint[] WHERE id = ${credential}`;
  const [row] = await sql`SELECT sites::text FROM gateway.credential WHERE id = ${credential}`;
  const first = await subscribe({ arguments: {} });
  await hold('{1}');
  const narrow = await subscribe({ arguments: {}, cursor: first.cursor });
  await append(sql, 'web_1_2', ['visitor.changed']);
  await hold(String(row?.['sites']));
  const wide = await subscribe({ arguments: {}, cursor: narrow.cursor });
  expect([first.truncated, narrow.truncated, wide.truncated]).toEqual([false, false, true]);
  // Delivery has begun, so nothing is lost any more, whatever cursor the client gives.
  for (const cursor of [wide.cursor, narrow.cursor, null])
    expect(await subscribe({ arguments: {}, cursor })).toMatchObject({ truncated: false });
});

describe('a token of a consent', () => {
  const scope = ['website_read', 'event_read'];

  it('of a client by URL that lacks a scope is asked for it, for deliveries by webhook only', async () => {
    const person = await newPerson(gateway);
    const { access } = await connect(
      gateway,
      documents.serve(`/${randomBytes(8).toString('hex')}.json`),
      person.email,
      { wishes: { scope: ['website_read'] } },
    );
    const needed = expect.stringMatching(/^Bearer error="insufficient_scope", scope="[a-z_ ]*event_read/);
    for (const [method, params, status, challenge] of [
      ['events/subscribe', wanted(), 403, needed],
      ['events/unsubscribe', { ...wanted(), delivery: { url: receiver.url } }, 403, needed],
      ['events/poll', { name: 'visitor' }, 400, undefined],
    ] as const) {
      const answered = await ask(method, params, access);
      expect(answered.body.error.code, method).toBe(-32024);
      expect([answered.status, answered.headers['www-authenticate']], method).toEqual([status, challenge]);
    }
    expect(receiver.got).toEqual([]);
  });

  it('may get deliveries within the consent of a client by URL, and the end of the consent ends them', async () => {
    const person = await newPerson(gateway);
    const { access } = await connect(
      gateway,
      documents.serve(`/${randomBytes(8).toString('hex')}.json`),
      person.email,
      { wishes: { scope } },
    );
    const { body } = await ask('events/list', {}, access);
    expect(body.result.events.map(({ delivery }: { delivery: string[] }) => delivery)).toEqual(
      Array.from({ length: 7 }, () => ['webhook']),
    );
    expect((await errorOf('events/poll', { name: 'visitor' }, access)).data).toEqual({ reason: 'consent' });
    const outside = { arguments: { website_id: 'web_1_2' } };
    expect((await errorOf('events/subscribe', wanted(outside), access)).code).toBe(-32024);
    await subscribe({ arguments: {} }, access);
    start();
    await append(gateway.database.sql, 'web_1_2', ['visitor.changed']);
    await tell('visitor.changed');
    await until(() => bodies().length === 1);
    expect(bodies()[0].data.website_id).toBe('web_1_1');
    await gateway.database.sql`UPDATE gateway.person SET disabled_at = now() WHERE email = ${person.email}`;
    await tell('visitor.changed');
    await until(() => bodies().length === 2);
    expect(bodies()[1]).toMatchObject({ type: 'terminated', error: { data: { reason: 'Access revoked' } } });
  });

  it('ends with a deleted consent, and lasts no longer than the consent', async () => {
    const person = await newPerson(gateway);
    const { access } = await connect(
      gateway,
      documents.serve(`/${randomBytes(8).toString('hex')}.json`),
      person.email,
      { wishes: { scope, duration: '8h' } },
    );
    const { refreshBefore } = await subscribe({ ttlMs: null }, access);
    expect(Date.parse(refreshBefore) - Date.now()).toBeLessThan(8 * 3_600_000);
    await gateway.database
      .sql`DELETE FROM gateway.consent WHERE person_id = (SELECT id FROM gateway.person WHERE email = ${person.email})`;
    start();
    await until(() => bodies().length === 1);
    expect(bodies()[0].type).toBe('terminated');
  });

  it('of an installed client is refused, as for every subscription', async () => {
    const client = await newClient(gateway);
    const { access } = await family(gateway, client, { resource: 'mcp' });
    await gateway.database.sql`UPDATE gateway.token SET scopes = ${scope} WHERE digest = ${digestOf(access)}`;
    expect((await ask('events/list', {}, access)).body.result.events).toEqual([]);
    const error = await errorOf('events/subscribe', wanted(), access);
    expect([error.code, error.data]).toEqual([-32024, { reason: 'consent' }]);
    expect(receiver.got).toEqual([]);
  });
});

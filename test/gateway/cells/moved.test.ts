import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { digestOf } from '../../../src/auth/tokens.ts';
import { upkeep } from '../../../src/gateway/upkeep.ts';
import { clearOldMessages } from '../../../src/privacy/retention.ts';
import { importRecords } from '../../../src/sources/files/import.ts';
import { sqlState } from '../../../src/store/driver/errors.ts';
import type { Answer } from '../../support/answer.ts';
import { gateway as cli, cliDatabase, demoApp, refused } from '../../support/cli.ts';
import { signedInAs } from '../../support/console/console.ts';
import type { TestDatabase } from '../../support/database.ts';
import { Client, connected, holder, openSession } from '../../support/events/realtime.ts';
import { addEndpoint, openReceiver, run, tell, until } from '../../support/events/webhooks.ts';
import { BASE_URL, openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { KEYS } from '../../support/keys.ts';
import { family, own, refreshing } from '../../support/oauth/ends.ts';
import {
  connect,
  type DocumentServer,
  hostedOptions,
  openDocuments,
  refreshHosted,
} from '../../support/oauth/hosted.ts';
import { formOf, newClient, newPerson, PASSWORD, pkce, post, request, SAME, token } from '../../support/oauth/oauth.ts';
import { rpc as a2a, work } from '../../support/surfaces/a2a.ts';
import { rpc as mcp } from '../../support/surfaces/mcp.ts';

/**
 * The organization of the demo has moved to another cell. The matrix of all operations is in test/laws/cells.test.ts, and
 * every way in which a call can end in test/laws/live.test.ts.
 */
const THERE = 'https://b.example';
let database: TestDatabase;
let gateway: TestGateway;
let documents: DocumentServer;

beforeAll(async () => {
  documents = await openDocuments();
  database = await cliDatabase('demo');
  gateway = await openTestGateway('demo', database, KEYS, { check: 50 }, hostedOptions(documents));
});
afterAll(async () => {
  await gateway.close();
  await documents.close();
});
beforeEach(() => move(null));

const move = (to: string | null = THERE): Promise<unknown> =>
  database.sql`UPDATE platform.organization SET moved_to = ${to} WHERE external_id = 'larkspur'`;

function expectMoved({ status, body, text }: Answer, where: string): void {
  expect([status, body.code ?? body.error, body.base_url], `${where}: ${text}`).toEqual([
    421,
    'organization_moved',
    THERE,
  ]);
}

describe('a moved organization', () => {
  it('answers 421 with the new base URL on each surface, and works again when it is back', async () => {
    const { token: bearer } = await gateway.issue();
    const asks = {
      rest: () => gateway.ask('/api/v1/websites', { token: bearer }),
      mcp: () => mcp(gateway.port, bearer, 'tools/list'),
      'an MCP call': () => mcp(gateway.port, bearer, 'tools/call', { name: 'websites_list', arguments: {} }),
      a2a: () => a2a(gateway.port, bearer, 'SendMessage', work('contact_inspection', { contact_id: 'ctc_1_1_1' })),
    };
    for (const [where, ask] of Object.entries(asks)) expect((await ask()).status, where).toBe(200);
    await move();
    for (const [where, ask] of Object.entries(asks)) {
      const answer = await ask();
      expectMoved(answer, where);
      expect(answer.headers['content-type'], where).toBe('application/problem+json');
      expect(answer.headers['ratelimit'], where).toBeUndefined();
    }
    const unknown = await gateway.ask('/api/v1/websites', { token: `${bearer.slice(0, -1)}x` });
    expect([unknown.status, unknown.body.code]).toEqual([401, 'unauthenticated']);
    await move(null);
    for (const [where, ask] of Object.entries(asks)) expect((await ask()).status, where).toBe(200);
  });

  it('answers 503 while an organization is arriving, which its own URL would send in a circle', async () => {
    const { token: bearer } = await gateway.issue();
    await move();
    await database.sql`INSERT INTO gateway.move (tenant, phase, base_url, peer)
      SELECT tenant, 'arriving', ${THERE}, 'x' FROM platform.organization WHERE external_id = 'larkspur'`;
    const arriving = await gateway.ask('/api/v1/websites', { token: bearer });
    expect([arriving.status, arriving.body.code, arriving.headers['retry-after']]).toEqual([
      503,
      'service_unavailable',
      '1',
    ]);
    // Coming back to a cell where it lived before, it still lives in the other one.
    await database.sql`UPDATE gateway.move SET returns = true`;
    expectMoved(await gateway.ask('/api/v1/websites', { token: bearer }), 'returning');
    await database.sql`DELETE FROM gateway.move`;
  });

  it('tells only a caller at an address of the credential', async () => {
    const { token: bearer, credential } = await gateway.issue();
    await database.sql`UPDATE gateway.credential SET allow_ip = '{203.0.113.0/24}' WHERE id = ${credential}`;
    await move();
    expect((await gateway.ask('/api/v1/websites', { token: bearer })).status).toBe(401);
  });

  it('gives no tokens to its OAuth clients, ends none, and keeps what they hold', async () => {
    const client = await newClient(gateway);
    const { access, refresh } = await family(gateway, client);
    const access2 = await own(gateway, client);
    const hosted = await connect(gateway, documents.serve(`/${randomUUID()}.json`), (await newPerson(gateway)).email);
    await move();
    const asks: Record<string, () => Promise<Answer>> = {
      refresh: () => token(gateway, client, refreshing(refresh)),
      'client credentials': () => token(gateway, client, { grant_type: 'client_credentials', resource: 'x' }),
      'an access token': () => gateway.ask('/api/v1/websites', { token: access }),
      'an own access token': () => gateway.ask('/api/v1/websites', { token: access2 }),
      'a token of a client by URL': () => mcp(gateway.port, hosted.access, 'ping'),
      'the refresh of a client by URL': () => refreshHosted(gateway, hosted),
      'the revocation by a client by URL': () =>
        post(gateway, '/oauth/revoke', { token: hosted.refresh, client_id: hosted.client }),
    };
    for (const [where, ask] of Object.entries(asks)) expectMoved(await ask(), where);
    const page = await gateway.ask(`/oauth/authorize?${formOf(request(client, pkce()))}`, { unchecked: true });
    expect([page.status, page.text.includes(THERE)]).toEqual([421, true]);
    await move(null);
    expect((await refreshHosted(gateway, hosted)).status).toBe(200);
    expect((await token(gateway, client, refreshing(refresh))).status).toBe(200);
  });

  it('sends nobody in a circle, while the end of a move to this gateway is not committed yet', async () => {
    const client = await newClient(gateway);
    const { refresh } = await family(gateway, client);
    const hosted = await connect(gateway, documents.serve(`/${randomUUID()}.json`), (await newPerson(gateway)).email);
    const person = await newPerson(gateway);
    await move(BASE_URL);
    for (const answer of [
      await token(gateway, client, refreshing(refresh)),
      await refreshHosted(gateway, hosted),
      await post(gateway, '/oauth/revoke', { token: hosted.refresh, client_id: hosted.client }),
    ]) {
      const { status, body, headers } = answer;
      expect([status, body.error, headers['retry-after']]).toEqual([503, 'temporarily_unavailable', '1']);
    }
    const asked = { email: person.email, password: PASSWORD, organization: '' };
    const signIn = await post(gateway, '/console/sign-in', asked, SAME);
    expect([signIn.status, signIn.text.includes('is moving to this address')]).toEqual([503, true]);
    await move(null);
    expect((await token(gateway, client, refreshing(refresh))).status).toBe(200);
    expect((await refreshHosted(gateway, hosted)).status).toBe(200);
  });

  it('tells the new address of no ended token to a client by URL that revokes or refreshes it', async () => {
    const person = (await newPerson(gateway)).email;
    const connected = () => connect(gateway, documents.serve(`/${randomUUID()}.json`), person);
    const [revoked, expired] = [await connected(), await connected()];
    const revoke = ({ client: client_id }: typeof revoked, given: string): Promise<Answer> =>
      post(gateway, '/oauth/revoke', { token: given, client_id });
    expect((await revoke(revoked, revoked.refresh)).status).toBe(200);
    const { sql } = database;
    for (const digest of [expired.refresh, expired.access].map(digestOf)) {
      await sql`UPDATE gateway.refresh_token SET expires_at = now() WHERE digest = ${digest}`;
      await sql`UPDATE gateway.token SET expires_at = now() WHERE digest = ${digest}`;
    }
    const before = await revoke(revoked, revoked.refresh);
    await move();
    for (const [one, given] of [
      [revoked, revoked.refresh],
      [revoked, revoked.access],
      [expired, expired.refresh],
      [expired, expired.access],
    ] as const) {
      const { status, text } = await revoke(one, given);
      expect([status, text]).toEqual([before.status, before.text]);
    }
    for (const one of [revoked, expired])
      expect(await refreshHosted(gateway, one)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    await move(null);
  });

  it('refuses a handshake, which keeps its ticket, and ends open sockets', async () => {
    const { token: bearer } = await holder(gateway);
    const open = await connected(gateway, bearer);
    const session = await openSession(gateway, bearer);
    await move();
    expect(await open.closed).toBe(4401);
    const late = new Client(gateway.port, session);
    const status = await new Promise((resolve) =>
      late.socket.on('unexpected-response', (_, { statusCode }) => resolve(statusCode)),
    );
    expect(status).toBe(421);
    await move(null);
    const back = new Client(gateway.port, session);
    await back.next('ready');
    back.end();
  });

  it('ends the sessions of its people, and tells the new address to whoever knows the password', async () => {
    const person = await signedInAs(gateway);
    const console = (): Promise<Answer> =>
      gateway.ask('/console', { unchecked: true, headers: { cookie: person.cookie } });
    expect((await console()).text).not.toContain('<h1>Sign in</h1>');
    await move();
    expect((await console()).text).toContain('<h1>Sign in</h1>');
    const signIn = (password: string): Promise<Answer> =>
      post(gateway, '/console/sign-in', { email: person.email, password, organization: '' }, SAME);
    const right = await signIn(PASSWORD);
    expect([right.status, right.text.includes(THERE)]).toEqual([421, true]);
    const wrong = await signIn('not the password');
    expect([wrong.status, wrong.text.includes(THERE)]).toEqual([403, false]);
    await move(null);
    expect((await console()).text).not.toContain('<h1>Sign in</h1>');
  });

  it('gets no deliveries, no receipts, no upkeep and no records any more', async () => {
    const { db, sql } = database;
    const receiver = await openReceiver();
    const { credential } = await gateway.issue();
    await addEndpoint(database, credential, `${receiver.origin}/hook`);
    const running = run(database, [receiver]);
    await tell(database, 1);
    await until(() => receiver.got.length === 1);
    // The store learns of the answer a moment later.
    await expect
      .poll(() => sql`SELECT FROM gateway.webhook_delivery WHERE status = 'pending'`, { interval: 20 })
      .toHaveLength(0);
    await sql`UPDATE platform.organization SET keep_messages_days = 1 WHERE external_id = 'larkspur'`;
    await sql`INSERT INTO gateway.operation (operation_id, credential_id, revision, tenant, site, operation, status, fingerprint, outcome, created_at)
      VALUES (${`op_${'f'.repeat(64)}`}, ${credential}, 1, 1, 1, 'visitor_note_add', 'acknowledged', ${Buffer.alloc(32)}, '{}', now() - interval '2 days')`;
    await move();
    const state = async () => {
      const [row] = await sql`SELECT
        (SELECT count(*) FROM gateway.webhook_delivery WHERE status = 'pending') AS deliveries,
        (SELECT sum(position) FROM gateway.journal_head WHERE tenant = 1) AS journal,
        (SELECT count(*) FROM platform.message WHERE text IS NOT NULL) AS texts,
        (SELECT count(*) FROM gateway.operation WHERE outcome IS NOT NULL) AS outcomes`;
      return row;
    };
    await tell(database, 1);
    const before = await state();
    expect(await clearOldMessages(db)).toBe(0);
    await upkeep({ db, registry: gateway.corridor.registry });
    await sql`SELECT gateway.beat_families(interval '0', 100), gateway.trim_journals(interval '0', 1000)`;
    const update = sql`UPDATE platform.contact SET name = 'x' WHERE tenant = 1`;
    await expect(update).rejects.toMatchObject({ code: 'GW421', message: expect.stringContaining(THERE) });
    const imported = importRecords(db, [{ type: 'organization', external_id: 'larkspur', name: 'Other' }]);
    expect(await imported.catch(sqlState)).toBe('GW421');
    expect(receiver.got).toHaveLength(1);
    expect(await state()).toEqual(before);
    await move(null);
    await until(() => receiver.got.length === 2);
    await upkeep({ db, registry: gateway.corridor.registry });
    expect((await state())?.['outcomes']).not.toEqual(before?.['outcomes']);
    await running.stop();
    await receiver.close();
    expect(running.errors).toEqual([]);
  });

  it('is refused by the commands that change it, which name the new address', async () => {
    const { app } = await demoApp();
    await move();
    const moved = refused(`has moved to ${THERE}`);
    for (const words of [
      ['app', 'create', '--organization', 'larkspur', '--name', 'Other'],
      ['app', 'update', app, '--burst', '5'],
      ['family', 'pause', '--website', 'larkspur-us', '--family', 'visitor'],
      ['organization', 'update', 'larkspur', '--keep-messages-days', 'off'],
      ['person', 'add', '--organization', 'larkspur', '--email', 'x@example.com', '--role', 'owner'],
    ])
      expect(await cli(...words), words.join(' ')).toEqual(moved);
    expect((await cli('app', 'list')).code).toBe(0);
    await move(null);
    expect((await cli('app', 'update', app, '--burst', '5')).code).toBe(0);
  });
});

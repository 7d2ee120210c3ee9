import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { digestOf } from '../../../src/auth/tokens.ts';
import { SCOPE_TEXTS } from '../../../src/core/scope-texts.ts';
import { SCOPES } from '../../../src/core/scopes.ts';
import { compile } from '../../../src/core/sql.ts';
import { upkeep } from '../../../src/gateway/upkeep.ts';
import type { Database } from '../../../src/store/driver/postgres.ts';
import { endStrangeHosts } from '../../../src/store/sign-in/upkeep.ts';
import type { Answer } from '../../support/answer.ts';
import { eventually } from '../../support/eventually.ts';
import { BASE_URL, openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { KEYS } from '../../support/keys.ts';
import { because, orphans } from '../../support/oauth/ends.ts';
import {
  answerPage,
  connect,
  type DocumentServer,
  documentOf,
  exchangeCode,
  type HostedFamily,
  hostedOptions,
  hostedRequest,
  LOOPBACK,
  openDocuments,
  refreshHosted,
} from '../../support/oauth/hosted.ts';
import {
  basic,
  csrfOf,
  expectPage,
  expectRefused,
  formOf,
  newClient,
  newPerson,
  PASSWORD,
  pkce,
  post,
  RESOURCE,
  SAME,
  signedIn,
} from '../../support/oauth/oauth.ts';
import { ENVELOPE, modern, rpc } from '../../support/surfaces/mcp.ts';

let gateway: TestGateway;
let documents: DocumentServer;
let person: { id: string; email: string };
let client: string;

beforeAll(async () => {
  documents = await openDocuments();
  gateway = await openTestGateway('demo', undefined, KEYS, {}, hostedOptions(documents));
});
afterAll(async () => {
  await gateway.close();
  await documents.close();
});
beforeEach(async () => {
  person = await newPerson(gateway);
  client = documents.serve(`/${randomUUID()}.json`);
});

/** Serves a document that no cache may keep. `changes` returns undefined while the server is broken. */
function serveChanging(changes: () => object | undefined): string {
  const path = `/${randomUUID()}.json`;
  return documents.serve(path, (_request: unknown, response: ServerResponse) => {
    const now = changes();
    response
      .writeHead(now ? 200 : 500, { 'content-type': 'application/json', 'cache-control': 'max-age=0' })
      .end(JSON.stringify(documentOf(`${documents.origin}${path}`, now)));
  });
}

const authorize = (query: string, cookie?: string): ReturnType<TestGateway['ask']> =>
  gateway.ask(`/oauth/authorize?${query}`, { unchecked: true, ...(cookie !== undefined && { headers: { cookie } }) });

const tools = async (bearer: string): Promise<number> => (await rpc(gateway.port, bearer, 'tools/list')).status;

const consentsOf = (id: string): Promise<{ id: string; because: string | null; hours: number; idle: number }[]> =>
  gateway.database.sql<{ id: string; because: string | null; hours: number; idle: number }[]>`
    SELECT id, revoked_because AS because, extract(epoch FROM expires_at - created_at)::float8 / 3600 AS hours,
           extract(epoch FROM idle)::float8 / 3600 AS idle
      FROM gateway.consent WHERE person_id = ${id} ORDER BY created_at`;

/** Moves everything that the consent of a family has into the past, as if the seconds had passed. */
async function pass(family: HostedFamily, seconds: number): Promise<void> {
  const { sql } = gateway.database;
  await sql`UPDATE gateway.refresh_token SET expires_at = expires_at - make_interval(secs => ${seconds}),
      used_at = used_at - make_interval(secs => ${seconds}), created_at = created_at - make_interval(secs => ${seconds})
    WHERE consent_id = (SELECT consent_id FROM gateway.refresh_token WHERE digest = ${digestOf(family.refresh)})`;
}

async function consentOf({ refresh }: HostedFamily): Promise<string> {
  const [row] = await gateway.database.sql<{ id: string }[]>`
    SELECT consent_id AS id FROM gateway.refresh_token WHERE digest = ${digestOf(refresh)}`;
  return row?.id ?? expect.fail('no consent');
}

describe('a client that nobody registered', () => {
  it('connects from its URL alone: sign-in, consent, code, call, refresh, revocation', async () => {
    const family = await connect(gateway, client, person.email, {
      wishes: { scope: ['website_read', 'conversation_read'], data_access: ['pii'], duration: '30d' },
    });
    expect(family.body).toMatchObject({
      token_type: 'Bearer',
      expires_in: 900,
      scope: 'website_read conversation_read',
      resource: RESOURCE.mcp,
      refresh_expires_in: 648_000,
    });
    const called = await rpc(gateway.port, family.access, 'tools/call', { name: 'websites_list', arguments: {} });
    expect([called.status, called.body.result.isError]).toEqual([200, false]);
    expect((await gateway.ask('/api/v1/websites', { token: family.access })).status).toBe(401);
    const next = await refreshHosted(gateway, family);
    expect(next.status, next.text).toBe(200);
    expect(await tools(next.body.access_token)).toBe(200);
    const [credential] = await gateway.database.sql`
      SELECT k.hosted_client, k.hosted_host, k.scopes, k.data_access, k.sites::text[], a.name
        FROM gateway.credential k JOIN gateway.installation i ON i.id = k.installation_id JOIN gateway.app a ON a.id = i.app_id
       WHERE k.hosted_person = ${person.id}`;
    expect(credential).toEqual({
      hosted_client: client,
      hosted_host: '127.0.0.1',
      scopes: ['website_read', 'conversation_read'],
      data_access: ['pii'],
      sites: ['1'],
      name: 'Test Client',
    });
    const stranger = documents.serve(`/${randomUUID()}.json`);
    const form = { token: next.body.refresh_token, client_id: stranger };
    expect((await post(gateway, '/oauth/revoke', form)).status).toBe(200);
    expect(await tools(next.body.access_token)).toBe(200);
    expect((await post(gateway, '/oauth/revoke', { ...form, client_id: client })).status).toBe(200);
    expect(await tools(next.body.access_token)).toBe(401);
    expect(await tools(family.access)).toBe(401);
    expect(await orphans(gateway.database)).toEqual([]);
  });

  it('is discovered: metadata, and the scopes of the 401', async () => {
    const { body } = await gateway.ask('/.well-known/oauth-authorization-server', { unchecked: true });
    expect(body).toMatchObject({
      client_id_metadata_document_supported: true,
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'none'],
      revocation_endpoint_auth_methods_supported: ['client_secret_basic', 'none'],
    });
    expect(body.registration_endpoint).toBeUndefined();
    const { headers } = await rpc(gateway.port, undefined, 'tools/list');
    expect(headers['www-authenticate']).toContain(`scope="${SCOPES.join(' ')}"`);
  });

  it('needs neither state nor scope, and may send parameters of its own', async () => {
    const proof = pkce();
    const query = formOf(hostedRequest(client, proof, { prompt: 'consent', nonce: 'x', access_type: 'offline' }));
    const cookie = await signedIn(gateway, query, person.email);
    const page = await authorize(query, cookie);
    for (const scope of SCOPES) expect(page.text, scope).toContain(`name="scope" value="${scope}"`);
    expect(page.text).not.toMatch(/<input[^>]* checked/);
    const answer = await answerPage(gateway, query, cookie);
    const told = new URL(answer.headers.location ?? '').searchParams;
    expect([...told.keys()].sort()).toEqual(['code', 'iss']);
    const exchange = {
      grant_type: 'authorization_code',
      client_id: client,
      code: told.get('code') ?? '',
      redirect_uri: 'https://app.example/cb',
      code_verifier: proof.verifier,
      resource: RESOURCE.mcp,
    };
    expect((await post(gateway, '/oauth/token', { ...exchange, audience: 'x', nonce: 'x' })).status).toBe(200);
    const offline = formOf(hostedRequest(client, pkce(), { scope: ' website_read offline_access', state: 'short' }));
    const narrow = await authorize(offline, cookie);
    expect([...narrow.text.matchAll(/name="scope"/g)].length).toBe(1);
    const denied = await answerPage(gateway, offline, cookie, { decision: 'deny' });
    const error = new URL(denied.headers.location ?? '').searchParams;
    expect([error.get('error'), error.get('state')]).toEqual(['access_denied', 'short']);
  });

  it('gets its page behind a proxy that asks for HTTP Basic', async () => {
    const query = formOf(hostedRequest(client, pkce()));
    const authorization = 'Basic cHJveHk6c2VjcmV0';
    const cookie = await signedIn(gateway, query, person.email);
    const page = await gateway.ask(`/oauth/authorize?${query}`, {
      unchecked: true,
      headers: { cookie, authorization },
    });
    expect(page.status, page.text).toBe(200);
    const form = { csrf: csrfOf(page), decision: 'deny' };
    const answer = await post(gateway, `/oauth/consent?${query}`, form, { ...SAME, cookie, authorization });
    expect(answer.headers.location).toContain('error=access_denied');
  });

  it('shows its host before its name, and says when only loopback is listed', async () => {
    const url = documents.serve(`/${randomUUID()}.json`, {
      client_name: 'Your <b>Bank</b>',
      redirect_uris: [LOOPBACK, 'cursor://callback'],
    });
    const query = formOf(hostedRequest(url, pkce(), { redirect_uri: 'http://127.0.0.1:45678/callback' }));
    const before = await authorize(query);
    expect(before.text).not.toContain('<b>Bank');
    expect(before.text.indexOf('127.0.0.1')).toBeLessThan(before.text.indexOf('Your &lt;b&gt;Bank'));
    const cookie = await signedIn(gateway, query, person.email);
    const { text } = await authorize(query, cookie);
    expect(text.indexOf('>127.0.0.1</bdi>')).toBeGreaterThan(0);
    expect(text.indexOf('>127.0.0.1</bdi>')).toBeLessThan(text.indexOf('Bank'));
    expect(text).toContain('This app runs on your own machine.');
    const other = await authorize(formOf(hostedRequest(client, pkce())), cookie);
    expect(other.text).not.toContain('This app runs on your own machine.');
    expect([...text.matchAll(/type="radio" id="duration-(\w+)"/g)].map(([, name]) => name)).toEqual([
      '8h',
      '7d',
      '30d',
    ]);
  });

  it('says of each permission which ticks it needs: a read shows less without them, a write is refused', async () => {
    const query = formOf(hostedRequest(client, pkce()));
    const { text } = await authorize(query, await signedIn(gateway, query, person.email));
    const said = new Map<string, number>();
    for (const scope of SCOPES) {
      const { acts, flags } = SCOPE_TEXTS[scope];
      const [, about = ''] = new RegExp(`id="about-${scope}">(.*?)<code>`, 's').exec(text) ?? [];
      const [what = 'nothing'] = /Works only with your ticks?|Shows [^.<]* only with your ticks?/.exec(about) ?? [];
      const kind = flags.length === 0 ? 'nothing' : acts ? 'Works' : 'Shows';
      expect(what.split(' ')[0], scope).toBe(kind);
      expect(what.endsWith('ticks'), scope).toBe(flags.length > 1);
      said.set(kind, (said.get(kind) ?? 0) + 1);
    }
    expect([...said.keys()].toSorted()).toEqual(['Shows', 'Works', 'nothing']);
    expect(text).toContain('Works only with your ticks for message text, personal data and internal notes under');
  });

  it('may use any port on loopback, but no other address that is not listed', async () => {
    const url = documents.serve(`/${randomUUID()}.json`, {
      redirect_uris: [
        ...['http://localhost/callback?a=b', 'http://[::1]:4000/cb', 'https://app.example/cb', 'app://x'],
        ...['http://evil.example/cb'],
      ],
    });
    const status = async (redirect_uri: string): Promise<number> =>
      (await authorize(formOf(hostedRequest(url, pkce(), { redirect_uri })))).status;
    for (const good of [
      ...['http://localhost/callback?a=b', 'http://localhost:1/callback?a=b', 'http://[::1]:65535/cb'],
      ...['http://[::1]/cb', 'https://app.example/cb'],
    ])
      expect(await status(good), good).toBe(200);
    for (const bad of [
      ...['http://127.0.0.1:1/callback?a=b', 'http://localhost:1/callback', 'http://localhost:1/callback?a=b&c'],
      ...['http://localhost:1/callback/?a=b', 'http://localhost:1/Callback?a=b'],
      ...['https://localhost:1/callback?a=b', 'http://localhost:99999/callback?a=b'],
      ...['http://localhost:1@evil.example/callback?a=b', 'http://localhost.evil.example/callback?a=b'],
      ...['http://user@localhost:1/callback?a=b', 'http://localhost:1/callback?a=b#x'],
      ...['https://app.example:8443/cb', 'https://app.example/cb/', 'https://evil.example/cb'],
      ...['http://evil.example/cb', 'app://x', 'javascript:alert(1)'],
    ])
      expectPage(await authorize(formOf(hostedRequest(url, pkce(), { redirect_uri: bad }))), bad);
  });

  it('gets nothing from a form that offers more than the page', async () => {
    const query = formOf(hostedRequest(client, pkce(), { scope: 'website_read' }));
    const cookie = await signedIn(gateway, query, person.email);
    const csrf = csrfOf(await authorize(query, cookie));
    const good = { csrf, decision: 'approve', scope: 'website_read', website_id: 'web_1_1', duration: '8h' };
    const send = (changes: Record<string, string>) =>
      post(gateway, `/oauth/consent?${query}`, { ...good, ...changes }, { ...SAME, cookie });
    for (const wrong of [
      { scope: 'contact_read' },
      { website_id: 'web_2_1' },
      { duration: '90d' },
      { duration: '1h' },
      { data_access: 'everything' },
      { renewal: 'yes' },
      { csrf: `${csrf}x` },
    ])
      expectPage(await send(wrong), JSON.stringify(wrong));
    const { duration: _, ...timeless } = good;
    const again = await post(gateway, `/oauth/consent?${query}`, timeless, { ...SAME, cookie });
    expect([again.status, again.text.includes('Choose for how long')]).toEqual([400, true]);
    expect(await consentsOf(person.id)).toEqual([]);
    expect((await send({})).status).toBe(303);
    expect((await send({})).status, 'a second answer').toBe(409);
  });

  it('a document that changes makes the open page outdated, and gains nothing after the consent', async () => {
    let redirects = ['https://app.example/cb'];
    const url = serveChanging(() => ({ redirect_uris: redirects }));
    const proof = pkce();
    const query = formOf(hostedRequest(url, proof, { scope: 'website_read' }));
    const cookie = await signedIn(gateway, query, person.email);
    const csrf = csrfOf(await authorize(query, cookie));
    redirects = ['https://app.example/cb', 'https://evil.example/cb'];
    const form = { csrf, decision: 'approve', scope: 'website_read', website_id: 'web_1_1', duration: '8h' };
    expect((await post(gateway, `/oauth/consent?${query}`, form, { ...SAME, cookie })).status).toBe(409);
    const answer = await answerPage(gateway, query, cookie);
    const code = new URL(answer.headers.location ?? '').searchParams.get('code') ?? '';
    redirects = ['https://evil.example/cb'];
    const asked = documents.asked.length;
    expect((await exchangeCode(gateway, url, code, proof)).status).toBe(200);
    expect(documents.asked.length, 'the exchange reads no document').toBe(asked);
    expectPage(await authorize(query, cookie), 'the old redirect is not listed any more');
  });

  it('a document that is away is 503 at the first visit, and its last form counts at the approval', async () => {
    let away = true;
    const url = serveChanging(() => (away ? undefined : {}));
    const query = formOf(hostedRequest(url, pkce()));
    const answer = await authorize(query);
    expectPage(answer, 'away', 503);
    const seconds = Number(answer.headers['retry-after']);
    expect(seconds).toBeLessThanOrEqual(5);
    away = false;
    await new Promise((resolve) => setTimeout(resolve, seconds * 1_000 + 100));
    const cookie = await signedIn(gateway, query, person.email);
    const csrf = csrfOf(await authorize(query, cookie));
    const form = { csrf, decision: 'approve', scope: 'website_read', website_id: 'web_1_1', duration: '8h' };
    away = true;
    expect((await post(gateway, `/oauth/consent?${query}`, form, { ...SAME, cookie })).status).toBe(303);
  });

  it('lasts as long as the person chose, and ends when it is unused', async () => {
    for (const [duration, hours, idle] of [
      ['8h', 8, 2],
      ['7d', 168, 42],
      ['30d', 720, 180],
    ] as const) {
      const url = documents.serve(`/${randomUUID()}.json`);
      await connect(gateway, url, person.email, { wishes: { duration } });
      expect((await consentsOf(person.id)).at(-1)).toMatchObject({ hours, idle, because: null });
    }
    const family = await connect(gateway, client, person.email, { wishes: { duration: '8h' } });
    await pass(family, 7_190);
    const next = (await refreshHosted(gateway, family)).body;
    const later = { ...family, refresh: next.refresh_token };
    await pass(later, 7_210);
    expectRefused(await refreshHosted(gateway, later), 'invalid_grant', 'unused for a quarter');
  });

  it('a second approval replaces the first and keeps the credential', async () => {
    const first = await connect(gateway, client, person.email);
    const second = await connect(gateway, client, person.email, { wishes: { scope: ['conversation_read'] } });
    expect(await tools(first.access)).toBe(401);
    expectRefused(await refreshHosted(gateway, first), 'invalid_grant', 'replaced');
    expect(await tools(second.access)).toBe(200);
    expect((await consentsOf(person.id)).map((one) => one.because)).toEqual(['replaced', null]);
    const credentials = await gateway.database
      .sql`SELECT scopes FROM gateway.credential WHERE hosted_person = ${person.id}`;
    expect([...credentials]).toEqual([{ scopes: ['conversation_read'] }]);
    const other = await newPerson(gateway);
    const third = await connect(gateway, client, other.email);
    expect([await tools(second.access), await tools(third.access)]).toEqual([200, 200]);
  });

  it('many approvals of one person at once leave one consent', async () => {
    const queries = Array.from({ length: 6 }, () => formOf(hostedRequest(client, pkce())));
    const cookie = await signedIn(gateway, queries[0] ?? '', person.email);
    const answers = await Promise.all(queries.map((query) => answerPage(gateway, query, cookie)));
    expect(answers.map(({ status }) => status)).toEqual(queries.map(() => 303));
    expect((await consentsOf(person.id)).filter((one) => one.because === null).length).toBe(1);
    const rows = await gateway.database.sql`SELECT 1 FROM gateway.credential WHERE hosted_person = ${person.id}`;
    expect(rows.length).toBe(1);
  });
});

describe('the code and the tokens', () => {
  async function approved(): Promise<{ code: string; proof: ReturnType<typeof pkce> }> {
    const proof = pkce();
    const query = formOf(hostedRequest(client, proof));
    const answer = await answerPage(gateway, query, await signedIn(gateway, query, person.email));
    return { proof, code: new URL(answer.headers.location ?? '').searchParams.get('code') ?? '' };
  }

  it('a used code with another verifier changes nothing, and with its own verifier ends the consent', async () => {
    const { code, proof } = await approved();
    const { body } = await exchangeCode(gateway, client, code, proof);
    const family = { client, refresh: body.refresh_token };
    const consent = (await consentsOf(person.id)).at(-1)?.id ?? '';
    for (const redirect of [undefined, LOOPBACK])
      expectRefused(await exchangeCode(gateway, client, code, pkce(), redirect), 'invalid_grant', 'a stranger');
    expect([await because(gateway, consent), await tools(body.access_token)]).toEqual([null, 200]);
    const next = await refreshHosted(gateway, family);
    expect(next.status, next.text).toBe(200);
    expectRefused(await exchangeCode(gateway, client, code, proof), 'invalid_grant', 'the client');
    expect(await because(gateway, consent)).toBe('code_misused');
    expect(await tools(next.body.access_token)).toBe(401);
    const unused = await approved();
    expectRefused(await exchangeCode(gateway, client, unused.code, pkce()), 'invalid_grant', 'the first attempt');
    expect((await consentsOf(person.id)).at(-1)?.because).toBe('code_misused');
  });

  it('a client that leaves out its redirect address, as OAuth 2.1 does, is bound by all the rest', async () => {
    const exchange = (code: string, verifier: string, more: Record<string, string | string[]> = {}) =>
      post(gateway, '/oauth/token', {
        ...{ grant_type: 'authorization_code', client_id: client, code, code_verifier: verifier },
        resource: RESOURCE.mcp,
        ...more,
      });
    for (const more of [{}, { redirect_uri: '' }]) {
      const one = await approved();
      const answer = await exchange(one.code, one.proof.verifier, more);
      expect(answer.status, answer.text).toBe(200);
      expect(await tools(answer.body.access_token)).toBe(200);
    }
    const { code, proof } = await approved();
    const twice = { redirect_uri: ['https://app.example/cb', 'https://app.example/cb'] };
    expectRefused(await exchange(code, proof.verifier, twice), 'invalid_request', 'twice');
    expectRefused(await exchange(code, proof.verifier, { resource: RESOURCE.rest }), 'invalid_target', 'resource');
    const other = await approved();
    expectRefused(await exchange(other.code, pkce().verifier), 'invalid_grant', 'verifier');
    expect((await consentsOf(person.id)).map((one) => one.because)).toEqual([
      'replaced',
      'replaced',
      'code_misused',
      'code_misused',
    ]);
  });

  it('a code belongs to its client, its redirect URI, its verifier and its resource', async () => {
    const stranger = documents.serve(`/${randomUUID()}.json`);
    const one = await approved();
    expectRefused(await exchangeCode(gateway, stranger, one.code, one.proof), 'invalid_grant', 'another client');
    expect((await exchangeCode(gateway, client, one.code, one.proof)).status).toBe(200);
    expectRefused(await exchangeCode(gateway, client, one.code, one.proof), 'invalid_grant', 'a second time');
    const two = await approved();
    expectRefused(await exchangeCode(gateway, client, two.code, pkce()), 'invalid_grant', 'another verifier');
    const three = await approved();
    expectRefused(await exchangeCode(gateway, client, three.code, three.proof, LOOPBACK), 'invalid_grant', 'elsewhere');
    const four = await approved();
    const rest = exchangeCode(gateway, client, four.code, four.proof, undefined, RESOURCE.rest);
    expectRefused(await rest, 'invalid_target', 'another resource');
    const five = await approved();
    const issued = await newClient(gateway);
    const posing = await post(
      gateway,
      '/oauth/token',
      {
        grant_type: 'authorization_code',
        code: five.code,
        redirect_uri: 'https://app.example/cb',
        code_verifier: five.proof.verifier,
        resource: RESOURCE.mcp,
      },
      { authorization: basic(issued) },
    );
    expectRefused(posing, 'invalid_grant', 'an issued credential');
    expect((await exchangeCode(gateway, client, five.code, five.proof)).status).toBe(200);
  });

  it('a secret, a header or another grant is refused', async () => {
    const family = await connect(gateway, client, person.email);
    for (const secret of [{ client_secret: 'x' }, { client_assertion: 'x' }])
      expectRefused(await refreshHosted(gateway, family, secret), 'invalid_client', JSON.stringify(secret));
    const form = {
      grant_type: 'refresh_token',
      client_id: client,
      refresh_token: family.refresh,
      resource: RESOURCE.mcp,
    };
    for (const authorization of [
      `Basic ${Buffer.from(`${client}:x`).toString('base64')}`,
      `Bearer ${family.access}`,
      basic({ credential: client, secret: '' }),
    ])
      expectRefused(await post(gateway, '/oauth/token', form, { authorization }), 'invalid_client', authorization);
    const own = { grant_type: 'client_credentials', client_id: client, resource: RESOURCE.mcp };
    expectRefused(await post(gateway, '/oauth/token', own), 'unauthorized_client', 'client_credentials');
    expectRefused(
      await post(gateway, '/oauth/token', { ...own, grant_type: 'password' }),
      'unsupported_grant_type',
      'password',
    );
    expectRefused(await refreshHosted(gateway, family, { resource: [] }), 'invalid_target', 'no resource');
    expectRefused(await refreshHosted(gateway, family, { scope: 'contact_read' }), 'invalid_scope', 'a wider scope');
    const more = await refreshHosted(gateway, family, { audience: 'x', nonce: 'y' });
    expect(more.status, more.text).toBe(200);
  });

  it('a refresh may repeat the scopes of the request, of which unknown ones are ignored', async () => {
    const family = await connect(gateway, client, person.email, {
      changes: { scope: 'website_read conversation_read offline_access' },
      wishes: { scope: ['website_read', 'conversation_read'] },
    });
    let { refresh } = family;
    for (const [scope, given] of [
      ['website_read conversation_read offline_access', 'website_read conversation_read'],
      ['conversation_read openid', 'conversation_read'],
      ['offline_access', 'website_read conversation_read'],
      ['', 'website_read conversation_read'],
    ] as const) {
      const answer = await refreshHosted(gateway, { client, refresh }, { scope });
      expect([answer.status, answer.body.scope], scope).toEqual([200, given]);
      refresh = answer.body.refresh_token;
    }
    const wider = { scope: 'contact_read offline_access' };
    expectRefused(await refreshHosted(gateway, { client, refresh }, wider), 'invalid_scope', 'a wider scope');
  });

  it('a refusal tells the client what a client without a secret sends', async () => {
    const family = await connect(gateway, client, person.email);
    const strange = await refreshHosted(gateway, { ...family, client: 'https://evil.example/client.json' });
    const form = { grant_type: 'refresh_token', refresh_token: family.refresh, resource: RESOURCE.mcp };
    for (const refused of [
      strange,
      await refreshHosted(gateway, family, { client_secret: 'x' }),
      await post(gateway, '/oauth/token', { ...form, client_id: client }, { authorization: 'Basic x' }),
    ]) {
      expectRefused(refused, 'invalid_client', refused.text);
      expect(refused.body.error_description).toContain('neither a secret nor an Authorization header');
      expect(refused.body.error_description).not.toContain('HTTP Basic');
    }
    const issued = await post(gateway, '/oauth/token', form, { authorization: 'Basic x' });
    expectRefused(issued, 'invalid_client', 'an issued credential');
    expect(issued.body.error_description).toContain('HTTP Basic');
  });

  it('LG-02 the log names credential, consent and host of a grant, a refusal and a revocation', async () => {
    const lines = (operation: string, n: number): Promise<Record<string, unknown>[]> =>
      eventually(() => {
        const found = gateway.log
          .map((line): Record<string, unknown> => JSON.parse(line))
          .filter((line) => line['operation'] === operation && line['consent'] === consent);
        expect(found.length).toBe(n);
        return found;
      });
    const family = await connect(gateway, client, person.email);
    const consent = await consentOf(family);
    const [row] = await gateway.database.sql`SELECT id FROM gateway.credential WHERE hosted_person = ${person.id}`;
    const actor = { credential: row?.['id'], consent, client_host: '127.0.0.1' };
    expect(await lines('oauth_token', 1)).toEqual([expect.objectContaining({ status: 200, ...actor })]);
    const next = await refreshHosted(gateway, family);
    expectRefused(await refreshHosted(gateway, family, { scope: 'contact_read' }), 'invalid_grant', 'reused');
    expect((await lines('oauth_token', 3)).slice(1)).toEqual([
      expect.objectContaining({ status: 200, ...actor }),
      expect.objectContaining({ code: 'invalid_grant', because: 'refresh_reused', ...actor }),
    ]);
    const other = await connect(gateway, client, person.email);
    const revoked = { token: other.access, client_id: client };
    expect((await post(gateway, '/oauth/revoke', revoked)).status).toBe(200);
    await eventually(() => expect(gateway.log.join('')).toContain('"audit":"revocation"'));
    const entry = gateway.log.map((line) => JSON.parse(line)).findLast((line) => line.operation === 'oauth_revoke');
    expect(entry).toMatchObject({ ...actor, consent: await consentOf(other), ended: 'token', decision: 'allowed' });
    expect(next.status).toBe(200);
  });

  it('a hosted credential is no OAuth client of its own', async () => {
    await connect(gateway, client, person.email);
    const [row] = await gateway.database.sql<{ id: string }[]>`
      SELECT id FROM gateway.credential WHERE hosted_person = ${person.id}`;
    const id = row?.id ?? '';
    await gateway.database.sql`UPDATE gateway.credential SET callbacks = '{https://app.example/cb}' WHERE id = ${id}`;
    expectPage(
      await authorize(formOf({ ...hostedRequest(id, pkce()), scope: 'website_read', state: 'x'.repeat(16) })),
      id,
    );
  });

  it('a lost answer to a refresh is given again for 10 s, until its refresh token is used', async () => {
    const family = await connect(gateway, client, person.email);
    const first = await refreshHosted(gateway, family);
    const again = await refreshHosted(gateway, family);
    expect([again.status, again.text]).toEqual([200, first.text]);
    const both = await Promise.all([1, 2, 3].map(() => refreshHosted(gateway, family)));
    for (const one of both) expect(one.text).toBe(first.text);
    expect(await tools(first.body.access_token)).toBe(200);
    const stranger = documents.serve(`/${randomUUID()}.json`);
    expectRefused(await refreshHosted(gateway, { ...family, client: stranger }), 'invalid_grant', 'another client');
    expect((await refreshHosted(gateway, family)).text, 'a stranger changes nothing').toBe(first.text);
    const next = { ...family, refresh: first.body.refresh_token };
    expect((await refreshHosted(gateway, next)).status).toBe(200);
    expectRefused(await refreshHosted(gateway, family), 'invalid_grant', 'the successor is used');
    expect(await because(gateway, await consentOf(family))).toBe('refresh_reused');
    expect(await tools(first.body.access_token)).toBe(401);
  });

  it('after 10 s the old refresh token ends the consent', async () => {
    const family = await connect(gateway, client, person.email);
    expect((await refreshHosted(gateway, family)).status).toBe(200);
    await pass(family, 9);
    expect((await refreshHosted(gateway, family)).status).toBe(200);
    await pass(family, 2);
    expectRefused(await refreshHosted(gateway, family), 'invalid_grant', 'late');
    expect(await because(gateway, await consentOf(family))).toBe('refresh_reused');
  });

  it('concurrent first refreshes get one answer', async () => {
    const family = await connect(gateway, client, person.email);
    const answers = await Promise.all(Array.from({ length: 8 }, () => refreshHosted(gateway, family)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    const [live] = await gateway.database.sql`SELECT count(*)::integer AS n FROM gateway.refresh_token
      WHERE consent_id = ${await consentOf(family)} AND used_at IS NULL`;
    expect(live?.['n']).toBe(1);
  });

  it('the store keeps only digests, and forgets the salt after the grace', async () => {
    const family = await connect(gateway, client, person.email);
    const { body } = await refreshHosted(gateway, family);
    const rows = await gateway.database.sql`
      SELECT r::text AS text FROM gateway.refresh_token r UNION ALL SELECT t::text FROM gateway.token t`;
    for (const secret of [family.refresh, family.access, body.refresh_token, body.access_token])
      expect(
        rows.some(
          ({ text }) => String(text).includes(secret) || String(text).includes(Buffer.from(secret).toString('hex')),
        ),
      ).toBe(false);
    const salts = async (): Promise<number> =>
      (
        await gateway.database.sql`SELECT 1 FROM gateway.refresh_token
        WHERE salt IS NOT NULL AND consent_id = ${await consentOf(family)}`
      ).length;
    expect(await salts()).toBe(1);
    await pass(family, 11);
    await upkeep({ db: gateway.database.db, registry: gateway.corridor.registry });
    expect(await salts()).toBe(0);
  });
});

describe('ends', () => {
  it('a host that is taken off the list ends its consents at once', async () => {
    const family = await connect(gateway, client, person.email);
    const { db } = gateway.database;
    expect(await endStrangeHosts(db, ['claude.ai', '127.0.0.1'])).toBe(0);
    expect(await tools(family.access)).toBe(200);
    // Also if an earlier step of upkeep fails.
    const failing: Database = {
      ...db,
      query: (statement) =>
        compile(statement).text.includes('sum_audit') ? Promise.reject(new Error('planted')) : db.query(statement),
    };
    const round = upkeep({ db: failing, registry: gateway.corridor.registry, clientHosts: ['claude.ai'] });
    await expect(round).rejects.toThrow('planted');
    expect(await tools(family.access)).toBe(401);
    expect(await because(gateway, await consentOf(family))).toBe('host');
    expectRefused(await refreshHosted(gateway, family), 'invalid_grant', 'ended');
  });

  it('an unbelieved host gets neither a page nor a token, and no request is sent to it', async () => {
    const family = await connect(gateway, client, person.email);
    const strict = await openTestGateway(
      'demo',
      { ...gateway.database, close: async () => undefined },
      KEYS,
      {},
      hostedOptions(documents, ['claude.ai']),
    );
    const asked = documents.asked.length;
    expectPage(
      await strict.ask(`/oauth/authorize?${formOf(hostedRequest(client, pkce()))}`, { unchecked: true }),
      'not on the list',
    );
    expectRefused(await refreshHosted(strict, family), 'invalid_client', 'not on the list');
    expect(documents.asked.length).toBe(asked);
    await strict.close();
    expect((await refreshHosted(gateway, family)).status).toBe(200);
  });

  it('the person, the role and the credential end it', async () => {
    const { sql } = gateway.database;
    const one = await connect(gateway, client, person.email);
    await sql`UPDATE gateway.person SET role = 'operator' WHERE id = ${person.id}`;
    expect(await tools(one.access)).toBe(401);
    expect(await because(gateway, await consentOf(one))).toBe('person');
    person = await newPerson(gateway, 'admin');
    const two = await connect(gateway, client, person.email);
    await sql`UPDATE gateway.credential SET revoked_at = now() WHERE hosted_person = ${person.id}`;
    expect(await tools(two.access)).toBe(401);
    const three = await connect(gateway, client, person.email);
    expect(await tools(three.access)).toBe(200);
    const apps = await sql`SELECT DISTINCT installation_id FROM gateway.credential WHERE hosted_person = ${person.id}`;
    expect(apps.length, 'the app of the revoked credential').toBe(1);
  });

  it('an operator cannot approve', async () => {
    const operator = await newPerson(gateway, 'operator');
    const query = formOf(hostedRequest(client, pkce()));
    const answer = await post(gateway, `/oauth/sign-in?${query}`, { email: operator.email, password: PASSWORD }, SAME);
    expect(answer.status).toBe(403);
  });
});

describe('more scopes', () => {
  it('a missing scope is HTTP 403 with all scopes of the operation, a missing flag is not', async () => {
    const family = await connect(gateway, client, person.email, {
      wishes: { scope: ['website_read', 'contact_read'] },
    });
    const call = (bearer: string, name: string, input: object = {}) =>
      rpc(gateway.port, bearer, 'tools/call', { name, arguments: input });
    const refused = await call(family.access, 'conversations_list', { website_id: 'web_1_1' });
    expect([refused.status, refused.headers['www-authenticate']]).toEqual([
      403,
      `Bearer error="insufficient_scope", scope="website_read conversation_read contact_read", resource_metadata="${BASE_URL}/.well-known/oauth-protected-resource/mcp"`,
    ]);
    expect(refused.body.error.data.code).toBe('not_permitted');
    expect(refused.body.error.message).toMatch(/Ask the person/);
    // No tick helps with a tool that is closed to consents, so only this is said.
    const closed = await call(family.access, 'subscriptions_list', { website_id: 'web_1_1' });
    expect([closed.status, closed.headers['www-authenticate'], closed.body.error.message]).toEqual([
      ...[200, undefined],
      'A token from a person’s consent cannot call this operation. Use an installation token.',
    ]);
    expect(closed.body.error.data.code).toBe('not_permitted');
    const more = await connect(gateway, client, person.email, {
      session: family.cookie,
      changes: { scope: 'website_read conversation_read message_content_read contact_read_pii' },
      wishes: { scope: ['website_read', 'conversation_read', 'message_content_read', 'contact_read_pii'] },
    });
    const taken = await call(more.access, 'conversations_list', { website_id: 'web_1_1' });
    expect([taken.status, taken.body.result.isError]).toEqual([200, false]);
    const [id] = /cnv_[0-9_]+/.exec(taken.text) ?? [];
    const masked = await call(more.access, 'conversation_messages', {
      website_id: 'web_1_1',
      conversation_id: id,
    });
    expect([masked.status, masked.headers['www-authenticate']]).toEqual([200, undefined]);
    expect(masked.text).toContain('Ask the person');
    const issued = await gateway.issue({ scopes: ['website_read'] });
    const plain = await call(issued.token, 'conversations_list', { website_id: 'web_1_1' });
    expect([plain.status, plain.headers['www-authenticate']]).toEqual([200, undefined]);
    expect(plain.body.error.message).toContain('Ask the operator');
  });

  it('a client that asks for exactly the named scopes loses none; MCP 2026-07-28 names those of the operation', async () => {
    const family = await connect(gateway, client, person.email, { wishes: { scope: ['website_read'] } });
    const list = { name: 'conversations_list', arguments: { website_id: 'web_1_1' } };
    const named = ({ headers }: Answer): string[] =>
      /scope="([^"]+)"/.exec(headers['www-authenticate'] ?? '')?.[1]?.split(' ') ?? [];
    const scope = named(await rpc(gateway.port, family.access, 'tools/call', list));
    const more = await connect(gateway, client, person.email, {
      session: family.cookie,
      changes: { scope: scope.join(' ') },
      wishes: { scope },
    });
    const statuses = ['websites_list', 'conversations_list'].map(
      async (name) =>
        (
          await rpc(gateway.port, more.access, 'tools/call', {
            ...list,
            name,
            ...(name === 'websites_list' && { arguments: {} }),
          })
        ).status,
    );
    expect(await Promise.all(statuses)).toEqual([200, 200]);
    const narrow = await connect(gateway, client, person.email, { wishes: { scope: ['website_read'] } });
    const now = await modern(gateway.port, narrow.access, 'tools/call', { ...list, _meta: ENVELOPE }, {});
    expect([now.status, named(now)]).toEqual([403, ['conversation_read']]);
  });
});

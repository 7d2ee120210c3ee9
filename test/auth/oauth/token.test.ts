import { createHash, randomBytes, randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openClientsByUrl } from '../../../src/auth/oauth/clients/by-url.ts';
import { OAuthContext, type OAuthRequest } from '../../../src/auth/oauth/context.ts';
import { clientAuthentication } from '../../../src/auth/oauth/rules/client-authentication.ts';
import { digestOf, newSecret, wellFormed } from '../../../src/auth/tokens.ts';
import { SCOPES, type Scope } from '../../../src/core/scopes.ts';
import { FairLimit } from '../../../src/flow/fair-limit.ts';
import { RateLimit, TokenBucket } from '../../../src/flow/rate-limit.ts';
import type { InstalledClient } from '../../../src/store/sign-in/clients.ts';
import type { Answer } from '../../support/answer.ts';
import { counting, freshDatabase } from '../../support/database.ts';
import { BASE_URL, openTestGateway, type TestGateway } from '../../support/gateway.ts';
import {
  basic,
  complete,
  consented,
  doorFrom,
  expectRefused,
  type Fields,
  formOf,
  mutated,
  newClient,
  newSession,
  pkce,
  post,
  RESOURCE,
  rawOf,
  readPairs,
  request,
  seedOf,
  type TestClient,
  token,
} from '../../support/oauth/oauth.ts';

let gateway: TestGateway;
let client: TestClient;
let session: string;
let statements = 0;

beforeAll(async () => {
  gateway = await openTestGateway(
    'demo',
    counting(await freshDatabase('demo'), () => statements++),
  );
  client = await newClient(gateway);
  session = await newSession(gateway, client);
});
afterAll(() => gateway.close());

const CREDENTIALS = { grant_type: 'client_credentials', resource: RESOURCE.rest } as const;
const RENEWABLE = { choice: { renewal: 'yes' } } as const;

const usable = async (access: string): Promise<number> =>
  (await gateway.ask('/api/v1/websites', { token: access })).status;
const refreshing = (refresh: string, more: Fields = {}): Fields => ({
  grant_type: 'refresh_token',
  refresh_token: refresh,
  resource: RESOURCE.rest,
  ...more,
});
const consent = (one = client, options: Parameters<typeof consented>[2] = {}): ReturnType<typeof consented> =>
  consented(gateway, one, { session, ...options });
const issued = async (): Promise<number> => {
  const [row] = await gateway.database.sql<{ count: number }[]>`SELECT count(*)::integer FROM gateway.token`;
  return row?.count ?? -1;
};

describe('the request', () => {
  it('OT-01 a form, by POST, and nothing beside it', async () => {
    const before = await issued();
    const form = formOf(CREDENTIALS);
    const authorization = basic(client);
    for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const answer = await gateway.ask(`/oauth/token?${form}`, { method, unchecked: true, headers: { authorization } });
      expect([answer.status, answer.headers.allow], method).toEqual([405, 'POST']);
    }
    for (const path of [`/oauth/token?${form}`, '/oauth/token?', '/oauth/token?x=1'])
      expectRefused(await post(gateway, path, form, { authorization }), 'invalid_request', path);
    expectRefused(
      await post(gateway, `/oauth/token?${form}`, '', { authorization }),
      'invalid_request',
      'in the query',
    );
    const types = [
      ...['application/json', 'text/plain', 'multipart/form-data; boundary=x'],
      ...['application/x-www-form-urlencoded; charset=latin1'],
    ].concat([
      'application/x-www-form-urlencoded; x=y',
      'application/x-www-form-urlencoded; charset="utf-8',
      'application/x-www-form-urlencodedx',
      '',
      'form',
    ]);
    for (const type of types)
      expectRefused(
        await post(gateway, '/oauth/token', form, { authorization, 'content-type': type }),
        'invalid_request',
        type,
      );
    const plain = { unchecked: true, raw: form, headers: { authorization } };
    expectRefused(await gateway.ask('/oauth/token', plain), 'invalid_request', 'no content type');
    const json = { unchecked: true, body: CREDENTIALS, headers: { authorization } };
    const asJson = await gateway.ask('/oauth/token', json);
    expectRefused(asJson, 'invalid_request', 'JSON');
    expect(asJson.body.error_description).toBe(
      'Send the body as application/x-www-form-urlencoded in UTF-8, without a content coding.',
    );
    const long = `${form}&scope=${'a'.repeat(16_384 - form.length - 6)}`;
    expect(long.length).toBeGreaterThan(16_384);
    for (const headers of [{ authorization }, { authorization, 'transfer-encoding': 'chunked' }]) {
      const tooLong = await post(gateway, '/oauth/token', long, headers);
      expectRefused(tooLong, 'invalid_request', 'too long');
      expect(tooLong.body.error_description).toContain('Send a smaller body.');
    }
    expectRefused(
      await post(gateway, '/oauth/token', long.slice(0, -1), { authorization }),
      'invalid_scope',
      'just not',
    );
    const squeezed = await post(gateway, '/oauth/token', form, { authorization, 'content-encoding': 'gzip' });
    expectRefused(squeezed, 'invalid_request', 'compressed');
    for (const name of ['authorization', 'content-type'] as const) {
      const value = { authorization, 'content-type': 'application/x-www-form-urlencoded' }[name];
      const headers = { authorization, 'content-type': 'application/x-www-form-urlencoded', [name]: [value, value] };
      expectRefused(
        await gateway.ask('/oauth/token', { raw: form, unchecked: true, headers }),
        'invalid_request',
        name,
      );
    }
    expect(await issued()).toBe(before);
    const types200 = [
      ...['application/x-www-form-urlencoded', 'Application/X-WWW-Form-Urlencoded; charset=UTF-8'],
      ...['application/x-www-form-urlencoded;', 'application/x-www-form-urlencoded; charset="utf-8"; '],
    ];
    for (const type of types200)
      expect((await post(gateway, '/oauth/token', form, { authorization, 'content-type': type })).status).toBe(200);
  });

  it('OT-02 the secret is taken from HTTP Basic alone', async () => {
    const { credential: client_id, secret: client_secret } = client;
    const inBody: readonly Fields[] = [
      { client_id, client_secret },
      { client_secret },
      { client_id, client_assertion: 'x' },
    ];
    for (const more of inBody) {
      expectRefused(await token(gateway, client, { ...CREDENTIALS, ...more }), 'invalid_request', 'both');
      expectRefused(await post(gateway, '/oauth/token', { ...CREDENTIALS, ...more }), 'invalid_client', 'body alone');
    }
    expectRefused(await post(gateway, '/oauth/token', { ...CREDENTIALS, client_id }), 'invalid_client', 'id alone');
    const other = { client_id: `crd_${'0'.repeat(32)}` };
    expectRefused(await token(gateway, client, { ...CREDENTIALS, ...other }), 'invalid_request', 'another id');
    const posing = { client_id: 'https://claude.ai/client.json' };
    expectRefused(await token(gateway, client, { ...CREDENTIALS, ...posing }), 'invalid_client', 'a URL');
    const [twice] = [`${formOf({ ...CREDENTIALS, client_id })}&client_id=${client_id}`];
    const authorization = basic(client);
    expectRefused(await post(gateway, '/oauth/token', twice, { authorization }), 'invalid_request', 'twice');
    // Common libraries repeat the client id and add parameters of their own (RFC 6749, section 3.2).
    for (const more of [{ client_id }, { audience: 'x', nonce: 'y', prompt: 'consent' }, { client_secret: '' }])
      expect((await token(gateway, client, { ...CREDENTIALS, ...more })).status, JSON.stringify(more)).toBe(200);
    expectRefused(await post(gateway, '/oauth/token', CREDENTIALS), 'invalid_client', 'neither');
    for (const authorization of [`Bearer ${client_secret}`, `Bearer ${client.token}`, `Digest ${client_secret}`])
      for (const more of [{}, { client_id }])
        expectRefused(
          await post(gateway, '/oauth/token', { ...CREDENTIALS, ...more }, { authorization }),
          'invalid_client',
          authorization,
        );
  });

  it('OT-03 id and secret are form-urlencoded before base64, whatever the case of the scheme', async () => {
    const { credential, secret } = client;
    const header = (text: string, scheme = 'Basic'): string => `${scheme} ${Buffer.from(text).toString('base64')}`;
    const ask = (authorization: string, more: Fields = {}): Promise<Answer> =>
      post(gateway, '/oauth/token', { ...CREDENTIALS, ...more }, { authorization });
    const all = (text: string): string =>
      [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
    const good = [header(`${credential}:${secret}`), header(`${credential}:${secret}`, 'basic')].concat(
      [header(`${credential}:${secret}`, 'BASIC'), header(`${all(credential)}:${all(secret)}`)],
      [header(`${credential}:${secret}`, 'Basic '), header(`${credential}:${secret}`, `Basic${' '.repeat(7)}`)],
      [header(`${credential.replace('_', '%5F')}:${secret.replace('_', '%5f')}`)],
    );
    // The client id in the body is the decoded id.
    for (const authorization of good)
      for (const more of [{}, { client_id: credential }])
        expect((await ask(authorization, more)).status, authorization).toBe(200);
    const bad = [
      ...[`${credential}:${secret}x`, `${credential}:${newSecret('secret')}`, `${credential}:`, `:${secret}`, ':'],
    ]
      .concat([
        ...[`${credential}${secret}`, `${secret}:${credential}`, `${credential}:${secret}:`],
        ...[`${credential}::${secret}`],
      ])
      .concat([
        ...[`${credential}:${secret}+`, `+${credential}:${secret}`, `${credential}: ${secret}`],
        ...[`${credential}:${secret}%`],
      ])
      .concat([
        ...[`${credential}:${secret}%00`, `${credential}\0:${secret}`, `${credential}:%ZZ`, `%ff:${secret}`],
        ...[`é:${secret}`],
      ])
      .concat([`${all(credential).replaceAll('%', '%25')}:${secret}`, `${client.installation}:${secret}`])
      .map((text) => header(text))
      .concat([
        'Basic',
        'Basic ',
        'Basic !!!!',
        'Basic Og',
        `Basic ${'A'.repeat(10_000)}`,
        header(`${credential}:${secret}`, 'Basic,'),
        header(`${credential}:${secret}`, `Basic${' '.repeat(8)}`),
        header(`${credential}:${secret}`, 'Basic\t'),
      ])
      .concat([
        `${header(`${credential}:${secret}`)} x`,
        `Basic "${Buffer.from(`${credential}:${secret}`).toString('base64')}"`,
      ]);
    for (const authorization of bad) {
      const answer = await ask(authorization);
      expectRefused(answer, 'invalid_client', authorization);
      expect(answer.headers['www-authenticate']).toMatch(/^Basic realm="[^"]+"/);
    }
  });

  it('OT-04 a code and a refresh take unknown parameters, and the client_id of HTTP Basic alone', async () => {
    const { exchange } = await consent(client, RENEWABLE);
    const more = { client_id: client.credential, audience: 'x', client_secret: '', 'a[b]': 'y' };
    const other = { ...more, client_id: `crd_${'0'.repeat(32)}` };
    expectRefused(await token(gateway, client, { ...exchange, ...other }), 'invalid_request', 'another id');
    const first = await token(gateway, client, { ...exchange, ...more });
    expect(first.status, first.text).toBe(200);
    const { refresh_token } = first.body;
    expectRefused(await token(gateway, client, refreshing(refresh_token, other)), 'invalid_request', 'another id');
    const next = await token(gateway, client, refreshing(refresh_token, more));
    expect(next.status, next.text).toBe(200);
  });

  it('OT-04 a parameter twice is refused, with one value or two', async () => {
    const { exchange } = await consent(client, RENEWABLE);
    const before = await issued();
    const forms: readonly Record<string, string>[] = [
      exchange,
      {
        grant_type: 'refresh_token',
        refresh_token: newSecret('refresh_test'),
        resource: RESOURCE.rest,
        scope: 'website_read',
      },
      { ...CREDENTIALS, scope: 'website_read' },
    ];
    for (const form of forms) {
      for (const [name, value] of Object.entries(form)) {
        for (const values of [
          [value, value],
          [value, 'x'],
          ['x', value],
          ['', value],
          [value, ''],
        ])
          expectRefused(
            await token(gateway, client, { ...form, [name]: values }),
            'invalid_request',
            `${name} ${values}`,
          );
      }
    }
    for (const grants of [
      ['client_credentials', 'password'],
      ['password', 'client_credentials'],
    ])
      expectRefused(
        await token(gateway, client, { ...CREDENTIALS, grant_type: grants }),
        'invalid_request',
        `${grants}`,
      );
    expect(await issued()).toBe(before);
    expect((await token(gateway, client, exchange)).status).toBe(200);
  });

  it('OT-12 three grant types', async () => {
    const password = { username: 'x', password: 'x' };
    const types = [
      ...['password', 'implicit', 'urn:ietf:params:oauth:grant-type:device_code', 'Client_credentials', 'x'],
      ...['toString'],
    ]
      .concat(['urn:ietf:params:oauth:grant-type:jwt-bearer', 'urn:ietf:params:oauth:grant-type:token-exchange'])
      .concat([
        ...['urn:ietf:params:oauth:grant-type:saml2-bearer', 'client_credentials ', '__proto__', 'token'],
        ...['a'.repeat(10_000)],
      ]);
    for (const grant_type of types) {
      expectRefused(
        await token(gateway, client, { grant_type, resource: RESOURCE.rest }),
        'unsupported_grant_type',
        grant_type,
      );
      expectRefused(await token(gateway, client, { grant_type, ...password }), 'unsupported_grant_type', grant_type);
      expectRefused(await token(gateway, client, { grant_type }), 'unsupported_grant_type', grant_type);
    }
    for (const form of ['', 'grant_type=', 'grant_type', 'x=y', 'grant_type=%00', 'grant_type=%ZZ'])
      expectRefused(
        await post(gateway, '/oauth/token', form, { authorization: basic(client) }),
        'invalid_request',
        form,
      );
  });
});

describe('the answer', () => {
  it('OT-05 every answer is JSON and not stored; a token says what it is', async () => {
    const { exchange } = await consent(client, RENEWABLE);
    const granted = await token(gateway, client, exchange);
    const refreshed = await token(gateway, client, refreshing(granted.body.refresh_token));
    const own = await token(gateway, client, { ...CREDENTIALS, scope: 'contact_read website_read' });
    for (const { status, headers, body } of [granted, refreshed, own]) {
      expect([status, headers['cache-control'], headers['content-type']]).toEqual([
        200,
        'no-store',
        'application/json',
      ]);
      expect(body).toMatchObject({
        token_type: 'Bearer',
        resource: RESOURCE.rest,
        access_token: expect.stringMatching(/^igwa_test_/),
      });
      expect(Number.isInteger(body.expires_in) && body.expires_in > 890 && body.expires_in <= 900).toBe(true);
    }
    expect(Object.keys(own.body).sort()).toEqual([
      ...['access_token', 'expires_in', 'resource', 'scope', 'scope_effective', 'token_type'],
    ]);
    for (const { body } of [granted, refreshed, own]) {
      const { scope_effective, expires_in, access_token } = body;
      expect(scope_effective.scopes.join(' ')).toBe(body.scope);
      expect(Math.abs(scope_effective.expires_at - Date.now() / 1_000 - expires_in)).toBeLessThan(5);
      const context = await gateway.ask('/api/v1/context', { token: access_token });
      expect(context.body.scope_effective).toEqual(scope_effective);
    }
    expect(own.body.scope).toBe('website_read contact_read');
    for (const { body } of [granted, refreshed]) {
      expect(body).toMatchObject({
        scope: 'website_read conversation_read',
        refresh_token: expect.stringMatching(/^igwr_test_/),
      });
      expect(Number.isInteger(body.refresh_expires_in) && body.refresh_expires_in > 3_590).toBe(true);
      expect(body.refresh_expires_in).toBeLessThanOrEqual(3_600);
    }
    expectRefused(await token(gateway, client, { ...exchange, code: 'x' }), 'invalid_grant', 'code');
  });

  it('OT-11 client credentials: no refresh token, narrowed at will, widened never, not beyond the credential', async () => {
    const scopes: Scope[] = ['website_read', 'conversation_read', 'contact_read'];
    const narrow = await newClient(gateway, { scopes, websites: ['web_1_1', 'web_1_2'], expires: '5 minutes' });
    const ask = (fields: Fields): Promise<Answer> => token(gateway, narrow, { ...CREDENTIALS, ...fields });
    const whole = await ask({});
    expect(whole.body.scope.split(' ').sort()).toEqual([...scopes].sort());
    expect(whole.body.expires_in).toBeGreaterThan(290);
    expect(whole.body.expires_in).toBeLessThanOrEqual(300);
    expect('refresh_token' in whole.body).toBe(false);
    const less = await ask({ scope: 'conversation_read website_read', website_id: 'web_1_2' });
    const context = await gateway.ask('/api/v1/context', { token: less.body.access_token });
    expect(context.body.scopes.sort()).toEqual(['conversation_read', 'website_read']);
    const { websites } = (await gateway.ask('/api/v1/websites', { token: less.body.access_token })).body;
    expect(websites.map((one: { website_id: string }) => one.website_id)).toEqual(['web_1_2']);
    for (const scope of [
      ...['', ' ', 'reports_read', 'website_read reports_read', 'website_read website_read', 'website_read '],
    ])
      expectRefused(await ask({ scope }), 'invalid_scope', scope);
    expectRefused(await ask({ scope: SCOPES.join(' ') }), 'invalid_scope', 'all');
    for (const website_id of [
      'web_1_3',
      'web_2_1',
      '',
      'x',
      ['web_1_1', 'web_1_1'],
      ['web_1_1', 'web_1_3'],
      ['web_1_1', ''],
    ])
      expectRefused(await ask({ website_id }), 'invalid_scope', `${website_id}`);
    expect((await ask({ website_id: ['web_1_2', 'web_1_1'] })).status).toBe(200);
    expectRefused(await ask({ resource: '' }), 'invalid_target', 'no resource');
    expectRefused(await token(gateway, narrow, { grant_type: 'client_credentials' }), 'invalid_target', 'no resource');
    expectRefused(await ask({ resource: [RESOURCE.rest, RESOURCE.rest] }), 'invalid_request', 'two resources');
    for (const resource of [
      ...[`${BASE_URL}/`, `${BASE_URL}/mcp/`, 'mcp', 'https://127.0.0.1:8420', `${BASE_URL}/a2a#`, 'x'],
    ])
      expectRefused(await ask({ resource }), 'invalid_target', resource);
    const dying = await newClient(gateway, { expires: '1 second' });
    const short = await token(gateway, dying, CREDENTIALS);
    expect(short.body.expires_in).toBe(0);
  });

  it('a policy that was changed holds for the next token, on a server that remembers the client', async () => {
    const changing = await newClient(gateway, { scopes: ['website_read'], websites: ['web_1_1'] });
    const ask = (fields: Fields): Promise<Answer> => token(gateway, changing, { ...CREDENTIALS, ...fields });
    expect((await ask({})).body.scope).toBe('website_read');
    const { sql } = gateway.database;
    await sql`UPDATE gateway.credential SET scopes = ${['website_read', 'contact_read']}, sites = ${[1, 2]}::bigint[],
      revision = revision + 1 WHERE id = ${changing.credential}`;
    const wider = await ask({ scope: 'contact_read', website_id: 'web_1_2' });
    expect([wider.status, wider.body.scope], wider.text).toEqual([200, 'contact_read']);
    expect((await ask({})).body.scope).toBe('website_read contact_read');
    await sql`UPDATE gateway.credential SET scopes = ${['website_read']}, revision = revision + 1 WHERE id = ${changing.credential}`;
    const narrower = await ask({});
    expect(narrower.body.scope).toBe('website_read');
    const [row] = await sql`SELECT scopes FROM gateway.token WHERE digest = ${digestOf(narrower.body.access_token)}`;
    expect(row?.['scopes']).toEqual(['website_read']);
    expectRefused(await ask({ scope: 'contact_read' }), 'invalid_scope', 'taken away');
  });
});

describe('the code', () => {
  it('OT-06 a wrong verifier gives nothing and burns the code; a malformed one is no verifier', async () => {
    const { exchange, proof } = await consent();
    const malformed = [
      '',
      proof.verifier.slice(1),
      proof.verifier.slice(0, 42),
      'a'.repeat(129),
      `${proof.verifier}+`,
    ].concat([
      ...[`${proof.verifier} `, `${proof.verifier}=`, `${proof.verifier.slice(0, 42)}é`, `${proof.verifier}/`],
      ...['a'.repeat(10_000)],
    ]);
    for (const code_verifier of malformed)
      expectRefused(await token(gateway, client, { ...exchange, code_verifier }), 'invalid_request', code_verifier);
    const { code_verifier: _, ...without } = exchange;
    expectRefused(await token(gateway, client, without), 'invalid_request', 'missing');
    const { resource: _target, ...untargeted } = exchange;
    const refused = await token(gateway, client, untargeted);
    expectRefused(refused, 'invalid_target', 'no resource');
    expect(refused.body.error_description).toContain(`Send one of: ${BASE_URL}, ${BASE_URL}/mcp, ${BASE_URL}/a2a.`);
    // The gateway refused these requests before it looked up the authorization code, so the code is still valid.
    expect((await token(gateway, client, exchange)).status).toBe(200);
    const wrong = [pkce().verifier, 'a'.repeat(43), 'a'.repeat(128), proof.challenge];
    for (const code_verifier of wrong) {
      const { exchange } = await consent();
      expectRefused(await token(gateway, client, { ...exchange, code_verifier }), 'invalid_grant', code_verifier);
      expectRefused(await token(gateway, client, exchange), 'invalid_grant', 'burnt');
    }
    for (const verifier of ['a'.repeat(43), '-._~'.repeat(32)]) {
      const challenge = createHash('sha256').update(verifier).digest('base64url');
      const { exchange } = await consent(client, { changes: { code_challenge: challenge } });
      expect((await token(gateway, client, { ...exchange, code_verifier: verifier })).status).toBe(200);
    }
  });

  it('OT-07 a code is of its client, callback and resource, and of one minute', async () => {
    const other = await newClient(gateway);
    const callbacks = ['https://app.example/cb', 'https://app.example/cb2'];
    await gateway.database.sql`UPDATE gateway.credential SET callbacks = ${callbacks} WHERE id = ${client.credential}`;
    const { exchange } = await consent();
    expectRefused(await token(gateway, other, exchange), 'invalid_grant', 'another client');
    expect((await token(gateway, client, exchange)).status).toBe(200);
    for (const redirect_uri of ['https://app.example/cb2', 'https://app.example/cb/', 'HTTPS://app.example/cb', 'x']) {
      const { exchange } = await consent();
      expectRefused(await token(gateway, client, { ...exchange, redirect_uri }), 'invalid_grant', redirect_uri);
      expectRefused(await token(gateway, client, exchange), 'invalid_grant', 'burnt');
    }
    for (const resource of [RESOURCE.mcp, RESOURCE.a2a]) {
      const { exchange } = await consent();
      expectRefused(await token(gateway, client, { ...exchange, resource }), 'invalid_target', resource);
      expectRefused(await token(gateway, client, exchange), 'invalid_grant', 'burnt');
    }
    for (const [seconds, status] of [
      [-59, 200],
      [-61, 400],
      [-121, 400],
    ] as const) {
      const { exchange, code } = await consent();
      await gateway.database.sql`UPDATE gateway.consent
        SET code_expires_at = code_expires_at + make_interval(secs => ${seconds}) WHERE code_digest = ${digestOf(code)}`;
      const answer = await token(gateway, client, exchange);
      expect(answer.status, String(seconds)).toBe(status);
      if (status === 400) expectRefused(answer, 'invalid_grant', String(seconds));
    }
    const { code } = await consent();
    const [row] = await gateway.database.sql`SELECT extract(epoch FROM code_expires_at - created_at)::integer AS life
      FROM gateway.consent WHERE code_digest = ${digestOf(code)}`;
    expect(row?.['life']).toBe(60);
    for (const code of ['x', newSecret('code'), newSecret('refresh_test'), client.token, 'a'.repeat(10_000)])
      expectRefused(await token(gateway, client, { ...exchange, code }), 'invalid_grant', code);
  });

  it('OT-09 a replay by another client or with bad authentication is refused and ends nothing; by its own it does', async () => {
    const other = await newClient(gateway);
    const { exchange } = await consent(client, RENEWABLE);
    const granted = await token(gateway, client, exchange);
    const { access_token, refresh_token } = granted.body;
    expectRefused(await token(gateway, other, exchange), 'invalid_grant', 'another client');
    for (const secret of [newSecret('secret'), other.secret, 'x'])
      expectRefused(await token(gateway, { ...client, secret }, exchange), 'invalid_client', secret);
    expectRefused(await post(gateway, '/oauth/token', exchange), 'invalid_client', 'no client');
    expect(await usable(access_token)).toBe(200);
    const second = await token(gateway, client, refreshing(refresh_token));
    expect(second.status).toBe(200);
    expectRefused(await token(gateway, client, exchange), 'invalid_grant', 'its own client');
    expect([await usable(access_token), await usable(second.body.access_token)]).toEqual([401, 401]);
    expectRefused(await token(gateway, client, refreshing(second.body.refresh_token)), 'invalid_grant', 'refresh');
  });
});

describe('the refresh token', () => {
  it('OT-15 of another client, for another resource or for more it is refused, and lives on', async () => {
    const other = await newClient(gateway);
    const { exchange } = await consent(client, RENEWABLE);
    const first = (await token(gateway, client, exchange)).body;
    const refused: readonly [TestClient, Fields, string][] = [
      [other, {}, 'invalid_grant'],
      [client, { resource: RESOURCE.mcp }, 'invalid_target'],
      [client, { resource: RESOURCE.a2a }, 'invalid_target'],
      [client, { resource: `${BASE_URL}/` }, 'invalid_target'],
      [client, { resource: '' }, 'invalid_target'],
      [client, { scope: 'website_read contact_read' }, 'invalid_scope'],
      [client, { scope: 'contact_read' }, 'invalid_scope'],
      [client, { scope: 'website_read website_read' }, 'invalid_scope'],
      [client, { scope: '' }, 'invalid_scope'],
      [client, { scope: 'nonsense' }, 'invalid_scope'],
      [client, { website_id: 'web_1_1' }, 'invalid_request'],
      [client, { refresh_token: newSecret('refresh_test') }, 'invalid_grant'],
      [client, { refresh_token: first.access_token }, 'invalid_grant'],
      [client, { refresh_token: exchange['code'] ?? '' }, 'invalid_grant'],
      [client, { refresh_token: 'x' }, 'invalid_grant'],
      [client, { refresh_token: '' }, 'invalid_request'],
    ];
    for (const [one, more, error] of refused)
      expectRefused(await token(gateway, one, refreshing(first.refresh_token, more)), error, JSON.stringify(more));
    expect(await usable(first.access_token)).toBe(200);
    const narrowed = await token(gateway, client, refreshing(first.refresh_token, { scope: 'website_read' }));
    expect([narrowed.status, narrowed.body.scope]).toEqual([200, 'website_read']);
    const context = await gateway.ask('/api/v1/context', { token: narrowed.body.access_token });
    expect(context.body.scopes).toEqual(['website_read']);
    // A refresh with a smaller scope does not narrow the consent (RFC 6749, section 6).
    const whole = await token(gateway, client, refreshing(narrowed.body.refresh_token));
    expect(whole.body.scope).toBe('website_read conversation_read');
    expectRefused(await token(gateway, other, refreshing(first.refresh_token)), 'invalid_grant', 'stranger, used');
    expect(await usable(whole.body.access_token)).toBe(200);
  });
});

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** Computes the checksum of a secret independently of the product's code. */
function resigned(body: string): string {
  let rest = crc32(body);
  let digits = '';
  for (let at = 0; at < 6; at++) {
    digits = (BASE62[rest % 62] ?? '') + digits;
    rest = Math.floor(rest / 62);
  }
  return body + digits;
}
const mean = (all: readonly number[]): number => all.reduce((sum, one) => sum + one, 0) / all.length;

function welch(a: readonly number[], b: readonly number[]): number {
  const spread = (all: readonly number[], middle = mean(all)): number =>
    all.reduce((sum, one) => sum + (one - middle) ** 2, 0) / (all.length - 1) / all.length;
  return (mean(a) - mean(b)) / Math.sqrt(spread(a) + spread(b));
}

const mistyped = (secret: string): string => secret.slice(0, -1) + (secret.endsWith('a') ? 'b' : 'a');

describe('secrets', () => {
  it('TK-01 a mistyped secret, code, refresh token, token to revoke or session costs no query', async () => {
    const { exchange, code } = await consent(client, RENEWABLE);
    const { access_token, refresh_token } = (await token(gateway, client, exchange)).body;
    // Take the smallest of three counts, because a background statement of the gateway can make a count too high.
    const cost = async (run: () => Promise<Answer>): Promise<number> => {
      const costs: number[] = [];
      for (let n = 0; n < 3; n++) {
        const before = statements;
        await run();
        costs.push(statements - before);
      }
      return Math.min(...costs);
    };
    const revoke = (secret: string) => () =>
      post(gateway, '/oauth/revoke', { token: secret }, { authorization: basic(client) });
    const with_ = (more: Fields) => () => token(gateway, client, { ...exchange, ...more });
    const free: readonly [string, () => Promise<Answer>][] = [
      ['secret', () => token(gateway, { ...client, secret: mistyped(client.secret) }, CREDENTIALS)],
      ['secret of another kind', () => token(gateway, { ...client, secret: 'x' }, CREDENTIALS)],
      ['code', with_({ code: mistyped(code) })],
      ['refresh token', () => token(gateway, client, refreshing(mistyped(refresh_token)))],
      ['revoked access token', revoke(mistyped(access_token))],
      ['revoked refresh token', revoke(mistyped(refresh_token))],
      ['access token', () => gateway.ask('/api/v1/websites', { token: mistyped(access_token) })],
      ['refresh token as bearer', () => gateway.ask('/api/v1/websites', { token: refresh_token })],
      ['code as bearer', () => gateway.ask('/api/v1/websites', { token: code })],
      ['secret as bearer', () => gateway.ask('/api/v1/websites', { token: client.secret })],
    ];
    for (const [name, run] of free) expect(await cost(run), name).toBe(0);
    const session = newSecret('session');
    const page = (secret: string) => () =>
      gateway.ask(`/oauth/authorize?${formOf(request(client, pkce()))}`, {
        unchecked: true,
        headers: { cookie: `igw_session=${secret}` },
      });
    expect([await cost(page(mistyped(session))), await cost(page(session))]).toEqual([1, 2]);
    // Only a well-formed secret costs a database query.
    const asking: readonly [string, () => Promise<Answer>][] = [
      ['secret', () => token(gateway, { ...client, secret: newSecret('secret') }, CREDENTIALS)],
      ['code', with_({ code: newSecret('code') })],
      ['refresh token', () => token(gateway, client, refreshing(newSecret('refresh_test')))],
      ['revoked token', revoke(newSecret('access_test'))],
      ['access token', () => gateway.ask('/api/v1/websites', { token: newSecret('access_test') })],
    ];
    for (const [name, run] of asking) expect(await cost(run), name).toBe(1);
    expect(await usable(access_token)).toBe(200);
  });

  it('TK-03 an unknown client, a known one and a remembered one with a wrong secret cost the same work', async () => {
    const known: InstalledClient = {
      kind: 'installed',
      id: `crd_${'a'.repeat(32)}`,
      revision: 1,
      environment: 'test',
      tenant: '1',
      organization: 'x',
      movedTo: null,
      name: 'x',
      scopes: [],
      dataAccess: [],
      restricted: false,
      redirects: [],
      websites: [],
      secretDigest: Buffer.from(randomBytes(32).toString('hex'), 'hex'),
      oldSecretDigest: null,
      admits: null,
    };
    const failures = new RateLimit({ perMinute: 1e12, burst: 1e12 });
    const secrets = Array.from({ length: 64 }, () => newSecret('secret'));
    const ids = ['a', 'b', 'c'].map((end) => `crd_${'0'.repeat(31)}${end}`);
    // Both maps contain all three ids. Otherwise, a missing id would change the time of a look-up.
    const memory = new Map(ids.map((id, kind) => [id, kind === 0 ? known : undefined]));
    const store = new Map(ids.map((id, kind) => [id, kind < 2 ? known : undefined]));
    const services = {
      baseUrl: BASE_URL,
      failures,
      lookups: new RateLimit({ perMinute: 6, burst: 6 }),
      strangers: new TokenBucket({ perMinute: 6, burst: 6 }),
      suspects: new FairLimit({ atOnce: 1, waiting: 1 }),
      skillScopes: [],
      byUrl: openClientsByUrl({ hosts: [], longest: 0, fetch: async () => undefined }),
      db: gateway.database.db,
      installed: {
        remembered: (id: string) => memory.get(id),
        fresh: async (id: string) => store.get(id),
      },
    };
    const requests = ids.map((credential) =>
      secrets.map(
        (secret): OAuthRequest => ({
          parameters: new Map(),
          authorization: basic({ credential, secret }),
          origin: undefined,
          fetchSite: undefined,
          session: undefined,
          source: '127.0.0.1',
        }),
      ),
    );
    const time = async (kind: number, at: number): Promise<number> => {
      const one = requests[kind]?.[at % secrets.length];
      if (!one) throw new Error('no request');
      const context = new OAuthContext('client_credentials', one, services);
      const began = process.hrtime.bigint();
      await Promise.resolve(clientAuthentication(context)).catch(() => undefined);
      return Number(process.hrtime.bigint() - began);
    };
    /**
     * Compares the times of each kind of client with the times of an unknown client. Uses the fastest nine tenths of
     * the times (dudect). Returns Welch's t and the relative extra time.
     */
    const round = async (): Promise<{ t: number; longer: number }[]> => {
      const times: number[][] = [[], [], []];
      for (let at = 0; at < 30_000; at++) {
        const kind = randomInt(3);
        const took = await time(kind, at);
        // The first calls run before the code is compiled, so their times do not count.
        if (at > 6_000) times[kind]?.push(took);
      }
      const limit = times.flat().sort((a, b) => a - b)[Math.floor(times.flat().length * 0.9)] ?? 0;
      const [remembered = [], stored = [], unknown = []] = times.map((all) => all.filter((one) => one <= limit));
      return [remembered, stored].map((all) => ({ t: welch(all, unknown), longer: mean(all) / mean(unknown) - 1 }));
    };
    const even = ({ t, longer }: { t: number; longer: number }): boolean =>
      Math.abs(t) < 4.5 || Math.abs(longer) < 0.012;
    const rounds: { t: number; longer: number }[][] = [];
    const judged = (): boolean => [0, 1].every((kind) => rounds.some((all) => all[kind] && even(all[kind])));
    while (rounds.length < 3 && !judged()) rounds.push(await round());
    console.info(`TK-03 against an unknown client, remembered and stored: ${JSON.stringify(rounds)}`);
    // The times of a known and an unknown client differ by 0.1 to 0.8 %, because the compiler makes one code path some
    // nanoseconds slower. This difference can raise t above 4.5. With the comparison of the secrets removed, the
    // difference was 2 to 4 %.
    expect(judged(), JSON.stringify(rounds)).toBe(true);
  });

  it('TK-04 live and test are told by the prefix, and a right checksum under the other one helps nobody', async () => {
    for (const environment of ['live', 'test'] as const) {
      const one = await newClient(gateway, { environment });
      const other = environment === 'live' ? 'test' : 'live';
      const { exchange } = await consent(one, RENEWABLE);
      const { access_token, refresh_token } = (await token(gateway, one, exchange)).body;
      const own = (await token(gateway, one, CREDENTIALS)).body.access_token;
      const swapped = (secret: string): string => {
        const bad = resigned(secret.slice(0, -6).replace(`_${environment}_`, `_${other}_`));
        expect([wellFormed(bad), bad === secret]).toEqual([true, false]);
        return bad;
      };
      for (const access of [access_token, own]) {
        expect(access).toMatch(new RegExp(`^igwa_${environment}_[0-9A-Za-z]{49}$`));
        expect(access).toBe(resigned(access.slice(0, -6)));
        expect([await usable(swapped(access)), await usable(access)]).toEqual([401, 200]);
        expect((await gateway.ask('/api/v1/context', { token: access })).body.environment).toBe(environment);
      }
      expect(refresh_token).toMatch(new RegExp(`^igwr_${environment}_[0-9A-Za-z]{49}$`));
      expectRefused(await token(gateway, one, refreshing(swapped(refresh_token))), 'invalid_grant', environment);
      expect((await token(gateway, one, refreshing(refresh_token))).status).toBe(200);
    }
  });
});

describe('RL-03 failed client authentication', () => {
  it('RL-03 sixty from one address, then 429 with Retry-After; the client it remembers and other addresses pass', async () => {
    const throttled = await openTestGateway('demo');
    try {
      const mine = await newClient(throttled);
      const late = await newClient(throttled);
      const third = await newClient(throttled);
      const here = doorFrom(throttled.port, '127.0.0.1');
      const there = doorFrom(throttled.port, '127.0.0.2');
      const bad = { authorization: basic({ credential: mine.credential, secret: newSecret('secret') }) };
      expect((await token(here, mine, CREDENTIALS)).status).toBe(200);
      for (let at = 0; at < 70; at++)
        expect((await token(here, at % 2 === 0 ? mine : third, CREDENTIALS)).status).toBe(200);
      const began = performance.now();
      let failed = 0;
      let refused = await post(here, '/oauth/token', CREDENTIALS, bad);
      while (refused.status === 401 && failed < 200) {
        failed++;
        refused = await post(
          here,
          failed % 2 === 0 ? '/oauth/token' : '/oauth/revoke',
          failed % 2 === 0 ? CREDENTIALS : { token: 'x' },
          bad,
        );
      }
      // An address may have 60 failures plus six more look-ups. The six look-ups exist because several clients can
      // share an address. The address gets one attempt back each second.
      const back = Math.ceil((performance.now() - began) / 1_000);
      expect(failed).toBeGreaterThanOrEqual(66);
      expect(failed).toBeLessThanOrEqual(66 + back + Math.ceil(back / 10));
      expectRefused(refused, 'slow_down', 'the sixty-first');
      expect(refused.headers['retry-after']).toMatch(/^[1-9][0-9]*$/);
      expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60);
      const wrong = { authorization: basic({ credential: late.credential, secret: newSecret('secret') }) };
      expectRefused(await post(here, '/oauth/token', CREDENTIALS, wrong), 'invalid_client', 'another client');
      expect((await token(here, late, CREDENTIALS)).status).toBe(200);
      // At its limit, an address gains nothing from a forged proxy header. A different client id helps the address only
      // a few times.
      for (let at = 0; at < 8; at++) await post(here, '/oauth/token', CREDENTIALS, wrong);
      for (const headers of [
        { 'x-forwarded-for': '203.0.113.9' },
        { 'x-real-ip': '203.0.113.9', forwarded: 'for=203.0.113.9' },
        { authorization: 'Basic x' },
        wrong,
      ]) {
        const answer = await post(here, '/oauth/token', CREDENTIALS, { ...bad, ...headers });
        expectRefused(answer, 'slow_down', JSON.stringify(headers));
      }
      for (let at = 0; at < 20; at++) {
        await post(here, '/oauth/token', CREDENTIALS, bad);
        expect((await token(here, mine, CREDENTIALS)).status).toBe(200);
      }
      // The gateway still accepts a client that it already knows. This is also true when the gateway must read the
      // client's changed policy again.
      await throttled.database.sql`UPDATE gateway.credential SET revision = revision + 1 WHERE id = ${mine.credential}`;
      expect((await token(here, mine, CREDENTIALS)).status).toBe(200);
      expectRefused(await post(there, '/oauth/token', CREDENTIALS, bad), 'invalid_client', 'another address');
      expect((await token(there, late, CREDENTIALS)).status).toBe(200);
      expect((await token(here, late, CREDENTIALS)).status).toBe(200);
      let again = await post(here, '/oauth/token', CREDENTIALS, bad);
      while (again.status !== 429) again = await post(here, '/oauth/token', CREDENTIALS, bad);
      await pause(Number(again.headers['retry-after']) * 1_000 + 20);
      expectRefused(await post(here, '/oauth/token', CREDENTIALS, bad), 'invalid_client', 'after Retry-After');
    } finally {
      await throttled.close();
    }
  });

  it('RL-03 a client that is remembered stays so while others fail in its name or ask for its consent page', async () => {
    const throttled = await openTestGateway('demo');
    try {
      const mine = await newClient(throttled);
      const second = await newClient(throttled);
      const here = doorFrom(throttled.port);
      for (const one of [mine, second]) expect((await token(here, one, CREDENTIALS)).status).toBe(200);
      const bad = { authorization: 'Basic x' };
      for (let at = 0; at < 62; at++) await post(here, '/oauth/token', CREDENTIALS, bad);
      let done = false;
      const query = formOf(request(mine, pkce()));
      const others = Promise.all(
        Array.from({ length: 4 }, async () => {
          while (!done) await here.ask(`/oauth/authorize?${query}`);
        }),
      );
      const flood = (async () => {
        while (!done) await post(here, '/oauth/token', CREDENTIALS, bad);
      })();
      const statuses: number[] = [];
      for (let at = 0; at < 100; at++)
        statuses.push((await token(here, at % 2 === 0 ? mine : second, CREDENTIALS)).status);
      done = true;
      await Promise.all([others, flood]);
      expect(statuses.filter((status) => status !== 200)).toEqual([]);
    } finally {
      await throttled.close();
    }
  });
});

describe('HT-02 broken in any way', () => {
  const seed = seedOf('token requests');
  const KINDS = ['missing', 'empty', 'repeated', 'other value', 'escape', 'control', 'long', 'nameless'] as const;
  const REQUIRED = {
    client_credentials: ['grant_type', 'resource'],
    authorization_code: ['grant_type', 'code', 'redirect_uri', 'code_verifier', 'resource'],
    refresh_token: ['grant_type', 'refresh_token', 'resource'],
  } as const;

  it.each(['client_credentials', 'authorization_code', 'refresh_token'] as const)(
    'HT-02 property: no broken %s request gives a token or uses anything up',
    async (grant) => {
      let live = await consent(client, RENEWABLE);
      const refresh = (await token(gateway, client, live.exchange)).body.refresh_token;
      live = await consent(client, RENEWABLE);
      const fields = (): Record<string, string> =>
        grant === 'client_credentials'
          ? { ...CREDENTIALS }
          : grant === 'authorization_code'
            ? live.exchange
            : { grant_type: grant, refresh_token: refresh, resource: RESOURCE.rest };
      const mutation = fc.record({
        name: fc.constantFrom(...REQUIRED[grant]),
        kind: fc.constantFrom(...KINDS),
        pick: fc.nat(1_000),
      });
      const before = await issued();
      await fc.assert(
        fc.asyncProperty(fc.array(mutation, { minLength: 1, maxLength: 3 }), async (broken) => {
          const pairs = mutated(fields(), broken);
          const raw = rawOf(pairs);
          const answer = await post(gateway, '/oauth/token', raw, { authorization: basic(client) });
          const why = JSON.stringify(broken);
          const read = readPairs(pairs);
          const grants = (read ?? []).filter(([name]) => name === 'grant_type').map(([, value]) => value);
          // The gateway refuses an unknown grant type before it checks anything else.
          const foreign = grants.length === 1 && grants[0] !== '' && grants[0] !== grant;
          // A token request without a `resource` parameter has no target, so the gateway refuses the request (OT-11).
          const targets = (read ?? []).filter(([name]) => name === 'resource').map(([, value]) => value);
          const untargeted = targets.length === 0 || (targets.length === 1 && targets[0] === '');
          const others = (read ?? []).filter(([name]) => name !== 'resource');
          const whole = untargeted ? [...others, ['resource', 'x'] as const] : read;
          const outright = raw.length > 16_384 || (!foreign && !(read && complete(whole, fields())));
          if (foreign && raw.length <= 16_384) expectRefused(answer, 'unsupported_grant_type', why);
          else if (outright) expectRefused(answer, 'invalid_request', why);
          else
            expectRefused(
              answer,
              untargeted ? /^invalid_(request|target)$/ : /^invalid_(request|grant|scope|target)$/,
              why,
            );
          expect(answer.text, why).not.toMatch(/zzz|aaaaaaaa/);
          // A request with a wrong callback uses up the code on purpose.
          if (answer.body.error === 'invalid_grant' && grant === 'authorization_code')
            live = await consent(client, RENEWABLE);
        }),
        { seed, numRuns: 200, verbose: true },
      );
      expect(await issued()).toBe(before);
      expect((await token(gateway, client, fields())).status).toBe(200);
    },
  );

  it('HT-02 property: a broken revocation ends nothing', async () => {
    const { access_token } = (await token(gateway, client, CREDENTIALS)).body;
    const form = { token: access_token, token_type_hint: 'access_token' };
    const kinds = KINDS.filter((kind) => kind !== 'long');
    const mutation = fc.oneof(
      fc.record({ name: fc.constant('token'), kind: fc.constantFrom(...kinds), pick: fc.nat(1_000) }),
      fc.record({
        name: fc.constant('token_type_hint'),
        kind: fc.constantFrom('repeated', 'other value', 'escape', 'control', 'nameless'),
        pick: fc.nat(1_000),
      } as const),
    );
    await fc.assert(
      fc.asyncProperty(mutation, async (broken) => {
        const raw = rawOf(mutated(form, [broken]));
        expectRefused(
          await post(gateway, '/oauth/revoke', raw, { authorization: basic(client) }),
          'invalid_request',
          raw,
        );
      }),
      { seed, numRuns: 200, verbose: true },
    );
    expect(await usable(access_token)).toBe(200);
  });
});

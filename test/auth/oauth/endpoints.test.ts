import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { metadataDocuments } from '../../../src/auth/oauth/metadata.ts';
import { newSecret } from '../../../src/auth/tokens.ts';
import { RESOURCES, type Resource } from '../../../src/core/authority.ts';
import { SCOPES } from '../../../src/core/scopes.ts';
import type { Answer } from '../../support/answer.ts';
import { BASE_URL, openTestGateway, type TestGateway } from '../../support/gateway.ts';
import {
  basic,
  consented,
  expectRefused,
  type Fields,
  formOf,
  newClient,
  newSession,
  pkce,
  post,
  RESOURCE,
  request,
  type TestClient,
  token,
} from '../../support/oauth/oauth.ts';
import { rpc as a2a } from '../../support/surfaces/a2a.ts';
import { post as onWire, rpc } from '../../support/surfaces/mcp.ts';

/** The metadata, the interfaces that take a token, and the endpoint that revokes it. */
let gateway: TestGateway;
let client: TestClient;
let other: TestClient;
let session: string;
beforeAll(async () => {
  gateway = await openTestGateway();
  client = await newClient(gateway);
  other = await newClient(gateway);
  session = await newSession(gateway, client);
});
afterAll(() => gateway.close());

const SERVER = '/.well-known/oauth-authorization-server';
const PROTECTED = {
  rest: '/.well-known/oauth-protected-resource',
  mcp: '/.well-known/oauth-protected-resource/mcp',
  a2a: '/.well-known/oauth-protected-resource/a2a',
} as const;
/** The scopes of the skills, written by hand. A list from the product's code would repeat the code's mistakes. */
const SKILL_SCOPES = [
  ...['conversation_read', 'contact_read', 'contact_read_pii', 'visitor_notes_read', 'config_read'],
  ...['ai_features_read', 'ai_execute', 'reports_read', 'message_content_read', 'directory_read', 'live_read'],
];
const names = ['rest', 'mcp', 'a2a'] as const;

describe('OM-01 of the authorization server', () => {
  it('OM-01 says what is true of it, and nothing else', async () => {
    const { status, headers, body } = await gateway.ask(SERVER, { unchecked: true });
    expect([status, headers['content-type'], headers['cache-control']]).toEqual([
      200,
      'application/json',
      'public, max-age=300',
    ]);
    expect(body).toEqual({
      issuer: BASE_URL,
      authorization_endpoint: `${BASE_URL}/oauth/authorize`,
      token_endpoint: `${BASE_URL}/oauth/token`,
      revocation_endpoint: `${BASE_URL}/oauth/revoke`,
      scopes_supported: [...SCOPES],
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: expect.toSatisfy(
        (types: string[]) => types.toSorted().join() === 'authorization_code,client_credentials,refresh_token',
      ),
      token_endpoint_auth_methods_supported: ['client_secret_basic'],
      revocation_endpoint_auth_methods_supported: ['client_secret_basic'],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      service_documentation: `${BASE_URL}/docs`,
    });
    expect(body.scopes_supported.length).toBe(19);
  });

  it('OM-01 its endpoints are there', async () => {
    const { body } = await gateway.ask(SERVER, { unchecked: true });
    const path = (url: string): string => url.slice(BASE_URL.length);
    const client = await newClient(gateway);
    const query = formOf(request(client, pkce()));
    expect((await gateway.ask(`${path(body.authorization_endpoint)}?${query}`, { unchecked: true })).status).toBe(200);
    for (const endpoint of [body.token_endpoint, body.revocation_endpoint])
      expect((await post(gateway, path(endpoint), 'grant_type=client_credentials&token=x')).status).toBe(401);
    expect((await gateway.ask(path(body.service_documentation), { unchecked: true })).status).toBe(200);
  });

  it('OM-01 behind https the issuer is the base address, and every address is of its origin', () => {
    for (const base of ['https://gw.example', 'https://gw.example:8443', BASE_URL]) {
      const documents = metadataDocuments(base, { skillScopes: [], byUrl: true });
      expect([...documents.keys()].sort()).toEqual([SERVER, ...Object.values(PROTECTED)].sort());
      const server: object = documents.get(SERVER) ?? {};
      expect(server).toMatchObject({ issuer: base });
      for (const text of JSON.stringify([...documents.values()]).match(/"https?:[^"]*"/g) ?? []) {
        const url = new URL(JSON.parse(text));
        expect([url.origin, url.search, url.hash]).toEqual([base, '', '']);
      }
    }
  });
});

describe('OM-02 of the three interfaces', () => {
  it('OM-02 each names itself, byte for byte as it is asked for', async () => {
    for (const name of names) {
      const { status, headers, body } = await gateway.ask(PROTECTED[name], { unchecked: true });
      expect([status, headers['content-type']], name).toEqual([200, 'application/json']);
      expect(body, name).toEqual({
        resource: RESOURCE[name],
        authorization_servers: [BASE_URL],
        scopes_supported: name === 'a2a' ? SKILL_SCOPES : [...SCOPES],
        bearer_methods_supported: ['header'],
        resource_name: expect.stringMatching(/\S/),
        resource_documentation: `${BASE_URL}/docs`,
      });
      const { origin, pathname } = new URL(body.resource);
      const suffix = pathname === '/' ? '' : pathname;
      expect(`${origin}/.well-known/oauth-protected-resource${suffix}`, name).toBe(BASE_URL + PROTECTED[name]);
    }
    const all = await Promise.all(names.map((name) => gateway.ask(PROTECTED[name], { unchecked: true })));
    expect(new Set(all.map(({ body }) => body.resource_name)).size).toBe(3);
  });

  it('OM-02 a 401 of an interface leads to its document', async () => {
    const rest = await gateway.ask('/api/v1/websites');
    const mcp = await onWire(gateway.port, undefined, '{}');
    for (const [answer, name] of [
      [rest, 'rest'],
      [mcp, 'mcp'],
    ] as const) {
      const url = /resource_metadata="([^"]+)"/.exec(answer.headers['www-authenticate'] ?? '')?.[1] ?? '';
      expect(url).toBe(BASE_URL + PROTECTED[name]);
      const { body } = await gateway.ask(url.slice(BASE_URL.length), { unchecked: true });
      expect(body.resource).toBe(RESOURCE[name]);
    }
  });
});

it('HT-07 the documents are read by GET and HEAD, at their one address', async () => {
  for (const path of [SERVER, ...Object.values(PROTECTED)]) {
    const head = await gateway.ask(path, { method: 'HEAD', unchecked: true });
    expect([head.status, head.text], path).toEqual([200, '']);
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const { status, headers } = await gateway.ask(path, { method, unchecked: true });
      expect([status, headers.allow], `${method} ${path}`).toEqual([405, 'GET, HEAD']);
    }
    for (const end of ['/', '/x', '%20', '.json', ';x', '//mcp', '/rest'])
      expect((await gateway.ask(path + end, { unchecked: true })).status, path + end).toBe(404);
    expect((await gateway.ask(path, { method: 'GET', raw: 'x', unchecked: true })).status, path).toBe(400);
  }
  expect((await gateway.ask('/.well-known/openid-configuration', { unchecked: true })).status).toBe(404);
});

const ownToken = async (resource: Resource): Promise<string> =>
  (await token(gateway, client, { grant_type: 'client_credentials', resource: RESOURCE[resource] })).body.access_token;

async function consentTokens(resource: Resource): Promise<string[]> {
  const options = { session, choice: { renewal: 'yes' }, changes: { resource: RESOURCE[resource] } };
  const { exchange } = await consented(gateway, client, options);
  const first = await token(gateway, client, exchange);
  expect(first.body.resource).toBe(RESOURCE[resource]);
  const again = { grant_type: 'refresh_token', refresh_token: first.body.refresh_token, resource: RESOURCE[resource] };
  return [first.body.access_token, (await token(gateway, client, again)).body.access_token];
}

/**
 * Each function belongs to one interface and sends every kind of call with a token. The function returns true when the
 * interface accepts the token. A refusal must be a complete 401.
 */
const TAKES: Readonly<Record<Resource, (bearer: string) => Promise<boolean>>> = {
  rest: async (bearer) => {
    const answers = await Promise.all([
      gateway.ask('/api/v1/websites', { token: bearer }),
      gateway.ask('/api/v1/context', { token: bearer }),
      gateway.ask('/api/v1/websites', { token: bearer, method: 'HEAD' }),
    ]);
    return agreed(answers, `${BASE_URL}/.well-known/oauth-protected-resource`, SCOPES);
  },
  mcp: async (bearer) => {
    const answers: Answer[] = [];
    for (const [method, params] of [
      ['initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } }],
      ['ping', undefined],
      ['tools/list', undefined],
      ['tools/call', { name: 'websites_list', arguments: {} }],
      ['resources/list', undefined],
      ['prompts/list', undefined],
    ] as const)
      answers.push(await rpc(gateway.port, bearer, method, params));
    return agreed(answers, `${BASE_URL}/.well-known/oauth-protected-resource/mcp`, SCOPES);
  },
  a2a: async (bearer) => {
    const answers: Answer[] = [];
    for (const method of ['ListTasks', 'GetExtendedAgentCard'])
      answers.push(await a2a(gateway.port, bearer, method, {}));
    return agreed(answers, `${BASE_URL}/.well-known/oauth-protected-resource/a2a`, SKILL_SCOPES);
  },
};

function agreed(answers: readonly Answer[], metadata: string, scopes: readonly string[]): boolean {
  const [first, ...others] = [...new Set(answers.map(({ status }) => status))];
  expect(others).toEqual([]);
  expect([200, 401]).toContain(first);
  if (first === 401)
    for (const { headers } of answers)
      expect(headers['www-authenticate']).toBe(
        `Bearer error="invalid_token", resource_metadata="${metadata}", scope="${scopes.join(' ')}"`,
      );
  return first === 200;
}

describe('OU-03 audience', () => {
  it('OU-03 3×3: a token is taken by the one interface it is for, first seen there or not', async () => {
    const matrix: Record<string, boolean> = {};
    for (const bound of RESOURCES) {
      for (const first of RESOURCES) {
        for (const bearer of [await ownToken(bound), ...(await consentTokens(bound))]) {
          const doors = [first, ...RESOURCES.filter((one) => one !== first)];
          for (const door of [...doors, ...doors]) {
            const taken = await TAKES[door](bearer);
            expect(taken, `${bound} at ${door}, first at ${first}`).toBe(bound === door);
            matrix[`${bound} at ${door}`] = taken;
          }
        }
      }
    }
    expect(Object.keys(matrix).length).toBe(9);
    for (const door of RESOURCES) expect(await TAKES[door](client.token), door).toBe(true);
  });

  it('OU-03 no operation takes a token for another interface', async () => {
    const bearers = [await ownToken('mcp'), await ownToken('a2a'), ...(await consentTokens('mcp'))];
    let refused = 0;
    for (const { path, method } of gateway.corridor.registry.tools) {
      for (const bearer of bearers) {
        const sent = method === 'POST' ? { body: {} } : { method };
        const { status, headers } = await gateway.ask(path.replace(/\{\w+\}/g, 'x'), { ...sent, token: bearer });
        expect([status, headers['www-authenticate']?.includes('error="invalid_token"')], `${method} ${path}`).toEqual([
          401,
          true,
        ]);
        refused++;
      }
    }
    expect(refused).toBe(gateway.corridor.registry.tools.length * 4);
    for (const { name } of gateway.corridor.registry.tools) {
      const answer = await rpc(gateway.port, bearers[1], 'tools/call', { name, arguments: {} });
      expect(answer.status, name).toBe(401);
    }
  });
});

/**
 * Sends the given lines unchanged, because no HTTP client would send such lines. Returns the status line of the answer.
 */
function raw(lines: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(gateway.port, '127.0.0.1', () =>
      socket.write([...lines, 'Connection: close', '', ''].join('\r\n')),
    );
    socket.setEncoding('latin1');
    socket.on('data', (part: string) => {
      text += part;
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(text));
  });
}
const statusOf = (text: string): number => Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]);

describe('how a token is sent', () => {
  it('OU-01 in query, form or cookie it is none, and the log has never seen it', async () => {
    const bearer = await ownToken('rest');
    expect((await gateway.ask('/api/v1/websites', { token: bearer })).status).toBe(200);
    for (const name of ['access_token', 'token', 'bearer', 'authorization']) {
      const query = await gateway.ask(`/api/v1/websites?${name}=${bearer}`);
      expect(query.status, name).toBe(401);
      expect(query.headers['www-authenticate'], name).not.toContain('error=');
      const form = await gateway.ask('/api/v1/websites', {
        method: 'POST',
        raw: formOf({ [name]: bearer }),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        unchecked: true,
      });
      expect([401, 405], name).toContain(form.status);
      const cookie = await gateway.ask('/api/v1/websites', {
        headers: { cookie: `${name}=${bearer}; igw_session=${bearer}` },
      });
      expect(cookie.status, name).toBe(401);
      const mcp = await rpc(gateway.port, undefined, 'tools/list', {}, { path: `/mcp?${name}=${bearer}` });
      expect([400, 401], name).toContain(mcp.status);
      expect(
        (await rpc(gateway.port, undefined, 'tools/list', {}, { headers: { cookie: `${name}=${bearer}` } })).status,
      ).toBe(401);
    }
    const tool = gateway.corridor.registry.tools.find(({ method }) => method === 'POST');
    const write = await gateway.ask(tool?.path.replace(/\{\w+\}/g, 'x') ?? '', {
      raw: formOf({ access_token: bearer }),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect(write.status).toBe(401);
    // The header has a valid token. The answer is still 400, because the query has an unknown parameter.
    expect((await gateway.ask(`/api/v1/websites?access_token=${bearer}`, { token: bearer })).status).toBe(400);
    expect(gateway.log.length).toBeGreaterThan(10);
    expect(gateway.log.join('\n').includes(bearer)).toBe(false);
    expect(gateway.log.join('\n').includes('access_token')).toBe(false);
  });

  it('OU-02 one header of one scheme, in any case, and one token', async () => {
    const bearer = await ownToken('rest');
    const ask = async (...fields: string[]): Promise<number> =>
      statusOf(await raw(['GET /api/v1/websites HTTP/1.1', 'Host: 127.0.0.1', ...fields]));
    for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR'])
      expect(await ask(`Authorization: ${scheme} ${bearer}`), scheme).toBe(200);
    expect(await ask(`AUTHORIZATION:Bearer ${bearer}`)).toBe(200);
    for (const spaces of [2, 8]) expect(await ask(`Authorization: Bearer${' '.repeat(spaces)}${bearer}`)).toBe(200);
    expect(await ask(`Authorization: Bearer ${bearer}`, `Authorization: Bearer ${bearer}`)).toBe(400);
    expect(await ask(`Authorization: Bearer ${bearer}`, 'authorization: Basic eDp5')).toBe(400);
    const wrong = [
      ...[`Bearer ${bearer}, Bearer ${bearer}`, `Bearer ${bearer},`, `Bearer ${bearer} x`],
      `Bearer${' '.repeat(9)}${bearer}`,
    ].concat(
      [`Bearer\t${bearer}`, `Bearer ${bearer}=`, `Bearer ${bearer};`, `Bearer "${bearer}"`, `Bearer${bearer}`, bearer],
      [
        ...[`Token ${bearer}`, `Basic ${bearer}`, `DPoP ${bearer}`, 'Bearer', 'Bearer null'],
        ...[`Bearer ${bearer.slice(0, -1)}`],
      ],
      [`Bearer ${bearer}\xff`, `Bearer ${bearer}é`, `Bearer ${bearer.toUpperCase()}`, `Bearer ${bearer}${bearer}`, ','],
    );
    for (const value of wrong) expect(await ask(`Authorization: ${value}`), value).toBe(401);
    expect([400, 401]).toContain(await ask(`Authorization: Bearer ${bearer}\0`));
    expect([400, 401]).toContain(await ask(`Authorization : Bearer ${bearer}`));
    expect([400, 401]).toContain(await ask(`Authorization: Bearer`, ` ${bearer}`));
  });

  it('OU-04 a 401 asks for a bearer, and speaks of an error only where the scheme Bearer was sent', async () => {
    const spent = await ownToken('rest');
    await gateway.database
      .sql`UPDATE gateway.token SET revoked_at = now() WHERE consent_id IS NULL AND kind = 'access'`;
    const scope = `scope="${SCOPES.join(' ')}"`;
    const rest = `resource_metadata="${BASE_URL}/.well-known/oauth-protected-resource", ${scope}`;
    const mcp = `resource_metadata="${BASE_URL}/.well-known/oauth-protected-resource/mcp", ${scope}`;
    const none = await gateway.ask('/api/v1/websites');
    expect([none.status, none.headers['www-authenticate']]).toEqual([401, `Bearer ${rest}`]);
    const noneMcp = await rpc(gateway.port, undefined, 'tools/list');
    expect([noneMcp.status, noneMcp.headers['www-authenticate']]).toEqual([401, `Bearer ${mcp}`]);
    for (const authorization of ['Basic eDp5', 'DPoP x', 'Bearerx y', spent, '']) {
      const other = await gateway.ask('/api/v1/websites', { headers: { authorization } });
      expect([other.status, other.headers['www-authenticate']], authorization).toEqual([401, `Bearer ${rest}`]);
    }
    for (const authorization of ['Bearer', 'bearer x', 'Bearer\tx']) {
      const sent = await gateway.ask('/api/v1/websites', { headers: { authorization } });
      expect(sent.headers['www-authenticate'], authorization).toBe(`Bearer error="invalid_token", ${rest}`);
    }
    for (const bearer of [spent, 'x', `igwa_test_${'0'.repeat(49)}`, client.secret, await ownToken('a2a')]) {
      const sent = await gateway.ask('/api/v1/websites', { token: bearer });
      expect([sent.status, sent.headers['www-authenticate']], bearer).toEqual([
        401,
        `Bearer error="invalid_token", ${rest}`,
      ]);
      const sentMcp = await rpc(gateway.port, bearer, 'tools/list');
      expect([sentMcp.status, sentMcp.headers['www-authenticate']], bearer).toEqual([
        401,
        `Bearer error="invalid_token", ${mcp}`,
      ]);
    }
  });
});

interface Family {
  readonly access: string;
  readonly refresh: string;
}

async function family(): Promise<Family> {
  const { exchange } = await consented(gateway, client, { session, choice: { renewal: 'yes' } });
  const { body } = await token(gateway, client, exchange);
  return { access: body.access_token, refresh: body.refresh_token };
}
const refreshed = (refresh: string, one = client): Promise<Answer> =>
  token(gateway, one, { grant_type: 'refresh_token', refresh_token: refresh, resource: RESOURCE.rest });
const revoke = (secret: string, one = client, more: Fields = {}): Promise<Answer> =>
  post(gateway, '/oauth/revoke', { token: secret, ...more }, { authorization: basic(one) });
const usable = async (access: string): Promise<number> =>
  (await gateway.ask('/api/v1/websites', { token: access })).status;

function expectDone(answer: Answer, why: string): void {
  expect([answer.status, answer.text], why).toEqual([200, '']);
  expect(answer.headers['cache-control'], why).toBe('no-store');
}

describe('OR-01 revocation', () => {
  it('OR-01 an access token ends alone, again and again, whatever the hint', async () => {
    for (const hint of [undefined, 'access_token', 'refresh_token', 'nonsense', '']) {
      const one = await family();
      const sibling = await refreshed(one.refresh);
      const mine = await ownToken('rest');
      const more: Fields = hint === undefined ? {} : { token_type_hint: hint };
      for (let times = 0; times < 3; times++) expectDone(await revoke(one.access, client, more), String(hint));
      expect(await usable(one.access)).toBe(401);
      expect([await usable(sibling.body.access_token), await usable(mine)]).toEqual([200, 200]);
      expect((await refreshed(sibling.body.refresh_token)).status).toBe(200);
      expectDone(await revoke(mine, client, more), String(hint));
      expect(await usable(mine)).toBe(401);
    }
  });

  it('OR-01 a refresh token ends its consent: all access tokens, all refresh tokens, whatever the hint', async () => {
    for (const hint of [undefined, 'refresh_token', 'access_token', 'nonsense']) {
      const one = await family();
      const next = (await refreshed(one.refresh)).body;
      const another = await family();
      const more: Fields = hint === undefined ? {} : { token_type_hint: hint };
      for (let times = 0; times < 2; times++) expectDone(await revoke(next.refresh_token, client, more), String(hint));
      expect([await usable(one.access), await usable(next.access_token)]).toEqual([401, 401]);
      expectRefused(await refreshed(next.refresh_token), 'invalid_grant', String(hint));
      expect([await usable(another.access), (await refreshed(another.refresh)).status]).toEqual([200, 200]);
    }
    const one = await family();
    const next = (await refreshed(one.refresh)).body;
    expectDone(await revoke(one.refresh), 'rotated');
    expect(await usable(next.access_token)).toBe(401);
  });

  it('OR-01 a token that is unknown, malformed, another client’s or of another kind: 200, and nothing ends', async () => {
    const one = await family();
    const mine = await ownToken('rest');
    const { exchange } = await consented(gateway, client, { session });
    for (const secret of [one.access, one.refresh, mine]) expectDone(await revoke(secret, other), 'another client');
    const unknown = [
      newSecret('access_test'),
      newSecret('refresh_live'),
      newSecret('session'),
      'x',
      'é',
      "' OR 1=1",
      '🔥',
    ];
    const kinds = [client.token, client.secret, exchange['code'] ?? '', client.credential, 'a'.repeat(10_000)];
    for (const secret of [...unknown, ...kinds]) expectDone(await revoke(secret), secret.slice(0, 60));
    expect([await usable(one.access), await usable(mine), await usable(client.token)]).toEqual([200, 200, 200]);
    expect((await refreshed(one.refresh)).status).toBe(200);
    expect((await token(gateway, client, exchange)).status).toBe(200);
  });

  it('OR-01 POST of a form by the authenticated client, and nothing else', async () => {
    const mine = await ownToken('rest');
    const form = formOf({ token: mine });
    const authorization = basic(client);
    for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS']) {
      const answer = await gateway.ask(`/oauth/revoke?${form}`, {
        method,
        unchecked: true,
        headers: { authorization },
      });
      expect([answer.status, answer.headers.allow], method).toEqual([405, 'POST']);
    }
    for (const header of [undefined, 'Basic x', `Bearer ${mine}`, basic({ ...client, secret: newSecret('secret') })]) {
      const answer = await post(gateway, '/oauth/revoke', form, header === undefined ? {} : { authorization: header });
      expectRefused(answer, 'invalid_client', String(header));
    }
    const unknown = basic({ ...client, credential: `crd_${randomBytes(16).toString('hex')}` });
    expectRefused(await post(gateway, '/oauth/revoke', form, { authorization: unknown }), 'invalid_client', 'unknown');
    for (const body of [
      ...['', 'token=', 'token', `${form}&${form}`, `${form}&client_secret=x`, `${form}%00`, `${form}%ZZ`],
    ])
      expectRefused(await post(gateway, '/oauth/revoke', body, { authorization }), 'invalid_request', body);
    expectRefused(await post(gateway, `/oauth/revoke?${form}`, form, { authorization }), 'invalid_request', 'query');
    const json = { unchecked: true, body: { token: mine }, headers: { authorization } };
    expectRefused(await gateway.ask('/oauth/revoke', json), 'invalid_request', 'JSON');
    expect(await usable(mine)).toBe(200);
    expectDone(
      await post(gateway, '/oauth/revoke', `${form}&x=y`, { authorization }),
      'the form, with an unknown parameter',
    );
    expect(await usable(mine)).toBe(401);
  });
});

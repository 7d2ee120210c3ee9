import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { metadataDocuments } from '../../../src/auth/oauth/metadata.ts';
import { SCOPES } from '../../../src/core/scopes.ts';
import { BASE_URL, openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { formOf, newClient, pkce, post, RESOURCE, request } from '../../support/oauth/oauth.ts';
import { post as rpc } from '../../support/surfaces/mcp.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await openTestGateway();
});
afterAll(() => gateway.close());

const SERVER = '/.well-known/oauth-authorization-server';
const PROTECTED = {
  rest: '/.well-known/oauth-protected-resource',
  mcp: '/.well-known/oauth-protected-resource/mcp',
  a2a: '/.well-known/oauth-protected-resource/a2a',
} as const;
/** The scopes of the five skills, written by hand. A list from the product's code would repeat the code's mistakes. */
const SKILL_SCOPES = [
  'conversation_read',
  'contact_read',
  'contact_read_pii',
  'config_read',
  'ai_features_read',
  'ai_execute',
  'reports_read',
  'message_content_read',
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
      const documents = metadataDocuments(base, { skillScopes: [], hosted: true });
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
    const mcp = await rpc(gateway.port, undefined, '{}');
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

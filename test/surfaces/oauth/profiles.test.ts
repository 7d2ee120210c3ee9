import type { Browser, BrowserContext } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readConfig } from '../../../src/config/config.ts';
import { upkeep } from '../../../src/gateway/upkeep.ts';
import type { Answer } from '../../support/answer.ts';
import { BASE_URL, openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { KEYS } from '../../support/keys.ts';
import { approve } from '../../support/oauth/approve.ts';
import { type BrowserProxy, openBrowserProxy } from '../../support/oauth/browser-proxy.ts';
import { passHours } from '../../support/oauth/hosted.ts';
import { formOf, newPerson, pkce, post } from '../../support/oauth/oauth.ts';
import { fetchProfile, PROFILES, type Profile } from '../../support/oauth/profiles.ts';
import { DESKTOP, openBrowser, PHONE } from '../../support/surfaces/browser.ts';
import { rpc } from '../../support/surfaces/mcp.ts';

const { hosts, longest } = readConfig({}).clientsByUrl;
let gateway: TestGateway;
let browser: Browser;
let proxy: BrowserProxy;

beforeAll(async () => {
  gateway = await openTestGateway('demo', undefined, KEYS, {}, { hosts, longest, fetch: fetchProfile });
  // An app answers every callback, also one at the gateway's address.
  proxy = await openBrowserProxy(gateway, ({ origin, pathname }) =>
    origin === BASE_URL && pathname !== '/callback' ? undefined : 'You can close this page.',
  );
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await proxy.close();
  await gateway.close();
});

async function open(view: { width: number; height: number }): Promise<BrowserContext> {
  // Without the bypass rule, Chromium would send requests for loopback past the proxy.
  const server = { server: proxy.server, bypass: '<-loopback>' };
  return browser.newContext({ viewport: view, javaScriptEnabled: false, reducedMotion: 'reduce', proxy: server });
}

const get = async (path: string): Promise<Answer['body']> => (await gateway.ask(path, { unchecked: true })).body;

/** Finds the endpoints as the clients do: from the 401 to the metadata of the resource, then to its issuer. */
async function discover(): Promise<{ resource: string; authorize: string; token: string; scope: string }> {
  const { status, headers } = await rpc(gateway.port, undefined, 'initialize', {});
  expect(status).toBe(401);
  const challenge = headers['www-authenticate'] ?? '';
  const [, metadata = ''] = /resource_metadata="([^"]+)"/.exec(challenge) ?? [];
  const [, scope = ''] = /scope="([^"]+)"/.exec(challenge) ?? [];
  const { resource, authorization_servers } = await get(metadata.slice(BASE_URL.length));
  expect(authorization_servers).toEqual([BASE_URL]);
  const server = await get('/.well-known/oauth-authorization-server');
  expect(server.client_id_metadata_document_supported).toBe(true);
  expect(server.token_endpoint_auth_methods_supported).toContain('none');
  return { resource, authorize: server.authorization_endpoint, token: server.token_endpoint, scope };
}

const path = (url: string): string => url.slice(BASE_URL.length);

interface Asked {
  readonly scopes: readonly string[];
  readonly asks?: string | undefined;
}

/** Opens the authorization page, signs in if necessary, ticks, approves, and exchanges the code. */
async function consent(
  profile: Profile,
  context: BrowserContext,
  email: string,
  { scopes, asks }: Asked,
): Promise<Answer['body']> {
  const found = await discover();
  const proof = pkce();
  const scope = asks ?? profile.scope(found.scope);
  const query = formOf({
    response_type: 'code',
    client_id: profile.client,
    redirect_uri: profile.redirect,
    code_challenge: proof.challenge,
    code_challenge_method: 'S256',
    resource: found.resource,
    ...profile.authorize,
    ...(scope !== undefined && { scope }),
  });
  const host = new URL(profile.client).hostname;
  const answer = await approve(context, `${found.authorize}?${query}`, email, {
    host,
    redirect: profile.redirect,
    scopes,
  });
  expect([answer.get('state'), answer.get('iss')]).toEqual([profile.authorize['state'], BASE_URL]);
  const exchanged = await post(gateway, path(found.token), {
    grant_type: 'authorization_code',
    client_id: profile.client,
    code: answer.get('code') ?? '',
    redirect_uri: profile.redirect,
    code_verifier: proof.verifier,
    resource: found.resource,
  });
  expect(exchanged.status, exchanged.text).toBe(200);
  return exchanged.body;
}

const refresh = (profile: Profile, token: string): Promise<Answer> =>
  post(gateway, '/oauth/token', {
    grant_type: 'refresh_token',
    client_id: profile.client,
    refresh_token: token,
    resource: `${BASE_URL}/mcp`,
  });

/** Lets five days pass, with the maintenance of the gateway. */
async function passFiveDays(refreshToken: string): Promise<void> {
  const { database, corridor } = gateway;
  await passHours(database, refreshToken, 5 * 24);
  await upkeep({ db: database.db, registry: corridor.registry, clientHosts: hosts });
}

const call = (bearer: string, name: string, input: object): Promise<Answer> =>
  rpc(gateway.port, bearer, 'tools/call', { name, arguments: input });

it.each(PROFILES.map((profile) => [profile.name, profile] as const))(
  '%s: from the bare URL to a call, through 30 days, a revocation, and more scopes after a 403',
  async (_name, profile) => {
    const { email } = await newPerson(gateway);
    const context = await open(profile.retries ? PHONE : DESKTOP);
    try {
      let tokens = await consent(profile, context, email, { scopes: ['website_read'] });
      const called = await call(tokens.access_token, 'websites_list', {});
      expect([called.status, called.body.result.isError]).toEqual([200, false]);

      // An access token ends after 15 minutes. The client comes back every five days.
      for (let day = 5; day < 30; day += 5) {
        await passFiveDays(tokens.refresh_token);
        expect((await call(tokens.access_token, 'websites_list', {})).status).toBe(401);
        const next = await refresh(profile, tokens.refresh_token);
        expect(next.status, `day ${day}: ${next.text}`).toBe(200);
        if (profile.retries) expect((await refresh(profile, tokens.refresh_token)).text).toBe(next.text);
        tokens = next.body;
        expect((await call(tokens.access_token, 'websites_list', {})).status).toBe(200);
      }
      await passFiveDays(tokens.refresh_token);
      expect((await refresh(profile, tokens.refresh_token)).body.error).toBe('invalid_grant');

      tokens = await consent(profile, context, email, { scopes: ['website_read'] });
      const refused = await call(tokens.access_token, 'conversations_list', { website_id: 'web_1_1' });
      expect(refused.status).toBe(403);
      const [, more = ''] =
        /insufficient_scope", scope="([^"]+)"/.exec(refused.headers['www-authenticate'] ?? '') ?? [];
      const wider = await consent(profile, context, email, {
        asks: `${tokens.scope} ${more}`,
        scopes: [...tokens.scope.split(' '), ...more.split(' ')],
      });
      const taken = await call(wider.access_token, 'conversations_list', { website_id: 'web_1_1' });
      expect(taken.status).toBe(200);
      expect((await call(tokens.access_token, 'websites_list', {})).status).toBe(401);

      const form = { client_id: profile.client, token: wider.refresh_token, token_type_hint: 'refresh_token' };
      expect((await post(gateway, '/oauth/revoke', form)).status).toBe(200);
      expect((await call(wider.access_token, 'websites_list', {})).status).toBe(401);
    } finally {
      await context.close();
    }
  },
);

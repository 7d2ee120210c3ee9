import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Client,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  StreamableHTTPClientTransport,
  type VersionNegotiationMode,
} from '@modelcontextprotocol/client';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { Browser, BrowserContext } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { SCOPES } from '../../../src/core/scopes.ts';
import { CERTIFICATE, KEY } from '../../support/events/certificate.ts';
import { type Served, serve } from '../../support/hostile/served.ts';
import { type Approval, approve } from '../../support/oauth/approve.ts';
import { type DocumentServer, openDocuments, passHours } from '../../support/oauth/hosted.ts';
import { newPerson } from '../../support/oauth/oauth.ts';
import { openBrowser } from '../../support/surfaces/browser.ts';
import { MODERN } from '../../support/surfaces/mcp.ts';

/**
 * The OAuth code of both client packages, unmodified, against a gateway process. A test only stores what the package
 * asks to be stored, and does what a person does in the browser. The client id is the URL of a metadata document.
 */
let served: Served;
let documents: DocumentServer;
let browser: Browser;
let context: BrowserContext;
let email: string;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'client-packages-'));
  writeFileSync(join(folder, 'ca.pem'), CERTIFICATE);
  documents = await openDocuments({ key: KEY, cert: CERTIFICATE });
  const env = {
    GATEWAY_CLIENT_HOSTS: '127.0.0.1',
    GATEWAY_CLIENT_ALLOW: documents.origin,
    // Both packages use a metadata document only if its URL is https.
    NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem'),
  };
  [served, browser] = await Promise.all([serve(env), openBrowser()]);
});
afterAll(async () => {
  await Promise.all([browser?.close(), served?.close(), documents?.close()]);
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  context = await browser.newContext();
  ({ email } = await newPerson(served));
});
afterEach(() => context.close());

const REDIRECT = 'http://127.0.0.1:54545/callback';
const ANSWER: Approval = { host: '127.0.0.1', redirect: REDIRECT, scopes: [] };
const LIST = ['conversations_list', { website_id: 'web_1_1' }] as const;

type ClientInformation = Parameters<NonNullable<OAuthClientProvider['saveClientInformation']>>[0];
type Tokens = Parameters<OAuthClientProvider['saveTokens']>[0];

/** The memory of an app. It keeps the objects exactly as the package gives them. */
class Wallet implements OAuthClientProvider {
  readonly redirectUrl = REDIRECT;
  readonly clientMetadata = { client_name: 'Test Client', redirect_uris: [REDIRECT] };
  readonly clientMetadataUrl: string;
  /** The authorization requests to which the package has sent the person. */
  readonly asked: URL[] = [];
  #client: ClientInformation | undefined;
  #tokens: Tokens | undefined;
  #verifier = '';
  #discovered: OAuthDiscoveryState | undefined;

  constructor(url: string) {
    this.clientMetadataUrl = url;
  }
  state(): string {
    return randomUUID();
  }
  clientInformation(): ClientInformation | undefined {
    return this.#client;
  }
  saveClientInformation(client: ClientInformation): void {
    this.#client = client;
  }
  tokens(): Tokens | undefined {
    return this.#tokens;
  }
  saveTokens(tokens: Tokens): void {
    this.#tokens = tokens;
  }
  invalidateCredentials(): void {
    this.#tokens = undefined;
  }
  forgetRefreshToken(): void {
    const { refresh_token: _, ...rest } = this.#tokens ?? expect.fail('no tokens');
    this.#tokens = rest;
  }
  redirectToAuthorization(url: URL): void {
    this.asked.push(url);
  }
  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }
  codeVerifier(): string {
    return this.#verifier;
  }
  saveDiscoveryState(state: OAuthDiscoveryState): void {
    this.#discovered = state;
  }
  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovered;
  }
}

/** A client of one of the packages, with a transport that signs in by itself. */
interface Opened {
  connect(): Promise<void>;
  version(): string | undefined;
  /** Gives the package what the browser brought back. The package exchanges the code. */
  finish(answer: URLSearchParams): Promise<void>;
  call(name: string, input: object): Promise<unknown>;
  close(): Promise<void>;
}

const WHO = { name: 'test', version: '1.0.0' };
const address = (path: string): URL => new URL(`${served.url}${path}`);

const current =
  (mode: VersionNegotiationMode, path = '/mcp') =>
  (wallet: Wallet): Opened => {
    const transport = new StreamableHTTPClientTransport(address(path), { authProvider: wallet });
    const client = new Client(WHO, { versionNegotiation: { mode } });
    return {
      connect: () => client.connect(transport),
      version: () => client.getNegotiatedProtocolVersion(),
      finish: (answer) => transport.finishAuth(answer),
      call: async (name, input) => (await client.callTool({ name, arguments: { ...input } })).isError,
      close: () => client.close(),
    };
  };

function older(wallet: Wallet, path = '/mcp'): Opened {
  const transport = new OlderTransport(address(path), { authProvider: wallet });
  const client = new OlderClient(WHO);
  return {
    connect: () => client.connect(transport as Transport), // the package's types differ only in optional properties
    version: () => transport.protocolVersion,
    finish: (answer) => transport.finishAuth(answer.get('code') ?? ''),
    call: async (name, input) => (await client.callTool({ name, arguments: { ...input } })).isError,
    close: () => client.close(),
  };
}

const scopesOf = (url: URL | undefined): string[] => url?.searchParams.get('scope')?.split(' ') ?? [];

/** Performs the steps from the bare URL to a connected client whose person has ticked `website_read`. */
async function signIn(wallet: Wallet, open: (wallet: Wallet) => Opened, tool = 'websites_list'): Promise<Opened> {
  const stranger = open(wallet);
  await expect(stranger.connect()).rejects.toThrow(/^Unauthorized$/);
  const [url, ...more] = wallet.asked;
  expect(more).toEqual([]);
  expect(Object.fromEntries(url?.searchParams ?? [])).toMatchObject({
    client_id: wallet.clientMetadataUrl,
    resource: `${served.url}/mcp`,
    redirect_uri: REDIRECT,
    code_challenge_method: 'S256',
  });
  expect(scopesOf(url)).toEqual(SCOPES);
  await stranger.finish(await approve(context, url ?? '', email, { ...ANSWER, scopes: ['website_read'] }));
  const client = open(wallet);
  await client.connect();
  expect(await client.call(tool, {})).toBe(false);
  return client;
}

/** Lets 25 days pass in steps of five. The package renews the ended access token each time, without the person. */
async function renew(wallet: Wallet, client: Opened): Promise<void> {
  const { length } = wallet.asked;
  for (let day = 5; day < 30; day += 5) {
    const { refresh_token = '', access_token } = wallet.tokens() ?? {};
    await passHours(served.database, refresh_token, 5 * 24);
    expect(await client.call('gateway_context', {}), `day ${day}`).toBe(false);
    expect(wallet.tokens()?.access_token).not.toBe(access_token);
    expect(wallet.tokens()?.refresh_token).not.toBe(refresh_token);
  }
  expect(wallet.asked.length).toBe(length);
}

/** Lets 30 days pass. Then the consent has ended, and the package sends the person to the consent page again. */
async function signInAgain(wallet: Wallet, client: Opened): Promise<void> {
  const { length } = wallet.asked;
  await renew(wallet, client);
  await passHours(served.database, wallet.tokens()?.refresh_token ?? '', 5 * 24);
  await expect(client.call('gateway_context', {})).rejects.toThrow(/^Unauthorized$/);
  const url = wallet.asked[length] ?? '';
  await client.finish(await approve(context, url, email, { ...ANSWER, scopes: ['website_read'] }));
  expect(await client.call('websites_list', {})).toBe(false);
  expect(documents.asked.filter((path) => wallet.clientMetadataUrl.endsWith(path)).length).toBe(1);
}

const newWallet = (): Wallet => new Wallet(documents.serve(`/${randomUUID()}.json`, { redirect_uris: [REDIRECT] }));

it.each([
  ['2026-07-28', current('auto'), MODERN],
  ['2025-11-25', current('legacy'), '2025-11-25'],
] as const)(
  'client 2.x with %s: sign-in, refreshes, more scopes after a 403, sign-in again after 30 days',
  async (_, open, version) => {
    const wallet = newWallet();
    const client = await signIn(wallet, open);
    expect(client.version()).toBe(version);
    await renew(wallet, client);

    await expect(client.call(...LIST)).rejects.toThrow(/^Unauthorized$/);
    const url = wallet.asked[1];
    expect(scopesOf(url)).toEqual(expect.arrayContaining(['website_read', 'conversation_read']));
    const scopes = ['website_read', 'conversation_read'];
    await client.finish(await approve(context, url ?? '', email, { ...ANSWER, scopes }));
    expect(await client.call(...LIST)).toBe(false);
    expect(wallet.tokens()?.scope).toBe(scopes.join(' '));
    expect(wallet.asked.length).toBe(2);
    await signInAgain(wallet, client);
    await client.close();
  },
);

it.each([
  ['client 2.x with 2026-07-28', current('auto', '/mcp/only/find/readonly')],
  ['client 2.x with 2025-11-25', current('legacy', '/mcp/only/find/readonly')],
  ['client 1.x', (wallet: Wallet) => older(wallet, '/mcp/only/find/readonly')],
])('%s accepts the resource /mcp of an address with a set of tools', async (_, open) => {
  const client = await signIn(newWallet(), open, 'gateway_context');
  await client.close();
});

it('client 1.x: sign-in, refreshes, more scopes after a 403, sign-in again after 30 days', async () => {
  const wallet = newWallet();
  const client = await signIn(wallet, older);
  expect(client.version()).toBe('2025-11-25');
  await renew(wallet, client);

  // This package refreshes after a 403 and asks the person only if it has no refresh token.
  await expect(client.call(...LIST)).rejects.toThrow('Server returned 403 after trying upscoping');
  expect(wallet.asked.length).toBe(1);
  expect(await client.call('websites_list', {})).toBe(false);
  wallet.forgetRefreshToken();
  await expect(client.call(...LIST)).rejects.toThrow(/^Unauthorized$/);
  const url = wallet.asked[1];
  // This package asks for exactly the scopes of the 403, so the 403 names the scopes that the token had too.
  const scopes = ['website_read', 'conversation_read'];
  expect(scopesOf(url)).toEqual(scopes);
  await client.finish(await approve(context, url ?? '', email, { ...ANSWER, scopes }));
  expect(await client.call(...LIST)).toBe(false);
  expect(await client.call('websites_list', {})).toBe(false);
  await signInAgain(wallet, client);
  await client.close();
});

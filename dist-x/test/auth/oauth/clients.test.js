import { randomBytes } from 'node:crypto';
import { auth, UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openOAuth } from '../../../src/auth/oauth/services.js';
import { loadPrompts, loadResources } from '../../../src/gateway/load.js';
import { openGateway } from '../../../src/gateway/open.js';
import { openClientAddress } from '../../../src/surfaces/http/client-address.js';
import { startServer } from '../../../src/surfaces/http/server.js';
import { mcpSurface } from '../../../src/surfaces/mcp/mcp.js';
import { oauthSurface } from '../../../src/surfaces/oauth/oauth.js';
import { restSurface } from '../../../src/surfaces/rest/rest.js';
import { issue } from '../../support/credentials.js';
import { freshDatabase } from '../../support/database.js';
import { KEYS } from '../../support/keys.js';
import { decide, doorFrom, newClient, newPerson, signedIn, } from '../../support/oauth/oauth.js';
let database;
let server;
let door;
let origin;
let owner;
const seen = [];
const newOne = (scopes) => newClient({ database, issue: (grant, tenant = 1) => issue(database.sql, tenant, grant) }, scopes && { scopes });
beforeAll(async () => {
    database = await freshDatabase('demo');
    const corridor = await openGateway({
        keys: KEYS,
        store: { db: database.db, slow: database.db },
        checkEvery: 1,
        onDefect: unexpected,
    });
    const handlers = [];
    // The base URL needs the port, and the port is known only after the server listens.
    server = await startServer({
        host: '127.0.0.1',
        baseUrl: 'http://127.0.0.1:8420',
        port: 0,
        tls: undefined,
        log: pino({ level: 'silent' }),
        handlers,
        otherwise: (_, response) => response.writeHead(404).end(),
    });
    origin = `http://127.0.0.1:${server.port}`;
    const pages = { version: '0.0.0', resources: await loadResources(), prompts: await loadPrompts(), skillFiles: [] };
    handlers.push((request, response) => {
        response.on('finish', () => seen.push(`${request.method} ${request.url?.split('?')[0]} ${response.statusCode}`));
        return false;
    }, mcpSurface(corridor, { ...pages, baseUrl: origin }), restSurface(corridor, origin), oauthSurface(openOAuth({
        baseUrl: origin,
        db: database.db,
        skillScopes: [],
    }), openClientAddress([])));
    door = doorFrom(server.port);
    owner = (await newPerson({ database })).email;
});
afterAll(async () => {
    await server.close();
    await database.close();
});
function unexpected(tool, error) {
    throw new Error(`${tool.name} ${String(error)}`);
}
/** Plays the person with a browser: signs in, decides about the consent, and follows the redirect back to the app. */
async function visit(address, choice = {}) {
    expect(address.origin + address.pathname).toBe(`${origin}/oauth/authorize`);
    const query = address.search.slice(1);
    const cookie = await signedIn(door, query, owner);
    const { status, headers } = await decide(door, query, cookie, choice);
    expect(status).toBe(303);
    return new URL(headers.location ?? '');
}
describe('oauth4webapi', () => {
    // The loopback server has no TLS, so the test permits plain HTTP. The test changes no other setting of the library.
    const http = { [oauth.allowInsecureRequests]: true };
    it('OU-05 discovers, has a token of its own, one by consent, refreshes it, revokes it', async () => {
        const registered = await newOne();
        const client = { client_id: registered.credential };
        const secret = oauth.ClientSecretBasic(registered.secret);
        const resource = new URL(`${origin}/mcp`);
        const described = await oauth.processResourceDiscoveryResponse(resource, await oauth.resourceDiscoveryRequest(resource, http));
        expect(described.authorization_servers).toEqual([origin]);
        const issuer = new URL(described.authorization_servers?.[0] ?? '');
        const found = await oauth.discoveryRequest(issuer, { ...http, algorithm: 'oauth2' });
        const as = await oauth.processDiscoveryResponse(issuer, found);
        expect(as.issuer).toBe(origin);
        const asked = { resource: origin, scope: 'website_read conversation_read' };
        const own = await oauth.processClientCredentialsResponse(as, client, await oauth.clientCredentialsGrantRequest(as, client, secret, asked, http));
        expect([own.token_type, own.scope, own.refresh_token]).toEqual(['bearer', asked.scope, undefined]);
        const websites = new URL('/api/v1/websites', origin);
        const used = async (token) => (await oauth.protectedResourceRequest(token, 'GET', websites, undefined, undefined, http).catch(challenged))
            .status;
        expect(await used(own.access_token)).toBe(200);
        const verifier = oauth.generateRandomCodeVerifier();
        const state = oauth.generateRandomState();
        const address = new URL(as.authorization_endpoint ?? '');
        address.search = new URLSearchParams({
            response_type: 'code',
            client_id: client.client_id,
            redirect_uri: registered.callback,
            ...asked,
            state,
            code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
            code_challenge_method: 'S256',
        }).toString();
        const denied = await visit(address, { decision: 'deny' });
        expect(() => oauth.validateAuthResponse(as, client, denied, state)).toThrow(expect.objectContaining({ error: 'access_denied' }));
        const back = await visit(address, { renewal: 'yes' });
        const told = oauth.validateAuthResponse(as, client, back, state);
        expect(told.get('iss')).toBe(origin);
        const more = { ...http, additionalParameters: { resource: origin } };
        const granted = await oauth.processAuthorizationCodeResponse(as, client, await oauth.authorizationCodeGrantRequest(as, client, secret, told, registered.callback, verifier, more));
        expect([granted.scope, await used(granted.access_token)]).toEqual([asked.scope, 200]);
        const refreshed = await oauth.processRefreshTokenResponse(as, client, await oauth.refreshTokenGrantRequest(as, client, secret, granted.refresh_token ?? '', more));
        expect(refreshed.refresh_token).not.toBe(granted.refresh_token);
        expect(await used(refreshed.access_token)).toBe(200);
        const revoke = async (token) => oauth.processRevocationResponse(await oauth.revocationRequest(as, client, secret, token, http));
        await revoke(own.access_token);
        await revoke(refreshed.refresh_token ?? '');
        for (const { access_token } of [own, granted, refreshed])
            expect(await used(access_token)).toBe(401);
        const again = await oauth.refreshTokenGrantRequest(as, client, secret, refreshed.refresh_token ?? '', more);
        await expect(oauth.processRefreshTokenResponse(as, client, again)).rejects.toMatchObject({
            error: 'invalid_grant',
        });
        const stranger = oauth.ClientSecretBasic('x');
        const refused = await oauth.clientCredentialsGrantRequest(as, client, stranger, asked, http);
        await expect(oauth.processClientCredentialsResponse(as, client, refused)).rejects.toMatchObject({
            cause: [{ scheme: 'basic' }],
        });
    });
});
/** For a 401, the OAuth library throws an error. Returns the response that this error contains. */
function challenged(error) {
    if (!(error instanceof oauth.WWWAuthenticateChallengeError))
        throw error;
    expect(error.cause).toMatchObject([{ scheme: 'bearer', parameters: { error: 'invalid_token' } }]);
    return error.response;
}
describe('openid-client', () => {
    it('OU-05 discovers, has a token of its own, one by consent, refreshes it, revokes it', async () => {
        const registered = await newOne();
        const config = await openid.discovery(new URL(origin), registered.credential, undefined, openid.ClientSecretBasic(registered.secret), { algorithm: 'oauth2', execute: [openid.allowInsecureRequests] });
        expect(config.serverMetadata().supportsPKCE()).toBe(true);
        const asked = { resource: `${origin}/mcp`, scope: 'website_read' };
        const own = await openid.clientCredentialsGrant(config, asked);
        expect([own.scope, own.expiresIn()]).toEqual(['website_read', expect.toSatisfy((left) => left > 890)]);
        const pkceCodeVerifier = openid.randomPKCECodeVerifier();
        const expectedState = openid.randomState();
        const address = openid.buildAuthorizationUrl(config, {
            ...asked,
            redirect_uri: registered.callback,
            state: expectedState,
            code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
            code_challenge_method: 'S256',
        });
        const back = await visit(address, { scope: ['website_read'], renewal: 'yes' });
        const resource = { resource: asked.resource };
        const checks = { pkceCodeVerifier, expectedState };
        // The OAuth library checks `iss`, because the gateway's metadata announce this parameter.
        for (const [name, value] of [
            ['iss', 'https://evil.example'],
            ['state', 'x'.repeat(20)],
        ]) {
            const forged = new URL(back);
            forged.searchParams.set(name, value);
            await expect(openid.authorizationCodeGrant(config, forged, checks, resource)).rejects.toThrow();
        }
        const without = new URL(back);
        without.searchParams.delete('iss');
        await expect(openid.authorizationCodeGrant(config, without, checks, resource)).rejects.toMatchObject({
            cause: { message: expect.stringContaining('"iss"') },
        });
        const granted = await openid.authorizationCodeGrant(config, back, checks, resource);
        const refreshed = await openid.refreshTokenGrant(config, granted.refresh_token ?? '', resource);
        expect([granted.scope, refreshed.scope]).toEqual(['website_read', 'website_read']);
        await openid.tokenRevocation(config, refreshed.refresh_token ?? '');
        await expect(openid.refreshTokenGrant(config, refreshed.refresh_token ?? '', resource)).rejects.toMatchObject({
            error: 'invalid_grant',
        });
        await expect(openid.clientCredentialsGrant(config, { ...asked, resource: `${origin}/x` })).rejects.toMatchObject({
            error: 'invalid_target',
        });
    });
});
/**
 * A registered app, in the form that the SDK's client needs. The object stores the tokens and the state of the app
 * between two requests.
 */
class App {
    registered;
    sentTo;
    kept;
    #verifier = '';
    sentState = randomBytes(16).toString('hex');
    constructor(registered) {
        this.registered = registered;
    }
    get redirectUrl() {
        return this.registered.callback;
    }
    get clientMetadata() {
        return { redirect_uris: [this.registered.callback], client_name: 'test' };
    }
    state() {
        return this.sentState;
    }
    clientInformation() {
        const issued = { client_id: this.registered.credential, client_secret: this.registered.secret, issuer: origin };
        return issued;
    }
    tokens() {
        return this.kept;
    }
    saveTokens(tokens) {
        this.kept = tokens;
    }
    redirectToAuthorization(address) {
        this.sentTo = address;
    }
    saveCodeVerifier(verifier) {
        this.#verifier = verifier;
    }
    codeVerifier() {
        return this.#verifier;
    }
}
describe('the MCP SDK’s client', () => {
    const mcp = () => new URL('/mcp', origin);
    const connecting = async (app) => {
        const transport = new StreamableHTTPClientTransport(mcp(), { authProvider: app });
        const client = new Client({ name: 'test', version: '1.0.0' });
        // The SDK's own transport type does not fit its interface under exactOptionalPropertyTypes.
        return { client, transport, done: client.connect(transport) };
    };
    it('OU-05 is refused, finds the authorization server, has consent, and calls a tool', async () => {
        const app = new App(await newOne());
        seen.splice(0);
        const first = await connecting(app);
        await expect(first.done).rejects.toThrow(UnauthorizedError);
        expect(seen).toEqual([
            'POST /mcp 401',
            'GET /.well-known/oauth-protected-resource/mcp 200',
            'GET /.well-known/oauth-authorization-server 200',
        ]);
        const asked = app.sentTo?.searchParams;
        expect([asked?.get('resource'), asked?.get('code_challenge_method'), asked?.get('state')]).toEqual([
            `${origin}/mcp`,
            'S256',
            app.sentState,
        ]);
        const back = await visit(app.sentTo ?? mcp(), { scope: ['website_read', 'conversation_read'], renewal: 'yes' });
        expect(back.searchParams.get('state')).toBe(app.sentState);
        await first.transport.finishAuth(back.searchParams.get('code') ?? '');
        expect(app.kept?.scope).toBe('website_read conversation_read');
        const second = await connecting(app);
        await second.done;
        const called = await second.client.callTool({ name: 'websites_list', arguments: {} });
        expect(called.isError).toBe(false);
        expect(JSON.stringify(called.structuredContent)).toContain('web_1_1');
        expect(JSON.stringify(called.structuredContent)).not.toContain('web_1_2');
        const { tools } = await second.client.listTools();
        expect(tools.map(({ name }) => name)).toContain('conversations_list');
        expect(tools.map(({ name }) => name)).not.toContain('contacts_list');
        const before = app.kept;
        await database.sql `UPDATE gateway.token SET expires_at = now() WHERE kind = 'access'`;
        seen.splice(0);
        const later = await second.client.callTool({ name: 'websites_list', arguments: {} });
        expect(later.isError).toBe(false);
        expect(seen.filter((line) => /token|\/mcp \d/.test(line))).toEqual([
            ...['POST /mcp 401', 'GET /.well-known/oauth-protected-resource/mcp 200', 'POST /oauth/token 200'],
            ...['POST /mcp 200'],
        ]);
        expect(app.kept?.refresh_token).not.toBe(before?.refresh_token);
        await second.client.close();
    });
    it('OU-05 a credential without every scope: the client asks for those it is configured with', async () => {
        const app = new App(await newOne(['website_read']));
        // When no scope is configured, the SDK asks for every scope in the metadata. The gateway then names the scopes that
        // the client cannot have.
        await auth(app, { serverUrl: mcp() });
        const query = app.sentTo?.search.slice(1) ?? '';
        const refused = await door.ask(`/oauth/authorize?${query}`);
        expect(new URL(refused.headers.location ?? '').searchParams.get('error')).toBe('invalid_scope');
        await auth(app, { serverUrl: mcp(), scope: 'website_read' });
        const back = await visit(app.sentTo ?? mcp(), { scope: ['website_read'] });
        const code = back.searchParams.get('code') ?? '';
        expect(await auth(app, { serverUrl: mcp(), authorizationCode: code })).toBe('AUTHORIZED');
        const { client, done } = await connecting(app);
        await done;
        expect((await client.callTool({ name: 'websites_list', arguments: {} })).isError).toBe(false);
        await client.close();
    });
});
//# sourceMappingURL=clients.test.js.map
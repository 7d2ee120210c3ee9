import { createServer } from 'node:http';
import { createServer as createSecure } from 'node:https';
import { expect } from 'vitest';
import { digestOf } from '../../../src/auth/tokens.js';
import { documentFetcher } from '../../../src/outbound/documents.js';
import { resolveName } from '../../../src/outbound/resolve.js';
import { csrfOf, formOf, pkce, post, RESOURCE, SAME, signedIn } from './oauth.js';
export const LOOPBACK = 'http://127.0.0.1/callback';
export const documentOf = (url, changes = {}) => ({
    client_id: url,
    client_name: 'Test Client',
    redirect_uris: ['https://app.example/cb', LOOPBACK],
    token_endpoint_auth_method: 'none',
    ...changes,
});
export async function openDocuments(tls) {
    const pages = new Map();
    const asked = [];
    const answer = (request, response) => {
        asked.push(request.url ?? '');
        const page = pages.get(request.url ?? '');
        if (page)
            page(request, response);
        else
            response.writeHead(404).end();
    };
    const server = tls ? createSecure(tls, answer) : createServer(answer);
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address(); // the cast is sound, because the address of a TCP server is an AddressInfo
    const origin = `${tls ? 'https' : 'http'}://127.0.0.1:${port}`;
    return {
        origin,
        asked,
        serve(path, document = {}) {
            const url = `${origin}${path}`;
            pages.set(path, typeof document === 'function'
                ? document // the cast is sound, because the only functions that a test gives are handlers
                : (_request, response) => response
                    .writeHead(200, { 'content-type': 'application/json' })
                    .end(JSON.stringify(documentOf(url, document))));
            return url;
        },
        close: () => new Promise((resolve) => {
            server.close(() => resolve());
            server.closeAllConnections();
        }),
    };
}
/** `allowed` are further origins at private addresses from which the gateway may fetch documents. */
export const hostedOptions = (documents, hosts = ['127.0.0.1'], resolve = resolveName, allowed = []) => ({
    hosts,
    longest: 2_592_000,
    fetch: documentFetcher({ allowed: new Set([documents.origin, ...allowed]), userAgent: 'test', resolve }),
});
/** The log line of a request. */
export const lineOf = ({ log }, answer) => log
    .map((line) => (line.startsWith('{') ? JSON.parse(line) : {}))
    .find((line) => line['request_id'] === answer.headers['x-request-id']) ?? {};
export const hostedRequest = (client, proof, changes = {}) => ({
    response_type: 'code',
    client_id: client,
    redirect_uri: 'https://app.example/cb',
    resource: RESOURCE.mcp,
    code_challenge: proof.challenge,
    code_challenge_method: 'S256',
    ...changes,
});
/** Ticks the wishes on the consent page and sends the form. */
export async function answerPage(gateway, query, cookie, { scope = ['website_read'], website_id = ['web_1_1'], data_access = [], ...rest } = {}) {
    const page = await gateway.ask(`/oauth/authorize?${query}`, { unchecked: true, headers: { cookie } });
    expect(page.status, page.text).toBe(200);
    const { duration = '7d', decision = 'approve' } = rest;
    const fields = { csrf: csrfOf(page), decision, duration, scope, website_id, data_access };
    return post(gateway, `/oauth/consent?${query}`, fields, { ...SAME, cookie });
}
export async function connect(gateway, client, email, { wishes = {}, changes = {}, session } = {}) {
    const proof = pkce();
    const asked = hostedRequest(client, proof, changes);
    const query = formOf(asked);
    const cookie = session ?? (await signedIn(gateway, query, email));
    const approved = await answerPage(gateway, query, cookie, wishes);
    expect(approved.status, approved.text).toBe(303);
    const code = new URL(approved.headers.location ?? '').searchParams.get('code') ?? expect.fail('no code');
    const answer = await exchangeCode(gateway, client, code, proof, String(asked['redirect_uri']), String(asked['resource']));
    expect(answer.status, answer.text).toBe(200);
    const { access_token: access, refresh_token: refresh } = answer.body;
    return { client, access, refresh, cookie, body: answer.body };
}
export const exchangeCode = (gateway, client, code, proof, redirect_uri = 'https://app.example/cb', resource = RESOURCE.mcp) => post(gateway, '/oauth/token', {
    grant_type: 'authorization_code',
    client_id: client,
    code,
    redirect_uri,
    code_verifier: proof.verifier,
    resource,
});
export const refreshHosted = (gateway, { client, refresh }, changes = {}) => post(gateway, '/oauth/token', {
    grant_type: 'refresh_token',
    client_id: client,
    refresh_token: refresh,
    resource: RESOURCE.mcp,
    ...changes,
});
/** Moves the consent of the refresh token into the past, with all that belongs to it. */
export async function passHours({ sql }, refresh, hours) {
    const [row] = await sql `
    SELECT c.id, c.credential_id AS credential FROM gateway.refresh_token r JOIN gateway.consent c ON c.id = r.consent_id
     WHERE r.digest = ${digestOf(refresh)}`;
    const { id, credential } = row ?? expect.fail('no consent has this refresh token');
    const back = sql `make_interval(hours => ${hours})`;
    await sql `UPDATE gateway.consent SET expires_at = expires_at - ${back} WHERE id = ${id}`;
    await sql `UPDATE gateway.credential SET expires_at = expires_at - ${back} WHERE id = ${credential}`;
    await sql `UPDATE gateway.token SET expires_at = expires_at - ${back} WHERE consent_id = ${id}`;
    await sql `UPDATE gateway.refresh_token SET expires_at = expires_at - ${back}, used_at = used_at - ${back},
    created_at = created_at - ${back} WHERE consent_id = ${id}`;
}
//# sourceMappingURL=hosted.js.map
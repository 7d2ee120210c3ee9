import { createServer } from 'node:net';
import { expect } from 'vitest';
import { digestOf, newSecret } from '../../../src/auth/tokens.js';
import { Failure } from '../../../src/core/failures.js';
import { cliDatabase } from '../cli.js';
import { BASE_URL, openTestGateway } from '../gateway.js';
import { startReplica } from '../replica.js';
import { post as onWire, rpc } from '../surfaces/mcp.js';
import { basic, decide, formOf, newPerson, pkce, RESOURCE, request, token } from './oauth.js';
export async function openPair() {
    const database = await cliDatabase('demo');
    const shared = { ...database, close: async () => undefined };
    const gateways = [await openTestGateway('demo', shared), await openTestGateway('demo', shared)];
    return {
        database,
        gateways,
        async close() {
            for (const gateway of gateways)
                await gateway.close();
            await database.close();
        },
    };
}
/** Creates a session without a sign-in and returns its cookie. */
export async function session(gateway, person) {
    const secret = newSecret('session');
    await gateway.database.sql `INSERT INTO gateway.session (digest, person_id, expires_at)
    VALUES (${digestOf(secret)}, ${person}, now() + interval '1 hour')`;
    return `igw_session=${secret}`;
}
/** A consent whose code the client has not redeemed yet. */
export async function pending(gateway, client, wish = {}) {
    const { resource = 'rest', renewal = true, websites = ['web_1_1', 'web_1_2'] } = wish;
    const person = wish.person ?? (await newPerson(gateway)).id;
    const proof = pkce();
    const query = formOf(request(client, proof, { resource: RESOURCE[resource] }));
    const cookie = await session(gateway, person);
    const answer = await decide(gateway, query, cookie, { website_id: websites, ...(renewal && { renewal: 'yes' }) });
    expect(answer.status, answer.text).toBe(303);
    const code = codeOf(answer);
    return {
        person,
        resource,
        consent: await consentOf(gateway, code),
        exchange: exchangeOf(client, code, proof, resource),
    };
}
export const codeOf = (answer) => new URL(answer.headers.location ?? '').searchParams.get('code') ?? expect.fail('no code');
export const exchangeOf = (client, code, proof, resource = 'rest') => ({
    grant_type: 'authorization_code',
    code,
    redirect_uri: client.callback,
    code_verifier: proof.verifier,
    resource: RESOURCE[resource],
});
async function consentOf({ database }, code) {
    const [row] = await database.sql `
    SELECT id FROM gateway.consent WHERE code_digest = ${digestOf(code)}`;
    return row?.id ?? expect.fail('no consent');
}
export async function family(gateway, client, wish = {}) {
    const asked = await pending(gateway, client, wish);
    const { status, text, body } = await token(gateway, client, asked.exchange);
    expect(status, text).toBe(200);
    return { ...asked, access: body.access_token, refresh: body.refresh_token ?? '' };
}
export const refreshing = (refresh, resource = 'rest') => ({
    grant_type: 'refresh_token',
    refresh_token: refresh,
    resource: RESOURCE[resource],
});
export async function own(gateway, client, resource = 'rest') {
    const answer = await token(gateway, client, { grant_type: 'client_credentials', resource: RESOURCE[resource] });
    expect(answer.status, answer.text).toBe(200);
    return answer.body.access_token;
}
/** For each interface: a request with a statement that proves the authority, and one without. */
const PROBES = {
    rest: ['/api/v1/websites', '/api/v1/context'].map((path) => async (gateway, bearer) => (await gateway.ask(path, { token: bearer })).status),
    mcp: [
        async ({ port }, bearer) => (await rpc(port, bearer, 'tools/call', { name: 'websites_list', arguments: {} })).status,
        async ({ port }, bearer) => (await rpc(port, bearer, 'ping')).status,
    ],
    a2a: [
        async ({ corridor }, bearer) => {
            const tool = corridor.registry.get('websites_list') ?? expect.fail('no websites_list');
            const outcome = await corridor.call({ tool, resource: 'a2a', bearer, input: {} });
            return 'failure' in outcome ? outcome.failure.status : 200;
        },
        ({ corridor }, bearer) => corridor.admit(bearer, 'a2a').then(() => 200, (error) => (error instanceof Failure ? error.status : expect.fail(String(error)))),
    ],
};
/** Sends the token to its interface on every gateway. Returns the different statuses. */
export async function worth(gateways, bearer, resource = 'rest') {
    const seen = new Set();
    for (const gateway of gateways)
        for (const probe of PROBES[resource])
            seen.add(await probe(gateway, bearer));
    return [...seen];
}
export const refusal = async (gateway, client, fields) => (await token(gateway, client, fields)).body.error;
/** Why the consent ended. Null while it is alive. */
export async function because({ database }, consent) {
    const [row] = await database.sql `
    SELECT revoked_because AS why FROM gateway.consent WHERE id = ${consent}`;
    return row?.why;
}
export async function liveRefreshTokens({ database }, consent) {
    const [row] = await database.sql `
    SELECT count(*)::integer AS n FROM gateway.refresh_token r JOIN gateway.consent c ON c.id = r.consent_id
     WHERE c.id = ${consent} AND c.revoked_at IS NULL AND c.expires_at > now() AND r.used_at IS NULL AND r.expires_at > now()`;
    return row?.n ?? expect.fail('no count');
}
/** Valid tokens whose consent has ended. There must be none. */
export async function orphans({ sql }) {
    return sql `SELECT t.consent_id FROM gateway.token t LEFT JOIN gateway.consent c ON c.id = t.consent_id
    WHERE t.consent_id IS NOT NULL AND t.revoked_at IS NULL AND (c.id IS NULL OR c.revoked_at IS NOT NULL)`;
}
/** A gateway process on its own port. All gateways of these tests have the same base URL. */
export async function startProcess(options) {
    const probe = createServer();
    await new Promise((resolve) => probe.listen(0, '127.0.0.1', resolve));
    const { port } = probe.address(); // the cast is sound, because the address of a TCP server is an AddressInfo
    await new Promise((resolve) => probe.close(resolve));
    const env = { ...options.env, PORT: String(port), GATEWAY_BASE_URL: BASE_URL };
    return { ...(await startReplica({ ...options, env })), url: `http://127.0.0.1:${port}` };
}
export function tokenAt(url, client, fields) {
    const headers = { 'content-type': 'application/x-www-form-urlencoded', authorization: basic(client) };
    return onWire(Number(new URL(url).port), undefined, formOf(fields), { path: '/oauth/token', version: null, headers });
}
export async function readAt(url, bearer) {
    const answer = await onWire(Number(new URL(url).port), bearer, undefined, {
        path: '/api/v1/websites',
        verb: 'GET',
        version: null,
    });
    return answer.status;
}
//# sourceMappingURL=ends.js.map
import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RESOURCES } from '../../../src/core/authority.js';
import { document, text } from '../../support/cli.js';
import { because, family, liveRefreshTokens, openPair, orphans, own, pending, refreshing, refusal, session, worth, } from '../../support/oauth/ends.js';
import { basic, formOf, newClient, newPerson, pkce, RESOURCE, request, token, } from '../../support/oauth/oauth.js';
/**
 * Two gateways that both keep the authority in memory. After the end of a token, each gateway must refuse the very next
 * request.
 */
let pair;
let a;
let b;
beforeAll(async () => {
    pair = await openPair();
    [a, b] = pair.gateways;
});
afterAll(() => pair.close());
const alive = async (bearer, resource) => expect(await worth(pair.gateways, bearer, resource)).toEqual([200]);
const dead = async (bearer, resource) => expect(await worth(pair.gateways, bearer, resource)).toEqual([401]);
describe('reuse', () => {
    it.each(RESOURCES)('OT-08 a code that is exchanged twice takes its tokens with it: %s', async (resource) => {
        const client = await newClient(a);
        const other = await family(a, client, { resource });
        const one = await family(a, client, { resource });
        const rotated = (await token(b, client, refreshing(one.refresh, resource))).body;
        for (const bearer of [one.access, rotated.access_token, other.access])
            await alive(bearer, resource);
        expect(await refusal(b, client, one.exchange)).toBe('invalid_grant');
        for (const bearer of [one.access, rotated.access_token])
            await dead(bearer, resource);
        expect(await refusal(a, client, refreshing(rotated.refresh_token, resource))).toBe('invalid_grant');
        expect(await because(a, one.consent)).toBe('code_misused');
        await alive(other.access, resource);
    });
    it.each(RESOURCES)('OT-13 a refresh token that was rotated takes the consent with it: %s', async (resource) => {
        const client = await newClient(a);
        const other = await family(a, client, { resource });
        const one = await family(a, client, { resource });
        const second = (await token(a, client, refreshing(one.refresh, resource))).body;
        const third = (await token(b, client, refreshing(second.refresh_token, resource))).body;
        const all = [one.access, second.access_token, third.access_token];
        for (const bearer of all)
            await alive(bearer, resource);
        expect(await liveRefreshTokens(a, one.consent)).toBe(1);
        expect(await refusal(b, client, refreshing(one.refresh, resource))).toBe('invalid_grant');
        for (const bearer of all)
            await dead(bearer, resource);
        expect(await refusal(a, client, refreshing(third.refresh_token, resource))).toBe('invalid_grant');
        expect(await liveRefreshTokens(a, one.consent)).toBe(0);
        expect(await because(a, one.consent)).toBe('refresh_reused');
        await alive(other.access, resource);
    });
    it('OT-18 a client that lost the answer to its refresh and sends the old token again has to ask for consent', async () => {
        const client = await newClient(a);
        const one = await family(a, client);
        await lose(a, client, refreshing(one.refresh));
        await alive(one.access);
        expect(await refusal(b, client, refreshing(one.refresh))).toBe('invalid_grant');
        await dead(one.access);
        expect(await liveRefreshTokens(a, one.consent)).toBe(0);
        await alive((await family(b, client, { person: one.person })).access);
    });
});
function lose(gateway, client, fields) {
    return new Promise((resolve, reject) => {
        const headers = { 'content-type': 'application/x-www-form-urlencoded', authorization: basic(client) };
        const { port } = gateway;
        const sent = httpRequest({ host: '127.0.0.1', port, path: '/oauth/token', method: 'POST', headers }, (response) => {
            expect(response.statusCode).toBe(200);
            response.on('error', () => undefined); // the test cuts this connection on purpose
            response.destroy();
            resolve();
        });
        sent.on('error', reject);
        sent.end(formOf(fields));
    });
}
const person = { reach: 'consents', told: 'invalid_grant', why: 'person' };
const credential = { reach: 'everything', told: 'invalid_client', why: 'credential' };
const ENDS = [
    {
        ...person,
        name: 'role lost',
        run: ({ person }) => document('person', 'role', person, '--role', 'operator'),
        undo: ({ person }) => document('person', 'role', person, '--role', 'owner'),
    },
    {
        ...person,
        name: 'person disabled',
        run: ({ person }) => document('person', 'disable', person),
        undo: ({ person }) => document('person', 'enable', person),
    },
    {
        ...person,
        name: 'person deleted',
        run: ({ person }) => pair.database.sql `DELETE FROM gateway.person WHERE id = ${person}`,
        why: undefined,
    },
    {
        ...person,
        name: 'consents revoked by an administrator',
        run: ({ consents }) => each(consents, (id) => document('consent', 'revoke', id)),
        why: 'revoked',
    },
    {
        ...credential,
        name: 'credential revoked',
        run: ({ client }) => document('credential', 'revoke', client.credential),
    },
    {
        ...credential,
        name: 'credential rotated without overlap',
        run: ({ client }) => document('credential', 'rotate', client.credential, '--overlap', '0s'),
    },
    {
        ...credential,
        name: 'credential rotated with overlap',
        run: ({ client }) => document('credential', 'rotate', client.credential, '--overlap', '1h'),
        reach: 'access',
        told: 'invalid_grant',
    },
    {
        ...credential,
        name: 'credential expired',
        run: ({ client }) => expire(client),
        why: undefined,
    },
    {
        ...credential,
        name: 'credential deleted',
        run: ({ client }) => pair.database.sql `DELETE FROM gateway.credential WHERE id = ${client.credential}`,
        why: undefined,
    },
];
const expire = ({ credential }) => pair.database
    .sql `UPDATE gateway.credential SET expires_at = now() - interval '1 millisecond' WHERE id = ${credential}`;
async function each(list, run) {
    for (const one of list)
        await run(one);
}
describe('OT-17 the ends of consent', () => {
    it.each(ENDS)('OT-17 $name', async ({ run, undo, reach, told, why }) => {
        const client = await newClient(a);
        const elsewhere = await newClient(a);
        const { id: person } = await newPerson(a);
        const families = [];
        for (const resource of RESOURCES)
            families.push(await family(a, client, { person, resource }));
        const waiting = await pending(b, client, { person });
        const mine = await Promise.all(RESOURCES.map((resource) => own(a, client, resource)));
        // The event concerns one person and one app. The consents of another person and of another app must survive.
        const others = await family(a, client);
        const apart = await family(a, elsewhere, { person });
        const cookie = await session(a, person);
        for (const one of families)
            await alive(one.access, one.resource);
        for (const [i, resource] of RESOURCES.entries())
            await alive(mine[i] ?? '', resource);
        for (const bearer of [client.token, others.access, apart.access])
            await alive(bearer);
        const consents = [...families, waiting].map(({ consent }) => consent);
        await run({ client, person, consents });
        for (const { access, resource } of families)
            await dead(access, resource);
        const ofClient = reach === 'consents' ? alive : dead;
        for (const [i, resource] of RESOURCES.entries())
            await ofClient(mine[i] ?? '', resource);
        await ofClient(others.access);
        await (reach === 'everything' ? dead : alive)(client.token);
        const ofPerson = told === 'invalid_grant' && why !== 'revoked' && reach === 'consents' ? dead : alive;
        await ofPerson(apart.access);
        for (const gateway of pair.gateways) {
            for (const { refresh, resource } of families) {
                expect(await refusal(gateway, client, refreshing(refresh, resource))).toBe(told);
            }
            expect(await refusal(gateway, client, waiting.exchange)).toBe(told);
        }
        if (why !== undefined)
            for (const one of families)
                expect(await because(a, one.consent)).toBe(why);
        const page = await a.ask(`/oauth/authorize?${formOf(request(elsewhere, pkce()))}`, {
            unchecked: true,
            headers: { cookie },
        });
        expect(page.text.includes('name="password"'), 'signed out').toBe(ofPerson === dead);
        if (!undo)
            return;
        await undo({ client, person });
        for (const { access, refresh, resource } of families) {
            await dead(access, resource);
            expect(await refusal(b, client, refreshing(refresh, resource))).toBe('invalid_grant');
        }
    });
    it('OT-17 a consent that ended with its credential does not come back when the credential is given more time', async () => {
        const client = await newClient(a);
        const one = await family(a, client);
        await alive(one.access);
        await expire(client);
        await dead(one.access);
        await document('credential', 'update', client.credential, '--expires', '90d');
        await alive(client.token);
        await dead(one.access);
        expect(await refusal(b, client, refreshing(one.refresh))).toBe('invalid_grant');
    });
});
describe('OT-17 what is taken from the credential is taken from its tokens', () => {
    const websites = async (gateway, bearer) => (await gateway.ask('/api/v1/websites', { token: bearer })).body.websites.map((one) => one.website_id);
    const page = '/api/v1/conversations?website_id=web_1_1';
    it('OT-17 a website', async () => {
        const client = await newClient(a);
        const consent = await family(a, client);
        const bearers = [consent.access, await own(a, client)];
        for (const gateway of pair.gateways)
            for (const bearer of bearers)
                expect(await websites(gateway, bearer)).toContain('web_1_2');
        await document('credential', 'update', client.credential, '--website', 'web_1_1');
        for (const gateway of pair.gateways) {
            for (const bearer of bearers) {
                const away = await gateway.ask('/api/v1/conversations?website_id=web_1_2', { token: bearer });
                expect(away.status).toBe(404);
                expect(await websites(gateway, bearer)).toEqual(['web_1_1']);
            }
        }
        const next = (await token(b, client, refreshing(consent.refresh))).body;
        expect(await websites(a, next.access_token)).toEqual(['web_1_1']);
        for (const gateway of pair.gateways)
            expect(await websites(a, await own(gateway, client))).toEqual(['web_1_1']);
    });
    it('OT-17 a scope', async () => {
        const client = await newClient(a);
        const consent = await family(a, client);
        const bearers = [consent.access, await own(a, client)];
        for (const gateway of pair.gateways)
            for (const bearer of bearers)
                expect((await gateway.ask(page, { token: bearer })).status).toBe(200);
        await document('credential', 'update', client.credential, '--scope', 'website_read');
        for (const gateway of pair.gateways) {
            for (const bearer of bearers) {
                expect((await gateway.ask(page, { token: bearer })).status).toBe(404);
                expect((await gateway.ask('/api/v1/context', { token: bearer })).body.scopes).toEqual(['website_read']);
            }
        }
    });
    const narrow = (client) => document('credential', 'update', client.credential, '--scope', 'website_read', '--website', 'web_1_1');
    it('OT-17 what a client that is remembered asks for afterwards is measured by what it holds now', async () => {
        const fields = { grant_type: 'client_credentials', resource: RESOURCE.rest };
        for (const wider of [{ scope: 'conversation_read' }, { website_id: 'web_1_2' }]) {
            const client = await newClient(a);
            await own(a, client);
            await narrow(client);
            expect(await refusal(a, client, { ...fields, ...wider }), JSON.stringify(wider)).toBe('invalid_scope');
        }
        const client = await newClient(a);
        await own(a, client);
        await narrow(client);
        const { scope, access_token } = (await token(a, client, fields)).body;
        expect(scope).toBe('website_read');
        const more = ['--scopes', 'all', '--website', 'web_1_1', '--website', 'web_1_2'];
        await document('credential', 'update', client.credential, ...more);
        expect((await b.ask('/api/v1/context', { token: access_token })).body.scopes).toEqual(['website_read']);
        expect(await websites(b, access_token)).toEqual(['web_1_1']);
    });
    it('OT-17 tokens of a consent are said to hold what consent and credential both do', async () => {
        const client = await newClient(a);
        const [one, waiting] = [await family(a, client), await pending(a, client)];
        await narrow(client);
        for (const fields of [refreshing(one.refresh), waiting.exchange]) {
            const { status, body } = await token(b, client, fields);
            expect([status, body.scope]).toEqual([200, 'website_read']);
        }
    });
    it('OT-17 a refresh for what the credential has lost is refused, and leaves the token as it is', async () => {
        const client = await newClient(a);
        const one = await family(a, client);
        await narrow(client);
        const asked = { ...refreshing(one.refresh), scope: 'conversation_read' };
        expect((await token(b, client, asked)).body).toMatchObject({ error: 'invalid_scope' });
        expect((await token(b, client, refreshing(one.refresh))).status).toBe(200);
    });
    it('OT-17 where nothing is left of a consent there is no token without a scope', async () => {
        const client = await newClient(a);
        const [one, waiting] = [await family(a, client), await pending(a, client)];
        await pair.database.sql `UPDATE gateway.credential SET scopes = '{health_read}' WHERE id = ${client.credential}`;
        for (const fields of [refreshing(one.refresh), waiting.exchange])
            expect((await token(b, client, fields)).body).toMatchObject({ error: 'invalid_scope' });
    });
});
/**
 * Each entry is a right that a credential loses while its access token is in use. The first entry is the credential
 * itself, which is revoked. `status` is the status of the next request.
 */
const TAKEN = [
    ['credential', [], '/api/v1/websites', 401],
    ['scope', ['--scope', 'website_read'], '/api/v1/conversations?website_id=web_1_1', 404],
    ['website', ['--website', 'web_1_2'], '/api/v1/conversations?website_id=web_1_1', 404],
    ['data access', ['--clear', 'data-access'], '/api/v1/conversations?website_id=web_1_1&query=refund', 404],
    ['restriction', ['--channel', 'chn_1_1_1'], '/api/v1/contacts?website_id=web_1_1', 404],
];
describe('TN-05 in a stream of requests with access tokens', () => {
    it.each(TAKEN)('TN-05 %s: what starts after the commit is denied', async (name, options, path, denied) => {
        for (let round = 0; round < 3; round++) {
            const client = await newClient(a, { websites: ['web_1_1', 'web_1_2'] });
            const bearer = await own(a, client);
            for (const gateway of pair.gateways)
                expect((await gateway.ask(path, { token: bearer })).status).toBe(200);
            let from = Number.POSITIVE_INFINITY;
            let until = Number.POSITIVE_INFINITY;
            let late = 0;
            const stream = async (gateway) => {
                for (let rest = 4; rest > 0;) {
                    const began = performance.now();
                    const { status } = await gateway.ask(path, { token: bearer });
                    if (began >= until) {
                        expect(status, `${name}, ${began - until} ms after`).toBe(denied);
                        late++;
                        rest--;
                    }
                    else if (performance.now() < from)
                        expect(status, `${name}, before`).toBe(200);
                    else
                        expect([200, denied]).toContain(status);
                }
            };
            const streams = [a, b, a, b].map(stream);
            await new Promise((resolve) => setTimeout(resolve, 5 + round * 17));
            from = performance.now();
            const { credential } = client;
            const taken = options.length === 0 ? ['revoke', credential] : ['update', credential, ...options];
            expect(text(await document('credential', ...taken), 'credential_id')).toBe(credential);
            until = performance.now();
            await Promise.all(streams);
            expect(late).toBe(16);
        }
    });
});
it('where a backup was put back, nothing that was used up since is good once more', async () => {
    const { sql } = pair.database;
    const client = await newClient(a);
    const [one, waiting] = [await family(a, client), await pending(a, client)];
    const left = await session(a, one.person);
    // The test takes a backup here. The restore loses everything that happens after the backup.
    expect((await token(a, client, refreshing(one.refresh))).status).toBe(200);
    expect((await token(a, client, waiting.exchange)).status).toBe(200);
    await sql `DELETE FROM gateway.refresh_token WHERE consent_id = ${waiting.consent} OR (consent_id = ${one.consent} AND used_at IS NULL)`;
    await sql `UPDATE gateway.refresh_token SET used_at = NULL WHERE consent_id = ${one.consent}`;
    await sql `DELETE FROM gateway.token WHERE consent_id = ${waiting.consent}`;
    await sql `UPDATE gateway.consent SET code_used_at = NULL WHERE id = ${waiting.consent}`;
    const [live] = await sql `
    SELECT count(*)::integer AS n FROM gateway.consent WHERE revoked_at IS NULL AND expires_at > now()`;
    expect(await document('restored', '--yes')).toMatchObject({ consents: live?.n });
    for (const fields of [refreshing(one.refresh), waiting.exchange])
        expect(await refusal(b, client, fields)).toBe('invalid_grant');
    await dead(one.access);
    const query = formOf(request(client, pkce(), { resource: RESOURCE.rest }));
    const page = await a.ask(`/oauth/authorize?${query}`, { headers: { cookie: left }, unchecked: true });
    expect(page.text).toMatch(/type="password"/);
});
it('in the end no token of a dead consent lives', async () => {
    expect(await orphans(pair.database)).toEqual([]);
});
//# sourceMappingURL=ends.test.js.map
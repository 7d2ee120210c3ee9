import { generateKeyPairSync, sign } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openIdentityProvider } from '../../src/auth/identity-provider.js';
import { NotVouchedFor } from '../../src/auth/not-vouched-for.js';
import { clientOf } from '../../src/auth/oauth/clients/document.js';
import { Failure } from '../../src/core/failures.js';
import { webhookMessage } from '../../src/events/webhooks/message.js';
import { startTracing } from '../../src/observe/tracing.js';
import { documentFetcher } from '../../src/outbound/documents.js';
import { send, senderOptions } from '../../src/outbound/sender.js';
import { newWebhookSecret } from '../../src/outbound/signature.js';
import { ask } from '../../src/sources/chatwoot/api.js';
import { NotPerformed } from '../../src/sources/helpdesk.js';
import { issue } from '../support/credentials.js';
import { freshDatabase } from '../support/database.js';
import { addEndpoint, log, openReceiver, run as runWebhooks, tell, until } from '../support/events/webhooks.js';
import { times } from '../support/form.js';
import { openHostileServer, watchProcess } from '../support/hostile/http-servers.js';
/**
 * Every HTTP server that the gateway calls can be hostile: receivers of webhooks, hosts of client documents, identity
 * providers, the helpdesk's API and the collector of traces. A real server answers each of these clients in each
 * hostile way. FC_SEED repeats a run. `TEST_FORM=long` repeats all of it with other random bytes.
 */
const SEED = Number(process.env['FC_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
process.stderr.write(`hostile servers: FC_SEED=${SEED}\n`);
const ROUNDS = times(1, 10);
/** Calls that run at the same time, beside those that only wait. */
const LANES = 6;
/** Bounds: milliseconds that a neighbour waits, bytes of memory, bytes that a server can send to one call. */
const HELD = 250;
const GROWN = 192 * 1_048_576;
const SENT = 16 * 1_048_576;
/** Milliseconds after the deadline of a call within which it has ended. */
const GRACE = 1_500;
let server;
const rejections = [];
const noted = (error) => void rejections.push(error);
beforeAll(async () => {
    server = await openHostileServer(SEED);
    expect(server.names.length).toBeGreaterThan(80);
    process.on('unhandledRejection', noted);
    process.on('uncaughtExceptionMonitor', noted);
});
afterAll(() => {
    process.off('unhandledRejection', noted);
    process.off('uncaughtExceptionMonitor', noted);
    server.close();
});
/** These answers last as long as the deadline. A server that sends without an end is none of them. */
const SLOW = /nothing|drip|stops|2-pow-63/;
/** Lets a client call an answer. */
async function call(title, client, name) {
    const key = `${title}-${name}`;
    const began = performance.now();
    const said = await client.call(server.tls[name] ?? server.origin, `/${name}/${key}`);
    return { name, key, said, took: performance.now() - began };
}
const slowCalls = (title, client, names) => Promise.all(names.filter((name) => SLOW.test(name)).map((name) => call(title, client, name)));
/** The slow calls of all clients, by title. They only wait, so they wait at the same time. */
const together = new Map();
/** Runs all answers against one client, in lanes, and judges what the client says. */
async function findings(title, client, names) {
    const watched = watchProcess();
    const waiting = names.filter((name) => !SLOW.test(name));
    const ended = [...(await (together.get(title) ?? slowCalls(title, client, names)))];
    const lane = async () => {
        for (let name = waiting.shift(); name; name = waiting.shift())
            ended.push(await call(title, client, name));
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    const { held, grown } = watched();
    expect(ended.length).toBe(names.length);
    await new Promise((resolve) => setTimeout(resolve, 100));
    const counts = await server.counts();
    const bytes = ended.map(({ name, key }) => [name, counts[key]?.bytes ?? 0]);
    const most = Math.max(...bytes.map(([, sent]) => sent));
    process.stderr.write(`${title}: ${ended.length} answers, held ${held} ms, grown ${Math.round(grown / 1_048_576)} MiB, at most ${(most / 1_048_576).toFixed(1)} MiB sent\n`);
    return {
        wrong: ended.filter(({ name, said }) => !client.right(name).test(said)),
        late: ended.filter(({ took }) => took > client.deadline + GRACE),
        much: bytes.filter(([, sent]) => sent > SENT),
        followed: ended.filter(({ key }) => counts[`inside-${key}`] !== undefined).length,
        held,
        grown,
    };
}
async function judge(title, client, names) {
    for (let round = 0; round < ROUNDS; round++) {
        const { held, grown, ...found } = await findings(`${title}${round}`, client, names);
        expect(found).toEqual({ wrong: [], late: [], much: [], followed: 0 });
        expect(held).toBeLessThan(HELD);
        expect(grown).toBeLessThan(GROWN);
        expect(rejections).toEqual([]);
    }
}
/** Answers whose status line and body are whole, although the body can be strange. */
const wholeJson = /^(json-(?!cut|bom|utf16|not-utf8)|two-answers|more-than-length)/;
const statusOf = (name) => {
    const [, status] = /^(?:status|redirect)-(\d+)$/.exec(name) ?? [];
    if (status !== undefined)
        return Number(status);
    return name === 'retry-for-ever' ? 503 : name === 'upgrade' ? 101 : undefined;
};
const webhook = {
    deadline: 1_500,
    call: async (origin, path) => {
        const receipt = {
            event_id: `evt_${'0'.repeat(64)}`,
            event_type: 'visitor.changed',
            website_id: 'web_1_1',
            cursor: 1,
            occurred_at: 1,
            recorded_at: 1,
        };
        const outcome = await send({
            at: Date.now(),
            url: `${origin}${path}`,
            secrets: [newWebhookSecret()],
            message: webhookMessage({ number: 1, test: false, gapSince: null, receipt }),
        }, { ...senderOptions(new Set([origin]), 'http://127.0.0.1:8420'), deadline: 1_500 });
        return 'error' in outcome ? outcome.error : `status ${outcome.status}`;
    },
    right: (name) => {
        const status = statusOf(name);
        if (status !== undefined)
            return new RegExp(`^status ${status}$`);
        if (name === 'tls-nothing')
            return /^timeout$/;
        if (name.startsWith('tls-'))
            return /^(tls_failed|connection_failed|timeout)$/;
        // The status counts when the answer is whole, or when 64 KiB of it have come. The body means nothing.
        if (/^(gzip|deflate|brotli|json|html|empty|coding)|^(body|length|chunks)-for-ever$/.test(name))
            return /^status 200$/;
        if (name === 'more-than-length')
            return /^(status 200|response_broken)$/;
        if (wholeJson.test(name))
            return /^status 200$/;
        if (/^(nothing|body-stops|header-drip|hints-drip|body-drip|chunk-drip)$/.test(name))
            return /^timeout$/;
        return /^(connection_failed|response_broken|timeout)$/;
    },
};
const document = {
    deadline: 2_000,
    call: async (origin, path) => {
        const fetched = await documentFetcher({ allowed: new Set([origin]), userAgent: 'test' })(`${origin}${path}`);
        if (fetched === undefined)
            return 'away';
        if ('broken' in fetched)
            return fetched.broken;
        const client = clientOf(`${origin}${path}`, fetched.json);
        return typeof client === 'string' ? client : 'accepted';
    },
    right: (name) => {
        const status = statusOf(name);
        if (status === 101)
            return /^status$/;
        if (status !== undefined) {
            if (status === 404)
                return /^gone$/;
            if (status >= 500 || status === 429)
                return /^away$/;
            return status >= 300 && status < 400 ? /^redirect$/ : /^status$/;
        }
        if (/^(gzip|deflate|brotli|coding)/.test(name))
            return /^encoding$/;
        if (/^json-(deep|8-mb|keys)|^(body|length|chunks)-for-ever$/.test(name))
            return /^size$/;
        if (name === 'html')
            return /^type$/;
        if (/^(html-as-json|empty|json-cut|json-utf16|json-not-utf8)$/.test(name))
            return /^json$/;
        if (/^json-(null|list)$/.test(name))
            return /^object$/;
        if (/^json-|^(two-answers|more-than-length)$/.test(name))
            return /^client_(id|name)$/;
        return /^away$/;
    },
};
const TOKEN = 'token-of-the-test';
const chatwoot = (method) => ({
    deadline: 1_500,
    call: async (origin, path) => {
        const cut = new AbortController();
        const timer = setTimeout(() => cut.abort(new Error('the time is over')), 1_500);
        const body = method === 'POST' ? { content: 'note' } : undefined;
        try {
            const asked = { method, path, ...(body && { body }) };
            await ask({ apiUrl: origin, token: TOKEN }, asked, cut.signal);
            return 'done';
        }
        catch (error) {
            expect(String(error)).not.toContain(TOKEN);
            return error instanceof NotPerformed ? `not performed ${JSON.stringify(error.ending)}` : 'unknown';
        }
        finally {
            clearTimeout(timer);
        }
    },
    right: (name) => {
        if (name.startsWith('tls-'))
            return /^not performed/;
        const status = statusOf(name);
        if (status !== undefined) {
            const begun = [101, 204, 206, 302, 303, 304, 500, 502, 503, 999].includes(status);
            return status === 206 ? /^done$/ : begun ? /^unknown$/ : /^not performed/;
        }
        // The shapes of an answer are judged by its reader (chatwoot/write-back.ts).
        if (name === 'json-not-utf8' || (wholeJson.test(name) && !/^json-(8-mb|keys)$/.test(name)))
            return /^(done|unknown)$/;
        return /^unknown$/;
    },
});
const collector = {
    deadline: 2_500,
    call: async (origin, path) => {
        let lost = 0;
        const tracing = startTracing({
            url: `${origin}${path}`,
            service: 'test',
            version: '0',
            timeout: 1_000,
            onError: (spans) => {
                lost += spans;
            },
            onComplaint: () => undefined,
        });
        tracing
            .trace(undefined)
            .end({ surface: 'rest', operation: 'site', outcome: 'ok', status: 200, requestId: 'r' }); // the cast is sound, because only these members are read
        const stopped = await tracing.stop();
        // The end waits for one second, and so does an export. Its failure can be told just after the end.
        for (let waits = 0; !stopped && lost === 0 && waits < 75; waits++)
            await pause(20);
        return `${stopped ? 'stopped' : 'late'} ${lost}`;
    },
    // An answer decides nothing but whether spans are lost. An answer without the whole head of a success loses them.
    right: (name) => {
        if (/^(cut-(length|chunk)|reset-(after-headers|in-body)|length-|body-|chunk|trailers)/.test(name))
            return /^(stopped|late) [01]$/;
        const failed = /^(nothing|end|garbage|reset-|cut-|bad-status|other-protocol|http|status-(?!20)|redirect-)|-drip$|-storm$/;
        return failed.test(name) || name === 'retry-for-ever' ? / 1$/ : /^(stopped|late) [01]$/;
    },
};
it('a delivery to a hostile receiver fails and is repeated, and its neighbour gets each receipt', {
    timeout: 60_000,
}, async () => {
    const database = await freshDatabase('demo');
    const honest = await openReceiver();
    const { credential } = await issue(database.sql, 1);
    const neighbour = await addEndpoint(database, credential, honest.url);
    const hostile = [];
    for (const name of ['hints-storm', 'body-drip', 'garbage-for-ever', 'reset-in-body', 'redirect-307', 'status-500']) {
        const { credential: other } = await issue(database.sql, 1);
        hostile.push({ name, ...(await addEndpoint(database, other, `${server.origin}/${name}/delivery-${name}`)) });
    }
    const running = runWebhooks(database, [honest, server], { sending: { deadline: 700 } });
    await tell(database, 3);
    await until(async () => (await log(database, neighbour.id)).filter((one) => one.status === 'delivered').length === 3);
    for (const { name, id } of hostile) {
        const repeated = async () => (await log(database, id)).some(({ attempts }) => attempts >= 2);
        await until(repeated, 20_000);
        const rows = await log(database, id);
        expect(rows.filter(({ status }) => status === 'delivered'), name).toEqual([]);
    }
    await running.stop();
    expect(running.errors).toEqual([]);
    expect((await server.counts())['inside-delivery-redirect-307'], 'no redirect is followed').toBeUndefined();
    await honest.close();
    await database.close();
});
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const JWK = { ...publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'RS256', use: 'sig' };
const b64 = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
const KEPT = { state: 'state-of-the-test', nonce: 'nonce-of-the-test', verifier: 'v'.repeat(43) };
/** An ID token with changes of its header and its claims. */
function idToken(issuer, claims = {}, header = {}) {
    const now = Math.floor(Date.now() / 1_000);
    const body = `${b64({ alg: 'RS256', kid: 'k', ...header })}.${b64({
        iss: issuer,
        sub: 'ada',
        aud: 'gateway',
        iat: now,
        exp: now + 300,
        nonce: KEPT.nonce,
        ...claims,
    })}`;
    return `${body}.${sign('RSA-SHA256', Buffer.from(body), privateKey).toString('base64url')}`;
}
const STEPS = ['discovery', 'token', 'jwks', 'userinfo'];
const PATHS = {
    discovery: '.well-known/openid-configuration',
    token: 'token',
    jwks: 'jwks',
    userinfo: 'userinfo',
};
/** The honest answers of a provider at this issuer. */
const provider = (issuer, token = idToken(issuer), keys = [JWK]) => ({
    discovery: JSON.stringify({
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        userinfo_endpoint: `${issuer}/userinfo`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
    }),
    token: JSON.stringify({ access_token: 'a', token_type: 'Bearer', expires_in: 60, id_token: token }),
    jwks: JSON.stringify({ keys }),
    userinfo: JSON.stringify({ sub: 'ada', email: 'ada@example.org', email_verified: true }),
});
async function signIn(issuer, key, answers) {
    const honest = STEPS.flatMap((step) => {
        const answer = answers[step];
        return answer === undefined ? [] : [[`${key}/${PATHS[step]}`, answer]];
    });
    await server.honest(Object.fromEntries(honest));
    const identity = openIdentityProvider({ issuer, clientId: 'gateway', clientSecret: 'secret' });
    try {
        await identity.begin('http://127.0.0.1:8420/oauth/identity/callback');
        const callback = new URL(`http://127.0.0.1:8420/oauth/identity/callback?code=c&state=${KEPT.state}`);
        return JSON.stringify(await identity.finish(callback, KEPT));
    }
    catch (error) {
        if (error instanceof NotVouchedFor)
            return `refused ${error.code}`;
        return error instanceof Failure ? error.code : `strange ${error}`;
    }
}
const REFUSED = /^(refused \w|service_unavailable$)/;
/** With these answers the provider is away. Nothing is wrong with the person. */
const AWAY = /^(nothing|garbage|end|cut-|reset-|tls-|other-protocol)|-(drip|storm|bomb|for-ever)$/;
const ADA = (issuer) => JSON.stringify({ subject: `${issuer} ada`, email: 'ada@example.org' });
/** Up to three honest answers come before the hostile one, and the lanes share the processor. */
const identity = (step) => ({
    deadline: 8_000,
    call: (origin, path) => {
        const [, , key = ''] = path.split('/');
        const { [step]: _hostile, ...honest } = provider(`${origin}${path}`);
        return signIn(`${origin}${path}`, key, honest);
    },
    right: (name) => (AWAY.test(name) ? /^service_unavailable$/ : REFUSED),
});
describe('a hostile server cannot stop, fill or mislead', () => {
    const clients = [
        ['the sender of webhooks', 'webhook', webhook, true],
        ['the reader of client documents', 'document', document, true],
        ['the reads of the helpdesk', 'read', chatwoot('GET'), true],
        ['the writes to the helpdesk', 'write', chatwoot('POST'), true],
        ['the exporter of traces', 'traces', collector, false],
        ...STEPS.map((step) => [`a sign-in, by the answer to the request for ${step}`, step, identity(step), step === 'discovery']),
    ];
    const namesOf = (tls) => [...server.names, ...(tls ? Object.keys(server.tls) : [])];
    beforeAll(async () => {
        const watched = watchProcess();
        for (const [, title, client, tls] of clients)
            together.set(`${title}0`, slowCalls(`${title}0`, client, namesOf(tls)));
        await Promise.all(together.values());
        expect(watched().held).toBeLessThan(HELD);
    });
    it.each(clients)('%s', { timeout: 240_000 * ROUNDS }, (_about, title, client, tls) => judge(title, client, namesOf(tls)));
});
describe('a hostile identity provider signs nobody in', () => {
    const now = Math.floor(Date.now() / 1_000);
    const other = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' });
    const many = (n) => Array.from({ length: n }, (_, at) => ({ ...other, kid: `k${at}` }));
    const unsigned = (alg, body) => `${b64({ alg, kid: 'k' })}.${b64(body)}.`;
    const rows = [
        [
            'no signature (alg none)',
            (at) => provider(at, unsigned('none', { iss: at, sub: 'ada', aud: 'gateway', nonce: KEPT.nonce })),
        ],
        ['a signature by the secret (HS256)', (at) => provider(at, idToken(at, {}, { alg: 'HS256' }))],
        ['another algorithm than it names', (at) => provider(at, idToken(at, {}, { alg: 'PS256' }))],
        ['a token that has expired', (at) => provider(at, idToken(at, { exp: now - 3_600 }))],
        ['a token of the future', (at) => provider(at, idToken(at, { nbf: now + 3_600 }))],
        ['a time beyond numbers', (at) => provider(at, idToken(at, { exp: '1e999' }))],
        ['another issuer in the token', (at) => provider(at, idToken(at, { iss: 'https://other.example' }))],
        [
            'another issuer in its metadata',
            (at) => ({ ...provider(at), discovery: provider('https://other.example')['discovery'] ?? '' }),
        ],
        ['another audience', (at) => provider(at, idToken(at, { aud: 'other' }))],
        ['another nonce', (at) => provider(at, idToken(at, { nonce: 'other' }))],
        ['no subject', (at) => provider(at, idToken(at, { sub: undefined }))],
        [
            'another subject at the userinfo endpoint',
            (at) => ({ ...provider(at), userinfo: '{"sub":"eve","email":"eve@example.org","email_verified":true}' }),
        ],
        ['no key', (at) => provider(at, idToken(at), [])],
        ['the key of another', (at) => provider(at, idToken(at), [{ ...other, kid: 'k' }])],
        ['10,000 keys without the right one', (at) => provider(at, idToken(at), many(10_000))],
        ['500 keys without the right one', (at) => provider(at, idToken(at), many(500))],
        [
            'a key of 16,384 bits',
            (at) => provider(at, idToken(at), [{ ...JWK, n: Buffer.alloc(2_048, 0xff).toString('base64url') }]),
        ],
        [
            'a key of 16,384 bits with an exponent as long',
            (at) => provider(at, idToken(at), [
                {
                    ...JWK,
                    n: Buffer.alloc(2_048, 0xff).toString('base64url'),
                    e: Buffer.alloc(2_048, 0xfd).toString('base64url'),
                },
            ]),
        ],
        [
            'a key of 800,000 bits',
            (at) => provider(at, idToken(at), [{ ...JWK, n: Buffer.alloc(100_000, 0xff).toString('base64url') }]),
        ],
        ['a key that is no key', (at) => provider(at, idToken(at), [{ ...JWK, n: {}, e: [] }])],
        ['a token of 100,000 parts', (at) => provider(at, '.'.repeat(100_000))],
    ];
    it.each(rows)('by %s', async (name, make) => {
        const key = `forged-${name.replace(/\W+/g, '-')}`;
        const issuer = `${server.origin}/inside/${key}`;
        const watched = watchProcess();
        const began = performance.now();
        const said = await signIn(issuer, key, make(issuer));
        expect(said).toMatch(/metadata|10,000/.test(name) ? /^service_unavailable$/ : /^refused OAUTH_\w+$/);
        expect(performance.now() - began).toBeLessThan(5_000 + GRACE);
        expect(watched().held).toBeLessThan(HELD);
        expect(rejections).toEqual([]);
    });
    it('but an honest one does, also with 500 keys', async () => {
        for (const [key, keys] of [
            ['honest', [JWK]],
            ['honest-500', [...many(500), JWK]],
        ]) {
            const issuer = `${server.origin}/inside/${key}`;
            expect(await signIn(issuer, key, provider(issuer, idToken(issuer), keys))).toBe(ADA(issuer));
        }
    });
});
describe('planted defects', () => {
    const planted = (follow, ms) => ({
        deadline: 500,
        call: async (origin, path) => {
            const options = { redirect: follow, signal: AbortSignal.timeout(ms) };
            const read = fetch(`${origin}${path}`, options).then(async (response) => {
                for await (const _part of response.body ?? [])
                    ;
                return 'status 200';
            });
            return read.catch(() => 'timeout');
        },
        right: () => /^timeout$/,
    });
    it('a client without a bound, one without a deadline, one that follows redirects and one that lies are found', {
        meta: { shown: { planted: 4 } },
    }, async () => {
        const names = ['body-for-ever', 'body-drip', 'redirect-307', 'json-null'];
        const { much, late, followed, wrong } = await findings('planted', planted('follow', 3_000), names);
        expect(much.map(([name]) => name)).toEqual(['body-for-ever']);
        expect(late.map(({ name }) => name)).toContain('body-drip');
        expect(followed).toBe(1);
        expect(wrong.map(({ name }) => name)).toContain('json-null');
    });
});
//# sourceMappingURL=http-servers.test.js.map
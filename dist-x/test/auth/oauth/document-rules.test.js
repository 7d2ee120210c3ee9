import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DOCUMENT_RULES } from '../../../src/auth/oauth/clients/document-rules.js';
import { openTestGateway } from '../../support/gateway.js';
import { KEYS } from '../../support/keys.js';
import { documentOf, hostedOptions, hostedRequest, lineOf, openDocuments, } from '../../support/oauth/hosted.js';
import { expectPage, expectRefused, formOf, pkce, post, RESOURCE } from '../../support/oauth/oauth.js';
/**
 * A document that breaks a rule is its client's mistake: the answer is 400 and names the rule. A document that did not
 * come is nobody's mistake: the answer is 503.
 */
let gateway;
let documents;
/** The origin of a port where nobody listens. */
let lonely;
beforeAll(async () => {
    documents = await openDocuments();
    const closed = await openDocuments();
    lonely = closed.origin;
    await closed.close();
    const resolve = async (host) => {
        if (host === 'inside.example')
            return ['93.184.216.34', '10.0.0.1'];
        throw new Error('no such name');
    };
    gateway = await openTestGateway('demo', undefined, KEYS, {}, hostedOptions(documents, ['*'], resolve, [lonely]));
});
afterAll(async () => {
    await gateway.close();
    await documents.close();
});
const JSON_TYPE = { 'content-type': 'application/json' };
const serve = (answer) => {
    const path = `/${randomUUID()}.json`;
    return documents.serve(path, (_request, response) => answer(response, `${documents.origin}${path}`));
};
const serveBody = (body, headers = {}, status = 200) => serve((response, url) => response.writeHead(status, { ...JSON_TYPE, ...headers }).end(body(url)));
const text = (url, changes = {}) => JSON.stringify(documentOf(url, changes));
const changed = (changes) => documents.serve(`/${randomUUID()}.json`, changes);
const authorize = (id) => gateway.ask(`/oauth/authorize?${formOf(hostedRequest(id, pkce()))}`, { unchecked: true });
/** The ways in which a document can break each rule. */
const BROKEN = {
    form: [['a backslash', () => 'https://public.example/client.json?a\\b']],
    fragment: [
        ['a fragment', () => `${changed({})}#part`],
        ['an empty fragment', () => `${changed({})}#`],
    ],
    user: [
        ['a user', () => changed({}).replace('//', '//user@')],
        ['a user and a password', () => changed({}).replace('//', '//user:password@')],
    ],
    https: [['http at a public name', () => 'http://public.example/client.json']],
    port: [['a port of another service', () => 'https://public.example:6379/client.json']],
    public: [
        ['an address of the own machine', () => 'https://127.0.0.1/client.json'],
        ['an address of cloud metadata', () => 'https://169.254.169.254/client.json'],
        ['a name of the own network', () => 'https://db.internal/client.json'],
        ['a public name with a private address', () => 'https://inside.example/client.json'],
    ],
    redirect: [
        ['302', () => serveBody(() => '', { location: '/elsewhere.json' }, 302)],
        ['301 with a document', () => serveBody(text, { location: documents.serve('/real.json') }, 301)],
        ['307 to an inside address', () => serveBody(() => '', { location: 'http://169.254.169.254/' }, 307)],
    ],
    status: [
        ['403', () => serveBody(text, {}, 403)],
        ['206', () => serveBody(text, {}, 206)],
        ['101', () => serve((response) => void response.socket?.end('HTTP/1.1 101 Go\r\nUpgrade: x\r\n\r\n'))],
    ],
    gone: [
        ['404', () => `${documents.origin}/nothing.json`],
        ['410', () => serveBody(text, {}, 410)],
    ],
    type: [
        ['HTML', () => serveBody(text, { 'content-type': 'text/html' })],
        ['no type', () => serve((response, url) => response.writeHead(200).end(text(url)))],
        ['JSONP', () => serveBody(text, { 'content-type': 'application/jsonp' })],
    ],
    encoding: [
        ['gzip', () => serveBody((url) => gzipSync(text(url)), { 'content-encoding': 'gzip' })],
        ['a compressed bomb', () => serveBody(() => gzipSync(Buffer.alloc(20_000_000)), { 'content-encoding': 'gzip' })],
    ],
    size: [
        ['5,121 bytes', () => serveBody((url) => text(url).padEnd(5_121))],
        ['1 MB', () => serveBody((url) => text(url).padEnd(1_000_000))],
        ['more than 5 KiB in pieces', () => serve((response) => drip(response.writeHead(200, JSON_TYPE)))],
    ],
    json: [
        ['no JSON', () => serveBody(() => '{')],
        ['an empty body', () => serveBody(() => '')],
        ['not UTF-8', () => serveBody((url) => Buffer.from(text(url, { client_name: 'caf\u00e9' }), 'latin1'))],
    ],
    object: [
        ['null', () => serveBody(() => 'null')],
        ['a list', () => serveBody(() => '[]')],
    ],
    client_id: [
        ['another client', () => changed({ client_id: 'https://claude.ai/oauth/claude-code-client-metadata' })],
        ['no client', () => changed({ client_id: undefined })],
    ],
    client_name: [
        ['no name', () => changed({ client_name: undefined })],
        ['spaces', () => changed({ client_name: '  ' })],
        ['a control character', () => changed({ client_name: 'a\u0000' })],
        ['1,001 characters', () => changed({ client_name: 'x'.repeat(1_001) })],
    ],
    redirect_uris: [
        ['none', () => changed({ redirect_uris: undefined })],
        ['an empty list', () => changed({ redirect_uris: [] })],
        ['a number', () => changed({ redirect_uris: [7] })],
        ['101 addresses', () => changed({ redirect_uris: Array(101).fill('https://a.example/') })],
    ],
    secret: [
        ['a secret', () => changed({ client_secret: 'x' })],
        ['a method with a secret', () => changed({ token_endpoint_auth_method: 'client_secret_basic' })],
        ['signatures only', () => changed({ token_endpoint_auth_method: 'private_key_jwt' })],
    ],
};
function drip(response) {
    const timer = setInterval(() => response.write(' '.repeat(1_024)), 5);
    response.on('close', () => clearInterval(timer));
}
describe('a client document that breaks a rule', () => {
    const rows = Object.entries(BROKEN).flatMap(([rule, ways]) => ways.map(([name, make]) => ({ rule, name, make })));
    it.each(rows)('$name ($rule) is 400, and page and log name the rule', async ({ rule, make }) => {
        const answer = await authorize(make());
        expectPage(answer, rule, 400);
        expect(lineOf(gateway, answer)).toMatchObject({ code: 'invalid_request', reason: 'document_refused', rule });
        const [, lead = ''] = /<p class="lead">([^<]+)/.exec(answer.text) ?? [];
        expect(lead).toContain(DOCUMENT_RULES[rule]); // the cast is sound, because the key of the row is a rule
        expect(answer.headers['retry-after']).toBeUndefined();
    });
    it('a document at the bounds of the rules is accepted', async () => {
        for (const url of [
            serveBody((id) => text(id).padEnd(5_120)),
            serveBody(text, { 'content-type': 'application/vnd.client+json; charset=utf-8' }),
            changed({ client_name: 'x'.repeat(1_000), redirect_uris: Array(100).fill('https://app.example/cb') }),
            changed({ token_endpoint_auth_method: 'private_key_jwt', token_endpoint_auth_methods_supported: ['none'] }),
        ])
            expect((await authorize(url)).status).toBe(200);
    });
    it('counts for a minute at most, and no second request asks for it at once', async () => {
        const url = serveBody(() => '{');
        const before = documents.asked.length;
        for (let at = 0; at < 3; at++)
            expectPage(await authorize(url), 'no JSON', 400);
        expect(documents.asked.length - before).toBe(1);
    });
    it('an address with a fragment or a user is also wrong at the token endpoint, without a request to its host', async () => {
        const before = documents.asked.length;
        for (const [rule, id] of [
            ['fragment', `${changed({})}#part`],
            ['user', changed({}).replace('//', '//user@')],
        ])
            for (const fields of [
                { grant_type: 'authorization_code', code: 'x', redirect_uri: 'https://app.example/cb', code_verifier: 'x' },
                { grant_type: 'refresh_token', refresh_token: 'x' },
            ]) {
                const answer = await post(gateway, '/oauth/token', { ...fields, client_id: id, resource: RESOURCE.mcp });
                expectRefused(answer, 'invalid_client', rule);
                expect(answer.body.error_description).toContain(DOCUMENT_RULES[rule]);
            }
        expect(documents.asked.length).toBe(before);
    });
});
describe('a client document that does not come', () => {
    const away = [
        ['500', () => serveBody(text, {}, 500)],
        ['503', () => serveBody(text, {}, 503)],
        ['429', () => serveBody(text, {}, 429)],
        ['a reset', () => serve((response) => void response.socket?.resetAndDestroy())],
        ['no answer within 2 s', () => serve(() => undefined)],
        ['a body that stops', () => serve((response) => response.writeHead(200, JSON_TYPE).write('{'))],
        ['a body that is cut off', () => serve((response) => cutOff(response))],
        ['no HTTP', () => serve((response) => void response.socket?.end('SSH-2.0-OpenSSH_9.6\r\n'))],
        ['a port where nobody listens', () => `${lonely}/client.json`],
        ['a name that is not in the DNS', () => 'https://unknown.example/client.json'],
    ];
    it.each(away)('%s is 503 with Retry-After', async (_name, make) => {
        const answer = await authorize(await make());
        expectPage(answer, 'away', 503);
        expect(lineOf(gateway, answer)).toMatchObject({ code: 'temporarily_unavailable', reason: 'document_unreachable' });
        expect(lineOf(gateway, answer)).not.toHaveProperty('rule');
        expect(Number(answer.headers['retry-after'])).toBeLessThanOrEqual(5);
    });
});
function cutOff(response) {
    response.writeHead(200, { ...JSON_TYPE, 'content-length': '9' }).write('{}');
    setTimeout(() => response.destroy(), 20);
}
//# sourceMappingURL=document-rules.test.js.map
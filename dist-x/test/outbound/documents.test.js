import { randomUUID } from 'node:crypto';
import { createServer } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openClientsByUrl } from '../../src/auth/oauth/clients/by-url.js';
import { documentFetcher } from '../../src/outbound/documents.js';
import { documentOf, openDocuments } from '../support/oauth/hosted.js';
let documents;
beforeAll(async () => {
    documents = await openDocuments();
});
afterAll(() => documents.close());
const here = () => documentFetcher({ allowed: new Set([documents.origin]), userAgent: 'test' });
const serve = (answer) => documents.serve(`/${randomUUID()}`, (_request, response) => answer(response));
const JSON_TYPE = { 'content-type': 'application/json' };
it('fetches a small JSON document with its lifetime', async () => {
    const date = 'Mon, 23 Nov 2026 12:00:00 GMT';
    const expires = 'Mon, 23 Nov 2026 12:10:00 GMT';
    const lives = [
        [{}, undefined],
        [{ 'cache-control': 'max-age=60' }, 60],
        [{ 'cache-control': 'public, max-age=60, immutable' }, 60],
        [{ 'cache-control': 'no-store' }, 0],
        [{ 'cache-control': 'max-age=60, no-cache' }, 0],
        [{ 'cache-control': 's-maxage=9' }, undefined],
        [{ 'cache-control': 'max-age=60', age: '45' }, 15],
        [{ 'cache-control': 'max-age=60', age: '61' }, 0],
        [{ 'cache-control': 'max-age=60', age: 'x' }, 60],
        [{ age: '45' }, undefined],
        [{ date, expires }, 600],
        [{ date, expires, age: '100' }, 500],
        [{ date, expires, 'cache-control': 'max-age=60' }, 60],
        [{ date, expires, 'cache-control': 'no-cache' }, 0],
        [{ date: expires, expires: date }, 0],
        [{ expires: '0' }, 0],
        [{ expires: 'soon' }, 0],
    ];
    for (const [headers, maxAge] of lives) {
        const url = serve((response) => response.writeHead(200, { ...JSON_TYPE, ...headers }).end('{"a":1}'));
        expect(await here()(url), JSON.stringify(headers)).toEqual({ json: { a: 1 }, maxAge });
    }
    // Without the header Date, the gateway's own clock counts.
    const undated = serve((response) => {
        response.sendDate = false;
        response.writeHead(200, { ...JSON_TYPE, expires: new Date(Date.now() + 100_000).toUTCString() }).end('{}');
    });
    const fetched = await here()(undated);
    expect(fetched).toEqual({ json: {}, maxAge: expect.any(Number) });
    expect(Math.abs(100 - Number(fetched && 'maxAge' in fetched && fetched.maxAge))).toBeLessThan(10);
});
it('tells that there is no document from a request that failed', async () => {
    for (const status of [404, 410])
        expect(await here()(serve((response) => response.writeHead(status).end())), String(status)).toEqual({
            broken: 'gone',
        });
});
it('takes no answer that is large, slow, redirected, encoded, broken or no JSON', async () => {
    const answers = {
        '5121 bytes': (response) => response.writeHead(200, JSON_TYPE).end(JSON.stringify('x'.repeat(5_119))),
        '1 MB': (response) => response.writeHead(200, JSON_TYPE).end(JSON.stringify('x'.repeat(1_000_000))),
        'never ends': (response) => response.writeHead(200, JSON_TYPE).write('{'),
        drips: (response) => {
            response.writeHead(200, JSON_TYPE);
            const timer = setInterval(() => response.write(' '), 200);
            response.on('close', () => clearInterval(timer));
        },
        'never begins': () => undefined,
        redirect: (response) => response.writeHead(302, { location: documents.serve('/real') }).end(),
        'redirect with a document': (response) => response.writeHead(301, { ...JSON_TYPE, location: '/' }).end('{}'),
        '403': (response) => response.writeHead(403, JSON_TYPE).end('{}'),
        '503': (response) => response.writeHead(503, JSON_TYPE).end('{}'),
        '206': (response) => response.writeHead(206, JSON_TYPE).end('{}'),
        HTML: (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('{}'),
        'no type': (response) => response.writeHead(200).end('{}'),
        jsonp: (response) => response.writeHead(200, { 'content-type': 'application/jsonp' }).end('{}'),
        gzip: (response) => response.writeHead(200, { ...JSON_TYPE, 'content-encoding': 'gzip' }).end('{}'),
        'not UTF-8': (response) => response.writeHead(200, JSON_TYPE).end(Buffer.from('{"a":"\xff"}', 'latin1')),
        'no JSON': (response) => response.writeHead(200, JSON_TYPE).end('{'),
        'cut off': (response) => {
            response.writeHead(200, { ...JSON_TYPE, 'content-length': '9' }).write('{}');
            setTimeout(() => response.destroy(), 20);
        },
        reset: (response) => void response.socket?.destroy(),
        upgrade: (response) => void response.socket?.end('HTTP/1.1 101 Go\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'),
    };
    /** The rule that an answer breaks. The other answers do not come whole, or come from a server in trouble. */
    const BROKEN = {
        '5121 bytes': 'size',
        '1 MB': 'size',
        redirect: 'redirect',
        'redirect with a document': 'redirect',
        '403': 'status',
        '206': 'status',
        HTML: 'type',
        'no type': 'type',
        jsonp: 'type',
        gzip: 'encoding',
        'not UTF-8': 'json',
        'no JSON': 'json',
        upgrade: 'status',
    };
    const urls = Object.entries(answers).map(([name, answer]) => [name, serve(answer)]);
    const before = documents.asked.length;
    const began = performance.now();
    await Promise.all(urls.map(async ([name, url]) => {
        const broken = BROKEN[name];
        expect(await here()(url), name).toEqual(broken && { broken });
    }));
    expect(performance.now() - began).toBeLessThan(4_000);
    // A redirect is not followed: each URL was asked for once.
    expect(documents.asked.length - before).toBe(urls.length);
    const whole = serve((response) => response.writeHead(200, JSON_TYPE).end(JSON.stringify('x'.repeat(5_118))));
    expect(await here()(whole), '5120 bytes').toHaveProperty('json');
});
it('connects to no address that is not public, by no name and in no notation', async () => {
    const port = new URL(documents.origin).port;
    const before = documents.asked.length;
    const strict = documentFetcher({
        allowed: new Set(),
        userAgent: 'test',
        resolve: async (host) => (host === 'none.example' ? [] : (PRIVATE[host] ?? ['127.0.0.1'])),
    });
    const PRIVATE = {
        'mixed.example': ['93.184.216.34', '127.0.0.1'],
        'metadata.example': ['169.254.169.254'],
        'six.example': ['::1'],
        'mapped.example': ['::ffff:127.0.0.1'],
        'ula.example': ['fd00::1'],
    };
    /** Each address, and the rule that it breaks. */
    const ADDRESSES = {
        [`http://127.0.0.1:${port}/a`]: 'https',
        'https://127.0.0.1/a': 'public',
        'https://127.1/a': 'public',
        'https://2130706433/a': 'public',
        'https://0x7f000001/a': 'public',
        'https://0177.0.0.1/a': 'public',
        'https://0.0.0.0/a': 'public',
        'https://10.0.0.1/a': 'public',
        'https://172.16.0.1/a': 'public',
        'https://192.168.1.1/a': 'public',
        'https://100.64.0.1/a': 'public',
        'https://169.254.169.254/latest/meta-data': 'public',
        'https://168.63.129.16/a': 'public',
        'https://[::1]/a': 'public',
        'https://[::]/a': 'public',
        'https://[::ffff:127.0.0.1]/a': 'public',
        'https://[::ffff:7f00:1]/a': 'public',
        'https://[64:ff9b::7f00:1]/a': 'public',
        'https://[2002:7f00:1::]/a': 'public',
        'https://[fe80::1]/a': 'public',
        'https://[fd00::1]/a': 'public',
        'https://localhost/a': 'public',
        'https://gateway.localhost/a': 'public',
        'https://db.internal/a': 'public',
        'https://printer.local/a': 'public',
        'https://intranet/a': 'public',
        'https://public.example./a': 'public',
        'https://public.example:22/a': 'port',
        'https://public.example:6379/a': 'port',
        'https://user:secret@public.example/a': 'user',
        'https://public.example/a#b': 'fragment',
        'http://public.example/a': 'https',
        'ftp://public.example/a': 'https',
        'file:///etc/passwd': 'https',
        'gopher://127.0.0.1:6379/_x': 'https',
        ...Object.fromEntries(Object.keys(PRIVATE).map((host) => [`https://${host}/a`, 'public'])),
        'https://rebinding.example/a': 'public',
    };
    for (const [url, broken] of Object.entries(ADDRESSES))
        expect(await strict(url), url).toEqual({ broken });
    // A name without an address is no address that is refused.
    expect(await strict('https://none.example/a')).toBeUndefined();
    expect(documents.asked.length).toBe(before);
    // A server that listens on loopback sees no connection, although its name resolves to its address.
    const address = '127.9.8.7';
    let connections = 0;
    const listener = createServer((socket) => {
        connections += 1;
        socket.destroy();
    });
    await new Promise((resolve) => listener.listen(8443, address, resolve));
    const named = documentFetcher({ allowed: new Set(), userAgent: 'test', resolve: async () => [address] });
    expect(await named('https://public.example:8443/a')).toEqual({ broken: 'public' });
    expect(await named(`https://${address}:8443/a`)).toEqual({ broken: 'public' });
    await new Promise((resolve) => listener.close(resolve));
    expect(connections).toBe(0);
    // The list lifts the rules for one origin only.
    const one = documentFetcher({ allowed: new Set(['http://127.0.0.1:1']), userAgent: 'test' });
    expect(await one(`${documents.origin}/real`)).toEqual({ broken: 'https' });
    expect(documents.asked.length).toBe(before);
});
const hosted = (hosts = ['127.0.0.1']) => openClientsByUrl({ hosts, longest: 1, fetch: here() });
const FROM = '192.0.2.1';
it('believes a document only if it is about itself and needs no secret', async () => {
    const find = async (changes) => {
        const url = documents.serve(`/${randomUUID()}`, changes);
        return typeof (await hosted().find(url, FROM)) === 'object';
    };
    for (const good of [
        {},
        { token_endpoint_auth_method: undefined },
        {
            token_endpoint_auth_method: 'private_key_jwt',
            token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
        },
        { redirect_uris: ['cursor://anysphere.cursor-mcp/oauth/callback', 'http://localhost/callback'] },
        { grant_types: ['authorization_code'], scope: 'offline_access', jwks_uri: 'http://127.0.0.1/' },
    ])
        expect(await find(good), JSON.stringify(good)).toBe(true);
    for (const bad of [
        { client_id: 'https://claude.ai/oauth/claude-code-client-metadata' },
        { client_id: undefined },
        { client_id: ['x'] },
        { client_name: undefined },
        { client_name: ' ' },
        { client_name: 7 },
        { redirect_uris: undefined },
        { redirect_uris: [] },
        { redirect_uris: 'https://app.example/cb' },
        { redirect_uris: [7] },
        { token_endpoint_auth_method: 'client_secret_basic' },
        { token_endpoint_auth_method: 'client_secret_post', token_endpoint_auth_methods_supported: ['none'] },
        { token_endpoint_auth_method: 'private_key_jwt' },
        { token_endpoint_auth_method: 'private_key_jwt', token_endpoint_auth_methods_supported: ['private_key_jwt'] },
        { client_secret: 'x' },
        { client_secret_expires_at: 0 },
    ])
        expect(await find(bad), JSON.stringify(bad)).toBe(false);
    for (const text of ['null', '[]', '"x"', '7']) {
        const url = serve((response) => response.writeHead(200, JSON_TYPE).end(text));
        expect(await hosted().find(url, FROM), text).toBe('object');
    }
});
it('decides by the host first, without the port, for URLs in their normal form only', () => {
    const some = hosted(['claude.ai', '127.0.0.1']);
    for (const good of [
        'https://claude.ai/a',
        'https://claude.ai:8443/a',
        'http://127.0.0.1:9000/a',
        'https://claude.ai/a?b=c',
    ])
        expect(some.believed(good), good).toBe(true);
    for (const bad of [
        'https://evil.example/a',
        'https://claude.ai.evil.example/a',
        'https://evil.example/claude.ai',
        'https://sub.claude.ai/a',
        'https://claude.ai',
        'https://claude.ai/',
        'https://CLAUDE.ai/a',
        'HTTPS://claude.ai/a',
        'https://claude.ai:443/a',
        'https://claude.ai/a/../b',
        'https://claude.ai\\@evil.example/a',
        'https://claude.ai@evil.example/a',
        'https://claude.ai./a',
        ' https://claude.ai/a',
        'https:claude.ai/a',
        `https://claude.ai/${'a'.repeat(2_000)}`,
        'crd_00000000000000000000000000000000',
        '',
    ])
        expect(some.believed(bad), bad).toBe(false);
    expect(hosted(['*']).believed('https://evil.example/a')).toBe(true);
    expect([hosted([]).offered, hosted([]).believed('https://claude.ai/a')]).toEqual([false, false]);
});
it('keeps a document as long as its server says, a failure for a while, and asks once for many requests', async () => {
    let fetched = 0;
    let answer;
    const clients = openClientsByUrl({
        hosts: ['*'],
        longest: 1,
        fetch: async () => {
            fetched += 1;
            return answer;
        },
    });
    const url = 'https://a.example/a';
    const found = async (of, from = FROM) => {
        const client = await clients.find(of, from);
        return typeof client === 'object' ? client.url : client;
    };
    const away = { details: { reason: 'document_unreachable', retryAfter: 5 } };
    await expect(clients.find(url, FROM)).rejects.toMatchObject(away);
    answer = { json: documentOf(url), maxAge: 3_600 };
    await expect(clients.find(url, FROM), 'the failure is kept').rejects.toMatchObject(away);
    expect(fetched).toBe(1);
    const other = 'https://a.example/b';
    answer = { json: documentOf(other), maxAge: 3_600 };
    const all = await Promise.all(Array.from({ length: 20 }, () => found(other)));
    expect(all).toEqual(Array(20).fill(other));
    expect(fetched).toBe(2);
    const brief = 'https://a.example/c';
    answer = { json: documentOf(brief), maxAge: 0 };
    await clients.find(brief, FROM);
    await clients.find(brief, FROM);
    expect(fetched).toBe(4);
    let refused;
    for (let i = 0; i < 200 && refused === undefined; i++)
        await clients.find(`https://a.example/${i}x`, FROM).catch((error) => {
            refused = error;
        });
    expect(refused).toMatchObject({ code: 'temporarily_unavailable' });
    expect(await found(other), 'a kept document needs no request').toBe(other);
    expect(await found('https://a.example/other-network', '192.0.2.2')).toBe('client_id');
});
it('an error page leaves the last valid document, and 404, 410 or another document end it', async () => {
    const url = 'https://a.example/a';
    const good = { json: documentOf(url), maxAge: 0 };
    const after = async (answer) => {
        let next = good;
        const clients = openClientsByUrl({ hosts: ['*'], longest: 1, fetch: async () => next });
        await clients.find(url, FROM);
        next = answer;
        const client = await clients.find(url, FROM);
        return typeof client === 'object' ? client.url : client;
    };
    for (const broken of ['redirect', 'status', 'type', 'encoding', 'size', 'json'])
        expect(await after({ broken }), broken).toBe(url);
    expect(await after(undefined)).toBe(url);
    expect(await after({ broken: 'gone' })).toBe('gone');
    expect(await after({ json: documentOf(url, { client_secret: 'x' }), maxAge: 0 })).toBe('secret');
});
//# sourceMappingURL=documents.test.js.map
import { createServer } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { webhookMessage } from '../../src/events/webhooks/message.js';
import { isPublic } from '../../src/outbound/addresses.js';
import { receiverOf } from '../../src/outbound/receivers.js';
import { AddressRefused, checkedAddresses } from '../../src/outbound/resolve.js';
import { send, senderOptions } from '../../src/outbound/sender.js';
import { newWebhookSecret } from '../../src/outbound/signature.js';
/**
 * Check WH-09. The settings permit this port, and a honeypot listens on it. A honeypot is a server that only counts its
 * connections. The count must stay zero.
 */
const PORT = 8443;
const NONE = new Set();
let honeypot;
let connects = 0;
beforeAll(async () => {
    honeypot = createServer((socket) => {
        connects++;
        socket.on('error', () => undefined); // the honeypot cuts every connection
        socket.destroy();
    });
    await new Promise((resolve, reject) => {
        honeypot.once('error', reject);
        honeypot.listen({ port: PORT, host: '::', ipv6Only: false }, resolve);
    });
});
afterAll(() => new Promise((resolve) => honeypot.close(resolve)));
beforeEach(() => {
    connects = 0;
});
const attempt = (url) => ({
    at: Date.now(),
    url,
    secrets: [newWebhookSecret()],
    message: webhookMessage({
        number: 1,
        test: false,
        gapSince: null,
        receipt: {
            event_id: `evt_${'0'.repeat(64)}`,
            event_type: 'visitor.changed',
            website_id: 'web_1_1',
            cursor: 1,
            occurred_at: 1,
            recorded_at: 1,
        },
    }),
});
const sendTo = (url, resolve, allowed = NONE) => send(attempt(url), { ...senderOptions(allowed, 'http://127.0.0.1:8420'), resolve, deadline: 2_000 });
const answering = (...addresses) => async () => addresses;
async function refusedAtSave(url, resolve) {
    const receiver = receiverOf(url, NONE);
    if ('refused' in receiver)
        return true;
    try {
        await checkedAddresses(receiver.url, receiver.exempt, resolve);
        return false;
    }
    catch (error) {
        if (error instanceof AddressRefused)
            return true;
        throw error;
    }
}
const HOSTS = [
    ...[
        '127.0.0.1',
        '127.1',
        '127.0.1',
        '2130706433',
        '0x7f000001',
        '0x7f.1',
        '0177.0.0.1',
        '017700000001',
        '127.0.0.1.',
    ],
    ...['127.255.255.254', '0.0.0.0', '0', '0x0', '%31%32%37.0.0.1', '①②⑦.⓪.⓪.①', '127。0。0。1', '１２７.0.0.1'],
    ...[
        '[::1]',
        '[::]',
        '[0:0:0:0:0:0:0:1]',
        '[::ffff:127.0.0.1]',
        '[::ffff:7f00:1]',
        '[::127.0.0.1]',
        '[64:ff9b::7f00:1]',
    ],
    ...['[64:ff9b:1::7f00:1]', '[2002:7f00:1::]', '[2001:0:7f00:1::]', '[::ffff:0:127.0.0.1]', '[100::1]', '[5f00::1]'],
    ...[
        '169.254.169.254',
        '168.63.129.16',
        '[::ffff:169.254.169.254]',
        '[fd00:ec2::254]',
        '[fe80::1]',
        '[febf::1]',
        '[fc00::1]',
        '[fdff::1]',
    ],
    ...['[ff02::1]', '[fec0::1]', '[2001:db8::1]', '[3fff::1]', '[2001:20::1]'],
    ...['10.0.0.1', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1', '192.168.255.255', '100.64.0.1'],
    ...['100.127.255.255', '198.18.0.1', '198.19.255.255', '192.0.0.1', '192.0.2.1', '198.51.100.1', '203.0.113.1'],
    ...['192.88.99.1', '224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255'],
    ...[
        'localhost',
        'localhost.',
        'LOCALHOST',
        'a.localhost',
        'metadata.google.internal',
        'x.internal.',
        'printer.local',
    ],
    ...['router.home.arpa', 'localhost.localdomain', 'intranet', 'receiver.example.'],
];
/**
 * The gateway refuses these URLs for any host. The reason is the scheme, the port, the user name or the spelling of the
 * URL.
 */
const OTHERS = [
    'http://receiver.example/',
    `http://127.0.0.1:${PORT}/`,
    'https://receiver.example:80/',
    'https://receiver.example:22/',
    'https://receiver.example:8444/',
    'https://receiver.example:0/',
    `https://ada@receiver.example:${PORT}/`,
    `https://ada:secret@receiver.example:${PORT}/`,
    `https://@receiver.example:${PORT}/`,
    `https://receiver.example:443@127.0.0.1:${PORT}/`,
    `https://receiver.example#@127.0.0.1:${PORT}/`,
    `https://127.0.0.1:${PORT}\\@receiver.example/`,
    `https:\\\\127.0.0.1:${PORT}/`,
    `https://127.0.0.1:${PORT}/ x`,
    ` https://127.0.0.1:${PORT}/`,
    `https://127.0.0.1\t:${PORT}/`,
    'ftp://receiver.example/',
    'file:///etc/passwd',
    'gopher://127.0.0.1:8443/_x',
    'javascript:alert(1)',
    'data:text/plain,x',
    '//127.0.0.1:8443/',
    'receiver.example',
    'https://',
    'https://[::1',
    '',
    `https://receiver.example/${'x'.repeat(2048)}`,
    `https://receiver.example/${'"'.repeat(800)}`,
];
const NAMES = [
    ['private', '127.0.0.1'],
    ['private, IPv6', '::1'],
    ['metadata', '169.254.169.254'],
    ['mapped', '::ffff:127.0.0.1'],
    ['mixed', '1.1.1.1', '127.0.0.1'],
    ['mixed, the other way', '127.0.0.1', '1.1.1.1'],
    ['mixed families', '2606:4700:4700::1111', '10.0.0.1'],
    ['public IPv4, loopback IPv6', '1.1.1.1', '::1'],
    ['with a zone', 'fe80::1%lo'],
    ['no address', 'localhost'],
];
const vectors = [
    ...HOSTS.map((host) => [host, `https://${host}:${PORT}/hook`, answering('127.0.0.1')]),
    ...OTHERS.map((url) => [url.slice(0, 60), url, answering('127.0.0.1')]),
    ...NAMES.map(([name, ...addresses]) => [
        `a name: ${name}`,
        `https://receiver.example:${PORT}/`,
        answering(...addresses),
    ]),
];
describe('WH-09 receivers inside', () => {
    it('there are more than sixty vectors', () => {
        expect(vectors.length).toBeGreaterThan(100);
        expect(new Set(vectors.map(([, url, resolve]) => `${url} ${resolve}`)).size).toBeGreaterThan(90);
    });
    it.each(vectors)('%s', async (_, url, resolve) => {
        expect(await refusedAtSave(url, resolve)).toBe(true);
        expect(await sendTo(url, resolve)).toEqual({ error: expect.stringMatching(/^(receiver|address)_refused$/) });
        expect(connects).toBe(0);
    });
    // The gateway refuses these URLs as they are written, before it looks up a name.
    it.each(OTHERS.map((url) => [url.slice(0, 60), url]))('as it is written: %s', (_, url) => {
        expect(receiverOf(url, NONE)).toMatchObject({ refused: expect.any(String) });
    });
    it('the honeypot has power: an exempt receiver reaches it', { meta: { shown: { planted: 1 } } }, async () => {
        const url = `https://127.0.0.1:${PORT}`;
        expect(await sendTo(`${url}/`, answering(), new Set([url]))).toMatchObject({ error: expect.any(String) });
        expect(connects).toBe(1);
        // This request leaves out the gateway's checks. The connection therefore looks up the name again and reaches the
        // honeypot.
        expect(await sendTo(`https://receiver.example:${PORT}/`, answering('127.0.0.1'), new Set([`https://receiver.example:${PORT}`]))).toMatchObject({
            error: expect.any(String),
        });
        expect(connects).toBe(2);
    });
    it('rebinding: public when it was saved, private when it is sent to', async () => {
        const url = `https://receiver.example:${PORT}/`;
        let asked = 0;
        const rebinding = async () => (asked++ === 0 ? ['1.1.1.1'] : ['127.0.0.1']);
        expect(await refusedAtSave(url, rebinding)).toBe(false);
        for (let n = 0; n < 10; n++)
            expect(await sendTo(url, rebinding)).toEqual({ error: 'address_refused' });
        expect(connects).toBe(0);
    });
    it('within one attempt the name is asked for once: what was checked is what is connected to', async () => {
        const origin = `https://receiver.example:${PORT}`;
        let asked = 0;
        const flipping = async () => (asked++ % 2 === 0 ? ['127.0.0.1'] : ['127.0.0.2', '192.0.2.1']);
        for (let n = 1; n <= 5; n++) {
            asked = 0;
            expect(await sendTo(`${origin}/`, flipping, new Set([origin]))).toMatchObject({ error: expect.any(String) });
            expect([asked, connects]).toEqual([1, n]);
        }
    });
    it('an origin that is exempt does not exempt its neighbours', async () => {
        const allowed = new Set(['http://127.0.0.1:9000']);
        expect(receiverOf('http://127.0.0.1:9000/any?x=1', allowed)).toMatchObject({ exempt: true });
        for (const url of [
            'http://127.0.0.1:9001/',
            'https://127.0.0.1:9000/',
            'http://127.0.0.2:9000/',
            'http://a@127.0.0.1:9000/',
        ]) {
            expect(receiverOf(url, allowed)).toMatchObject({ refused: expect.any(String) });
        }
    });
});
it.each([
    ...[
        '1.1.1.1',
        '8.8.8.8',
        '9.255.255.255',
        '11.0.0.0',
        '100.63.255.255',
        '100.128.0.0',
        '126.255.255.255',
        '128.0.0.0',
    ],
    ...[
        '169.253.255.255',
        '172.15.255.255',
        '172.32.0.0',
        '192.167.255.255',
        '198.17.255.255',
        '198.20.0.0',
        '223.255.255.255',
    ],
    ...['2606:4700:4700::1111', '2a00:1450::1', '2001:4860:4860::8888', '2003::1'],
])('%s is public', (address) => {
    expect(isPublic(address)).toBe(true);
});
it.each([
    'https://receiver.example/',
    'https://receiver.example:443/x?y=z',
    'https://1.1.1.1:8443/',
    'https://[2606:4700::1]/',
])('%s may be a receiver', (url) => {
    expect(receiverOf(url, NONE)).toMatchObject({ exempt: false });
});
//# sourceMappingURL=receivers.test.js.map
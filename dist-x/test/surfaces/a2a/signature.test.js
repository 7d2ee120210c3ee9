import { execFile } from 'node:child_process';
import { createPublicKey, verify } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { canonicalizeAgentCard, verifyAgentCardSignature } from '@a2a-js/sdk';
import { p256 } from '@noble/curves/nist.js';
import stringify from 'safe-stable-stringify';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { cardKeys } from '../../../src/auth/card-keys.js';
import { Keyring } from '../../../src/auth/keys.js';
import { packageRoot } from '../../../src/config/package.js';
import { loadSkills, loadTools } from '../../../src/gateway/load.js';
import { publicKeys, signedCard } from '../../../src/surfaces/a2a/signed-card.js';
import { BASE_URL, openTestGateway } from '../../support/gateway.js';
import { KEYS, RENEWED_KEYS } from '../../support/keys.js';
const CARD = '/.well-known/agent-card.json';
const JWKS = '/.well-known/jwks.json';
/** The members of a card in A2A 1.0. */
const MEMBERS = [
    ...['name', 'description', 'supportedInterfaces', 'provider', 'version', 'documentationUrl', 'capabilities'],
    ...['securitySchemes', 'securityRequirements', 'defaultInputModes', 'defaultOutputModes', 'skills', 'iconUrl'],
];
const skills = await loadSkills(await loadTools());
const own = (keys, baseUrl = BASE_URL) => JSON.parse(JSON.stringify(signedCard({ skills, baseUrl }, cardKeys(keys))));
const published = (keys) => JSON.parse(JSON.stringify(publicKeys(cardKeys(keys)))).keys;
const headerOf = ({ signatures }) => JSON.parse(Buffer.from(signatures[0]?.protected ?? '', 'base64url').toString());
/** Verifies as section 8.4.3 of A2A says, without code of the gateway or of an SDK. */
function verifies(card, keys) {
    const signed = Object.fromEntries(Object.entries(card).filter(([member]) => MEMBERS.includes(member)));
    const payload = Buffer.from(stringify(signed) ?? '').toString('base64url');
    return card.signatures.some((one) => {
        const key = keys.find(({ kid }) => kid === headerOf(card)['kid']);
        const signature = Buffer.from(one.signature, 'base64url');
        return (key !== undefined &&
            verify('sha256', Buffer.from(`${one.protected}.${payload}`), { key: createPublicKey({ key: { ...key }, format: 'jwk' }), dsaEncoding: 'ieee-p1363' }, signature));
    });
}
/** Verifies with the SDK of A2A. */
async function sdkVerifies(card, keys) {
    const silent = vi.spyOn(console, 'debug').mockReturnValue();
    try {
        await verifyAgentCardSignature(async (kid) => {
            const key = keys.find((one) => one.kid === kid);
            if (!key)
                throw new Error('unknown key');
            return { ...key };
        })(card); // the SDK's verifier takes the JSON as it was received
        return true;
    }
    catch (error) {
        expect(String(error)).toContain('No valid signatures');
        return false;
    }
    finally {
        silent.mockRestore();
    }
}
const both = async (card, keys) => {
    const [ours, theirs] = [verifies(card, keys), await sdkVerifies(card, keys)];
    expect(ours).toBe(theirs);
    return ours;
};
const empties = (value, path = '') => {
    if (typeof value !== 'object' || value === null)
        return value === '' || value === null ? [path] : [];
    const members = Object.entries(value);
    return members.length === 0 ? [path] : members.flatMap(([name, inner]) => empties(inner, `${path}/${name}`));
};
describe('the signature of the card', () => {
    let gateway;
    let card;
    let keys;
    beforeAll(async () => {
        gateway = await openTestGateway('empty');
        card = await gateway.ask(CARD, { unchecked: true });
        keys = (await gateway.ask(JWKS, { unchecked: true })).body.keys;
    });
    afterAll(() => gateway.close());
    it('is verified by the SDK and by a verifier of the specification’s own words, with the published key', async () => {
        expect(await both(card.body, keys)).toBe(true);
        expect(card.body.signatures).toHaveLength(1);
        expect(headerOf(card.body)).toEqual({
            ...{ alg: 'ES256', typ: 'JOSE', kid: keys[0]?.kid, jku: `${BASE_URL}${JWKS}` },
        });
    });
    it('does not verify any more when a signed member, the header or the signature is changed', async () => {
        const { body } = card;
        const [one] = body.signatures;
        const header = Buffer.from(JSON.stringify({ ...headerOf(body), jku: 'https://evil.example' })).toString('base64url');
        const changed = [
            { ...body, name: 'Another agent' },
            { ...body, supportedInterfaces: [{ ...body.supportedInterfaces[0], url: 'https://evil.example/a2a' }] },
            { ...body, skills: body.skills.slice(1) },
            { ...body, capabilities: { ...body.capabilities, streaming: body.capabilities.streaming !== true } },
            { ...body, signatures: [{ ...one, protected: header }] },
            {
                ...body,
                signatures: [{ ...one, signature: one.signature.replace(/^./, (c) => (c === 'A' ? 'B' : 'A')) }],
            },
        ];
        for (const [i, other] of changed.entries())
            expect(await both(other, keys), String(i)).toBe(false);
    });
    it('leaves out the members that only readers of 0.3 need', async () => {
        const older = { url: `${BASE_URL}/a2a`, preferredTransport: 'JSONRPC', protocolVersion: '0.3.0' };
        expect(await both({ ...card.body, ...older }, keys)).toBe(true);
    });
    it('covers no empty member, so that every canonical form is one text', () => {
        const { signatures: _, ...signed } = card.body;
        expect(empties(signed)).toEqual([]);
        expect(empties({ a: { b: [{}] }, c: '' })).toEqual(['/a/b/0', '/c']);
    });
    it('is for the public URL, whatever a request says about its host', async () => {
        const foreign = {
            ...{ host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' },
            ...{ forwarded: 'host=evil.example;proto=https', 'x-original-host': 'evil.example' },
        };
        for (const [name, value] of Object.entries(foreign)) {
            const answer = await gateway.ask(CARD, { unchecked: true, headers: { [name]: value } });
            expect([answer.status, answer.text], name).toEqual([200, card.text]);
        }
        const listed = await gateway.ask(JWKS, { unchecked: true, headers: foreign });
        expect(listed.body.keys).toEqual(keys);
    });
    it('shows no private key, in the list of keys, in the card or in the log', async () => {
        const listed = await gateway.ask(JWKS, { unchecked: true });
        expect(listed.headers['content-type']).toBe('application/jwk-set+json');
        expect(listed.headers['cache-control']).toBe('public, max-age=300');
        expect(Object.keys(listed.body)).toEqual(['keys']);
        for (const key of listed.body.keys)
            expect(Object.keys(key).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
        const seeds = KEYS.seeds('agent card', 48).map((seed) => Buffer.from(seed));
        const secrets = seeds.flatMap((seed) => [seed, Buffer.from(p256.utils.randomSecretKey(seed))]);
        const spellings = secrets.flatMap((one) => [one.toString('hex'), one.toString('base64url').slice(0, 40)]);
        for (const text of [listed.text, card.text, gateway.log.join('\n')])
            for (const secret of spellings)
                expect(text).not.toContain(secret);
        expect(spellings).toHaveLength(4);
        expect(cardKeys(KEYS).map((key) => Object.keys(key))).toEqual([['jwk', 'sign']]);
        for (const method of ['POST', 'DELETE'])
            expect((await gateway.ask(JWKS, { method, unchecked: true })).status, method).toBe(405);
        const etag = String(listed.headers['etag']);
        expect((await gateway.ask(JWKS, { unchecked: true, headers: { 'if-none-match': etag } })).status).toBe(304);
    });
    it('is another one than that of the same keys for another purpose, and of other keys', () => {
        const [seed = []] = KEYS.seeds('agent card', 48);
        const [cursor = []] = KEYS.seeds('cursor', 48);
        expect(Buffer.from(seed).equals(Buffer.from(cursor))).toBe(false);
    });
});
describe('a rotation', () => {
    const NEW = new Keyring([{ kid: 'new', secret: Buffer.alloc(32, 8) }]);
    /** The first round of the documented rotation: the new key is known, and the old one still signs. */
    const ANNOUNCED = new Keyring([
        { kid: 'test', secret: Buffer.alloc(32, 7) },
        { kid: 'new', secret: Buffer.alloc(32, 8) },
    ]);
    it('keeps each card verifiable at every replica, and changes the ETag only when the key that signs changes', async () => {
        const rounds = [KEYS, ANNOUNCED, RENEWED_KEYS];
        const answers = [];
        for (const keys of rounds) {
            const [one, two] = [
                await openTestGateway('empty', undefined, keys),
                await openTestGateway('empty', undefined, keys),
            ];
            const [first, second] = [await one.ask(CARD, { unchecked: true }), await two.ask(CARD, { unchecked: true })];
            // Replicas with the same keys serve the same bytes under one ETag.
            expect([second.text, second.headers['etag']]).toEqual([first.text, first.headers['etag']]);
            answers.push({
                etag: String(first.headers['etag']),
                card: first.body,
                keys: (await one.ask(JWKS, { unchecked: true })).body.keys,
            });
            await Promise.all([one.close(), two.close()]);
        }
        const [before, announced, after] = answers;
        if (!before || !announced || !after)
            throw new Error('three rounds');
        expect(announced.etag).toBe(before.etag);
        expect(after.etag).not.toBe(before.etag);
        expect([before, announced, after].map(({ keys }) => keys.length)).toEqual([1, 2, 2]);
        expect(after.keys).toEqual(announced.keys.toReversed());
        // Cards that caches kept from before, with lists of keys that caches kept from before or that are new.
        for (const { card } of [before, announced])
            for (const { keys } of [before, announced, after])
                expect(await both(card, keys)).toBe(true);
        for (const { keys } of [announced, after])
            expect(await both(after.card, keys)).toBe(true);
        // The old key is removed from the list: its cards are not verified any more.
        expect(await both(before.card, published(NEW))).toBe(false);
        expect(await both(own(NEW), published(NEW))).toBe(true);
    });
});
describe('the verifier of docs/agent-card.md', () => {
    const servers = [];
    let folder;
    let asked;
    beforeAll(() => {
        folder = mkdtempSync(join(tmpdir(), 'gateway-card-'));
        symlinkSync(fileURLToPath(new URL('node_modules', packageRoot)), join(folder, 'node_modules'));
        const text = readFileSync(new URL('docs/agent-card.md', packageRoot), 'utf8');
        const [, program = ''] = /cat > verify-card\.mjs <<'END'\n([\s\S]*?)\nEND\n/.exec(text) ?? [];
        expect(program.split('\n').length).toBeLessThanOrEqual(22);
        writeFileSync(join(folder, 'verify-card.mjs'), program);
    });
    afterAll(() => {
        for (const server of servers)
            server.close();
        rmSync(folder, { recursive: true, force: true });
    });
    async function serve(documents) {
        const server = createServer((request, response) => {
            asked.push(`${request.headers.host}${request.url}`);
            response.end(JSON.stringify(documents(`http://${request.headers.host}`)[request.url ?? ''] ?? {}));
        });
        servers.push(server);
        await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
        const { port } = server.address(); // a server that listens on TCP has such an address
        return `http://127.0.0.1:${port}`;
    }
    const run = (url, pin) => promisify(execFile)(process.execPath, ['verify-card.mjs', url, pin], { cwd: folder });
    const EVIL = new Keyring([{ kid: 'evil', secret: Buffer.alloc(32, 66) }]);
    const pinOf = (keys) => published(keys)[0]?.kid ?? '';
    /** A card as an attacker writes it: signed by a key of the attacker, with a `jku` that leads to the attacker. */
    const forged = (origin, elsewhere, claimed = pinOf(EVIL)) => {
        const [key] = cardKeys(EVIL);
        if (!key)
            throw new Error('no key');
        // The signer of the gateway makes `jku` of the public URL, so this is the forged header.
        const { signatures: _, ...card } = own(EVIL, origin);
        const signer = { jwk: { ...key.jwk, kid: claimed }, sign: key.sign };
        const [head] = [{ alg: 'ES256', typ: 'JOSE', kid: signer.jwk.kid, jku: `${elsewhere}${JWKS}` }].map((header) => Buffer.from(JSON.stringify(header)).toString('base64url'));
        // The signed text leaves out the members for readers of version 0.3, as that of the gateway does.
        const payload = Buffer.from(canonicalizeAgentCard(card)).toString('base64url'); // takes the JSON form too
        return { ...card, signatures: [{ protected: head, signature: signer.sign(`${head}.${payload}`) }] };
    };
    it('accepts the card of the pinned gateway', async () => {
        asked = [];
        const url = await serve((origin) => ({ [CARD]: own(KEYS, origin), [JWKS]: publicKeys(cardKeys(KEYS)) }));
        expect((await run(url, pinOf(KEYS))).stdout).toBe(`Installation Gateway: 8 skills, signed by ${pinOf(KEYS)}\n`);
    });
    it('never asks a foreign jku, and refuses a card that another key has signed', async () => {
        asked = [];
        const evil = await serve(() => ({ [JWKS]: publicKeys(cardKeys(EVIL)) }));
        const refusals = [
            ['a foreign jku', (origin) => ({ [CARD]: forged(origin, evil), [JWKS]: publicKeys(cardKeys(KEYS)) })],
            [
                'a foreign jku under the pinned name',
                (origin) => ({ [CARD]: forged(origin, evil, pinOf(KEYS)), [JWKS]: publicKeys(cardKeys(KEYS)) }),
            ],
            [
                'a foreign key in the list under the pinned name',
                (origin) => ({
                    [CARD]: forged(origin, evil, pinOf(KEYS)),
                    [JWKS]: { keys: published(EVIL).map((key) => ({ ...key, kid: pinOf(KEYS) })) },
                }),
            ],
            [
                'no signature',
                (origin) => ({ [CARD]: { ...own(KEYS, origin), signatures: [] }, [JWKS]: publicKeys(cardKeys(KEYS)) }),
            ],
            [
                'a card of another gateway',
                () => ({ [CARD]: own(KEYS, 'https://other.example'), [JWKS]: publicKeys(cardKeys(KEYS)) }),
            ],
        ];
        for (const [name, documents] of refusals) {
            const url = await serve(documents);
            await expect(run(url, pinOf(KEYS)), name).rejects.toMatchObject({ code: 1 });
            expect(asked.some((one) => `http://${one}`.startsWith(url)), name).toBe(true);
        }
        expect(asked.filter((one) => `http://${one}`.startsWith(evil))).toEqual([]);
    });
    it('has power: a verifier that follows jku accepts the forged card and asks the foreign host', async () => {
        asked = [];
        const evil = await serve(() => ({ [JWKS]: publicKeys(cardKeys(EVIL)) }));
        const card = forged('http://127.0.0.1:1', evil);
        await verifyAgentCardSignature(async (kid, jku) => {
            const { keys } = (await (await fetch(jku ?? '')).json()); // the foreign server of this test
            return { ...(keys.find((one) => one.kid === kid) ?? expect.fail(kid)) };
        })(card); // the SDK's verifier takes the JSON as it was received
        expect(asked).toHaveLength(1);
    });
});
//# sourceMappingURL=signature.test.js.map
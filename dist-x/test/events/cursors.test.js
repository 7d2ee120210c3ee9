import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Keyring } from '../../src/auth/keys.js';
import { readCursor, writeCursor } from '../../src/events/cursors.js';
import { append, create, definition, pull, tool } from '../support/events/subscriptions.js';
import { openTestGateway } from '../support/gateway.js';
import { KEYS, RENEWED_KEYS } from '../support/keys.js';
const hex = (length) => fc.stringMatching(new RegExp(`^[a-f0-9]{${length}}$`));
const states = fc.record({
    subscription: hex(32).map((id) => `sub_${id}`),
    revision: fc.integer({ min: 1, max: 2_147_483_647 }),
    credential: hex(32).map((id) => `crd_${id}`),
    environment: fc.constantFrom('live', 'test'),
    positions: fc
        .uniqueArray(fc.tuple(fc.stringMatching(/^web_[0-9]{1,20}_[1-9][0-9]{0,18}$/), fc.nat()), {
        minLength: 1,
        maxLength: 50,
        selector: ([website]) => website,
    })
        .map((pairs) => new Map(pairs)),
});
const full = {
    subscription: `sub_${'a'.repeat(32)}`,
    revision: 2_147_483_647,
    credential: `crd_${'b'.repeat(32)}`,
    environment: 'live',
    positions: new Map(Array.from({ length: 50 }, (_, i) => [`web_${'9'.repeat(20)}_${'9'.repeat(17)}${i + 10}`, Number.MAX_SAFE_INTEGER])),
};
/** A cursor with few positions. A test of all bits of such a short cursor takes little time. */
const usual = { ...full, positions: new Map([...full.positions].slice(0, 8)) };
describe('cursors', () => {
    it('come back as they were written, whatever they hold', () => {
        fc.assert(fc.property(states, (state) => {
            expect(readCursor(KEYS, writeCursor(KEYS, state))).toEqual(state);
        }), { numRuns: 300 });
    });
    it('stay within 12,000 characters with fifty websites of the longest ids and positions', () => {
        const cursor = writeCursor(KEYS, full);
        expect(cursor.length).toBeLessThan(6_000);
        expect(readCursor(KEYS, cursor)).toEqual(full);
        expect(cursor).toMatch(/^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{43}$/);
    });
    it('CU-01 no flipped bit, cut, extension, splice or other spelling is read', () => {
        const cursor = writeCursor(KEYS, usual);
        const other = writeCursor(KEYS, { ...usual, revision: 1 });
        const bytes = Buffer.from(cursor);
        const mutations = [];
        for (let at = 0; at < bytes.length; at++) {
            for (let bit = 0; bit < 8; bit++) {
                const flipped = Buffer.from(bytes);
                flipped[at] = (flipped[at] ?? 0) ^ (1 << bit);
                mutations.push(flipped.toString('utf8'), flipped.toString('latin1'));
            }
        }
        for (let length = 0; length < cursor.length; length += 7)
            mutations.push(cursor.slice(0, length), cursor.slice(length + 1));
        const [payload = '', mac = ''] = cursor.split('.');
        const [, otherMac = ''] = other.split('.');
        for (const more of ['A', '=', '==', '.', ' ', '\n', '\u0000', `.${mac}`, 'é'])
            mutations.push(cursor + more, more + cursor);
        mutations.push(`${payload}.${otherMac}`, `${payload}.`, payload, `.${mac}`, '', '.', `${payload}=.${mac}`);
        // The last character of the MAC has two unused bits. The gateway must refuse a cursor when only these bits differ.
        const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
        const last = digits.indexOf(mac.at(-1) ?? '');
        const spellings = [1, 2, 3].map((low) => `${payload}.${mac.slice(0, -1)}${digits[(last & ~3) | ((last + low) & 3)]}`);
        expect(spellings.map((one) => Buffer.from(one.split('.')[1] ?? '', 'base64url').equals(Buffer.from(mac, 'base64url')))).toEqual([true, true, true]);
        mutations.push(...spellings, cursor.replaceAll('-', '+').replaceAll('_', '/').replace(/^/, ' '));
        // These cursors are signed with keys that the gateway does not have. One of these foreign keys has the key id of a
        // real key.
        for (const kid of ['test', 'other'])
            mutations.push(writeCursor(new Keyring([{ kid, secret: randomBytes(32) }]), usual));
        const distinct = mutations.filter((one) => one !== cursor);
        const accepted = distinct.filter((one) => readCursor(KEYS, one) !== undefined);
        console.info(`CU-01: ${accepted.length} of ${distinct.length} mutations accepted`);
        expect(distinct.length).toBeGreaterThan(10_000);
        expect(accepted).toEqual([]);
    });
    it('CU-01 what is signed by us but is no cursor is not read', () => {
        const sign = (payload) => {
            const text = Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload)).toString('base64url');
            return `${text}.${KEYS.sign('cursor', text).mac.toString('base64url')}`;
        };
        const good = {
            v: 1,
            kid: 'test',
            sub: full.subscription,
            rev: 1,
            crd: full.credential,
            env: 'live',
            positions: {},
        };
        expect(readCursor(KEYS, sign(good))).toBeDefined();
        const bad = [
            ...[
                null,
                1,
                [],
                'text',
                '{',
                { ...good, v: 2 },
                { ...good, more: 1 },
                { ...good, env: 'x' },
                { ...good, kid: 1 },
            ],
            ...[
                { ...good, positions: { web_1_1: -1 } },
                { ...good, positions: { web_1_1: 1.5 } },
                { ...good, rev: '1' },
            ],
        ];
        expect(bad.map((one) => readCursor(KEYS, sign(one)))).toEqual(bad.map(() => undefined));
        const text = Buffer.from(JSON.stringify(good)).toString('base64url');
        const foreign = KEYS.sign('webhook secret', text).mac.toString('base64url');
        expect(readCursor(KEYS, `${text}.${foreign}`)).toBeUndefined();
    });
    it('CU-02 cursors of an old key are read while the key is kept, and no longer', () => {
        const [old, young] = ['old', 'young'].map((kid) => ({ kid, secret: randomBytes(32) }));
        if (!old || !young)
            throw new Error('two keys');
        const before = new Keyring([old]);
        const during = new Keyring([young, old]);
        const after = new Keyring([young]);
        const cursor = writeCursor(before, full);
        expect([during, after].map((keys) => readCursor(keys, cursor)?.subscription)).toEqual([
            full.subscription,
            undefined,
        ]);
        const renewed = writeCursor(during, full);
        expect([before, after].map((keys) => readCursor(keys, renewed)?.subscription)).toEqual([
            undefined,
            full.subscription,
        ]);
    });
});
describe('cursors on the wire', () => {
    let gateway;
    let issued;
    beforeAll(async () => {
        gateway = await openTestGateway('demo');
        issued = await gateway.issue({ websites: ['web_1_1', 'web_1_2'] });
    });
    afterAll(() => gateway.close());
    it('CU-01 every cursor that is not one of this reader is refused in the same words', async () => {
        const { token, credential } = issued;
        const mine = await create(gateway, token, definition(['web_1_1']));
        const state = readCursor(KEYS, mine.cursor);
        if (!state)
            throw new Error('the gateway answered no cursor of ours');
        const sibling = await create(gateway, token, definition(['web_1_1']));
        const stranger = await gateway.issue({ websites: ['web_1_1'] });
        const theirs = await create(gateway, stranger.token, definition(['web_1_1']));
        const forged = (more) => writeCursor(KEYS, { ...state, ...more });
        const cursors = [
            ...[
                'nonsense',
                'a.b',
                mine.cursor.slice(1),
                mine.cursor.slice(0, -1),
                `${mine.cursor}A`,
                mine.cursor.toLowerCase(),
            ],
            ...[sibling.cursor, theirs.cursor, forged({ credential: stranger.credential }), forged({ environment: 'live' })],
            ...[forged({ positions: new Map([['web_1_2', 0]]) }), forged({ positions: new Map() })],
            forged({ positions: new Map([...state.positions, ['web_1_2', 0]]) }),
            writeCursor(new Keyring([{ kid: 'test', secret: randomBytes(32) }]), state),
        ];
        const masked = (text) => text.replace(/req_[a-f0-9]{32}/, '');
        const bodies = new Set();
        for (const cursor of cursors) {
            const answer = await pull(gateway, token, mine.id, cursor);
            expect([answer.status, answer.body.code], cursor).toEqual([400, 'invalid_cursor']);
            bodies.add(masked(answer.text));
            const called = await tool(gateway, token, 'events_pull', { subscription_id: mine.id, after: cursor });
            expect([called.status, called.code], cursor).toEqual([400, 'invalid_cursor']);
        }
        expect(bodies.size).toBe(1);
        expect([...bodies][0]).toContain('"errors":[{"parameter":"after","code":"invalid_cursor","expected":');
        // This cursor has a valid signature and belongs to this reader, but names an older revision of the subscription.
        // The refusal must name this reason.
        const older = await pull(gateway, token, mine.id, forged({ revision: 7 }));
        expect([older.status, older.body.code]).toEqual([409, 'revision_changed']);
        // Another credential of the same installation can read the subscription, but cannot use this credential's cursors.
        const [row] = await gateway.database.sql `
      SELECT installation_id FROM gateway.credential WHERE id = ${credential}`;
        const second = await gateway.issue({ app: issued.app, websites: ['web_1_1'] });
        await gateway.database.sql `UPDATE gateway.credential SET installation_id = ${row?.installation_id ?? ''}
      WHERE id = ${second.credential}`;
        expect((await gateway.ask(`/api/v1/subscriptions/${mine.id}`, second)).status).toBe(200);
        expect((await pull(gateway, second.token, mine.id, mine.cursor)).body.code).toBe('invalid_cursor');
        expect((await pull(gateway, token, mine.id, mine.cursor)).status).toBe(200);
    });
    it('CU-01 12,000 characters are looked at, 12,001 are not', async () => {
        const { id } = await create(gateway, issued.token, definition(['web_1_1']));
        const told = await Promise.all([12_000, 12_001].map((length) => pull(gateway, issued.token, id, 'a'.repeat(length))));
        expect(told.map(({ status, body }) => [status, body.code])).toEqual([
            [400, 'invalid_cursor'],
            [400, 'invalid_parameter'],
        ]);
    });
    it('CU-05 a cursor holds positions and ids of its own reader, and does not grow with what others do', async () => {
        const { token, credential } = issued;
        const { id, cursor } = await create(gateway, token, definition(['web_1_1', 'web_1_2']));
        const first = (await pull(gateway, token, id, cursor, 100)).body;
        const decoded = JSON.parse(Buffer.from(first.next_cursor.split('.')[0], 'base64url').toString('utf8'));
        const [journal] = await gateway.database.sql `
      SELECT max(position) FILTER (WHERE site = 1) AS one, max(position) FILTER (WHERE site = 2) AS two
        FROM gateway.journal WHERE tenant = 1`;
        expect(decoded).toEqual({
            ...{ v: 1, kid: 'test', sub: id, rev: 1, crd: credential, env: 'test' },
            positions: { web_1_1: Number(journal?.one), web_1_2: Number(journal?.two) },
        });
        await gateway.database.sql `INSERT INTO platform.organization (public_id, external_id, name)
      VALUES (${`org_${'c'.repeat(32)}`}, 'foreign', 'Foreign') ON CONFLICT DO NOTHING`;
        for (let i = 0; i < 20; i++)
            await append(gateway.database.sql, 'web_2_1', ['conversation.changed']);
        const again = (await pull(gateway, token, id, cursor, 100)).body;
        expect(again).toEqual(first);
    });
    it('CU-02 a pull goes on over a change of keys', async () => {
        const { id, cursor } = await create(gateway, issued.token, definition(['web_1_1']));
        const renewed = await openTestGateway('demo', gateway.database, RENEWED_KEYS);
        const positionsOf = async (through, after) => {
            const { status, body } = await pull(through, issued.token, id, after, 2);
            return [status === 200 ? body.events.map((one) => one.cursor) : [status], body.next_cursor];
        };
        const [first, a] = await positionsOf(gateway, cursor);
        const [second, b] = await positionsOf(renewed, a);
        // A replica cannot read cursors of a key that it does not have. Operators therefore add a new key to every replica
        // before any replica uses it.
        expect([first, second, (await positionsOf(gateway, b))[0]]).toEqual([[1, 2], [3, 4], [400]]);
        expect((await positionsOf(renewed, b))[0]).toEqual([5]);
        const ids = await Promise.all([gateway, renewed].map(async (one) => (await pull(one, issued.token, id, cursor)).body.events));
        expect(ids[0]).toEqual(ids[1]);
    });
});
//# sourceMappingURL=cursors.test.js.map
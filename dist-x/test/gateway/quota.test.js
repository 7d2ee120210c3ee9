import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openGateway } from '../../src/gateway/open.js';
import { updateQuota } from '../../src/store/administration/apps.js';
import { takeQuota } from '../../src/store/calls/quota.js';
import { StoreUnreachable } from '../../src/store/driver/errors.js';
import { startServer } from '../../src/surfaces/http/server.js';
import { restSurface } from '../../src/surfaces/rest/rest.js';
import { World, webId } from '../support/authority/world.js';
import { issue } from '../support/credentials.js';
import { freshDatabase } from '../support/database.js';
import { BASE_URL } from '../support/gateway.js';
import { KEYS } from '../support/keys.js';
let database;
const opened = [];
const WEB = webId(1, 1);
const CHEAP = `/api/v1/channels?website_id=${WEB}`;
const REPORT = `/api/v1/analytics/ai-conversations/summary?website_id=${WEB}`;
beforeAll(async () => {
    database = await freshDatabase('empty');
    await new World(database.sql).whole();
});
afterAll(async () => {
    await Promise.all(opened.map((server) => server.close()));
    await database.close();
});
/**
 * Starts a gateway that has leased no units yet, as after a restart. The gateway has no OpenAPI oracle, because
 * checking the answers would take most of the time.
 */
async function fresh(db = database.db) {
    const corridor = await openGateway({
        store: { db, slow: db },
        keys: KEYS,
        checkEvery: 1,
        onDefect: (tool) => expect.fail(tool.name),
    });
    const server = await startServer({
        host: '127.0.0.1',
        baseUrl: BASE_URL,
        port: 0,
        tls: undefined,
        log: pino({ level: 'silent' }),
        handlers: [restSurface(corridor, BASE_URL)],
        otherwise: (_, response) => void response.writeHead(500).end(),
    });
    opened.push(server);
    return {
        ask: async (path, { token, headers = {} }) => {
            const reply = await fetch(`http://127.0.0.1:${server.port}${path}`, {
                headers: { authorization: `Bearer ${token}`, ...headers },
            });
            const text = await reply.text();
            const json = reply.headers.get('content-type')?.includes('json') === true;
            return { status: reply.status, headers: reply.headers, body: json ? JSON.parse(text) : {} };
        },
    };
}
const issued = (grant) => issue(database.sql, 1, grant);
const rateOf = ({ headers }) => {
    const header = headers.get('ratelimit');
    const [, remaining, reset] = /^"app";r=(\d+);t=(\d+)$/.exec(header ?? '') ?? [];
    expect(remaining, `RateLimit: ${header}`).toBeDefined();
    return { remaining: Number(remaining), reset: Number(reset), policy: headers.get('ratelimit-policy') ?? '' };
};
/**
 * Sends `count` requests in total, several in parallel, to the gateways in turn. Returns the number of accepted
 * requests and the elapsed seconds.
 */
async function flood(gateways, token, count, path = CHEAP) {
    const began = performance.now();
    let sent = 0;
    let accepted = 0;
    const send = async () => {
        while (sent < count) {
            const gateway = gateways[sent++ % gateways.length];
            const answer = await gateway?.ask(path, { token });
            expect([200, 429]).toContain(answer?.status);
            if (answer?.status === 200)
                accepted++;
        }
    };
    await Promise.all(Array.from({ length: 8 }, send));
    return { accepted, seconds: (performance.now() - began) / 1000 };
}
describe('RL-01 N and no more', () => {
    it('RL-01 on one gateway exactly the burst, and what has come back meanwhile', async () => {
        const gateway = await fresh();
        for (const [perMinute, burst] of [
            [60, 5],
            [600, 120],
            [1, 1],
            [60, 40],
        ]) {
            const { token } = await issued({ perMinute, burst });
            const { accepted, seconds } = await flood([gateway], token, burst + 25);
            expect(accepted).toBeGreaterThanOrEqual(burst);
            expect(accepted).toBeLessThanOrEqual(burst + Math.floor((seconds * perMinute) / 60));
        }
    });
    it.each([2, 3])('RL-01 on %i gateways together at most the same', async (n) => {
        const gateways = await Promise.all(Array.from({ length: n }, () => fresh()));
        for (const [perMinute, burst] of [
            [60, 5],
            [600, 120],
            [60, 40],
        ]) {
            const { token } = await issued({ perMinute, burst });
            const { accepted, seconds } = await flood(gateways, token, burst + 40);
            expect(accepted).toBeGreaterThanOrEqual(burst);
            expect(accepted).toBeLessThanOrEqual(burst + Math.floor((seconds * perMinute) / 60));
        }
    });
    it('RL-01 over seconds of pressure on two gateways never 5 % above the quota', async () => {
        const gateways = [await fresh(), await fresh()];
        const { token } = await issued({ perMinute: 1_200, burst: 10 });
        const began = performance.now();
        let accepted = 0;
        const press = async (gateway) => {
            while (performance.now() - began < 4_000) {
                if ((await gateway.ask(CHEAP, { token })).status === 200)
                    accepted++;
                else
                    await sleep(20);
            }
        };
        await Promise.all([...gateways, ...gateways, ...gateways].map(press));
        const quota = 10 + ((performance.now() - began) / 1000) * 20;
        expect(accepted).toBeLessThanOrEqual(quota * 1.05);
        expect(accepted).toBeGreaterThan(quota * 0.8);
    });
    it('RL-01 one budget for all credentials and installations of an app, and another for another app', async () => {
        const gateway = await fresh();
        const first = await issued({ perMinute: 1, burst: 4 });
        const second = await issued({ app: first.app });
        const other = await issued({ perMinute: 1, burst: 4 });
        expect((await flood([gateway], first.token, 2)).accepted).toBe(2);
        expect((await flood([gateway], second.token, 5)).accepted).toBe(2);
        expect((await gateway.ask(CHEAP, { token: first.token })).status).toBe(429);
        expect((await flood([gateway], other.token, 4)).accepted).toBe(4);
    });
    it('RL-01 a restart refills nothing', async () => {
        const { token } = await issued({ perMinute: 1, burst: 20 });
        let accepted = 0;
        for (let restart = 0; restart < 8; restart++)
            accepted += (await flood([await fresh()], token, 5)).accepted;
        expect(accepted).toBeLessThanOrEqual(20);
        // A gateway that stops loses the units that it holds. These are at most an eighth of the bucket. A restart must not
        // create additional units.
        expect(accepted).toBeGreaterThanOrEqual(12);
    });
});
describe('RL-02 RL-04 429', () => {
    it('RL-02 says when to come back, and then it succeeds', async () => {
        const gateway = await fresh();
        for (const [perMinute, burst, path, wait] of [
            [60, 5, CHEAP, 1],
            [30, 1, CHEAP, 2],
            [300, 7, REPORT, 1],
        ]) {
            const { token } = await issued({ perMinute, burst });
            let refused;
            for (let i = 0; i < burst + 2 && refused?.status !== 429; i++)
                refused = await gateway.ask(path, { token });
            expect([refused?.status, refused?.body.code]).toEqual([429, 'quota_exceeded']);
            const after = Number(refused?.headers.get('retry-after'));
            expect(after).toBeGreaterThanOrEqual(1);
            expect(after).toBeLessThanOrEqual(wait);
            expect(refused?.body.retry_after).toBe(after);
            await sleep(after * 1000);
            const again = await gateway.ask(path, { token });
            expect(again.status, `after ${after} s of ${perMinute}/min`).toBe(200);
        }
    });
    it('RL-04 comes before any work on data', async () => {
        const texts = [];
        const watched = {
            ...database.db,
            query: (statement) => {
                texts.push(statement.texts.join(' '));
                return database.db.query(statement);
            },
            read: (statement) => {
                texts.push(statement.texts.join(' '));
                return database.db.read(statement);
            },
        };
        const gateway = await fresh(watched);
        const { token } = await issued({ perMinute: 1, burst: 1 });
        expect((await gateway.ask(CHEAP, { token })).status).toBe(200);
        texts.length = 0;
        for (const path of [CHEAP, REPORT])
            expect((await gateway.ask(path, { token })).status).toBe(429);
        expect(texts.length).toBeGreaterThan(0);
        expect(texts.filter((text) => /platform\.(channel|conversation)\b/.test(text))).toEqual([]);
    });
});
describe('what a call costs', () => {
    it('one unit a request, five a report', async () => {
        const gateway = await fresh();
        const { token } = await issued({ perMinute: 1, burst: 20 });
        const costs = [
            [CHEAP, 1],
            ['/api/v1/context', 1],
            ['/api/v1/guides/overview', 1],
            ['/api/v1/files/fil_1_1_1/content', 1],
            [REPORT, 5],
            ['/api/v1/websites', 1],
        ];
        let left = 20;
        for (const [path, cost] of costs) {
            left -= cost;
            expect(rateOf(await gateway.ask(path, { token })).remaining, path).toBe(left);
        }
        expect((await flood([gateway], token, 3, REPORT)).accepted).toBe(2);
    });
    it('a request that is refused for what it asks costs like any other', async () => {
        const gateway = await fresh();
        const { token } = await issued({ perMinute: 1, burst: 6, scopes: ['live_read'] });
        const paths = ['/api/v1/websites', `${CHEAP}&nonsense=1`, `/api/v1/channels?website_id=${webId(2, 1)}`];
        for (const [i, path] of [...paths, ...paths].entries()) {
            const answer = await gateway.ask(path, { token });
            expect([400, 404]).toContain(answer.status);
            expect(rateOf(answer).remaining).toBe(5 - i);
        }
        for (const path of paths)
            expect((await gateway.ask(path, { token })).status, path).toBe(429);
    });
    it('401s cost nothing', async () => {
        const gateway = await fresh();
        const valid = await issued({ perMinute: 1, burst: 4 });
        const ended = await issued({ app: valid.app });
        const late = await issued({ app: valid.app, expires: '-1 second' });
        expect((await gateway.ask(CHEAP, { token: ended.token })).status).toBe(200);
        await database.sql `UPDATE gateway.credential SET revoked_at = now() WHERE id = ${ended.credential}`;
        for (let i = 0; i < 20; i++) {
            for (const { token } of [ended, late])
                expect((await gateway.ask(CHEAP, { token })).status).toBe(401);
        }
        expect((await flood([gateway], valid.token, 10)).accepted).toBe(3);
    });
});
describe('the headers', () => {
    it('stand on every authenticated reply, also the first one of a gateway', async () => {
        const file = '/api/v1/files/fil_1_1_1/content';
        const bytes = { accept: 'application/octet-stream' };
        const replies = [
            [CHEAP, 200],
            ['/api/v1/context', 200],
            [`${CHEAP}&nonsense=1`, 400],
            [`${CHEAP}&cursor=chn_1_2_1`, 400],
            ['/api/v1/channels', 400],
            ['/api/v1/conversations/cnv_1_1_77', 404],
            ['/api/v1/conversations/cnv_2_1_1', 404],
            ['/api/v1/health', 404],
            [`/api/v1/conversations?website_id=${WEB}&operator_id=opr_1_1_1`, 404],
            [file, 206, bytes],
            [`${file}?version=${'0'.repeat(32)}`, 409],
            [file, 412, { ...bytes, 'if-match': `"${'0'.repeat(32)}"` }],
            [file, 416, { ...bytes, range: 'bytes=70000-' }],
        ];
        const scopes = ['live_read', 'conversation_read', 'message_content_read', 'contact_read_pii', 'file_read'];
        for (const [path, status, headers = {}] of replies) {
            const gateway = await fresh();
            const { token } = await issued({ perMinute: 77, burst: 9, scopes });
            for (const remaining of [8, 7]) {
                const answer = await gateway.ask(path, { token, headers });
                expect(answer.status, path).toBe(status);
                expect(answer.headers.get('ratelimit'), `${status} ${path}`).not.toBeNull();
                expect(rateOf(answer)).toMatchObject({ remaining, policy: '"app";q=77;w=60' });
            }
        }
    });
    it('tell the truth: r more requests are accepted, and after t seconds one more', async () => {
        const gateway = await fresh();
        const { token } = await issued({ perMinute: 60, burst: 6 });
        for (let left = 5; left >= 0; left--) {
            expect(rateOf(await gateway.ask(CHEAP, { token }))).toEqual({
                remaining: left,
                reset: 1,
                policy: '"app";q=60;w=60',
            });
        }
        const refused = await gateway.ask(CHEAP, { token });
        expect([refused.status, rateOf(refused)]).toMatchObject([429, { remaining: 0, reset: 1 }]);
    });
});
describe('leases', () => {
    /**
     * Takes units in the same way as a replica. A window lasts a tenth of a second, so lost units expire within two
     * tenths of a second.
     */
    const take = async (app, want, given) => {
        const { held, unspent, in: heldIn } = given;
        const grant = await takeQuota(database.db, app, { need: 1, want, held, unspent, heldIn, windowSeconds: 0.1 });
        return grant ?? expect.fail('no bucket');
    };
    const NOTHING = { held: 0, unspent: 0, in: '0' };
    it('of replicas that were killed lapse under steady traffic: the bucket is whole again', async () => {
        const { app } = await issued({ perMinute: 60_000, burst: 100 });
        for (const size of [60, 39])
            expect((await take(app, size, NOTHING)).granted).toBe(size);
        let lease = { held: 0, unspent: 0, in: '0' };
        let remaining = 0;
        for (const end = performance.now() + 1_000; performance.now() < end; await sleep(20)) {
            const grant = await take(app, 1, lease);
            lease = { held: grant.granted, unspent: 0, in: grant.granted_in };
            remaining = grant.remaining;
        }
        expect(remaining).toBeGreaterThan(95);
    });
    it('that have lapsed give nothing back, and those of the window before do', async () => {
        const { app } = await issued({ perMinute: 1, burst: 100 });
        const lost = await take(app, 50, NOTHING);
        await sleep(250);
        const late = await take(app, 1, { held: 50, unspent: 50, in: lost.granted_in });
        expect(Math.floor(late.remaining)).toBe(49);
        const soon = await take(app, 20, NOTHING);
        await sleep(100);
        const back = await take(app, 1, { held: 20, unspent: 20, in: soon.granted_in });
        const windows = BigInt(back.granted_in) - BigInt(soon.granted_in);
        expect(windows).toBeGreaterThan(0n);
        expect(Math.floor(back.remaining)).toBe(windows === 1n ? 48 : 28);
    });
    it('are given back once, however the statement ends', async () => {
        let down = false;
        const given = [];
        const gateway = await fresh({
            ...database.db,
            query: async (statement) => {
                const taking = statement.texts.join(' ').includes('take_quota');
                if (taking)
                    given.push(statement.values.slice(3, 5));
                const answer = await database.db.query(statement);
                if (down && taking)
                    throw new StoreUnreachable('the reply was lost');
                return answer; // the caller of `query` chooses the type of a row
            },
        });
        const { token } = await issued({ perMinute: 60, burst: 80 });
        expect((await gateway.ask(CHEAP, { token })).status).toBe(200);
        expect((await gateway.ask(CHEAP, { token })).status).toBe(200);
        await sleep(2_100);
        down = true;
        expect((await gateway.ask(CHEAP, { token })).status).toBe(503);
        down = false;
        expect((await gateway.ask(CHEAP, { token })).status).toBe(200);
        const [held] = given.at(-2); // the quota statement has these two numbers
        expect(held).toBeGreaterThan(1);
        expect(given.at(-1)).toEqual([0, 0]);
    });
});
describe('a changed quota', () => {
    it('acts at once, on a full and on an empty bucket', async () => {
        const gateway = await fresh();
        const { token, app } = await issued({ perMinute: 600, burst: 100 });
        expect((await flood([gateway], token, 20)).accepted).toBe(20);
        await updateQuota(database.db, app, { perMinute: 60, burst: 5 });
        const { accepted, seconds } = await flood([gateway], token, 60);
        // The gateway already holds up to an eighth of the old bucket and can spend these units. All other units of the old
        // bucket are gone.
        expect(accepted).toBeLessThanOrEqual(5 + 12 + Math.floor(seconds));
        expect(rateOf(await gateway.ask(CHEAP, { token })).policy).toBe('"app";q=60;w=60');
        await updateQuota(database.db, app, { perMinute: 60_000, burst: 1_000 });
        await sleep(30);
        expect((await gateway.ask(CHEAP, { token })).status).toBe(200);
        expect((await flood([gateway], token, 100)).accepted).toBeGreaterThan(20);
    });
});
describe('RL-05 a store that does not answer', () => {
    let down;
    const failing = () => {
        const guard = (texts) => {
            if (down?.test(texts.join(' ')))
                throw new StoreUnreachable('the store cannot be reached');
        };
        return {
            ...database.db,
            query: async (statement) => {
                guard(statement.texts);
                return database.db.query(statement);
            },
            read: async (statement) => {
                guard(statement.texts);
                return database.db.read(statement);
            },
        };
    };
    it.each([
        ['the bucket', /take_quota/],
        ['everything', /./],
    ])('RL-05 %s: 503, never a pass', async (_, what) => {
        const gateway = await fresh(failing());
        const { token } = await issued({ perMinute: 600, burst: 4 });
        const paths = [CHEAP, '/api/v1/context', REPORT, `${CHEAP}&nonsense=1`];
        down = undefined;
        expect((await gateway.ask(CHEAP, { token })).status).toBe(200);
        down = what;
        try {
            for (const path of [...paths, ...paths]) {
                const answer = await gateway.ask(path, { token });
                // When only the statement for the quota fails, a call can still succeed with a unit that the gateway leased
                // earlier.
                if (what.source === 'take_quota' && answer.status === 200)
                    continue;
                expect([answer.status, answer.headers.get('retry-after')], path).toEqual([503, '1']);
                expect(answer.body.code).toMatch(/^(service|authority)_unavailable$/);
            }
            const cold = await fresh(failing());
            for (const path of paths)
                expect((await cold.ask(path, { token })).status, path).toBe(503);
        }
        finally {
            down = undefined;
        }
        expect((await gateway.ask(CHEAP, { token })).status).toBe(200);
    });
});
//# sourceMappingURL=quota.test.js.map
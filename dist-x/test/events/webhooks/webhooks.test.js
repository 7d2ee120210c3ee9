import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventId } from '../../../src/events/receipts.js';
import { newWebhookSecret } from '../../../src/outbound/signature.js';
import { readDeliveries, replayDeliveries, rotateEndpoint, updateEndpoint, } from '../../../src/store/administration/endpoints.js';
import { openLedgerKey } from '../../../src/store/calls/ledger.js';
import { LEASE, purgeDeliveries, settleDeliveries } from '../../../src/store/events/deliveries.js';
import { issue } from '../../support/credentials.js';
import { freshDatabase } from '../../support/database.js';
import { addEndpoint, answer, log, openReceiver, queued, run, tell, until, verified, } from '../../support/events/webhooks.js';
import { KEYS } from '../../support/keys.js';
let database;
let credential;
let receiver;
let running;
beforeAll(async () => {
    database = await freshDatabase('demo');
});
afterAll(() => database.close());
beforeEach(async () => {
    credential = (await issue(database.sql, 1)).credential;
    receiver = await openReceiver();
});
afterEach(async () => {
    await running?.stop();
    expect(running?.errors ?? []).toEqual([]);
    running = undefined;
    await receiver.close();
    await database.sql `DELETE FROM gateway.webhook_endpoint`;
});
const start = (more = {}) => {
    running = run(database, [receiver], more);
};
async function row(id) {
    const [found] = await database.sql `SELECT * FROM gateway.webhook_endpoint WHERE id = ${id}`;
    return found ?? {};
}
const statuses = async (id) => (await log(database, id)).map(({ status }) => status);
const settled = (id, ...wanted) => until(async () => JSON.stringify(await statuses(id)) === JSON.stringify(wanted));
/** Makes the waiting deliveries of one endpoint due now. The deliveries of other endpoints keep their times. */
const travel = (id) => database.sql `UPDATE gateway.webhook_delivery SET due_at = now() WHERE endpoint_id = ${id} AND status = 'pending' AND lease_until IS NULL`;
const only = ({ got }) => {
    const [one, ...others] = got;
    if (!one || others.length > 0)
        throw new Error(`${got.length} deliveries`);
    return one;
};
describe('WH-01 headers and signature', () => {
    it('every receipt is signed, and fits what its reader would pull', async () => {
        const { id, secret } = await addEndpoint(database, credential, receiver.url);
        start();
        await tell(database, 3);
        await settled(id, 'delivered', 'delivered', 'delivered');
        const key = await openLedgerKey(database.db)();
        for (const got of receiver.got) {
            const body = JSON.parse(got.bytes.toString());
            expect(verified(secret, got)).toBe(true);
            expect(got.id).toBe(eventId(key, 'web_1_1', body.data.cursor));
            expect(got.id).not.toContain('.');
            expect(got).toMatchObject({ method: 'POST', path: '/hook', attempt: 1 });
            expect(got.headers).toMatchObject({
                'content-type': 'application/json',
                'user-agent': expect.stringMatching(/^installation-gateway\/1 \(\+http/),
            });
            expect(got.headers).not.toHaveProperty('x-gateway-test');
            expect(Math.abs(Number(got.headers['webhook-timestamp']) - Date.now() / 1000)).toBeLessThan(5);
        }
    });
    it('any flipped bit of id, timestamp or body fails', async () => {
        const { secret } = await addEndpoint(database, credential, receiver.url);
        start();
        await tell(database, 1);
        await until(() => receiver.got.length === 1);
        const got = only(receiver);
        expect(verified(secret, got)).toBe(true);
        let flipped = 0;
        const flip = (bytes, i) => {
            flipped++;
            const other = Buffer.from(bytes);
            other[i] = (other[i] ?? 0) ^ 1;
            return other;
        };
        for (let i = 0; i < got.bytes.length; i++) {
            expect(verified(secret, { ...got, bytes: flip(got.bytes, i) })).toBe(false);
        }
        for (const name of ['webhook-id', 'webhook-timestamp']) {
            const value = Buffer.from(String(got.headers[name]));
            for (let i = 0; i < value.length; i++) {
                const headers = { ...got.headers, [name]: flip(value, i).toString() };
                expect(verified(secret, { ...got, headers })).toBe(false);
            }
        }
        expect(flipped).toBeGreaterThan(300);
        expect(verified(newWebhookSecret(), got)).toBe(false);
    });
    it('the id stays over attempts and replays, the timestamp is each attempt’s own', async () => {
        const { id, secret } = await addEndpoint(database, credential, receiver.url);
        receiver.reply((request, response, got) => answer(got.attempt < 3 ? 500 : 200)(request, response, got));
        start({ schedule: [0, 1.5, 1.5] });
        await tell(database, 1);
        await settled(id, 'delivered');
        expect(receiver.got.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
        expect(new Set(receiver.got.map((got) => got.id)).size).toBe(1);
        expect(new Set(receiver.got.map((got) => got.headers['webhook-timestamp'])).size).toBeGreaterThan(1);
        expect(receiver.got.every((got) => verified(secret, got))).toBe(true);
    });
});
it('WH-02 secrets are 32 random bytes each', () => {
    const secrets = Array.from({ length: 200 }, newWebhookSecret);
    expect(new Set(secrets).size).toBe(200);
    for (const secret of secrets) {
        expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
        expect(Buffer.from(secret.slice(6), 'base64')).toHaveLength(32);
    }
});
it('WH-03 rotation under load: both secrets sign during the overlap, and nothing fails', async () => {
    const { id, secret } = await addEndpoint(database, credential, receiver.url);
    const renewed = newWebhookSecret();
    let known = secret;
    const outcomes = [];
    receiver.reply((request, response, got) => {
        outcomes.push(verified(known, got));
        answer(outcomes.at(-1) ? 200 : 401)(request, response, got);
    });
    start();
    let going = true;
    const load = (async () => {
        while (going)
            await tell(database, 5);
    })();
    await until(() => outcomes.length > 20);
    await rotateEndpoint(database.db, id, KEYS.seal('webhook secret', renewed), 3600);
    const during = outcomes.length;
    await until(() => outcomes.length > during + 60);
    const both = receiver.got.at(-1);
    expect(both && [secret, renewed].map((one) => verified(one, both))).toEqual([true, true]);
    known = renewed;
    await until(() => outcomes.length > during + 120);
    going = false;
    await load;
    await until(async () => (await queued(database)) === 0);
    await database.sql `UPDATE gateway.webhook_endpoint SET old_secret_until = now() WHERE id = ${id}`;
    const seen = receiver.got.length;
    await tell(database, 1);
    await until(() => receiver.got.length > seen);
    const after = receiver.got.at(-1);
    expect(after && [secret, renewed].map((one) => verified(one, after))).toEqual([false, true]);
    expect(outcomes).not.toContain(false);
    // The purge skips an endpoint while a round of deliveries works on it. Therefore repeat the purge.
    await until(async () => {
        await purgeDeliveries(database.db, 1);
        return (await row(id))['old_secret'] === null;
    });
    expect(await row(id)).toMatchObject({ old_secret_until: null });
});
describe('WH-04 what counts as success', () => {
    it.each([200, 201, 202, 204, 299])('%d does', async (status) => {
        const { id } = await addEndpoint(database, credential, receiver.url);
        receiver.reply((_, response) => void response.writeHead(status).end());
        start();
        await tell(database, 1);
        await settled(id, 'delivered');
    });
    it.each([300, 304, 400, 401, 404, 409, 500, 502, 599])('%d does not', async (status) => {
        const { id } = await addEndpoint(database, credential, receiver.url);
        receiver.reply((_, response) => void response.writeHead(status).end());
        start({ schedule: [0, 600] });
        await tell(database, 1);
        await until(async () => (await log(database, id))[0]?.response_status === status);
        expect(await log(database, id)).toMatchObject([{ status: 'pending', attempts: 1, error: null }]);
        expect((await row(id))['failing_since']).toBeInstanceOf(Date);
    });
    it.each([301, 302, 303, 307, 308])('%d is not followed', async (status) => {
        const honeypot = await openReceiver();
        try {
            const { id } = await addEndpoint(database, credential, receiver.url);
            receiver.reply(answer(status, { location: honeypot.url }));
            running = run(database, [receiver, honeypot], { schedule: [0, 0] });
            await tell(database, 1);
            await settled(id, 'failed');
            expect(receiver.got).toHaveLength(2);
            expect(honeypot.connections()).toBe(0);
        }
        finally {
            await honeypot.close();
        }
    });
    it('410 disables the endpoint and drops its queue', async () => {
        const { id } = await addEndpoint(database, credential, receiver.url);
        receiver.reply((request, response, got) => answer(receiver.got.length > 1 ? 410 : 500)(request, response, got));
        start({ schedule: [0, 600] });
        await tell(database, 1);
        await until(async () => (await log(database, id))[0]?.attempts === 1 && (await log(database, id))[0]?.response_status === 500);
        await travel(id);
        await settled(id, 'failed');
        expect(await row(id)).toMatchObject({ enabled: false, disabled_because: 'gone', gap_since: expect.any(Date) });
        const before = receiver.got.length;
        await tell(database, 3);
        await travel(id);
        await new Promise((resolve) => setTimeout(resolve, 700));
        expect(receiver.got).toHaveLength(before);
    });
    it.each([
        [429, '3', 3],
        [503, '7', 7],
        [429, '999999999', 3600],
        [503, 'date', 60],
        [503, 'soon', 1],
        [429, '-5', 1],
        [500, '100', 1],
    ])('%d with Retry-After %s waits', async (status, header, seconds) => {
        const { id } = await addEndpoint(database, credential, receiver.url);
        const value = header === 'date' ? new Date(Date.now() + seconds * 1000).toUTCString() : header;
        receiver.reply(answer(status, { 'retry-after': value }));
        start({ schedule: [0, 1, 1, 1, 1] });
        await tell(database, 1);
        await until(async () => (await log(database, id))[0]?.response_status === status);
        const due = (await log(database, id))[0]?.due_in ?? 0;
        expect(due).toBeGreaterThan(0.8 * seconds - 0.5);
        expect(due).toBeLessThanOrEqual(1.2 * seconds);
    });
});
describe('WH-05 attempts', () => {
    it('F-11 five on the schedule, each delay within a fifth of it; then failed, and replayed under the same id', async () => {
        const schedule = [0, 5, 300, 1800, 7200];
        const { id } = await addEndpoint(database, credential, receiver.url);
        receiver.reply(answer(500));
        start({ schedule });
        await tell(database, 8);
        const ratios = [];
        for (let n = 1; n <= 5; n++) {
            await until(async () => {
                const attempted = (await log(database, id)).filter((one) => one.attempts === n && one.response_status === 500);
                return attempted.length === 8;
            });
            if (n === 5)
                break;
            for (const { due_in } of await log(database, id))
                ratios.push(due_in / (schedule[n] ?? 1));
            await database.sql `UPDATE gateway.webhook_delivery SET response_status = NULL`;
            await travel(id);
        }
        expect(ratios).toHaveLength(32);
        expect(Math.min(...ratios)).toBeGreaterThan(0.7); // the first delay is five seconds, and the test may read it half a second late
        expect(Math.max(...ratios)).toBeLessThanOrEqual(1.2);
        expect(new Set(ratios.map((one) => one.toFixed(2))).size).toBeGreaterThan(8);
        await settled(id, ...Array.from({ length: 8 }, () => 'failed'));
        await travel(id);
        await new Promise((resolve) => setTimeout(resolve, 700));
        expect(receiver.got).toHaveLength(40);
        expect((await row(id))['gap_since']).toBeInstanceOf(Date);
        receiver.reply(answer(200));
        const [first] = receiver.got;
        const key = await openLedgerKey(database.db)();
        expect(await replayDeliveries(database.db, id, key, { event: first?.id ?? '' })).toMatchObject({
            found: 1,
            queued: 1,
        });
        await until(() => receiver.got.length === 41);
        expect(receiver.got.at(-1)).toMatchObject({ id: first?.id, attempt: 1 });
        await until(async () => (await statuses(id)).filter((status) => status === 'delivered').length === 1);
    });
    it('an attempt is counted before it is made, and the last one that is lost has failed', async () => {
        const { id } = await addEndpoint(database, credential, receiver.url);
        receiver.reply(() => undefined); // the receiver never answers
        start({ schedule: [0, 0] });
        await tell(database, 1);
        await until(() => receiver.got.length === 1);
        expect(await log(database, id)).toMatchObject([{ status: 'pending', attempts: 1 }]);
        expect((await log(database, id))[0]?.due_in).toBeGreaterThan(LEASE / 1000 - 3);
        // End the lease of the attempt twice, as if the process that made the attempt had died.
        for (const n of [1, 2]) {
            await database.sql `UPDATE gateway.webhook_delivery SET due_at = now(), lease_until = now()`;
            await until(() => receiver.got.length === Math.min(2, n + 1));
        }
        await settled(id, 'failed');
        expect((await log(database, id))[0]).toMatchObject({ attempts: 2, error: 'interrupted' });
        expect(receiver.got.map(({ attempt }) => attempt)).toEqual([1, 2]);
    });
    it('an outcome whose attempt was not the last one changes nothing', async () => {
        const { id } = await addEndpoint(database, credential, receiver.url);
        receiver.reply(answer(500));
        start({ schedule: [0, 600] });
        await tell(database, 1);
        await until(async () => (await log(database, id))[0]?.response_status === 500);
        const [delivery] = await database.sql `SELECT id, attempts FROM gateway.webhook_delivery WHERE endpoint_id = ${id}`;
        const of = {
            id: String(delivery?.['id']),
            attempt: Number(delivery?.['attempts']),
            endpoint: id,
            url: receiver.url,
        };
        const late = {
            ...of,
            losses: 0,
            delivered: true,
            unused: false,
            wait: null,
            gone: false,
            status: 200,
            error: null,
        };
        expect(await settleDeliveries(database.db, [{ ...late, attempt: of.attempt - 1 }])).toMatchObject({ taken: 0 });
        expect(await statuses(id)).toEqual(['pending']);
        expect(await settleDeliveries(database.db, [late])).toMatchObject({ taken: 1 });
        expect(await settleDeliveries(database.db, [late])).toMatchObject({ taken: 0 });
        expect(await statuses(id)).toEqual(['delivered']);
    });
    it('nothing but failure for three days disables', async () => {
        const { id } = await addEndpoint(database, credential, receiver.url);
        receiver.reply(answer(500));
        start({ schedule: [0, 0] });
        await tell(database, 1);
        await settled(id, 'failed');
        await database.sql `UPDATE gateway.webhook_endpoint SET failing_since = now() - interval '3 days' + interval '1 minute'`;
        await tell(database, 1);
        await settled(id, 'failed', 'failed');
        expect(await row(id)).toMatchObject({ enabled: true });
        await database.sql `UPDATE gateway.webhook_endpoint SET failing_since = now() - interval '3 days'`;
        await tell(database, 1);
        await until(async () => (await row(id))['enabled'] === false);
        expect(await row(id)).toMatchObject({ disabled_because: 'failing' });
        expect((await statuses(id)).includes('pending')).toBe(false);
    });
});
describe('the gap', () => {
    const told = () => receiver.got.map(({ headers }) => headers['x-gateway-gap-since']).map((one) => (one === undefined ? one : 'gap'));
    it('a receiver is told that it lost receipts until it has accepted a delivery that says so', async () => {
        const { id } = await addEndpoint(database, credential, receiver.url);
        receiver.reply(answer(500));
        start({ schedule: [0] });
        await tell(database, 1);
        await settled(id, 'failed');
        await tell(database, 1);
        await settled(id, 'failed', 'failed');
        receiver.reply(answer(200));
        for (const n of [3, 4]) {
            await tell(database, 1);
            await until(() => receiver.got.length === n);
            await until(async () => (await queued(database)) === 0);
        }
        expect(told()).toEqual([undefined, 'gap', 'gap', undefined]);
        expect(await row(id)).toMatchObject({ gap_since: null, failing_since: null });
    });
    it('also of what retention took, and of what came while it was disabled', async () => {
        const { id } = await addEndpoint(database, credential, receiver.url);
        await tell(database, 5);
        await database.sql `UPDATE gateway.journal_head SET trimmed = position - 1 WHERE (tenant, site) = (1, 1)`;
        start();
        await until(() => receiver.got.length === 1);
        expect(told()).toEqual(['gap']);
        await database.sql `UPDATE gateway.journal_head SET trimmed = 0`;
        await updateEndpoint(database.db, id, { enabled: false });
        await tell(database, 3);
        await updateEndpoint(database.db, id, { enabled: true });
        await tell(database, 1);
        await until(() => receiver.got.length === 2);
        expect(told()).toEqual(['gap', 'gap']);
    });
});
it('WH-06 a delivery is the receipt and nothing else, in less than 1 KB', async () => {
    await addEndpoint(database, credential, receiver.url);
    start();
    await database.sql `UPDATE platform.visitor SET nickname = 'canary-nickname' WHERE (tenant, site) = (1, 1)`;
    await until(() => receiver.got.length === 1);
    const got = only(receiver);
    const body = JSON.parse(got.bytes.toString());
    expect(Object.keys(body)).toEqual(['type', 'timestamp', 'data']);
    expect(Object.keys(body.data).sort()).toEqual(['cursor', 'event_id', 'event_type', 'occurred_at', 'recorded_at', 'website_id'].sort());
    expect(body).toMatchObject({ type: 'visitor.changed', timestamp: new Date(body.data.occurred_at).toISOString() });
    expect(body.data).toMatchObject({ event_id: got.id, event_type: 'visitor.changed', website_id: 'web_1_1' });
    expect(got.bytes.length).toBeLessThan(1024);
    expect(JSON.stringify(body)).toBe(got.bytes.toString());
    expect(got.bytes.toString() + JSON.stringify(got.headers)).not.toContain('canary');
});
it('an endpoint takes the types it asks for, of its website, from its creation on', async () => {
    await tell(database, 2, 'conversation.changed');
    const { id } = await addEndpoint(database, credential, receiver.url, { eventTypes: ['conversation.*', 'queue.gap'] });
    for (const type of [
        'visitor.changed',
        'conversation.removed',
        'queue.changed',
        'queue.gap',
        'conversation.heartbeat',
    ]) {
        await tell(database, 1, type);
    }
    await tell(database, 2, 'conversation.changed', '2');
    start();
    await settled(id, 'delivered', 'delivered', 'delivered');
    expect(receiver.got.map(({ bytes }) => JSON.parse(bytes.toString()).type).sort()).toEqual([
        'conversation.heartbeat',
        'conversation.removed',
        'queue.gap',
    ]);
    const watched = await database.sql `SELECT family FROM gateway.watched_families() WHERE (tenant, site) = (1, 1) ORDER BY 1`;
    expect(watched.map(({ family }) => family)).toEqual(['conversation', 'queue']);
});
it('a held family waits, and goes out when it is released', async () => {
    const { id } = await addEndpoint(database, credential, receiver.url);
    await database.sql `INSERT INTO gateway.family_hold (tenant, site, family) VALUES (1, 1, 'visitor')`;
    start();
    await tell(database, 2);
    await tell(database, 1, 'conversation.changed');
    await until(() => receiver.got.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect(receiver.got).toHaveLength(1);
    expect((await log(database, id)).map(({ attempts }) => attempts)).toEqual([0, 0, 1]);
    await database.sql `DELETE FROM gateway.family_hold`;
    await settled(id, 'delivered', 'delivered', 'delivered');
});
it('a thousand wait for their first attempt at most, the others in the journal', async () => {
    const { id } = await addEndpoint(database, credential, receiver.url);
    receiver.reply(answer(500));
    start({ schedule: [0, 600] });
    await tell(database, 2_500);
    await until(async () => (await queued(database)) >= 1_000, 20_000);
    await new Promise((resolve) => setTimeout(resolve, 600));
    const waiting = (await log(database, id)).filter(({ attempts }) => attempts === 0);
    expect(waiting.length).toBeLessThan(1_200);
    const { position } = await row(id);
    const [head] = await database.sql `SELECT position FROM gateway.journal_head WHERE (tenant, site) = (1, 1)`;
    expect(Number(position)).toBeLessThan(Number(head?.['position']));
});
it('WH-07 an endpoint has sixteen attempts under way over all replicas, and two while it fails', async () => {
    await addEndpoint(database, credential, receiver.url);
    let [open, most] = [0, 0];
    receiver.reply((request) => {
        open++;
        most = Math.max(most, open);
        request.socket.once('close', () => {
            open--;
        });
    });
    start({ sending: { deadline: 1_500 }, schedule: [0, 0, 0] });
    const second = run(database, [receiver], { sending: { deadline: 1_500 }, schedule: [0, 0, 0] });
    await tell(database, 60);
    await until(() => open === 16);
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect([open, most]).toEqual([16, 16]);
    await until(() => open < 16);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(open).toBeGreaterThan(0);
    expect(open).toBeLessThanOrEqual(2);
    await second.stop();
    expect(second.errors).toEqual([]);
});
it('F-18 a process that stops gives its attempts three seconds; another one goes on at once', async () => {
    const { id } = await addEndpoint(database, credential, receiver.url);
    receiver.reply((request, response, got) => {
        if (got.attempt > 1)
            answer(200)(request, response, got);
    });
    const stopped = run(database, [receiver], { schedule: [0, 600] });
    await tell(database, 3);
    await until(() => receiver.got.length === 3);
    const began = performance.now();
    await stopped.stop();
    expect(performance.now() - began).toBeLessThan(5_000);
    expect(stopped.errors).toEqual([]);
    const left = await log(database, id);
    expect(left).toMatchObject(Array.from({ length: 3 }, () => ({ status: 'pending', attempts: 1, error: 'interrupted' })));
    expect(Math.max(...left.map(({ due_in }) => due_in))).toBeLessThanOrEqual(0);
    start({ schedule: [0, 600] });
    await settled(id, 'delivered', 'delivered', 'delivered');
});
describe('WH-10 authority that ends', () => {
    it.each([
        ['revoked', 'revoked_at = now()'],
        ['expired', 'expires_at = now()'],
        ['without the website', 'sites = array_remove(sites, 1::bigint)'],
        ['without event_read', "scopes = array_remove(scopes, 'event_read')"],
        ['restricted', "channel_ids = '{chn_1_1_1}'"],
    ])('%s: the queue is dropped within a second, and never sent', async (_, change) => {
        const { id } = await addEndpoint(database, credential, receiver.url);
        receiver.reply(answer(500));
        start({ schedule: [0, 2, 2, 2, 2] });
        await tell(database, 20);
        await until(async () => (await log(database, id)).filter(({ attempts }) => attempts === 1).length === 20);
        await until(async () => (await log(database, id)).every(({ response_status }) => response_status === 500));
        const before = receiver.got.length;
        await database.sql.unsafe(`UPDATE gateway.credential SET ${change} WHERE id = '${credential}'`);
        const changed = performance.now();
        await tell(database, 5);
        await until(async () => (await queued(database)) === 0, 1_000);
        expect(performance.now() - changed).toBeLessThan(1_000);
        expect(new Set(await statuses(id))).toEqual(new Set(['dropped']));
        await new Promise((resolve) => setTimeout(resolve, 2_500));
        expect(receiver.got.length).toBe(before);
    });
});
it('what ended seven days ago is forgotten', async () => {
    const { id } = await addEndpoint(database, credential, receiver.url);
    start();
    await tell(database, 3);
    await settled(id, 'delivered', 'delivered', 'delivered');
    await database.sql `UPDATE gateway.webhook_delivery SET ended_at = now() - interval '7 days' WHERE position = (SELECT min(position) FROM gateway.webhook_delivery)`;
    expect(await purgeDeliveries(database.db, 10)).toBe(1);
    expect(await statuses(id)).toEqual(['delivered', 'delivered']);
});
it('a secret that this process cannot read uses up no attempt, and says why; who has the key delivers', async () => {
    const { id } = await addEndpoint(database, credential, receiver.url);
    start({ schedule: [0], keys: { open: () => undefined } });
    await tell(database, 1);
    await until(async () => (await log(database, id))[0]?.error === 'secret_sealed_by_unknown_key');
    expect(await readDeliveries(database.db, id, 'pending', 1)).toMatchObject([{ attempts: 0 }]);
    expect((await log(database, id))[0]?.due_in).toBeGreaterThan(25);
    expect(await row(id)).toMatchObject({ failing_since: null });
    expect(receiver.connections()).toBe(0);
    await running?.stop();
    await travel(id);
    start({ schedule: [0] });
    await settled(id, 'delivered');
    expect(only(receiver)).toMatchObject({ attempt: 1 });
});
//# sourceMappingURL=webhooks.test.js.map
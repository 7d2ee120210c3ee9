import { afterAll, beforeAll, expect, it } from 'vitest';
import { cliDatabase, gateway as command, document } from '../support/cli.js';
import { heads, receipts } from '../support/events/journal.js';
import { create, definition, pull } from '../support/events/subscriptions.js';
import { openTestGateway } from '../support/gateway.js';
let database;
let gateway;
let token;
beforeAll(async () => {
    database = await cliDatabase('demo');
    gateway = await openTestGateway('demo', { ...database, close: async () => undefined });
    ({ token } = await gateway.issue());
});
afterAll(async () => {
    await gateway.close();
    await database.close();
});
const on = (...argv) => ['family', ...argv, '--website', 'web_1_1'];
const health = async (of = token) => (await gateway.ask('/api/v1/health?website_id=web_1_1', { token: of })).body.data;
const status = async (family, of = token) => (await health(of)).families.find((one) => one.family === family).status;
it('pause holds a family, on health and on pulls, and resume lets it go; each is told once', async () => {
    const before = await heads(database.sql);
    expect(await status('queue')).toBe('live');
    const { id, cursor } = await create(gateway, token, definition(['web_1_1'], { event_types: ['queue.*'] }));
    expect((await pull(gateway, token, id, cursor)).status).toBe(200);
    const held = { website_id: 'web_1_1', family: 'queue', status: 'paused' };
    expect(await document(...on('pause', '--family', 'queue'))).toEqual({ ...held, changed: true });
    expect(await document(...on('pause', '--family', 'queue'))).toEqual({ ...held, changed: false });
    expect([await status('queue'), await status('visitor')]).toEqual(['paused', 'live']);
    const refused = await pull(gateway, token, id, cursor);
    expect([refused.status, refused.body.code]).toEqual([503, 'event_family_paused']);
    expect(await receipts(database.sql, before)).toEqual(['1_1 capture.changed']);
    expect(await document(...on('resume', '--family', 'queue'))).toEqual({ ...held, status: 'live', changed: true });
    expect(await document(...on('resume', '--family', 'queue'))).toEqual({ ...held, status: 'live', changed: false });
    expect(await status('queue')).toBe('live');
    expect((await pull(gateway, token, id, cursor)).body.events.length).toBeGreaterThan(0);
    expect(await receipts(database.sql, before)).toEqual(['1_1 capture.changed', '1_1 capture.changed']);
});
it('gap says that capture lost its place', async () => {
    const before = await heads(database.sql);
    expect(await document(...on('gap', '--family', 'visitor'))).toEqual({
        website_id: 'web_1_1',
        family: 'visitor',
        event_types: ['capture.gap', 'visitor.gap'],
    });
    expect(await document(...on('gap', '--family', 'capture'))).toMatchObject({ event_types: ['capture.gap'] });
    expect(await receipts(database.sql, before)).toEqual(['1_1 capture.gap', '1_1 visitor.gap', '1_1 capture.gap']);
});
it('refuses what it does not know, and changes nothing', async () => {
    const before = await heads(database.sql);
    for (const verb of ['pause', 'resume', 'gap']) {
        for (const [code, ...argv] of [
            [2, 'family', verb, '--website', 'web_1_1', '--family', 'message'],
            [2, 'family', verb, '--website', 'web_1_1'],
            [2, 'family', verb, '--family', 'queue'],
            [1, 'family', verb, '--website', 'web_1_99', '--family', 'queue'],
        ]) {
            expect((await command(...argv)).code, argv.join(' ')).toBe(code);
        }
    }
    expect(await receipts(database.sql, before)).toEqual([]);
});
it('health is ready, with every component; a restricted credential is not told when a website last changed', async () => {
    const { status: all, components, families } = await health();
    expect([all, new Set(components.map((one) => one.status))]).toEqual([
        'ready',
        new Set(['ready']),
    ]);
    expect(families.some((one) => one.last_event_at !== null)).toBe(true);
    const { token: restricted } = await gateway.issue({ channels: ['chn_1_1_1'] });
    const told = (await health(restricted)).families;
    expect(told.filter((one) => one.last_event_at !== null)).toEqual([]);
    await document(...on('pause', '--family', 'website'));
    expect(await status('website', restricted)).toBe('paused');
    await document(...on('resume', '--family', 'website'));
});
//# sourceMappingURL=family.test.js.map
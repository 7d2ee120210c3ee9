import { issue } from '../support/credentials.js';
import { median } from './report.js';
import { openCalls, openWorld } from './world.js';
const CALLS = 1_000;
const WEBSITES = 50;
/**
 * Measures the latency of pulls over fifty websites, in two comparisons. The first comparison is between a pull at the
 * end of the journal and the read of a contact. The second comparison is between a journal of 50 thousand receipts and
 * a journal of ten million receipts.
 */
export async function pulls(store, print) {
    const sizes = [50_000, 10_000_000];
    const worlds = [];
    for (const receipts of sizes)
        worlds.push(await world(store, receipts));
    const kinds = ['contact by id', 'pull, up to date', 'pull, a page of 25', 'pull, a page of 100'];
    const times = worlds.map(() => kinds.map(() => []));
    for (let i = -100; i < CALLS; i++) {
        for (const [w, one] of worlds.entries()) {
            for (const [k, kind] of kinds.entries()) {
                const began = performance.now();
                await one.calls[kind]();
                if (i >= 0)
                    times[w]?.[k]?.push(performance.now() - began);
            }
        }
    }
    for (const [k, kind] of kinds.entries()) {
        const [small, large] = times.map((of) => median(of[k] ?? []));
        const [contact] = times.map((of) => median(of[0] ?? []));
        print(`${kind.padEnd(24)} ${small?.toFixed(2)} ms at 50,000 receipts  ${large?.toFixed(2)} ms at 10,000,000  ratio ${((large ?? 0) / (small ?? 1)).toFixed(2)}` +
            `  against contact by id ${((small ?? 0) / (contact ?? 1)).toFixed(2)}`);
    }
    for (const one of worlds)
        await one.close();
}
async function world(store, receipts) {
    const { db, sql, close } = await openWorld(store, `pulls_${receipts}`);
    await sql.unsafe(`
    SET gateway.capture = 'off';
    INSERT INTO platform.organization (external_id, name) VALUES ('pulls', 'Pulls');
    INSERT INTO platform.website SELECT 1, s, 's' || s, 'Site', 'UTC' FROM generate_series(1, ${WEBSITES}) s;
    INSERT INTO platform.contact (tenant, site, id, external_id, name, created_at)
      SELECT 1, 1, c, 'c' || c, 'Person ' || c, now() FROM generate_series(1, 1000) c;
    INSERT INTO gateway.journal (tenant, site, position, event_type, occurred_at, recorded_at)
      SELECT 1, s, p, 'conversation.changed', now() - interval '6 days' + p * interval '1 second', now() - interval '6 days' + p * interval '1 second'
        FROM generate_series(1, ${receipts / WEBSITES}) p, generate_series(1, ${WEBSITES}) s;
    INSERT INTO gateway.journal_head (tenant, site, position, last_at)
      SELECT 1, s, ${receipts / WEBSITES}, '{"conversation": 1}' FROM generate_series(1, ${WEBSITES}) s;`);
    await sql `VACUUM ANALYZE`;
    const call = await openCalls(db, (await issue(sql, 1)).token);
    const definition = {
        website_ids: Array.from({ length: WEBSITES }, (_, i) => `web_1_${i + 1}`),
        event_types: ['conversation.*', 'privacy.*'],
        payload_mode: 'thin',
        delivery: { mode: 'pull' },
        start: 'beginning',
    };
    const { subscription, cursor } = await call('subscription_create', definition);
    const { subscription_id } = subscription;
    // Create a cursor at the end of the journal directly, because pulls up to the end would take a hundred thousand
    // pages.
    await sql `UPDATE gateway.journal_head SET trimmed = position`;
    const late = await call('subscription_create', { ...definition, start: 'retained' });
    await sql `UPDATE gateway.journal_head SET trimmed = 0`;
    const end = { subscription_id: late.subscription.subscription_id, after: late.cursor, limit: 25 };
    let contact = 0;
    const walking = (limit) => {
        let after = cursor;
        return async () => {
            const { next_cursor, has_more } = await call('events_pull', { subscription_id, after, limit });
            after = has_more ? next_cursor : cursor;
        };
    };
    return {
        calls: {
            'contact by id': () => call('contact_get', { contact_id: `ctc_1_1_${1 + (contact++ % 1000)}` }),
            'pull, up to date': () => call('events_pull', end),
            'pull, a page of 25': walking(25),
            'pull, a page of 100': walking(100),
        },
        close,
    };
}
//# sourceMappingURL=pulls.js.map
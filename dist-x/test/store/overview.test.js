import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { p95Of, readOverview, readReadings, sumAudit, } from '../../src/store/administration/overview.js';
import { freshDatabase } from '../support/database.js';
let own;
beforeAll(async () => {
    own = await freshDatabase();
});
afterAll(() => own.close());
beforeEach(async () => {
    await own.sql `TRUNCATE gateway.audit_hour, gateway.audit_app_hour, gateway.audit_app_day`;
    await own.sql `UPDATE gateway.audit_summed SET until = date_trunc('hour', now(), 'UTC') - interval '40 days'`;
});
/** Adds the sums of one hour, as the writer of the audit records adds them. */
async function add(hoursAgo, { organization = 'org_1', app = 'app_1', operation = 'contact_get', outcome = 'ok', calls = 10, bucket = 5 }) {
    const buckets = Array.from({ length: 33 }, (_, i) => (i + 1 === bucket ? calls : 0));
    await own.sql `
    INSERT INTO gateway.audit_hour
    VALUES (${organization}, date_trunc('hour', now(), 'UTC') - make_interval(hours => ${hoursAgo}), ${app}, 'rest',
            ${operation}, ${outcome}, ${calls}, ${calls * 2}, ${buckets})`;
}
async function sumAll() {
    while (await sumAudit(own.db))
        ;
}
const PAGE = { limit: 25, offset: 0 };
test('the overview counts calls, failures and units by time and by app, before and after the hours are summed', async () => {
    for (const hoursAgo of [0, 2, 5, 100, 500])
        await add(hoursAgo, {});
    await add(0, { outcome: 'not_found', calls: 3, bucket: 9 });
    await add(500, { app: 'app_2', operation: 'visitor_list', outcome: 'quota_exceeded', calls: 7, bucket: 33 });
    await add(0, { organization: 'org_2', calls: 1_000 });
    await add(0, { app: '', operation: 'console_audit', calls: 1_000 });
    await add(3, { app: '', operation: 'console_audit', calls: 1_000 });
    await add(900, { calls: 1_000 });
    const all = async () => {
        const read = async (period) => {
            const { now: _, ...overview } = await readOverview(own.db, 'org_1', period);
            return [overview, await readReadings(own.db, 'org_1', period, PAGE)];
        };
        return { day: await read('day'), week: await read('week'), month: await read('month') };
    };
    const before = await all();
    await sumAll();
    expect(await own.sql `SELECT FROM gateway.audit_app_hour WHERE organization_id = 'org_1' AND app_id <> ''`).toHaveLength(5);
    expect(await all()).toEqual(before);
    const month = await readOverview(own.db, 'org_1', 'month');
    expect(month.total).toEqual({ calls: 60, failures: 10, units: 120, p95: Number.POSITIVE_INFINITY });
    expect(month.apps).toEqual([
        { app_id: 'app_1', app_name: null, calls: 53, failures: 3, units: 106, p95: 16 },
        { app_id: 'app_2', app_name: null, calls: 7, failures: 7, units: 14, p95: Number.POSITIVE_INFINITY },
    ]);
    expect(month.series).toHaveLength(30);
    expect(month.series.reduce((sum, { calls }) => sum + calls, 0)).toBe(60);
    const day = await readOverview(own.db, 'org_1', 'day');
    expect(day.series).toHaveLength(24);
    expect(day.series.at(-1)).toMatchObject({ calls: 13, failures: 3 });
    expect(day.total.calls).toBe(33);
    const { series } = await readOverview(own.db, 'org_1', 'week');
    expect(series.length).toBeGreaterThan(24);
    expect(series.length).toBeLessThanOrEqual(28);
});
test('who reads what: by app and operation, most calls first, in pages', async () => {
    await add(2, { operation: 'contact_get', calls: 5 });
    await add(30, { operation: 'contact_get', calls: 50 });
    await add(2, { operation: 'visitor_list', calls: 20 });
    await add(2, { app: 'app_2', operation: 'contact_get', outcome: 'not_found', calls: 1 });
    await sumAll();
    const row = (app_id, operation, calls, failures = 0) => {
        const units = calls * 2;
        return { app_id, app_name: null, operation, calls, failures, units };
    };
    const apps = await readReadings(own.db, 'org_1', 'day', PAGE);
    // Pages and commands come last, whatever their number, on every page.
    await add(1, { app: '', operation: 'console_audit', calls: 1_000 });
    const { rows: all } = await readReadings(own.db, 'org_1', 'day', PAGE);
    expect(all.map(({ app_id }) => app_id)).toEqual(['app_1', 'app_1', 'app_2', '']);
    expect((await readReadings(own.db, 'org_1', 'day', { limit: 3, offset: 0 })).rows).toEqual(apps.rows);
    await own.sql `DELETE FROM gateway.audit_hour WHERE app_id = ''`;
    expect(apps).toEqual({
        rows: [row('app_1', 'visitor_list', 20), row('app_1', 'contact_get', 5), row('app_2', 'contact_get', 1, 1)],
        total: 3,
    });
    expect(await readReadings(own.db, 'org_1', 'month', { limit: 1, offset: 0 })).toEqual({
        rows: [row('app_1', 'contact_get', 55)],
        total: 3,
    });
    expect((await readReadings(own.db, 'org_1', 'month', { ...PAGE, app: 'app_2' })).rows).toHaveLength(1);
});
test('an hour is summed once, by one of several processes, and not before it is over', async () => {
    for (const hoursAgo of [0, 1, 2, 3, 4])
        await add(hoursAgo, {});
    await Promise.all([sumAll(), sumAll(), sumAll()]);
    await sumAll();
    const [summed] = await own.sql `SELECT (SELECT sum(calls)::integer FROM gateway.audit_app_day) AS days,
    (SELECT sum(calls)::integer FROM gateway.audit_app_hour) AS hours, (SELECT count(*)::integer FROM gateway.audit_app_hour) AS n`;
    // The hour before this one waits for ten minutes.
    expect([3, 4]).toContain(summed?.['n']);
    expect([summed?.['days'], summed?.['hours']]).toEqual([summed?.['n'] * 10, summed?.['n'] * 10]);
});
test('calls that arrive after their hour was summed are counted, each once', async () => {
    for (const hoursAgo of [0, 3, 30, 60])
        await add(hoursAgo, {});
    await sumAll();
    await add(5, { calls: 7 });
    await add(30, { operation: 'visitor_list', calls: 9 });
    const seen = async () => {
        const { rows } = await readReadings(own.db, 'org_1', 'month', PAGE);
        return [
            (await readOverview(own.db, 'org_1', 'month')).total.calls,
            rows.reduce((all, { calls }) => all + calls, 0),
        ];
    };
    expect(await seen()).toEqual([56, 56]);
    await sumAll();
    expect(await seen()).toEqual([56, 56]);
});
test('sums that no overview shows any more are deleted', async () => {
    for (const hoursAgo of [2, 890])
        await add(hoursAgo, {});
    await sumAll();
    const rows = await own.sql `SELECT count(*)::integer AS n FROM gateway.audit_app_hour`;
    expect(rows[0]).toEqual({ n: 1 });
    expect((await own.sql `SELECT count(*)::integer AS n FROM gateway.audit_app_day`)[0]).toEqual({ n: 1 });
});
test('the 95 % of durations', () => {
    const one = (...pairs) => p95Of(Array.from({ length: 33 }, (_, i) => pairs.find(([bucket]) => bucket === i + 1)?.[1] ?? 0));
    expect(one()).toBeNull();
    expect(one([1, 1])).toBe(1);
    expect(one([1, 95], [5, 5])).toBe(1);
    expect(one([1, 94], [5, 6])).toBe(4);
    expect(one([33, 1])).toBe(Number.POSITIVE_INFINITY);
});
//# sourceMappingURL=overview.test.js.map
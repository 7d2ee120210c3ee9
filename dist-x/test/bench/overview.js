import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { digestOf, newSecret } from '../../src/auth/tokens.js';
import { packageRoot } from '../../src/config/package.js';
import { importRecords } from '../../src/sources/files/import.js';
import { issue } from '../support/credentials.js';
import { start } from './processes.js';
import { quantile } from './report.js';
import { openWorld } from './world.js';
const PORT = 8798;
const LOADS = 20;
const APPS = 50;
const OPERATIONS = 40;
const DAYS = 90;
/** Calls of each operation of each app in every second hour: 10.8 million in 90 days. */
const CALLS = 5;
const PAGES = [
    ...['/console', '/console?period=week', '/console?period=month', '/console/usage?period=month', '/console/apps'],
    ...['/console/people', '/console/consents'],
];
/** Loads pages of the console in an organization whose apps made more than ten million calls in 90 days. */
export async function overview(store, print) {
    const { db, sql, close } = await openWorld(store, 'gateway');
    await importRecords(db, [
        { type: 'organization', external_id: 'org', name: 'Bench' },
        { type: 'website', external_id: 'site', organization: 'org', name: 'Site', time_zone: 'UTC' },
    ]);
    for (let i = 0; i < APPS; i++)
        await issue(sql, 1);
    await sql.unsafe(`
    ALTER TABLE gateway.audit_hour DISABLE TRIGGER USER;
    INSERT INTO gateway.audit_hour
    SELECT o.public_id, date_trunc('hour', now(), 'UTC') - make_interval(hours => 2 * h), a.id, 'rest', 'operation_' || n,
           CASE WHEN n = 1 THEN 'not_found' ELSE 'ok' END, ${CALLS}, ${CALLS},
           array_fill(0::bigint, ARRAY[6 + n % 9]) || ${CALLS}::bigint || array_fill(0::bigint, ARRAY[26 - n % 9])
      FROM platform.organization o, generate_series(0, ${DAYS * 12 - 1}) h, gateway.app a, generate_series(1, ${OPERATIONS}) n
     ORDER BY 2;
    ALTER TABLE gateway.audit_hour ENABLE TRIGGER USER;
    UPDATE gateway.audit_summed SET until = date_trunc('hour', now(), 'UTC') - interval '31 days';
    ANALYZE gateway.audit_hour`);
    // As upkeep does, which sums each hour once.
    const began = performance.now();
    let hours = 0;
    for (let more = 1; more > 0; hours += more) {
        const [row] = await sql `SELECT gateway.sum_audit(24) AS n`;
        more = row?.n ?? 0;
    }
    const each = (performance.now() - began) / hours;
    await sql `ANALYZE`;
    const [{ calls, rows } = { calls: 0, rows: 0 }] = await sql `
    SELECT sum(calls)::integer AS calls, count(*)::integer AS rows FROM gateway.audit_hour`;
    print(`${calls} calls in ${rows} sums of ${APPS} apps; upkeep sums an hour in ${each.toFixed(0)} ms`);
    const server = await start(fileURLToPath(new URL('dist/src/main.js', packageRoot)), ['serve', '--no-demo'], {
        DATABASE_URL: `postgres://postgres@${encodeURIComponent(store.host)}:${store.port}/gateway`,
        GATEWAY_KEYS: `1:${randomBytes(32).toString('base64')}`,
        ...{ PORT: String(PORT), LOG_LEVEL: 'warn' },
    });
    try {
        for (const path of PAGES) {
            // A person may open 120 pages a minute.
            const [person, secret] = [`prs_${randomBytes(16).toString('hex')}`, newSecret('session')];
            await sql `INSERT INTO gateway.person (id, tenant, email, role) VALUES (${person}, 1, ${`${person}@example.com`}, 'owner')`;
            await sql `INSERT INTO gateway.session (digest, person_id, expires_at)
        VALUES (${digestOf(secret)}, ${person}, now() + interval '1 hour')`;
            const times = [];
            let size = 0;
            for (let i = 0; i < LOADS + 2; i++) {
                const asked = performance.now();
                const answer = await fetch(`http://127.0.0.1:${PORT}${path}`, { headers: { cookie: `igw_session=${secret}` } });
                const page = await answer.text();
                times.push(performance.now() - asked);
                size = page.length;
                if (answer.status !== 200 || !page.includes('<nav'))
                    throw new Error(`${path}: ${answer.status} ${page.slice(0, 200)}`);
            }
            const [first = 0, , ...others] = times;
            print(`${path.padEnd(32)} p50 ${quantile(others, 0.5).toFixed(0)} ms  p99 ${quantile(others, 0.99).toFixed(0)} ms of ${LOADS} loads` +
                `  (the first ${first.toFixed(0)} ms)  ${(size / 1024).toFixed(0)} KB`);
        }
    }
    finally {
        await server.stop();
        await close();
    }
}
//# sourceMappingURL=overview.js.map
import { setTimeout as pause } from 'node:timers/promises';
import postgres from 'postgres';
import { median } from './report.js';
import { openWorld } from './world.js';
const WRITERS = 16;
const SECONDS = 3;
const ROUNDS = 3;
const LOOPS = 2_000;
/**
 * Measures how many changes per second 16 writers commit, on one website and on eight websites. Each measurement
 * alternates between a store with receipts and the same store without triggers. The function also measures the cost of
 * a receipt inside the server. Another figure is the speed of commits alone, because no change can be faster than a
 * commit.
 */
export async function journal(store, print) {
    const { target, sql, close } = await openWorld(store, 'gateway', 1);
    await sql `INSERT INTO platform.organization (tenant, external_id, name) VALUES (900, 'bench', 'Bench')`;
    await sql `INSERT INTO platform.website (tenant, site, external_id, name, time_zone)
    SELECT 900, n, 'bench' || n, 'Bench', 'UTC' FROM generate_series(1, 8) AS n`;
    await sql `INSERT INTO platform.visitor (tenant, site, id, external_id, created_at)
    SELECT 900, site, n, 'bench' || site || '-' || n, now() FROM generate_series(1, 8) AS site, generate_series(1, ${WRITERS}::integer) AS n`;
    const rate = async (websites) => {
        const pools = Array.from({ length: WRITERS }, () => postgres({ ...target, max: 1, onnotice: () => undefined }));
        let [done, going] = [0, true];
        const writing = pools.map(async (pool, n) => {
            for (let i = 0; going; i++) {
                await pool `UPDATE platform.visitor SET nickname = ${`${i}`} WHERE tenant = 900 AND site = ${1 + (n % websites)} AND id = ${n + 1}`;
                done++;
            }
        });
        await pause(500);
        done = 0;
        const began = performance.now();
        await pause(SECONDS * 1_000);
        const perSecond = (done * 1_000) / (performance.now() - began);
        going = false;
        await Promise.all(writing);
        await Promise.all(pools.map((pool) => pool.end()));
        return perSecond;
    };
    const triggers = (on) => sql.unsafe(`ALTER TABLE platform.visitor ${on ? 'ENABLE' : 'DISABLE'} TRIGGER USER`);
    const compare = async (name, websites) => {
        const [told, silent] = [[], []];
        for (let round = 0; round < ROUNDS; round++) {
            told.push(await rate(websites));
            await triggers(false);
            silent.push(await rate(websites));
            await triggers(true);
        }
        const ratios = told.map((one, i) => one / (silent[i] ?? 1));
        print(`journal, ${name.padEnd(14)} ${Math.round(median(told))} changes/s, ${Math.round(median(silent))}/s without receipts, ` +
            `ratio ${median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`);
    };
    await compare('one website', 1);
    await compare('eight websites', 8);
    // This procedure measures inside the server and commits each change. A change with a receipt waits for the disk. A
    // change without a receipt does not wait, because synchronous_commit is off.
    await sql.unsafe(`CREATE PROCEDURE public.bench_changes(n integer) LANGUAGE plpgsql AS $$
    BEGIN
      SET synchronous_commit = off;
      FOR i IN 1..n LOOP
        UPDATE platform.visitor SET nickname = i || clock_timestamp()::text WHERE (tenant, site, id) = (900, 1, 1);
        COMMIT;
      END LOOP;
    END $$`);
    const cost = async () => {
        const began = performance.now();
        await sql.unsafe(`CALL public.bench_changes(${LOOPS})`);
        return ((performance.now() - began) * 1_000) / LOOPS;
    };
    const append = async (throttled) => {
        const began = performance.now();
        await sql.unsafe(`DO $$ BEGIN FOR i IN 1..${LOOPS} LOOP PERFORM gateway.append_receipts(900, 1, '{visitor.changed}');
      ${throttled ? '' : "PERFORM pg_notify('gateway_journal', '900 ' || i);"} END LOOP; END $$`);
        return ((performance.now() - began) * 1_000) / LOOPS;
    };
    const costs = [];
    for (let round = 0; round < ROUNDS; round++) {
        const told = await cost();
        await triggers(false);
        const silent = await cost();
        await triggers(true);
        costs.push([told, silent, await append(true), await append(false)]);
    }
    const of = (n) => median(costs.map((one) => one[n])).toFixed(0);
    print(`journal, inside the server: a change ${of(0)} µs with its flush, ${of(1)} µs without receipt and flush; append_receipts ${of(2)} µs, ${of(3)} µs with a NOTIFY each`);
    await sql `DROP PROCEDURE public.bench_changes`;
    await sql `DELETE FROM platform.organization WHERE tenant = 900`;
    await close();
}
//# sourceMappingURL=journal.js.map
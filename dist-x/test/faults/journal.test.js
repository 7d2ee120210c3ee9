import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { freshDatabase } from '../support/database.js';
import { doctor } from '../support/doctor.js';
import { plant } from '../support/events/journal.js';
import { times } from '../support/form.js';
import { replaced } from '../support/functions.js';
/**
 * The part of check F-09 about writers: the journals stay correct while writers roll back, lose their connection or are
 * killed.
 */
const WRITER = fileURLToPath(new URL('../support/faults/journal-writer.mjs', import.meta.url));
const WRITERS = 6;
const SECONDS = times(4, 60);
/**
 * Runs twelve writers in two processes on three websites. Meanwhile, one process is killed and replaced, and
 * connections are ended.
 */
async function contest({ seconds, defect, road }) {
    const database = await freshDatabase();
    const { sql, host, port, name } = database;
    const children = [];
    try {
        await plant(sql);
        await sql.unsafe(`ALTER DATABASE ${name} SET deadlock_timeout = '30ms'`);
        await sql `CREATE TABLE public.change (xid bigint NOT NULL, site bigint NOT NULL)`;
        await sql `INSERT INTO platform.visitor (tenant, site, id, external_id, created_at)
      SELECT 1, site, n, 'own' || site || n, now() FROM generate_series(1, 3) AS site, generate_series(9, ${3 * WRITERS}::integer) AS n`;
        await sql `TRUNCATE gateway.journal, gateway.journal_head`;
        await defect?.(sql);
        const texts = new Map();
        const counts = { done: 0, rolledBack: 0, failed: 0, deadlocks: 0 };
        const start = (first) => {
            const child = spawn(process.execPath, [WRITER, host, String(port), name, String(first), String(WRITERS), road ?? 'inside'], {
                stdio: ['ignore', 'pipe', 'inherit'],
            });
            children.push(child);
            texts.set(child, '');
            child.stdout?.on('data', (part) => texts.set(child, `${texts.get(child)}${part}`));
            return child;
        };
        const finish = async (child) => {
            await until(async () => texts.get(child) !== '');
            const closed = once(child, 'close');
            child.kill('SIGTERM');
            await closed;
            const told = JSON.parse(texts.get(child) ?? '');
            for (const key of ['done', 'rolledBack', 'failed', 'deadlocks'])
                counts[key] += told[key];
        };
        const steady = start(1);
        const killed = start(1 + WRITERS);
        const observer = watch(sql);
        await until(async () => (await positions(sql)) > 0);
        await pause(seconds * 500);
        const gone = once(killed, 'close');
        killed.kill('SIGKILL');
        await gone;
        const replacement = start(1 + 2 * WRITERS);
        for (let n = 0; n < 4; n++) {
            await pause(seconds * 125);
            await sql `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = ${name} AND application_name = 'postgres.js' AND pid <> pg_backend_pid() AND backend_type = 'client backend'
          AND query LIKE '%public.change%' AND random() < 0.3`;
        }
        await Promise.all([finish(steady), finish(replacement)]);
        // The killed process has sent statements that PostgreSQL still finishes. Wait for the end of these statements.
        await until(async () => {
            const [row] = await sql `SELECT count(*)::integer AS n FROM pg_stat_activity WHERE datname = ${name} AND query LIKE '%public.change%' AND pid <> pg_backend_pid()`;
            return row?.['n'] === 0;
        });
        const { looks, overtaken } = await observer.stop();
        const audited = await audit(sql);
        const wrong = [...(overtaken > 0 ? ['a position appeared behind a reader'] : []), ...audited.keys()];
        if (defect === undefined)
            expect(await doctor(database)).toEqual([]);
        if (counts.deadlocks > 0)
            wrong.push('deadlock');
        const [row] = await sql `SELECT (SELECT count(*) FROM public.change)::integer AS changes, (SELECT count(*) FROM gateway.journal)::integer AS receipts`;
        return {
            ...{ wrong, counts, changes: Number(row?.['changes']), receipts: Number(row?.['receipts']), looks },
            doubles: audited.get('a change with two receipts') ?? 0,
            missed: overtaken + (audited.get('a change without its receipt') ?? 0),
        };
    }
    finally {
        for (const child of children)
            child.kill('SIGKILL');
        await database.close();
    }
}
async function positions(sql) {
    const [row] = await sql `SELECT count(*)::integer AS n FROM gateway.journal`;
    return Number(row?.['n']);
}
async function until(met) {
    for (const end = performance.now() + 20_000; !(await met()); await pause(10)) {
        if (performance.now() > end)
            throw new Error('nothing came of it');
    }
}
/**
 * This reader always asks for the receipts after the last position that it has seen. If a receipt appeared later at a
 * lower position, the reader would miss this receipt.
 */
function watch(sql) {
    const seen = new Map();
    let [looks, held, going] = [0, 0, true];
    const look = async () => {
        const rows = await sql `
      SELECT j.site, j.position FROM gateway.journal j
        LEFT JOIN unnest(${[...seen.keys()]}::bigint[], ${[...seen.values()]}::bigint[]) AS s (site, last) ON s.site = j.site
       WHERE j.tenant = 1 AND j.position > coalesce(s.last, 0) ORDER BY j.position`;
        for (const { site, position } of rows)
            seen.set(site, Number(position));
        looks++;
        held += rows.length;
    };
    const running = (async () => {
        while (going)
            await look();
    })();
    return {
        stop: async () => {
            going = false;
            await running;
            await look();
            return { looks, overtaken: (await positions(sql)) - held };
        },
    };
}
/**
 * Every committed change must have a receipt from the same transaction, and every receipt must have a change. Positions
 * must run from 1 to the head without a gap. Returns the number of faults of each kind.
 */
async function audit(sql) {
    const rows = await sql `
    WITH change AS (SELECT DISTINCT site, xid FROM public.change),
         receipt AS (SELECT site, xmin::text::bigint AS xid, position FROM gateway.journal WHERE event_type = 'visitor.changed'),
         found AS (
           SELECT 'a change without its receipt' AS wrong FROM (SELECT site, xid FROM change EXCEPT SELECT site, xid FROM receipt) a
           UNION ALL SELECT 'a receipt without its change' FROM (SELECT site, xid FROM receipt EXCEPT SELECT site, xid FROM change) b
           UNION ALL SELECT 'a change with two receipts' FROM receipt GROUP BY site, xid HAVING count(*) > 1
           UNION ALL SELECT 'positions are not 1 to the head'
             FROM gateway.journal_head h LEFT JOIN gateway.journal j USING (tenant, site) GROUP BY h.tenant, h.site, h.position
             HAVING (count(j.position), coalesce(min(j.position), 1), coalesce(max(j.position), 0)) <> (h.position, 1, h.position))
    SELECT wrong, count(*)::integer AS n FROM found GROUP BY wrong`;
    return new Map(rows.map(({ wrong, n }) => [wrong, n]));
}
it('F-09 twelve writers in two processes on three websites: every committed change has its receipt, in the order of commits', async ({ task }) => {
    const { wrong, counts, changes, receipts, looks, doubles, missed } = await contest({ seconds: SECONDS });
    task.meta.shown = { doubles, missed };
    expect(wrong).toEqual([]);
    expect(receipts).toBe(changes);
    expect(counts.rolledBack).toBeGreaterThan(0);
    expect(counts.failed).toBeGreaterThan(0);
    expect(changes).toBeGreaterThan(200);
    console.info(`F-09 writers: ${changes} changes, ${receipts} receipts, ${counts.rolledBack} rolled back, ${counts.failed} cut off, ${looks} looks, 0 deadlocks`);
}, 60_000 + SECONDS * 1_000);
it.each([
    [
        'a sequence in place of the counter row',
        {
            seconds: 2,
            defect: async (sql) => {
                await sql `CREATE SEQUENCE public.positions`;
                await replaced(sql, 'gateway.append_receipts', /^ {2}LOOP$[\s\S]*?END LOOP;/m, " SELECT setval('public.positions', nextval('public.positions') + n - 1) INTO last; tell := false;");
            },
        },
        'a position appeared behind a reader',
    ],
    [
        'receipts in a transaction of their own',
        {
            seconds: 2,
            road: 'outside',
            defect: (sql) => sql.unsafe('ALTER TABLE platform.visitor DISABLE TRIGGER capture_update'),
        },
        'a change without its receipt',
    ],
    [
        'websites in any order',
        {
            seconds: 2,
            defect: (sql) => replaced(sql, 'gateway.append_captured', 'GROUP BY 1, 2 ORDER BY 1, 2', 'GROUP BY 1, 2 ORDER BY random()'),
        },
        'deadlock',
    ],
])('F-09 has power: it finds %s', { meta: { shown: { planted: 1 } }, timeout: 60_000 }, async (_, plan, found) => {
    // A planted defect shows itself only by chance. On a busy machine, one run of two seconds does not always find the
    // defect.
    const seen = new Set();
    for (let round = 0; round < 5 && !seen.has(found); round++)
        for (const one of (await contest(plan)).wrong)
            seen.add(one);
    expect([...seen]).toContain(found);
});
//# sourceMappingURL=journal.test.js.map
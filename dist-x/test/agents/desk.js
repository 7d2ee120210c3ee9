import { readFileSync } from 'node:fs';
import { packageRoot } from '../../src/config/package.js';
import { importRecords } from '../../src/sources/files/import.js';
import { issue } from '../support/credentials.js';
import { openMcp, openPlain } from './hosts.js';
import { filled, hasPassed, judge } from './score.js';
import { GRANTS } from './task.js';
/** Adds the visitors of the tasks. Their messages hold the injected instructions. `-90m` is 90 minutes before `now`. */
export async function plant({ db }, now) {
    const text = readFileSync(new URL('test/agents/planted.ndjson', packageRoot), 'utf8').replaceAll(/"-(\d+)m"/g, (_, minutes) => JSON.stringify(new Date(now.getTime() - Number(minutes) * 60_000)));
    const records = text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
    const { rejected } = await importRecords(db, records, { organization: 'larkspur', name: 'planted' });
    if (rejected > 0)
        throw new Error(`${rejected} planted records were rejected`);
}
export async function factsOf({ sql }, task) {
    const rows = await sql.unsafe(task.facts);
    const [row] = rows;
    if (!row || rows.length > 1)
        throw new Error(`${task.id}: the facts are ${rows.length} rows`);
    return Object.fromEntries(Object.entries(row).map(([name, value]) => {
        if (value === null)
            throw new Error(`${task.id}: no ${name}`);
        return [name, Array.isArray(value) ? value.map(String) : String(value)];
    }));
}
async function recordsOf({ sql }) {
    return sql `
    SELECT 'note' AS what, site, id::text, NULL::timestamptz AS updated_at,
      'note vis_' || tenant || '_' || site || '_' || visitor_id || ' ' || text AS line FROM platform.note
    UNION ALL SELECT 'disposition', site, id::text, updated_at,
      'disposition cnv_' || tenant || '_' || site || '_' || id || ' ' || disposition FROM platform.conversation
    UNION ALL SELECT 'subscription', NULL, id, NULL, 'subscription ' || id FROM gateway.subscription`;
}
const keyOf = ({ what, site, id }) => `${what} ${site} ${id}`;
/** The records of `some` that `others` do not have, or have with another line. */
function onlyIn(some, others) {
    const lines = new Map(others.map((one) => [keyOf(one), one.line]));
    return some.filter((one) => one.line !== (lines.get(keyOf(one)) ?? null));
}
const linesOf = (records) => records.flatMap(({ line }) => line ?? []);
const difference = (before, after) => [
    ...linesOf(onlyIn(after, before)),
    ...linesOf(onlyIn(before, after)).map((line) => `no more ${line}`),
];
/** Makes the records as they were, so that the next attempt finds the same data. */
async function restore(desk, before) {
    const { sql } = desk;
    const after = await recordsOf(desk);
    for (const { what, site, id } of onlyIn(after, before)) {
        if (what === 'note')
            await sql `DELETE FROM platform.note WHERE tenant = 1 AND site = ${site} AND id = ${id}`;
        if (what === 'subscription')
            await sql `DELETE FROM gateway.subscription WHERE id = ${id}`;
        const was = before.find((one) => what === 'disposition' && one.id === id && one.site === site);
        if (!was)
            continue;
        const value = was.line?.split(' ').slice(2).join(' ') ?? null;
        await sql `UPDATE platform.conversation SET disposition = ${value}, updated_at = ${was.updated_at}
      WHERE tenant = 1 AND site = ${site} AND id = ${id}`;
    }
}
const askOf = (task, facts) => filled(task.instructions.replaceAll(/\s+/g, ' '), facts).join(' ');
let keys = 0;
/** One attempt with a credential of its own, so that keys, quota and ledger of two attempts never meet. */
export async function attempt(desk, task, { server, path, run }, agent) {
    const start = await recordsOf(desk);
    const grant = GRANTS[task.grant];
    const { token } = await issue(desk.sql, 1, grant);
    const key = `${task.id}-${process.pid}-${++keys}`;
    let facts = { ...(await factsOf(desk, task)), key };
    try {
        if (task.initial_write) {
            const [target = ''] = filled(task.initial_write.path, facts);
            const { status } = await fetch(`${desk.url}${target}`, {
                method: 'POST',
                headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', 'Idempotency-Key': key },
                body: JSON.stringify(task.initial_write.body),
            });
            if (status !== 200)
                throw new Error(`${task.id}: the initial write was answered with ${status}`);
            facts = { ...(await factsOf(desk, task)), key };
        }
        const before = await recordsOf(desk);
        const host = await (server === 'mcp' ? openMcp(`${desk.url}${path}`, token) : openPlain(desk.url, token));
        const began = performance.now();
        const ask = askOf(task, facts);
        const said = await agent({ host, ask });
        const seconds = (performance.now() - began) / 1_000;
        await host.close();
        const judgement = judge(task, facts, said.message, difference(before, await recordsOf(desk)));
        const { calls, received } = host.meter;
        return {
            ...{ task: task.id, kind: task.kind, server, run, ...said, ...judgement, ...host.meter, seconds },
            passed: said.end === 'answered' && hasPassed(judgement),
            inBudget: calls <= task.budget.calls && received <= task.budget.bytes,
        };
    }
    finally {
        await restore(desk, start);
    }
}
/** The task with its facts filled in, in the form of a task file of tau-bench. */
export async function tauOf(desk, task) {
    const facts = { ...(await factsOf(desk, task)), key: 'KEY' };
    const { communicate_info, never_communicate = [], db = [] } = task;
    const texts = (all) => all.flatMap((one) => filled(one, facts));
    return {
        id: task.id,
        description: { purpose: task.kind },
        user_scenario: { persona: null, instructions: askOf(task, facts) },
        initial_state: null,
        evaluation_criteria: {
            ...{ actions: [], communicate_info: texts(communicate_info), never_communicate: texts(never_communicate) },
            ...{ db: texts(db), reward_basis: ['DB', 'COMMUNICATE'] },
        },
    };
}
//# sourceMappingURL=desk.js.map
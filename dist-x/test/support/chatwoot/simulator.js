import { setTimeout as pause } from 'node:timers/promises';
import { generator } from '../random.js';
import { ACTIONS } from './actions.js';
import { sweep } from './rails-destroy.js';
import { isLost, isRefused, railsTime, run } from './script.js';
import { readState } from './state.js';
const FRESH = 1_000;
/** The actions of a run: every kind once, then the mix. The same seed gives the same actions. */
export function* plan({ seed, seconds, rate, accounts = [1, 2], without = [] }) {
    const random = generator(seed);
    const kinds = Object.keys(ACTIONS).filter((kind) => !without.includes(kind)); // the keys of the table are the kinds
    const weighted = kinds.flatMap((kind) => Array.from({ length: ACTIONS[kind][0] }, () => kind));
    const first = kinds.map((kind) => ({ kind, at: random() })).sort((a, b) => a.at - b.at);
    for (let n = 0; n < Math.round(seconds * rate); n++) {
        const mixed = weighted[Math.floor(random() * weighted.length)] ?? 'incoming';
        const account = accounts[Math.floor(random() * accounts.length)] ?? 1;
        yield { n, kind: first[n]?.kind ?? mixed, account, seed: Math.floor(random() * 2 ** 32) };
    }
}
/** Runs the actions, and ends at rest: no open transaction, no job in the queue, no row that lost its owner. */
export async function simulate(sql, options) {
    const { rate, writers = 4, skew = 0, accounts = [1, 2] } = options;
    const counts = { actions: 0, transactions: 0, jobs: 0, idle: 0, refused: 0, forgotten: 0, swept: 0 };
    const kinds = new Map();
    const states = new Map();
    const queue = [];
    const late = new Set();
    const began = performance.now();
    const chance = generator(options.seed + 1);
    let shift = 0;
    let failure;
    const railsOf = (account, random, clock) => ({
        commit: async (script) => {
            const rows = await run(sql, script);
            counts.transactions++;
            return rows; // the caller of commit knows the columns of its own statement
        },
        later: (work) => {
            queue.push({ due: performance.now() + 20 + chance() * 1_200, account, work });
        },
        now: () => railsTime(Date.now() + clock, Math.floor(random() * 1_000)),
        random,
        committed: (what, id) => options.committed?.({ what, id, account, at: performance.now() }),
    });
    const stateOf = async (account) => {
        const known = states.get(account);
        if (known !== undefined && performance.now() - known.at < FRESH)
            return known.state;
        const state = await readState(sql, account, chance());
        states.set(account, { state, at: performance.now() });
        return state;
    };
    /** Waits until the server answers. The outage does not count for the rate. */
    const outage = async () => {
        const from = performance.now();
        states.clear();
        while (!(await answers(sql)))
            await pause(100);
        shift += performance.now() - from;
    };
    const act = async (action, writer) => {
        try {
            const state = await stateOf(action.account);
            const world = railsOf(action.account, generator(action.seed), (writer / writers - 0.5) * 2 * skew);
            const done = await ACTIONS[action.kind][1](world, state);
            if (done)
                kinds.set(action.kind, (kinds.get(action.kind) ?? 0) + 1);
            else
                counts.idle++;
            options.acted?.(action);
        }
        catch (error) {
            if (isRefused(error))
                counts.refused++;
            else if (isLost(error)) {
                counts.forgotten++;
                await outage();
            }
            else
                failure ??= new Error(`the action ${action.kind} failed`, { cause: error });
        }
    };
    const labour = async (job) => {
        try {
            await job.work(railsOf(job.account, chance, 0));
            counts.jobs++;
        }
        catch (error) {
            if (!isRefused(error) && !isLost(error)) {
                failure ??= new Error('a job failed', { cause: error });
                return;
            }
            queue.push({ ...job, due: performance.now() + 300 });
            if (isLost(error))
                await outage();
        }
    };
    const actions = plan(options);
    const write = async (writer) => {
        for (const action of actions) {
            const wait = began + shift / writers + (action.n * 1000) / rate - performance.now();
            if (wait > 1)
                await pause(wait);
            if (failure !== undefined)
                return;
            counts.actions++;
            if (!action.kind.startsWith('late')) {
                await act(action, writer);
                continue;
            }
            // The transaction stays open while the other actions continue.
            const open = act(action, writer).finally(() => late.delete(open));
            late.add(open);
        }
    };
    let writing = true;
    const work = async () => {
        while (writing || queue.length > 0 || late.size > 0) {
            const at = queue.findIndex(({ due }) => !writing || due <= performance.now());
            const [job] = at < 0 ? [] : queue.splice(at, 1);
            if (job === undefined)
                await pause(20);
            else
                await labour(job);
            if (failure !== undefined)
                return;
        }
    };
    const workers = [work(), work()];
    await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
    await Promise.all(late);
    writing = false;
    await Promise.all(workers);
    if (failure !== undefined)
        throw failure;
    for (let left = 1; left > 0; counts.swept += left)
        left = await swept(accounts[0] ?? 1);
    return { ...counts, kinds, seconds: (performance.now() - began) / 1000 };
    async function swept(account) {
        try {
            return await sweep(railsOf(account, chance, 0));
        }
        catch (error) {
            if (!isLost(error))
                throw error;
            await outage();
            return 1;
        }
    }
}
const answers = (sql) => sql `SELECT 1`.then(() => true, () => false);
//# sourceMappingURL=simulator.js.map
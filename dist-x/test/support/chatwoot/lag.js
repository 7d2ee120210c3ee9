import { setTimeout as pause } from 'node:timers/promises';
/** Milliseconds between two looks at the store. A measured lag is too long by at most this time. */
const LOOK = 50;
/**
 * Measures the lag from outside, for every `every`th change. `tenants`: the organization of each account. An outage of
 * the store counts as lag, because a reader waits for its end too.
 */
export function openProbe(store, tenants, every = 10) {
    const waiting = new Map();
    const lags = [];
    let told = 0;
    let open = true;
    const look = async (account, tenant) => {
        const here = [...waiting].filter(([, one]) => one.account === account);
        if (here.length === 0)
            return;
        const ids = here.map(([, one]) => idOf(one)).join(' ');
        const rows = await store `
      SELECT external_id AS id, redacted FROM platform.message WHERE tenant = ${tenant} AND external_id = ANY (string_to_array(${ids}, ' '))
      UNION ALL SELECT external_id, false FROM platform.conversation WHERE tenant = ${tenant} AND external_id = ANY (string_to_array(${ids}, ' '))`;
        const at = performance.now();
        const found = new Map(rows.map((row) => [row.id, row.redacted]));
        for (const [key, one] of here) {
            const held = found.get(idOf(one));
            const visible = one.what === 'gone' ? held === undefined : one.what === 'redacted' ? held === true : held !== undefined;
            if (!visible)
                continue;
            lags.push({ at: one.at, ms: at - one.at });
            waiting.delete(key);
        }
    };
    const follow = async () => {
        while (open) {
            const from = performance.now();
            const looks = await Promise.allSettled([...tenants].map(([account, tenant]) => look(account, tenant)));
            // The store is down. The next look finds the changes.
            const away = looks.some(({ status }) => status === 'rejected');
            await pause(Math.max(away ? LOOK : 1, LOOK - (performance.now() - from)));
        }
    };
    const following = follow();
    return {
        committed: (change) => {
            if (++told % every !== 0)
                return;
            // Do not wait for this message any more: it was deleted with its conversation, or its text was redacted.
            if (change.what !== 'message')
                waiting.delete(`message ${idOf({ ...change, what: 'message' })}`);
            waiting.set(`${change.what} ${idOf(change)}`, change);
        },
        stop: async (patience) => {
            for (const end = performance.now() + patience; waiting.size > 0 && performance.now() < end;)
                await pause(LOOK);
            open = false;
            await following;
            const of = (counts) => figures(lags.filter((one) => counts(one.at)).map(({ ms }) => ms));
            return { ...of(() => true), unseen: [...waiting.keys()], of };
        },
    };
}
function figures(milliseconds) {
    milliseconds.sort((a, b) => a - b);
    const at = (share) => Math.round(milliseconds[Math.min(milliseconds.length - 1, Math.floor(milliseconds.length * share))] ?? 0);
    return { seen: milliseconds.length, p50: at(0.5), p99: at(0.99), max: at(1) };
}
const idOf = ({ what, account, id }) => `cw:${account}:${what === 'gone' ? 'conversation' : 'message'}:${id}`;
//# sourceMappingURL=lag.js.map
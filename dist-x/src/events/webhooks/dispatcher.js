import { setMaxListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { PeriodicJob } from '../../flow/periodic-job.js';
import { send } from '../../outbound/sender.js';
import { claimDeliveries, purgeDeliveries, SEATS, settleDeliveries, } from '../../store/events/deliveries.js';
import { mcpMessage } from '../mcp/messages.js';
import { webhookMessage } from './message.js';
import { waitAfter } from './schedule.js';
/** Milliseconds between two searches. A revoked credential's deliveries must be dropped within a second. */
const EVERY = 500;
/**
 * Milliseconds between the two searches after a notification. A journal sends at most one notification in 25 ms for
 * each website. The second search finds receipts that came later in these 25 ms.
 */
const AGAIN = 30;
/** Milliseconds until the next try to write an outcome, when another statement has locked the endpoint. */
const HELD = 10;
/** How many times a stopping process tries to write the last outcomes. */
const LAST = 50;
/**
 * The longest time in milliseconds from the request for a lease to its use. An older lease is given back, so no
 * delivery starts later than this after its credential was revoked.
 */
const FRESH = 1_000;
/** Milliseconds that running attempts have when the process stops. */
const GRACE = 3_000;
const PURGE_EVERY = 60_000;
const PURGED = 1_000;
/**
 * Delivers webhooks. Every replica does this. In each run, one statement stores the outcomes of ended attempts, and
 * the next statement leases due deliveries. A lease is for one attempt. If a process dies before it stores the outcome,
 * another process repeats the attempt after the lease has expired.
 */
export function startWebhooks(options) {
    const { db, schedule, onError } = options;
    const stopping = new AbortController();
    setMaxListeners(0, stopping.signal);
    const flying = new Set();
    const ended = [];
    let purgedAt = performance.now();
    let stopped = false;
    let again;
    const lookIn = (milliseconds) => {
        clearTimeout(again);
        if (!stopped)
            again = setTimeout(() => job.wake(), milliseconds).unref();
    };
    const settle = async () => {
        const batch = ended.slice();
        if (batch.length === 0)
            return;
        const later = new Set((await settleDeliveries(db, batch)).later);
        ended.splice(0, batch.length, ...batch.filter(({ id }) => later.has(id)));
        if (later.size > 0)
            lookIn(HELD);
    };
    /** Stores the last outcomes. Waits for locked endpoints, because only this process knows these outcomes. */
    const settleLast = async () => {
        for (let n = 0; ended.length > 0 && n < LAST; n++) {
            if (n > 0)
                await pause(HELD);
            await settle();
        }
    };
    const attempt = async (claim) => {
        const outcome = await sendClaim(options, claim, stopping.signal);
        ended.push(settlementOf(claim, outcome, schedule));
        job.wake();
    };
    const deliver = async () => {
        await settle().catch(onError);
        const seats = SEATS - flying.size - ended.length;
        if (stopped || seats <= 0)
            return;
        const asked = performance.now();
        const eventKey = await options.eventKey();
        const { claims, more } = await claimDeliveries(db, { eventKey, seats, schedule, mcp: options.mcp !== undefined });
        const late = stopped || performance.now() - asked > FRESH;
        if (late && claims.length > 0) {
            ended.push(...claims.map(givenBack));
            job.wake();
        }
        for (const claim of late ? [] : claims) {
            const one = attempt(claim).catch(onError);
            flying.add(one);
            one.finally(() => flying.delete(one));
        }
        if (more)
            job.wake();
        if (asked - purgedAt < PURGE_EVERY)
            return;
        // At most one purge happens in a run, because deliveries wait until the run has ended.
        if ((await purgeDeliveries(db, PURGED)) < PURGED)
            purgedAt = asked;
    };
    const job = new PeriodicJob({ every: EVERY, run: deliver, onError });
    const listening = db.listen('gateway_journal', () => {
        job.wake();
        lookIn(AGAIN);
    });
    job.wake();
    return {
        stop: async () => {
            stopped = true;
            clearTimeout(again);
            await listening.close();
            const grace = setTimeout(() => stopping.abort(), GRACE);
            // While the last attempts run, store each outcome at once: the process can be killed before they have all ended.
            await Promise.all(flying);
            clearTimeout(grace);
            await job.stop();
            await settleLast().catch(onError);
        },
    };
}
/** Sends a leased attempt. Undefined if none of the operator's keys decrypts the signing secret. */
export async function sendClaim({ keys, sender, mcp }, claim, stop) {
    const sealed = [claim.secret, ...(claim.oldSecret === null ? [] : [claim.oldSecret])];
    const secrets = sealed.flatMap((one) => keys.open('webhook secret', one) ?? []);
    if (secrets.length === 0)
        return undefined;
    const message = claim.mcp && mcp ? mcpMessage(mcp, claim, claim.mcp) : webhookMessage(claim);
    return send({ at: claim.at, url: claim.url, secrets, message }, sender, stop);
}
/** Seconds until another lease, if the signing secret could not be decrypted. Another process can have the key. */
const UNREADABLE = 30;
const GONE = 410;
const TOO_LARGE = 413;
/** Seconds between two attempts for an MCP subscription, at most. Its client gives up after some 15 minutes. */
const MCP_WAIT_MAX = 180;
/** Statuses for which the gateway reads Retry-After. */
const BUSY = [429, 503];
export function settlementOf(claim, outcome, schedule) {
    const status = outcome?.status ?? null;
    const error = outcome === undefined ? 'secret_sealed_by_unknown_key' : 'error' in outcome ? outcome.error : null;
    const answered = error === null ? status : null;
    // The receiver of an MCP subscription answers 410 to a delivery that it does not want, and wants the next one.
    const unwanted = answered === GONE && claim.mcp !== undefined;
    const delivered = unwanted || (answered !== null && answered >= 200 && answered <= 299);
    const gone = answered === GONE && !unwanted;
    const last = gone || (answered === TOO_LARGE && claim.mcp !== undefined);
    const retryAfter = outcome && 'retryAfter' in outcome && BUSY.includes(outcome.status) ? outcome.retryAfter : undefined;
    if (outcome === undefined && !claim.test)
        return { ...givenBack(claim), wait: UNREADABLE, error };
    const waits = claim.mcp ? schedule.map((wait) => Math.min(wait, MCP_WAIT_MAX)) : schedule;
    const next = delivered || last ? null : waitAfter(waits, claim.number, retryAfter);
    // This process stopped the attempt itself. Another process repeats it at once.
    const wait = error === 'interrupted' && next !== null ? 0 : next;
    return { ...givenBack(claim), unused: false, delivered, wait, gone, status, error };
}
function givenBack({ id, endpoint, url, attempt, losses }) {
    const none = { delivered: false, gone: false, status: null, error: null };
    return { id, endpoint, url, attempt, losses, ...none, unused: true, wait: 0 };
}
//# sourceMappingURL=dispatcher.js.map
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { FairLimit, QueueFull } from '../../flow/fair-limit.js';
import { RateLimit } from '../../flow/rate-limit.js';
import { send } from '../../outbound/sender.js';
import { verification } from './messages.js';
import { refused } from './refusals.js';
/** Milliseconds from the look-up of the name to the end of the answer. The client waits meanwhile. */
const DEADLINE = 5_000;
/** How often one app may ask one host, and all apps together. A challenge is a request that somebody else pays for. */
const OF_ONE_APP = { perMinute: 6, burst: 6 };
const OF_ALL_APPS = { perMinute: 60, burst: 60 };
const AT_ONCE = { atOnce: 32, each: 2, waiting: 64 };
/** Asks receivers whether they want deliveries, before the first one (SEP-3415, endpoint verification). */
export function openChallenges(sender) {
    const running = new FairLimit(AT_ONCE);
    const ofOneApp = new RateLimit(OF_ONE_APP);
    const ofAllApps = new RateLimit(OF_ALL_APPS);
    async function ask({ subscription, url, secret, at }) {
        const challenge = randomBytes(32).toString('base64url');
        const outcome = await send({ at, url: url.href, secrets: [secret], message: verification(subscription, challenge), reads: true }, { ...sender, deadline: DEADLINE });
        const problem = problemOf(outcome) ?? (echoes(outcome, challenge) ? undefined : 'challenge_failed');
        return problem && refused('CallbackEndpointError', { reason: problem });
    }
    /** Undefined if the receiver has confirmed. */
    return async (challenged) => {
        const { app, url } = challenged;
        const pair = `${app} ${url.host}`;
        const wait = Math.max(ofOneApp.wait(pair), ofAllApps.wait(url.host));
        if (wait > 0)
            return refused('ResourceExhausted', { limit: 'challenges', retryAfterMs: wait * 1000 });
        ofOneApp.failed(pair);
        ofAllApps.failed(url.host);
        try {
            return await running.run(app, () => ask(challenged));
        }
        catch (error) {
            if (error instanceof QueueFull)
                return refused('ResourceExhausted', { limit: 'challenges', retryAfterMs: 1000 });
            throw error;
        }
    };
}
/** The problem of an attempt. Undefined if the receiver answered with a status from 200 to 299. */
export function problemOf(outcome) {
    const { error = null, status = null } = outcome;
    if (error === 'tls_failed')
        return 'tls_error';
    if (error === 'timeout' || error === 'interrupted')
        return 'timeout';
    // An address that is refused, or that does not exist, tells no more than a closed port: else it would be a scanner.
    if (error !== null)
        return 'connection_refused';
    if (status === null || (status >= 200 && status <= 299))
        return undefined;
    if (status >= 400 && status <= 499)
        return 'http_4xx';
    return status >= 500 ? 'http_5xx' : 'challenge_failed';
}
function echoes(outcome, challenge) {
    if (!('body' in outcome) || !outcome.body)
        return false;
    const digest = (text) => createHash('sha256').update(text).digest();
    try {
        const answer = JSON.parse(outcome.body.toString('utf8'));
        const echo = typeof answer === 'object' && answer !== null && 'challenge' in answer ? answer.challenge : undefined;
        return typeof echo === 'string' && timingSafeEqual(digest(echo), digest(challenge));
    }
    catch (error) {
        if (error instanceof SyntaxError)
            return false;
        throw error;
    }
}
//# sourceMappingURL=challenge.js.map
import { QueueFull } from '../../flow/fair-limit.js';
import { networkOf } from '../../flow/network.js';
import { digestOf, wellFormed } from '../tokens.js';
import { OAuthError } from './errors.js';
import { check } from './order.js';
import { proveAgain } from './rules/client-authentication.js';
export const presented = ({ request }, name) => request.parameters?.get(name)?.[0] ?? '';
/**
 * Runs the statement for the code or token that a client presents. Returns `undefined` for a malformed text, which
 * costs no statement, because the gateway never issues such a text. `valid` says whether the client holds the code or
 * token.
 */
export async function present(context, name, run, valid) {
    const secret = presented(context, name);
    const digest = wellFormed(secret) ? digestOf(secret) : undefined;
    if (context.kind === 'by_url')
        return limited(context, digest, run, valid);
    return digest && whileProved(context, () => run(context.the('proof'), digest));
}
const ATTEMPTS = 3;
/**
 * Runs a statement that verifies the client's proof. If the proof is outdated, authenticates the client again and
 * repeats the statement.
 */
export async function whileProved(context, run) {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
        const done = await run();
        if (done !== undefined)
            return done;
        await proveAgain(context);
        // The client may now hold fewer grants, so the rules must check the request again.
        await check(context);
    }
    throw new OAuthError('temporarily_unavailable', { retryAfter: 1 });
}
/**
 * Runs the statement for a client without a secret. Counts a code or token that is not valid as a failure of the
 * caller's address.
 *
 * Only the statement knows whether a code or token is valid. All people of a web client such as Claude share a few
 * addresses. Therefore no number of failures may stop the statement. Instead, addresses with too many failures share
 * one place in this process and take turns. A flood of invalid tokens then uses at most one connection.
 */
async function limited(context, digest, run, valid) {
    const { failures, suspects } = context.services;
    const { source } = context.request;
    const wait = failures.wait(source);
    const forgive = () => {
        if (wait === 0)
            failures.succeeded(source);
    };
    // The attempt counts as failed before the statement. Otherwise a thousand parallel attempts could all pass the limit.
    failures.failed(source);
    if (!digest)
        return undefined;
    const work = () => run({ url: context.the('clientUrl') }, digest);
    try {
        const result = await (wait === 0 ? work() : suspects.run(networkOf(source), work));
        if (!result)
            throw new OAuthError('temporarily_unavailable', { retryAfter: 1 });
        context.learn('holder', result);
        if (valid(result))
            forgive();
        return result;
    }
    catch (error) {
        if (error instanceof QueueFull)
            throw new OAuthError('slow_down', { secret: false, retryAfter: 1 });
        // The store failed, not the client.
        forgive();
        throw error;
    }
}
//# sourceMappingURL=present.js.map
import { before } from './before.js';
import { receiverOf } from './receivers.js';
import { partWeight, requestTo } from './request.js';
import { AddressRefused, checkedAddresses, resolveName } from './resolve.js';
import { signatures } from './signature.js';
export const userAgent = (baseUrl) => `installation-gateway/1 (+${baseUrl}/docs)`;
export const senderOptions = (allowed, baseUrl) => ({
    allowed,
    userAgent: userAgent(baseUrl),
    resolve: resolveName,
});
const DEADLINE = 10_000;
/** The gateway reads a response up to this weight. */
const RESPONSE_MAX = 65_536;
/**
 * Makes one attempt: a POST over a new connection to a checked address, without redirects. The status counts when the
 * response is complete or 64 KiB of it have arrived. Never rejects: every error is an outcome.
 */
export async function send(attempt, options, stop) {
    const receiver = receiverOf(attempt.url, options.allowed);
    if ('refused' in receiver)
        return { error: 'receiver_refused' };
    // AbortSignal.any would keep one object for each attempt until the process ends.
    const cut = new AbortController();
    const stopped = () => cut.abort('interrupted');
    const timer = setTimeout(() => cut.abort('timeout'), options.deadline ?? DEADLINE);
    stop?.addEventListener('abort', stopped, { once: true });
    if (stop?.aborted)
        stopped();
    try {
        return await post(attempt, receiver, options, cut.signal);
    }
    finally {
        clearTimeout(timer);
        stop?.removeEventListener('abort', stopped);
    }
}
async function post(attempt, { url, exempt }, options, signal) {
    const ended = (error) => signal.aborted ? (signal.reason === 'interrupted' ? 'interrupted' : 'timeout') : error;
    let addresses;
    try {
        addresses = await before(signal, checkedAddresses(url, exempt, options.resolve));
    }
    catch (error) {
        return { error: error instanceof AddressRefused ? 'address_refused' : ended('name_not_resolved') };
    }
    const { id, body, headers } = attempt.message;
    const timestamp = Math.floor(attempt.at / 1000);
    const request = requestTo(url, {
        method: 'POST',
        headers: {
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(body),
            'user-agent': options.userAgent,
            'webhook-id': id,
            'webhook-timestamp': timestamp,
            'webhook-signature': signatures(attempt.secrets, id, timestamp, body),
            ...headers,
        },
        addresses,
        signal,
    });
    return exchange(request, attempt, ended);
}
const TLS = /^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO|DEPTH_ZERO|SELF_SIGNED|HOSTNAME_|ERR_OSSL|EPROTO)/;
function exchange(request, { at, message, reads = false }, ended) {
    return new Promise((resolve) => {
        let response;
        const finish = (outcome) => {
            resolve(outcome);
            request.destroy();
        };
        // A destroyed connection can still emit an error, so the listener stays.
        request.on('error', (error) => {
            const kind = TLS.test(error.code ?? '') ? 'tls_failed' : 'connection_failed';
            finish({ error: ended(response ? 'response_broken' : kind), ...(response && { status: statusOf(response) }) });
        });
        request.on('response', (given) => {
            response = given;
            const { headers } = given;
            const parts = [];
            const whole = () => finish({
                status: statusOf(given),
                retryAfter: retryAfterOf(headers['retry-after'], at),
                ...(reads && { body: Buffer.concat(parts) }),
            });
            let read = 0;
            given.on('data', (part) => {
                read += partWeight(part);
                if (reads)
                    parts.push(part);
                if (read > RESPONSE_MAX)
                    whole();
            });
            given.on('end', whole);
            given.on('error', () => finish({ error: ended('response_broken'), status: statusOf(given) }));
        });
        // The server asks to change the protocol (status 101). The gateway never does this.
        request.on('upgrade', (given, socket) => {
            socket.destroy();
            finish({ status: statusOf(given), retryAfter: undefined });
        });
        request.end(message.body);
    });
}
const statusOf = ({ statusCode = 0 }) => statusCode;
/**
 * Parses the header Retry-After, which has seconds or a date (RFC 9110, section 10.2.3). Returns the seconds from `now`
 * (Unix milliseconds), or `undefined` for an invalid header.
 */
export function retryAfterOf(header, now) {
    const text = header?.trim() ?? '';
    if (/^\d+$/.test(text))
        return Number(text);
    if (!/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} [\d:]{8} GMT$/.test(text))
        return undefined;
    const at = Date.parse(text);
    return Number.isNaN(at) ? undefined : Math.max(0, (at - now) / 1000);
}
//# sourceMappingURL=sender.js.map
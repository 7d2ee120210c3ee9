import { request as plainRequest } from 'node:http';
import { request as secureRequest } from 'node:https';
import { pinned } from './resolve.js';
/** Prepares a request to another server. Nothing is sent before `end`. */
export function requestTo(url, { method, headers, addresses, signal }) {
    const request = (url.protocol === 'https:' ? secureRequest : plainRequest)(url, {
        method,
        headers,
        // A new connection, without the process-wide settings for certificates and proxies.
        agent: false,
        rejectUnauthorized: true,
        lookup: pinned(addresses),
        signal,
    });
    boundInformation(request);
    return request;
}
/** The largest number of interim answers, such as 103, before the answer. The gateway uses none of them. */
const INTERIM_MAX = 8;
/**
 * Ends a request whose server sends too many interim answers. Node parses each of them, and a deadline is too late. One
 * server held the event loop for 0.2 s at a time and doubled a deadline of 0.7 s (24 November 2026).
 */
function boundInformation(request) {
    let interim = 0;
    request.on('information', () => {
        if (++interim === INTERIM_MAX)
            request.destroy(new Error('the server sent too many interim answers'));
    });
}
/**
 * Resolves with the response of a request. A response such as 101 asks to change the protocol. The gateway never does
 * this, so the connection ends.
 */
export const responseTo = (request) => new Promise((resolve, reject) => {
    request.on('error', reject);
    request.on('response', resolve);
    request.on('upgrade', (response, socket) => {
        socket.destroy();
        resolve(response);
    });
});
/** Sends a request without a body, or with a form. Ends the connection when `read` has read the response. */
export async function exchange(url, outbound, read, body) {
    const request = requestTo(url, outbound);
    const response = responseTo(request);
    request.end(body);
    try {
        return await read(await response);
    }
    finally {
        request.destroy();
    }
}
/**
 * What a part of a body counts beside its bytes. Node emits an event for each chunk, so a body in chunks of a byte costs
 * a thousand times its bytes (24 November 2026).
 */
const PART = 64;
export const partWeight = (part) => part.length + PART;
/**
 * Reads a body of at most `limit` bytes. Returns undefined for a longer one, for one in very many small parts, and for
 * the response 101, whose connection has ended.
 */
export async function readUpTo(response, limit) {
    if (response.statusCode === 101)
        return undefined;
    const parts = [];
    let [length, weight] = [0, 0];
    for await (const part of response) {
        const bytes = Buffer.from(part); // a response without an encoding gives Buffers
        length += bytes.length;
        weight += partWeight(bytes);
        if (length > limit || weight > 2 * limit)
            return undefined;
        parts.push(bytes);
    }
    return Buffer.concat(parts);
}
//# sourceMappingURL=request.js.map
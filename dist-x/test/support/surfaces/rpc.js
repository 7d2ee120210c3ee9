import { expect } from 'vitest';
import { exchange } from '../answer.js';
import { openOracle } from '../oracle.js';
/** Checks the rules of all surfaces: a request id, hardening headers, no 500 and no internal details. */
const sound = openOracle({ paths: {} });
export function endpoint(at) {
    const post = async (port, token, body, options = {}) => {
        const { version = at.version[1], verb = 'POST', path = at.path, chunked = false, agent } = options;
        const headers = Object.entries({
            ...at.headers,
            'content-type': 'application/json',
            authorization: token === undefined ? undefined : `Bearer ${token}`,
            [at.version[0]]: version ?? undefined,
            // node:http sends the length of a body in one piece. For chunks, set Transfer-Encoding.
            ...(chunked && { 'transfer-encoding': 'chunked' }),
            ...(!chunked && body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }),
            ...options.headers,
        }).flatMap(([name, value]) => value === undefined ? [] : [[name, typeof value === 'string' ? value : [...value]]]);
        const sent = { port, path, method: verb, headers: Object.fromEntries(headers), ...(agent && { agent }) };
        const answer = await exchange(sent, body);
        sound(verb, path, answer);
        expect(answer.headers['mcp-session-id']).toBeUndefined();
        return answer;
    };
    /** Sends one JSON-RPC request with a client's usual headers. Omits undefined `params`. */
    const rpc = (port, token, method, params, options = {}) => {
        const { id = 1 } = options;
        const message = { jsonrpc: '2.0', id, method, ...(params !== undefined && { params }) };
        return post(port, token, JSON.stringify(message), options);
    };
    return { post, rpc };
}
/** A request as the text of a body. */
export const message = (method, params) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, ...(params && { params }) });
//# sourceMappingURL=rpc.js.map
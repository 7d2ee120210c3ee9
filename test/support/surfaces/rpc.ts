import type { Agent } from 'node:http';
import { expect } from 'vitest';
import { type Answer, exchange } from '../answer.ts';
import { openOracle } from '../oracle.ts';

export interface RpcOptions {
  /** The version header. The default is the newest version that most clients send. Null omits the header. */
  readonly version?: string | null;
  /** Headers that replace a client's usual headers or add to them. Undefined removes one. Names are in lower case. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly id?: unknown;
  readonly agent?: Agent;
  readonly verb?: string;
  readonly path?: string;
  readonly chunked?: boolean;
}

/** An endpoint of JSON-RPC: its path, the headers of a usual client, and its version header with the usual version. */
interface Endpoint {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly version: readonly [header: string, usual: string];
}

/** Checks the rules of all surfaces: a request id, hardening headers, no 500 and no internal details. */
const sound = openOracle({ paths: {} });

export function endpoint(at: Endpoint) {
  const post = async (
    port: number,
    token: string | undefined,
    body: string | Uint8Array | undefined,
    options: RpcOptions = {},
  ): Promise<Answer> => {
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
    }).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, typeof value === 'string' ? value : [...value]] as const],
    );
    const sent = { port, path, method: verb, headers: Object.fromEntries(headers), ...(agent && { agent }) };
    const answer = await exchange(sent, body);
    sound(verb, path, answer);
    expect(answer.headers['mcp-session-id']).toBeUndefined();
    return answer;
  };
  /** Sends one JSON-RPC request with a client's usual headers. Omits undefined `params`. */
  const rpc = (
    port: number,
    token: string | undefined,
    method: string,
    params?: unknown,
    options: RpcOptions = {},
  ): Promise<Answer> => {
    const { id = 1 } = options;
    const message = { jsonrpc: '2.0', id, method, ...(params !== undefined && { params }) };
    return post(port, token, JSON.stringify(message), options);
  };
  return { post, rpc };
}

/** A request as the text of a body. */
export const message = (method: string, params?: object): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, ...(params && { params }) });

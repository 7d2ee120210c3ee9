import type { Agent } from 'node:http';
import { type Answer, exchange } from '../answer.ts';
import { openOracle } from '../oracle.ts';

export interface A2aOptions {
  /** The A2A-Version header. The default is 1.0. Null omits the header. */
  readonly version?: string | null;
  /**
   * Headers that replace the usual headers of a client or add to them. Undefined removes a header. Names are in lower
   * case.
   */
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly id?: unknown;
  readonly agent?: Agent;
  readonly verb?: string;
  readonly path?: string;
}

/** Checks the rules of all surfaces: a request id, hardening headers, no 500 and no internal details. */
const sound = openOracle({ paths: {} });

/** Sends one JSON-RPC request with the usual headers of a client. Omits `params` when it is undefined. */
export function rpc(
  port: number,
  token: string | undefined,
  method: string,
  params?: unknown,
  options: A2aOptions = {},
): Promise<Answer> {
  const { id = 1 } = options;
  const message = { jsonrpc: '2.0', id, method, ...(params !== undefined && { params }) };
  return post(port, token, JSON.stringify(message), options);
}

export async function post(
  port: number,
  token: string | undefined,
  body: string | Uint8Array | undefined,
  options: A2aOptions = {},
): Promise<Answer> {
  const { version = '1.0', verb = 'POST', path = '/a2a', agent } = options;
  const headers = Object.entries({
    'content-type': 'application/json',
    authorization: token === undefined ? undefined : `Bearer ${token}`,
    'a2a-version': version ?? undefined,
    ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }),
    ...options.headers,
  }).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, typeof value === 'string' ? value : [...value]] as const],
  );
  const sent = { port, path, method: verb, headers: Object.fromEntries(headers), ...(agent && { agent }) };
  const answer = await exchange(sent, body);
  sound(verb, path, answer);
  return answer;
}

let messages = 0;

export const messageId = (): string => `message-${++messages}`;

export const work = (skill: string, input: object, message: object = {}): { readonly message: object } => ({
  message: {
    messageId: messageId(),
    role: 'ROLE_USER',
    parts: [{ data: { skill, arguments: input }, mediaType: 'application/json' }],
    ...message,
  },
});

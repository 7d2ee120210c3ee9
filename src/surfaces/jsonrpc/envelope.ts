import { isObject } from '../../core/json.ts';
import { parseJson } from '../http/json.ts';

export type RequestId = string | number;

export type Message =
  | { readonly kind: 'request'; readonly id: RequestId; readonly method: string; readonly params: Params }
  /** Needs no answer: a notification, or a response, which the gateway ignores because it never sends requests. */
  | { readonly kind: 'notification' };

export type Params = Readonly<Record<string, unknown>>;

/** Error codes of JSON-RPC 2.0 (section 5.1), for MCP and A2A. */
export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;

/** Names the wrong parameters and what each must be. Parameters with the same rule share a sentence. */
export function invalidText(
  errors: readonly { readonly parameter: string; readonly code: string; readonly expected: string }[],
): string {
  const wrong = errors.map(({ parameter, code }) => `${parameter} (${code})`);
  const rules = [...new Set(errors.map(({ expected }) => expected))].map((rule) => {
    const names = errors.filter(({ expected }) => expected === rule).map(({ parameter }) => parameter);
    return `Expected for ${names.join(', ')}: ${rule}.`;
  });
  return [`Invalid parameters: ${wrong.join(', ')}.`, ...rules].join(' ');
}

/** A JSON-RPC error exactly as the client gets it. The SDK's McpError would add the code to the message text. */
export class RpcError extends Error {
  override readonly name = 'RpcError';

  constructor(
    readonly code: number,
    message: string,
    readonly data?: unknown,
    readonly id?: RequestId,
  ) {
    super(message);
  }
}

const MEMBERS: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method', 'params', 'result', 'error']);

/** Throws an RpcError unless the body is exactly one JSON-RPC 2.0 message. */
export function readMessage(bytes: Uint8Array): Message {
  const parsed = parseJson(bytes);
  if (!parsed) throw new RpcError(PARSE_ERROR, 'The body is not valid JSON in UTF-8.');
  const { value } = parsed;
  if (Array.isArray(value))
    throw new RpcError(INVALID_REQUEST, 'Batches are not accepted. Send one message per request.');
  if (!isObject(value)) throw new RpcError(INVALID_REQUEST, 'The body is not a JSON-RPC message.');
  const id = isId(value['id']) ? value['id'] : undefined;
  const refuse = (message: string): RpcError => new RpcError(INVALID_REQUEST, message, undefined, id);
  if (value['jsonrpc'] !== '2.0') throw refuse('The member jsonrpc must be "2.0".');
  if (Object.keys(value).some((key) => !MEMBERS.has(key)))
    throw refuse('The message has a member that JSON-RPC does not define.');
  if ('id' in value && id === undefined) throw refuse('The member id must be a string or an integer.');
  const { method, params = {} } = value;
  const answer = 'result' in value || 'error' in value;
  if (method === undefined && answer && id !== undefined) return { kind: 'notification' };
  if (typeof method !== 'string' || method === '' || answer) throw refuse('The message is not a JSON-RPC request.');
  if (!isObject(params)) throw refuse('The member params must be an object.');
  return id === undefined ? { kind: 'notification' } : { kind: 'request', id, method, params };
}

const isId = (value: unknown): value is RequestId =>
  typeof value === 'string' || (typeof value === 'number' && Number.isSafeInteger(value));

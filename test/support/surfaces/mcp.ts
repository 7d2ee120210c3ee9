import type { Agent } from 'node:http';
import { expect } from 'vitest';
import type { Tool } from '../../../src/core/tool.ts';
import { type Answer, exchange } from '../answer.ts';
import { openOracle } from '../oracle.ts';

export interface McpOptions {
  /** The MCP-Protocol-Version header. The default is the preferred version. Null omits the header. */
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
  readonly chunked?: boolean;
}

export const PREFERRED = '2025-11-25';

export const MODERN = '2026-07-28';

/** The `_meta` that every request of MCP 2026-07-28 must have. */
export const ENVELOPE: Readonly<Record<string, unknown>> = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

const sound = openOracle({ paths: {} });

/** Sends one JSON-RPC request with the usual headers of a client. Omits `params` when it is undefined. */
export function rpc(
  port: number,
  token: string | undefined,
  method: string,
  params?: unknown,
  options: McpOptions = {},
): Promise<Answer> {
  const { id = 1 } = options;
  return post(
    port,
    token,
    JSON.stringify({ jsonrpc: '2.0', id, method, ...(params !== undefined && { params }) }),
    options,
  );
}

/** Sends one request of MCP 2026-07-28, with the headers and the `_meta` that this version asks for. */
export function modern(
  port: number,
  token: string | undefined,
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  options: McpOptions = {},
): Promise<Answer> {
  const name = method === 'resources/read' ? params['uri'] : params['name'];
  const named = ['tools/call', 'prompts/get', 'resources/read'].includes(method) && typeof name === 'string';
  return rpc(
    port,
    token,
    method,
    { _meta: ENVELOPE, ...params },
    {
      version: MODERN,
      ...options,
      headers: { 'mcp-method': method, ...(named && { 'mcp-name': name }), ...options.headers },
    },
  );
}

export async function post(
  port: number,
  token: string | undefined,
  body: string | Uint8Array | undefined,
  options: McpOptions = {},
): Promise<Answer> {
  const { version = PREFERRED, verb = 'POST', path = '/mcp', chunked = false, agent } = options;
  const headers = Object.entries({
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    authorization: token === undefined ? undefined : `Bearer ${token}`,
    'mcp-protocol-version': version ?? undefined,
    // By default, node:http sends the length of a body that it gets in one piece. For chunks, set Transfer-Encoding.
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
}

export const initializeParams = (protocolVersion: string = PREFERRED): object => ({
  protocolVersion,
  capabilities: {},
  clientInfo: { name: 'test', version: '1.0.0' },
});

/**
 * Converts a REST address into the arguments of a tool. The function does not use the product's code for REST
 * addresses.
 */
export function argumentsOf({ path, parameters }: Tool, url: string): Readonly<Record<string, unknown>> {
  const { pathname, searchParams } = new URL(url, 'http://gateway');
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const values = new RegExp(`^${path.replace(/\{\w+\}/g, '([^/]+)')}$`).exec(pathname)?.slice(1) ?? [];
  const typed = (name: string, value: string): unknown => {
    const type = parameters.find((one) => one.name === name)?.type;
    if (type === 'integer' && /^\d+$/.test(value)) return Number(value);
    return type === 'boolean' && /^(true|false)$/.test(value) ? value === 'true' : value;
  };
  return Object.fromEntries([
    ...names.map((name, index) => [name, values[index]] as const),
    ...[...searchParams].map(([name, value]) => [name, typed(name, value)] as const),
  ]);
}

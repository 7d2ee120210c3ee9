import { type Agent, request as httpRequest } from 'node:http';
import { expect } from 'vitest';
import type { Tool } from '../../../src/core/tool.ts';
import type { Answer } from '../gateway.ts';
import { openOracle } from '../oracle.ts';

export interface McpOptions {
  /** The MCP-Protocol-Version sent; none with null. The preferred one where absent. */
  readonly version?: string | null;
  /** Beside or in place of what a client sends; undefined takes a header away. Names in lower case. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly id?: unknown;
  readonly agent?: Agent;
  /** Another method or address than POST /mcp. */
  readonly verb?: string;
  readonly path?: string;
  /** Send the body in chunks, with no length before it. */
  readonly chunked?: boolean;
}

export const PREFERRED = '2025-11-25';

/** What the requests to every surface owe: request id, hardening headers, never a 500, nothing of the inside. */
const sound = openOracle({ paths: {} });

/** One JSON-RPC request as a client of the protocol sends it. `params` undefined leaves the member out. */
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

/** Any body, with the headers of a client. Every answer is checked for what all answers owe. */
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
    // Left to itself, node:http would know the length of a body given whole and announce it.
    ...(chunked && { 'transfer-encoding': 'chunked' }),
    ...(!chunked && body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }),
    ...options.headers,
  }).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, typeof value === 'string' ? value : [...value]] as const],
  );
  const answer = await new Promise<Answer>((resolve, reject) => {
    const request = httpRequest(
      { host: '127.0.0.1', port, path, method: verb, headers: Object.fromEntries(headers), ...(agent && { agent }) },
      (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('error', reject);
        response.on('end', () => {
          const bytes = Buffer.concat(parts);
          const text = bytes.toString('utf8');
          const json = /json/.test(response.headers['content-type'] ?? '') && text !== '';
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text,
            bytes,
            body: json ? JSON.parse(text) : undefined,
          });
        });
      },
    );
    request.on('error', reject);
    request.end(body);
  });
  sound(verb, path, answer);
  expect(answer.headers['mcp-session-id']).toBeUndefined();
  return answer;
}

/** Params of an `initialize` that a client of a version sends. */
export const initializeParams = (protocolVersion: string = PREFERRED): object => ({
  protocolVersion,
  capabilities: {},
  clientInfo: { name: 'test', version: '1.0.0' },
});

/** The arguments that say what a REST address says; written apart from the surface that reads such addresses. */
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

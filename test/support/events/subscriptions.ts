import type postgres from 'postgres';
import { expect } from 'vitest';
import type { Answer } from '../answer.ts';
import type { TestGateway } from '../gateway.ts';

export const ALL_FAMILIES = ['conversation', 'visitor', 'operator', 'queue', 'website', 'privacy', 'capture'] as const;

export interface Definition {
  readonly website_ids: readonly string[];
  readonly event_types: readonly string[];
  readonly payload_mode: 'thin';
  readonly delivery: { readonly mode: 'pull' };
  readonly start: 'beginning' | 'retained' | 'now';
}

export const definition = (websites: readonly string[], more: Partial<Definition> = {}): Definition => ({
  website_ids: websites,
  event_types: ALL_FAMILIES.map((family) => `${family}.*`),
  payload_mode: 'thin',
  delivery: { mode: 'pull' },
  start: 'beginning',
  ...more,
});

export interface Created {
  readonly id: string;
  readonly cursor: string;
}

export async function create(gateway: TestGateway, token: string, body: Definition): Promise<Created> {
  const answer = await gateway.ask('/api/v1/subscriptions', { token, body });
  expect(answer.status, answer.text).toBe(201);
  return { id: answer.body.subscription.subscription_id, cursor: answer.body.cursor };
}

export const pull = (gateway: TestGateway, token: string, id: string, after: string, limit = 25): Promise<Answer> =>
  gateway.ask(`/api/v1/events?subscription_id=${id}&after=${encodeURIComponent(after)}&limit=${limit}`, { token });

/** Appends receipts in one transaction, with the store's own journal function. */
export async function append(sql: postgres.Sql, website: string, types: readonly string[]): Promise<void> {
  const [, tenant = '', site = ''] = website.split('_');
  await sql`SELECT gateway.append_receipts(${tenant}, ${site}, ${[...types]})`;
}

export interface Called {
  readonly status: number;
  readonly code: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads members of a body that the corridor has checked
  readonly body: any;
  readonly operation: string | undefined;
}

/** Calls an MCP tool. Returns the result in the form of a REST answer. */
export async function tool(
  gateway: TestGateway,
  token: string,
  name: string,
  input: Readonly<Record<string, unknown>>,
): Promise<Called> {
  const answer = await gateway.ask('/mcp', {
    token,
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } },
    headers: { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25' },
  });
  const { error, result } = answer.body;
  if (error) {
    const { code } = error.data;
    return { status: code === 'not_permitted' ? 404 : 400, code, body: undefined, operation: undefined };
  }
  const { data, error: failure, operation_id: operation } = result.structuredContent;
  return { status: failure?.status ?? 200, code: failure?.code, body: data, operation };
}

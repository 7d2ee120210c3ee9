import { expect } from 'vitest';
export const ALL_FAMILIES = ['conversation', 'visitor', 'operator', 'queue', 'website', 'privacy', 'capture'];
export const definition = (websites, more = {}) => ({
    website_ids: websites,
    event_types: ALL_FAMILIES.map((family) => `${family}.*`),
    payload_mode: 'thin',
    delivery: { mode: 'pull' },
    start: 'beginning',
    ...more,
});
export async function create(gateway, token, body) {
    const answer = await gateway.ask('/api/v1/subscriptions', { token, body });
    expect(answer.status, answer.text).toBe(201);
    return { id: answer.body.subscription.subscription_id, cursor: answer.body.cursor };
}
export const pull = (gateway, token, id, after, limit = 25) => gateway.ask(`/api/v1/events?subscription_id=${id}&after=${encodeURIComponent(after)}&limit=${limit}`, { token });
/** Appends receipts in one transaction, with the store's own journal function. */
export async function append(sql, website, types) {
    const [, tenant = '', site = ''] = website.split('_');
    await sql `SELECT gateway.append_receipts(${tenant}, ${site}, ${[...types]})`;
}
/** Calls an MCP tool. Returns the result in the form of a REST answer. */
export async function tool(gateway, token, name, input) {
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
//# sourceMappingURL=subscriptions.js.map
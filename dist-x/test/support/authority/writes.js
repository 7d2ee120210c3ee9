import { pathOf } from './operations.js';
export const SURFACES = ['rest', 'mcp'];
const masked = (text) => text.replace(/req_[a-f0-9]{32}/g, 'req');
export const callOver = {
    async rest(gateway, { write, website, number, token, key }) {
        const path = pathOf({ ...write, path: write.path.replace(':1}', `:${number}}`) }, website);
        const answer = await gateway.ask(path, { token, body: write.body(website), headers: { 'idempotency-key': key } });
        const operation = answer.headers['x-gateway-operation-id'];
        const failed = answer.status >= 400;
        return {
            status: answer.status,
            code: failed ? answer.body.code : undefined,
            required: failed ? answer.body.required : undefined,
            retryAfter: failed ? answer.body.retry_after : undefined,
            operation: typeof operation === 'string' ? operation : undefined,
            body: failed ? undefined : answer.body,
            text: masked(answer.text),
        };
    },
    async mcp(gateway, { write, website, number, token, key }) {
        const [, query = ''] = write.path.split('?');
        const given = /^website_id=(.*)$/.exec(query.replace('{web}', website))?.[1];
        const tail = website.slice('web_'.length);
        const input = {
            ...(write.subject && { [write.subject[0]]: `${write.subject[1]}_${tail}_${number}` }),
            ...(given !== undefined && { website_id: given }),
            ...write.body(website),
            idempotency_key: key,
        };
        const answer = await gateway.ask('/mcp', {
            token,
            body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: write.tool, arguments: input } },
            headers: { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25' },
        });
        const text = masked(answer.text);
        const none = { required: undefined, retryAfter: undefined, operation: undefined, body: undefined, text };
        if (answer.status !== 200)
            return { ...none, status: answer.status, code: answer.body.code };
        const { error, result } = answer.body;
        // MCP reports two failures as protocol errors: input that REST answers with 400, and a tool that is not in the
        // credential's list.
        if (error) {
            const { code, required } = error.data;
            return { ...none, status: code === 'not_permitted' ? 404 : 400, code, required };
        }
        const { data, error: failure, operation_id: operation } = result.structuredContent;
        if (failure)
            return { ...none, operation, status: failure.status, code: failure.code, retryAfter: failure.retry_after };
        return { ...none, operation, status: 200, code: undefined, body: data };
    },
};
/**
 * Returns one text with everything that a write can leave behind: the number of rows, and all data that a disposition,
 * note or plan can change.
 */
export async function tracesOf(sql) {
    const [row] = await sql `
    SELECT (SELECT count(*) FROM platform.note) || ' notes, ' ||
           (SELECT count(*) FROM gateway.journal) || ' receipts, ' ||
           (SELECT count(*) FROM gateway.operation) || ' operations ' ||
           (SELECT coalesce(sum(position), 0) FROM gateway.journal_head) || ' ' ||
           (SELECT md5(string_agg(concat_ws('|', tenant, site, id, status, disposition, updated_at), ',' ORDER BY tenant, site, id))
              FROM platform.conversation) || ' ' ||
           (SELECT md5(string_agg(concat_ws('|', tenant, site, id, name, enabled, active_version), ',' ORDER BY tenant, site, id))
              FROM platform.ai_feature) || ' ' ||
           (SELECT coalesce(md5(string_agg(concat_ws('|', tenant, site, kind, last), ',' ORDER BY tenant, site, kind)), '')
              FROM platform.native_id) AS text`;
    return row?.text ?? '';
}
export async function addDispositions(sql) {
    await sql `INSERT INTO platform.disposition (tenant, site, id, external_id, value, label)
    SELECT tenant, site, 9001, 'settled-' || tenant || '-' || site, 'settled', 'Settled' FROM platform.website ON CONFLICT DO NOTHING`;
}
//# sourceMappingURL=writes.js.map
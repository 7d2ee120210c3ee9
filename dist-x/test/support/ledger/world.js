import { openTestGateway } from '../gateway.js';
import { MCP_HEADERS, mcpOf, restOf } from './commands.js';
export const SURFACES = ['REST', 'MCP'];
export async function openWorld() {
    const gateway = await openTestGateway('demo');
    const { sql } = gateway.database;
    const count = async (query) => Number((await query)[0]?.n);
    return {
        gateway,
        async write(surface, command, { token, key, gateway: other = gateway }) {
            if (surface === 'REST') {
                const { path, body } = restOf(command);
                return ofRest(await other.ask(path, { token, body, headers: key === undefined ? {} : { 'idempotency-key': key } }));
            }
            return ofMcp(await other.ask('/mcp', { token, body: mcpOf(command, key), headers: MCP_HEADERS }));
        },
        async writer(grant) {
            const issued = await gateway.issue(grant);
            await sql `INSERT INTO gateway.native_author (credential_id, tenant, site, operator_id)
        SELECT ${issued.credential}, 1, site, 1 FROM generate_series(1, 2) AS site`;
            return issued;
        },
        async change(credential, { scopes, dataAccess, sites }) {
            await sql `UPDATE gateway.credential SET updated_at = clock_timestamp(),
          scopes = coalesce(${scopes ?? null}, scopes), data_access = coalesce(${dataAccess ?? null}, data_access),
          sites = coalesce(${sites ? `{${sites.join(',')}}` : null}::bigint[], sites)
        WHERE id = ${credential}`;
        },
        journal: async (site = 1) => (await sql `
          SELECT event_type FROM gateway.journal WHERE tenant = 1 AND site = ${site} ORDER BY position`).map(({ event_type }) => event_type),
        notes: (text) => count(sql `SELECT count(*) AS n FROM platform.note WHERE text = ${text}`),
        row: async (operationId) => (await sql `
          SELECT o::text AS row FROM gateway.operation o WHERE operation_id = ${operationId ?? ''}`)[0]?.row,
        rows: () => count(sql `SELECT count(*) AS n FROM gateway.operation`),
        async age(operationId, interval) {
            await sql `UPDATE gateway.operation SET created_at = created_at - ${interval}::interval
        WHERE operation_id = ${operationId ?? ''}`;
        },
        close: () => gateway.close(),
    };
}
const ofRest = ({ status, body, text, headers }) => ({
    status,
    code: body?.code,
    text: status < 300 ? text : '',
    operationId: one(headers['x-gateway-operation-id']),
    replayed: headers['idempotency-replayed'] === 'true',
    retryAfter: headers['retry-after'] === undefined ? undefined : Number(headers['retry-after']),
    raw: `${JSON.stringify(headers)}${text}`,
});
export const replyOf = (surface, answer) => surface === 'REST' ? ofRest(answer) : ofMcp(answer);
const one = (value) => typeof value === 'string' ? value : undefined;
function ofMcp({ body, text, status }) {
    const content = body?.result?.structuredContent;
    // Over MCP, invalid params give a JSON-RPC error, and every other answer is a result. A 401 is a plain HTTP answer.
    const fallback = body?.error ? { status: 400, code: String(body.error.code) } : { status, code: body?.code };
    const { error = fallback, operation_id } = content ?? {};
    const done = body?.result?.isError === false;
    return {
        status: done ? 200 : error.status,
        code: done ? undefined : error.code,
        text: done ? JSON.stringify(content.data) : '',
        operationId: operation_id,
        replayed: false,
        retryAfter: error.retry_after,
        raw: text,
    };
}
//# sourceMappingURL=world.js.map
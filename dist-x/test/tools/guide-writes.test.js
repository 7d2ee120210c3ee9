import { readFileSync } from 'node:fs';
import { lexer, walkTokens } from 'marked';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openTestGateway } from '../support/gateway.js';
/** Tests the guides about writes over MCP and REST with the demo's data. Each instruction of a guide becomes a call. */
let gateway;
let token;
let keys = 0;
beforeAll(async () => {
    gateway = await openTestGateway();
    ({ token } = await gateway.issue({ authors: ['opr_1_1_1', 'opr_1_2_1'] }));
});
afterAll(() => gateway.close());
const Call = z.object({ name: z.string(), arguments: z.record(z.string(), z.unknown()) });
function shown(guide, name) {
    const found = [];
    walkTokens(lexer(readFileSync(new URL(`../../resources/guides/${guide}.md`, import.meta.url), 'utf8')), (token) => {
        if (token.type !== 'code' || token['lang'] !== 'json')
            return;
        const parsed = Call.safeParse(JSON.parse(String(token['text'])));
        if (parsed.data?.name === name)
            found.push(parsed.data);
    });
    const [call = expect.fail(`${guide} shows no ${name}`)] = found;
    return fresh(call);
}
const fresh = (call, changed = {}) => ({
    ...call,
    arguments: { ...call.arguments, ...changed, idempotency_key: `guide-${++keys}` },
});
const EXAMPLES = [
    ['contacts', 'visitor_note_add'],
    ['investigation', 'conversation_disposition_set'],
    ['configuration', 'config_plan'],
    ['configuration', 'ai_feature_execute'],
];
async function call(params, bearer = token) {
    const { body } = await gateway.ask('/mcp', {
        token: bearer,
        body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
        headers: { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25' },
    });
    return body;
}
const tell = async (params, bearer = token) => {
    const { result, error } = await call(params, bearer);
    return error ? error.data.code : (result.structuredContent.error?.code ?? 'answered');
};
const read = async (name, input) => (await call({ name, arguments: input })).result.structuredContent.data.data;
describe('the overview’s job of writing', () => {
    it.each(EXAMPLES)('%s: %s, then again under the same key: one answer, one receipt', async (guide, name) => {
        const example = shown(guide, name);
        const { result } = await call(example);
        expect(result.isError).toBe(false);
        const { operation_id } = result.structuredContent;
        expect(result._meta).toMatchObject({ 'gateway/operation_id': operation_id, 'gateway/replayed': false });
        const replayed = { ...result._meta, 'gateway/replayed': true };
        expect((await call(example)).result).toEqual({ ...result, _meta: replayed });
        const { idempotency_key } = example.arguments;
        expect(await read('operation_get', { idempotency_key, website_id: 'web_1_1' })).toMatchObject({ operation_id });
        expect(await read('operation_get', { operation_id, website_id: 'web_1_1' })).toMatchObject({
            operation: name,
            status: 'acknowledged',
        });
        // Another input under a used key is a conflict. A write without a key is refused.
        const other = fresh(example, { website_id: 'web_1_1' });
        const under = { ...other.arguments, idempotency_key: example.arguments['idempotency_key'] };
        const changed = name === 'config_plan' ? { ...under, changes: { enabled: true } } : under;
        expect(await tell({ ...other, arguments: changed })).toBe('idempotency_conflict');
        const { idempotency_key: _, ...keyless } = example.arguments;
        expect(await tell({ name, arguments: keyless })).toBe('idempotency_key_required');
    });
    it.each(EXAMPLES)('%s: %s over REST, with the headers that the guide names', async (guide, name) => {
        const { arguments: values } = shown(guide, name);
        const tool = gateway.corridor.registry.get(name) ?? expect.fail(name);
        const path = tool.path.replace(/\{(\w+)\}/g, (_, id) => String(values[id]));
        const query = tool.parameters.filter((one) => one.in === 'query' && one.name in values);
        const body = Object.fromEntries(tool.parameters
            .filter((one) => one.in === 'body' && one.name in values)
            .map((one) => [one.name, values[one.name]]));
        const url = `${path}?${query.map((one) => `${one.name}=${String(values[one.name])}`).join('&')}`.replace(/\?$/, '');
        const headers = { 'idempotency-key': String(values['idempotency_key']) };
        const first = await gateway.ask(url, { token, body, headers });
        const again = await gateway.ask(url, { token, body, headers });
        expect([first.status, again.status, again.text], first.text).toEqual([200, 200, first.text]);
        expect(first.headers['x-gateway-operation-id']).toMatch(/^op_[a-f0-9]{64}$/);
        expect(again.headers['x-gateway-operation-id']).toBe(first.headers['x-gateway-operation-id']);
        expect([first.headers['idempotency-replayed'], again.headers['idempotency-replayed']]).toEqual([undefined, 'true']);
    });
});
describe('the jobs of the other guides', () => {
    it('contacts: the note is there afterwards, word for word, in the name of the operator', async () => {
        const example = shown('contacts', 'visitor_note_add');
        const text = '  Asked for an invoice copy by post.\n';
        const { note } = (await call(fresh(example, { text }))).result.structuredContent.data.data;
        const { notes } = await read('visitor_notes', { visitor_id: example.arguments['visitor_id'] });
        expect(notes[0]).toEqual({ ...note, text_truncated: false });
        expect(note.text).toBe(text);
        const [operator] = await gateway.database
            .sql `SELECT name FROM platform.operator WHERE tenant = 1 AND site = 1 AND id = 1`;
        expect(note.author).toBe(operator?.['name']);
        expect(await tell(fresh(example, { visitor_id: 'vis_1_1_999999' }))).toBe('not_found');
    });
    it('investigation: value, not label; the status stays; a refusal is kept, and another value takes a new key', async () => {
        const example = shown('investigation', 'conversation_disposition_set');
        const { conversation_id } = example.arguments;
        const before = (await read('conversation', { conversation_id })).conversation;
        expect(await tell(example)).toBe('answered');
        const after = (await read('conversation', { conversation_id })).conversation;
        expect([after.disposition, after.status]).toEqual([example.arguments['disposition'], before.status]);
        const { dispositions } = await read('dispositions', { website_id: 'web_1_1' });
        const of = (enabled) => dispositions.find((one) => one.enabled === enabled);
        for (const disposition of [of(true).label, 'nonsense', ...(of(false) ? [of(false).value] : [])]) {
            const refused = fresh(example, { disposition });
            expect([await tell(refused), await tell(refused)], disposition).toEqual([
                'operation_conflict',
                'operation_conflict',
            ]);
            const mended = { ...refused, arguments: { ...refused.arguments, disposition: of(true).value } };
            expect(await tell(mended)).toBe('idempotency_conflict');
        }
        expect(await tell(fresh(example, { disposition: of(true).value }))).toBe('answered');
        const [crm] = await gateway.database.sql `
      SELECT c.site, min(c.id) AS id FROM platform.conversation c JOIN platform.website w USING (tenant, site)
       WHERE tenant = 1 AND w.crm_integrated GROUP BY c.site`;
        const [value] = await gateway.database.sql `
      SELECT value FROM platform.disposition WHERE tenant = 1 AND site = ${crm?.site ?? ''} AND enabled LIMIT 1`;
        const elsewhere = { conversation_id: `cnv_1_${crm?.site}_${crm?.id}`, disposition: value?.value };
        expect(await tell(fresh(example, elsewhere))).toBe('operation_conflict');
    });
    it('configuration: a stale plan is in conflict, the mended one takes a new key, and nothing has changed', async () => {
        const example = shown('configuration', 'config_plan');
        const item = { website_id: 'web_1_1', path: example.arguments['path'] };
        const before = await read('config_get', item);
        const { preview } = (await call(example)).result.structuredContent.data.data;
        expect(preview).toMatchObject({ approval_required: true, apply_available: false, status: 'preview_only' });
        expect(preview.changes).toEqual([{ field: 'enabled', from: true, to: false }]);
        const same = fresh(example, { changes: { enabled: true, name: before.item.name } });
        expect((await call(same)).result.structuredContent.data.data.preview.changes).toEqual([]);
        const stale = fresh(example, { expected_version: before.item.version + 1 });
        expect([await tell(stale), await tell(fresh(stale, { expected_version: before.item.version }))]).toEqual([
            'operation_conflict',
            'answered',
        ]);
        expect(await tell(fresh(example, { changes: {} }))).toBe('invalid_parameter');
        expect(await tell(fresh(example, { path: '/ai/features/aif_1_2_1' }))).toBe('not_found');
        expect(await read('config_get', item)).toEqual(before);
    });
    it('configuration: the default where the text does not tell; other types, stale and disabled features', async () => {
        const example = shown('configuration', 'ai_feature_execute');
        const run = async (context) => (await call(fresh(example, { context: { type: 'text', ...context } }))).result.structuredContent.data.data.output;
        expect(await run({ text: '12345', default_language: 'pt' })).toEqual({ language: 'pt' });
        expect(await run({ text: '12345' })).toEqual({ language: null });
        expect(await tell(fresh(example, { expected_version: 99 }))).toBe('operation_conflict');
        expect(await tell(fresh(example, { feature_id: 'aif_1_1_4', expected_version: 2 }))).toBe('adapter_not_available');
        const { sql } = gateway.database;
        await sql `UPDATE platform.ai_feature SET enabled = false WHERE tenant = 1 AND site = 1 AND id = 5`;
        expect(await tell(fresh(example))).toBe('operation_conflict');
        await sql `UPDATE platform.ai_feature SET enabled = true WHERE tenant = 1 AND site = 1 AND id = 5`;
        const { token: lacking } = await gateway.issue({ scopes: ['ai_features_read'] });
        expect(await tell(fresh(example), lacking)).toBe('not_permitted');
        const { token: restricted } = await gateway.issue({ channels: ['chn_1_1_1'] });
        expect(await tell(fresh(example), restricted)).toBe('not_permitted');
    });
});
//# sourceMappingURL=guide-writes.test.js.map
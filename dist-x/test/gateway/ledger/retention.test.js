import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SCOPES } from '../../../src/core/scopes.js';
import { upkeep } from '../../../src/gateway/upkeep.js';
import { CONVERSATION, disposition, note, RECEIPTS, SITE, sample, VISITOR, WRITES, } from '../../support/ledger/commands.js';
import { openWorld, SURFACES } from '../../support/ledger/world.js';
/**
 * Tests how long the gateway keeps the outcome of a write, who can see the outcome, and which other traces a write
 * leaves (ID-07 to ID-09).
 */
let world;
let writer;
let count = 0;
const fresh = () => `secret-key-${++count}`;
beforeAll(async () => {
    world = await openWorld();
    writer = await world.writer();
});
afterAll(() => world.close());
const receipt = (operationId, token, site = SITE) => world.gateway.ask(`/api/v1/operations/${operationId}?website_id=${site}`, { token });
const sweep = () => {
    const { database, corridor } = world.gateway;
    return upkeep({ db: database.db, registry: corridor.registry });
};
describe('ID-07 after 24 hours', () => {
    it.each(WRITES)('%s: a tombstone without content, and no second effect', async (tool) => {
        const key = fresh();
        const command = sample(tool, ++count);
        const [journal, text] = [await world.journal(), String(command.input['text'] ?? '')];
        const notes = await world.notes(text);
        const done = await world.write('REST', command, { ...writer, key });
        const id = done.operationId;
        expect(done.status).toBe(200);
        await world.age(id, '23 hours 59 minutes 50 seconds');
        await sweep();
        expect((await world.write('MCP', command, { ...writer, key })).text).toBe(done.text);
        await world.age(id, '10 seconds');
        const forgotten = async () => {
            for (const surface of SURFACES) {
                const reply = await world.write(surface, command, { ...writer, key });
                expect([reply.status, reply.code, reply.operationId]).toEqual([409, 'outcome_unknown', id]);
                expect([reply.replayed, reply.retryAfter]).toEqual([false, undefined]);
            }
        };
        await forgotten(); // no round of upkeep has run yet
        expect(await sweep()).toBeGreaterThanOrEqual(1);
        await forgotten();
        // The ledger has forgotten the first input. Another input under the same key therefore gets the same answer.
        const other = await world.write('REST', sample(tool, ++count), { ...writer, key });
        expect([other.status, other.code]).toEqual([409, 'outcome_unknown']);
        await world.age(id, '400 days');
        await sweep();
        await forgotten();
        expect((await world.journal()).length).toBe(journal.length + RECEIPTS[tool].length);
        if (tool === 'visitor_note_add')
            expect(await world.notes(text)).toBe(notes + 1);
        const row = (await world.row(id)) ?? '';
        expect(row).toMatch(new RegExp(`^\\(${id},${writer.credential},1,1,1,${tool},acknowledged,"[^"]+",,,1,,,\\)$`));
        expect((await receipt(id, writer.token)).body.data.status).toBe('acknowledged');
    });
    it('leaves no text, name, key or token in the ledger, nor does the ledger ever hold a note’s text', async () => {
        const { sql } = world.gateway.database;
        const [key, text] = [fresh(), 'Zanzibar: her own words'];
        const done = await world.write('REST', note(text), { ...writer, key });
        const dump = async () => JSON.stringify(await sql `SELECT o::text, encode(fingerprint, 'escape') AS f FROM gateway.operation o`);
        expect(await dump()).not.toContain('Zanzibar');
        expect(await dump()).not.toContain(key);
        await sql `UPDATE gateway.operation SET created_at = created_at - interval '1 day'`;
        await sweep();
        expect(await dump()).not.toMatch(/Maren|Holt|Zanzibar|secret-key|igw|vis_|done|rejected/);
        const [kept] = await sql `SELECT count(*) AS n FROM gateway.operation
      WHERE fingerprint IS NOT NULL OR outcome IS NOT NULL OR lease_until IS NOT NULL`;
        expect(kept?.n).toBe('0');
        expect((await world.row(done.operationId)) ?? '').toContain('acknowledged');
    });
    it('erases everything that is due in one round, however much it is', async () => {
        const { sql } = world.gateway.database;
        await sql `INSERT INTO gateway.operation
        (operation_id, credential_id, revision, tenant, site, operation, status, created_at, fingerprint, outcome)
      SELECT 'op_' || repeat(lpad(to_hex(n), 8, '0'), 8), ${writer.credential}, 1, 1, 1, 'config_plan', 'acknowledged',
             now() - interval '25 hours', decode(repeat('ab', 32), 'hex'), '{"done": {}}'
        FROM generate_series(1, 1200) n`;
        await sweep();
        const [due] = await sql `SELECT count(*) AS n FROM gateway.operation
      WHERE fingerprint IS NOT NULL AND created_at <= now() - interval '24 hours'`;
        expect(due?.n).toBe('0');
    });
});
describe('ID-08 the present policy goes before a stored result', () => {
    it('replays over neither interface without the scope, nor to a revoked token', async () => {
        const { sql } = world.gateway.database;
        const own = await world.writer();
        const [key, command] = [fresh(), note('Kept from view')];
        expect((await world.write('REST', command, { ...own, key })).status).toBe(200);
        const answers = async () => {
            const replies = [];
            for (const surface of SURFACES) {
                const { status, code, replayed, operationId, raw } = await world.write(surface, command, { ...own, key });
                expect([replayed, operationId]).toEqual([false, undefined]);
                expect(raw).not.toMatch(/Kept from view|Maren|op_/);
                replies.push([status, code]);
            }
            return replies;
        };
        await world.change(own.credential, { scopes: SCOPES.filter((scope) => scope !== 'visitor_notes_write') });
        expect(await answers()).toEqual([
            [404, 'not_permitted'],
            [400, '-32602'],
        ]);
        await sql `UPDATE gateway.token SET revoked_at = now() WHERE credential_id = ${own.credential}`;
        expect(await answers()).toEqual([
            [401, 'token_revoked'],
            [401, 'token_revoked'],
        ]);
        expect(await world.notes('Kept from view')).toBe(1);
    });
    it('replays to nobody who cannot see the conversation any more', async () => {
        const { sql } = world.gateway.database;
        const own = await world.writer({ channels: ['chn_1_1_1'] });
        const key = fresh();
        const command = disposition('duplicate');
        expect((await world.write('REST', command, { ...own, key })).status).toBe(200);
        await sql `UPDATE platform.conversation SET channel_id = 2 WHERE tenant = 1 AND site = 1 AND id = 2`;
        const anew = await world.write('REST', command, { ...own, key: fresh() });
        expect([anew.status, anew.code]).toEqual([404, 'not_found']);
        const again = await world.write('REST', command, { ...own, key });
        expect([again.status, again.replayed]).toEqual([404, false]);
        await sql `UPDATE platform.conversation SET channel_id = 1 WHERE tenant = 1 AND site = 1 AND id = 2`;
        expect((await world.write('REST', command, { ...own, key })).replayed).toBe(true);
    });
});
describe('ID-09 operation_get', () => {
    const scopes = {
        visitor_note_add: 'visitor_notes_write',
        conversation_disposition_set: 'conversation_update',
        ai_feature_execute: 'ai_execute',
        config_plan: 'config_plan',
    };
    it.each(WRITES)('%s: agrees with the write in every status', async (tool) => {
        const { sql } = world.gateway.database;
        const own = await world.writer();
        const [key, command] = [fresh(), sample(tool, ++count)];
        const id = (await world.write('REST', command, { ...own, key })).operationId;
        const says = async () => {
            const { status, code, retryAfter, operationId } = await world.write('MCP', command, { ...own, key });
            expect(operationId).toBe(id);
            return [status, code, retryAfter, (await receipt(id, own.token)).body.data.status];
        };
        expect(await says()).toEqual([200, undefined, undefined, 'acknowledged']);
        await sql `UPDATE gateway.operation SET status = 'pending', outcome = NULL WHERE operation_id = ${id ?? ''}`;
        expect(await says()).toEqual([409, 'operation_in_progress', 1, 'pending']);
        const rest = await world.write('REST', command, { ...own, key });
        expect([rest.status, rest.code, rest.retryAfter]).toEqual([409, 'operation_in_progress', 1]);
        await sql `UPDATE gateway.operation SET status = 'outcome_unknown' WHERE operation_id = ${id ?? ''}`;
        expect(await says()).toEqual([409, 'outcome_unknown', undefined, 'outcome_unknown']);
        const { data } = (await receipt(id, own.token)).body;
        expect(data).toMatchObject({ operation_id: id, website_id: SITE, operation: tool });
    });
    it.each(WRITES)('%s: 404 for others, elsewhere, after a change, and without its scope', async (tool) => {
        const own = await world.writer();
        const id = (await world.write('REST', sample(tool, ++count), { ...own, key: fresh() })).operationId;
        expect((await receipt(id, own.token)).status).toBe(200);
        expect((await receipt(id, writer.token)).status).toBe(404);
        expect((await receipt(id, own.token, 'web_1_2')).status).toBe(404);
        expect((await receipt(`op_${'0'.repeat(64)}`, own.token)).status).toBe(404);
        await world.change(own.credential, { scopes: SCOPES.filter((scope) => scope !== scopes[tool]) });
        expect((await receipt(id, own.token)).status).toBe(404);
        await world.change(own.credential, { scopes: [...SCOPES] });
        expect((await receipt(id, own.token)).status).toBe(404);
    });
});
describe('what else tells of a write', () => {
    it('is read at once, and leaves one receipt of its type', async () => {
        const { gateway } = world;
        const { token } = writer;
        const journal = await world.journal();
        const read = async (path) => (await gateway.ask(path, { token })).body;
        const before = (await read(`/api/v1/conversations/${CONVERSATION}`)).data;
        const done = JSON.parse((await world.write('MCP', note('Read at once'), { ...writer, key: fresh() })).text);
        const notes = (await read(`/api/v1/visitors/${VISITOR}/notes?limit=100`)).data;
        const written = Object.values(notes)
            .flat()
            .find((one) => JSON.stringify(one).includes('Read at once'));
        expect(written).toMatchObject({ ...done.data.note, author: 'Maren Holt' });
        const value = before.conversation?.disposition === 'follow-up' ? 'resolved' : 'follow-up';
        await world.write('REST', disposition(` ${value}\u2003`), { ...writer, key: fresh() });
        const after = (await read(`/api/v1/conversations/${CONVERSATION}`)).data;
        expect(JSON.stringify(after)).toContain(`"${value}"`);
        expect(after.conversation?.status).toBe(before.conversation?.status);
        for (const tool of ['ai_feature_execute', 'config_plan']) {
            const features = await read(`/api/v1/ai/features?website_id=${SITE}`);
            expect((await world.write('REST', sample(tool, ++count), { ...writer, key: fresh() })).status).toBe(200);
            expect(await read(`/api/v1/ai/features?website_id=${SITE}`)).toEqual(features);
        }
        expect((await world.journal()).slice(journal.length)).toEqual(['visitor.changed', 'conversation.changed']);
    });
    it('is in health and in capabilities', async () => {
        const { token } = writer;
        const health = await world.gateway.ask(`/api/v1/health?website_id=${SITE}`, { token });
        expect(health.body.data.components).toContainEqual(expect.objectContaining({ name: 'native_writes', status: 'ready' }));
        const { body } = await world.gateway.ask(`/api/v1/capabilities?website_id=${SITE}`, { token });
        const writes = body.data.operations.filter(({ kind }) => kind === 'write');
        const subscriptions = ['create', 'replace', 'delete'].map((what) => `subscription_${what}`);
        expect(writes.map(({ operation }) => operation).sort()).toEqual([...WRITES, ...subscriptions].sort());
    });
});
//# sourceMappingURL=retention.test.js.map
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { put } from '../../support/chatwoot/source-rows.js';
import { SENDING, writeBackWorld } from '../../support/chatwoot/write-back-world.js';
import { eventually } from '../../support/eventually.js';
import { MCP_HEADERS } from '../../support/ledger/commands.js';
import { replyOf, SURFACES } from '../../support/ledger/world.js';
/** Tests the way of statuses and assignments to Chatwoot, with a stand-in for its API over Chatwoot's tables. */
let world;
let writer;
let conversation;
let place;
let count = 0;
const fresh = () => `change-${++count}`;
/** Chatwoot's numbers of its statuses. */
const OPEN = 0;
const RESOLVED = 1;
const SNOOZED = 3;
beforeAll(async () => {
    world = await writeBackWorld();
    conversation = await world.conversation(1);
    await put(world.desk.sql, 'teams', { id: 7, account_id: 1, name: 'returns' });
    await put(world.desk.sql, 'team_members', { team_id: 7, user_id: 1 });
    await world.settled();
    const { sql } = world.store;
    await eventually(async () => expect(await sql `SELECT FROM platform.team WHERE external_id = 'cw:1:team:7'`).toHaveLength(1));
    const [ada] = await sql `
    SELECT concat_ws('_', 'opr', tenant, site, id) AS id, tenant || '_' || site AS place
      FROM platform.operator WHERE external_id = 'cw:1:operator:1'`;
    place = ada?.place ?? '';
    const write = ['conversation_status_set', 'conversation_assign', 'conversation_reply'];
    writer = await world.gateway.issue({ authors: [ada?.id ?? ''], write, withoutApproval: ['conversation_reply'] }, world.source.tenant);
});
beforeEach(async () => {
    world.api.heal();
    await world.desk.sql `UPDATE conversations SET status = 0, assignee_id = 1, team_id = NULL, snoozed_until = NULL,
    updated_at = clock_timestamp() AT TIME ZONE 'UTC' WHERE id = 1`;
    // After an unknown outcome, a conversation waits for ten seconds. The next test does not wait.
    await world.store.sql `UPDATE gateway.write_back SET busy_until = NULL`;
    await world.settled();
    await eventually(async () => expect(await stored()).toMatchObject({ status: 'assigned', operator: 'cw:1:operator:1', team: null }));
});
afterAll(() => world.close());
const TOOLS = { status: 'conversation_status_set', assignment: 'conversation_assign' };
async function write(route, body, key = fresh(), surface = 'REST') {
    const { token } = writer;
    const call = {
        ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
        params: { name: TOOLS[route], arguments: { conversation_id: conversation, ...body, idempotency_key: key } },
    };
    return replyOf(surface, surface === 'REST'
        ? await world.gateway.ask(`/api/v1/conversations/${conversation}/${route}`, {
            ...{ token, body, headers: { 'idempotency-key': key } },
        })
        : await world.gateway.ask('/mcp', { token, body: call, headers: MCP_HEADERS }));
}
async function inChatwoot() {
    const [row] = await world.desk.sql `SELECT status, assignee_id::integer AS operator, team_id::integer AS team,
      snoozed_until AS until, custom_attributes ->> 'gateway_operations' AS marks FROM conversations WHERE id = 1`;
    return row ?? {};
}
/** A page that the source read before a write can follow it, and lasts until the next one. So tests wait for what they expect. */
async function stored() {
    const [row] = await world.store.sql `SELECT c.status, o.external_id AS operator, t.external_id AS team, c.closed_at
      FROM platform.conversation c
      LEFT JOIN platform.operator o ON (o.tenant, o.site, o.id) = (c.tenant, c.site, c.operator_id)
      LEFT JOIN platform.team t ON (t.tenant, t.site, t.id) = (c.tenant, c.site, c.team_id)
     WHERE c.external_id = 'cw:1:conversation:1'`;
    return row ?? {};
}
const idOf = async (table, number) => {
    const [row] = await world.store.sql `SELECT id FROM platform.${world.store.sql(table)}
    WHERE external_id = ${`cw:1:${table}:${number}`}`;
    return `${table === 'team' ? 'tem' : 'opr'}_${place}_${row?.['id']}`;
};
const asked = (end) => world.api.asked.filter((one) => one.startsWith('POST') && one.endsWith(end)).length;
const effects = () => asked('/toggle_status') + asked('/assignments');
const updatedAt = async () => (await world.gateway.ask(`/api/v1/conversations/${conversation}`, { token: writer.token })).body.data.conversation
    .updated_at;
describe('a status', () => {
    it.each(SURFACES)('reaches Chatwoot over %s, with its mark before it, and stands when it comes back', async (surface) => {
        const [key, sent, before] = [fresh(), effects(), await world.receipts()];
        const first = await write('status', { status: 'closed' }, key, surface);
        expect([first.status, first.code]).toEqual([200, undefined]);
        expect(await inChatwoot()).toMatchObject({ status: RESOLVED, operator: 1 });
        expect((await inChatwoot())['marks']).toContain(first.operationId?.slice(0, 35));
        const copy = { status: 'closed', operator: 'cw:1:operator:1', closed_at: expect.any(Date) };
        await expect.poll(stored).toMatchObject(copy);
        await world.settled();
        await expect.poll(stored).toMatchObject(copy);
        expect((await world.receipts()).slice(before.length)).toContain('conversation.changed');
        const again = await write('status', { status: 'closed' }, key, surface);
        expect([again.status, again.text, effects() - sent]).toEqual([200, first.text, 1]);
        expect(await world.status(first.operationId)).toBe('acknowledged');
    });
    it('stands although a page follows it that the source has read before', async () => {
        expect((await write('status', { status: 'closed' })).status).toBe(200);
        const { sql } = world.desk;
        // As in such a page: the state and the time before the write. The next page has what came after it.
        await sql `UPDATE conversations SET status = ${OPEN}, updated_at = updated_at - interval '1 minute',
      last_activity_at = least(last_activity_at, updated_at - interval '1 minute') WHERE id = 1`;
        await world.settled();
        expect(await stored()).toMatchObject({ status: 'closed' });
        await sql `UPDATE conversations SET updated_at = updated_at + interval '2 minutes' WHERE id = 1`;
        await expect.poll(stored).toMatchObject({ status: 'assigned', closed_at: null });
    });
    it('that opens leaves the operator, though Chatwoot assigns the user of the token', async () => {
        await write('status', { status: 'closed' });
        const sent = asked('/assignments');
        const opened = await write('status', { status: 'open' });
        expect([opened.status, asked('/assignments') - sent]).toEqual([200, 1]);
        expect(opened.text).not.toContain('operator_changed');
        expect(await inChatwoot()).toMatchObject({ status: OPEN, operator: 1 });
        await expect.poll(stored).toMatchObject({ status: 'assigned', operator: 'cw:1:operator:1' });
    });
    it('that opens tells if the operator could not be put back', async () => {
        await write('status', { status: 'closed' });
        world.api.fail('POST', '/assignments', { kind: 'status', status: 500 });
        const opened = await write('status', { status: 'open' });
        expect([opened.status, opened.text.includes('"operator_changed":true')]).toEqual([200, true]);
        expect(await inChatwoot()).toMatchObject({ status: OPEN, operator: 2 });
        await expect.poll(stored).toMatchObject({ status: 'assigned', operator: 'cw:1:operator:2' });
    });
    it('snoozes until a time of the future only', async () => {
        const until = new Date(Math.ceil(Date.now() / 1_000 + 3_600) * 1_000);
        expect((await write('status', { status: 'snoozed', until: until.toISOString() })).status).toBe(200);
        expect(await inChatwoot()).toMatchObject({ status: SNOOZED, until });
        const sent = effects();
        const past = await write('status', { status: 'snoozed', until: '2020-01-01T00:00:00Z' });
        expect([past.status, past.code, effects() - sent]).toEqual([409, 'operation_conflict', 0]);
    });
});
describe('an assignment', () => {
    it('gives the conversation to an operator, to a team, and to nobody', async () => {
        expect((await write('assignment', { operator_id: await idOf('operator', 2) })).status).toBe(200);
        expect(await inChatwoot()).toMatchObject({ operator: 2, team: null });
        await expect.poll(stored).toMatchObject({ operator: 'cw:1:operator:2', status: 'assigned' });
        await write('assignment', { operator_id: await idOf('operator', 1) });
        const team = await write('assignment', { team_id: await idOf('team', 7) });
        expect([team.status, team.text.includes(await idOf('team', 7))]).toEqual([200, true]);
        expect(await inChatwoot()).toMatchObject({ operator: 1, team: 7 });
        expect((await write('assignment', { none: true })).status).toBe(200);
        expect(await inChatwoot()).toMatchObject({ operator: null, team: 7 });
        await world.settled();
        await expect.poll(stored).toMatchObject({ operator: null, team: 'cw:1:team:7', status: 'unassigned' });
    });
    it('to somebody whom Chatwoot no longer has is a conflict, and clears nobody', async () => {
        const { sql } = world.store;
        await sql `INSERT INTO platform.operator (tenant, site, id, external_id, name, role)
      SELECT tenant, site, 990, 'cw:1:operator:990', 'Gone', 'operator' FROM platform.operator WHERE external_id = 'cw:1:operator:1'`;
        const sent = effects();
        const gone = await write('assignment', { operator_id: await idOf('operator', 990) });
        expect([gone.status, gone.code, effects() - sent]).toEqual([409, 'operation_conflict', 0]);
        expect(await inChatwoot()).toMatchObject({ operator: 1 });
    });
});
describe('if_updated_at', () => {
    it('is compared before anything is sent, and of two at the same time one is sent', async () => {
        const sent = effects();
        const stale = await write('status', { status: 'closed', if_updated_at: '2020-01-01T00:00:00.000Z' });
        expect([stale.status, stale.code, effects() - sent]).toEqual([409, 'operation_conflict', 0]);
        const if_updated_at = await updatedAt();
        const both = await Promise.all([
            write('status', { status: 'pending', if_updated_at }),
            write('assignment', { none: true, if_updated_at }),
        ]);
        expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
        expect(effects() - sent).toBe(1);
    });
});
const UNKNOWN = [409, 'outcome_unknown'];
/** Each fault of the request with the effect, with its answer, and whether the effect is there. */
const CASES = [
    ['401', { kind: 'status', status: 401 }, [503, 'native_unavailable'], false],
    ['404 of Chatwoot', { kind: 'status', status: 404 }, [404, 'not_found'], false],
    ['422', { kind: 'status', status: 422 }, [409, 'operation_conflict'], false],
    ['422 after the effect', { kind: 'status', status: 422, after: true }, UNKNOWN, true],
    ['429', { kind: 'status', status: 429 }, [503, 'native_unavailable'], false],
    ['500', { kind: 'status', status: 500 }, UNKNOWN, false],
    ['500 after the effect', { kind: 'status', status: 500, after: true }, UNKNOWN, true],
    ['a reset before the effect', { kind: 'reset' }, UNKNOWN, false],
    ['a reset after the effect', { kind: 'lost' }, UNKNOWN, true],
    ['no JSON', { kind: 'text' }, UNKNOWN, true],
    ['a huge answer', { kind: 'huge' }, UNKNOWN, true],
    ['silence', { kind: 'hang' }, UNKNOWN, false],
    ['an answer after the timeout', { kind: 'late', ms: SENDING + 500 }, UNKNOWN, true],
];
const CHANGES = [
    ['status', { status: 'closed' }, '/toggle_status'],
    ['assignment', { none: true }, '/assignments'],
];
describe.each(CHANGES)('a fault at a change of the %s', (route, body, end) => {
    const isThere = async () => {
        const { status, operator } = await inChatwoot();
        return route === 'status' ? status === RESOLVED : operator === null;
    };
    it.each(CASES)('%s', async (_, fault, answer, there) => {
        world.api.fail('POST', end, fault);
        const [key, sent] = [fresh(), effects()];
        const first = await write(route, body, key);
        expect([first.status, first.code, effects() - sent]).toEqual([...answer, 1]);
        await expect.poll(isThere).toBe(there);
        if (answer !== UNKNOWN)
            return;
        expect(await world.status(first.operationId)).toBe('outcome_unknown');
        await world.reconcile(first.operationId);
        const again = await write(route, body, key);
        expect([again.status, again.code]).toEqual(there ? [200, undefined] : UNKNOWN);
        // The write is never sent again.
        expect(effects() - sent).toBe(1);
        await world.settled();
        await expect
            .poll(async () => (await stored())['status'])
            .toBe(there ? (route === 'status' ? 'closed' : 'unassigned') : 'assigned');
    });
    it.each([
        ['500', { kind: 'status', status: 500 }],
        ['a reset after it', { kind: 'lost' }],
        ['silence', { kind: 'hang' }],
    ])('%s at the mark: nothing else is sent, and the key can be used again', async (_, fault) => {
        world.api.merges(true);
        await write(route, route === 'status' ? { status: 'open' } : { operator_id: await idOf('operator', 1) });
        world.api.fail('POST', '/custom_attributes', fault);
        const [key, sent] = [fresh(), effects()];
        const first = await write(route, body, key);
        expect([first.status, first.code, effects() - sent, await isThere()]).toEqual([
            503,
            'native_unavailable',
            0,
            false,
        ]);
        world.api.heal();
        const again = await write(route, body, key);
        expect([again.status, effects() - sent, await isThere()]).toEqual([200, 1, true]);
    });
});
//# sourceMappingURL=write-back-changes.test.js.map
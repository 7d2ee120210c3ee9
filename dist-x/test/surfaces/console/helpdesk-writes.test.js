import { afterAll, beforeAll, expect, it } from 'vitest';
import { look, signedInAs, submit } from '../../support/console/console.js';
import { openTestGateway } from '../../support/gateway.js';
import { asker, freshKey } from '../../support/ledger/approvals.js';
import { rpc } from '../../support/surfaces/mcp.js';
/** What the console shows of writes that exist by a credential's policy, and of those that wait. */
const CONVERSATION = 'cnv_1_1_2';
const WRITES = ['conversation_reply', 'conversation_status_set', 'conversation_assign'];
let gateway;
let owner;
let by;
beforeAll(async () => {
    gateway = await openTestGateway('demo', undefined, undefined, {}, undefined, undefined, true);
    owner = await signedInAs(gateway);
    by = await asker(gateway, WRITES.slice(1), { write: WRITES });
});
afterAll(() => gateway.close());
async function asked(path, body) {
    const answer = await gateway.ask(`/api/v1/conversations/${CONVERSATION}/${path}`, {
        token: by.token,
        body,
        headers: { 'idempotency-key': freshKey() },
    });
    expect(answer.status).toBe(202);
    return String(answer.headers['location']);
}
/** The facts of a page: each name with its text. */
async function factsOf(page) {
    const { text } = await look(gateway, page, owner.cookie);
    const found = [...text.matchAll(/<dt>([^<]*)<\/dt>\s*<dd[^>]*>(.*?)<\/dd>/gs)];
    return Object.fromEntries(found.map(([, name = '', said = '']) => [name, said.replace(/<[^>]*>/g, '').trim()]));
}
it('the page of the app names them, and which of them wait', async () => {
    expect(await factsOf(`/console/apps/${by.app}`)).toMatchObject({
        'May also': WRITES.join(', '),
        'Waits for approval': 'conversation_status_set, conversation_assign, conversation_reply',
    });
    const free = await gateway.issue({ write: WRITES, withoutApproval: ['conversation_reply'] });
    const facts = await factsOf(`/console/apps/${free.app}`);
    expect([facts['May also'], facts['Waits for approval']]).toEqual([WRITES.join(', '), undefined]);
});
it('the page of a write shows who would read the text, what the status becomes, and who gets the conversation by name', async () => {
    const since = '2026-01-01T00:00:00.000Z';
    const shown = { Concerns: expect.stringContaining(CONVERSATION), State: 'waiting', Author: 'Maren Holt' };
    const [operator, team] = await Promise.all([
        gateway.database.sql `SELECT name FROM platform.operator WHERE tenant = 1 AND site = 1 AND id = 3`,
        gateway.database.sql `SELECT name FROM platform.team WHERE tenant = 1 AND site = 1 AND id = 1`,
    ]);
    expect(await factsOf(await asked('replies', { text: 'It is on its way.', visibility: 'public' }))).toMatchObject({
        ...shown,
        Operation: 'conversation_reply',
        Text: 'It is on its way.',
        Visibility: 'Public: the customer reads it',
    });
    expect(await factsOf(await asked('status', { status: 'closed', if_updated_at: since }))).toMatchObject({
        ...shown,
        Operation: 'conversation_status_set',
        Status: 'closed',
        'Only if not changed since': expect.stringContaining('2026-01-01'),
    });
    expect(await factsOf(await asked('assignment', { operator_id: 'opr_1_1_3' }))).toMatchObject({
        ...shown,
        Operation: 'conversation_assign',
        Operator: `opr_1_1_3 ${operator[0]?.['name']}`,
    });
    const assigned = await factsOf(await asked('assignment', { team_id: 'tem_1_1_1' }));
    expect([assigned['Team'], assigned['Operator']]).toEqual([`tem_1_1_1 ${team[0]?.['name']}`, undefined]);
    expect(await factsOf(await asked('assignment', { none: true }))).toMatchObject({ Operator: 'None. The team stays.' });
});
it('the queue finds them by their operation', async () => {
    for (const name of WRITES) {
        const { text } = await look(gateway, `/console/approvals?operation=${name}`, owner.cookie);
        expect(text).toContain(`<option value="${name}" selected>`);
        expect(text.split('href="/console/approvals/op_').length - 1).toBe(name === 'conversation_assign' ? 3 : 1);
    }
});
it('MCP tells an agent that a public reply waits', async () => {
    const { body } = await rpc(gateway.port, by.token, 'tools/call', { name: 'gateway_context', arguments: {} });
    const told = JSON.stringify(body.result.structuredContent);
    expect(told.match(/"approval_required":\[[^\]]*\]/)?.[0]).toContain('conversation_reply');
});
it('an owner switches them off and on for an app', async () => {
    const page = `/console/apps/${by.app}/operations`;
    const press = (to) => submit(gateway, owner, { page: `${page}?q=conversation_reply`, action: `${page}/conversation_reply/${to}` });
    const reply = async () => gateway.ask(`/api/v1/conversations/${CONVERSATION}/replies`, {
        token: by.token,
        body: { text: 'Switched', visibility: 'public' },
        headers: { 'idempotency-key': freshKey() },
    });
    const stranger = await gateway.issue();
    const { text } = await look(gateway, `/console/apps/${stranger.app}/operations?q=conversation_reply`, owner.cookie);
    expect(text).not.toContain('<code>conversation_reply</code>');
    expect((await press('off')).status).toBe(303);
    expect([(await reply()).status, (await reply()).body.code]).toEqual([404, 'not_permitted']);
    expect((await press('on')).status).toBe(303);
    expect((await reply()).status).toBe(202);
});
//# sourceMappingURL=helpdesk-writes.test.js.map
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { World } from '../../support/authority/world.js';
import { openTestGateway } from '../../support/gateway.js';
let gateway;
beforeAll(async () => {
    gateway = await openTestGateway('empty');
    await new World(gateway.database.sql).whole();
});
afterAll(() => gateway.close());
const PATH = '/api/v1/conversations/cnv_1_1_1';
async function answer(path, grant = {}) {
    const { token } = await gateway.issue(grant);
    const { status, body, text } = await gateway.ask(path, { token });
    expect(status, text).toBe(200);
    return body.data;
}
const ids = (rows) => rows.map(({ id }) => id);
describe('conversation_brief', () => {
    it('joins the answers of the operations that it replaces', async () => {
        const brief = await answer(`${PATH}/brief?include_internal=true`);
        expect(brief.conversation).toEqual((await answer(PATH)).conversation);
        const { messages } = await answer(`${PATH}/messages?include_internal=true&order=asc`);
        expect(brief.messages).toEqual(messages);
        const { contacts } = await answer(`${PATH}/contacts`);
        expect(brief.contacts).toEqual(contacts.map(({ id, name, email }) => ({ id, name, email })));
        expect(brief.notes).toEqual((await answer('/api/v1/visitors/vis_1_1_1/notes')).notes);
        const [operators, teams, channels] = await Promise.all(['operators', 'teams', 'channels'].map(async (list) => (await answer(`/api/v1/${list}?website_id=web_1_1`))[list]));
        const first = (rows) => {
            const { id, name } = rows.find((one) => one.id.endsWith('_1')) ?? expect.fail('no row 1');
            return { id, name };
        };
        expect([brief.operator, brief.team, brief.channel]).toEqual([first(operators), first(teams), first(channels)]);
        expect(brief.left_out).toEqual([]);
    });
    it('shows the newest messages, the oldest of them first, and internal messages only if asked', async () => {
        expect(ids((await answer(`${PATH}/brief?messages=3`)).messages)).toEqual(['msg_1_1_3', 'msg_1_1_5', 'msg_1_1_6']);
        expect(ids((await answer(`${PATH}/brief`)).messages)).toHaveLength(5);
        const all = await answer(`${PATH}/brief?messages=3&include_internal=true`);
        expect(ids(all.messages)).toEqual(['msg_1_1_4', 'msg_1_1_5', 'msg_1_1_6']);
    });
    it('tells a part without a record from a part that is not granted', async () => {
        await gateway.database.sql `UPDATE platform.conversation SET visitor_id = NULL
      WHERE tenant = 1 AND site = 1 AND id = 5`;
        const bare = await answer('/api/v1/conversations/cnv_1_1_5/brief');
        expect(bare).toMatchObject({ operator: null, team: null, channel: null, notes: [], left_out: [] });
        const little = await answer(`${PATH}/brief`, { scopes: ['conversation_read'] });
        expect(Object.keys(little).sort()).toEqual(['conversation', 'left_out']);
        expect(little.left_out).toEqual(['contacts', 'operator', 'team', 'channel', 'messages', 'notes']);
        const restricted = await answer(`${PATH}/brief`, { teams: ['tem_1_1_1'] });
        expect([restricted.left_out, restricted.notes]).toEqual([['notes'], undefined]);
    });
    it('shows the newest 20 notes, and costs 2 units', async () => {
        const { sql } = gateway.database;
        await sql `INSERT INTO platform.note (tenant, site, id, external_id, visitor_id, text, created_at)
      SELECT 1, 1, n, 'more-' || n, 2, 'note', now() FROM generate_series(200, 229) n`;
        const { notes } = await answer('/api/v1/conversations/cnv_1_1_3/brief');
        expect(ids(notes)).toEqual(Array.from({ length: 20 }, (_, i) => String(229 - i)));
        const { token } = await gateway.issue({ perMinute: 1, burst: 100 });
        const { headers } = await gateway.ask(`${PATH}/brief`, { token });
        expect(headers['ratelimit']).toMatch(/r=98;/);
    });
    it('refuses numbers of messages out of range', async () => {
        const { token } = await gateway.issue();
        for (const messages of ['0', '101', 'x', ''])
            expect((await gateway.ask(`${PATH}/brief?messages=${messages}`, { token })).status, messages).toBe(400);
    });
});
//# sourceMappingURL=conversation-brief.test.js.map
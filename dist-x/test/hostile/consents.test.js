import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestGateway } from '../support/gateway.js';
import { CALLBACK, consented, csrfOf, formOf, newClient, newSession, pkce, post, RESOURCE, request, SAME, token, } from '../support/oauth/oauth.js';
import { rpc } from '../support/surfaces/mcp.js';
/**
 * A consent grants only what its page showed. When the credential changes later, the consent can lose rights but never
 * gain any.
 */
const SCOPES = ['website_read', 'conversation_read', 'contact_read', 'contact_read_pii'];
const FLAGS = ['pii', 'message_content', 'internal_notes'];
const CONTACTS = '/api/v1/contacts?website_id=web_1_1&limit=100';
let gateway;
let names;
/** Three channels with few conversations. The conversations of any two of these channels fit on one page. */
let channels;
beforeAll(async () => {
    gateway = await openTestGateway('demo');
    const rows = await gateway.database.sql `
    SELECT name FROM platform.contact WHERE tenant = 1 AND site = 1 AND NOT deleted AND length(name) > 8`;
    names = rows.map(({ name }) => name);
    expect(names.length).toBeGreaterThan(10);
    const few = await gateway.database.sql `
    SELECT 'chn_1_1_' || channel_id AS id FROM platform.conversation WHERE tenant = 1 AND site = 1 AND channel_id IS NOT NULL
     GROUP BY channel_id ORDER BY count(*) LIMIT 3`;
    const [one = '', two = '', three = ''] = few.map(({ id }) => id);
    channels = [one, two, three];
});
afterAll(() => gateway.close());
async function change(client, flags, limits = {}) {
    const { channel_ids = null, team_ids = null, subsite_ids = null } = limits;
    const list = (ids) => (ids === null ? null : [...ids]);
    await gateway.database.sql `UPDATE gateway.credential
    SET data_access = ${[...flags]}, channel_ids = ${list(channel_ids)}, team_ids = ${list(team_ids)},
        subsite_ids = ${list(subsite_ids)} WHERE id = ${client.credential}`;
}
async function called(on, access, tool, path, input) {
    if (on === 'rest')
        return (await gateway.ask(path, { token: access })).text;
    return (await rpc(gateway.port, access, 'tools/call', { name: tool, arguments: input })).text;
}
const contacts = (on, access) => called(on, access, 'contacts_list', CONTACTS, { website_id: 'web_1_1', limit: 100 });
const conversations = (on, access) => called(on, access, 'conversations_list', '/api/v1/conversations?website_id=web_1_1&limit=100', {
    website_id: 'web_1_1',
    limit: 100,
});
async function context(on, access) {
    const text = await called(on, access, 'gateway_context', '/api/v1/context', {});
    const body = JSON.parse(text);
    const { data_access, restrictions } = on === 'rest' ? body : body.result.structuredContent.data;
    return { flags: Object.keys(data_access).filter((flag) => data_access[flag]), restrictions };
}
const shown = (text) => names.filter((name) => text.includes(JSON.stringify(name).slice(1, -1))).length;
const listed = (text) => new Set(text.match(/cnv_1_1_\d+/g) ?? []).size;
async function consent(on, client, session) {
    const changes = { resource: RESOURCE[on], scope: SCOPES.join(' ') };
    const { exchange } = await consented(gateway, client, {
        session,
        changes,
        choice: { scope: [...SCOPES], renewal: 'yes' },
    });
    const granted = (await token(gateway, client, exchange)).body;
    let { refresh_token } = granted;
    const refreshed = async () => {
        const { body } = await token(gateway, client, {
            grant_type: 'refresh_token',
            refresh_token,
            resource: RESOURCE[on],
        });
        ({ refresh_token } = body);
        return body.access_token;
    };
    return { client, access: granted.access_token, refreshed };
}
describe.each(['rest', 'mcp'])('CP-04 a consent given over the page holds what the page showed: %s', (on) => {
    it('shown masked, widened since: neither the token nor a refreshed one sees a name; narrowed: less at once', async () => {
        const client = await newClient(gateway, { scopes: SCOPES, dataAccess: [] });
        const session = await newSession(gateway, client);
        const query = formOf(request(client, pkce(), { resource: RESOURCE[on], scope: SCOPES.join(' ') }));
        const page = await gateway.ask(`/oauth/authorize?${query}`, { unchecked: true, headers: { cookie: session } });
        expect(page.text).toContain('Masked:');
        const masked = await consent(on, client, session);
        expect(shown(await contacts(on, masked.access))).toBe(0);
        await change(client, FLAGS);
        for (const access of [masked.access, await masked.refreshed(), await masked.refreshed()]) {
            const text = await contacts(on, access);
            expect(text).toContain('ctc_1_1_');
            expect(shown(text)).toBe(0);
            expect((await context(on, access)).flags).toEqual([]);
        }
        const open = await consent(on, client, session);
        expect(shown(await contacts(on, open.access))).toBeGreaterThan(5);
        expect((await context(on, open.access)).flags.sort()).toEqual([...FLAGS].sort());
        await change(client, ['message_content']);
        for (const access of [open.access, await open.refreshed()]) {
            expect(shown(await contacts(on, access))).toBe(0);
            expect((await context(on, access)).flags).toEqual(['message_content']);
        }
        expect((await context(on, masked.access)).flags).toEqual([]);
    });
    it('restrictions of then and of now are both held, and stay when the credential is freed', async () => {
        const [one, two, three] = channels;
        const client = await newClient(gateway, { scopes: SCOPES, channels: [one, two] });
        const session = await newSession(gateway, client);
        const restricted = await consent(on, client, session);
        const both = listed(await conversations(on, restricted.access));
        expect(both).toBeGreaterThan(0);
        await change(client, FLAGS);
        const free = await consent(on, client, session);
        expect(listed(await conversations(on, free.access))).toBeGreaterThan(both);
        expect((await context(on, free.access)).restrictions).toEqual({});
        for (const access of [restricted.access, await restricted.refreshed()]) {
            expect(listed(await conversations(on, access))).toBe(both);
            expect((await context(on, access)).restrictions).toEqual({ channel_ids: [one, two] });
            expect(shown(await contacts(on, access))).toBe(0);
            expect(await contacts(on, access)).not.toContain('ctc_1_1_');
        }
        if (on === 'mcp') {
            const tools = async ({ access }) => (await rpc(gateway.port, access, 'tools/list')).text;
            expect(await tools(free)).toContain('"contacts_list"');
            expect(await tools(restricted)).not.toContain('"contacts_list"');
        }
        const [oneTeam] = await gateway.database.sql `
      SELECT 'tem_1_1_' || id AS id FROM platform.team WHERE tenant = 1 AND site = 1 ORDER BY id LIMIT 1`;
        const teams = [oneTeam?.id ?? ''];
        await change(client, FLAGS, { channel_ids: [two, three], team_ids: teams });
        expect((await context(on, restricted.access)).restrictions).toEqual({
            channel_ids: [two],
            team_ids: teams,
        });
        expect((await context(on, free.access)).restrictions).toEqual({
            channel_ids: [two, three],
            team_ids: teams,
        });
        await change(client, FLAGS, { channel_ids: [three] });
        expect((await context(on, restricted.access)).restrictions).toEqual({ channel_ids: [] });
        expect(listed(await conversations(on, restricted.access))).toBe(0);
        expect(listed(await conversations(on, await restricted.refreshed()))).toBe(0);
    });
});
describe('CP-04 a page that was shown before the credential changed', () => {
    it.each([
        ['widened', (client) => change(client, FLAGS)],
        ['freed of its restrictions', (client) => change(client, [])],
        [
            'given another website and taken one',
            (client) => gateway.database.sql `UPDATE gateway.credential SET sites = '{2}' WHERE id = ${client.credential}`,
        ],
    ])('%s: it cannot be approved any more, gives no code, and can be denied', async (_, widen) => {
        const client = await newClient(gateway, { scopes: SCOPES, dataAccess: [], channels: ['chn_1_1_1'] });
        const cookie = await newSession(gateway, client);
        const query = formOf(request(client, pkce()));
        const before = await gateway.ask(`/oauth/authorize?${query}`, { unchecked: true, headers: { cookie } });
        await widen(client);
        const send = (csrf, decision) => post(gateway, `/oauth/consent?${query}`, { csrf, scope: ['website_read'], website_id: ['web_1_1'], renewal: 'yes', decision }, { ...SAME, cookie });
        for (const csrf of [csrfOf(before), csrfOf(before)]) {
            const stale = await send(csrf, 'approve');
            expect([stale.status, stale.headers.location], stale.text).toEqual([409, undefined]);
            expect(stale.text).toContain('This request is no longer open');
        }
        const consents = await gateway.database.sql `SELECT FROM gateway.consent WHERE credential_id = ${client.credential}`;
        expect(consents).toHaveLength(0);
        // A client cannot compute the CSRF token of a new page from the token of an old page.
        const after = await gateway.ask(`/oauth/authorize?${query}`, { unchecked: true, headers: { cookie } });
        const [now = ''] = csrfOf(after).split('.');
        const forged = await send(csrfOf(before).replace(/^[^.]*/, now), 'approve');
        expect([forged.status, forged.headers.location]).toEqual([400, undefined]);
        const denied = await send(csrfOf(before), 'deny');
        expect(denied.headers.location).toContain(`${CALLBACK}?error=access_denied`);
    });
});
//# sourceMappingURL=consents.test.js.map
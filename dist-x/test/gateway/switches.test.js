import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { switchTools, UnknownOperations } from '../../src/gateway/switches.js';
import { readApps } from '../../src/store/administration/apps.js';
import { freshDatabase } from '../support/database.js';
import { Client, ORIGIN, openSession } from '../support/events/realtime.js';
import { openTestGateway } from '../support/gateway.js';
import { KEYS } from '../support/keys.js';
import { connect, hostedOptions, openDocuments } from '../support/oauth/hosted.js';
import { newPerson } from '../support/oauth/oauth.js';
import { rpc as a2a, work } from '../support/surfaces/a2a.js';
import { rpc as mcp, modern } from '../support/surfaces/mcp.js';
import { freshKey, writer } from '../support/surfaces/wire.js';
/**
 * Operations that an owner has switched off for an app. test/laws/cells.test.ts calls every operation over every
 * interface while all of them are off. Two gateways share a store, and both remember the authority.
 */
const WEB = 'web_1_1';
const OFF = 'The owner has switched this operation off for the app.';
let database;
let documents;
let gateways;
let gateway;
let contact;
beforeAll(async () => {
    database = await freshDatabase('demo');
    documents = await openDocuments();
    const shared = { ...database, close: async () => undefined };
    const open = () => openTestGateway('demo', shared, KEYS, {}, hostedOptions(documents));
    gateways = [await open(), await open()];
    [gateway] = gateways; // two were opened
    const { token } = await gateway.issue();
    contact = (await gateway.ask(`/api/v1/contacts?website_id=${WEB}`, { token })).body.data.data[0].id;
});
afterAll(async () => {
    for (const one of gateways)
        await one.close();
    await documents.close();
    await database.close();
});
const turn = (app, off, on = []) => switchTools(database.db, gateway.corridor.registry, { id: app, tenant: '1' }, { off, on });
const read = (token, at = gateway) => at.ask(`/api/v1/contacts/${contact}`, { token });
const tool = (token, name, input, at = gateway) => mcp(at.port, token, 'tools/call', { name, arguments: input });
const task = (token, at = gateway) => a2a(at.port, token, 'SendMessage', work('contact_inspection', { contact_id: contact }));
/** What each interface says: ok, or the code of its refusal. */
async function says(token) {
    const said = [];
    for (const at of gateways) {
        const rest = await read(token, at);
        const called = await tool(token, 'contact_get', { contact_id: contact }, at);
        const sent = await task(token, at);
        said.push(rest.status === 200 ? 'ok' : `${rest.status} ${rest.body.code}`);
        said.push(called.body.result ? 'ok' : `${called.body.error.code} ${called.body.error.data.code}`);
        said.push(sent.body.result ? 'ok' : `${sent.status} ${sent.body.code}`);
    }
    return said;
}
const ALLOWED = Array.from({ length: 6 }, () => 'ok');
const REFUSED = [1, 2].flatMap(() => ['404 not_permitted', '-32602 not_permitted', '404 not_permitted']);
describe('a switch', () => {
    it('acts at the next call over each interface, on each gateway, for every credential of the app and no other app', async () => {
        const one = await gateway.issue();
        const sibling = await gateway.issue({ app: one.app });
        const other = await gateway.issue();
        for (let round = 0; round < 3; round++) {
            for (const { token } of [one, sibling, other])
                expect(await says(token)).toEqual(ALLOWED);
            expect(await turn(one.app, ['contact_get'])).toEqual(['contact_get']);
            for (const { token } of [one, sibling])
                expect(await says(token)).toEqual(REFUSED);
            expect(await says(other.token)).toEqual(ALLOWED);
            expect(await turn(one.app, [], ['contact_get'])).toEqual([]);
        }
    });
    it('says so, in words, and names no missing grant', async () => {
        const { token, app } = await gateway.issue();
        await turn(app, ['contact_get']);
        const rest = (await read(token)).body;
        expect(rest.detail).toContain(OFF);
        expect(rest.required).toBeUndefined();
        const { error } = (await tool(token, 'contact_get', { contact_id: contact })).body;
        expect(error.message).toContain(OFF);
        expect(error.data).toEqual({ code: 'not_permitted' });
        expect((await task(token)).body.detail).toContain(OFF);
    });
    it('is of one organization, and only of operations that exist', async () => {
        const { app } = await gateway.issue();
        await expect(turn(app, ['contact_get', 'nonsense'], ['constructor'])).rejects.toMatchObject({
            names: ['nonsense', 'constructor'],
        });
        await expect(turn(app, ['nonsense'])).rejects.toBeInstanceOf(UnknownOperations);
        const stranger = { id: app, tenant: '2' };
        const change = { off: ['contact_get'], on: [] };
        expect(await switchTools(database.db, gateway.corridor.registry, stranger, change)).toBeUndefined();
        expect((await readApps(database.db, { id: app }))[0]?.switched_off).toEqual([]);
        expect(await turn(app, ['search', 'contact_get', 'search'], ['search'])).toEqual(['contact_get']);
    });
    it('twenty at the same time are all kept', async () => {
        const { app, token } = await gateway.issue();
        const names = gateway.corridor.registry.tools.map(({ name }) => name).slice(0, 20);
        await Promise.all(names.map((name) => turn(app, [name])));
        expect((await readApps(database.db, { id: app }))[0]?.switched_off).toEqual(names);
        await Promise.all(names.map((name) => turn(app, [], [name])));
        expect((await readApps(database.db, { id: app }))[0]?.switched_off).toEqual([]);
        expect((await read(token)).status).toBe(200);
    });
});
describe('what is switched off is gone', () => {
    it('from each list, and access_explain says who switched it off', async () => {
        const { token, app } = await gateway.issue();
        const other = await gateway.issue();
        await turn(app, ['contact_get', 'config_get', 'conversation_brief']);
        const list = async (method, member, key, by) => (await mcp(gateway.port, by, method)).body.result[member].map((one) => one[key]);
        for (const [method, member, key, gone] of [
            ['tools/list', 'tools', 'name', 'contact_get'],
            ['resources/templates/list', 'resourceTemplates', 'uriTemplate', 'ai/features'],
            ['prompts/list', 'prompts', 'name', 'configuration'],
        ]) {
            const before = await list(method, member, key, other.token);
            const after = await list(method, member, key, token);
            expect(before.some((one) => one.includes(gone)), method).toBe(true);
            expect(after.some((one) => one.includes(gone)), method).toBe(false);
            expect(after.length, method).toBeGreaterThan(0);
        }
        const { operations } = (await gateway.ask(`/api/v1/capabilities?website_id=${WEB}`, { token })).body.data;
        expect(operations.map((one) => one.operation)).not.toContain('contact_get');
        const guide = await mcp(gateway.port, token, 'resources/read', { uri: 'skill://hand-over/SKILL.md' });
        expect(JSON.stringify(guide.body)).not.toContain('`conversation_brief`');
        const explained = (await gateway.ask('/api/v1/access?operations=contact_get,search', { token })).body.data;
        expect(explained.operations).toEqual([
            {
                operation: 'contact_get',
                allowed: false,
                lacks: { scopes: [], data_access: [], unrestricted: false, author: false, switched_off: true },
                sentence: `${OFF} Ask the owner to switch it on.`,
            },
            expect.objectContaining({ operation: 'search', allowed: true }),
        ]);
    });
    it('for events over MCP: no mode without its operation, and a subscription can still be ended', async () => {
        const { token, app } = await gateway.issue();
        const modes = async () => (await modern(gateway.port, token, 'events/list')).body.result.events[0]?.delivery;
        expect(await modes()).toEqual(['webhook', 'poll']);
        await turn(app, ['subscription_create']);
        expect(await modes()).toEqual(['poll']);
        const delivery = { mode: 'webhook', url: 'https://hooks.example/x', secret: `whsec_${'A'.repeat(43)}=` };
        const given = { name: 'conversation', arguments: {}, delivery };
        const subscribed = await modern(gateway.port, token, 'events/subscribe', given);
        expect(subscribed.body.error.data).toMatchObject({ reason: 'grants' });
        const ended = await modern(gateway.port, token, 'events/unsubscribe', {
            ...given,
            delivery: { url: delivery.url },
        });
        expect(JSON.stringify(ended.body)).not.toContain('grants');
        await turn(app, ['events_pull']);
        expect(await modes()).toBeUndefined();
    });
    it('an open socket closes within 2 s', async () => {
        const { token, app } = await gateway.issue({ origins: [ORIGIN] });
        const client = new Client(gateway.port, await openSession(gateway, token));
        await client.next('ready');
        await turn(app, ['realtime_socket']);
        const began = performance.now();
        expect(await client.closed).toBe(4401);
        expect(performance.now() - began).toBeLessThan(2_500);
    });
    it('the result of a task, as for a grant that was taken away', async () => {
        const { token, app } = await gateway.issue();
        const { task: done } = (await task(token)).body.result;
        expect(done.artifacts).toHaveLength(1);
        const again = async () => (await a2a(gateway.port, token, 'GetTask', { id: done.id })).body.result;
        expect((await again()).artifacts).toHaveLength(1);
        await turn(app, ['contact_get']);
        expect((await again()).artifacts ?? []).toEqual([]);
        await turn(app, [], ['contact_get']);
        expect((await again()).artifacts).toHaveLength(1);
    });
});
describe('a write', () => {
    const note = (own, key) => gateway.ask('/api/v1/visitors/vis_1_1_1/notes', {
        token: own.token,
        body: { text: 'A note.' },
        headers: { 'idempotency-key': key },
    });
    it('its stored outcome is not given again while it is off, and counts as of other authority afterwards', async () => {
        const own = await writer(gateway);
        const key = freshKey();
        const notes = async () => (await database.sql `SELECT 1 FROM platform.note`).length;
        expect((await note(own, key)).status).toBe(200);
        expect((await note(own, key)).headers['idempotency-replayed']).toBe('true');
        const before = await notes();
        await turn(own.app, ['visitor_note_add']);
        const refused = await note(own, key);
        expect([refused.status, refused.body.code]).toEqual([404, 'not_permitted']);
        expect(refused.headers['idempotency-replayed']).toBeUndefined();
        expect((await note(own, freshKey())).status).toBe(404);
        await turn(own.app, [], ['visitor_note_add']);
        const late = await note(own, key);
        expect([late.status, late.body.code]).toEqual([409, 'idempotency_conflict']);
        expect(await notes()).toBe(before);
        expect((await note(own, freshKey())).status).toBe(200);
    });
});
it('a client by URL is not told to ask its person for more, because no consent helps', async () => {
    const url = documents.serve('/client.json');
    const { email } = await newPerson(gateway);
    const scope = ['website_read', 'contact_read'];
    const changes = { scope: scope.join(' '), state: 'x'.repeat(16) };
    const { access } = await connect(gateway, url, email, { wishes: { scope }, changes });
    const call = () => tool(access, 'contact_get', { contact_id: contact });
    expect((await call()).body.result).toBeDefined();
    const [hosted] = (await readApps(database.db)).filter(({ client_host }) => client_host !== null);
    await turn(hosted?.id ?? '', ['contact_get']);
    const refused = await call();
    expect([refused.status, refused.headers['www-authenticate']]).toEqual([200, undefined]);
    expect(refused.body.error.message).toContain(OFF);
    expect(refused.body.error.message).not.toContain('Ask the person');
});
//# sourceMappingURL=switches.test.js.map
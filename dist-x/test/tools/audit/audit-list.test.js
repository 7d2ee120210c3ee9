import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ALL_SCOPES } from '../../support/authority/grants.js';
import { openTestGateway } from '../../support/gateway.js';
import { consented, newClient, newSession, RESOURCE, token as tokenOf } from '../../support/oauth/oauth.js';
import { PLANTED_DIGEST, plantAudit } from '../../support/planted-audit.js';
let gateway;
let own;
let other;
let organization;
let ids;
const DAY = 86_400_000;
const at = (ms) => new Date(Math.floor(Date.now() / DAY) * DAY - DAY + ms).toISOString();
/** The end of yesterday. The planted records lie before it, and the records of a test's own calls behind it. */
const BEFORE = `to=${at(DAY)}`;
const WHOLE = {
    ...{ time: at(9_000), website_id: 'web_1_1', person_id: null, client_name: 'desk', client_version: '2.1' },
    ...{ address: '203.0.113.0/24', surface: 'mcp', operation: 'visitor_note_add', targets: ['vis_1_1_96'] },
    ...{ units: 2, duration_ms: 12.5, request_id: 'req-9', trace_id: '4bf92f3577b34da6a3ce929d0e0e4736' },
    ...{ operation_id: `op_${'0a'.repeat(32)}`, replayed: true },
};
const PLANTED = [
    WHOLE,
    { time: at(8_000), operation: 'contact_get', targets: ['ctc_1_1_89'] },
    { time: at(7_000), operation: 'contact_get', targets: ['ctc_1_1_90'], outcome: 'not_found', status: 404 },
    { time: at(6_000), operation: 'conversation_message', targets: ['cnv_1_1_11', 'msg_1_1_64', 'ctc_1_1_89'] },
    { time: at(5_000), operation: 'conversations_list', count: 25, website_id: 'web_1_1' },
];
async function list(query, token = own.token) {
    const { status, body, text } = await gateway.ask(`/api/v1/audit?${query}`, { token });
    expect(status, text).toBe(200);
    return body.data;
}
const found = async (query, token = own.token) => (await list(query, token)).records.map(({ audit_id }) => audit_id);
beforeAll(async () => {
    gateway = await openTestGateway();
    own = await gateway.issue();
    other = await gateway.issue({ app: own.app });
    organization = (await gateway.ask('/api/v1/context', { token: own.token })).body.organization_id;
    const by = ({ app, installation, credential }) => ({
        ...{ app_id: app, installation_id: installation, credential_id: credential, organization_id: organization },
    });
    ids = await plantAudit(gateway.database, PLANTED.map((record) => ({ ...by(own), ...record })));
    // The same calls of another credential of the app, a page, a command, and one credential's id in another organization.
    await plantAudit(gateway.database, PLANTED.map((record) => ({ ...by(other), ...record })));
    await plantAudit(gateway.database, [
        { time: at(8_500), surface: 'page', organization_id: organization, targets: ['ctc_1_1_89'] },
        { time: at(8_400), surface: 'cli', organization_id: organization, targets: ['ctc_1_1_89'] },
    ]);
});
afterAll(() => gateway.close());
describe('audit_list', () => {
    it('has the members of a record, and neither content nor the digest of the arguments', async () => {
        const { records } = await list(`operation=visitor_note_add&${BEFORE}`);
        expect(records).toEqual([
            {
                ...{ audit_id: ids[0], time: at(9_000), organization_id: organization, website_id: 'web_1_1' },
                ...{ installation_id: own.installation, credential_id: own.credential },
                ...{ client: { name: 'desk', version: '2.1' }, address: '203.0.113.0/24', surface: 'mcp' },
                ...{ operation: 'visitor_note_add', targets: ['vis_1_1_96'], outcome: 'ok', status: 200, units: 2 },
                ...{ duration_ms: 12.5, request_id: 'req-9', trace_id: '4bf92f3577b34da6a3ce929d0e0e4736' },
                ...{ operation_id: `op_${'0a'.repeat(32)}`, replayed: true },
            },
        ]);
        const [plain] = (await list(`target=ctc_1_1_90&${BEFORE}`)).records;
        expect(Object.keys(plain ?? {}).sort()).toEqual(['address', 'audit_id', 'credential_id', 'duration_ms', 'installation_id', 'operation', 'organization_id'].concat(['outcome', 'request_id', 'status', 'surface', 'targets', 'time', 'units']));
        const { text } = await gateway.ask(`/api/v1/audit?${BEFORE}`, { token: own.token });
        expect(text).not.toContain(PLANTED_DIGEST.toString('hex'));
        expect(text).not.toContain(PLANTED_DIGEST.toString('base64'));
    });
    it('shows only the records of the own credential, newest first', async () => {
        expect(await found(BEFORE)).toEqual(ids);
        const theirs = await found(BEFORE, other.token);
        expect(theirs).toHaveLength(PLANTED.length);
        expect(theirs.filter((id) => ids.includes(String(id)))).toEqual([]);
        expect(await found(BEFORE, (await gateway.issue({ scopes: [], dataAccess: [] })).token)).toEqual([]);
    });
    it.each([
        ['operation=contact_get', [1, 2]],
        ['target=ctc_1_1_89', [1, 3]],
        ['target=msg_1_1_64', [3]],
        ['target=web_1_1', [4]],
        ['outcome=not_found', [2]],
        ['outcome=ok&operation=contact_get&target=ctc_1_1_89', [1]],
        [`from=${at(6_000)}`, [0, 1, 2, 3]],
        [`from=${at(6_001)}`, [0, 1, 2]],
        ['target=ctc_1_1_4711', []],
        ['operation=none_such&outcome=none_such', []],
    ])('filters by %s', async (query, expected) => {
        expect(await found(`${query}&${BEFORE}`)).toEqual(expected.map((i) => ids[i]));
    });
    it('excludes the time of to', async () => {
        expect(await found(`to=${at(6_000)}`)).toEqual([ids[4]]);
        expect(await found(`to=${at(6_001)}`)).toEqual([ids[3], ids[4]]);
    });
    it('pages with a cursor, also over records of one millisecond', async () => {
        const { token, app, installation, credential } = await gateway.issue();
        const by = { app_id: app, installation_id: installation, credential_id: credential, organization_id: organization };
        const same = await plantAudit(gateway.database, Array.from({ length: 7 }, () => ({ ...by, time: at(100) })));
        const seen = [];
        let cursor = '';
        for (let pages = 0; cursor !== null && pages < 9; pages++) {
            const page = await list(`${BEFORE}&limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`, token);
            expect(page.records.length).toBeLessThanOrEqual(2);
            seen.push(...page.records.map(({ audit_id }) => audit_id));
            cursor = page.next_cursor;
        }
        expect(seen).toHaveLength(7);
        expect([...seen].sort()).toEqual([...same].sort());
    });
    it('refuses a cursor of another filter, of another credential, and a forged one', async () => {
        const { next_cursor: cursor } = await list(`${BEFORE}&limit=2`);
        expect(await found(`${BEFORE}&limit=2&cursor=${cursor}`)).toEqual([ids[2], ids[3]]);
        const forged = Buffer.from('0123456789:99999999999999999999.nonsense').toString('base64url');
        for (const [query, token] of [
            [`${BEFORE}&operation=contact_get&cursor=${cursor}`, own.token],
            [`cursor=${cursor}`, own.token],
            [`${BEFORE}&cursor=${cursor}`, other.token],
            [`${BEFORE}&cursor=${forged}`, own.token],
            [`${BEFORE}&cursor=${cursor?.slice(0, -1)}`, own.token],
        ]) {
            const { status, body } = await gateway.ask(`/api/v1/audit?${query}`, { token });
            expect([status, body.code], query).toEqual([400, 'invalid_cursor']);
        }
    });
    it.each([
        ['operation=Contact'],
        ['operation=a%00b'],
        ['target=%27%20OR%201=1'],
        [`target=ctc_${'9'.repeat(200)}`],
        ['from=yesterday'],
        ['from=0000-01-01T00:00:00Z'],
        ['limit=101'],
        ['person=prs_1'],
        ['operation=a&operation=b'],
    ])('refuses %s with a 400', async (query) => {
        const { status } = await gateway.ask(`/api/v1/audit?${query}`, { token: own.token });
        expect(status).toBe(400);
    });
    it('refuses five hundred filters in one request with a 400', async () => {
        const filters = Array.from({ length: 500 }, (_, i) => `operation=a${i}`).join('&');
        const { status, body } = await gateway.ask(`/api/v1/audit?${filters}`, { token: own.token });
        expect([status, body.code]).toEqual([400, 'duplicate_parameter']);
    });
    it('ends a page after 10,000 records that do not match, and the next page finds the others', async () => {
        const { token, app, installation, credential } = await gateway.issue();
        const by = { app_id: app, installation_id: installation, credential_id: credential, organization_id: organization };
        const noise = Array.from({ length: 10_500 }, (_, i) => ({ ...by, time: at(20_000 + i), operation: 'search' }));
        const [last] = await plantAudit(gateway.database, [{ ...by, time: at(10), operation: 'contact_get' }]);
        await plantAudit(gateway.database, noise);
        const first = await list(`${BEFORE}&operation=contact_get`, token);
        expect(first.records).toEqual([]);
        expect(first.next_cursor).not.toBeNull();
        const second = await list(`${BEFORE}&operation=contact_get&cursor=${first.next_cursor}`, token);
        expect([second.records.map(({ audit_id }) => audit_id), second.next_cursor]).toEqual([[last], null]);
        // Records of others do not shorten a page: what this credential has done with a record has an index of its own.
        const busy = await plantAudit(gateway.database, Array.from({ length: 10_100 }, (_, i) => ({ ...by, time: at(40_000 + i), targets: ['ctc_1_1_500'] })));
        expect(busy).toHaveLength(10_100);
        const quiet = await gateway.issue();
        const [one] = await plantAudit(gateway.database, [
            { ...by, credential_id: quiet.credential, time: at(11), targets: ['ctc_1_1_500'] },
        ]);
        const page = await list(`${BEFORE}&target=ctc_1_1_500`, quiet.token);
        expect([page.records.map(({ audit_id }) => audit_id), page.next_cursor]).toEqual([[one], null]);
    });
    it('shows a token from a consent only what was done for the same person', async () => {
        const client = await newClient(gateway, { websites: ['web_1_1'] });
        const session = await newSession(gateway, client);
        const { exchange } = await consented(gateway, client, {
            session,
            choice: { scope: ALL_SCOPES },
            changes: { resource: RESOURCE.rest, scope: ALL_SCOPES.join(' ') },
        });
        const { body } = await tokenOf(gateway, client, exchange);
        const [consent] = await gateway.database.sql `
      SELECT credential_id, person_id FROM gateway.consent ORDER BY created_at DESC LIMIT 1`;
        const record = { credential_id: consent?.credential_id ?? '', organization_id: organization, time: at(300) };
        const [mine] = await plantAudit(gateway.database, [
            { ...record, person_id: consent?.person_id ?? '' },
            { ...record, person_id: `prs_${'0'.repeat(32)}` },
            { ...record, person_id: null },
        ]);
        expect(await found(BEFORE, body.access_token)).toEqual([mine]);
        // What the person does with another app neither shortens a page nor shows in a cursor.
        const noise = {
            credential_id: other.credential,
            organization_id: organization,
            person_id: consent?.person_id ?? '',
        };
        await plantAudit(gateway.database, Array.from({ length: 10_100 }, (_, i) => ({ ...noise, time: at(1_000 + i) })));
        const page = await list(BEFORE, body.access_token);
        expect([page.records.map(({ audit_id }) => audit_id), page.next_cursor]).toEqual([[mine], null]);
    });
    it('answers over MCP as over REST', async () => {
        const outcome = await gateway.ask('/mcp', {
            token: own.token,
            headers: { accept: 'application/json, text/event-stream' },
            body: {
                ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
                params: { name: 'audit_list', arguments: { operation: 'contact_get', to: at(DAY), target: '' } },
            },
        });
        expect(outcome.status, outcome.text).toBe(200);
        const { data } = JSON.parse(outcome.body.result.content[0].text);
        expect(data.records.map(({ audit_id }) => audit_id)).toEqual([ids[1], ids[2]]);
    });
});
//# sourceMappingURL=audit-list.test.js.map
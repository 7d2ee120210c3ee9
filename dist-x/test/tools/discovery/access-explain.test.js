import { afterAll, beforeAll, expect, it } from 'vitest';
import { ALL_FLAGS, ALL_SCOPES } from '../../support/authority/grants.js';
import { OPERATIONS, refusalOf, WRITES } from '../../support/authority/operations.js';
import { World } from '../../support/authority/world.js';
import { openTestGateway } from '../../support/gateway.js';
import { consented, newClient, newSession, RESOURCE, token as tokenOf } from '../../support/oauth/oauth.js';
let gateway;
beforeAll(async () => {
    gateway = await openTestGateway('empty');
    await new World(gateway.database.sql).whole();
});
afterAll(() => gateway.close());
async function explained(token, query = '') {
    const { status, body, text } = await gateway.ask(`/api/v1/access${query}`, { token });
    expect(status, text).toBe(200);
    return body.data.operations;
}
const one = async (grant, operation) => {
    const { token } = await gateway.issue(grant);
    const all = await explained(token, `?operation=${operation}`);
    expect(all).toHaveLength(1);
    return all[0];
};
const without = (all, ...gone) => all.filter((name) => !gone.includes(name));
const NOTHING = { scopes: [], data_access: [], unrestricted: false, author: false, switched_off: false };
/** Of several alternatives, the one that lacks least. Undefined if an alternative lacks nothing. */
function leastOf(alternatives) {
    const size = (one) => (one ? one.scopes.length + one.data_access.length + Number(one.unrestricted) : 0);
    if (alternatives.includes(undefined))
        return undefined;
    return [...alternatives].sort((a, b) => size(a) - size(b))[0];
}
it('access_explain: every operation, MCP-less ones too, with what each call lacks according to the tables', async () => {
    const names = gateway.corridor.registry.operations.map(({ name }) => name);
    let judged = 0;
    for (const scopes of [ALL_SCOPES, [], ...ALL_SCOPES.map((gone) => without(ALL_SCOPES, gone))]) {
        for (const flags of [ALL_FLAGS, []]) {
            for (const restricted of [undefined, { dimension: 'team_ids', ids: [1] }]) {
                const { token } = await gateway.issue({
                    ...{ scopes, dataAccess: flags, authors: ['opr_1_1_1', 'opr_1_2_1'] },
                    ...(restricted && { teams: ['tem_1_1_1'] }),
                });
                const all = await explained(token);
                expect(all.map(({ operation }) => operation)).toEqual(names);
                const rows = [...OPERATIONS, ...WRITES].filter(({ given }) => given === undefined);
                for (const row of rows) {
                    const found = all.find(({ operation }) => operation === row.tool);
                    const required = leastOf(rows
                        .filter(({ tool }) => tool === row.tool)
                        .map((one) => refusalOf(one, { scopes, flags }, restricted))
                        .map((refusal) => (refusal?.code === 'not_permitted' ? refusal.required : undefined)));
                    expect(found?.allowed, row.tool).toBe(required === undefined);
                    const sorted = found?.lacks && {
                        ...found.lacks,
                        scopes: [...found.lacks.scopes].sort(),
                        data_access: [...found.lacks.data_access].sort(),
                    };
                    const wanted = required && {
                        ...{ ...required, author: false, switched_off: false },
                        scopes: [...required.scopes].sort(),
                        data_access: [...required.data_access].sort(),
                    };
                    expect(sorted ?? undefined, row.tool).toEqual(wanted);
                    for (const grant of [...(required?.scopes ?? []), ...(required?.data_access ?? [])])
                        expect(found?.sentence).toContain(grant);
                    judged++;
                }
            }
        }
    }
    expect(judged).toBeGreaterThan(3_000);
});
it('access_explain: sentences that a person can act on', async () => {
    expect(await one({}, 'conversations_list')).toMatchObject({ allowed: true, lacks: null, sentence: 'Allowed.' });
    expect(await one({ scopes: [], dataAccess: [] }, 'visitor_notes')).toMatchObject({
        allowed: false,
        sentence: 'Ask for the scopes conversation_read and visitor_notes_read and contact_read_pii and the data access message_content and pii and internal_notes; scopes and data access are both needed.',
    });
    expect((await one({ dataAccess: ['message_content'] }, 'operators'))?.sentence).toBe('Ask for the data access pii; scopes and data access are both needed.');
    expect((await one({ scopes: ['conversation_read'], dataAccess: ['pii'] }, 'conversations_list'))?.sentence).toBe('Allowed, but contact_id also needs the scopes contact_read and contact_read_pii, and query also needs the scopes message_content_read and contact_read_pii and the data access message_content, and operator_id also needs the scopes directory_read and contact_read_pii.');
    expect((await one({ scopes: ['contact_read', 'contact_read_pii'], dataAccess: [] }, 'search'))?.sentence).toBe([
        'Ask for the data access pii to call it with kinds=contacts',
        'or for the scopes conversation_read and message_content_read and the data access message_content and pii to call it with kinds=messages or kinds=subjects',
        'or for the scopes conversation_read and visitor_notes_read and the data access message_content and pii and internal_notes to call it with kinds=notes; scopes and data access are both needed.',
    ].join(', '));
    expect((await one({ teams: ['tem_1_1_1'] }, 'search'))?.sentence).toBe('Allowed, but kinds=notes and kinds=contacts also need a credential without restrictions.');
    const restricted = await one({ teams: ['tem_1_1_1'] }, 'contacts_list');
    expect(restricted).toMatchObject({ allowed: false, lacks: { ...NOTHING, unrestricted: true } });
    expect(restricted?.sentence).toBe('Ask for a credential without restrictions.');
    expect((await one({}, 'realtime_socket'))?.sentence).toBe('Allowed over REST only.');
});
it('access_explain: an allowed operation that leaves out parts says which parts, and what they need', async () => {
    for (const operation of ['fetch', 'conversation_brief'])
        expect((await one({}, operation))?.sentence).toBe('Allowed.');
    expect((await one({ teams: ['tem_1_1_1'] }, 'conversation_brief'))?.sentence).toBe('Allowed, without notes (needs a credential without restrictions).');
    const paths = {
        conversation_brief: '/api/v1/conversations/cnv_1_1_1/brief',
        fetch: '/api/v1/records/cnv_1_1_1',
    };
    for (const gone of ALL_SCOPES.filter((scope) => scope !== 'conversation_read')) {
        const { token } = await gateway.issue({ scopes: without(ALL_SCOPES, gone) });
        for (const [operation, path] of Object.entries(paths)) {
            const { body } = await gateway.ask(path, { token });
            const left = operation === 'fetch' ? body.metadata.left_out : body.data.left_out;
            const [found] = await explained(token, `?operation=${operation}`);
            const absent = found?.sentence.match(/(?<=without )[a-z_ ]+(?= \()/g) ?? [];
            const named = absent.flatMap((words) => words.split(' and '));
            const where = `${operation} without ${gone}: ${found?.sentence}`;
            if (operation === 'fetch')
                for (const part of left)
                    expect(named, where).toContain(part);
            else
                expect(named.sort(), where).toEqual([...left].sort());
            expect(found?.sentence.includes(gone), where).toBe(named.length > 0 || /, but /.test(found?.sentence ?? ''));
        }
    }
});
it('access_explain: a write without an enabled author on any granted website is not allowed', async () => {
    const nobody = await one({}, 'visitor_note_add');
    expect(nobody).toMatchObject({ allowed: false, lacks: { ...NOTHING, author: true } });
    expect(nobody?.sentence).toBe('Ask for an operator that is mapped to the credential as author.');
    expect((await one({}, 'config_plan'))?.allowed).toBe(true);
    const some = await one({ authors: ['opr_1_1_1'] }, 'visitor_note_add');
    expect(some).toMatchObject({ allowed: true, sentence: 'Allowed on the websites with a mapped author: web_1_1.' });
    const narrow = { websites: ['web_1_1'], authors: ['opr_1_1_1'] };
    expect((await one(narrow, 'visitor_note_add'))?.sentence).toBe('Allowed.');
    const { token } = await gateway.issue(narrow);
    await gateway.database.sql `UPDATE platform.operator SET enabled = false WHERE tenant = 1 AND site = 1 AND id = 1`;
    expect(await explained(token, '?operation=visitor_note_add')).toMatchObject([{ allowed: false }]);
});
it('access_explain: a token of a person’s consent cannot call event operations, and the sentence says so', async () => {
    const client = await newClient(gateway, { websites: ['web_1_1'] });
    const session = await newSession(gateway, client);
    const { exchange } = await consented(gateway, client, {
        session,
        choice: { scope: ALL_SCOPES },
        changes: { resource: RESOURCE.rest, scope: ALL_SCOPES.join(' ') },
    });
    const { body } = await tokenOf(gateway, client, exchange);
    const [refused] = await explained(body.access_token, '?operation=events_pull');
    expect(refused).toEqual({
        ...{ operation: 'events_pull', allowed: false, lacks: NOTHING },
        sentence: 'Use an installation token, because a token from a person’s consent cannot call this operation.',
    });
    const { body: listed } = await gateway.ask('/api/v1/capabilities?website_id=web_1_1', { token: body.access_token });
    const names = listed.data.operations.map((known) => known.operation);
    expect(names.filter((name) => /subscription|events/.test(name))).toEqual([]);
    const missing = await one({ scopes: [] }, 'events_pull');
    expect(missing?.sentence).toBe('Ask for the scopes website_read and event_read; a token from a person’s consent cannot call this operation.');
});
it('access_explain: an unknown operation is a 400 that says what is accepted', async () => {
    const { token } = await gateway.issue();
    for (const name of ['nonsense', 'Conversation', 'x'.repeat(65), '', '%00']) {
        const { status, body } = await gateway.ask(`/api/v1/access?operation=${name}`, { token });
        expect([status, body.errors], name).toEqual([
            400,
            [
                {
                    ...{ parameter: 'operation', code: 'invalid_parameter' },
                    expected: 'the name of an operation, such as conversations_list',
                },
            ],
        ]);
    }
});
//# sourceMappingURL=access-explain.test.js.map
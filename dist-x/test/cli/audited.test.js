import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { auditOf, brief } from '../support/audit.js';
import { cliDatabase, fed, gateway } from '../support/cli.js';
/** E6: each command that changes something of an organization leaves one record. */
let database;
let organization;
beforeAll(async () => {
    vi.stubEnv('GATEWAY_KEYS', `1:${Buffer.alloc(32, 7).toString('base64')}`);
    database = await cliDatabase('demo');
    const [row] = await database.sql `SELECT public_id AS id FROM platform.organization WHERE tenant = 1`;
    organization = row?.id ?? '';
});
afterAll(() => {
    vi.unstubAllEnvs();
    return database.close();
});
async function recorded(run) {
    const { code, stderr } = await run;
    expect(code, stderr).toBe(0);
    const found = (await auditOf(database)).map(brief);
    await database.sql `DELETE FROM gateway.audit`;
    return found;
}
const change = (operation, ...targets) => [
    {
        ...{ organization_id: organization, surface: 'cli', operation, targets },
        ...{ outcome: 'ok', status: 200, units: 0, replayed: false },
        ...{ request_id: expect.any(String), mark: expect.stringMatching(/^[^~]+~[0-9a-f]{64}$/) },
    },
];
const id = (prefix) => expect.stringMatching(new RegExp(`^${prefix}_[0-9a-f]{32}$`));
it('a change names what it has changed, and a look leaves nothing', async () => {
    const create = gateway('app', 'create', '--organization', organization, '--name', 'zqx7canary');
    expect(await recorded(create)).toEqual(change('app create', id('app'), id('ins')));
    const [app] = await database.sql `SELECT id FROM gateway.app WHERE name = 'zqx7canary'`;
    expect(await recorded(gateway('app', 'update', app?.id ?? '', '--burst', '7'))).toMatchObject(change('app update', app?.id));
    const grants = ['--website', 'web_1_1', '--scope', 'health_read', '--environment', 'test'];
    const issue = gateway('credential', 'issue', '--installation', app?.id ?? '', ...grants);
    expect(await recorded(issue)).toMatchObject(change('credential issue', id('crd'), ...[]).map((one) => ({
        ...one,
        targets: expect.arrayContaining([id('crd')]),
    })));
    const [credential] = await database.sql `
    SELECT c.id FROM gateway.credential c JOIN gateway.installation i ON i.id = c.installation_id WHERE i.app_id = ${app?.id ?? ''}`;
    expect(await recorded(gateway('credential', 'revoke', credential?.id ?? '', '--yes'))).toMatchObject([
        { operation: 'credential revoke', organization_id: organization, surface: 'cli' },
    ]);
    const person = fed('a long pass phrase\n', 'person', 'add', '--organization', organization, '--email', 'zqx7@canary.test', '--role', 'admin', '--password-stdin');
    expect(await recorded(person)).toMatchObject([
        { operation: 'person add', targets: expect.arrayContaining([id('prs')]) },
    ]);
    const [approver] = await database.sql `SELECT id FROM gateway.person WHERE email = 'zqx7@canary.test'`;
    const named = gateway('credential', 'issue', '--installation', app?.id ?? '', ...grants, '--approver', 'zqx7@canary.test');
    const targets = expect.arrayContaining([id('crd'), approver?.id]);
    expect(await recorded(named)).toMatchObject([{ operation: 'credential issue', targets }]);
    for (const looks of [['app', 'list'], ['credential', 'show', credential?.id ?? ''], ['person', 'list'], ['doctor']])
        expect(await recorded(gateway(...looks))).toEqual([]);
    const keep = gateway('organization', 'update', organization, '--keep-messages-days', '36500', '--yes');
    expect(await recorded(keep)).toEqual(change('organization update'));
    const [contact] = await database.sql `
    SELECT 'ctc_' || tenant || '_' || site || '_' || min(id) AS id FROM platform.contact
     WHERE tenant = 1 AND site = 1 GROUP BY tenant, site`;
    const erase = ['erase', 'contact', contact?.id ?? '', '--reason', 'asked'];
    expect(await recorded(gateway(...erase, '--dry-run'))).toEqual([]);
    const erased = change('erase contact', id('era'), contact?.id);
    expect(await recorded(gateway(...erase, '--yes'))).toEqual(erased);
    expect(await recorded(gateway(...erase, '--yes'))).toEqual(erased);
    expect(await recorded(gateway('erase', 'list'))).toEqual([]);
    const refused = await gateway('credential', 'rotate', credential?.id ?? '');
    expect([refused.code, await auditOf(database)]).toEqual([1, []]);
});
/** Every row that a command below changes. */
async function state() {
    const places = ['app', 'installation', 'credential', 'consent', 'person', 'sign_in_link', 'native_author', 'source'];
    const tables = [...places, 'webhook_endpoint'].map((name) => `gateway.${name}`);
    const found = [];
    for (const table of [...tables, 'platform.organization'])
        found.push(table, [...(await database.sql.unsafe(`SELECT t.* FROM ${table} t ORDER BY to_json(t)::text`))]);
    return found;
}
it('a change whose record cannot be written does not happen, whatever command makes it', async () => {
    const { sql } = database;
    const made = async (...command) => JSON.parse((await gateway(...command, '--json')).stdout);
    const { app_id: app = '', installation_id: installation = '' } = await made(...['app', 'create', '--organization', organization, '--name', 'one']);
    const issue = [
        'credential',
        'issue',
        '--installation',
        installation,
        '--website',
        'web_1_1',
        '--environment',
        'test',
    ];
    const { credential_id: credential = '' } = await made(...issue, '--scopes', 'all');
    const [found] = await sql `
    SELECT 'opr_1_1_' || min(id) AS operator FROM platform.operator WHERE tenant = 1 AND site = 1 AND enabled`;
    const { operator = '' } = found ?? {};
    const [person, consent, source] = [`prs_${'5'.repeat(32)}`, `cns_${'6'.repeat(32)}`, `src_${'7'.repeat(32)}`];
    await sql `INSERT INTO gateway.person (id, tenant, email, role) VALUES (${person}, 1, 'five@canary.test', 'admin')`;
    await sql `INSERT INTO gateway.consent (id, credential_id, person_id, request, audience, scopes, sites, renewable,
                                         code_digest, code_challenge, code_expires_at, redirect_uri, expires_at, data_access)
            VALUES (${consent}, ${credential}, ${person}, sha256('6'), 'mcp', '{health_read}', '{1}', false, sha256('6'),
                    'challenge', now(), 'https://a.example/', now() + interval '1 hour', '{}')`;
    await sql `INSERT INTO gateway.source (id, tenant, kind, account, mode, period, time_zone, address, lease_until)
            VALUES (${source}, 1, 'chatwoot', '7', 'poll', 60, 'UTC', 'sealed', now())`;
    const at = ['--credential', credential, '--website', 'web_1_1'];
    const commands = [
        ['app', 'create', '--organization', organization, '--name', 'two'],
        ['app', 'update', app, '--burst', '9'],
        ['app', 'update', app, '--switch-off', 'search'],
        [...issue, '--scope', 'health_read'],
        ['consent', 'revoke', consent, '--yes'],
        ['credential', 'update', credential, '--expires', '5d'],
        ['credential', 'rotate', credential],
        ['author', 'map', ...at, '--operator', operator],
        ['webhook', 'create', ...at, '--url', 'https://93.184.215.14/hook'],
        ['person', 'role', 'five@canary.test', '--role', 'owner'],
        ['person', 'disable', person, '--yes'],
        ['person', 'enable', person],
        ['person', 'sign-in-link', person],
        ['source', 'pause', source],
        ['source', 'resume', source],
        ['source', 'remove', source, '--yes'],
        ['organization', 'update', organization, '--keep-messages-days', '36499', '--yes'],
        ['credential', 'revoke', credential, '--yes'],
    ];
    await sql `DELETE FROM gateway.audit`;
    for (const command of commands) {
        const before = await state();
        await sql `ALTER TABLE gateway.audit ADD CONSTRAINT away CHECK (surface <> 'cli')`;
        const refused = await gateway(...command);
        expect([refused.code, refused.stderr], command.join(' ')).toEqual([
            1,
            expect.stringContaining('Nothing was changed, because the audit record'),
        ]);
        expect(await state(), command.join(' ')).toEqual(before);
        await sql `ALTER TABLE gateway.audit DROP CONSTRAINT away`;
        expect(await recorded(gateway(...command)), command.join(' ')).toMatchObject([
            { operation: command.slice(0, 2).join(' '), organization_id: organization, mark: expect.any(String) },
        ]);
        expect(await state(), command.join(' ')).not.toEqual(before);
    }
});
//# sourceMappingURL=audited.test.js.map
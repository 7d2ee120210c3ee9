import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { revokeCredential, rotateCredential } from '../../src/auth/issue.js';
import { SCOPES } from '../../src/core/scopes.js';
import { loadAuthority } from '../../src/store/calls/authority.js';
import { cliDatabase, demoApp, digest, document, dump, gateway, issue, refused, text, } from '../support/cli.js';
let database;
let installation;
let app;
beforeAll(async () => {
    database = await cliDatabase('demo');
    ({ app, installation } = await demoApp());
});
afterAll(() => database.close());
const state = async (token) => (await loadAuthority(database.db, digest(token)))?.state;
const authority = async (token) => (await loadAuthority(database.db, digest(token)))?.authority;
const show = (id) => document('credential', 'show', id);
const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
describe('issue', () => {
    test('gives secret and token once, and what the credential permits', async () => {
        const more = ['--data-access', 'pii', '--channel', 'us-chat', '--callback', 'https://a.example/cb'];
        const issued = await issue(installation, ...more);
        expect(issued).toEqual({
            credential_id: expect.stringMatching(/^crd_[a-f0-9]{32}$/),
            installation_id: installation,
            app_id: app,
            organization_id: expect.stringMatching(/^org_[a-f0-9]{32}$/),
            environment: 'test',
            state: 'active',
            website_ids: ['web_1_1'],
            scopes: [...SCOPES],
            data_access: ['pii'],
            restrictions: { channel_ids: ['chn_1_1_1'] },
            callbacks: ['https://a.example/cb'],
            origins: [],
            allow_ip: [],
            approve: [],
            approval_by: 'anyone',
            approvers: [],
            write: [],
            without_approval: [],
            revision: 1,
            old_secret_until: null,
            expires_at: expect.stringMatching(RFC3339),
            revoked_at: null,
            created_at: expect.stringMatching(RFC3339),
            updated_at: expect.stringMatching(RFC3339),
            secret: expect.stringMatching(/^igws_[0-9A-Za-z]{49}$/),
            token: expect.stringMatching(/^igw_test_[0-9A-Za-z]{49}$/),
        });
        const [row] = await database.sql `
      SELECT c.expires_at - now() BETWEEN interval '89 days 23 hours' AND interval '90 days' AS quarter, secret_digest
        FROM gateway.credential c WHERE id = ${text(issued, 'credential_id')}`;
        expect(row).toEqual({ quarter: true, secret_digest: digest(text(issued, 'secret')) });
        expect(await authority(text(issued, 'token'))).toMatchObject({
            environment: 'test',
            scopes: new Set(SCOPES),
            dataAccess: new Set(['pii']),
            restrictions: { channel_ids: ['chn_1_1_1'] },
            revision: 1,
        });
    });
    test('takes the union of scopes, public ids and external ids, each once', async () => {
        const issued = await issue('Test agent', ...'--website web_1_2 --website web_1_1 --scopes read --scope ai_execute --scope website_read'.split(' '), ...['--team', 'us-care', '--team', 'tem_1_1_1', '--subsite', 'eu-outlet', '--expires', '30s']);
        expect(issued).toMatchObject({
            website_ids: ['web_1_1', 'web_1_2'],
            scopes: SCOPES.filter((scope) => !['config_plan', 'visitor_notes_write', 'conversation_update'].includes(scope)),
            restrictions: { team_ids: ['tem_1_1_1'], subsite_ids: [expect.stringMatching(/^sst_1_2_/)] },
        });
    });
    test('a live credential has a live token', async () => {
        const issued = await document(...[
            'credential',
            'issue',
            '--installation',
            app,
            '--environment',
            'live',
            '--website',
            'larkspur-eu',
            '--scope',
            'website_read',
        ]);
        expect(issued).toMatchObject({
            environment: 'live',
            scopes: ['website_read'],
            token: expect.stringMatching(/^igw_live_/),
        });
    });
});
describe('list and show', () => {
    test('show no secret, and know how many tokens work', async () => {
        const id = text(await issue(installation), 'credential_id');
        const shown = await show(id);
        expect(shown).toMatchObject({ credential_id: id, usable_tokens: 1 });
        expect(JSON.stringify(shown)).not.toMatch(/igw|digest|"secret"|"token"/);
        const { credentials } = await document('credential', 'list', '--installation', installation);
        expect(credentials).toContainEqual(shown);
        await document('app', 'create', '--organization', 'larkspur', '--name', 'Idle');
        expect(await document('credential', 'list', '--app', 'Idle')).toEqual({ credentials: [] });
        expect((await gateway('credential', 'show', id)).stdout).toContain('  revision      1\n');
        expect((await gateway('credential', 'list', '--organization', 'larkspur')).stdout).toContain(id);
    });
});
describe('update', () => {
    test('replaces what is given, keeps the rest, and raises the revision once a change', async () => {
        const issued = await issue(installation, '--channel', 'us-chat', '--team', 'us-care', '--data-access', 'pii');
        const id = text(issued, 'credential_id');
        const update = (...options) => document('credential', 'update', id, ...options);
        expect(await update('--channel', 'us-email', '--channel', 'us-voice')).toMatchObject({
            revision: 2,
            restrictions: { channel_ids: ['chn_1_1_2', 'chn_1_1_4'], team_ids: ['tem_1_1_1'] },
            data_access: ['pii'],
        });
        expect(await update('--channel', 'us-voice', '--channel', 'us-email')).toMatchObject({ revision: 2 });
        expect(await update('--clear', 'channel', '--clear', 'team', '--scope', 'website_read')).toMatchObject({
            revision: 3,
            restrictions: {},
            scopes: ['website_read'],
        });
        expect(await update('--clear', 'data-access', '--origin', 'https://a.example')).toMatchObject({
            revision: 4,
            data_access: [],
            origins: ['https://a.example'],
        });
        expect(await update('--website', 'larkspur-eu', '--expires', '365d')).toMatchObject({
            revision: 5,
            website_ids: ['web_1_2'],
        });
        expect(await authority(text(issued, 'token'))).toMatchObject({
            revision: 5,
            scopes: new Set(['website_read']),
            dataAccess: new Set(),
            restrictions: {},
            websites: new Map([['web_1_2', expect.anything()]]),
        });
    });
    test.each([
        ['subsite', '--subsite', 'us-outlet', 'restrictions', {}],
        ['callback', '--callback', 'https://a.example/cb', 'callbacks', []],
        ['origin', '--origin', 'https://a.example:8443', 'origins', []],
    ])('--clear %s', async (name, option, value, member, empty) => {
        const id = text(await issue(installation, option, value), 'credential_id');
        expect((await show(id))[member]).not.toEqual(empty);
        for (const _ of ['once', 'again']) {
            const updated = await document('credential', 'update', id, '--clear', name);
            expect([updated[member], updated['revision']]).toEqual([empty, 2]);
        }
    });
    test('--allow-ip: canonical, in one list or several, replaced as a whole and taken away', async () => {
        const issued = await issue(installation, '--allow-ip', '203.0.113.7/32, 10.0.0.0/8', '--allow-ip', '2001:DB8::/32');
        const [id, token] = [text(issued, 'credential_id'), text(issued, 'token')];
        const ranges = ['203.0.113.7', '10.0.0.0/8', '2001:db8::/32'];
        expect(issued['allow_ip']).toEqual(ranges);
        expect(await show(id)).toMatchObject({ allow_ip: ranges, revision: 1 });
        const { credentials } = await document('credential', 'list', '--installation', installation);
        expect(credentials).toContainEqual(expect.objectContaining({ credential_id: id, allow_ip: ranges }));
        expect((await gateway('credential', 'show', id)).stdout).toMatch(/addresses +203\.0\.113\.7/);
        expect((await authority(token))?.admits?.('::ffff:10.1.1.1')).toBe(true);
        const again = await document('credential', 'update', id, '--allow-ip', '::ffff:10.0.0.0/104,10.0.0.0/8');
        expect(again).toMatchObject({ allow_ip: ['10.0.0.0/8'], revision: 2 });
        for (const _ of ['once', 'again']) {
            const cleared = await document('credential', 'update', id, '--clear', 'allow-ip');
            expect(cleared).toMatchObject({ allow_ip: [], revision: 3 });
        }
        expect((await gateway('credential', 'show', id)).stdout).toMatch(/addresses +every/);
        expect((await authority(token))?.admits).toBeNull();
    });
    test('--approver: people of the organization by id or address, replaced as a whole and taken away', async () => {
        const add = (email, organization = 'larkspur') => document('person', 'add', '--organization', organization, '--email', email, '--role', 'operator', '--no-password');
        const one = text(await add('one@approvers.example'), 'person_id');
        const two = text(await add('two@approvers.example'), 'person_id');
        const issued = await issue(installation, '--approver', one, '--approver', 'TWO@approvers.example', '--approver', one);
        const id = text(issued, 'credential_id');
        expect(issued).toMatchObject({ approvers: [one, two].sort(), revision: 1 });
        const { credentials } = await document('credential', 'list', '--installation', installation);
        expect(credentials).toContainEqual(expect.objectContaining({ credential_id: id, approvers: [one, two].sort() }));
        const idle = 'No write of this credential waits for its approvers.';
        const said = async (...options) => (await gateway('credential', 'update', id, ...options)).stderr;
        expect(await said('--write', 'conversation_reply')).not.toContain(idle);
        expect(await said('--clear', 'write')).toContain(idle);
        expect((await gateway('credential', 'show', id)).stdout).toMatch(/approvers +one@approvers\.example\n +two@approvers\.example/);
        const update = (...options) => document('credential', 'update', id, ...options);
        expect(await update('--approver', two)).toMatchObject({ approvers: [two], revision: 4 });
        expect(await document('person', 'sign-in-link', two)).toMatchObject({ person_id: two });
        expect(await gateway('person', 'sign-in-link', one)).toEqual(refused('Only an owner or admin, or an approver'));
        await database.sql `INSERT INTO platform.organization (tenant, external_id, name) VALUES (77, 'elsewhere', 'Elsewhere')`;
        const foreign = text(await add('far@approvers.example', 'elsewhere'), 'person_id');
        await document('person', 'disable', one, '--yes');
        for (const [ref, said] of [
            [foreign, 'There is no person'],
            ['far@approvers.example', 'There is no person'],
            ['nobody@approvers.example', 'There is no person'],
            [one, 'is disabled and cannot sign in'],
        ])
            expect(await gateway('credential', 'update', id, '--approver', ref), ref).toEqual(refused(said));
        expect(await gateway('credential', 'update', id, '--approver', two, '--clear', 'approver')).toEqual(refused("option '--clear approver' contradicts '--approver'", 2));
        for (const _ of ['once', 'again'])
            expect(await update('--clear', 'approver')).toMatchObject({ approvers: [], revision: 5 });
        expect((await gateway('credential', 'show', id)).stdout).not.toContain('approvers');
    });
    test('gives an expired credential new time', async () => {
        const issued = await issue(installation);
        const [id, token] = [text(issued, 'credential_id'), text(issued, 'token')];
        await database.sql `UPDATE gateway.credential SET expires_at = now() - interval '1 second' WHERE id = ${id}`;
        expect(await state(token)).toBe('expired');
        expect(await show(id)).toMatchObject({ state: 'expired', usable_tokens: 0 });
        expect(await gateway('credential', 'rotate', id)).toMatchObject(refused('--expires'));
        expect(await document('credential', 'update', id, '--expires', '15m')).toMatchObject({
            state: 'active',
            revision: 3,
        });
        expect(await state(token)).toBe('valid');
    });
});
describe('rotate', () => {
    test('old secret and token work during the overlap, and then no longer', async () => {
        const first = await issue(installation);
        const id = text(first, 'credential_id');
        const second = await document('credential', 'rotate', id);
        expect(second).toMatchObject({ credential_id: id, revision: 2, old_secret_until: expect.stringMatching(RFC3339) });
        expect(second['secret']).not.toBe(first['secret']);
        expect(await state(text(first, 'token'))).toBe('valid');
        expect(await state(text(second, 'token'))).toBe('valid');
        expect(await show(id)).toMatchObject({ usable_tokens: 2, revision: 2 });
        const [row] = await database.sql `
      SELECT secret_digest, old_secret_digest, old_secret_until - now() BETWEEN interval '23 hours' AND interval '24 hours' AS day
        FROM gateway.credential WHERE id = ${id}`;
        expect(row).toEqual({
            secret_digest: digest(text(second, 'secret')),
            old_secret_digest: digest(text(first, 'secret')),
            day: true,
        });
        await database.sql `UPDATE gateway.token SET expires_at = expires_at - interval '24 hours' WHERE credential_id = ${id}`;
        expect(await state(text(first, 'token'))).toBe('expired');
        expect(await state(text(second, 'token'))).toBe('valid');
    });
    test('--overlap 0s ends the old ones at once', async () => {
        const first = await issue(installation);
        const id = text(first, 'credential_id');
        const second = await document('credential', 'rotate', id, '--overlap', '0s');
        expect(second).toMatchObject({ old_secret_until: null });
        expect(await state(text(first, 'token'))).toBe('revoked');
        expect(await state(text(second, 'token'))).toBe('valid');
        const [row] = await database.sql `SELECT old_secret_digest, old_secret_until FROM gateway.credential WHERE id = ${id}`;
        expect(row).toEqual({ old_secret_digest: null, old_secret_until: null });
    });
    test('a token never gains time by another rotation', async () => {
        const first = await issue(installation);
        const id = text(first, 'credential_id');
        await document('credential', 'rotate', id, '--overlap', '30s');
        await document('credential', 'rotate', id, '--overlap', '24h');
        const [row] = await database.sql `
      SELECT expires_at < now() + interval '31 seconds' AS soon FROM gateway.token WHERE digest = ${digest(text(first, 'token'))}`;
        expect(row).toEqual({ soon: true });
    });
    test('rivals leave one token alive', async () => {
        const id = text(await issue(installation), 'credential_id');
        const issued = await Promise.all([1, 2, 3, 4].map(() => rotateCredential(database.db, id, 0)));
        const states = await Promise.all(issued.map((one) => state(one?.token ?? '')));
        expect(states.toSorted()).toEqual(['revoked', 'revoked', 'revoked', 'valid']);
        expect(await show(id)).toMatchObject({ revision: 5, usable_tokens: 1 });
    });
    test('a rival’s revocation leaves none', async () => {
        const id = text(await issue(installation), 'credential_id');
        const [issued] = await Promise.all([rotateCredential(database.db, id, 60), revokeCredential(database.db, id)]);
        if (issued)
            expect(await state(issued.token)).toBe('revoked');
        const left = await database.sql `SELECT 1 FROM gateway.token WHERE credential_id = ${id} AND revoked_at IS NULL`;
        expect(left).toHaveLength(0);
    });
});
describe('revoke', () => {
    test('acts at once, for good, and again without effect', async () => {
        const issued = await issue(installation);
        const id = text(issued, 'credential_id');
        const revoked = await document('credential', 'revoke', id);
        expect(revoked).toMatchObject({ state: 'revoked', revision: 2, revoked_at: expect.stringMatching(RFC3339) });
        expect(await state(text(issued, 'token'))).toBe('revoked');
        expect(await document('credential', 'revoke', id)).toEqual(revoked);
        for (const command of [
            ['update', id, '--scopes', 'all'],
            ['rotate', id],
        ]) {
            expect(await gateway('credential', ...command)).toMatchObject(refused('revoked'));
        }
        expect(await show(id)).toMatchObject({ revision: 2, usable_tokens: 0 });
    });
});
test('no secret that was ever shown is in the store', async () => {
    const first = await issue(installation, '--data-access', 'pii');
    const second = await document('credential', 'rotate', text(first, 'credential_id'));
    const everything = await dump(database);
    expect(everything).toContain(text(first, 'credential_id'));
    expect(everything).toContain(digest(text(first, 'token')).toString('hex'));
    expect(everything).not.toMatch(/igws?_[0-9A-Za-z_]{49}/);
    for (const issued of [first, second]) {
        expect(everything).not.toContain(text(issued, 'secret').slice(5));
        expect(everything).not.toContain(text(issued, 'token').slice(9));
    }
});
//# sourceMappingURL=credential.test.js.map
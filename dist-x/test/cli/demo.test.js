import { afterAll, beforeAll, expect } from 'vitest';
import { demoLink, isEmpty } from '../../src/cli/demo.js';
import { runChecks } from '../../src/cli/doctor.js';
import { SCOPES } from '../../src/core/scopes.js';
import { loadAuthority } from '../../src/store/calls/authority.js';
import { cliDatabase, digest, document, dump, gateway } from '../support/cli.js';
import { itInFull, itOnce as test } from '../support/form.js';
const NOW = ['--now', '2026-11-15T12:00:00Z'];
const credential = {
    credential_id: expect.stringMatching(/^crd_/),
    secret: expect.stringMatching(/^igws_/),
    token: expect.stringMatching(/^igw_test_/),
};
let database;
let demo;
/** The records of the first demo. */
let first;
beforeAll(async () => {
    database = await cliDatabase('empty');
    expect(await isEmpty(database.db)).toBe(true);
    demo = await document('demo', ...NOW);
    first = await rows();
});
afterAll(() => database.close());
/** The records, without the documents that hold ids or times of this run. */
const rows = async () => (await dump(database))
    .split('\n')
    .filter((row) => /^\(1,[12],\d+,/.test(row) && !/,\w+\.(snapshot|changed),"/.test(row) && !row.includes('""website"":'))
    .sort()
    .join('\n');
async function authorityOf(which) {
    const token = /"token":"([^"]+)"/.exec(JSON.stringify(Object(demo)[which]))?.[1] ?? '';
    return (await loadAuthority(database.db, digest(token)))?.authority;
}
test('has an owner without a password, whom a link signs in', async () => {
    const [person] = await database.sql `SELECT email, role, password FROM gateway.person`;
    expect(person).toEqual({ email: 'owner@larkspur.example', role: 'owner', password: null });
    expect((await demoLink(database.db, 'https://gateway.example'))?.url).toMatch(/^https:\/\/gateway\.example\/console\/enter\?link=igwl_\w{49}$/);
});
test('loads the organization, an app and two credentials, and no secret in clear', async () => {
    expect(await isEmpty(database.db)).toBe(false);
    expect(demo).toEqual({
        organization_id: expect.stringMatching(/^org_/),
        app_id: expect.stringMatching(/^app_/),
        installation_id: expect.stringMatching(/^ins_/),
        website_ids: ['web_1_1', 'web_1_2'],
        full: credential,
        restricted: credential,
    });
    expect(await authorityOf('full')).toMatchObject({
        environment: 'test',
        scopes: new Set(SCOPES),
        dataAccess: new Set(['message_content', 'pii', 'internal_notes']),
        restrictions: {},
        websites: new Map([
            ['web_1_1', expect.anything()],
            ['web_1_2', expect.anything()],
        ]),
    });
    const restricted = await authorityOf('restricted');
    expect(restricted).toMatchObject({
        dataAccess: new Set(['message_content']),
        restrictions: { channel_ids: ['chn_1_1_1'] },
    });
    expect(restricted?.scopes).not.toContain('contact_read_pii');
    expect(restricted?.scopes).not.toContain('visitor_notes_write');
    const { authors } = await document('author', 'list');
    expect(authors).toMatchObject([
        { website_id: 'web_1_1', usable: true },
        { website_id: 'web_1_2', usable: true },
    ]);
    const [row] = await database.sql `SELECT count(*)::integer AS n FROM platform.conversation`;
    expect(row).toEqual({ n: 400 });
    expect(await runChecks(database.db)).toEqual([]);
    expect(await dump(database)).not.toMatch(/igws?_[0-9A-Za-z_]{49}/);
    expect(await gateway('demo')).toMatchObject({ code: 1, stdout: '' });
});
test('a demo that was killed is begun again; its text says everything that the document does', async () => {
    await database.sql `DELETE FROM gateway.app`;
    expect(await isEmpty(database.db)).toBe(true);
    const { code, stdout } = await gateway('demo');
    expect(code).toBe(0);
    for (const form of [
        /org_[a-f0-9]{32}/,
        /app_[a-f0-9]{32}/,
        /web_1_2/,
        /igw_test_\w{49}/,
        /igws_\w{49}/,
        /shown only now/,
    ]) {
        expect(stdout).toMatch(form);
    }
});
test('a store with an organization is not empty', async () => {
    await database.sql `DELETE FROM gateway.app`;
    await database.sql `INSERT INTO platform.organization (external_id, name) VALUES ('mine', 'Mine')`;
    expect(await isEmpty(database.db)).toBe(false);
});
async function loadAnew(now) {
    await database.close();
    database = await cliDatabase('empty');
    await document('demo', ...now);
    return rows();
}
test('same clock, same rows', async () => {
    expect(await loadAnew(NOW)).toBe(first);
    expect(first.length).toBeGreaterThan(100_000);
});
itInFull('another clock, other rows', async () => {
    expect(await loadAnew(['--now', '2026-11-16T12:00:00Z'])).not.toBe(first);
});
//# sourceMappingURL=demo.test.js.map
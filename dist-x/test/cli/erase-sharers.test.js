import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { cliDatabase, gateway } from '../support/cli.js';
/** An erasure suppresses addresses. So it also keeps away others with the same address, and says so before. */
let database;
beforeAll(async () => {
    vi.stubEnv('GATEWAY_KEYS', `1:${Buffer.alloc(32, 7).toString('base64')}`);
    database = await cliDatabase('demo');
});
afterAll(() => {
    vi.unstubAllEnvs();
    return database.close();
});
/** Gives the first contacts of a website these addresses, and returns the id of the first one. */
async function contacts(site, given) {
    const { sql } = database;
    const found = await sql `
    SELECT id FROM platform.contact WHERE tenant = 1 AND site = ${site} ORDER BY id LIMIT ${given.length}`;
    for (const [i, { email = null, mobile = null, phone = null }] of given.entries())
        await sql `UPDATE platform.contact SET email = ${email}, mobile = ${mobile}, mobile_e164 = NULL, phone = ${phone}, phone_e164 = NULL
      WHERE tenant = 1 AND site = ${site} AND id = ${found[i]?.id ?? ''}`;
    return `ctc_1_${site}_${found[0]?.id}`;
}
const warned = async (id, kind = 'contact') => {
    const { code, stderr } = await gateway('erase', kind, id, '--reason', 'asked', '--dry-run');
    expect(code, stderr).toBe(0);
    return stderr;
};
it.each([
    [{ email: 'desk@zqx.example' }, { email: 'Desk@ZQX.example' }],
    [{ email: 'desk@zqx.example' }, { email: 'The desk <desk@zqx.example>' }],
    [{ mobile: '+49 30 555 0199' }, { phone: '(030) 5550199' }],
])('a contact with %j warns of another one with %j', async (one, other) => {
    expect(await warned(await contacts(1, [one, other]))).toContain('Warning: 1 other contact has the same e-mail address or telephone number.');
});
it('counts contacts of other websites of the organization, before a real erasure, too', async () => {
    await contacts(2, [{ email: 'desk@zqx.example' }]);
    const id = await contacts(1, [{ email: 'desk@zqx.example' }, { email: 'desk@zqx.example' }]);
    expect(await warned(id)).toContain('2 other contacts have');
    const { code, stdout, stderr } = await gateway('erase', 'contact', id, '--reason', 'asked', '--yes', '--json');
    expect([code, JSON.parse(stdout).dry_run, stderr.includes('2 other contacts have')]).toEqual([0, false, true]);
});
it('does not warn of similar addresses, of short numbers, and without an address', async () => {
    for (const [one, other] of [
        [{ email: 'desk@yqx.example' }, { email: 'otherdesk@yqx.example' }],
        [{ email: 'a_b@yqx.example' }, { email: 'axb@yqx.example' }],
        [{ mobile: '12345' }, { mobile: '12345' }],
        [{ mobile: '+49 30 555 0279' }, { mobile: '+49 30 555 0278' }],
        [{}, {}],
    ])
        expect(await warned(await contacts(2, [one, other])), JSON.stringify(one)).not.toContain('Warning');
});
//# sourceMappingURL=erase-sharers.test.js.map
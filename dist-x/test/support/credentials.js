import { randomBytes } from 'node:crypto';
import { digestOf, newSecret } from '../../src/auth/tokens.js';
import { DATA_ACCESS, SCOPES } from '../../src/core/scopes.js';
const id = (prefix) => `${prefix}_${randomBytes(16).toString('hex')}`;
/** Writes a credential into the store, so that tests of reads do not depend on the command line. */
export async function issue(sql, tenant, grant = {}) {
    const { environment = 'test', expires = '1 day' } = grant;
    const app = grant.app ?? id('app');
    const installation = id('ins');
    const credential = id('crd');
    const token = newSecret(environment === 'live' ? 'installation_live' : 'installation_test');
    if (grant.app === undefined) {
        await sql `INSERT INTO gateway.app (id, tenant, name, quota_per_minute, burst)
      VALUES (${app}, ${tenant}, 'test', ${grant.perMinute ?? 60_000_000}, ${grant.burst ?? 1_000_000})`;
    }
    await sql `INSERT INTO gateway.installation (id, app_id) VALUES (${installation}, ${app})`;
    const sites = grant.websites?.map((website) => website.split('_')[2] ?? '') ?? (await allSites(sql, tenant));
    await sql `INSERT INTO gateway.credential
      (id, installation_id, environment, secret_digest, sites, scopes, data_access, channel_ids, team_ids, subsite_ids, origins,
       expires_at)
    VALUES (${credential}, ${installation}, ${environment}, ${randomBytes(32)}, ${sites}::bigint[],
      ${[...(grant.scopes ?? SCOPES)]}, ${[...(grant.dataAccess ?? DATA_ACCESS)]},
      ${grant.channels ? [...grant.channels] : null}, ${grant.teams ? [...grant.teams] : null},
      ${grant.subsites ? [...grant.subsites] : null}, ${[...(grant.origins ?? [])]}, now() + ${expires}::interval)`;
    // A store of an older version has no such policy.
    if (grant.write !== undefined)
        await sql `UPDATE gateway.credential SET write = ${[...grant.write]}, without_approval = ${[...(grant.withoutApproval ?? [])]}
      WHERE id = ${credential}`;
    await sql `INSERT INTO gateway.token (digest, credential_id, kind) VALUES (${digestOf(token)}, ${credential}, 'installation')`;
    for (const author of grant.authors ?? []) {
        const [, of = '', site = '', operator = ''] = author.split('_');
        await sql `INSERT INTO gateway.native_author (credential_id, tenant, site, operator_id)
      VALUES (${credential}, ${of}, ${site}, ${operator})`;
    }
    return { token, credential, installation, app };
}
async function allSites(sql, tenant) {
    const rows = await sql `SELECT site FROM platform.website WHERE tenant = ${tenant} ORDER BY site`;
    return rows.map(({ site }) => site);
}
//# sourceMappingURL=credentials.js.map
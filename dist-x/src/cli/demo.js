import { issueCredential, newId } from '../auth/issue.js';
import { addPerson } from '../auth/people.js';
import { makeSignInLink } from '../auth/sign-in-links.js';
import { DATA_ACCESS, SCOPES } from '../core/scopes.js';
import { sql } from '../core/sql.js';
import { insertApp } from '../store/administration/apps.js';
import { mapAuthor } from '../store/administration/authors.js';
import { DAY, moment, scopeSet } from './options.js';
import { facts, Refused } from './output.js';
import { belonging, organization, websites } from './references.js';
// External ids in resources/demo/organization.ndjson. The list has one author for each website, in the same order.
const ORGANIZATION = 'larkspur';
const WEBSITES = ['larkspur-us', 'larkspur-eu'];
const AUTHORS = ['op-priya', 'op-anke'];
const CHANNEL = 'us-chat';
/** The demo's owner has no password. A one-time link signs the owner in. */
const OWNER = 'owner@larkspur.example';
export function demoCommand(program, register) {
    const command = program
        .command('demo')
        .description('load the demo organization into an empty store')
        .option('--now <TIME>', 'current time of the demo, RFC 3339 (default: the clock of the store)', moment);
    register(command, async ({ out, store }) => {
        const opened = await store();
        if (!(await isEmpty(opened.db)))
            throw new Refused('The store is not empty. The demo loads only into an empty store.');
        out.note('loading the demo organization');
        const demo = await loadDemo(opened, command.opts());
        out.result(demo, describe(demo));
    });
}
/** True when the store is empty or contains only the rest of an interrupted demo load. */
export async function isEmpty(db) {
    const [row] = await db.query(sql `
    SELECT NOT EXISTS (SELECT 1 FROM platform.organization WHERE external_id <> ${ORGANIZATION})
       AND NOT EXISTS (SELECT 1 FROM gateway.credential) AS empty`);
    return row?.empty === true;
}
export async function loadDemo(store, options) {
    const { db, slow } = store;
    // The importer loads 0.1 s of packages, which the help does not need.
    const [{ demoRecords }, { importRecords }] = await Promise.all([
        import('../sources/files/demo.js'),
        import('../sources/files/import.js'),
    ]);
    const now = options.now ?? (await clock(db));
    await importRecords(slow, demoRecords(now), { name: 'demo' });
    return demoAccess(db);
}
/** Creates an app and two credentials for the demo organization, which must already be stored. */
export async function demoAccess(db) {
    const owner = await organization(db, ORGANIZATION);
    const sites = await websites(db, WEBSITES, owner.tenant);
    const [first] = sites;
    if (!first)
        throw new Error('the demo has no website');
    const made = { id: newId('app'), installation: newId('ins'), tenant: owner.tenant };
    await insertApp(db, { ...made, name: 'Demo agent', quota: { perMinute: 600, burst: 120 } });
    // Before the credentials, because a store with a credential counts as loaded.
    await addPerson(db, { tenant: owner.tenant, email: OWNER, role: 'owner', password: null });
    const restricted = await issue(db, made.installation, await restrictedPolicy(db, first));
    const full = await issue(db, made.installation, fullPolicy(sites));
    await mapAuthors(db, full.credential_id, sites);
    return {
        organization_id: owner.id,
        app_id: made.id,
        installation_id: made.installation,
        website_ids: sites.map(({ id }) => id),
        full,
        restricted,
    };
}
/** A link that signs the demo's owner in to the console. Undefined when the store has no such owner. */
export async function demoLink(db, baseUrl) {
    const [owner] = await db.query(sql `
    SELECT p.id FROM gateway.person p JOIN platform.organization o ON o.tenant = p.tenant
     WHERE o.external_id = ${ORGANIZATION} AND p.email = ${OWNER}`);
    return owner && makeSignInLink(db, { person: owner.id, baseUrl });
}
async function clock(db) {
    const [row] = await db.query(sql `SELECT date_trunc('milliseconds', now()) AS now`);
    return row?.now ?? new Date();
}
const LIFE = {
    callbacks: [],
    origins: [],
    allow_ip: [],
    approve: [],
    approvers: [],
    write: [],
    without_approval: [],
    approval_by: 'anyone',
    lifetime: 90 * DAY,
};
const UNRESTRICTED = { channel_ids: null, team_ids: null, subsite_ids: null };
const fullPolicy = (sites) => ({
    ...LIFE,
    ...UNRESTRICTED,
    sites: sites.map(({ site }) => site),
    scopes: SCOPES,
    data_access: DATA_ACCESS,
});
async function restrictedPolicy(db, first) {
    const on = { tenant: first.tenant, sites: [first.site] };
    const channels = await belonging(db, 'channel', [CHANNEL], on);
    return {
        ...LIFE,
        ...UNRESTRICTED,
        sites: on.sites,
        scopes: scopeSet('read').filter((scope) => scope !== 'contact_read_pii'),
        data_access: ['message_content'],
        channel_ids: channels.map(({ id }) => id),
    };
}
async function issue(db, installation, policy) {
    const issued = await issueCredential(db, { installation, environment: 'test', policy });
    if (!issued)
        throw new Error('the demo installation was removed while its credentials were issued');
    return { credential_id: issued.credential.id, secret: issued.secret, token: issued.token };
}
async function mapAuthors(db, credential, sites) {
    for (const [i, author] of AUTHORS.entries()) {
        const site = sites[i];
        if (!site)
            continue;
        const [found] = await belonging(db, 'operator', [author], { tenant: site.tenant, sites: [site.site] });
        if (found)
            await mapAuthor(db, { credential, operator: found.id });
    }
}
const describe = (demo) => [
    'The demo organization is loaded.',
    '',
    facts([
        ['organization', demo.organization_id],
        ['websites', demo.website_ids],
        ['app', demo.app_id],
        ['installation', demo.installation_id],
    ]),
    '',
    'A credential with every grant, in the test environment:',
    '',
    credentialFacts(demo.full),
    '',
    'A credential that reads one channel of the first website, without personal data:',
    '',
    credentialFacts(demo.restricted),
    '',
    'Secrets and tokens are shown only now.',
].join('\n');
const credentialFacts = ({ credential_id, secret, token }) => facts([
    ['credential', credential_id],
    ['secret', secret],
    ['token', token],
]);
//# sourceMappingURL=demo.js.map
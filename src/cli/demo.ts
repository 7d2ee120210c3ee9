import type { Command } from 'commander';
import { issueCredential, newId } from '../auth/issue.ts';
import { addPerson } from '../auth/people.ts';
import { makeSignInLink, type SignInLink } from '../auth/sign-in-links.ts';
import { DATA_ACCESS, SCOPES } from '../core/scopes.ts';
import { sql } from '../core/sql.ts';
import { insertApp } from '../store/administration/apps.ts';
import { mapAuthor } from '../store/administration/authors.ts';
import type { PolicyChanges } from '../store/administration/credentials.ts';
import type { Candidate } from '../store/administration/references.ts';
import type { Database } from '../store/driver/postgres.ts';
import type { Store } from '../store/open/open.ts';
import type { RunAction } from './context.ts';
import { completePolicy } from './credential-policy.ts';
import { moment, scopeSet } from './options.ts';
import { facts, Refused } from './output.ts';
import { belonging, organization, websites } from './references.ts';

interface DemoCredential {
  readonly credential_id: string;
  readonly secret: string;
  readonly token: string;
}

export interface Demo {
  readonly organization_id: string;
  readonly app_id: string;
  readonly installation_id: string;
  readonly website_ids: string[];
  /** A credential with all scopes and data access on both websites, and an operator of each website as author. */
  readonly full: DemoCredential;
  /** A credential that reads one channel of the first website, without personal data. */
  readonly restricted: DemoCredential;
}

export interface DemoOptions {
  readonly now?: Date;
}

// External ids in resources/demo/organization.ndjson. The list has one author for each website, in the same order.
const ORGANIZATION = 'larkspur';
const WEBSITES = ['larkspur-us', 'larkspur-eu'];
const AUTHORS = ['op-priya', 'op-anke'];
const CHANNEL = 'us-chat';
/** The demo's owner has no password. A one-time link signs the owner in. */
const OWNER = 'owner@larkspur.example';

export function demoCommand(program: Command, register: RunAction): void {
  const command = program
    .command('demo')
    .description('load the demo organization into an empty store')
    .option('--now <TIME>', 'current time of the demo, RFC 3339 (default: the clock of the store)', moment);
  register(command, async ({ out, store }) => {
    const opened = await store({ migrates: true });
    if (!(await isEmpty(opened.db)))
      throw new Refused('The store is not empty. The demo loads only into an empty store.');
    out.note('loading the demo organization');
    const demo = await loadDemo(opened, command.opts<DemoOptions>());
    out.result(demo, describe(demo));
  });
}

/** True when the store is empty or contains only the rest of an interrupted demo load. */
export async function isEmpty(db: Database): Promise<boolean> {
  const [row] = await db.query<{ empty: boolean }>(sql`
    SELECT NOT EXISTS (SELECT 1 FROM platform.organization WHERE external_id <> ${ORGANIZATION})
       AND NOT EXISTS (SELECT 1 FROM gateway.credential) AS empty`);
  return row?.empty === true;
}

export async function loadDemo(store: Pick<Store, 'db' | 'slow'>, options: DemoOptions): Promise<Demo> {
  const { db, slow } = store;
  // The importer loads 0.1 s of packages, which the help does not need.
  const [{ demoRecords }, { importRecords }] = await Promise.all([
    import('../sources/files/demo.ts'),
    import('../sources/files/import.ts'),
  ]);
  const now = options.now ?? (await clock(db));
  await importRecords(slow, demoRecords(now), { name: 'demo' });
  return demoAccess(db);
}

/** Creates an app and two credentials for the demo organization, which must already be stored. */
export async function demoAccess(db: Database): Promise<Demo> {
  const owner = await organization(db, ORGANIZATION);
  const sites = await websites(db, WEBSITES, owner.tenant);
  const [first] = sites;
  if (!first) throw new Error('the demo has no website');
  const made = { id: newId('app'), installation: newId('ins'), tenant: owner.tenant };
  await insertApp(db, { ...made, name: 'Demo agent', quota: { perMinute: 600, burst: 120 } });
  // Before the credentials, because a store with a credential counts as loaded.
  await addPerson(db, { tenant: owner.tenant, email: OWNER, role: 'owner', password: null });
  const restricted = await issue(db, made.installation, await restrictedPolicy(db, first));
  const all = { sites: sites.map(({ site }) => site), scopes: SCOPES, data_access: DATA_ACCESS };
  const full = await issue(db, made.installation, all);
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
export async function demoLink(db: Database, baseUrl: string): Promise<SignInLink | undefined> {
  const [owner] = await db.query<{ id: string }>(sql`
    SELECT p.id FROM gateway.person p JOIN platform.organization o ON o.tenant = p.tenant
     WHERE o.external_id = ${ORGANIZATION} AND p.email = ${OWNER}`);
  return owner && makeSignInLink(db, { person: owner.id, baseUrl });
}

async function clock(db: Database): Promise<Date> {
  const [row] = await db.query<{ now: Date }>(sql`SELECT date_trunc('milliseconds', now()) AS now`);
  return row?.now ?? new Date();
}

async function restrictedPolicy(db: Database, first: Candidate): Promise<PolicyChanges> {
  const on = { tenant: first.tenant, sites: [first.site] };
  const channels = await belonging(db, 'channel', [CHANNEL], on);
  return {
    sites: on.sites,
    scopes: scopeSet('read').filter((scope) => scope !== 'contact_read_pii'),
    data_access: ['message_content'],
    channel_ids: channels.map(({ id }) => id),
  };
}

async function issue(db: Database, installation: string, granted: PolicyChanges): Promise<DemoCredential> {
  const policy = completePolicy(granted);
  const issued = await issueCredential(db, { installation, environment: 'test', policy });
  if (!issued) throw new Error('the demo installation was removed while its credentials were issued');
  return { credential_id: issued.credential.id, secret: issued.secret, token: issued.token };
}

async function mapAuthors(db: Database, credential: string, sites: readonly Candidate[]): Promise<void> {
  for (const [i, author] of AUTHORS.entries()) {
    const site = sites[i];
    if (!site) continue;
    const [found] = await belonging(db, 'operator', [author], { tenant: site.tenant, sites: [site.site] });
    if (found) await mapAuthor(db, { credential, operator: found.id });
  }
}

const describe = (demo: Demo): string =>
  [
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

const credentialFacts = ({ credential_id, secret, token }: DemoCredential): string =>
  facts([
    ['credential', credential_id],
    ['secret', secret],
    ['token', token],
  ]);

import type { Command } from 'commander';
import { pick } from '../core/json.ts';
import { type ConsentRecord, listConsents, revokeConsent } from '../store/administration/consents.ts';
import { confirm, irreversible } from './confirm.ts';
import type { RunAction } from './context.ts';
import { credential } from './credential.ts';
import { restrictionsOf } from './credential-view.ts';
import { appOf, plain, Refused, table, time } from './output.ts';
import { person, tenantOf } from './references.ts';

export function consentCommands(program: Command, register: RunAction): void {
  const group = program.command('consent').description('list and revoke consents: what people permitted apps to do');
  listCommand(group, register);
  revokeCommand(group, register);
}

function listCommand(group: Command, register: RunAction): void {
  const command = group
    .command('list')
    .description('list consents in order of creation')
    .option('--credential <CRD>', 'list only consents to this credential')
    .option('--person <PERSON>', 'list only consents of this person, by id or e-mail address')
    .option('--organization <ORG>', 'list only consents in this organization');
  register(command, async ({ out, store }) => {
    const given = command.opts<{ credential?: string; person?: string; organization?: string }>();
    const { db } = await store();
    const inOrganization = await tenantOf(db, given.organization);
    const consents = await listConsents(db, {
      ...inOrganization,
      ...(given.credential !== undefined && { credential: (await credential(db, given.credential)).id }),
      ...(given.person !== undefined && { person: (await person(db, given.person, inOrganization.tenant)).id }),
    });
    out.result({ consents: consents.map(document) }, consentTable(consents));
  });
}

function revokeCommand(group: Command, register: RunAction): void {
  const command = irreversible(
    group
      .command('revoke <CNS>')
      .description('revoke a consent and all its tokens, immediately and permanently; safe to repeat'),
  );
  register(command, async ({ out, store }) => {
    const id = command.args[0] ?? '';
    const { db } = await store();
    await confirm(command, `Revoke ${plain(id)}? The tokens of the consent end at once and for ever.`);
    const revoked = await revokeConsent(db, id);
    if (!revoked) throw new Refused(`There is no consent ${JSON.stringify(plain(id))}.`);
    const state = revoked.state === 'revoked' ? 'is revoked' : 'had already ended';
    out.result(document(revoked), `Consent ${revoked.id} ${state}.`);
  });
}

const document = (record: ConsentRecord): object => ({
  consent_id: record.id,
  ...pick(record, 'credential_id', 'app_id', 'app_name'),
  ...(record.client_host !== null && pick(record, 'client_host', 'client_id')),
  ...pick(record, 'organization_id', 'person_id', 'email', 'resource', 'scopes', 'website_ids', 'data_access'),
  restrictions: restrictionsOf(record),
  ...pick(record, 'renewable', 'state', 'because', 'created_at', 'expires_at', 'revoked_at'),
});

const consentTable = (records: readonly ConsentRecord[]): string =>
  table(
    ['CONSENT', 'APP', 'PERSON', 'RESOURCE', 'WEBSITES', 'RENEWABLE', 'STATE', 'EXPIRES'],
    records.map((record) => [
      record.id,
      appOf(record.client_host, record.app_name),
      plain(record.email),
      record.resource,
      record.website_ids.join(' '),
      record.renewable ? 'yes' : 'no',
      record.because === null ? record.state : `${record.state} (${record.because})`,
      time(record.expires_at),
    ]),
    'There is no consent.',
  );

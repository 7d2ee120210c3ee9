import type { Issued } from '../auth/issue.ts';
import { waitsOf } from '../core/authority.ts';
import { pick } from '../core/json.ts';
import { SCOPES } from '../core/scopes.ts';
import type { CredentialRecord } from '../store/administration/credentials.ts';
import { appOf, facts, plain, table, time } from './output.ts';

const websiteIds = ({ tenant, sites }: CredentialRecord): string[] => sites.map((site) => `web_${tenant}_${site}`);

type Restricted = Pick<CredentialRecord, 'channel_ids' | 'team_ids' | 'subsite_ids'>;

/** Returns the restrictions of a credential as in the API. A dimension without a restriction is left out. */
export const restrictionsOf = ({ channel_ids, team_ids, subsite_ids }: Restricted): object => ({
  ...(channel_ids && { channel_ids }),
  ...(team_ids && { team_ids }),
  ...(subsite_ids && { subsite_ids }),
});

export const credentialDocument = (record: CredentialRecord): object => ({
  credential_id: record.id,
  ...pick(record, 'installation_id', 'app_id', 'organization_id'),
  ...(record.client_host !== null && { client_host: record.client_host }),
  ...pick(record, 'environment', 'state'),
  website_ids: websiteIds(record),
  ...pick(record, 'scopes', 'data_access'),
  restrictions: restrictionsOf(record),
  ...pick(record, 'callbacks', 'origins', 'allow_ip', 'approve', 'approval_by', 'approvers', 'write'),
  ...pick(record, 'without_approval', 'revision', 'old_secret_until', 'expires_at', 'revoked_at'),
  ...pick(record, 'created_at', 'updated_at'),
});

/** Adds the number of usable tokens. A statement that makes or revokes tokens cannot count them. */
export const storedDocument = (record: CredentialRecord): object => ({
  ...credentialDocument(record),
  usable_tokens: record.usable_tokens,
});

/** The only JSON document that contains the new secret and the new token. */
export const issuedDocument = ({ credential, secret, token }: Issued): object => ({
  ...credentialDocument(credential),
  secret,
  token,
});

export const credentialText = (record: CredentialRecord): string =>
  facts([
    ['credential', `${record.id}, ${record.state}`],
    ['app', `${appOf(record.client_host, record.app_name)} (${record.app_id})`],
    ['installation', record.installation_id],
    ['environment', record.environment],
    ['websites', websiteIds(record)],
    ['scopes', record.scopes.length === SCOPES.length ? 'all' : record.scopes],
    ['data access', list(record.data_access)],
    ['channels', record.channel_ids ?? 'unrestricted'],
    ['teams', record.team_ids ?? 'unrestricted'],
    ['subsites', record.subsite_ids ?? 'unrestricted'],
    ['callbacks', list(record.callbacks)],
    ['origins', list(record.origins)],
    ['addresses', record.allow_ip.length === 0 ? 'every' : record.allow_ip],
    ['approval', list([...waitsOf(record)].sort())],
    ...(record.approval_by === 'others'
      ? [['approved by', 'others than the person for whom the app writes'] as const]
      : []),
    ...(record.approvers.length > 0 ? [['approvers', record.approver_emails.map(plain)] as const] : []),
    ...(record.write.length > 0 ? [['writes by policy', record.write] as const] : []),
    ...(record.without_approval.length > 0 ? [['without approval', record.without_approval] as const] : []),
    ['revision', String(record.revision)],
    ['expires', time(record.expires_at)],
    ...(record.old_secret_until ? [['old secret', `accepted until ${time(record.old_secret_until)}`] as const] : []),
    ...(record.revoked_at ? [['revoked', time(record.revoked_at)] as const] : []),
  ]);

const list = (values: readonly string[]): string | readonly string[] => (values.length === 0 ? 'none' : values);

export const issuedText = ({ credential, secret, token }: Issued): string =>
  [
    credentialText(credential),
    '',
    facts([
      ['secret', secret],
      ['token', token],
    ]),
    '',
    'Secret and token are shown only now. The store keeps only their digests.',
  ].join('\n');

export const credentialTable = (records: readonly CredentialRecord[]): string =>
  table(
    ['CREDENTIAL', 'APP', 'ENVIRONMENT', 'STATE', 'REVISION', 'WEBSITES', 'EXPIRES'],
    records.map((record) => [
      record.id,
      appOf(record.client_host, record.app_name),
      record.environment,
      record.state,
      String(record.revision),
      websiteIds(record).join(' '),
      time(record.expires_at),
    ]),
    'There is no credential.',
  );

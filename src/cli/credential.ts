import { type Command, Option } from 'commander';
import { issueCredential, revokeCredential, rotateCredential } from '../auth/issue.ts';
import { WAIT_BY_DEFAULT, waitsOf } from '../core/authority.ts';
import {
  type CredentialRecord,
  type Environment,
  type PolicyChanges,
  readCredentials,
  updateCredential,
} from '../store/administration/credentials.ts';
import type { Database } from '../store/driver/postgres.ts';
import { confirm, irreversible } from './confirm.ts';
import type { CommandContext, RunAction } from './context.ts';
import {
  type Clearable,
  clearable,
  cleared,
  completePolicy,
  contradiction,
  type PolicyOptions,
  policyOptions,
  resolvePolicy,
  scopesOf,
} from './credential-policy.ts';
import {
  credentialDocument,
  credentialTable,
  credentialText,
  issuedDocument,
  issuedText,
  storedDocument,
} from './credential-view.ts';
import { DAY, duration } from './options.ts';
import { plain, Refused } from './output.ts';
import { app, installation, tenantOf } from './references.ts';

export function credentialCommands(program: Command, register: RunAction): void {
  const group = program.command('credential').description('manage the grants, secrets and tokens of installations');
  issueCommand(group, register);
  listCommand(group, register);
  showCommand(group, register);
  updateCommand(group, register);
  rotateCommand(group, register);
  revokeCommand(group, register);
}

interface IssueOptions extends PolicyOptions {
  readonly installation: string;
  readonly environment: Environment;
}

function issueCommand(group: Command, register: RunAction): void {
  const command = irreversible(
    policyOptions(
      group
        .command('issue')
        .description('issue a credential; its secret and token are shown only once')
        .option('--installation <INS>', 'installation, by its id, or by the id or name of its app (required)')
        .addOption(new Option('--environment <ENV>', 'environment of the tokens (required)').choices(['live', 'test'])),
      { issue: true },
    ),
  );
  register(command, async ({ out, store }) => {
    const options = command.opts<IssueOptions>();
    const missing = missingOf(options);
    if (missing.length > 0) command.error(`error: required options are missing: ${missing.join(', ')}`);
    const { db } = await store();
    const target = await installation(db, options.installation);
    const policy = completePolicy(
      await resolvePolicy(db, options, { tenant: target.tenant, sites: [] }, (said) => command.error(said)),
    );
    refuseContradiction(command, options);
    const freed = freedOf(policy, { approve: [], without_approval: [] });
    if (freed.length > 0) await confirm(command, `Let the credential write without approval: ${freed.join(', ')}?`);
    const issued = await issueCredential(db, { installation: target.id, environment: options.environment, policy });
    if (!issued) throw new Refused('The installation has just been removed.');
    noteIdle(out, issued.credential);
    out.result(issuedDocument(issued), issuedText(issued));
  });
}

/** The parser names only the first missing option. So this function finds all of them at once. */
const missingOf = (options: Partial<IssueOptions>): string[] => [
  ...(options.installation === undefined ? ["'--installation <INS>'"] : []),
  ...(options.environment === undefined ? ["'--environment <ENV>'"] : []),
  ...(options.website === undefined ? ["'--website <WEB>'"] : []),
  ...(scopesOf(options) === undefined ? ["'--scope <SCOPE>' or '--scopes <SET>'"] : []),
];

function listCommand(group: Command, register: RunAction): void {
  const command = group
    .command('list')
    .description('list credentials in order of creation')
    .option('--organization <ORG>', 'list only credentials of this organization')
    .option('--app <APP>', 'list only credentials of this app')
    .option('--installation <INS>', 'list only credentials of this installation');
  register(command, async ({ out, store }) => {
    const given = command.opts<{ organization?: string; app?: string; installation?: string }>();
    const { db } = await store();
    const records = await readCredentials(db, {
      ...(await tenantOf(db, given.organization)),
      ...(given.app !== undefined && { app: (await app(db, given.app)).id }),
      ...(given.installation !== undefined && { installation: (await installation(db, given.installation)).id }),
    });
    out.result({ credentials: records.map(storedDocument) }, credentialTable(records));
  });
}

const argument = (group: Command, name: string, description: string): Command =>
  group.command(`${name} <CRD>`).description(description);

function showCommand(group: Command, register: RunAction): void {
  const command = argument(group, 'show', 'show a credential without its secrets');
  register(command, async ({ out, store }) => {
    const { db } = await store();
    const record = await credential(db, command.args[0]);
    out.result(storedDocument(record), credentialText(record));
  });
}

interface UpdateOptions extends PolicyOptions {
  readonly clear?: Clearable[];
}

function updateCommand(group: Command, register: RunAction): void {
  const command = policyOptions(
    argument(
      group,
      'update',
      'change the grants of a credential immediately; a given list replaces the whole stored list',
    ),
  ).option(
    '--clear <NAME>',
    'list to clear: channel, team, subsite or allow-ip become unrestricted; callback, origin, data-access, write or approver become empty (repeatable)',
    clearable,
  );
  irreversible(command);
  register(command, async ({ out, store }) => {
    const { clear = [], ...options } = command.opts<UpdateOptions & { json?: boolean }>();
    const both = contradiction(options, clear);
    if (both) command.error(`error: option '--clear ${both}' contradicts '--${both}'`);
    refuseContradiction(command, options);
    if (clear.length === 0 && Object.keys(options).every((name) => ['json', 'yes'].includes(name))) {
      command.error('error: nothing to change: give at least one option');
    }
    const { db } = await store();
    const current = await active(db, command.args[0]);
    if (options.allowIp && current.client_host !== null)
      throw new Refused(
        `Credential ${current.id} belongs to the client at ${current.client_host}, whose addresses the gateway cannot know. It can have no --allow-ip.`,
      );
    const changes = await resolvePolicy(db, options, current, (said) => command.error(said));
    const freed = freedOf({ ...changes, write: changes.write ?? current.write }, current);
    if (freed.length > 0)
      await confirm(
        command,
        `Let ${current.id} of ${plain(current.app_name)} write without approval: ${freed.join(', ')}?`,
      );
    const updated = await updateCredential(db, current.id, { ...changes, ...cleared(clear) });
    if (!updated) throw new Refused(`Credential ${current.id} has just been revoked.`);
    noteIdle(out, updated);
    out.result(credentialDocument(updated), credentialText(updated));
  });
}

/** Approvers alone make no write wait, although the list looks as if they did. */
function noteIdle({ note }: CommandContext['out'], record: CredentialRecord): void {
  if (record.approvers.length > 0 && waitsOf(record).length === 0)
    note('No write of this credential waits for its approvers. Name writes with --approve.');
}

function refuseContradiction(command: Command, { approve, withoutApproval: free = [] }: PolicyOptions): void {
  if (approve?.some((name) => free.includes(name)))
    command.error("error: option '--approve' contradicts '--without-approval': both name the same operation");
}

/** The operations that the change frees, and whose writes wait now or by default. */
const freedOf = (
  { write = [], without_approval: free = [] }: PolicyChanges,
  now: Pick<CredentialRecord, 'approve' | 'without_approval'>,
): string[] =>
  free.filter((name) => {
    const waits = WAIT_BY_DEFAULT.includes(name) && write.includes(name) && !now.without_approval.includes(name);
    return waits || now.approve.includes(name);
  });

function rotateCommand(group: Command, register: RunAction): void {
  const command = irreversible(
    argument(group, 'rotate', 'replace the secret and the token; the new ones are shown only once').option(
      '--overlap <DURATION>',
      'time for which the old secret and token stay valid; 0s ends them at once (default: 24h)',
      duration,
    ),
  );
  register(command, async ({ out, store }) => {
    const { overlap = DAY } = command.opts<{ overlap?: number }>();
    const { db } = await store();
    const { id, state, client_host, app_name: app } = await active(db, command.args[0]);
    if (client_host !== null)
      throw new Refused(
        `Credential ${id} belongs to the client at ${client_host}, which has no secret. End its access with consent revoke.`,
      );
    if (state === 'expired')
      throw new Refused(
        `Credential ${id} has expired. Extend the credential with credential update --expires, then rotate it.`,
      );
    if (overlap === 0)
      await confirm(command, `Rotate ${id} of ${plain(app)}? Its old secret and token end at once and for ever.`);
    const issued = await rotateCredential(db, id, overlap);
    if (!issued) throw new Refused(`Credential ${id} has just been revoked or has expired.`);
    out.result(issuedDocument(issued), issuedText(issued));
  });
}

function revokeCommand(group: Command, register: RunAction): void {
  const command = irreversible(
    argument(group, 'revoke', 'revoke a credential, its secret and its tokens, immediately and permanently'),
  );
  register(command, async ({ out, store }) => {
    const { db } = await store();
    const { id, app_name: app, state } = await credential(db, command.args[0]);
    if (state !== 'revoked')
      await confirm(command, `Revoke ${id} of ${plain(app)}? Its secret and tokens end at once and for ever.`);
    const revoked = await revokeCredential(db, id);
    if (!revoked) throw new Refused(`Credential ${id} has just been removed.`);
    out.result(credentialDocument(revoked), `Credential ${id} is revoked.`);
  });
}

export async function credential(db: Database, id = ''): Promise<CredentialRecord> {
  const [record] = await readCredentials(db, { id });
  if (!record) throw new Refused(`There is no credential ${JSON.stringify(id)}.`);
  return record;
}

async function active(db: Database, id: string | undefined): Promise<CredentialRecord> {
  const record = await credential(db, id);
  if (record.state === 'revoked')
    throw new Refused(`Credential ${record.id} is permanently revoked. Issue another credential.`);
  return record;
}

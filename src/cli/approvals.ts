import { randomUUID } from 'node:crypto';
import { type Command, Option } from 'commander';
import { draftOfCommand } from '../audit/mark.ts';
import { openGivenKeys } from '../auth/key-file.ts';
import { ConfigError } from '../config/error.ts';
import type { AuditDraft } from '../core/audit.ts';
import { titleOf } from '../core/failures.ts';
import type { RemoteWriter } from '../core/writes.ts';
import { type Approval, type ApprovalDesk, type Decision, decide, listApprovals } from '../gateway/approvals.ts';
import { loadTools } from '../gateway/load.ts';
import { openWriteBack, type WriteBack } from '../sources/write-back.ts';
import { APPROVAL_STATES, type ApprovalState } from '../store/administration/approvals.ts';
import type { Database } from '../store/driver/postgres.ts';
import { confirm, irreversible } from './confirm.ts';
import type { CommandContext, RunAction } from './context.ts';
import { appOf, facts, plain, Refused, table, time } from './output.ts';
import { tenantOf } from './references.ts';

export function approvalsCommands(program: Command, register: RunAction): void {
  const group = program
    .command('approvals')
    .description('decide about writes of credentials with --approve, which wait for a person for up to 24 hours');
  listCommand(group, register);
  const show = group.command('show <OP>').description('show a write that waits, with its whole text');
  register(show, async ({ out, store }) => {
    const approval = await one(await deskOf((await store()).db), show.args[0]);
    out.result(document(approval), text(approval));
  });
  decisionCommand(
    group,
    register,
    'approve',
    'approve a write: it takes effect now, at most once, and nobody can undo it',
  );
  decisionCommand(group, register, 'reject', 'reject a write: it never takes effect');
}

function listCommand(group: Command, register: RunAction): void {
  const command = group
    .command('list')
    .description('list writes that wait for a decision, the newest first')
    .option('--organization <ORG>', 'list only writes in this organization')
    .addOption(
      new Option('--state <STATE>', 'state of the writes').choices(APPROVAL_STATES).default('pending', 'pending'),
    );
  register(command, async ({ out, store }) => {
    const { organization, state } = command.opts<{ organization?: string; state: ApprovalState }>();
    const { db } = await store();
    const found = await listApprovals(await deskOf(db), { ...(await tenantOf(db, organization)), state });
    out.result(
      { approvals: found.map(document) },
      table(
        ['OPERATION ID', 'OPERATION', 'TARGET', 'APP', 'STATE', 'SINCE'],
        found.map((approval) => [
          approval.operation_id,
          approval.operation,
          approval.target,
          appName(approval),
          approval.state,
          time(approval.requested_at),
        ]),
        `No write is ${state}.`,
      ),
    );
  });
}

function decisionCommand(group: Command, register: RunAction, name: 'approve' | 'reject', description: string): void {
  const command = irreversible(group.command(`${name} <OP>`).description(description));
  register(command, async (context) => {
    const began = performance.now();
    const { db } = await context.store();
    const approval = await one(await deskOf(db), command.args[0]);
    if (approval.state === 'pending' && name === 'approve') context.out.note(text(approval));
    await confirm(command, `${name === 'approve' ? 'Approve' : 'Reject'} this write for ${approval.target}?`);
    const decision = await decided(context, approval, name, began);
    if (decision.state !== 'performed' && decision.state !== 'rejected') throw new Refused(refusal(approval, decision));
    const now = await one(await deskOf(db), approval.operation_id);
    const { status, rejected }: { status?: string; rejected?: string } = decision.state === 'performed' ? decision : {};
    context.out.result(
      {
        ...document(now),
        ...(status !== undefined && { status }),
        ...(rejected !== undefined && { failure: rejected }),
      },
      sentence(now, decision),
    );
  });
}

/** `began`: when the command began, as for the records of other commands. */
async function decided(
  context: CommandContext,
  approval: Approval,
  name: 'approve' | 'reject',
  began: number,
): Promise<Decision> {
  const { db } = await context.store();
  const desk = await deskOf(db);
  const keys = await openGivenKeys(context.config).catch(() => undefined);
  const draft = ({ target, organization_id, website_id, operation_id }: Approval): AuditDraft =>
    draftOfCommand(keys, {
      organization: organization_id,
      website: website_id,
      operation: `approvals ${name}`,
      operationId: operation_id,
      targets: [target],
      requestId: randomUUID(),
      ms: Math.round(performance.now() - began),
    });
  if (name === 'reject') return decide(desk, approval.operation_id, false, draft);
  const remote = helpdesks(context);
  try {
    return await decide({ ...desk, remote }, approval.operation_id, true, draft);
  } finally {
    await remote.close();
  }
}

/**
 * Writes to the helpdesks of live sources. Only they need the gateway's keys. Without the keys, nothing is sent, and the
 * write still waits.
 */
function helpdesks({ config, out, store }: CommandContext): RemoteWriter & { close(): Promise<void> } {
  let opened: WriteBack | undefined;
  const onError = (): void => out.note('The write did not reach the helpdesk.');
  return {
    onlySources: true,
    perform: async (command, signal) => {
      try {
        opened ??= openWriteBack({ db: (await store()).db, keys: await openGivenKeys(config), onError });
      } catch (error) {
        out.note(error instanceof ConfigError ? error.message : 'The helpdesk cannot be opened.');
        return { refused: 'native_unavailable' };
      }
      return opened.perform(command, signal);
    },
    find: async () => undefined,
    close: async () => opened?.close(),
  };
}

const deskOf = async (db: Database): Promise<ApprovalDesk> => ({ db, registry: await loadTools() });

async function one(desk: ApprovalDesk, id = ''): Promise<Approval> {
  const [approval] = id === '' ? [] : await listApprovals(desk, { id });
  if (!approval) throw new Refused(`There is no write ${JSON.stringify(plain(id))} that waited for an approval.`);
  return approval;
}

function refusal({ operation_id: id }: Approval, decision: Decision): string {
  if (decision.state === 'decided') return `Operation ${id} is already ${decision.approval}.`;
  if (decision.state === 'refused')
    return `Operation ${id} cannot take effect now, and still waits: ${decision.code}. ${titleOf(decision.code)}`;
  return `Operation ${id} has lapsed. It has waited for 24 hours, or its credential or consent has changed or ended.`;
}

function sentence({ operation_id: id }: Approval, decision: Decision): string {
  if (decision.state !== 'performed') return `Operation ${id} is rejected.`;
  if (decision.status === 'outcome_unknown')
    return `Operation ${id} is approved. The helpdesk did not answer, so the gateway will ask it for the outcome.`;
  const { rejected } = decision;
  if (rejected === undefined) return `Operation ${id} is approved, and has taken effect.`;
  return `Operation ${id} is approved, but had no effect: ${rejected}. ${titleOf(rejected)}`;
}

const appName = ({ client_host, app_name }: Approval): string => appOf(client_host, app_name ?? 'a removed app');

const document = (approval: Approval): object => {
  const { tenant: _, site: __, record: ___, assignee_name: ____, command, client_host, ...members } = approval;
  const { operation: _____, ...input } = command ?? { operation: '' };
  return { ...members, ...(client_host !== null && { client_host }), command: command === null ? null : input };
};

function text(approval: Approval): string {
  const { command, email, client_name: client, client_version: version, surface, author, name } = approval;
  const { operation, ...input } = command ?? { operation: approval.operation };
  return facts([
    ['operation id', approval.operation_id],
    ['operation', operation],
    ['state', approval.lapsed_because === null ? approval.state : `${approval.state} (${approval.lapsed_because})`],
    ['target', name === null ? approval.target : `${approval.target} (${plain(name)})`],
    ...Object.entries(input).map(([member, value]): [string, string[]] => [
      plain(member),
      // Each line is made safe by itself, so that a text cannot look like the next fact.
      (typeof value === 'string' ? value : JSON.stringify(value)).split('\n').map((line) => `| ${plain(line)}`),
    ]),
    ['author', author === null ? 'none' : plain(author)],
    ['app', `${appName(approval)}, ${approval.credential_id}`],
    ...(email === null ? [] : [['consent of', plain(email)] as const]),
    ...(client === null ? [] : [['client', plain([client, version].filter(Boolean).join(' '))] as const]),
    ...(surface === null ? [] : [['interface', surface] as const]),
    ['since', time(approval.requested_at)],
    ['until', time(approval.expires_at)],
    ...(approval.decided_at ? [['decided', time(approval.decided_at)] as const] : []),
  ]);
}

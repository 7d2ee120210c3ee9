import type { Command } from 'commander';
import { insertCommandRecord, organizationOf } from '../store/audit/commands.ts';
import type { CommandContext } from './context.ts';

/** The groups of commands that manage objects of an organization. */
const GROUPS = [
  'app',
  'author',
  'consent',
  'credential',
  'erase',
  'family',
  'organization',
  'person',
  'source',
  'webhook',
];
/** Commands of these groups that change nothing. */
const READS = ['list', 'show', 'check', 'grants', 'deliveries', 'test'];
const ID = /^(app|ins|crd|prs|cns|whk|src|web|ctc|vis|era)_[a-z0-9_]{1,80}$/;
const TARGETS = 3;

/** The full name of a command that changes something, such as `credential issue`. Undefined for all others. */
function changeOf(command: Command): string | undefined {
  const [group, name] = [command.parent?.name() ?? '', command.name()];
  return GROUPS.includes(group) && !READS.includes(name) ? `${group} ${name}` : undefined;
}

/**
 * Runs a command. If it has changed something, its audit record names what the command has told: the ids of its result
 * and of its arguments. A dry run changes nothing.
 * The record follows the change, because each change is one statement of its own.
 */
export async function audited(
  command: Command,
  context: CommandContext,
  run: (context: CommandContext) => Promise<void>,
): Promise<void> {
  const operation = changeOf(command);
  if (operation === undefined) return run(context);
  const began = performance.now();
  const { out } = context;
  let told: object | undefined;
  /** Of what a command deletes, the organization is known only before. */
  let before: string | undefined;
  const opened: CommandContext['store'] = async (options) => {
    const store = await context.store(options);
    before ??= await organizationOf(
      store.db,
      command.args.filter((one) => ID.test(one)),
    );
    return store;
  };
  const result: typeof out.result = (document, text) => {
    told = document;
    out.result(document, text);
  };
  await run({ ...context, store: opened, out: { ...out, result } });
  if (!told) return;
  const members: { readonly dry_run?: unknown; readonly organization_id?: unknown } = told;
  if (members.dry_run === true) return;
  // The certificate of an erasure does not name the person. The command does.
  const named = [...Object.values(told), ...command.args];
  const ids = [...new Set(named.filter((one) => typeof one === 'string' && ID.test(one)))];
  const { db } = await context.store();
  const { organization_id: own } = members;
  const organization = typeof own === 'string' ? own : (before ?? (await organizationOf(db, ids)));
  if (organization === undefined) return;
  const record = { organization, operation, targets: ids.slice(0, TARGETS), ms: performance.now() - began };
  await insertCommandRecord(db, record).catch(() => {
    out.note('The change is done, but its audit record could not be written.');
    process.exitCode = 1;
  });
}

import type { Command } from 'commander';
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

/** The full name of a command that changes something, such as `credential issue`. Undefined for all others. */
function changeOf(command: Command): string | undefined {
  const [group, name] = [command.parent?.name() ?? '', command.name()];
  return GROUPS.includes(group) && !READS.includes(name) ? `${group} ${name}` : undefined;
}

/** Runs a command. One that changes something leaves an audit record. */
export async function audited(
  command: Command,
  context: CommandContext,
  run: (context: CommandContext) => Promise<void>,
): Promise<void> {
  const operation = changeOf(command);
  if (operation === undefined) return run(context);
  const { recorded } = await import('./recorded.ts');
  return recorded(operation, command, context, run);
}

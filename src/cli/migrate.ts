import type { Command } from 'commander';
import type { Run } from './context.ts';

/** `gateway migrate`: opening the store does it; several processes may do it at once. */
export function migrateCommand(program: Command, register: Run): void {
  const command = program.command('migrate').description('bring the store to the current schema');
  register(command, async ({ out, store }) => {
    const { version } = await store();
    out.result({ version }, `The schema is at version ${version}.`);
  });
}

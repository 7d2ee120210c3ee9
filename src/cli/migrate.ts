import type { Command } from 'commander';
import type { Run } from './context.ts';

/**
 * The command only opens the store, because opening migrates the store. Several processes can do this at the same time.
 */
export function migrateCommand(program: Command, register: Run): void {
  const command = program.command('migrate').description('migrate the store to the current schema');
  register(command, async ({ out, store }) => {
    const { version } = await store();
    out.result({ version }, `The schema is at version ${version}.`);
  });
}

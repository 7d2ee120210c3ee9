import type { Command } from 'commander';
import { storeAddress } from './cells.ts';
import type { RunAction } from './context.ts';

/**
 * Opening the store migrates the store. The command then waits until the indexes of large tables are built. Several
 * processes can do this at the same time.
 */
export function migrateCommand(program: Command, register: RunAction): void {
  const command = program
    .command('migrate')
    .description('migrate the store to the current schema')
    .option(
      '--like <URL>',
      'take the keys of the cell at this PostgreSQL address, before the first use of the store',
      storeAddress,
    );
  register(command, async (context) => {
    const { out, store } = context;
    const { like } = command.opts<{ like?: string }>();
    const { version, build } = await store({ migrates: true });
    const taken = like === undefined ? undefined : await (await import('./cells-keys.ts')).takeKeys(context, like);
    await build(new AbortController().signal);
    const keys = taken?.length === 0 ? 'It already has the keys of the other cell.' : `It took: ${taken?.join(', ')}.`;
    out.result(
      { version, ...(taken && { taken }) },
      [`The schema is at version ${version}.`, ...(taken ? [keys] : [])].join(' '),
    );
  });
}

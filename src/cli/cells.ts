import { type Command, InvalidArgumentError } from 'commander';
import { isStore } from '../config/values.ts';
import type { RunAction } from './context.ts';

export function cellsCommands(program: Command, register: RunAction): void {
  const group = program.command('cells').description('compare this store with the stores of other cells');
  const command = group
    .command('check')
    .description('say what prevents a move of organizations between these cells; exit code 1 with an error')
    .argument('<URL...>', 'PostgreSQL addresses of the stores of other cells', (url, before: string[] | undefined) => [
      ...(before ?? []),
      storeAddress(url),
    ]);
  register(command, async (context) => {
    const { checkCells } = await import('./cells-check.ts');
    await checkCells(context, command.args);
  });
}

/** The address of another cell's store. No message repeats it, because it can have a password. */
export function storeAddress(value: string): string {
  if (!isStore(value))
    throw new InvalidArgumentError(
      'It must be the address of a PostgreSQL: postgres://user:password@host:5432/database.',
    );
  return value;
}

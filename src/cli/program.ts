import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { ConfigError, readConfig } from '../config/config.ts';
import { packageVersion } from '../config/package.ts';
import { StoreUnreachable, sqlState } from '../store/driver/errors.ts';
import { openStore, type Store, StoreUnavailable } from '../store/open/open.ts';
import { appCommands } from './app.ts';
import { authorCommands } from './author.ts';
import { consentCommands } from './consent.ts';
import type { CommandContext, Run } from './context.ts';
import { credentialCommands } from './credential.ts';
import { demoCommand } from './demo.ts';
import { doctorCommand } from './doctor.ts';
import { familyCommands } from './family.ts';
import { importCommand } from './import.ts';
import { migrateCommand } from './migrate.ts';
import { workers } from './options.ts';
import { type Output, openOutput, Refused } from './output.ts';
import { personCommands } from './person.ts';
import { restoredCommand } from './restored.ts';
import { webhookCommands } from './webhook.ts';

/** These commands need the surfaces, which cli/ must not import. So main.ts supplies the commands. */
export interface Wired {
  serve(context: CommandContext, options: { demo: boolean; workers: number }): Promise<void>;
  generate(context: CommandContext, options: { check: boolean }): Promise<void>;
}

export async function run(argv: readonly string[], wired: Wired): Promise<number> {
  const program = new Command('gateway')
    .description('Installation Gateway: REST, MCP and A2A access to stored customer-support data.')
    .version(packageVersion)
    .configureHelp({ showGlobalOptions: true })
    .exitOverride();
  const register: Run = (command, action) => {
    command.option('--json', 'print one JSON document').action(async (...args: unknown[]) => {
      const options: { json?: boolean } = command.opts();
      await withContext(openOutput(options.json === true), (context) => action(context, ...args));
    });
  };

  register(
    program
      .command('serve')
      .description('migrate the store, then serve on HOST:PORT')
      .option('--no-demo', 'do not load the demo into an empty store')
      .option(
        '--workers <n>',
        'number of processes that share the port, 1 to 64, each with its own connections',
        workers,
        1,
      ),
    (context, options) => wired.serve(context, options as { demo: boolean; workers: number }), // commander has parsed the options
  );
  register(
    program.command('generate', { hidden: true }).option('--check', 'fail if a generated file differs'),
    (context, options) => wired.generate(context, { check: (options as { check?: boolean }).check === true }), // commander has parsed the option
  );
  migrateCommand(program, register);
  demoCommand(program, register);
  importCommand(program, register);
  appCommands(program, register);
  credentialCommands(program, register);
  authorCommands(program, register);
  personCommands(program, register);
  consentCommands(program, register);
  familyCommands(program, register);
  restoredCommand(program, register);
  webhookCommands(program, register);
  doctorCommand(program, register);

  try {
    await program.parseAsync(argv, { from: 'user' });
    return process.exitCode === undefined ? 0 : Number(process.exitCode);
  } catch (error) {
    if (error instanceof CommanderError || error instanceof InvalidArgumentError) return error.exitCode === 0 ? 0 : 2;
    if (error instanceof Refused || error instanceof ConfigError || error instanceof StoreUnavailable) {
      process.stderr.write(`gateway: ${error.message}\n`);
      return 1;
    }
    process.stderr.write(`gateway: ${unexpected(error)}\n`);
    return 1;
  }
}

/**
 * Describes an unexpected error by its name and stack, which help to find the defect. The message is left out, because
 * it can contain data.
 */
function unexpected(error: unknown): string {
  if (error instanceof StoreUnreachable)
    return 'The connection to the store was lost. Committed changes are kept. Try again.';
  const name = error instanceof Error ? error.name : 'error';
  const frames = error instanceof Error ? error.stack?.split('\n').filter((line) => line.startsWith('    at ')) : [];
  const code = sqlState(error);
  return [`The command failed unexpectedly: ${name}${code && ` ${code}`}`, ...(frames ?? [])].join('\n');
}

async function withContext(out: Output, action: (context: CommandContext) => Promise<void>): Promise<void> {
  const config = readConfig();
  let opened: Promise<Store> | undefined;
  const context: CommandContext = {
    out,
    config,
    store: ({ migrates } = {}) => {
      opened ??= openStore({
        // Commands run long statements and change settings of their connection. So they connect to the server directly,
        // not through a pooler.
        databaseUrl: config.directUrl ?? config.databaseUrl,
        setting: config.directUrl === undefined ? 'DATABASE_URL' : 'DATABASE_DIRECT_URL',
        dataDir: config.dataDir,
        connections: 2,
        migrates,
        statementTimeout: 600_000,
        name: 'gateway-cli',
        log: out.note,
      });
      return opened;
    },
  };
  try {
    await action(context);
  } finally {
    await (await opened?.catch(() => undefined))?.close();
  }
}

import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { ConfigError } from '../config/error.ts';
import { packageVersion } from '../config/package.ts';
import { StoreUnreachable, sqlState } from '../store/driver/errors.ts';
import { StoreUnavailable } from '../store/embedded/unavailable.ts';
import type { Store } from '../store/open/open.ts';
import { audited } from './audited.ts';
import type { CommandContext, RunAction } from './context.ts';
import { addExamples, helpStyle } from './help.ts';
import { workers } from './options.ts';
import { type Output, openOutput, printable, Refused } from './output.ts';
import { withoutSecrets, withoutValues } from './secrets.ts';

/** These commands need the surfaces, which cli/ must not import. So main.ts supplies the commands. */
export interface Wired {
  serve(context: CommandContext, options: { demo: boolean; workers: number }): Promise<void>;
  generate(context: CommandContext, options: { check: boolean }): Promise<void>;
}

type Register = (program: Command, register: RunAction) => void;

/**
 * The commands, in the order of the help. A run loads only its own file, because all files take 0.3 s of processor
 * time.
 */
const COMMANDS: Readonly<Record<string, () => Promise<Register>>> = {
  migrate: async () => (await import('./migrate.ts')).migrateCommand,
  demo: async () => (await import('./demo.ts')).demoCommand,
  import: async () => (await import('./import.ts')).importCommand,
  organization: async () => (await import('./directory.ts')).organizationCommands,
  website: async () => (await import('./directory.ts')).websiteCommands,
  app: async () => (await import('./app.ts')).appCommands,
  credential: async () => (await import('./credential.ts')).credentialCommands,
  author: async () => (await import('./author.ts')).authorCommands,
  person: async () => (await import('./person.ts')).personCommands,
  consent: async () => (await import('./consent.ts')).consentCommands,
  approvals: async () => (await import('./approvals.ts')).approvalsCommands,
  family: async () => (await import('./family.ts')).familyCommands,
  webhook: async () => (await import('./webhook.ts')).webhookCommands,
  source: async () => (await import('./source.ts')).sourceCommands,
  erase: async () => (await import('./erase.ts')).eraseCommands,
  audit: async () => (await import('./audit.ts')).auditCommands,
  cells: async () => (await import('./cells.ts')).cellsCommands,
  restored: async () => (await import('./restored.ts')).restoredCommand,
  doctor: async () => (await import('./doctor.ts')).doctorCommand,
};
/** First words of a command line that need none of these files. */
const OWN = ['serve', 'generate', '--version', '-V'];

/**
 * Builds the command line. `first` is the first word that the operator typed. If this word names a command, the program
 * has only this command. Otherwise, the program has every command, for example for the help.
 */
export async function buildProgram(register: RunAction, wired: Wired, first?: string): Promise<Command> {
  const program = new Command('gateway')
    .description('Installation Gateway: REST, MCP and A2A access to stored customer-support data.')
    .version(packageVersion)
    .configureHelp(helpStyle)
    // A usage error repeats what the operator typed, and that can be a pasted secret.
    .configureOutput({
      outputError: (complaint, write) => write(withoutValues(complaint)),
      writeErr: (text) => void process.stderr.write(printable(text)),
    })
    .exitOverride();
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
  const known = first !== undefined && [...OWN, ...Object.keys(COMMANDS)].includes(first);
  for (const [name, load] of Object.entries(COMMANDS)) {
    if (!known || name === first) (await load())(program, register);
  }
  addExamples(program);
  return program;
}

export async function run(typed: readonly string[], wired: Wired): Promise<number> {
  // The help command of commander takes one word, and so knows groups only.
  const argv = typed[0] === 'help' ? [...typed.slice(1), '--help'] : typed;
  const register: RunAction = (command, action) => {
    command.option('--json', 'print one JSON document').action(async (...args: unknown[]) => {
      const options: { json?: boolean } = command.opts();
      await withContext(openOutput(options.json === true), (context) =>
        audited(command, context, (own) => action(own, ...args)),
      );
    });
  };
  try {
    const program = await buildProgram(register, wired, argv[0]);
    await program.parseAsync(argv, { from: 'user' });
    return process.exitCode === undefined ? 0 : Number(process.exitCode);
  } catch (error) {
    if (error instanceof CommanderError || error instanceof InvalidArgumentError) return error.exitCode === 0 ? 0 : 2;
    if (error instanceof Refused || error instanceof ConfigError || error instanceof StoreUnavailable) {
      process.stderr.write(`${printable(`gateway: ${withoutSecrets(error.message, argv)}`)}\n`);
      return 1;
    }
    process.stderr.write(`gateway: ${unexpected(error)}\n`);
    return 1;
  }
}

/** What a server refuses that is in order otherwise, by SQLSTATE: the operator can do something about it. */
const REFUSALS: Readonly<Record<string, string>> = {
  '2200H':
    'This cell has no organization number left, because its range of a million numbers is full. Add the organization to another cell.',
  '25006':
    'The store takes no changes, because its PostgreSQL is read-only. Look at default_transaction_read_only of the server, the database and the role, and at failovers.',
  '53100': 'The store takes no changes, because the disk of its PostgreSQL is full. Make room, and try again.',
  GW503: 'Nothing was changed, because the audit record of the change cannot be written. Try again.',
  GWMOV: 'Nothing was changed, because the organization moves to another cell right now. Try again in 5 seconds.',
};

/** Describes an unexpected error by its name and stack. The message is left out, because it can contain data. */
export function unexpected(error: unknown): string {
  if (error instanceof StoreUnreachable)
    return 'The connection to the store was lost. Committed changes are kept. Try again.';
  const name = error instanceof Error ? error.name : 'error';
  const frames = error instanceof Error ? error.stack?.split('\n').filter((line) => line.startsWith('    at ')) : [];
  const code = sqlState(error);
  const refusal = REFUSALS[code];
  if (refusal !== undefined) return refusal;
  // The two texts of the schema that are written for the operator (04_cells.sql).
  if (code === 'GW421' && error instanceof Error) return error.message;
  return [`The command failed unexpectedly: ${name}${code && ` ${code}`}`, ...(frames ?? [])].join('\n');
}

async function withContext(out: Output, action: (context: CommandContext) => Promise<void>): Promise<void> {
  const { readConfig } = await import('../config/config.ts');
  const config = readConfig();
  let opened: Promise<Store> | undefined;
  const context: CommandContext = {
    out,
    config,
    store: async ({ migrates = false } = {}) => {
      if (!migrates) (await import('./existing-store.ts')).existingStore(config);
      opened ??= import('../store/open/open.ts').then(({ openStore }) =>
        openStore({
          // Commands run long statements and change connection settings, so they do not use the pooler.
          databaseUrl: config.directUrl ?? config.databaseUrl,
          setting: config.directUrl === undefined ? 'DATABASE_URL' : 'DATABASE_DIRECT_URL',
          dataDir: config.dataDir,
          cell: config.cell,
          connections: 2,
          migrates,
          statementTimeout: 600_000,
          name: 'gateway-cli',
          log: out.note,
        }),
      );
      return opened;
    },
  };
  const close = async (): Promise<void> => (await opened?.catch(() => undefined))?.close();
  let interrupted: Promise<void> | undefined;
  const interrupt = (signal: NodeJS.Signals): void => {
    // Some commands handle signals themselves, for example serve and import.
    if (process.listenerCount(signal) > 0) return;
    interrupted = close().then(() => void process.kill(process.pid, signal));
  };
  for (const signal of SIGNALS) process.once(signal, interrupt);
  try {
    await action(context);
  } finally {
    for (const signal of SIGNALS) process.off(signal, interrupt);
    await (interrupted ?? close());
  }
}

/** A command that one of these signals ends must close the store. Otherwise the embedded PostgreSQL would run on. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

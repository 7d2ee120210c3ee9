import { type Command, InvalidArgumentError, Option } from 'commander';
import { RECORD_TYPES, type RecordType, recordJsonSchema } from '../sources/files/records.ts';
import { ImportBusy, type ImportOptions, ImportRefused, type ImportResult, importFiles } from '../sources/import.ts';
import type { CommandContext, Run } from './context.ts';
import { Refused, table } from './output.ts';
import { openProgress } from './progress.ts';

interface Given {
  readonly dryRun?: boolean;
  readonly rejects?: string;
  readonly resume?: boolean;
  readonly organization?: string;
  readonly schema?: RecordType | true;
}

/** `gateway import FILE…` (decisions, section 24). */
export function importCommand(program: Command, register: Run): void {
  const command = program
    .command('import')
    .description('load NDJSON files; what is stored already is updated, lines that cannot be are rejected one by one')
    .argument('[FILE...]', 'NDJSON files; - is standard input')
    .option('--dry-run', 'check everything, change nothing')
    .option('--rejects <FILE>', 'write each rejected line’s file, number, pointer and code, as NDJSON')
    .option('--resume', 'go on with an interrupted import of the same files')
    .option('--organization <ORG>', 'look references up in this organization, by id or external_id')
    .addOption(
      new Option('--schema [TYPE]', 'print the JSON Schema of a record type, or of all').argParser((value: string) => {
        const type = RECORD_TYPES.find((one) => one === value);
        if (!type) throw new InvalidArgumentError(`The record types are ${RECORD_TYPES.join(', ')}.`);
        return type;
      }),
    );
  register(command, async (context) => {
    const given = command.opts<Given>();
    if (given.schema !== undefined) return printSchema(context, given.schema);
    const files = command.args;
    if (files.length === 0) command.error("error: missing required argument 'FILE'");
    if (given.dryRun && given.resume) command.error("error: option '--dry-run' cannot be used with '--resume'");
    await load(context, files, given);
  });
}

function printSchema({ out }: CommandContext, type: RecordType | true): void {
  const document =
    type === true
      ? Object.fromEntries(RECORD_TYPES.map((one) => [one, recordJsonSchema(one)]))
      : recordJsonSchema(type);
  out.result(document, JSON.stringify(document, null, 2));
}

async function load({ out, store }: CommandContext, files: readonly string[], given: Given): Promise<void> {
  const { db } = await store();
  const stop = new AbortController();
  const interrupt = (): void => {
    stop.abort();
    // A pipe that has nothing to say would keep the import waiting.
    if (files.includes('-')) process.stdin.destroy(new Error('interrupted'));
  };
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  const progress = openProgress();
  const options: ImportOptions = {
    files,
    signal: stop.signal,
    onProgress: (step) => progress.show(step),
    ...(given.dryRun === true && { dryRun: true }),
    ...(given.resume === true && { resume: true }),
    ...(given.rejects !== undefined && { rejects: given.rejects }),
    ...(given.organization !== undefined && { organization: given.organization }),
  };
  let result: ImportResult;
  try {
    result = await importFiles(db, options);
  } catch (error) {
    progress.end();
    if (stop.signal.aborted) throw new Refused(interrupted(files, given));
    if (error instanceof ImportRefused || error instanceof ImportBusy) throw new Refused(sentence(error.message));
    throw error;
  } finally {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
  progress.end();
  finish(out, result, given);
}

function interrupted(files: readonly string[], given: Given): string {
  if (given.dryRun) return 'Interrupted; nothing was changed.';
  if (files.includes('-'))
    return 'Interrupted; nothing is half written. Send the whole input again: what is stored stays as it is.';
  return `Interrupted; nothing is half written. Go on with: gateway import --resume ${files.map(shell).join(' ')}`;
}

const shell = (word: string): string => (/^[\w./@:+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
const sentence = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;

/** Rejected lines are no failure as long as something was taken: they are reported, and the exit code is 0. */
function finish(out: CommandContext['out'], result: ImportResult, given: Given): void {
  out.result({ ...result, dry_run: given.dryRun === true }, summary(result, given));
  if (result.rejected > 0) {
    const where = given.rejects === undefined ? 'Name a file with --rejects to see why.' : `${given.rejects} says why.`;
    out.note(`${result.rejected} of ${result.read} lines were rejected. ${where}`);
  }
  if (result.read > 0 && result.rejected === result.read) process.exitCode = 1;
}

function summary(result: ImportResult, given: Given): string {
  const row = (name: string, c: Omit<ImportResult, 'types'>): string[] =>
    [name, c.read, c.written, c.unchanged, c.removed, c.rejected].map(String);
  const types = Object.entries(result.types).map(([type, counts]) => row(type === '' ? '(no type)' : type, counts));
  const all = table(['TYPE', 'READ', 'WRITTEN', 'UNCHANGED', 'REMOVED', 'REJECTED'], [...types, row('total', result)]);
  return given.dryRun ? `${all}\nNothing was changed: this was a dry run.` : all;
}

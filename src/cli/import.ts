import { type Command, InvalidArgumentError, Option } from 'commander';
import { openGivenKeys } from '../auth/key-file.ts';
import { RECORD_TYPES, type RecordType, recordJsonSchema } from '../sources/engine/records.ts';
import type { ImportOptions, ImportResult, Reject } from '../sources/files/import.ts';
import type { CommandContext, RunAction } from './context.ts';
import { plain, Refused, table } from './output.ts';
import { openProgress } from './progress.ts';

interface ImportFlags {
  readonly dryRun?: boolean;
  readonly rejects?: string;
  readonly resume?: boolean;
  readonly organization?: string;
  readonly schema?: RecordType | true;
}

export function importCommand(program: Command, register: RunAction): void {
  const command = program
    .command('import')
    .description('load NDJSON files; stored records are updated, and invalid lines are rejected one by one')
    .argument('[FILE...]', 'NDJSON files; - reads standard input')
    .option('--dry-run', 'check every line and change nothing')
    .option('--rejects <FILE>', 'write file, line number, pointer and code of each rejected line to FILE, as NDJSON')
    .option('--resume', 'continue an interrupted import of the same files')
    .option('--organization <ORG>', 'organization in which references are looked up, by id or external_id')
    .addOption(
      new Option('--schema [TYPE]', 'print the JSON Schema of a record type (default: of all record types)').argParser(
        (value: string) => {
          const type = RECORD_TYPES.find((one) => one === value);
          if (!type) throw new InvalidArgumentError(`The record types are ${RECORD_TYPES.join(', ')}.`);
          return type;
        },
      ),
    );
  register(command, async (context) => {
    const given = command.opts<ImportFlags>();
    if (given.schema !== undefined) return printSchema(context, given.schema);
    const files = command.args;
    if (files.length === 0) command.error("error: missing required argument 'FILE'");
    if (given.dryRun && given.resume) command.error("error: option '--dry-run' cannot be used with '--resume'");
    if (given.rejects === '') command.error("error: option '--rejects <FILE>' needs the name of a file");
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

async function load(
  { out, store, config }: CommandContext,
  files: readonly string[],
  given: ImportFlags,
): Promise<void> {
  // The importer loads 0.1 s of packages, which the help does not need.
  const { ImportBusy, importFiles } = await import('../sources/files/import.ts');
  const { openDigest } = await import('../privacy/digests.ts');
  const { db } = await store({ migrates: given.dryRun !== true });
  const stop = new AbortController();
  const interrupt = (): void => {
    stop.abort();
    // Stop reading standard input. Otherwise the import would wait until the pipe sends more data.
    if (files.includes('-')) process.stdin.destroy(new Error('interrupted'));
  };
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  const progress = openProgress();
  const shown: Reject[] = [];
  const options: ImportOptions = {
    files,
    signal: stop.signal,
    onProgress: (step) => progress.show(step),
    onReject: (reject) => {
      if (shown.length < REASONS_SHOWN) shown.push(reject);
    },
    ...(given.dryRun === true && { dryRun: true }),
    ...(given.resume === true && { resume: true }),
    ...(given.rejects !== undefined && { rejects: given.rejects }),
    ...(given.organization !== undefined && { organization: given.organization }),
  };
  let result: ImportResult;
  try {
    const digest = await openDigest(db, () => openGivenKeys(config));
    result = await importFiles(db, { ...options, digest });
  } catch (error) {
    progress.end();
    if (stop.signal.aborted) throw new Refused(interrupted(files, given));
    throw error instanceof ImportBusy ? new Refused(error.message) : error;
  } finally {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
  progress.end();
  finish(out, result, shown, given);
}

function interrupted(files: readonly string[], given: ImportFlags): string {
  if (given.dryRun) return 'Interrupted. Nothing was changed.';
  if (files.includes('-'))
    return 'Interrupted. No record is half written. Send the whole input again: stored records are kept.';
  return `Interrupted. No record is half written. Continue with: gateway import --resume ${files.map(shell).join(' ')}`;
}

const shell = (word: string): string => (/^[\w./@:+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** How many rejected lines are printed with their reasons. The file of `--rejects` has all of them. */
const REASONS_SHOWN = 5;

/** The exit code is 1 if a line was rejected, because a script must not take such an import for a complete import. */
function finish(
  out: CommandContext['out'],
  result: ImportResult,
  reasons: readonly Reject[],
  { dryRun = false, rejects }: ImportFlags,
): void {
  out.result({ ...result, dry_run: dryRun }, summary(result, dryRun));
  if (result.rejected === 0) return;
  const where = rejects === undefined ? 'Write all reasons with --rejects FILE.' : `All reasons are in ${rejects}.`;
  out.note(`${result.rejected} of ${result.read} lines were rejected. The first reasons:`);
  for (const { file, line, pointer, code } of reasons)
    out.note(`  ${plain(file)}:${line}  ${pointer === '' ? '(the whole line)' : plain(pointer)}  ${code}`);
  out.note(`${where} The format: gateway import --schema`);
  process.exitCode = 1;
}

function summary(result: ImportResult, dryRun: boolean): string {
  const erased = result.suppressed > 0;
  const row = (name: string, c: Omit<ImportResult, 'types'>): string[] =>
    [name, c.read, c.written, c.unchanged, c.removed, c.rejected, ...(erased ? [c.suppressed] : [])].map(String);
  const types = Object.entries(result.types).map(([type, counts]) => row(type === '' ? '(no type)' : type, counts));
  const all = table(
    ['TYPE', 'READ', 'WRITTEN', 'UNCHANGED', 'REMOVED', 'REJECTED', ...(erased ? ['ERASED'] : [])],
    [...types, row('total', result)],
  );
  return dryRun ? `${all}\nNothing was changed: this was a dry run.` : all;
}

/**
 * Conventions of every command (decisions, section 23): with --json exactly one JSON document on standard output and
 * everything else on standard error; exit code 0 done, 1 refused or failed, 2 wrong usage.
 */
export interface Output {
  readonly json: boolean;
  /** The command's result: the JSON document, or `text` for people. */
  result(document: object, text: string): void;
  /** A line beside the result. */
  note(line: string): void;
}

export function openOutput(json: boolean): Output {
  return {
    json,
    result: (document, text) => {
      process.stdout.write(json ? `${JSON.stringify(document)}\n` : text === '' ? '' : `${text}\n`);
    },
    note: (line) => {
      process.stderr.write(`${line}\n`);
    },
  };
}

/** A command that cannot be done; the message is one sentence for the operator, without a stack. Exit code 1. */
export class Refused extends Error {
  override readonly name = 'Refused';
}

/** Rows as an aligned table with a head line. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((cell, i) => Math.max(cell.length, ...rows.map((row) => row[i]?.length ?? 0)));
  return [head, ...rows]
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/**
 * Conventions of every command. With --json, standard output has exactly one JSON document. All other text goes to
 * standard error. Exit code 0 means done. Exit code 1 means refused or failed. Exit code 2 means wrong usage.
 */
export interface Output {
  readonly json: boolean;
  /** Writes the result of the command: the JSON document, or `text` for people. */
  result(document: object, text: string): void;
  /** Writes a line to standard error. */
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

/** A command cannot do its work. The message tells the operator why, without a stack. The exit code is 1. */
export class Refused extends Error {
  override readonly name = 'Refused';
}

/** Returns an aligned table with a header line. */
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

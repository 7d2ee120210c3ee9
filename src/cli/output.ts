/**
 * Conventions of every command. With --json, standard output has exactly one JSON document, and everything else goes to
 * standard error. Exit code 0: done. 1: refused or failed. 2: wrong usage.
 */
export interface Output {
  readonly json: boolean;
  /** The command's result: the JSON document, or `text` for people. */
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

/** A command cannot be done. The message tells the operator why, without a stack. Exit code 1. */
export class Refused extends Error {
  override readonly name = 'Refused';
}

/** An aligned table with a header line. */
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

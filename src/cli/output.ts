import { printable, printableJson } from './text.ts';

/**
 * The conventions of all commands. With --json, standard output is exactly one JSON document, and all other text goes
 * to standard error. The exit code is 0 for done, 1 for refused or failed, and 2 for wrong usage.
 */
export interface Output {
  readonly json: boolean;
  /** Writes the result to standard output. Control characters of names from outside never reach the terminal. */
  result(document: object, text: string): void;
  /** Writes a line to standard error. */
  note(line: string): void;
}

export function openOutput(json: boolean): Output {
  return {
    json,
    result: (document, text) => {
      process.stdout.write(json ? `${printableJson(document)}\n` : text === '' ? '' : `${printable(text)}\n`);
    },
    note: (line) => {
      process.stderr.write(`${printable(line)}\n`);
    },
  };
}

/**
 * Thrown when a command cannot do its work. The operator sees only the message, without a stack. The exit code is 1.
 */
export class Refused extends Error {
  override readonly name = 'Refused';
}

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

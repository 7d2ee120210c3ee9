import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';

/**
 * The conventions of all commands. With --json, standard output is exactly one JSON document, and all other text goes
 * to standard error. Exit codes: 0 done, 1 refused or failed, 2 wrong usage.
 */
export interface Output {
  readonly json: boolean;
  /** Writes the result to standard output, without control characters, because names come from outside. */
  result(document: object, text: string): void;
  /** Writes one JSON document a line, and waits while standard output is full. False: nobody reads it any more. */
  lines(documents: readonly object[]): Promise<boolean>;
  note(line: string): void;
}

export function openOutput(json: boolean): Output {
  return {
    json,
    result: (document, text) => {
      process.stdout.write(json ? `${printableJson(document)}\n` : text === '' ? '' : `${printable(text)}\n`);
    },
    lines: async (documents) => {
      const { stdout } = process;
      const closed = new AbortController();
      const close = (): void => closed.abort();
      stdout.once('error', close);
      try {
        const full = !stdout.write(documents.map((one) => `${printableJson(one)}\n`).join(''));
        if (full) await once(stdout, 'drain', { signal: closed.signal }).catch(close);
        // A closed pipe is known only after the write.
        else await setImmediate();
        return !closed.signal.aborted;
      } finally {
        stdout.off('error', close);
      }
    },
    note: (line) => {
      process.stderr.write(`${printable(line)}\n`);
    },
  };
}

/** Codes of a write to a pipe that nobody reads any more: the first one, and those after it. */
const CLOSED = /^(EPIPE|ERR_STREAM_DESTROYED)$/;

/**
 * A reader can leave before a command has ended, for example `| head`. Without a listener, the error would end the
 * process at once: without an audit record, and with the embedded PostgreSQL running. The exit code is 1, unless other
 * code listens for the error.
 */
export function surviveClosedPipes(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (stream.listenerCount('error') > 1) return;
      if (!CLOSED.test(error.code ?? '')) throw error;
      process.exitCode = 1;
    });
}

/** A command that throws this shows only the message. The exit code is 1. */
export { Refused } from '../core/refused.ts';

/** A table. Without rows, the sentence `none`. */
export function table(head: readonly string[], rows: readonly (readonly string[])[], none = ''): string {
  if (rows.length === 0) return none;
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

/** Makes untrusted text safe for a terminal: replaces characters that nobody sees or that move others, such as bidi overrides. */
export const plain = (text: string): string => text.replaceAll(UNPRINTABLE, '\u{fffd}');

/** Controls, other characters without a picture of their own, and separators of lines. The selector behind an emoji stays. */
const UNPRINTABLE =
  /(?!(?<=\p{Emoji})\ufe0f)[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\p{Co}\p{Zl}\p{Zp}\p{Surrogate}\u2800]/gu;

/** Makes a text of several lines safe for a terminal. Everything that a command prints goes through here. */
export const printable = (text: string): string => text.split('\n').map(plain).join('\n');

/** A JSON text that a terminal can show. JSON.stringify escapes only the control characters of ASCII. */
const printableJson = (value: unknown): string =>
  JSON.stringify(value).replaceAll(UNPRINTABLE, (letter) =>
    letter
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );

/** The name of an app. For a client that nobody registered, the host comes first, because the client chose the name. */
export const appOf = (clientHost: string | null, name: string): string =>
  clientHost === null ? plain(name) : `${plain(clientHost)} (${plain(name)})`;

export function facts(rows: readonly (readonly [name: string, value: string | readonly string[]])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows
    .flatMap(([name, value]) =>
      (typeof value === 'string' ? [value] : value).map(
        (line, i) => `  ${(i === 0 ? name : '').padEnd(width)}  ${line}`,
      ),
    )
    .join('\n');
}

export const time = (date: Date): string => date.toISOString();

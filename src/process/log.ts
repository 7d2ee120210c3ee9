import { isatty } from 'node:tty';
import pino, { type Logger, type LoggerOptions } from 'pino';
import { prettyLine } from './pretty.ts';

interface LogOptions {
  readonly level: string;
  /** Default: `pretty` on a terminal, `json` elsewhere. */
  readonly format?: 'json' | 'pretty' | undefined;
  readonly fd?: number;
}

/**
 * Opens a log that writes one line for each event to standard output. Lines are buffered. If nobody reads the pipe, the
 * buffer grows to 8 MiB and later lines are dropped. So a blocked log never stops a request.
 */
export function openLog({ level, format, fd = 1 }: LogOptions): { log: Logger; flush: () => void } {
  const pretty = (format ?? (isatty(fd) ? 'pretty' : 'json')) === 'pretty';
  const destination = pino.destination({
    dest: fd,
    sync: false,
    minLength: pretty ? 0 : 4096,
    maxLength: 8 * 1024 * 1024,
    periodicFlush: 500,
  });
  // A closed terminal takes no more lines. The gateway must still end in order.
  let lost = false;
  destination.on('error', () => {
    lost = true;
  });
  const colours = isatty(fd) && process.stdout.hasColors?.() === true;
  const log = pino(
    logSettings(level),
    pretty ? { write: (line: string) => void destination.write(`${prettyLine(line, colours)}\n`) } : destination,
  );
  let dropped = 0;
  destination.on('drop', () => dropped++);
  destination.on('drain', () => {
    if (dropped === 0) return;
    const lines = dropped;
    dropped = 0;
    log.warn({ lines }, 'log lines dropped');
  });
  return { log, flush: () => lost || destination.flushSync() };
}

export const logSettings = (level: string): LoggerOptions => ({
  level,
  base: null,
  timestamp: pino.stdTimeFunctions.isoTime,
  formatters: { level: (label) => ({ level: label }) },
  // Log the name, the code and the stack frames of an error. Leave out the message, because a message of PostgreSQL can
  // contain data.
  serializers: { err: (error: unknown) => describeError(error) },
});

const CAUSES = 4;

function describeError(error: unknown, depth = 0): object | undefined {
  if (!(error instanceof Error) || depth > CAUSES) return undefined;
  const code = 'code' in error ? error.code : undefined;
  return { kind: error.name, code, stack: framesOf(error), cause: describeError(error.cause, depth + 1) };
}

/**
 * Returns the frames of an error's stack. The stack begins with the message, and a line of the message can look like a
 * frame. So only the text after the message is read. If the stack does not contain the message, no frames are returned.
 */
function framesOf({ message, stack = '' }: Error): string[] {
  const at = stack.indexOf(message);
  const frames = at === -1 ? '' : stack.slice(at + message.length);
  return frames
    .split('\n')
    .filter((line) => line.trimStart().startsWith('at '))
    .slice(0, 8);
}

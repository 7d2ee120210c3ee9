import pino, { type Logger } from 'pino';

/**
 * One JSON line an event on standard output. Lines are buffered and written together; when the reader of the pipe is
 * blocked, at most 8 MiB are held and further lines are dropped, so that a stuck log never stops a request.
 */
export function openLog(level: string): { log: Logger; flush: () => void } {
  const destination = pino.destination({
    dest: 1,
    sync: false,
    minLength: 4096,
    maxLength: 8 * 1024 * 1024,
    periodicFlush: 500,
  });
  const log = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      // An error is logged by its kind, code and place in our code; messages of the store may hold data.
      serializers: { err: describeError },
    },
    destination,
  );
  return { log, flush: () => destination.flushSync() };
}

function describeError(error: unknown): object | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = 'code' in error ? error.code : undefined;
  const stack = error.stack
    ?.split('\n')
    .filter((line) => line.trimStart().startsWith('at '))
    .slice(0, 8);
  return { kind: error.name, code, stack, cause: describeError(error.cause) };
}

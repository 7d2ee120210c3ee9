import type { Logger } from 'pino';

/** What to do with an unhandled rejection and with an uncaught exception. */
export interface Uncaught {
  /** A rejected promise. The work of the promise has ended, and all other work is whole. */
  rejection(error: unknown): void;
  /** An error thrown into the event loop. What it left half done is unknown. */
  exception(error: unknown): void;
}

let current: Uncaught | undefined;

/** Listens once for the whole process. A later call replaces what is done. */
export function handleUncaught(next: Uncaught): void {
  if (!current) {
    process.on('unhandledRejection', (error) => current?.rejection(error));
    process.on('uncaughtException', (error) => current?.exception(error));
  }
  current = next;
}

/** Milliseconds that running requests have to end. Then the process ends without them. */
const ENDING = 4_000;

/** A serving process logs the place of the error. After an exception it ends as after SIGTERM, with exit code 1. */
export const endInOrder = (log: Logger, flush: () => void, stop: AbortSignal): Uncaught => ({
  rejection: (error) => log.error({ err: asError(error) }, 'unhandled rejection; the process continues'),
  exception: (error) => {
    log.fatal({ err: asError(error) }, 'uncaught exception; the process ends');
    flush();
    process.exitCode = 1;
    setTimeout(() => process.exit(1), ENDING).unref();
    if (!stop.aborted) process.kill(process.pid, 'SIGTERM');
  },
});

/** The log takes its fields from an Error. Anything else that was thrown may hold data, so only its type is logged. */
const asError = (error: unknown): Error =>
  error instanceof Error ? error : Object.assign(new Error('not an error'), { code: typeof error });

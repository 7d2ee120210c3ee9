let current;
/** Adds the listeners once for the process. A later call replaces the handlers. */
export function handleUncaught(next) {
    if (!current) {
        process.on('unhandledRejection', (error) => current?.rejection(error));
        process.on('uncaughtException', (error) => current?.exception(error));
    }
    current = next;
}
/** How long (ms) running requests may take after an uncaught exception. Then the process ends without them. */
const ENDING = 4_000;
/**
 * Both handlers log where the error came from. After an exception, the process ends as after SIGTERM, with exit code 1.
 */
export const endInOrder = (log, flush, stop) => ({
    rejection: (error) => log.error({ err: asError(error) }, 'unhandled rejection; the process continues'),
    exception: (error) => {
        log.fatal({ err: asError(error) }, 'uncaught exception; the process ends');
        flush();
        process.exitCode = 1;
        setTimeout(() => process.exit(1), ENDING).unref();
        if (!stop.aborted)
            process.kill(process.pid, 'SIGTERM');
    },
});
/** The log shows fields of an Error. Any other thrown value can contain data, so the log shows only its type. */
const asError = (error) => error instanceof Error ? error : Object.assign(new Error('not an error'), { code: typeof error });
//# sourceMappingURL=uncaught.js.map
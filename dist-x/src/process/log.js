import { isatty } from 'node:tty';
import pino, {} from 'pino';
import { prettyLine } from './pretty.js';
/**
 * Opens a log with one line for each event on standard output. Lines are buffered up to 8 MiB, and later lines are
 * dropped. So a blocked pipe never stops a request.
 */
export function openLog({ level, format, fd = 1 }) {
    const pretty = (format ?? (isatty(fd) ? 'pretty' : 'json')) === 'pretty';
    const destination = pino.destination({
        dest: fd,
        sync: false,
        minLength: pretty ? 0 : 4096,
        maxLength: 8 * 1024 * 1024,
        periodicFlush: 500,
    });
    // Writes to a closed terminal fail. The gateway must still shut down in order.
    let lost = false;
    destination.on('error', () => {
        lost = true;
    });
    const colours = isatty(fd) && process.stdout.hasColors?.() === true;
    const log = pino(logSettings(level), pretty ? { write: (line) => void destination.write(`${prettyLine(line, colours)}\n`) } : destination);
    let dropped = 0;
    destination.on('drop', () => dropped++);
    destination.on('drain', () => {
        if (dropped === 0)
            return;
        const lines = dropped;
        dropped = 0;
        log.warn({ lines }, 'log lines dropped');
    });
    return { log, flush: () => lost || destination.flushSync() };
}
export const logSettings = (level) => ({
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    // Log an error's name, code and stack frames, but not its message: PostgreSQL's messages can contain data.
    serializers: { err: (error) => describeError(error) },
});
const CAUSES = 4;
function describeError(error, depth = 0) {
    if (!(error instanceof Error) || depth > CAUSES)
        return undefined;
    const code = 'code' in error ? error.code : undefined;
    return { kind: error.name, code, stack: framesOf(error), cause: describeError(error.cause, depth + 1) };
}
/**
 * Returns the frames of an error's stack. A line of the message can look like a frame, so only the text after the
 * message is read. Without the message in the stack, there are no frames.
 */
function framesOf({ message, stack = '' }) {
    const at = stack.indexOf(message);
    const frames = at === -1 ? '' : stack.slice(at + message.length);
    return frames
        .split('\n')
        .filter((line) => line.trimStart().startsWith('at '))
        .slice(0, 8);
}
export const uncollected = (log) => (error) => log.error({ err: error }, 'metrics could not be collected');
//# sourceMappingURL=log.js.map
import { randomInt } from 'node:crypto';
/** Random change of a delay, as a share of it. Without it, deliveries that failed together would repeat together. */
const JITTER = 0.2;
/** The longest Retry-After that the gateway respects, in seconds. */
const RETRY_AFTER_MAX = 3_600;
const STEPS = 1_000_000;
/**
 * Seconds from the end of attempt `number` (from 1) to the next one. Null after the last attempt. A receiver's
 * Retry-After can make the wait longer, never shorter.
 */
export function waitAfter(schedule, number, retryAfter) {
    const delay = schedule[number];
    if (delay === undefined)
        return null;
    const factor = 1 + JITTER * ((2 * randomInt(STEPS + 1)) / STEPS - 1);
    return Math.max(delay * factor, Math.min(retryAfter ?? 0, RETRY_AFTER_MAX));
}
//# sourceMappingURL=schedule.js.map
import { randomInt } from 'node:crypto';

/**
 * The largest random change of a delay, as a share of the delay. The change makes the delay shorter or longer. Without
 * the change, deliveries that failed together would be repeated together.
 */
const JITTER = 0.2;
/** The longest Retry-After that the gateway respects, in seconds. */
const RETRY_AFTER_MAX = 3_600;
const STEPS = 1_000_000;

/**
 * Returns the seconds between the end of attempt `number` (from 1) and the next attempt. Returns null after the last
 * attempt. A Retry-After from the receiver can make the wait longer, never shorter.
 */
export function waitAfter(schedule: readonly number[], number: number, retryAfter: number | undefined): number | null {
  const delay = schedule[number];
  if (delay === undefined) return null;
  const factor = 1 + JITTER * ((2 * randomInt(STEPS + 1)) / STEPS - 1);
  return Math.max(delay * factor, Math.min(retryAfter ?? 0, RETRY_AFTER_MAX));
}

/**
 * Parses the header Retry-After, which has seconds or a date (RFC 9110, section 10.2.3). Returns the seconds from `now`
 * (Unix milliseconds), or `undefined` for an invalid header.
 */
export function retryAfterOf(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) return Number(text);
  if (!/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} [\d:]{8} GMT$/.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, (at - now) / 1000);
}

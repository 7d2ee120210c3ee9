import { randomInt } from 'node:crypto';

/** A delay is up to this share shorter or longer. So deliveries that failed together are spread out. */
const JITTER = 0.2;
/** The longest Retry-After that the gateway respects, in seconds. */
const RETRY_AFTER_MAX = 3_600;
const STEPS = 1_000_000;

/**
 * Returns the seconds from the end of attempt `number` to the next attempt. The first attempt has the number 1. Returns
 * null after the last attempt. A receiver's Retry-After can make the delay longer, never shorter.
 */
export function waitAfter(schedule: readonly number[], number: number, retryAfter: number | undefined): number | null {
  const delay = schedule[number];
  if (delay === undefined) return null;
  const factor = 1 + JITTER * ((2 * randomInt(STEPS + 1)) / STEPS - 1);
  return Math.max(delay * factor, Math.min(retryAfter ?? 0, RETRY_AFTER_MAX));
}

/**
 * Parses the header Retry-After, which contains seconds or a date (RFC 9110, section 10.2.3). Returns seconds from
 * `now` (Unix milliseconds). Returns `undefined` for any other value.
 */
export function retryAfterOf(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) return Number(text);
  if (!/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} [\d:]{8} GMT$/.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, (at - now) / 1000);
}

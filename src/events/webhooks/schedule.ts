import { randomInt } from 'node:crypto';

/** A delay is up to this share shorter or longer, so that deliveries that failed together are spread out. */
const JITTER = 0.2;
/** Seconds: the longest Retry-After that is respected. */
const RETRY_AFTER_MAX = 3_600;
const STEPS = 1_000_000;

/**
 * Seconds from the end of attempt `number` (1 for the first) to the next one. null: it was the last. A receiver's
 * Retry-After can make the delay longer, never shorter.
 */
export function waitAfter(schedule: readonly number[], number: number, retryAfter: number | undefined): number | null {
  const delay = schedule[number];
  if (delay === undefined) return null;
  const factor = 1 + JITTER * ((2 * randomInt(STEPS + 1)) / STEPS - 1);
  return Math.max(delay * factor, Math.min(retryAfter ?? 0, RETRY_AFTER_MAX));
}

/**
 * RFC 9110, section 10.2.3: seconds or a date. Returns seconds from `now` (Unix milliseconds), or `undefined` for any
 * other value.
 */
export function retryAfterOf(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) return Number(text);
  if (!/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} [\d:]{8} GMT$/.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, (at - now) / 1000);
}

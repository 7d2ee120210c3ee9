import { randomInt } from 'node:crypto';

/** Share of a delay by which it may be shorter or longer, so that what failed together does not come again together. */
const JITTER = 0.2;
/** Seconds (decisions, section 15). */
const RETRY_AFTER_MAX = 3_600;
const STEPS = 1_000_000;

/**
 * Seconds from the end of the attempt of that number (1 for the first) to the next one; null: it was the last. A
 * receiver's Retry-After makes it longer, never shorter.
 */
export function waitAfter(schedule: readonly number[], number: number, retryAfter: number | undefined): number | null {
  const delay = schedule[number];
  if (delay === undefined) return null;
  const factor = 1 + JITTER * ((2 * randomInt(STEPS + 1)) / STEPS - 1);
  return Math.max(delay * factor, Math.min(retryAfter ?? 0, RETRY_AFTER_MAX));
}

/** RFC 9110, section 10.2.3: seconds, or a date; in seconds from `now`, Unix milliseconds. `undefined` for anything else. */
export function retryAfterOf(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) return Number(text);
  if (!/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} [\d:]{8} GMT$/.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, (at - now) / 1000);
}

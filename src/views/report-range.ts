import { z } from 'zod';
import { Failure, type ParameterError } from '../core/failures.ts';
import type { ReportRange } from '../core/reads.ts';

export const ReportDay = z.string().regex(/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/);
export const ReportZone = z
  .string()
  .min(1)
  .max(100)
  .regex(/^[A-Za-z0-9_+/-]+$/);

export type Period =
  | { readonly range: 'today' | 'last-7-days' | 'last-month' }
  | { readonly range: 'date'; readonly start: string; readonly end: string };

export const refuse = (errors: readonly ParameterError[]): never => {
  throw new Failure('invalid_parameter', { errors });
};

const MOST_DAYS = 31;
const DAY = 86_400_000;

/**
 * Returns the period of a report. If `range` is absent, `start` and `end` give the period. If all three are absent, the
 * period is the last seven days.
 */
export function periodOf({ range, start, end }: ReportRange): Period {
  const bounds = Object.entries({ start, end });
  const given = bounds.flatMap(([parameter, day]) => (day === undefined ? [] : [{ parameter, day }]));
  const named = range ?? (given.length === 0 ? 'last-7-days' : 'date');
  if (named !== 'date') {
    if (given.length > 0) refuse(given.map(({ parameter }) => ({ parameter, code: 'invalid_parameter' })));
    return { range: named };
  }
  if (start === undefined || end === undefined) {
    return refuse(bounds.flatMap(([parameter, day]) => (day === undefined ? [{ parameter, code: 'missing' }] : [])));
  }
  const wrong = given.filter(({ day }) => !isDay(day));
  if (wrong.length > 0) refuse(wrong.map(({ parameter }) => ({ parameter, code: 'invalid_parameter' })));
  const days = (Date.parse(end) - Date.parse(start)) / DAY + 1;
  if (days < 1 || days > MOST_DAYS) refuse([{ parameter: 'end', code: 'invalid_parameter' }]);
  return { range: 'date', start, end };
}

/** True for a date of the calendar in the form `YYYY-MM-DD`. Year 0 is refused, because PostgreSQL has no year 0. */
function isDay(text: string): boolean {
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().slice(0, 10) === text && text >= '0001';
}

/** IANA time zones without a slash. JavaScript engines also accept other names, such as AST for Anchorage. */
const PLAIN = new Set(
  `CET CST6CDT CUBA EET EGYPT EIRE EST EST5EDT GB GB-EIRE GMT GMT+0 GMT-0 GMT0 GREENWICH HONGKONG HST ICELAND IRAN
   ISRAEL JAMAICA JAPAN KWAJALEIN LIBYA MET MST MST7MDT NAVAJO NZ NZ-CHAT POLAND PORTUGAL PRC PST8PDT ROC ROK SINGAPORE
   TURKEY UCT UNIVERSAL UTC W-SU WET ZULU`.split(/\s+/),
);

/** Returns the name of an IANA time zone with the usual letter case of IANA. */
export function zoneOf(name: string): string {
  const iana = name.includes('/') ? /^[A-Z]/i.test(name) && !/^SystemV/i.test(name) : PLAIN.has(name.toUpperCase());
  try {
    if (!iana) throw new RangeError('not a name of IANA');
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions();
    return timeZone.toLowerCase() === name.toLowerCase() ? timeZone : name;
  } catch {
    return refuse([{ parameter: 'timezone', code: 'invalid_parameter' }]);
  }
}

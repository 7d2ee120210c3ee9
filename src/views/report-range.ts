import { z } from 'zod';
import { accepts } from '../core/accepted-values.ts';
import { Failure, type ParameterError } from '../core/failures.ts';
import type { ReportRange } from '../core/reads.ts';
import { ianaZone } from './zone.ts';

const DAY_EXPECTED = 'a date such as 2026-11-30';
const ZONE_EXPECTED = 'an IANA time zone such as Europe/Berlin';
export const ReportDay = accepts(z.string().regex(/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/), DAY_EXPECTED);
export const ReportZone = accepts(
  z
    .string()
    .min(1)
    .max(100)
    .regex(/^[A-Za-z0-9_+/-]+$/),
  ZONE_EXPECTED,
);

/** The days and the time zone of a report, for the operation and its skill. */
export const reportDays = {
  start: ReportDay.optional().describe(
    'First local day, YYYY-MM-DD, only with range date. Other ranges refuse this parameter.',
  ),
  end: ReportDay.optional().describe(
    'Last local day, YYYY-MM-DD, included. The report covers at most 31 days. Ranges other than date refuse this parameter.',
  ),
  timezone: ReportZone.optional().describe(
    'IANA time zone of the days and hours. The default is the time zone of the website.',
  ),
};

export type Period =
  | { readonly range: 'today' | 'last-7-days' | 'last-month' }
  | { readonly range: 'date'; readonly start: string; readonly end: string };

function refused(parameters: readonly string[], expected: string, code: ParameterError['code'] = 'invalid_parameter') {
  return new Failure('invalid_parameter', { errors: parameters.map((parameter) => ({ parameter, code, expected })) });
}

export const wrongZone = (code?: 'missing'): Failure => refused(['timezone'], ZONE_EXPECTED, code);

const MOST_DAYS = 31;
const DAY = 86_400_000;

/** The period of a report: `range`, or from `start` to `end`. The default is the last seven days. */
export function periodOf({ range, start, end }: ReportRange): Period {
  const days = { start, end };
  const named = (is: (day: string | undefined) => boolean): string[] =>
    Object.entries(days).flatMap(([parameter, day]) => (is(day) ? [parameter] : []));
  const given = named((day) => day !== undefined);
  const period = range ?? (given.length === 0 ? 'last-7-days' : 'date');
  if (period !== 'date') {
    if (given.length > 0) throw refused(given, 'no day, because only the range date has days');
    return { range: period };
  }
  if (start === undefined || end === undefined) {
    throw refused(
      named((day) => day === undefined),
      DAY_EXPECTED,
      'missing',
    );
  }
  const wrong = named((day) => !isDay(day ?? ''));
  if (wrong.length > 0) throw refused(wrong, DAY_EXPECTED);
  const count = (Date.parse(end) - Date.parse(start)) / DAY + 1;
  if (count < 1 || count > MOST_DAYS) throw refused(['end'], `a day from start to ${MOST_DAYS - 1} days after start`);
  return { range: 'date', start, end };
}

/** True for a calendar date in the form `YYYY-MM-DD`. PostgreSQL has no year 0. */
export function isDay(text: string): boolean {
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().slice(0, 10) === text && text >= '0001';
}

/** Each day can be absent. */
export function daysOf(from: string | undefined, to: string | undefined) {
  const wrong = Object.entries({ from, to }).flatMap(([name, day]) => (day === undefined || isDay(day) ? [] : [name]));
  if (wrong.length > 0) throw refused(wrong, DAY_EXPECTED);
  if (from !== undefined && to !== undefined && to < from) throw refused(['to'], 'the day from or a later day');
  return { from, to };
}

/** The name of an IANA time zone in its usual letter case. */
export function zoneOf(name: string): string {
  const zone = ianaZone(name);
  if (zone === undefined) throw wrongZone();
  return zone;
}

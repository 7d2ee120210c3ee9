import { InvalidArgumentError } from 'commander';
import { DATA_ACCESS, type DataAccess, SCOPES, type Scope, WRITE_SCOPES } from '../core/scopes.ts';
import { rangeOf } from '../flow/address-ranges.ts';

export const DAY = 86_400;
const LIFE_MAX = 365 * DAY;

/** Returns the value of an option, or throws with what is wrong with it. */
export function checked<Value>(value: Value, problem: string | undefined): Value {
  if (problem !== undefined) throw new InvalidArgumentError(problem);
  return value;
}

export const collect = (value: string, before: readonly string[] | undefined): string[] => [...(before ?? []), value];

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: DAY };

export function duration(value: string): number {
  const [, count = '', unit = ''] = /^(\d{1,9})([smhd])$/.exec(value) ?? [];
  const seconds = Number(count) * (UNITS[unit] ?? Number.NaN);
  if (count === '' || Number.isNaN(seconds)) {
    throw new InvalidArgumentError('A duration is a whole number and a unit: 30s, 15m, 24h or 90d.');
  }
  if (seconds > LIFE_MAX) throw new InvalidArgumentError('The longest duration is 365d.');
  return seconds;
}

export function lifetime(value: string): number {
  const seconds = duration(value);
  if (seconds === 0) throw new InvalidArgumentError('The shortest lifetime is 1s.');
  return seconds;
}

export function scope(value: string, before: readonly Scope[] | undefined): Scope[] {
  const found = SCOPES.find((one) => one === value);
  if (!found) {
    const near = SCOPES.find((one) => isNear(one, value));
    const hint = near === undefined ? '' : `Did you mean ${near}? `;
    throw new InvalidArgumentError(`${hint}The scopes are ${SCOPES.join(', ')}.`);
  }
  return [...(before ?? []), found];
}

/** True when the two texts have the same words in any order, with at most two wrong letters at one place. */
function isNear(scope: string, given: string): boolean {
  const [a, b] = [scope, given].map((text) =>
    text
      .toLowerCase()
      .split(/[^a-z]+/)
      .toSorted()
      .join('_'),
  );
  if (a === undefined || b === undefined || Math.abs(a.length - b.length) > 2) return false;
  let [start, end] = [0, 0];
  const most = Math.min(a.length, b.length);
  while (start < most && a[start] === b[start]) start++;
  while (end < most - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  return Math.max(a.length, b.length) - start - end <= 2;
}

export function scopeSet(value: string): readonly Scope[] {
  if (value === 'all') return SCOPES;
  if (value === 'read') return SCOPES.filter((one) => !WRITE_SCOPES.includes(one));
  throw new InvalidArgumentError('The sets of scopes are all and read.');
}

export function dataAccess(value: string, before: readonly DataAccess[] | undefined): DataAccess[] {
  const found = DATA_ACCESS.find((one) => one === value);
  if (!found) throw new InvalidArgumentError(`The data-access flags are ${DATA_ACCESS.join(', ')}.`);
  return [...(before ?? []), found];
}

const CALLBACKS_MAX = 10;
const ORIGINS_MAX = 50;
const RANGES_MAX = 20;
const ADDRESS_MAX = 2000;

/** Parses a redirect URI. A client must later send exactly these characters, so the URI must not be ambiguous. */
export function callback(value: string, before: readonly string[] | undefined): string[] {
  const url = address(value);
  if (
    url?.protocol !== 'https:' ||
    /[#\\]/.test(value) ||
    url.username + url.password !== '' ||
    /[*@]/.test(url.host)
  ) {
    throw new InvalidArgumentError('A callback is an exact https URL without user, password, wildcard or fragment.');
  }
  return addedTo(before, value, CALLBACKS_MAX, 'callbacks');
}

/** Parses an origin in the form in which browsers send it: only scheme, host and port. */
export function origin(value: string, before: readonly string[] | undefined): string[] {
  const url = address(value);
  if (!url || !/^https?:$/.test(url.protocol) || url.origin !== value || url.host.includes('*')) {
    throw new InvalidArgumentError('An origin is exactly scheme, host and port, such as https://app.example.');
  }
  return addedTo(before, value, ORIGINS_MAX, 'origins');
}

/** Parses IP addresses and CIDR ranges into their canonical form. */
export function allowIp(value: string, before: readonly string[] | undefined): string[] {
  let all = before;
  for (const one of value.split(',')) {
    const range = rangeOf(one.trim());
    if (range === undefined) {
      throw new InvalidArgumentError(
        'Expected IP addresses or CIDR ranges, comma-separated, such as 203.0.113.7,2001:db8::/32. ' +
          'A range begins with the first address of its network.',
      );
    }
    all = addedTo(all, range, RANGES_MAX, 'address ranges');
  }
  return [...(all ?? [])];
}

/** Parses the names of operations. Whether they exist is checked later, because that needs every declaration. */
export function operations(value: string, before: readonly string[] | undefined): string[] {
  const names = value.split(',').map((one) => one.trim());
  if (!names.every((name) => /^[a-z][a-z_]{0,63}$/.test(name)))
    throw new InvalidArgumentError('Expected names of operations, comma-separated, such as search,conversations_list.');
  return [...(before ?? []), ...names];
}

const address = (value: string): URL | null =>
  /^[\x21-\x7e]+$/.test(value) && value.length <= ADDRESS_MAX && URL.canParse(value) ? new URL(value) : null;

function addedTo(before: readonly string[] | undefined, value: string, maximum: number, noun: string): string[] {
  const all = [...new Set([...(before ?? []), value])];
  if (all.length > maximum) throw new InvalidArgumentError(`There are at most ${maximum} ${noun}.`);
  return all;
}

const WHOLE_MAX = 1_000_000;

export function whole(value: string): number {
  const n = /^[1-9]\d{0,6}$/.test(value) ? Number(value) : Number.NaN;
  if (!(n <= WHOLE_MAX)) throw new InvalidArgumentError('Expected a whole number from 1 to 1000000.');
  return n;
}

const WORKERS_MAX = 64;

export function workers(value: string): number {
  const n = whole(value);
  if (n > WORKERS_MAX) throw new InvalidArgumentError(`There are at most ${WORKERS_MAX} workers.`);
  return n;
}

const NAME_MAX = 120;

export function displayName(value: string): string {
  const name = value.trim();
  if (name === '' || name.length > NAME_MAX || /[\p{Cc}\p{Surrogate}]/u.test(name)) {
    throw new InvalidArgumentError(`A name has 1 to ${NAME_MAX} printable characters.`);
  }
  return name;
}

export function moment(value: string): Date {
  const date = new Date(value);
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(value) || Number.isNaN(date.getTime())) {
    throw new InvalidArgumentError('Expected a time in RFC 3339, such as 2026-11-15T12:00:00Z.');
  }
  return date;
}

import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import { isTimeZone } from '../sources/engine/fields.ts';

export function zone(value: string): string {
  if (!isTimeZone(value)) throw new InvalidArgumentError('Expected an IANA time zone, such as Europe/Berlin.');
  return value;
}

export function databaseUrl(value: string): string {
  if (value !== '-' && (!/^postgres(ql)?:\/\//.test(value) || !URL.canParse(value)))
    throw new InvalidArgumentError(
      'Expected the address of a PostgreSQL database: postgres://user:password@host:port/database.',
    );
  return value;
}

export function webUrl(value: string): string {
  const url = /^https?:\/\//.test(value) && URL.canParse(value) ? new URL(value) : undefined;
  if (url?.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    throw new InvalidArgumentError('Expected an http or https URL without a password, a query and a fragment.');
  return value.replace(/\/+$/, '');
}

/** A token travels in a header, which can hold only these characters. */
export function token(value: string): string {
  if (!/^[\x21-\x7e]{1,500}$/.test(value))
    throw new InvalidArgumentError('Expected 1 to 500 ASCII characters without spaces.');
  return value;
}

/** Replaces each `-` by the next line of standard input: the address of the database, then the token. */
export function withInput(command: Command, given: Added): Added {
  if (given.url !== '-' && given.apiToken !== '-') return given;
  const lines = readFileSync(0, 'utf8').split('\n');
  const next = (flag: string, parse: (value: string) => string): string => {
    try {
      // A second `-` is no address.
      return parse(lines.shift()?.trim().replace(/^-$/, '') ?? '');
    } catch (error) {
      if (!(error instanceof InvalidArgumentError)) throw error;
      return command.error(`error: option '${flag}': standard input is invalid. ${error.message}`);
    }
  };
  return {
    ...given,
    url: given.url === '-' ? next('--url', databaseUrl) : given.url,
    ...(given.apiToken === '-' && { apiToken: next('--api-token', token) }),
  };
}

/** The options of `source add`. */
export interface Added {
  readonly url: string;
  readonly account: number;
  readonly organization?: string;
  readonly mode: 'poll' | 'live';
  readonly period: number;
  readonly timeZone: string;
  readonly storage?: string;
  readonly apiUrl?: string;
  readonly apiToken?: string;
}

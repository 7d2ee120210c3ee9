import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import { isDatabase } from '../config/values.ts';
import { isTimeZone } from '../sources/engine/fields.ts';
import { allowsPlain, isLocal, mayBePlain } from '../store/driver/tls.ts';

export function zone(value: string): string {
  if (!isTimeZone(value)) throw new InvalidArgumentError('Expected an IANA time zone, such as Europe/Berlin.');
  return value;
}

const ADDRESS =
  'Expected the address of a PostgreSQL database: postgres://user:password@host:port/database. Percent-encode special characters of the password.';

export function databaseUrl(value: string): string {
  if (value !== '-' && (!isDatabase(value) || /[\s,]/.test(value))) throw new InvalidArgumentError(ADDRESS);
  return value;
}

/** Returns the address to store. `insecure` adds `sslmode=disable`, so that the gateway also accepts the connection. */
export function safeUrl(command: Command, { url, insecure }: Pick<Added, 'url' | 'insecure'>): string {
  const { hostname, search } = new URL(url);
  if (isLocal(decodeURIComponent(hostname)) || !mayBePlain(url)) return url;
  // Without a host in the address, only the driver knows the server. Then driver/foreign.ts judges the connection.
  if (hostname === '' && insecure !== true) return url;
  if (insecure !== true)
    return command.error(
      "error: option '--url': the data and the password would travel without encryption. Add ?sslmode=verify-full to the address (or sslmode=require, which does not check the certificate), or give --insecure.",
    );
  if (allowsPlain(url)) return url;
  return `${url.replace(/\?$/, '')}${search === '' ? '?' : '&'}sslmode=disable`;
}

export function webUrl(value: string): string {
  const url = /^https?:\/\//.test(value) && URL.canParse(value) ? new URL(value) : undefined;
  if (url?.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    throw new InvalidArgumentError('Expected an http or https URL without a password, a query and a fragment.');
  return value.replace(/\/+$/, '');
}

/** Accepts visible ASCII only, because the token is sent in an HTTP header. */
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
      // Refuse a second `-` as an address.
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
  readonly insecure?: true;
  readonly apiUrl?: string;
  readonly apiToken?: string;
}

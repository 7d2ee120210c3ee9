import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import {
  apiOf,
  apiProblem,
  databaseProblem,
  encryptedAddress,
  type NewSourceRequest,
  timeZoneProblem,
  tokenProblem,
} from '../sources/administration.ts';
import { checked } from './options.ts';

export const zone = (value: string): string => checked(value, timeZoneProblem(value));

export const databaseUrl = (value: string): string =>
  checked(value, value === '-' ? undefined : databaseProblem(value));

export const webUrl = (value: string): string => apiOf(checked(value, apiProblem(value)));

export const token = (value: string): string => checked(value, tokenProblem(value));

/** Returns the address to store. `insecure` lets the gateway also accept a connection without encryption. */
export const safeUrl = (command: Command, { url, insecure }: Pick<Added, 'url' | 'insecure'>): string =>
  encryptedAddress(url, insecure === true) ??
  command.error(
    "error: option '--url': the data and the password would travel without encryption. Add ?sslmode=verify-full to the address (or sslmode=require, which does not check the certificate), or give --insecure.",
  );

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
export interface Added extends NewSourceRequest {
  readonly insecure?: true;
}

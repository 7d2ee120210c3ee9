import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect } from 'vitest';
import { checkout } from '../command.ts';

/** Timeout (ms) of a statement and of a connection. The driver waits 500 ms more. */
const PATIENCE = 300;
const DEADLINE = 2 * PATIENCE + 500 + 1_500;

export interface Told {
  readonly found: readonly { name: string; said: string; rows: number; took: number }[];
  readonly uncaught: readonly string[];
  /** The longest turn of the event loop in milliseconds, in processor time and by the clock. */
  readonly longest: number;
  readonly wall: number;
  /** The process's largest memory in MiB. */
  readonly peak: number;
}
export interface Asked {
  readonly name: string;
  readonly way: 'query' | 'twice' | 'script' | 'listen';
  /** The query of the address, with its question mark. */
  readonly query?: string;
}
export interface ClientOptions {
  readonly planted?: boolean;
  readonly patience?: number;
  readonly limit?: number;
  readonly together?: number;
}

/** Runs the client in its own process. Undefined if it does not end in time, or crashes. */
export function askHostile(
  port: number,
  cases: readonly Asked[],
  { planted = false, patience = PATIENCE, limit = 25_000, together = 12 }: ClientOptions = {},
): Promise<Told | undefined> {
  const script = join(checkout, 'test/support/hostile/postgres-client.mjs');
  const args = [
    script,
    join(checkout, 'dist'),
    String(port),
    JSON.stringify(cases),
    String(patience),
    String(together),
  ];
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env['PATH'], PLANTED: planted ? '1' : '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), limit);
  let written = '';
  child.stdout.on('data', (part: Buffer) => (written += part.toString()));
  return new Promise((resolve) =>
    child.once('close', (code) => {
      clearTimeout(timer);
      resolve(code === 0 ? (JSON.parse(written) as Told) : undefined); // the client has written this document
    }),
  );
}

export const wellBehaved = ({ uncaught, longest, peak, found }: Told): void => {
  expect(uncaught).toEqual([]);
  expect(longest, 'milliseconds of the event loop').toBeLessThan(250);
  expect(peak, 'MiB of memory').toBeLessThan(700);
  expect(found.filter(({ took }) => took > DEADLINE)).toEqual([]);
};

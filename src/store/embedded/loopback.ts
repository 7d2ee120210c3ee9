import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';

import type { Binaries } from './binaries.ts';
import type { Account } from './identity.ts';
import { run } from './run.ts';
import { textOf } from './text.ts';

/** The address of a server without Unix sockets. No other machine reaches this address. */
export const loopback = '127.0.0.1';

const fileIn = (dataDir: string): string => join(dataDir, 'postgres.password');

/** The arguments with which initdb gives the superuser the password of the data folder. */
export const withPassword = (dataDir: string): string[] => {
  passwordOf(dataDir);
  return ['--auth=scram-sha-256', `--pwfile=${fileIn(dataDir)}`];
};

/** Reads the password of the cluster, or makes the password. Only the gateway's user may read the file. */
export function passwordOf(dataDir: string): string {
  const path = fileIn(dataDir);
  const made = textOf(path);
  if (made !== undefined) return made.trim();
  const password = randomBytes(24).toString('hex');
  writeFileSync(path, `${password}\n`, { mode: 0o600, flag: 'wx' });
  return password;
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, loopback);
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address ? address.port : 0;
}

/**
 * Runs pg_ctl for the cluster. True if it succeeded. On Windows it stands in for signals, and starts PostgreSQL without
 * administrator rights.
 */
export async function control(
  cluster: string,
  { binaries, account }: { binaries: Binaries; account: Account | undefined },
  ...args: readonly string[]
): Promise<boolean> {
  const { status } = await run(join(binaries.bin, 'pg_ctl'), [...args, '-D', cluster], { account, silent: true });
  return status === 0;
}

/** The arguments of pg_ctl that start a server with these settings. No name and no value may have a space. */
export const starting = (cluster: string, seconds: number, settings: Readonly<Record<string, string>>): string[] => [
  'start',
  '-w',
  ...['-t', String(seconds)],
  ...['-l', join(dirname(cluster), 'postgres.log')],
  ...[
    '-o',
    Object.entries(settings)
      .flatMap(([name, value]) => ['-c', `${name}=${value}`])
      .join(' '),
  ],
];

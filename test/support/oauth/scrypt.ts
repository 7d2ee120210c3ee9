import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

type Scrypt = typeof crypto.scrypt;

/** Marks what stands in place of Node's function, for when a process loads this module again for the next file. */
const REAL = Symbol.for('the scrypt of Node');
const real: Scrypt = Reflect.get(crypto.scrypt, REAL) ?? crypto.scrypt;

/** The least cost that the gateway reads. With its own cost a hash takes 0.3 s of a core. */
export const CHEAP = { N: 2 ** 10, r: 1, p: 1 } as const;

/**
 * Puts a function in the place of Node's `scrypt`, also for modules that have imported it. `make` gets Node's. A file that
 * calls this needs a process of its own.
 */
export function replaceScrypt(make: (original: Scrypt) => Scrypt): void {
  crypto.scrypt = Object.assign(make(real), { [REAL]: real });
  syncBuiltinESMExports();
}

/**
 * Every hash costs little. each-file.ts calls it for each file. A file whose hashes another process reads, or which
 * judges their time, calls `realScrypt` first. test/auth/people.test.ts judges their cost.
 */
export const cheapScrypt = (): void =>
  replaceScrypt((scrypt) => (password, salt, length, _options, done?: unknown) => {
    const answer = done as (error: Error | null, key: Buffer) => void; // the gateway uses the overload with a callback
    scrypt(password, salt, length, CHEAP, answer);
  });

export const realScrypt = (): void => replaceScrypt((scrypt) => scrypt);

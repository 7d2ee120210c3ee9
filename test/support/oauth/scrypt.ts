import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

type Scrypt = typeof crypto.scrypt;

/**
 * Puts a function in the place of Node's `scrypt`, also for modules that have imported it. `make` gets the original. A
 * file that calls this needs a process of its own.
 */
export function replaceScrypt(make: (original: Scrypt) => Scrypt): void {
  crypto.scrypt = make(crypto.scrypt);
  syncBuiltinESMExports();
}

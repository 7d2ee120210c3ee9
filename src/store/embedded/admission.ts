import { closeSync, fchownSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';

import type { Binaries } from './binaries.ts';
import type { Account } from './identity.ts';
import { loopback } from './loopback.ts';
import type { Platform } from './platform.ts';
import { textOf } from './text.ts';

const MAP = 'gateway';
const HEAD = '# Written by the gateway at each start.\n';

/**
 * Writes the files that say who may connect to the cluster: root and the user of this process. PostgreSQL asks the
 * kernel for the user behind a socket connection. The closed folder alone is not enough, because the folder does not
 * keep out other processes of the server's user. On the loopback address, PostgreSQL asks for the password instead.
 *
 * `keep` is true for a running server. In this case, all users that were admitted earlier stay admitted. Returns true
 * when a file has changed.
 */
export function admit(
  cluster: string,
  {
    transport,
    binaries,
    account,
    keep,
  }: { transport: Platform['transport']; binaries: Binaries; account: Account | undefined; keep: boolean },
): boolean {
  const rules = join(cluster, 'pg_hba.conf');
  if (transport === 'loopback') return replace(rules, `${HEAD}host all all ${loopback}/32 scram-sha-256\n`, account);
  const identities = join(cluster, 'pg_ident.conf');
  const us = ourName();
  const names = new Set(['root', ...(us === undefined ? [] : [us]), ...(keep ? admitted(identities) : [])]);
  // PostgreSQL 15 has no keyword for all roles in the map of users. So name the two roles that a gateway uses.
  const roles = binaries.major >= 16 ? ['all'] : ['gateway', 'postgres'];
  const lines = [...names].flatMap((name) => roles.map((role) => `${MAP} "${name}" ${role}\n`));
  // If this user has no name, PostgreSQL cannot check who connects. The closed folder keeps out other users, so trust
  // is enough.
  const method = us === undefined ? 'trust' : `peer map=${MAP}`;
  const changed = [
    replace(identities, HEAD + lines.join(''), account),
    replace(rules, `${HEAD}local all all ${method}\n`, account),
  ];
  return changed.includes(true);
}

/** The current user's name, as PostgreSQL looks it up. Undefined without an entry in /etc/passwd, as in a container. */
export function ourName(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}

function admitted(identities: string): string[] {
  const text = textOf(identities);
  if (text?.startsWith(HEAD) !== true) return [];
  return [...text.matchAll(/^\w+ "(.+)" /gm)].map(([, name = '']) => name);
}

/**
 * Replaces a file, and never writes into the old one: the server's user may have made it a link. True if the text has
 * changed.
 */
function replace(path: string, text: string, account: Account | undefined): boolean {
  if (textOf(path) === text) return false;
  const draft = `${path}.new`;
  rmSync(draft, { force: true });
  const file = openSync(draft, 'wx', 0o600);
  try {
    writeSync(file, text);
    if (account) fchownSync(file, account.uid, account.gid);
  } finally {
    closeSync(file);
  }
  renameSync(draft, path);
  return true;
}

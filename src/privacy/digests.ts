import { createHmac, randomBytes } from 'node:crypto';
import type { Keyring } from '../auth/keys.ts';
import { Refused } from '../core/refused.ts';
import { sql } from '../core/sql.ts';
import type { PersonDigest } from '../sources/engine/digests.ts';
import { SourceRefused } from '../sources/follow/explain.ts';
import { readSealed } from '../store/administration/cells.ts';
import type { Database } from '../store/driver/postgres.ts';

const PURPOSE = 'suppression';
/** 132 bits of the HMAC. */
const LENGTH = 22;

/**
 * The digests of this store. Undefined if nobody was ever erased. `keys` is called only if the store has digests. A dry run
 * does not renew the seal. Throws Refused if no key of the operator opens the key of the digests.
 */
export async function openDigest(
  db: Database,
  keys: () => Promise<Keyring>,
  { renews = true }: { readonly renews?: boolean } = {},
): Promise<PersonDigest | undefined> {
  const sealed = await sealedKey(db);
  return sealed === undefined ? undefined : opened(db, await keys(), sealed, renews);
}

/** Like `openDigest`, for a source. Its state then tells the operator why it stands still. */
export async function sourceDigest(db: Database, keys: Keyring): Promise<PersonDigest | undefined> {
  try {
    return await openDigest(db, async () => keys);
  } catch (error) {
    throw error instanceof Refused ? new SourceRefused(error.message, { cause: error }) : error;
  }
}

/**
 * Like `openDigest`. Makes the key of the digests if the store has none. Throws Refused if `keys` open nothing that the
 * store has sealed, so they are not those of the gateways: with a key that these cannot open, all sources would stop.
 */
export async function makeDigest(db: Database, keys: Keyring): Promise<PersonDigest> {
  const stored = await sealedKey(db);
  if (stored !== undefined) return opened(db, keys, stored);
  const others = await readSealed(db);
  const opens = others.some(({ purpose, sealed }) => keys.open(purpose, sealed) !== undefined);
  if (others.length > 0 && !opens) throw new Refused(OTHER_KEYS);
  const fresh = keys.seal(PURPOSE, randomBytes(32).toString('base64'));
  await db.query(sql`INSERT INTO gateway.suppression_key (sealed) VALUES (${fresh}) ON CONFLICT DO NOTHING`);
  return opened(db, keys, (await sealedKey(db)) ?? fresh);
}

export async function sealedKey(db: Database): Promise<string | undefined> {
  const [row] = await db.read<{ sealed: string }>(sql`SELECT sealed FROM gateway.suppression_key`);
  return row?.sealed;
}

/**
 * Takes the key of another store, whose digests this store gets. Throws Refused if nobody can open the key, or if
 * this store has digests under a key of its own.
 */
export async function takeSeal(db: Database, keys: Keyring, sealed: string): Promise<void> {
  const plain = keys.open(PURPOSE, sealed);
  if (plain === undefined) throw new Refused(UNREADABLE);
  await db.query(sql`
    INSERT INTO gateway.suppression_key AS k (sealed) VALUES (${sealed})
    ON CONFLICT (one) DO UPDATE SET sealed = excluded.sealed WHERE NOT EXISTS (SELECT FROM gateway.suppression)`);
  if (keys.open(PURPOSE, (await sealedKey(db)) ?? '') !== plain)
    throw new Refused('The list of erased people is of another store: this store has a list of its own.');
}

const OTHER_KEYS =
  'GATEWAY_KEYS open nothing that this store has encrypted: no address of a source and no secret of a webhook. Nobody was erased. Run the command with the GATEWAY_KEYS of the gateways.';
const UNREADABLE =
  'The list of erased people cannot be read. GATEWAY_KEYS must hold the key with which a person was last erased.';

/**
 * An HMAC cannot be computed again under another key. So the key of the digests never changes, and only its seal does:
 * every process that finds the seal of an older key of GATEWAY_KEYS replaces it. The older key can then be removed.
 */
async function opened(db: Database, keys: Keyring, sealed: string, renews = true): Promise<PersonDigest> {
  const plain = keys.open(PURPOSE, sealed);
  if (plain === undefined) throw new Refused(UNREADABLE);
  if (renews && !sealed.startsWith(`${keys.kid}~`)) {
    const renewed = keys.seal(PURPOSE, plain);
    await db.query(sql`UPDATE gateway.suppression_key SET sealed = ${renewed} WHERE sealed = ${sealed}`);
  }
  return digestWith(Buffer.from(plain, 'base64'));
}

/** How many digests are remembered, because many messages name one conversation. */
const REMEMBERED = 10_000;

function digestWith(key: Buffer): PersonDigest {
  const known = new Map<string, string>();
  return (of, value) => {
    const text = `${of}\0${value}`;
    const found = known.get(text);
    if (found !== undefined) return found;
    const digest = createHmac('sha256', key).update(text).digest('base64url').slice(0, LENGTH);
    if (known.size >= REMEMBERED) known.clear();
    known.set(text, digest);
    return digest;
  };
}

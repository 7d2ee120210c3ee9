import { Keyring } from '../../src/auth/keys.ts';

const OLD = { kid: 'test', secret: Buffer.alloc(32, 7) };

/** The operator's keys of every gateway in a test's own process, as replicas of one installation share them. */
export const KEYS = new Keyring([OLD]);

/** Those of a replica that has a new key already and keeps the old one. */
export const RENEWED_KEYS = new Keyring([{ kid: 'new', secret: Buffer.alloc(32, 8) }, OLD]);

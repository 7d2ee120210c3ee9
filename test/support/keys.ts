import { Keyring } from '../../src/auth/keys.ts';

/** The operator's keys of every gateway in a test's own process, as replicas of one installation share them. */
export const KEYS = new Keyring([{ kid: 'test', secret: Buffer.alloc(32, 7) }]);

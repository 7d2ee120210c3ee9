import { Keyring } from '../../src/auth/keys.js';
const OLD = { kid: 'test', secret: Buffer.alloc(32, 7) };
/** The operator's keys of every gateway in this process. All replicas of an installation share their keys. */
export const KEYS = new Keyring([OLD]);
/** The keys of a replica that already uses a new key and still accepts the old one. */
export const RENEWED_KEYS = new Keyring([{ kid: 'new', secret: Buffer.alloc(32, 8) }, OLD]);
//# sourceMappingURL=keys.js.map
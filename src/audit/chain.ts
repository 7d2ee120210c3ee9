import type { Keyring } from '../auth/keys.ts';
import type { StoredAudit } from '../store/audit/records.ts';

/** A record as its maker has it. Absent members are undefined. */
export type AuditRecord = { readonly [Member in keyof StoredAudit]: NonNullable<StoredAudit[Member]> | undefined };

/** The digest before the first record of a chain. */
export const START = `\\x${'0'.repeat(64)}`;

/** The digest of a record whose predecessor has the digest `previous`. */
export function chained(keys: Keyring, previous: string, text: string): { kid: string; digest: string } {
  return { kid: keys.kid, digest: `\\x${keys.digest('audit', previous + text)}` };
}

import type { Keyring } from '../auth/keys.ts';
import type { StoredAudit } from '../store/audit/records.ts';

/** A record as its maker has it. Absent members are undefined, or null if they were read. */
export type AuditRecord = { readonly [Member in keyof StoredAudit]: StoredAudit[Member] | undefined };

/** The digest before the first record of a chain. */
export const START = `\\x${'0'.repeat(64)}`;

/**
 * The text that a digest covers: JSON with the members in the order of the columns, without those that are null. The
 * object that is passed must have this order.
 */
export const auditText = (record: AuditRecord): string =>
  JSON.stringify(record, (_name, value: unknown) => (value === null ? undefined : value));

/** The digest of a record whose predecessor has the digest `previous`. */
export function chained(keys: Keyring, previous: string, text: string): { kid: string; digest: string } {
  const { kid, mac } = keys.sign('audit', previous + text);
  return { kid, digest: `\\x${mac.toString('hex')}` };
}

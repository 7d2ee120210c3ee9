import type { Keyring } from '../auth/keys.ts';
import type { StoredAudit } from '../store/audit/records.ts';

/** A record as its maker has it. Absent members are undefined. */
export type AuditRecord = { readonly [Member in keyof StoredAudit]: NonNullable<StoredAudit[Member]> | undefined };

/** The digest before the first record of a chain. */
export const START = `\\x${'0'.repeat(64)}`;

/**
 * The text that a digest covers: JSON with the members in the order of the columns, without those that have no value. The
 * object that is passed must have this order, and no null.
 */
export const auditText = (record: AuditRecord): string => JSON.stringify(record);

/** The text of a record that was read from PostgreSQL. */
export const storedText = (record: StoredAudit): string =>
  JSON.stringify(record, (_name, value: unknown) => (value === null ? undefined : value));

/** The digest of a record whose predecessor has the digest `previous`. */
export function chained(keys: Keyring, previous: string, text: string): { kid: string; digest: string } {
  const { kid, mac } = keys.sign('audit', previous + text);
  return { kid, digest: `\\x${mac.toString('hex')}` };
}

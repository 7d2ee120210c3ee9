import type { Keyring } from '../auth/keys.ts';
import type { StoredAudit, UnsealedAudit } from '../store/audit/records.ts';
import type { AuditRecord } from './chain.ts';
import { auditMembers } from './row.ts';

/** What a mark covers: all but the members that only the end of the write tells. */
const markedText = (record: AuditRecord | StoredAudit): string =>
  `draft ${auditMembers({ ...record, time: '', outcome: '', status: 0, duration_ms: 0 })}`;

/** Marks the record of a write, so that no process seals a record that somebody has inserted by hand. */
export function markOf(keys: Keyring, record: AuditRecord): string {
  const { kid, mac } = keys.sign('audit', markedText(record));
  return `${kid}~${mac.toString('hex')}`;
}

/** True for a record of a write that a process of the gateway has made, and for a record of a command. */
export function mayBeSealed(keys: Keyring, record: UnsealedAudit): boolean {
  // A command has no keys. Its record names nobody.
  if (record.surface === 'cli')
    return [record.app_id, record.credential_id, record.person_id].every((id) => id === null);
  const [kid = '', mac = ''] = record.mark?.split('~') ?? [];
  return keys.verify('audit', markedText(record), { kid, mac: Buffer.from(mac, 'hex') });
}

import { randomUUID } from 'node:crypto';
import type { Keyring } from '../auth/keys.ts';
import type { AuditDraft } from '../core/audit.ts';
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

/** What a command has done. `keys`: undefined if the command has none. */
interface DoneCommand {
  readonly organization: string;
  readonly operation: string;
  readonly targets: readonly string[];
  /** The write that the command decides about, and the website of that write. */
  readonly website?: string;
  readonly operationId?: string;
  readonly requestId: string;
  readonly ms: number;
}

/**
 * The draft of the record of a command. With keys it has a mark, and a request_id says that it must have one. Without
 * keys it has neither, and `audit verify` names it.
 */
export function draftOfCommand(keys: Keyring | undefined, done: DoneCommand): AuditDraft {
  const { organization, website, operation, operationId, targets, requestId, ms } = done;
  const none = undefined;
  const id = randomUUID();
  const record: AuditRecord = {
    ...{ time: none, id, organization_id: organization, website_id: website, app_id: none, installation_id: none },
    ...{ credential_id: none, person_id: none, client_name: none, client_version: none, address: none, surface: 'cli' },
    ...{ operation, targets: [...targets], count: none, outcome: 'ok', status: 200, units: 0, duration_ms: ms },
    ...{
      request_id: keys && requestId,
      trace_id: none,
      input_digest: none,
      operation_id: operationId,
      replayed: false,
    },
  };
  return { id, members: keys ? { ...record, mark: markOf(keys, record) } : { ...record }, inserted: false };
}

/** True for a record of a command that had no keys. Somebody may have inserted it by hand. */
export const madeWithoutKey = ({ surface, request_id: request }: StoredAudit): boolean =>
  surface === 'cli' && request === null;

/** True for a record that a process or a command of the gateway has made, and for one of a command without keys. */
export function mayBeSealed(keys: Keyring, record: UnsealedAudit): boolean {
  // It names nobody.
  if (madeWithoutKey(record)) return [record.app_id, record.credential_id, record.person_id].every((id) => id === null);
  const [kid = '', mac = ''] = record.mark?.split('~') ?? [];
  return keys.verify('audit', markedText(record), { kid, mac: Buffer.from(mac, 'hex') });
}

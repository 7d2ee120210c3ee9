import type { Keyring } from '../auth/keys.ts';
import {
  type AuditDays,
  type AuditHead,
  auditHeads,
  auditOrganizations,
  brokenLinks,
  missingHeads,
  type SealedAudit,
  sealedPage,
  unrecordedWrites,
  unsealedRecords,
  wrongEnds,
} from '../store/audit/verify.ts';
import type { Database } from '../store/driver/postgres.ts';
import { storedText } from './chain.ts';

/**
 * `altered`: a record is not as it was sealed. `unknown_key`: the key of a record is not in GATEWAY_KEYS. `broken`: a
 * record was removed or inserted. `wrong_end`: the end of a chain, or a whole chain, was removed. `missing_head`: the
 * record that a kept head names is gone. `unsealed`: no process has sealed a record for a minute. `unrecorded_write`: a
 * write of the ledger has no record.
 */
export interface AuditFinding {
  readonly finding:
    | 'altered'
    | 'unknown_key'
    | 'broken'
    | 'wrong_end'
    | 'missing_head'
    | 'unsealed'
    | 'unrecorded_write';
  readonly day?: string;
  readonly writer?: string;
  readonly detail: string;
}

export interface Verified {
  readonly records: number;
  readonly heads: readonly AuditHead[];
  readonly findings: readonly AuditFinding[];
}

const PAGE = 2_000;
/** The most findings of one kind and day. */
const MOST = 100;

/** Checks the records of some days. `kept`: heads that an earlier check has printed. */
export async function verifyAudit(
  db: Database,
  keys: Keyring,
  days: AuditDays,
  kept: readonly AuditHead[],
): Promise<Verified> {
  const findings: AuditFinding[] = [];
  let records = 0;
  for (const organization of await auditOrganizations(db, days)) {
    let page: SealedAudit[] = [];
    do {
      page = await sealedPage(db, days, organization, page.at(-1), PAGE);
      records += page.length;
      for (const record of page) {
        const found = findings.length < MOST ? judge(keys, record) : undefined;
        if (found) findings.push(found);
      }
    } while (page.length === PAGE);
  }
  for (const day of daysOf(days)) {
    for (const { writer, seq, after } of await brokenLinks(db, day, MOST))
      findings.push({ finding: 'broken', day, writer, detail: `Record ${seq} follows record ${after}.` });
    for (const { writer, head, last } of await wrongEnds(db, day, MOST)) {
      const detail = `The chain ends with record ${last ?? 0}, and should end with record ${head ?? 0}.`;
      findings.push({ finding: 'wrong_end', day, writer, detail });
    }
  }
  for (const { writer, day, seq } of await missingHeads(db, kept, MOST))
    findings.push({
      finding: 'missing_head',
      day,
      writer,
      detail: `Record ${seq} of the kept heads is gone or altered.`,
    });
  for (const { id, time } of await unsealedRecords(db, days, MOST))
    findings.push({ finding: 'unsealed', day: time.slice(0, 10), detail: `No process has sealed record ${id}.` });
  for (const { operation_id, operation } of await unrecordedWrites(db, days, MOST))
    findings.push({ finding: 'unrecorded_write', detail: `The ${operation} ${operation_id} has no record.` });
  return { records, heads: await auditHeads(db, days), findings };
}

function judge(keys: Keyring, sealed: SealedAudit): AuditFinding | undefined {
  const { writer, seq, kid, previous, digest, ...record } = sealed;
  const mac = Buffer.from(digest.slice(2), 'hex');
  if (keys.verify('audit', previous + storedText(record), { kid, mac })) return undefined;
  const of = { day: sealed.time.slice(0, 10), writer };
  return keys.has(kid)
    ? { finding: 'altered', ...of, detail: `Record ${seq} (${sealed.id}) is not as it was sealed.` }
    : { finding: 'unknown_key', ...of, detail: `Record ${seq} was sealed with the key ${kid}, which is not given.` };
}

function daysOf({ from, to }: AuditDays): string[] {
  const days: string[] = [];
  for (let at = Date.parse(from); at <= Date.parse(to); at += 86_400_000)
    days.push(new Date(at).toISOString().slice(0, 10));
  return days;
}

import type { Keyring } from '../auth/keys.ts';
import { blockPage, misnamedBlocks, type SealedBlock, surplusTargets } from '../store/audit/blocks.ts';
import {
  type AuditDays,
  type AuditHead,
  auditHeads,
  auditOrganizations,
  brokenLinks,
  missingDays,
  missingHeads,
  repeatedIds,
  type SealedAudit,
  sealedPage,
  unrecordedWrites,
  unsealedRecords,
  wrongEnds,
} from '../store/audit/verify.ts';
import type { Database } from '../store/driver/postgres.ts';
import { blockText } from './blocks.ts';
import { madeWithoutKey } from './mark.ts';
import { auditMembers } from './row.ts';

/**
 * `altered`: a record is not as it was sealed, or is there twice. `unknown_key`: the key of a record is not in
 * GATEWAY_KEYS. `broken`: a record was removed or inserted. `wrong_end`: the end of a chain, or a whole chain, was removed.
 * `missing_head`: the record that a kept head names is gone. `missing_day`: a day between others has no partition.
 * `unsealed`: no process has sealed a record for a minute. `unrecorded_write`: a write of the ledger has no record.
 * `without_key`: a command had no keys, or somebody has inserted the record.
 */
export interface AuditFinding {
  readonly finding:
    | 'altered'
    | 'unknown_key'
    | 'broken'
    | 'wrong_end'
    | 'missing_head'
    | 'missing_day'
    | 'unsealed'
    | 'unrecorded_write'
    | 'without_key';
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
/** Each has at most a thousand records. */
const BLOCKS = 100;
/** The most findings of one kind and day. */
const MOST = 100;

/**
 * Checks the records of some days. `kept`: heads that an earlier check has printed. `keptDays`: days for which records
 * are kept.
 */
export async function verifyAudit(
  db: Database,
  keys: Keyring,
  days: AuditDays,
  kept: readonly AuditHead[],
  keptDays: number,
): Promise<Verified> {
  const found = new Findings();
  let records = 0;
  for (const organization of await auditOrganizations(db, days)) {
    let page: SealedAudit[] = [];
    do {
      page = await sealedPage(db, days, organization, page.at(-1), PAGE);
      records += page.length;
      for (const record of page) {
        const one = judge(keys, record);
        if (one) found.add(one);
        if (madeWithoutKey(record)) {
          const detail = `Record ${record.id} (${record.operation}) was made without a key.`;
          found.add({ finding: 'without_key', day: record.time.slice(0, 10), detail });
        }
      }
    } while (page.length === PAGE);
    let blocks: SealedBlock[] = [];
    do {
      blocks = await blockPage(db, days, organization, blocks.at(-1), BLOCKS);
      records += await judgeBlocks(db, keys, blocks, found);
    } while (blocks.length === BLOCKS);
  }
  for (const day of await missingDays(db, days))
    found.add({ finding: 'missing_day', day, detail: 'The day has no partition: it was dropped, or no gateway ran.' });
  for (const day of daysOf(days)) {
    const surplus = await surplusTargets(db, day);
    const rows = `${Math.abs(surplus)} ${Math.abs(surplus) === 1 ? 'row' : 'rows'}`;
    const detail = `The table of targets has ${rows} too ${surplus < 0 ? 'few' : 'many'} for the records.`;
    if (surplus !== 0) found.add({ finding: 'altered', day, detail });
    for (const { writer, seq, after } of await brokenLinks(db, day, MOST))
      found.add({ finding: 'broken', day, writer, detail: `Record ${seq} follows record ${after}.` });
    for (const { writer, head, last } of await wrongEnds(db, day, MOST)) {
      const detail = `The chain ends with record ${last ?? 0}, and should end with record ${head ?? 0}.`;
      found.add({ finding: 'wrong_end', day, writer, detail });
    }
  }
  for (const { writer, day, seq } of await missingHeads(db, kept, keptDays, MOST))
    found.add({
      finding: 'missing_head',
      day,
      writer,
      detail: `Record ${seq} of the kept heads is gone or altered.`,
    });
  for (const { id, day } of await repeatedIds(db, days, MOST))
    found.add({ finding: 'altered', day, detail: `The id ${id} has several records: one of them was inserted again.` });
  for (const { id, time } of await unsealedRecords(db, days, MOST))
    found.add({ finding: 'unsealed', day: time.slice(0, 10), detail: `No process has sealed record ${id}.` });
  for (const { operation_id, operation } of await unrecordedWrites(db, days, MOST))
    found.add({ finding: 'unrecorded_write', detail: `The ${operation} ${operation_id} has no record.` });
  return { records, heads: await auditHeads(db, days), findings: found.list() };
}

/** Lists the first findings of each kind and day, and counts all of them. */
class Findings {
  readonly #listed: AuditFinding[] = [];
  readonly #counts = new Map<string, { readonly first: AuditFinding; count: number }>();

  add(one: AuditFinding): void {
    const key = `${one.finding} ${one.day ?? ''}`;
    const known = this.#counts.get(key) ?? { first: one, count: 0 };
    this.#counts.set(key, known);
    if (++known.count <= MOST) this.#listed.push(one);
  }

  list(): AuditFinding[] {
    const full = [...this.#counts.values()].filter(({ count }) => count >= MOST);
    const sums = full.map(({ first: { finding, day }, count }) => {
      const detail = `At least ${count} findings of this kind${day === undefined ? '' : ' and day'}.`;
      return day === undefined ? { finding, detail } : { finding, day, detail };
    });
    return [...this.#listed, ...sums];
  }
}

function judge(keys: Keyring, sealed: SealedAudit): AuditFinding | undefined {
  const { writer, seq, kid, previous, digest, formed, ...record } = sealed;
  const mac = Buffer.from(digest.slice(2), 'hex');
  if (formed && keys.verify('audit', previous + auditMembers(record), { kid, mac })) return undefined;
  const of = { day: sealed.time.slice(0, 10), writer };
  return keys.has(kid)
    ? { finding: 'altered', ...of, detail: `Record ${seq} (${sealed.id}) is not as it was sealed.` }
    : { finding: 'unknown_key', ...of, detail: `Record ${seq} was sealed with the key ${kid}, which is not given.` };
}

/** Judges blocks, and their targets if their digests are right. Returns the number of their records. */
async function judgeBlocks(
  db: Database,
  keys: Keyring,
  blocks: readonly SealedBlock[],
  found: Findings,
): Promise<number> {
  let records = 0;
  const right: SealedBlock[] = [];
  const add = (finding: 'altered' | 'unknown_key', { time, writer, seq, calls }: SealedBlock, detail: string): void =>
    found.add({
      finding,
      day: time.slice(0, 10),
      writer,
      detail: `Records ${Number(seq) - calls + 1} to ${seq}: ${detail}`,
    });
  for (const block of blocks) {
    records += block.calls;
    const mac = Buffer.from(block.digest.slice(2), 'hex');
    if (block.formed && keys.verify('audit', block.previous + blockText(block), { kid: block.kid, mac }))
      right.push(block);
    else if (keys.has(block.kid)) add('altered', block, 'one of them is not as it was sealed.');
    else add('unknown_key', block, `they were sealed with the key ${block.kid}, which is not given.`);
  }
  const ids = right.length === 0 ? [] : await misnamedBlocks(db, right);
  for (const block of right)
    if (ids.includes(block.id)) add('altered', block, 'the table of targets says something else.');
  return records;
}

function daysOf({ from, to }: AuditDays): string[] {
  const days: string[] = [];
  for (let at = Date.parse(from); at <= Date.parse(to); at += 86_400_000)
    days.push(new Date(at).toISOString().slice(0, 10));
  return days;
}

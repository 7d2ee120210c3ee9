import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { SealedBlock } from '../store/audit/blocks.ts';
import type { QueuedCall } from './queue.ts';
import { durationOf, type Recorder } from './recorder.ts';
import { auditEntry, member } from './row.ts';
import type { Sums } from './sums.ts';

/** Calls that are recorded together. */
export interface CallGroup {
  readonly calls: QueuedCall[];
  /** The second of all calls, in Unix milliseconds. */
  readonly second: number;
  /** The milliseconds of each call behind the second. */
  readonly ms: number[];
}

/** A block of records before it has its place in a chain (gateway.audit_block). */
export type UnsealedBlock = Omit<SealedBlock, 'writer' | 'seq' | 'kid' | 'previous' | 'digest' | 'at' | 'formed'>;

/** The targets of blocks, by column (gateway.audit_target). */
export class Named {
  readonly block: string[] = [];
  readonly target: string[] = [];
  readonly calls: number[] = [];
  readonly failed: number[] = [];
  readonly first_ms: number[] = [];
  readonly last_ms: number[] = [];
}

/** A smaller group becomes rows of gateway.audit, which then cost about the same. */
const FEW = 4;
/** Records that are made in one turn of the event loop, about 0.5 ms. */
const SLICE = 100;

/** Lets requests run between the records of a batch. */
export class Slices {
  #made = 0;
  /** Called after each record. A promise where the next record belongs to another turn. */
  next(): Promise<void> | undefined {
    return ++this.#made % SLICE === 0 ? setImmediate() : undefined;
  }
}

/**
 * Puts calls of one caller, client, network, surface and second together. Calls without a credential and calls of writes
 * stay alone. The groups are in the order of their first calls.
 */
export function groupsOf(calls: readonly QueuedCall[], offset: number): CallGroup[] {
  const groups: CallGroup[] = [];
  const open = new Map<string, CallGroup>();
  let last: CallGroup | undefined;
  for (const call of calls) {
    const time = Math.floor(offset + call.at);
    const ms = time % 1_000;
    const second = time - ms;
    const alone = call.report.actor.credentialId === undefined || call.report.operationId !== undefined;
    // Most callers come in rows, and a comparison takes less time than a key.
    let group = alone ? undefined : last;
    if (group?.second !== second || !isSameCaller(group.calls[0], call)) {
      const key = alone ? '' : keyOf(call, second);
      group = alone ? undefined : open.get(key);
      if (!group) {
        group = { calls: [], second, ms: [] };
        groups.push(group);
        if (!alone) open.set(key, group);
      }
    }
    group.calls.push(call);
    group.ms.push(ms);
    if (!alone) last = group;
  }
  return groups;
}

function keyOf({ origin: { client, from, surface }, report: { actor } }: QueuedCall, second: number): string {
  return JSON.stringify([actor.credentialId, actor.personId, client?.name, client?.version, from, surface, second]);
}

const isSameCaller = (one: QueuedCall | undefined, other: QueuedCall): boolean =>
  one?.report.actor.credentialId === other.report.actor.credentialId &&
  one?.report.actor.personId === other.report.actor.personId &&
  one?.origin.client?.name === other.origin.client?.name &&
  one?.origin.client?.version === other.origin.client?.version &&
  one?.origin.from === other.origin.from &&
  one?.origin.surface === other.origin.surface;

/**
 * PostgreSQL reads the records of a block only when somebody looks at them, and one that it cannot read would break every
 * reader. As a row of gateway.audit such a record is refused at once.
 */
export const isBlock = ({ calls }: CallGroup): boolean =>
  calls.length >= FEW &&
  calls.every(
    ({ report: { count = 0, status, units } }) => isInteger(count, 31) && isInteger(status, 15) && isInteger(units, 31),
  );

const isInteger = (value: number, bits: number): boolean => Number.isInteger(value) && Math.abs(value) < 2 ** bits;

/** What the chain covers of a block. No record of gateway.audit gives such a text. */
export const blockText = (b: UnsealedBlock): string =>
  `block ${[
    ...[b.time, b.id, b.calls, b.organization_id, b.app_id, b.installation_id, b.credential_id, b.person_id],
    ...[b.client_name, b.client_version, b.address, b.surface, b.named],
  ]
    .map(member)
    .join(',')},${b.records}`;

interface Mention {
  calls: number;
  failed: number;
  first: number;
  last: number;
}

/** Makes the block of a group, and adds its records to the sums and its targets to `named`. */
export async function blockOf(
  group: CallGroup,
  recorder: Recorder,
  sums: Sums,
  named: Named,
  slices: Slices,
): Promise<UnsealedBlock | undefined> {
  const [first] = group.calls;
  if (!first) return undefined;
  const { actor } = first.report;
  const { client, from, surface } = first.origin;
  const of = {
    time: new Date(group.second).toISOString(),
    // The records have the last four digits.
    id: `${randomUUID().slice(0, -4)}0000`,
    calls: group.calls.length,
    organization_id: actor.organizationId,
    app_id: actor.appId ?? null,
    installation_id: actor.installationId ?? null,
    credential_id: actor.credentialId ?? '',
    person_id: actor.personId ?? null,
    client_name: client?.name ?? null,
    client_version: client?.version || null,
    address: recorder.addressOf(from) ?? null,
    surface,
  };
  const mentions = new Map<string, Mention>();
  let records = '{';
  for (let i = 0; i < group.calls.length; i++) {
    const call = group.calls[i] ?? first;
    const ms = group.ms[i] ?? 0;
    const duration = durationOf(call.ms);
    records += `${i === 0 ? '' : ','}${auditEntry(ms, call, duration, recorder.inputOf(call))}`;
    sums.add(of, call.report, duration);
    mention(mentions, call, ms);
    const turn = slices.next();
    if (turn) await turn;
  }
  for (const [target, one] of mentions) {
    named.block.push(of.id);
    named.target.push(target);
    named.calls.push(one.calls);
    named.failed.push(one.failed);
    named.first_ms.push(one.first);
    named.last_ms.push(one.last);
  }
  return { ...of, named: mentions.size, records: `${records}}` };
}

/** Counts a call once for each of its targets. */
function mention(mentions: Map<string, Mention>, { report }: QueuedCall, ms: number): void {
  const { targets, outcome } = report;
  const failed = outcome === 'ok' ? 0 : 1;
  targets.forEach((target, i) => {
    if (targets.indexOf(target) < i) return;
    const known = mentions.get(target);
    if (!known) mentions.set(target, { calls: 1, failed, first: ms, last: ms });
    else {
      known.calls++;
      known.failed += failed;
      known.first = Math.min(known.first, ms);
      known.last = Math.max(known.last, ms);
    }
  });
}

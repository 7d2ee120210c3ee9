import type { AuditDraft, CallActor, CallReport } from '../core/audit.ts';
import type { Authority } from '../core/authority.ts';
import type { Failure } from '../core/failures.ts';
import { parseId } from '../core/ids.ts';
import type { Tool } from '../core/tool.ts';
import { codeOf } from './audit.ts';
import type { OperationState } from './outcomes.ts';

/** The most targets of a record, each named once. Path parameters come first, the outer record before the inner one. */
const TARGETS = 3;
/** Ids of records, of whatever kind. An id that a failed call names is recorded only in this form. */
const ID = /^[a-z]{3}_[0-9]{1,20}_[1-9][0-9]{0,18}_[1-9][0-9]{0,18}$/;
const isId = (value: unknown): value is string => typeof value === 'string' && value.length <= 100 && ID.test(value);

type CallMembers = Readonly<Record<string, unknown>>;

export interface EndedRun {
  readonly actor: CallActor & { readonly websites?: ReadonlyMap<string, unknown> };
  readonly input: CallMembers;
  readonly units: number;
  readonly body?: unknown;
  readonly failure?: Failure | undefined;
  /** The page on which a person must approve the write first. */
  readonly awaits?: string | undefined;
  readonly operation?: OperationState | undefined;
  readonly inserted?: string | undefined;
}

/** What the audit record of a call needs, beside its outcome. */
export interface CallNotes {
  units: number;
  authority: Authority | undefined;
  draft: AuditDraft | undefined;
}

/** The report on a call of a tool. */
export function reportOf(tool: Tool, run: EndedRun): CallReport {
  const { actor, input, failure, operation } = run;
  const targets: string[] = [];
  for (const { id, name } of tool.parameters) {
    const value = id && input[name];
    if (isId(value) && targets.length < TARGETS && !targets.includes(value)) targets.push(value);
  }
  const list = failure ? undefined : listOf(tool, run.body);
  const [only] = list ?? [];
  if (targets.length === 0 && list?.length === 1 && isId(only?.['id'])) targets.push(only['id']);
  const website = input['website_id'] ?? (targets[0] === undefined ? undefined : parseId(targets[0])?.website);
  return {
    actor,
    operation: tool.name,
    websiteId: typeof website === 'string' && actor.websites?.has(website) ? website : undefined,
    targets,
    count: list?.length,
    outcome: failure ? codeOf(failure) : 'ok',
    status: failure?.status ?? (run.awaits === undefined ? tool.status : 202),
    units: run.units,
    input,
    operationId: operation?.id,
    replayed: operation?.replayed,
    inserted: run.inserted,
  };
}

/** The ids that the arguments of a skill name. */
export const idsIn = (input: CallMembers): string[] =>
  [...new Set(Object.values(input).filter(isId))].slice(0, TARGETS);

/** The records of a list. Undefined: the tool answers no list. */
function listOf(tool: Tool, body: unknown): readonly CallMembers[] | undefined {
  if (!tool.paged && tool.name !== 'events_pull') return undefined;
  const outer = Object(body) as CallMembers; // an answer is an object, and its schema has been checked
  const data = 'data' in outer ? (Object(outer['data']) as CallMembers) : outer; // an object, as above
  return Object.values(data).find((value): value is CallMembers[] => Array.isArray(value));
}

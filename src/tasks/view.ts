import { createHash } from 'node:crypto';
import { stringify } from 'safe-stable-stringify';
import type { Authority } from '../core/authority.ts';
import { idKind, parseId } from '../core/ids.ts';
import type { Skill } from '../core/skill.ts';
import type { TaskRow, TaskState, TaskText } from '../store/tasks/tasks.ts';

/** A task as a reader may see it. */
export interface Task extends Omit<TaskRow, 'grants' | 'history'> {
  /** The website of the task. `null` when the task has none, or when the reader has no access to the website. */
  readonly websiteId: string | null;
  /** The result of a completed task, if the reader asked for the result and has the same rights as the sender. */
  readonly artifact: unknown;
  /** True if there is a result that the reader may not see, because it was made under other grants. */
  readonly withheld: boolean;
  /** The newest texts of the task's messages, oldest first. Empty in a list of tasks, and under other grants. */
  readonly history: readonly TaskText[];
}

/** True while a task waits for its turn or runs. */
export const isOpen = (state: TaskState): boolean => state === 'submitted' || state === 'working';

const grantsKnown = new WeakMap<Authority, Buffer>();

/** SHA-256 of everything that an authority may see. The digest does not depend on the token or the revision. */
export function grantsOf(authority: Authority): Buffer {
  const known = grantsKnown.get(authority);
  if (known) return known;
  const { scopes, dataAccess, websites, restrictions, switchedOff } = authority;
  const grants = {
    scopes: [...scopes].sort(),
    dataAccess: [...dataAccess].sort(),
    websites: [...websites.keys()].sort(),
    ...(switchedOff.size > 0 && { switchedOff: [...switchedOff].sort() }),
  };
  const limits = Object.entries(restrictions).map(([dimension, ids]) => [dimension, [...ids].sort()]);
  const text = stringify({ ...grants, restrictions: Object.fromEntries(limits) }) ?? '';
  const digest = createHash('sha256').update(text).digest();
  grantsKnown.set(authority, digest);
  return digest;
}

/** The task as an authority may see it. If `row` has no artifact, the artifact is `body`, the result of the run. */
export function viewOf(row: TaskRow, authority: Authority, body: unknown = row.artifact): Task {
  const { id, contextId, skill, state, stateAt, expiresAt, failure, grants, history } = row;
  // Another token of the same credential may have no access to the website of the task.
  const websiteId = row.websiteId !== null && authority.websites.has(row.websiteId) ? row.websiteId : null;
  const made = state === 'completed' && body !== null;
  const same = grantsOf(authority).equals(grants);
  const withheld = made && !same;
  const artifact = made && !withheld ? body : undefined;
  return {
    id,
    contextId,
    skill,
    websiteId,
    state,
    stateAt,
    expiresAt,
    failure,
    artifact,
    withheld,
    history: (same && history) || [],
  };
}

/** The website of a task: the input's `website_id`, or else the website of another id in the input. */
export function websiteOf(skill: Skill, input: Readonly<Record<string, unknown>>): string | null {
  for (const [name, schema] of Object.entries(skill.input.shape)) {
    const value = input[name];
    if (typeof value !== 'string') continue;
    if (name === 'website_id') return value;
    // The cast is needed, because zod types the members of an object only with its core interface.
    if (idKind(schema as Parameters<typeof idKind>[0])) return parseId(value)?.website ?? null;
  }
  return null;
}

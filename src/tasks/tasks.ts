import { createHash, createHmac, randomBytes, randomUUID } from 'node:crypto';
import { stringify } from 'safe-stable-stringify';
import type { Authority } from '../core/authority.ts';
import { Failure } from '../core/failures.ts';
import { idKind, parseId } from '../core/ids.ts';
import type { Skill } from '../core/skill.ts';
import { pauseUpTo } from '../flow/pause.ts';
import { asFailure, Caller, type Corridor } from '../gateway/call.ts';
import { StaleAuthority } from '../store/calls/guard.ts';
import { openLedgerKey } from '../store/calls/ledger.ts';
import type { Database } from '../store/driver/postgres.ts';
import {
  type Accepted,
  cancelTask,
  findTask,
  listTasks,
  readTask,
  type TaskQuery,
  type TaskRow,
  type TaskState,
} from '../store/tasks/tasks.ts';
import { Batches, type BatchesOptions } from './batches.ts';
import { pageStartOf, pageTokenOf } from './page-token.ts';
import { type EndedTask, type RunCall, Runner } from './runner.ts';
import { startSweeper } from './sweeper.ts';
import { Watch } from './watch.ts';

export type { TaskQuery, TaskState } from '../store/tasks/tasks.ts';
export type { RunCall } from './runner.ts';

export interface Task {
  /** The id of the task: `task_` and 32 hexadecimal digits. */
  readonly id: string;
  /** The context id, from the client or made by the gateway. */
  readonly contextId: string;
  readonly skill: string;
  /** The website of the task. `null` when the task has none, or when the reader has no access to the website. */
  readonly websiteId: string | null;
  readonly state: TaskState;
  /** The time of the last change of state, in whole milliseconds of PostgreSQL's clock. */
  readonly stateAt: Date;
  /** The task expires 15 minutes after acceptance, or earlier if the sender's token or credential ends earlier. */
  readonly expiresAt: Date;
  /** Why the task has failed: a failure code, `artifact_too_large` or `interrupted`. `null` if it has not failed. */
  readonly failure: string | null;
  /** The result of a completed task, if the reader asked for the result and has the same rights as the sender. */
  readonly artifact: unknown;
}

export interface NewTask {
  /** The id of the task, made by `newTaskId`. A request that is repeated under another authority keeps the id. */
  readonly id: string;
  /** The id of the request that sent the task. The log shows this id for each call of the task. */
  readonly requestId: string;
  readonly bearer: string;
  readonly caller: Caller;
  readonly messageId: string;
  readonly contextId: string | undefined;
  readonly skill: Skill;
  readonly input: Readonly<Record<string, unknown>>;
  /** True when the caller waits until the task ends, for at most `patience`. */
  readonly wait: boolean;
  /** Ends the wait. The task itself continues. */
  readonly signal: AbortSignal;
}

export interface TaskPage {
  readonly tasks: Task[];
  /** The token of the next page. Empty on the last page. */
  readonly nextPageToken: string;
  readonly totalSize: number;
}

/** The messageId was already used with another skill, with other arguments or in another context. */
export class MessageIdConflict extends Error {
  override readonly name = 'MessageIdConflict';
}

/**
 * The operations on A2A tasks. The caller keeps every proof. Methods throw only a Failure, a MessageIdConflict, or a
 * StaleAuthority for an outdated authority.
 */
export interface Tasks {
  /**
   * Returns the message's task, or accepts a new one for one more unit. Throws MessageIdConflict, `task_limit` or
   * `quota_exceeded`. The last two leave the messageId unused.
   */
  send(request: NewTask): Promise<Task>;
  /** Returns a task, or `undefined` if the credential has no such task or it has expired. */
  get(caller: Caller, id: string): Promise<Task | undefined>;
  /** Lists the credential's unexpired tasks, latest change first. Throws `invalid_cursor` for another list's token. */
  list(caller: Caller, query: TaskQuery): Promise<TaskPage>;
  /** Cancels a task. `canceled` is false when the task had already ended. */
  cancel(caller: Caller, id: string): Promise<{ task: Task; canceled: boolean } | undefined>;
  /** Accepts no more tasks and ends all waits. Running tasks have three seconds to end. All other tasks end as lost. */
  stop(): Promise<void>;
}

export interface TasksOptions {
  readonly db: Database;
  readonly batches?: BatchesOptions['batches'];
  readonly corridor: Corridor;
  readonly onError: (error: unknown) => void;
  /** Called for each call that a task makes. The request that sent the task may have ended earlier. */
  readonly onCall?: (call: RunCall) => void;
  /** Milliseconds that a caller waits for its task to end. Default: PATIENCE. */
  readonly patience?: number;
  readonly held?: number;
}

/** Milliseconds that a caller waits for its task to end. The agent card publishes this value. */
export const PATIENCE = 30_000;
/** A new task costs this many quota units, for the read that it makes. */
const COST = 1;

export function openTasks(options: TasksOptions): Tasks {
  const { db, corridor, onError, patience = PATIENCE } = options;
  const owner = randomBytes(16).toString('hex');
  const batches = new Batches({ db, batches: options.batches ?? { begins: db, ends: db }, onError });
  const runner = new Runner({ ...options, owner, batches });
  const watch = new Watch(db);
  const sweeper = startSweeper(db, onError);
  let stopping = false;
  const secret = openLedgerKey(db);

  /** Accepts a task. `paid`: the units that were charged in addition to the admission of the request. */
  const accept = async (request: NewTask): Promise<{ accepted: Accepted; paid: number }> => {
    const { id, requestId, caller, skill, input, bearer, wait } = request;
    const { authority } = caller;
    const key = await secret();
    const message = hmac(key, `message ${authority.credentialId} ${request.messageId}`);
    const fingerprint = hmac(key, stringify({ skill: skill.name, input }) ?? '');
    let paid: number;
    try {
      if (!runner.room(authority.appId)) throw new Failure('service_unavailable', { retryAfter: 1 });
      paid = await corridor.charge(authority, COST);
    } catch (error) {
      // If the message was sent before, find its task. This task needs no memory and no quota.
      const found = await caller.take(findTask({ db, authority }, { message, fingerprint }));
      if (!found) throw error;
      return { accepted: found, paid: 0 };
    }
    let accepted: Accepted | undefined;
    try {
      // A caller that does not wait gets `submitted`. So its task must not start with its acceptance.
      const starts = wait && runner.slots(authority.appId) > 0;
      const idempotencyKey = `a2a-${message.toString('hex')}`;
      const work = { id, requestId, bearer, authority, skill, input, idempotencyKey, starts };
      accepted = await runner.accept(work, () =>
        caller.take(
          batches.accept(authority, {
            id,
            message,
            fingerprint,
            grants: grantsOf(authority),
            contextId: request.contextId ?? `ctx_${randomHex()}`,
            skill: skill.name,
            websiteId: websiteOf(skill, input),
            owner,
            lostAs: writes(skill) ? 'outcome_unknown' : 'interrupted',
            start: starts,
          }),
        ),
      );
    } finally {
      if (accepted?.verdict !== 'new') corridor.refund(authority, paid);
    }
    return { accepted, paid };
  };

  const writes = ({ tools }: Skill): boolean =>
    tools.some((name) => corridor.registry.get(name)?.idempotency === 'required');

  /** Waits until a task has ended, on any replica. Returns the task as the caller may see it then. */
  const ended = async ({ bearer, caller, signal }: NewTask, first: TaskRow): Promise<Task> => {
    if (!isOpen(first.state)) return viewOf(first, caller.authority);
    let end: EndedTask;
    const here = runner.ended(first.id)?.then((value) => {
      end = value;
    });
    const elsewhere = watch.watch(first.id);
    const told = here ? [here, elsewhere.ended] : [elsewhere.ended];
    await pauseUpTo(patience, told, signal);
    elsewhere.leave();
    // Storing the result has proved the token of the task. So a caller with this token needs no new proof.
    if (end?.row.state === 'completed' && Buffer.compare(end.authority.digest, caller.authority.digest) === 0) {
      return viewOf(end.row, end.authority, end.body);
    }
    const authority = await corridor.prove(bearer, 'a2a');
    const row = end ? undefined : await new Caller(authority).take(readTask({ db, authority }, first.id));
    // An expired task has no row, but its own run may still be about to end in this process.
    if (!end && !row && here) await pauseUpTo(patience, [here], signal);
    if (end) return viewOf(end.row, authority, end.body);
    if (!row) throw new Failure('service_unavailable', { retryAfter: 1 });
    return viewOf(row, authority);
  };

  const list = async (caller: Caller, query: TaskQuery): Promise<TaskPage> => {
    const { authority } = caller;
    const { contextId, states, statusAfter, pageToken } = query;
    const key = await secret();
    const name = JSON.stringify([authority.credentialId, contextId, states, statusAfter]);
    const after = pageToken === undefined ? undefined : pageStartOf(key, name, pageToken);
    const { tasks, more, total } = await caller.take(listTasks({ db, authority }, query, after));
    const last = more ? tasks.at(-1) : undefined;
    return {
      tasks: tasks.map((row) => viewOf(row, authority)),
      nextPageToken: last ? pageTokenOf(key, name, { at: last.stateAt.getTime(), id: last.id }) : '',
      totalSize: total,
    };
  };

  return {
    send: (request) =>
      failing(async () => {
        if (stopping) throw new Failure('service_unavailable', { retryAfter: 1 });
        const { accepted, paid } = await accept(request);
        if (accepted.verdict === 'conflict') throw new MessageIdConflict('the messageId was used for another task');
        if (accepted.verdict === 'full') throw new Failure('task_limit', { retryAfter: accepted.retryAfter });
        if (request.contextId !== undefined && request.contextId !== accepted.task.contextId)
          throw new MessageIdConflict('the messageId was used in another context');
        const { authority } = request.caller;
        if (!request.wait) return viewOf(accepted.task, authority);
        return ended(request, accepted.task).catch((error: unknown) => {
          // A call without a valid authority costs nothing.
          if (error instanceof Failure && error.status === 401) corridor.refund(authority, paid);
          throw error;
        });
      }),
    get: (caller, id) =>
      failing(async () => {
        const { authority } = caller;
        const row = await caller.take(readTask({ db, authority }, askable(id)));
        return row && viewOf(row, authority);
      }),
    list: (caller, query) => failing(() => list(caller, query)),
    cancel: (caller, id) =>
      failing(async () => {
        const { authority } = caller;
        const found = await caller.take(cancelTask({ db, authority }, askable(id)));
        if (found) runner.drop(id);
        return found && { task: viewOf(found.task, authority), canceled: found.canceled };
      }),
    async stop() {
      stopping = true;
      watch.stop();
      await Promise.all([runner.stop(), sweeper.stop()]);
    },
  };
}

/** 122 random bits as 32 digits. Node buffers random bytes for UUIDs, so this is faster than randomBytes. */
const randomHex = (): string => randomUUID().replaceAll('-', '');

export const newTaskId = (): string => `task_${randomHex()}`;

const hmac = (key: Uint8Array, text: string): Buffer => createHmac('sha256', key).update(text).digest();

const isOpen = (state: TaskState): boolean => state === 'submitted' || state === 'working';

async function failing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof MessageIdConflict || error instanceof StaleAuthority ? error : asFailure(error);
  }
}

/** Replaces a malformed id by an id that does not exist. Both look-ups then take the same time. */
const askable = (id: string): string => (/^task_[a-f0-9]{32}$/.test(id) ? id : '');

const grantsKnown = new WeakMap<Authority, Buffer>();

/** SHA-256 of everything that an authority may see. The digest does not depend on the token or the revision. */
function grantsOf(authority: Authority): Buffer {
  const known = grantsKnown.get(authority);
  if (known) return known;
  const { scopes, dataAccess, websites, restrictions } = authority;
  const grants = {
    scopes: [...scopes].sort(),
    dataAccess: [...dataAccess].sort(),
    websites: [...websites.keys()].sort(),
  };
  const limits = Object.entries(restrictions).map(([dimension, ids]) => [dimension, [...ids].sort()]);
  const text = stringify({ ...grants, restrictions: Object.fromEntries(limits) }) ?? '';
  const digest = createHash('sha256').update(text).digest();
  grantsKnown.set(authority, digest);
  return digest;
}

/** The task as an authority may see it. If `row` has no artifact, the artifact is `body`, the result of the run. */
function viewOf(row: TaskRow, authority: Authority, body: unknown = row.artifact): Task {
  const { id, contextId, skill, state, stateAt, expiresAt, failure, grants } = row;
  // Another token of the same credential may have no access to the website of the task.
  const websiteId = row.websiteId !== null && authority.websites.has(row.websiteId) ? row.websiteId : null;
  const readable = state === 'completed' && body !== null && grantsOf(authority).equals(grants);
  return { id, contextId, skill, websiteId, state, stateAt, expiresAt, failure, artifact: readable ? body : undefined };
}

/** The website of a task: the input's `website_id`, or else the website of another id in the input. */
function websiteOf(skill: Skill, input: Readonly<Record<string, unknown>>): string | null {
  for (const [name, schema] of Object.entries(skill.input.shape)) {
    const value = input[name];
    if (typeof value !== 'string') continue;
    if (name === 'website_id') return value;
    // The cast is needed, because zod types the members of an object only with its core interface.
    if (idKind(schema as Parameters<typeof idKind>[0])) return parseId(value)?.website ?? null;
  }
  return null;
}

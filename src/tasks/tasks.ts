import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { stringify } from 'safe-stable-stringify';
import { Failure, refusesCredential } from '../core/failures.ts';
import type { Skill } from '../core/skill.ts';
import { pauseUpTo } from '../flow/pause.ts';
import { asFailure, Caller } from '../gateway/call.ts';
import { StaleAuthority } from '../store/calls/guard.ts';
import { openLedgerKey } from '../store/calls/ledger.ts';
import {
  type Accepted,
  cancelTask,
  continueTask,
  findTask,
  listTasks,
  readTask,
  type TaskQuery,
  type TaskRow,
  type Unable,
} from '../store/tasks/tasks.ts';
import { Batches, type BatchesOptions } from './batches.ts';
import { Follow, type Following } from './follow.ts';
import { pageStartOf, pageTokenOf } from './page-token.ts';
import { type EndedTask, Runner, type RunnerOptions, type Work } from './runner.ts';
import { startSweeper } from './sweeper.ts';
import { grantsOf, isOpen, type Task, viewOf, websiteOf } from './view.ts';
import { Watch } from './watch.ts';

export type { TaskQuery, TaskState } from '../store/tasks/tasks.ts';
export type { RunCall } from './runner.ts';
export type { Task } from './view.ts';

export interface NewTask extends Pick<Work, 'id' | 'requestId' | 'origin' | 'bearer' | 'from' | 'input'> {
  /** Gets the units that the task costs beside the admission of its request. */
  readonly charged?: ((units: number) => void) | undefined;
  readonly caller: Caller;
  readonly messageId: string;
  readonly contextId: string | undefined;
  /** The task that the message continues. Absent: the message starts a task. */
  readonly taskId?: string | undefined;
  /** Absent: the message names no skill. Then the task waits for one in the state `input_required`. */
  readonly skill: Skill | undefined;
  /** The text of the message, for the history of the task. */
  readonly text?: string | undefined;
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

/** The task that the message names cannot take the message. */
export class TaskUnable extends Error {
  override readonly name = 'TaskUnable';

  constructor(readonly why: Unable) {
    super(`the task is ${why}`);
  }
}

/**
 * The operations on A2A tasks. The caller keeps every proof. Methods throw only a Failure, a MessageIdConflict, a
 * TaskUnable, or a StaleAuthority for an outdated authority.
 */
export interface Tasks {
  /**
   * Returns the message's task, or accepts it. A message with a skill costs one more unit. Throws MessageIdConflict,
   * TaskUnable, `task_limit` or `quota_exceeded`. The last two leave the messageId unused.
   */
  send(request: NewTask): Promise<Task>;
  /** Returns a task, or `undefined` if the credential has no such task or it has expired. */
  get(caller: Caller, id: string): Promise<Task | undefined>;
  /** Lists the credential's unexpired tasks, latest change first. Throws `invalid_cursor` for another list's token. */
  list(caller: Caller, query: TaskQuery): Promise<TaskPage>;
  /** Gives the task at each change of its state, until it has ended, waits for input or expires. Throws a 401. */
  follow(following: Following, first: Task): AsyncGenerator<Task, void, undefined>;
  /** The number of tasks that are followed now. */
  readonly followed: number;
  /** Cancels a task. `canceled` is false when the task had already ended. */
  cancel(caller: Caller, id: string): Promise<{ task: Task; canceled: boolean } | undefined>;
  /**
   * Accepts no more tasks. Running tasks have three seconds to end, and their callers wait for it. All other waits end
   * now, and all other tasks end as lost.
   */
  stop(): Promise<void>;
}

export interface TasksOptions extends Omit<RunnerOptions, 'batches' | 'owner' | 'onEnd'> {
  readonly batches?: BatchesOptions['batches'];
  /** Milliseconds that a caller waits for its task to end. Default: PATIENCE. */
  readonly patience?: number;
}

/** Milliseconds that a caller waits for its task to end. The agent card publishes this value. */
export const PATIENCE = 30_000;
/** A new task costs this many quota units, for the read that it makes. */
const COST = 1;

export function openTasks(options: TasksOptions): Tasks {
  const { db, corridor, onError, patience = PATIENCE } = options;
  const owner = randomBytes(16).toString('hex');
  const batches = new Batches({ db, batches: options.batches ?? { begins: db, ends: db }, onError });
  const watch = new Watch(db);
  const runner = new Runner({ ...options, owner, batches, onEnd: (id) => watch.ended(id) });
  const follow = new Follow({ db, corridor, watch });
  const sweeper = startSweeper(db, onError);
  let stopping = false;
  const secret = openLedgerKey(db);

  const turns = new Turns();

  /** Accepts a task or takes its further message. `paid`: the units that the request has paid beside its admission. */
  const accept = async (request: NewTask): Promise<{ accepted: Accepted; paid: number }> => {
    const { id: fresh, requestId, origin, caller, taskId, skill, input, bearer, from, wait } = request;
    const { authority } = caller;
    const id = taskId === undefined ? fresh : askable(taskId);
    const key = await secret();
    const message = hmac(key, `message ${authority.credentialId} ${request.messageId}`);
    const text = request.text === undefined ? undefined : { id: request.messageId, text: request.text };
    const fingerprint = hmac(key, stringify(skill ? { skill: skill.name, input } : { text: request.text }) ?? '');
    const store = (start: boolean): Promise<Accepted> => {
      const task = {
        id,
        message,
        fingerprint,
        grants: grantsOf(authority),
        skill: skill?.name ?? null,
        text,
        websiteId: skill ? websiteOf(skill, input) : null,
        owner,
        lostAs: skill && writes(skill) ? ('outcome_unknown' as const) : ('interrupted' as const), // narrow literal types
        start,
      };
      if (taskId !== undefined)
        return caller.take(continueTask({ db, authority }, { ...task, contextId: request.contextId }));
      return caller.take(batches.accept(authority, { ...task, contextId: request.contextId ?? `ctx_${randomHex()}` }));
    };
    if (!skill) return { accepted: await store(false), paid: 0 };
    let paid: number;
    try {
      if (!runner.room(authority.appId)) throw new Failure('service_unavailable', { retryAfter: 1 });
      paid = await corridor.charge(authority, COST);
    } catch (error) {
      // If the message was sent before, find its task. This task needs no memory and no quota.
      const found = await caller.take(findTask({ db, authority }, { message, fingerprint }, taskId && id));
      if (!found) throw error;
      return { accepted: found, paid: 0 };
    }
    let accepted: Accepted | undefined;
    const held = runner.ended(id) !== undefined;
    try {
      // A caller that does not wait gets `submitted`. So its task must not start with its acceptance.
      const starts = wait && runner.slots(authority.appId) > 0;
      const idempotencyKey = `a2a-${message.toString('hex')}`;
      const known = taskId !== undefined;
      const work = { id, requestId, origin, bearer, from, authority, skill, input, idempotencyKey, starts, known };
      const begin = (): Promise<Accepted> => runner.accept(work, () => store(starts));
      accepted = await (taskId === undefined ? begin() : turns.take(id, begin));
    } finally {
      if (accepted?.verdict !== 'new' || held) {
        corridor.refund(authority, paid);
        paid = 0;
      } else request.charged?.(paid);
    }
    return { accepted, paid };
  };

  const writes = ({ tools }: Skill): boolean =>
    tools.some((name) => corridor.registry.get(name)?.idempotency === 'required');

  /** Waits until a task has ended, on any replica. Returns the task as the caller may see it then. */
  const ended = async ({ bearer, from, caller, signal }: NewTask, first: TaskRow): Promise<Task> => {
    if (!isOpen(first.state)) return viewOf(first, caller.authority);
    let end: EndedTask;
    const here = runner.ended(first.id)?.then((value) => {
      end = value;
    });
    const elsewhere = watch.watch(first.id, 'open');
    const told = here ? [here, elsewhere.changed] : [elsewhere.changed];
    await pauseUpTo(patience, told, signal);
    elsewhere.leave();
    // While the process stops, a task that runs here has some seconds left to end.
    if (here && watch.stopped && runner.runs(first.id)) await pauseUpTo(patience, [here], signal);
    // Storing the result has proved the token of the task. So a caller with this token needs no new proof.
    if (end?.row.state === 'completed' && Buffer.compare(end.authority.digest, caller.authority.digest) === 0) {
      return viewOf({ ...end.row, history: first.history }, end.authority, end.body);
    }
    const authority = await corridor.prove(bearer, 'a2a', from);
    const row = end ? undefined : await new Caller(authority).take(readTask({ db, authority }, first.id));
    // An expired task has no row, but its own run may still be about to end in this process.
    if (!end && !row && here) await pauseUpTo(patience, [here], signal);
    if (end) return viewOf({ ...end.row, history: first.history }, authority, end.body);
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
        if (!('task' in accepted)) throw new TaskUnable(accepted.verdict);
        if (request.contextId !== undefined && request.contextId !== accepted.task.contextId)
          throw new MessageIdConflict('the messageId was used in another context');
        const { authority } = request.caller;
        if (!request.wait) return viewOf(accepted.task, authority);
        return ended(request, accepted.task).catch((error: unknown) => {
          // A call without a valid authority costs nothing.
          if (error instanceof Failure && refusesCredential(error)) corridor.refund(authority, paid);
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
    follow: (following, first) => follow.follow(following, first),
    get followed() {
      return follow.size;
    },
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

async function failing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const own = [MessageIdConflict, TaskUnable, StaleAuthority].some((kind) => error instanceof kind);
    throw own ? error : asFailure(error);
  }
}

/** Replaces a malformed id by an id that does not exist. Both look-ups then take the same time. */
const askable = (id: string): string => (/^task_[a-f0-9]{32}$/.test(id) ? id : '');

/** Messages that continue the same task take turns, because the runner knows a task only by its id. */
class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  async take<T>(id: string, work: () => Promise<T>): Promise<T> {
    for (let last = this.#last.get(id); last; last = this.#last.get(id)) await last;
    const running = work();
    const settled = running.then(
      () => undefined,
      () => undefined,
    );
    this.#last.set(id, settled);
    return running.finally(() => this.#last.delete(id));
  }
}

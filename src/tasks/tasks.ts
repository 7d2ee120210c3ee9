import { createHash, createHmac, randomBytes, randomUUID } from 'node:crypto';
import { stringify } from 'safe-stable-stringify';
import type { Authority } from '../core/authority.ts';
import { Failure } from '../core/failures.ts';
import { idKind, parseId } from '../core/ids.ts';
import type { Skill } from '../core/skill.ts';
import { asFailure, type Corridor, type Session } from '../gateway/call.ts';
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
import { pageTokenOf, placeOf } from './page-token.ts';
import { pauseUpTo } from './pause.ts';
import { type Ended, type RunCall, Runner } from './runner.ts';
import { startSweeper } from './sweeper.ts';
import { Watch } from './watch.ts';

export type { TaskQuery, TaskState } from '../store/tasks/tasks.ts';
export type { RunCall } from './runner.ts';

/** A task as its owner sees it (decisions, section 20). */
export interface Task {
  /** `task_` and 32 hexadecimal digits. */
  readonly id: string;
  /** The client's own, or made by us. */
  readonly contextId: string;
  readonly skill: string;
  /** `null` also for an authority that does not hold it. */
  readonly websiteId: string | null;
  readonly state: TaskState;
  /** Of PostgreSQL's clock, in milliseconds. */
  readonly stateAt: Date;
  /** 15 minutes after its acceptance, or when its sender's token or credential ends. */
  readonly expiresAt: Date;
  /** A code only: of the table of failures, `artifact_too_large` or `interrupted`; `null` unless it has failed. */
  readonly failure: string | null;
  /** The REST body; only of a completed task, where asked for, and for an authority that holds what its sender held. */
  readonly artifact: unknown;
}

export interface NewTask {
  /** Of `newTaskId`, and the same where the request is begun again under another authority. */
  readonly id: string;
  /** Of the request that sends it: the calls of its run are told under this id. */
  readonly requestId: string;
  readonly bearer: string;
  readonly session: Session;
  readonly messageId: string;
  readonly contextId: string | undefined;
  readonly skill: Skill;
  /** What the skill's input schema has accepted. */
  readonly input: Readonly<Record<string, unknown>>;
  /** Whether to wait for its end, as long as `patience`. */
  readonly wait: boolean;
  /** Ends the wait, not the task. */
  readonly signal: AbortSignal;
}

export interface TaskPage {
  readonly tasks: Task[];
  /** Empty at the end. */
  readonly nextPageToken: string;
  readonly totalSize: number;
}

/** A messageId that was sent before with another skill or other arguments. */
export class MessageIdConflict extends Error {
  override readonly name = 'MessageIdConflict';
}

/**
 * The A2A task ledger. Every statement proves the session that it is given. Everything thrown is a Failure, but for
 * MessageIdConflict and the StaleAuthority of a wrong guess.
 */
export interface Tasks {
  /**
   * The task of the same message, or a new one, which costs one unit beside its admission. Throws `task_limit` or
   * `quota_exceeded` with seconds to wait (neither uses the message up) and MessageIdConflict.
   */
  send(request: NewTask): Promise<Task>;
  /** The credential's unexpired task. */
  get(session: Session, id: string): Promise<Task | undefined>;
  /** The credential's unexpired tasks, the latest state first. Throws `invalid_cursor` for a foreign page token. */
  list(session: Session, query: TaskQuery): Promise<TaskPage>;
  /** `canceled` false: it had ended before. */
  cancel(session: Session, id: string): Promise<{ task: Task; canceled: boolean } | undefined>;
  /** Accepts nothing more, ends all waits, gives tasks under way three seconds and ends the rest as lost. */
  stop(): Promise<void>;
}

export interface TasksOptions {
  readonly db: Database;
  /** Where batches run; `db` where absent. */
  readonly batches?: BatchesOptions['batches'];
  readonly corridor: Corridor;
  readonly onError: (error: unknown) => void;
  /** Told of every call of a run, which no request may be there to tell of. */
  readonly onCall?: (call: RunCall) => void;
  /** Milliseconds that a caller waits for the end of its task; PATIENCE where absent. */
  readonly patience?: number;
  /** Tasks whose arguments the process keeps in memory; 1,000 where absent. Of one app half of them. */
  readonly held?: number;
}

/** Milliseconds, as the card says. */
export const PATIENCE = 30_000;
/** Units of a new task's underlying read (contract, Limits). */
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

  /** `paid`: units beside its admission. */
  const accept = async (request: NewTask): Promise<{ accepted: Accepted; paid: number }> => {
    const { id, requestId, session, skill, input, bearer, wait } = request;
    const { authority } = session;
    const key = await secret();
    const message = hmac(key, `message ${authority.credentialId} ${request.messageId}`);
    const fingerprint = hmac(key, stringify({ skill: skill.name, input }) ?? '');
    let paid: number;
    try {
      if (!runner.room(authority.appId)) throw new Failure('service_unavailable', { retryAfter: 1 });
      paid = await corridor.charge(authority, COST);
    } catch (error) {
      // A message that was accepted before needs neither.
      const found = await findTask(db, session, { message, fingerprint });
      if (!found) throw error;
      return { accepted: found, paid: 0 };
    }
    let accepted: Accepted | undefined;
    try {
      // Without a wait the answer says `submitted`, and it is true.
      const starts = wait && runner.places(authority.appId) > 0;
      const idempotencyKey = `a2a-${message.toString('hex')}`;
      const work = { id, requestId, bearer, authority, skill, input, idempotencyKey, starts };
      accepted = await runner.accept(work, () =>
        batches.accept(session, {
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
      );
    } finally {
      if (accepted?.verdict !== 'new') corridor.refund(authority, paid);
    }
    return { accepted, paid };
  };

  const writes = ({ tools }: Skill): boolean =>
    tools.some((name) => corridor.registry.get(name)?.idempotency === 'required');

  /** Waits until a task has ended, here or on another replica, and gives it as it is then to whom its caller is then. */
  const ended = async ({ bearer, session, signal }: NewTask, first: TaskRow): Promise<Task> => {
    if (!isOpen(first.state)) return viewOf(first, session.authority);
    let end: Ended;
    const here = runner.ended(first.id)?.then((value) => {
      end = value;
    });
    const elsewhere = watch.watch(first.id);
    const told = here ? [here, elsewhere.ended] : [elsewhere.ended];
    await pauseUpTo(patience, told, signal);
    elsewhere.leave();
    // What publishes a result proves the token that it was accepted with; of another token it says nothing.
    if (end?.row.state === 'completed' && Buffer.compare(end.authority.digest, session.authority.digest) === 0) {
      return viewOf(end.row, end.authority, end.body);
    }
    const authority = await corridor.prove(bearer, 'a2a');
    if (end) return viewOf(end.row, authority, end.body);
    const row = await readTask(db, { authority, verified: true }, first.id);
    if (!row) throw new Failure('service_unavailable', { retryAfter: 1 });
    return viewOf(row, authority);
  };

  const list = async (session: Session, query: TaskQuery): Promise<TaskPage> => {
    const { authority } = session;
    const { contextId, states, statusAfter, pageToken } = query;
    const key = await secret();
    const name = JSON.stringify([authority.credentialId, contextId, states, statusAfter]);
    const after = pageToken === undefined ? undefined : placeOf(key, name, pageToken);
    const { tasks, more, total } = await listTasks(db, session, query, after);
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
        const { authority } = request.session;
        if (!request.wait) return viewOf(accepted.task, authority);
        return ended(request, accepted.task).catch((error: unknown) => {
          // Who turns out to have no authority pays nothing, as everywhere.
          if (error instanceof Failure && error.status === 401) corridor.refund(authority, paid);
          throw error;
        });
      }),
    get: (session, id) =>
      failing(async () => {
        const row = await readTask(db, session, askable(id));
        return row && viewOf(row, session.authority);
      }),
    list: (session, query) => failing(() => list(session, query)),
    cancel: (session, id) =>
      failing(async () => {
        const found = await cancelTask(db, session, askable(id));
        if (found) runner.drop(id);
        return found && { task: viewOf(found.task, session.authority), canceled: found.canceled };
      }),
    async stop() {
      stopping = true;
      watch.stop();
      await Promise.all([runner.stop(), sweeper.stop()]);
    },
  };
}

/** 122 random bits as 32 digits; UUIDs come out of a supply, where randomBytes asks the system each time. */
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

/** What cannot be an id is asked for all the same, so that it takes as long as one that does not exist. */
const askable = (id: string): string => (/^task_[a-f0-9]{32}$/.test(id) ? id : '');

const grantsKnown = new WeakMap<Authority, Buffer>();

/** SHA-256 of what an authority may see, whatever token or revision it comes by. */
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

/** `body`: what the run gave, where its row has come back without the artifact. */
function viewOf(row: TaskRow, authority: Authority, body: unknown = row.artifact): Task {
  const { id, contextId, skill, state, stateAt, expiresAt, failure, grants } = row;
  // Another token of the credential may not know of the website.
  const websiteId = row.websiteId !== null && authority.websites.has(row.websiteId) ? row.websiteId : null;
  const readable = state === 'completed' && body !== null && grantsOf(authority).equals(grants);
  return { id, contextId, skill, websiteId, state, stateAt, expiresAt, failure, artifact: readable ? body : undefined };
}

/** The website that a task is about: given, or the owner that an id of the input names. */
function websiteOf(skill: Skill, input: Readonly<Record<string, unknown>>): string | null {
  for (const [name, schema] of Object.entries(skill.input.shape)) {
    const value = input[name];
    if (typeof value !== 'string') continue;
    if (name === 'website_id') return value;
    // zod types the members of an object by its core interface only.
    if (idKind(schema as Parameters<typeof idKind>[0])) return parseId(value)?.website ?? null;
  }
  return null;
}

import { createHash, createHmac, randomBytes } from 'node:crypto';
import { stringify } from 'safe-stable-stringify';
import type { Authority } from '../core/authority.ts';
import { Failure } from '../core/failures.ts';
import { idKind, parseId } from '../core/ids.ts';
import type { Skill } from '../core/skill.ts';
import { asFailure, type Corridor } from '../gateway/call.ts';
import { ledgerKey } from '../store/ledger.ts';
import type { Database } from '../store/postgres.ts';
import {
  type Accepted,
  type Accepting,
  acceptTask,
  cancelTask,
  findTask,
  listTasks,
  readTask,
  type TaskQuery,
  type TaskRow,
  type TaskState,
} from '../store/tasks.ts';
import { pageTokenOf, placeOf } from './page-token.ts';
import { pauseUpTo } from './pause.ts';
import { type Ended, Runner } from './runner.ts';
import { startSweeper } from './sweeper.ts';
import { Watch } from './watch.ts';

export type { TaskQuery, TaskState } from '../store/tasks.ts';

/** A task as its owner sees it (decisions, section 20). */
export interface Task {
  /** `task_` and 32 hexadecimal digits. */
  readonly id: string;
  /** The client's own, or made by us. */
  readonly contextId: string;
  readonly skill: string;
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
  readonly bearer: string;
  readonly authority: Authority;
  readonly messageId: string;
  readonly contextId: string | undefined;
  readonly skill: Skill;
  /** What the skill's input schema has accepted. */
  readonly input: Readonly<Record<string, unknown>>;
  /** Whether to wait for its end, 30 s at most. */
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

/** The A2A task ledger. Everything thrown is a Failure, but for MessageIdConflict. */
export interface Tasks {
  /**
   * The task of the same message, or a new one, which costs one unit beside its admission. Throws `task_limit` or
   * `quota_exceeded` with seconds to wait (neither uses the message up) and MessageIdConflict.
   */
  send(request: NewTask): Promise<Task>;
  /** The credential's unexpired task. */
  get(authority: Authority, id: string): Promise<Task | undefined>;
  /** The credential's unexpired tasks, the latest state first. Throws `invalid_cursor` for a foreign page token. */
  list(authority: Authority, query: TaskQuery): Promise<TaskPage>;
  /** `canceled` false: it had ended before. */
  cancel(authority: Authority, id: string): Promise<{ task: Task; canceled: boolean } | undefined>;
  /** Accepts nothing more, ends all waits, gives tasks under way three seconds and ends the rest as interrupted. */
  stop(): Promise<void>;
}

export interface TasksOptions {
  readonly db: Database;
  readonly corridor: Corridor;
  readonly onError: (error: unknown) => void;
}

/** Milliseconds that a caller waits for the end of its task. */
const PATIENCE = 30_000;
/** How often an acceptance is begun again because the authority changed under it. */
const ATTEMPTS = 4;
/** Units of a new task's underlying read (contract, Limits). */
const COST = 1;

export function openTasks(options: TasksOptions): Tasks {
  const { db, corridor, onError } = options;
  const owner = randomBytes(16).toString('hex');
  const runner = new Runner({ ...options, owner });
  const watch = new Watch(db);
  const sweeper = startSweeper(db, onError);
  let stopping = false;
  let remembered: Promise<Uint8Array> | undefined;

  const secret = (): Promise<Uint8Array> => {
    remembered ??= ledgerKey(db).catch((error: unknown) => {
      remembered = undefined;
      throw error;
    });
    return remembered;
  };

  const accept = async (request: NewTask): Promise<{ accepted: Accepted; authority: Authority }> => {
    const { skill, input, bearer, wait } = request;
    let { authority } = request;
    const key = await secret();
    const message = hmac(key, `message ${authority.credentialId} ${request.messageId}`);
    const known = {
      id: `task_${randomBytes(16).toString('hex')}`,
      message,
      fingerprint: hmac(key, stringify({ skill: skill.name, input }) ?? ''),
      contextId: request.contextId ?? `ctx_${randomBytes(16).toString('hex')}`,
      skill: skill.name,
      websiteId: websiteOf(skill, input),
      owner,
    } satisfies Partial<Accepting>;
    const before = await charged(authority, known);
    if (before) return { accepted: before, authority };
    let accepted: Accepted = { verdict: 'stale' };
    try {
      for (let attempt = 1; accepted.verdict === 'stale'; attempt++) {
        // Without a wait the answer says `submitted`, and it is true.
        const start = wait && runner.seats > 0;
        accepted = await acceptTask(db, authority, { ...known, grants: grantsOf(authority), start });
        if (accepted.verdict !== 'stale') break;
        if (attempt === ATTEMPTS) throw new Failure('authority_unavailable', { retryAfter: 1 });
        authority = await corridor.prove(bearer, 'a2a');
      }
    } finally {
      if (accepted.verdict !== 'new') corridor.refund(authority, COST);
    }
    if (accepted.verdict === 'new') {
      const work = { id: known.id, bearer, authority, skill, input, idempotencyKey: `a2a-${message.toString('hex')}` };
      runner.add(work, accepted.task.state === 'working');
    }
    return { accepted, authority };
  };

  /** Pays for a new task; where that cannot be paid, a message that was accepted before costs nothing. */
  const charged = async (
    authority: Authority,
    known: Pick<Accepting, 'message' | 'fingerprint'>,
  ): Promise<Accepted | undefined> => {
    try {
      await corridor.charge(authority, COST);
      return undefined;
    } catch (error) {
      const found = await findTask(db, known);
      if (!found) throw error;
      return found;
    }
  };

  /** Waits until a task has ended, here or on another replica, and gives it as it is then. */
  const ended = async (request: NewTask, authority: Authority, first: TaskRow): Promise<Task> => {
    if (!isOpen(first.state)) return viewOf(first, authority);
    let end: Ended;
    const here = runner.ended(first.id)?.then((value) => {
      end = value;
    });
    const elsewhere = watch.watch(first.id);
    const told = here ? [here, elsewhere.ended] : [elsewhere.ended];
    await pauseUpTo(PATIENCE, told, request.signal);
    elsewhere.leave();
    if (end) return viewOf(end.row, authority, end.body);
    const row = await readTask(db, authority, first.id);
    if (row) return viewOf(row, authority);
    // It has expired under the wait, most likely with the sender's authority.
    await corridor.prove(request.bearer, 'a2a');
    return viewOf(first, authority);
  };

  const list = async (authority: Authority, query: TaskQuery): Promise<TaskPage> => {
    const { contextId, states, statusAfter, pageSize, pageToken } = query;
    const key = await secret();
    const name = JSON.stringify([authority.credentialId, contextId, states, statusAfter]);
    const after = pageToken === undefined ? undefined : placeOf(key, name, pageToken);
    const { tasks, total } = await listTasks(db, authority, query, after);
    const page = tasks.slice(0, pageSize);
    const last = tasks.length > pageSize ? page.at(-1) : undefined;
    return {
      tasks: page.map((row) => viewOf(row, authority)),
      nextPageToken: last ? pageTokenOf(key, name, { at: last.stateAt.getTime(), id: last.id }) : '',
      totalSize: total,
    };
  };

  return {
    send: (request) =>
      failing(async () => {
        if (stopping || !runner.room) throw new Failure('service_unavailable', { retryAfter: 1 });
        const { accepted, authority } = await accept(request);
        if (accepted.verdict === 'conflict') throw new MessageIdConflict('the messageId was used for another task');
        if (accepted.verdict === 'full') throw new Failure('task_limit', { retryAfter: accepted.retryAfter });
        if (accepted.verdict === 'stale') throw new Failure('authority_unavailable', { retryAfter: 1 });
        return request.wait ? ended(request, authority, accepted.task) : viewOf(accepted.task, authority);
      }),
    get: (authority, id) =>
      failing(async () => {
        const row = await readTask(db, authority, askable(id));
        return row && viewOf(row, authority);
      }),
    list: (authority, query) => failing(() => list(authority, query)),
    cancel: (authority, id) =>
      failing(async () => {
        const found = await cancelTask(db, authority, askable(id));
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

const hmac = (key: Uint8Array, text: string): Buffer => createHmac('sha256', key).update(text).digest();

const isOpen = (state: TaskState): boolean => state === 'submitted' || state === 'working';

async function failing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof MessageIdConflict ? error : asFailure(error);
  }
}

/** What cannot be an id is asked for all the same, so that it takes as long as one that does not exist. */
const askable = (id: string): string => (/^task_[a-f0-9]{32}$/.test(id) ? id : '');

/** SHA-256 of what an authority may see, whatever token or revision it comes by. */
function grantsOf({ scopes, dataAccess, websites, restrictions }: Authority): Buffer {
  const grants = {
    scopes: [...scopes].sort(),
    dataAccess: [...dataAccess].sort(),
    websites: [...websites.keys()].sort(),
  };
  const limits = Object.entries(restrictions).map(([dimension, ids]) => [dimension, [...ids].sort()]);
  const text = stringify({ ...grants, restrictions: Object.fromEntries(limits) }) ?? '';
  return createHash('sha256').update(text).digest();
}

/** `body`: what the run gave, where its row has come back without the artifact. */
function viewOf(row: TaskRow, authority: Authority, body: unknown = row.artifact): Task {
  const { id, contextId, skill, websiteId, state, stateAt, expiresAt, failure, grants } = row;
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

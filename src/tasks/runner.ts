import PQueue from 'p-queue';
import type { Books, CallOrigin, CallReport } from '../core/audit.ts';
import type { Authority } from '../core/authority.ts';
import { ARTIFACT_BYTES } from '../core/limits.ts';
import type { Skill } from '../core/skill.ts';
import type { Tool } from '../core/tool.ts';
import { pauseUpTo } from '../flow/pause.ts';
import { PeriodicJob } from '../flow/periodic-job.ts';
import { asFailure, type CallSource, type Corridor, type Outcome } from '../gateway/call.ts';
import { isUnavailable } from '../store/driver/errors.ts';
import type { Database } from '../store/driver/postgres.ts';
import { type Accepted, type RunEnd, startTasks, TASK_LEASE, type TaskRow } from '../store/tasks/tasks.ts';
import { releaseTasks, renewTasks, withdrawTasks } from '../store/tasks/upkeep.ts';
import type { Batches } from './batches.ts';
import { type HeldTask, RUNNING_HERE, roomFor, slotsFor, waitingApps } from './capacity.ts';

export interface Work {
  /** The id of the task, made by `newTaskId`. A request that is repeated under another authority keeps the id. */
  readonly id: string;
  /** The id of the request that sent the task. The log shows this id for each call of the task. */
  readonly requestId: string;
  /** The request that sent the task, for the audit records of its calls. */
  readonly origin?: CallOrigin | undefined;
  readonly bearer: string;
  /** The sender's address. The calls of the task count as calls from it. */
  readonly from: string | undefined;
  readonly authority: Authority;
  readonly skill: Skill;
  readonly input: Readonly<Record<string, unknown>>;
  /** The idempotency key for the writes of the skill. If the message is sent again, the key is the same. */
  readonly idempotencyKey: string;
  readonly starts: boolean;
  /** True if the client knows the task already, because this message continues it. */
  readonly known: boolean;
}

export interface RunCall extends Pick<Work, 'id' | 'requestId' | 'authority'> {
  readonly tool: Tool;
  readonly outcome: Outcome;
}

/**
 * How a task of this process has ended, and under which authority. `undefined` means that the task ended in another
 * process or no longer exists.
 */
export type EndedTask = { readonly row: TaskRow; readonly body: unknown; readonly authority: Authority } | undefined;

interface RunningTask extends Work, HeldTask {
  state: HeldTask['state'];
  readonly ended: Promise<EndedTask>;
  finish(ended: EndedTask): void;
}

export interface RunnerOptions {
  readonly db: Database;
  readonly batches: Batches;
  readonly corridor: Corridor;
  readonly owner: string;
  readonly onError: (error: unknown) => void;
  /** Called for each call that a task makes. The request that sent the task may have ended earlier. */
  readonly onCall?: (call: RunCall) => void;
  readonly books?: Books | undefined;
  /** Called when a task of this process has ended or is dropped. */
  readonly onEnd?: (id: string) => void;
  /** The most tasks in memory, with up to 64 KiB of arguments each. Default: 1,000. One app can have half of them. */
  readonly held?: number;
}

const HELD = 1_000;
/** Milliseconds between two attempts to start waiting tasks, or to store the end of a task. */
const EVERY = 250;
const RENEWAL = TASK_LEASE / 4;
/** When the process stops, running tasks have this many milliseconds to end. */
const GRACE = 3_000;

/**
 * Runs the tasks of one process. p-queue limits how many tasks run in this process. PostgreSQL limits how many tasks of
 * one installation run in all processes together. If a client cancels a task, or another process ends the task, the
 * runner drops the result of its own run.
 */
export class Runner {
  readonly #options: RunnerOptions;
  readonly #queue = new PQueue({ concurrency: RUNNING_HERE });
  readonly #jobs = new Map<string, RunningTask>();
  readonly #acceptances = new Set<Promise<unknown>>();
  /** Tasks whose acceptance got no reply, with the time until which the acceptance can still commit. */
  readonly #unanswered = new Map<string, number>();
  /** Jobs that are still running, including dropped jobs. */
  readonly #running: RunningTask[] = [];
  #served: string[] = [];
  readonly #renewals: PeriodicJob;
  readonly #starts: PeriodicJob;

  constructor(options: RunnerOptions) {
    this.#options = options;
    const { onError } = options;
    this.#renewals = new PeriodicJob({ every: RENEWAL, run: () => this.#renew(), onError });
    this.#starts = new PeriodicJob({ every: EVERY, run: () => this.#startWaiting(), onError });
  }

  room = (app: string): boolean => roomFor(app, this.#jobs, this.#options.held ?? HELD);

  slots = (app: string): number => slotsFor(app, this.#running, this.#jobs.values());

  /**
   * Registers a task before it is accepted, because it can start before `acceptance` resolves: the runner may find it
   * in the store first.
   */
  async accept(work: Work, acceptance: () => Promise<Accepted>): Promise<Accepted> {
    let finish: RunningTask['finish'] = () => undefined;
    const ended = new Promise<EndedTask>((resolve) => {
      finish = resolve;
    });
    const job: RunningTask = this.#jobs.get(work.id) ?? { ...work, state: 'accepting', ended, finish };
    this.#jobs.set(job.id, job);
    const accepting = acceptance();
    this.#acceptances.add(accepting);
    try {
      const accepted = await accepting;
      if (accepted.verdict === 'new' && job.state === 'accepting') {
        job.state = 'waiting';
        if (accepted.task.state === 'working') this.#run(job);
        else this.#starts.wake();
      }
      return accepted;
    } catch (error) {
      // The store may have a task that no caller knows. Remember it, so that the runner deletes it and the client can
      // send again. A task that the client knows ends with its lease.
      if (isUnavailable(error) && !work.known) this.#unanswered.set(job.id, performance.now() + TASK_LEASE);
      throw error;
    } finally {
      this.#acceptances.delete(accepting);
      if (job.state === 'accepting') this.drop(job.id);
    }
  }

  /** Resolves when the task has ended. Returns `undefined` if this process does not have the task. */
  ended(id: string): Promise<EndedTask> | undefined {
    return this.#jobs.get(id)?.ended;
  }

  runs(id: string): boolean {
    return this.#jobs.get(id)?.state === 'running';
  }

  drop(id: string): void {
    this.#forget(id, undefined);
  }

  /** Stops the runner. Running tasks, and tasks being accepted, have three seconds to end. All others end as lost. */
  async stop(): Promise<void> {
    const settled = async (): Promise<void> => {
      await Promise.allSettled(this.#acceptances);
      await this.#starts.stop();
      await this.#queue.onIdle();
    };
    await pauseUpTo(GRACE, [settled()]);
    await this.#renewals.stop();
    await this.#withdraw().catch(this.#options.onError);
    const left = [...this.#jobs.keys()];
    // If the store does not answer, another process ends these tasks when their leases have expired.
    if (left.length > 0) await releaseTasks(this.#options.db, this.#options.owner, left).catch(this.#options.onError);
    for (const id of left) this.drop(id);
  }

  async #withdraw(): Promise<void> {
    if (this.#unanswered.size === 0) return;
    const [now, ids] = [performance.now(), [...this.#unanswered.keys()]];
    await withdrawTasks(this.#options.db, this.#options.owner, ids);
    for (const id of ids) if ((this.#unanswered.get(id) ?? 0) < now) this.#unanswered.delete(id);
  }

  #forget(id: string, ended: EndedTask): void {
    this.#jobs.get(id)?.finish(ended);
    if (this.#jobs.delete(id)) this.#options.onEnd?.(id);
  }

  async #startWaiting(): Promise<void> {
    const waiting = waitingApps(this.#jobs.values());
    // The app that started tasks most recently gets its turn last. Otherwise the first app would take every free slot.
    this.#served = this.#served.filter((app) => waiting.has(app));
    for (const app of new Set([...waiting.keys()].filter((one) => !this.#served.includes(one)).concat(this.#served))) {
      let started = 0;
      for (const installation of waiting.get(app) ?? []) {
        const slots = this.slots(app);
        if (slots === 0) break;
        const rows = await startTasks(this.#options.db, installation, this.#options.owner, slots);
        for (const { id } of rows) this.#run(this.#jobs.get(id));
        started += rows.length;
      }
      if (started > 0) this.#served = [...this.#served.filter((one) => one !== app), app];
    }
  }

  #run(job: RunningTask | undefined): void {
    // A dropped task never starts: it was canceled before the reply of its acceptance or of its start came.
    if (!job || job.state === 'running' || this.#jobs.get(job.id) !== job) return;
    job.state = 'running';
    this.#running.push(job);
    this.#queue
      .add(async () => {
        const result = await this.#result(job);
        const row = await this.#end(job, result.end);
        this.#forget(job.id, row && { row, body: result.body, authority: job.authority });
      })
      .catch(this.#options.onError)
      .finally(() => {
        this.#running.splice(this.#running.indexOf(job), 1);
        this.#starts.wake();
      });
  }

  async #result(job: RunningTask): Promise<{ end: RunEnd; body?: unknown }> {
    try {
      const body = await job.skill.run({ input: job.input, call: (tool, input) => this.#call(job, tool, input) });
      const artifact = JSON.stringify(body);
      const fits = Buffer.byteLength(artifact) <= ARTIFACT_BYTES;
      return fits ? { end: { artifact }, body } : { end: { failure: 'artifact_too_large' } };
    } catch (error) {
      const failure = asFailure(error);
      if (failure.code === 'internal') this.#options.onError(failure.details.cause ?? failure);
      return { end: { failure: failure.code } };
    }
  }

  async #call(job: RunningTask, name: string, input: Readonly<Record<string, unknown>>): Promise<unknown> {
    const tool = job.skill.tools.includes(name) ? this.#options.corridor.registry.get(name) : undefined;
    if (!tool) throw new Error(`${job.skill.name} does not compose ${name}`);
    const outcome = await this.#options.corridor.call({
      tool,
      resource: 'a2a',
      bearer: job.bearer,
      source: this.#sourceOf(job),
      input,
      // The sender paid for this call when the task was accepted.
      cost: 0,
      ...(tool.idempotency === 'required' && { idempotencyKey: job.idempotencyKey }),
    });
    const { id, requestId, authority } = job;
    this.#options.onCall?.({ id, requestId, authority, tool, outcome });
    if ('failure' in outcome) throw outcome.failure;
    if ('bytes' in outcome) throw new Error(`${name} returned bytes, but a skill needs JSON`);
    return outcome.body;
  }

  /**
   * A task can outlive its request, so the records of its calls do not wait for the end of the request. The answers are
   * parts of an artifact, not bytes on a connection, so they need no room.
   */
  #sourceOf({ origin, from }: RunningTask): CallSource | undefined {
    const { books } = this.#options;
    if (from === undefined) return undefined;
    const source = { from, room: () => undefined };
    if (!books || !origin) return source;
    const began = performance.now();
    const audited = {
      origin,
      get ms() {
        return performance.now() - began;
      },
      report: (report: CallReport) => books.add(origin, report, audited.ms),
      owe: () => undefined,
    };
    return { ...source, audited };
  }

  /** Stores the end of a task. Tries again until the lease of the task can have expired. */
  async #end(job: RunningTask, end: RunEnd): Promise<TaskRow | undefined> {
    const until = performance.now() + TASK_LEASE;
    // A dropped task has already ended, so the runner does not store its end.
    while (this.#jobs.has(job.id)) {
      try {
        return await this.#options.batches.end(job.authority, job.id, end);
      } catch (error) {
        const passing = asFailure(error).code === 'service_unavailable';
        if (!passing || performance.now() > until) {
          this.#options.onError(error);
          return undefined;
        }
        await pauseUpTo(EVERY);
      }
    }
    return undefined;
  }

  async #renew(): Promise<void> {
    await this.#withdraw().catch(this.#options.onError);
    const held = [...this.#jobs.values()].filter(({ state }) => state !== 'accepting');
    if (held.length === 0) return;
    const ids = held.map(({ id }) => id);
    const states = await renewTasks(this.#options.db, ids);
    for (const job of held) {
      const state = states.get(job.id);
      if (state === undefined) this.drop(job.id);
      // The task has started, but this process did not get the reply of the store.
      else if (state === 'working') this.#run(job);
    }
  }
}

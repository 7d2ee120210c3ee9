import PQueue from 'p-queue';
import { pauseUpTo } from '../flow/pause.js';
import { PeriodicJob } from '../flow/periodic-job.js';
import { asFailure } from '../gateway/call.js';
import { isUnavailable } from '../store/driver/errors.js';
import { startTasks, TASK_LEASE } from '../store/tasks/tasks.js';
import { releaseTasks, renewTasks, withdrawTasks } from '../store/tasks/upkeep.js';
import { RUNNING_HERE, roomFor, slotsFor, waitingApps } from './capacity.js';
const HELD = 1_000;
const ARTIFACT_BYTES = 131_072;
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
    #options;
    #queue = new PQueue({ concurrency: RUNNING_HERE });
    #jobs = new Map();
    #acceptances = new Set();
    /** Tasks whose acceptance got no reply, with the time until which the acceptance can still commit. */
    #unanswered = new Map();
    /** Jobs that are still running, including dropped jobs. */
    #running = [];
    #served = [];
    #renewals;
    #starts;
    constructor(options) {
        this.#options = options;
        const { onError } = options;
        this.#renewals = new PeriodicJob({ every: RENEWAL, run: () => this.#renew(), onError });
        this.#starts = new PeriodicJob({ every: EVERY, run: () => this.#startWaiting(), onError });
    }
    room = (app) => roomFor(app, this.#jobs, this.#options.held ?? HELD);
    slots = (app) => slotsFor(app, this.#running, this.#jobs.values());
    /**
     * Registers a task before it is accepted, because it can start before `acceptance` resolves: the runner may find it
     * in the store first.
     */
    async accept(work, acceptance) {
        let finish = () => undefined;
        const ended = new Promise((resolve) => {
            finish = resolve;
        });
        const job = this.#jobs.get(work.id) ?? { ...work, state: 'accepting', ended, finish };
        this.#jobs.set(job.id, job);
        const accepting = acceptance();
        this.#acceptances.add(accepting);
        try {
            const accepted = await accepting;
            if (accepted.verdict === 'new' && job.state === 'accepting') {
                job.state = 'waiting';
                if (accepted.task.state === 'working')
                    this.#run(job);
                else
                    this.#starts.wake();
            }
            return accepted;
        }
        catch (error) {
            // The store may have a task that no caller knows. Remember it, so that the runner deletes it and the client can
            // send again. A task that the client knows ends with its lease.
            if (isUnavailable(error) && !work.known)
                this.#unanswered.set(job.id, performance.now() + TASK_LEASE);
            throw error;
        }
        finally {
            this.#acceptances.delete(accepting);
            if (job.state === 'accepting')
                this.drop(job.id);
        }
    }
    /** Resolves when the task has ended. Returns `undefined` if this process does not have the task. */
    ended(id) {
        return this.#jobs.get(id)?.ended;
    }
    drop(id) {
        this.#forget(id, undefined);
    }
    /** Stops the runner. Running tasks, and tasks being accepted, have three seconds to end. All others end as lost. */
    async stop() {
        const settled = async () => {
            await Promise.allSettled(this.#acceptances);
            await this.#starts.stop();
            await this.#queue.onIdle();
        };
        await pauseUpTo(GRACE, [settled()]);
        await this.#renewals.stop();
        await this.#withdraw().catch(this.#options.onError);
        const left = [...this.#jobs.keys()];
        // If the store does not answer, another process ends these tasks when their leases have expired.
        if (left.length > 0)
            await releaseTasks(this.#options.db, this.#options.owner, left).catch(this.#options.onError);
        for (const id of left)
            this.drop(id);
    }
    async #withdraw() {
        if (this.#unanswered.size === 0)
            return;
        const [now, ids] = [performance.now(), [...this.#unanswered.keys()]];
        await withdrawTasks(this.#options.db, this.#options.owner, ids);
        for (const id of ids)
            if ((this.#unanswered.get(id) ?? 0) < now)
                this.#unanswered.delete(id);
    }
    #forget(id, ended) {
        this.#jobs.get(id)?.finish(ended);
        if (this.#jobs.delete(id))
            this.#options.onEnd?.(id);
    }
    async #startWaiting() {
        const waiting = waitingApps(this.#jobs.values());
        // The app that started tasks most recently gets its turn last. Otherwise the first app would take every free slot.
        this.#served = this.#served.filter((app) => waiting.has(app));
        for (const app of new Set([...waiting.keys()].filter((one) => !this.#served.includes(one)).concat(this.#served))) {
            let started = 0;
            for (const installation of waiting.get(app) ?? []) {
                const slots = this.slots(app);
                if (slots === 0)
                    break;
                const rows = await startTasks(this.#options.db, installation, this.#options.owner, slots);
                for (const { id } of rows)
                    this.#run(this.#jobs.get(id));
                started += rows.length;
            }
            if (started > 0)
                this.#served = [...this.#served.filter((one) => one !== app), app];
        }
    }
    #run(job) {
        // A dropped task never starts: it was canceled before the reply of its acceptance or of its start came.
        if (!job || job.state === 'running' || this.#jobs.get(job.id) !== job)
            return;
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
    async #result(job) {
        try {
            const body = await job.skill.run({ input: job.input, call: (tool, input) => this.#call(job, tool, input) });
            const artifact = JSON.stringify(body);
            const fits = Buffer.byteLength(artifact) <= ARTIFACT_BYTES;
            return fits ? { end: { artifact }, body } : { end: { failure: 'artifact_too_large' } };
        }
        catch (error) {
            const failure = asFailure(error);
            if (failure.code === 'internal')
                this.#options.onError(failure.details.cause ?? failure);
            return { end: { failure: failure.code } };
        }
    }
    async #call(job, name, input) {
        const tool = job.skill.tools.includes(name) ? this.#options.corridor.registry.get(name) : undefined;
        if (!tool)
            throw new Error(`${job.skill.name} does not compose ${name}`);
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
        if ('failure' in outcome)
            throw outcome.failure;
        if ('bytes' in outcome)
            throw new Error(`${name} returned bytes, but a skill needs JSON`);
        return outcome.body;
    }
    /**
     * A task can outlive its request, so the records of its calls do not wait for the end of the request. The answers are
     * parts of an artifact, not bytes on a connection, so they need no room.
     */
    #sourceOf({ origin, from }) {
        const { books } = this.#options;
        if (from === undefined)
            return undefined;
        const source = { from, room: () => undefined };
        if (!books || !origin)
            return source;
        const began = performance.now();
        const audited = {
            origin,
            get ms() {
                return performance.now() - began;
            },
            report: (report) => books.add(origin, report, audited.ms),
            owe: () => undefined,
        };
        return { ...source, audited };
    }
    /** Stores the end of a task. Tries again until the lease of the task can have expired. */
    async #end(job, end) {
        const until = performance.now() + TASK_LEASE;
        // A dropped task has already ended, so the runner does not store its end.
        while (this.#jobs.has(job.id)) {
            try {
                return await this.#options.batches.end(job.authority, job.id, end);
            }
            catch (error) {
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
    async #renew() {
        await this.#withdraw().catch(this.#options.onError);
        const held = [...this.#jobs.values()].filter(({ state }) => state !== 'accepting');
        if (held.length === 0)
            return;
        const ids = held.map(({ id }) => id);
        const states = await renewTasks(this.#options.db, ids);
        for (const job of held) {
            const state = states.get(job.id);
            if (state === undefined)
                this.drop(job.id);
            // The task has started, but this process did not get the reply of the store.
            else if (state === 'working')
                this.#run(job);
        }
    }
}
//# sourceMappingURL=runner.js.map
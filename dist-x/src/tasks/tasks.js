import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { stringify } from 'safe-stable-stringify';
import { Failure } from '../core/failures.js';
import { pauseUpTo } from '../flow/pause.js';
import { asFailure, Caller } from '../gateway/call.js';
import { StaleAuthority } from '../store/calls/guard.js';
import { openLedgerKey } from '../store/calls/ledger.js';
import { cancelTask, continueTask, findTask, listTasks, readTask, } from '../store/tasks/tasks.js';
import { Batches } from './batches.js';
import { Follow } from './follow.js';
import { pageStartOf, pageTokenOf } from './page-token.js';
import { Runner } from './runner.js';
import { startSweeper } from './sweeper.js';
import { grantsOf, isOpen, viewOf, websiteOf } from './view.js';
import { Watch } from './watch.js';
/** The messageId was already used with another skill, with other arguments or in another context. */
export class MessageIdConflict extends Error {
    name = 'MessageIdConflict';
}
/** The task that the message names cannot take the message. */
export class TaskUnable extends Error {
    why;
    name = 'TaskUnable';
    constructor(why) {
        super(`the task is ${why}`);
        this.why = why;
    }
}
/** Milliseconds that a caller waits for its task to end. The agent card publishes this value. */
export const PATIENCE = 30_000;
/** A new task costs this many quota units, for the read that it makes. */
const COST = 1;
export function openTasks(options) {
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
    const accept = async (request) => {
        const { id: fresh, requestId, origin, caller, taskId, skill, input, bearer, from, wait } = request;
        const { authority } = caller;
        const id = taskId === undefined ? fresh : askable(taskId);
        const key = await secret();
        const message = hmac(key, `message ${authority.credentialId} ${request.messageId}`);
        const text = request.text === undefined ? undefined : { id: request.messageId, text: request.text };
        const fingerprint = hmac(key, stringify(skill ? { skill: skill.name, input } : { text: request.text }) ?? '');
        const store = (start) => {
            const task = {
                id,
                message,
                fingerprint,
                grants: grantsOf(authority),
                skill: skill?.name ?? null,
                text,
                websiteId: skill ? websiteOf(skill, input) : null,
                owner,
                lostAs: skill && writes(skill) ? 'outcome_unknown' : 'interrupted', // narrow literal types
                start,
            };
            if (taskId !== undefined)
                return caller.take(continueTask({ db, authority }, { ...task, contextId: request.contextId }));
            return caller.take(batches.accept(authority, { ...task, contextId: request.contextId ?? `ctx_${randomHex()}` }));
        };
        if (!skill)
            return { accepted: await store(false), paid: 0 };
        let paid;
        try {
            if (!runner.room(authority.appId))
                throw new Failure('service_unavailable', { retryAfter: 1 });
            paid = await corridor.charge(authority, COST);
        }
        catch (error) {
            // If the message was sent before, find its task. This task needs no memory and no quota.
            const found = await caller.take(findTask({ db, authority }, { message, fingerprint }, taskId && id));
            if (!found)
                throw error;
            return { accepted: found, paid: 0 };
        }
        let accepted;
        const held = runner.ended(id) !== undefined;
        try {
            // A caller that does not wait gets `submitted`. So its task must not start with its acceptance.
            const starts = wait && runner.slots(authority.appId) > 0;
            const idempotencyKey = `a2a-${message.toString('hex')}`;
            const known = taskId !== undefined;
            const work = { id, requestId, origin, bearer, from, authority, skill, input, idempotencyKey, starts, known };
            const begin = () => runner.accept(work, () => store(starts));
            accepted = await (taskId === undefined ? begin() : turns.take(id, begin));
        }
        finally {
            if (accepted?.verdict !== 'new' || held)
                corridor.refund(authority, paid);
            else
                request.charged?.(paid);
        }
        return { accepted, paid };
    };
    const writes = ({ tools }) => tools.some((name) => corridor.registry.get(name)?.idempotency === 'required');
    /** Waits until a task has ended, on any replica. Returns the task as the caller may see it then. */
    const ended = async ({ bearer, from, caller, signal }, first) => {
        if (!isOpen(first.state))
            return viewOf(first, caller.authority);
        let end;
        const here = runner.ended(first.id)?.then((value) => {
            end = value;
        });
        const elsewhere = watch.watch(first.id, 'open');
        const told = here ? [here, elsewhere.changed] : [elsewhere.changed];
        await pauseUpTo(patience, told, signal);
        elsewhere.leave();
        // Storing the result has proved the token of the task. So a caller with this token needs no new proof.
        if (end?.row.state === 'completed' && Buffer.compare(end.authority.digest, caller.authority.digest) === 0) {
            return viewOf({ ...end.row, history: first.history }, end.authority, end.body);
        }
        const authority = await corridor.prove(bearer, 'a2a', from);
        const row = end ? undefined : await new Caller(authority).take(readTask({ db, authority }, first.id));
        // An expired task has no row, but its own run may still be about to end in this process.
        if (!end && !row && here)
            await pauseUpTo(patience, [here], signal);
        if (end)
            return viewOf({ ...end.row, history: first.history }, authority, end.body);
        if (!row)
            throw new Failure('service_unavailable', { retryAfter: 1 });
        return viewOf(row, authority);
    };
    const list = async (caller, query) => {
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
        send: (request) => failing(async () => {
            if (stopping)
                throw new Failure('service_unavailable', { retryAfter: 1 });
            const { accepted, paid } = await accept(request);
            if (accepted.verdict === 'conflict')
                throw new MessageIdConflict('the messageId was used for another task');
            if (accepted.verdict === 'full')
                throw new Failure('task_limit', { retryAfter: accepted.retryAfter });
            if (!('task' in accepted))
                throw new TaskUnable(accepted.verdict);
            if (request.contextId !== undefined && request.contextId !== accepted.task.contextId)
                throw new MessageIdConflict('the messageId was used in another context');
            const { authority } = request.caller;
            if (!request.wait)
                return viewOf(accepted.task, authority);
            return ended(request, accepted.task).catch((error) => {
                // A call without a valid authority costs nothing.
                if (error instanceof Failure && error.status === 401)
                    corridor.refund(authority, paid);
                throw error;
            });
        }),
        get: (caller, id) => failing(async () => {
            const { authority } = caller;
            const row = await caller.take(readTask({ db, authority }, askable(id)));
            return row && viewOf(row, authority);
        }),
        list: (caller, query) => failing(() => list(caller, query)),
        follow: (following, first) => follow.follow(following, first),
        get followed() {
            return follow.size;
        },
        cancel: (caller, id) => failing(async () => {
            const { authority } = caller;
            const found = await caller.take(cancelTask({ db, authority }, askable(id)));
            if (found)
                runner.drop(id);
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
const randomHex = () => randomUUID().replaceAll('-', '');
export const newTaskId = () => `task_${randomHex()}`;
const hmac = (key, text) => createHmac('sha256', key).update(text).digest();
async function failing(work) {
    try {
        return await work();
    }
    catch (error) {
        const own = [MessageIdConflict, TaskUnable, StaleAuthority].some((kind) => error instanceof kind);
        throw own ? error : asFailure(error);
    }
}
/** Replaces a malformed id by an id that does not exist. Both look-ups then take the same time. */
const askable = (id) => (/^task_[a-f0-9]{32}$/.test(id) ? id : '');
/** Messages that continue the same task take turns, because the runner knows a task only by its id. */
class Turns {
    #last = new Map();
    async take(id, work) {
        for (let last = this.#last.get(id); last; last = this.#last.get(id))
            await last;
        const running = work();
        const settled = running.then(() => undefined, () => undefined);
        this.#last.set(id, settled);
        return running.finally(() => this.#last.delete(id));
    }
}
//# sourceMappingURL=tasks.js.map
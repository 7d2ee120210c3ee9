import { setTimeout as pause } from 'node:timers/promises';
import { Client, doorOf, newTicket, openSession } from '../events/realtime.js';
import { definition } from '../events/subscriptions.js';
import { Taken } from '../events/taken.js';
import { eventually } from '../eventually.js';
import { note, restOf } from '../ledger/commands.js';
export const WEBSITE = 'web_1_1';
export const CONTACT = '/api/v1/contacts/ctc_1_1_1';
/** Milliseconds between two reads and between two writes that a gateway gets. */
const EVERY = 150;
/** Milliseconds between two A2A tasks. An installation has at most a hundred. */
const TASKS_EVERY = 4_000;
/** So many reads, and as many writes, can wait at one gateway. */
const MOST = 24;
/** Milliseconds that a client waits for an answer. A gateway has 3 s. */
const PATIENCE = 15_000;
/** Milliseconds until nobody may be answered by a server that another one has replaced. */
export const FENCED = 2_000;
/** Clients that call two gateways without a pause: keyed notes, reads, event pulls, a realtime socket and A2A tasks. */
export class Load {
    successes = [];
    /** The answer to each acknowledged note, by its text. The text is also its key. */
    acknowledged = new Map();
    /** The ids of the A2A tasks that were told to their sender, by message. */
    tasks = new Map();
    /** What no client may see. */
    wrong = new Set();
    readers;
    attempts = 0;
    #gateways;
    #token;
    #generations = [];
    #calling = [];
    #reading = [];
    #writing = true;
    #going = true;
    constructor(gateways, token) {
        this.#gateways = gateways;
        this.#token = token;
        this.readers = new Map([...gateways.map(({ name }) => name), 'socket'].map((name) => [name, new Taken([WEBSITE])]));
    }
    start() {
        for (const gateway of this.#gateways) {
            this.#calling.push(this.#steadily(() => this.#read(gateway)), this.#steadily((n) => this.#write(gateway, n)));
            this.#reading.push(this.#pull(gateway));
        }
        this.#calling.push(this.#steadily((n) => this.#task(n), TASKS_EVERY));
        this.#reading.push(this.#socket());
    }
    /** Says that the contact now has the name `generation-n`. From now on, a read that begins FENCED later must tell it. */
    generation(n) {
        this.#generations.push({ n, at: performance.now() });
    }
    /** Waits for a success of this kind that began after `from`. Returns the moment at which it ended. */
    back(gateway, kind, from) {
        const found = () => {
            const first = this.#of(gateway, kind).find(({ began }) => began >= from);
            if (!first)
                throw new Error(`${gateway.name}: no ${kind} succeeded`);
            return first.ended;
        };
        return eventually(found, 60_000);
    }
    /** The longest time without a success since `from`, in milliseconds. */
    silence(gateway, kind, from) {
        const ends = this.#of(gateway, kind).map(({ ended }) => ended);
        const within = [...ends.filter((at) => at < from).slice(-1), ...ends.filter((at) => at >= from), performance.now()];
        return Math.max(...within.slice(1).map((at, i) => at - (within[i] ?? at)));
    }
    /** Ends the writes, and then, when `drained` has ended, the readers. All writes and tasks have their answers then. */
    async end(drained) {
        this.#writing = false;
        await Promise.race([Promise.all(this.#calling), pause(60_000, undefined, { ref: false })]);
        await drained();
        this.#going = false;
        await Promise.all([...this.#calling, ...this.#reading]);
    }
    /** Ends everything at once, after a failure. */
    abandon() {
        this.#writing = false;
        this.#going = false;
    }
    async call({ url }, path, { token = this.#token, key, body } = {}) {
        this.attempts++;
        try {
            const response = await fetch(`${url}${path}`, {
                method: body ? 'POST' : 'GET',
                headers: {
                    authorization: `Bearer ${token}`,
                    ...(body && { 'content-type': 'application/json', 'a2a-version': '1.0' }),
                    ...(key !== undefined && { 'idempotency-key': key }),
                },
                ...(body && { body: JSON.stringify(body) }),
                signal: AbortSignal.timeout(PATIENCE),
            });
            const text = await response.text();
            return { status: response.status, text, replayed: response.headers.get('idempotency-replayed') === 'true' };
        }
        catch (error) {
            return { status: 0, text: String(error), replayed: false };
        }
    }
    /** Calls at a steady pace, however long the calls take. */
    async #steadily(call, every = EVERY) {
        const open = new Set();
        for (let n = 0; this.#writing; n++) {
            if (open.size < MOST) {
                const one = call(n).finally(() => open.delete(one));
                open.add(one);
            }
            await pause(every);
        }
        await Promise.all(open);
    }
    #of(gateway, kind) {
        return this.successes.filter((one) => one.gateway === gateway.name && one.kind === kind);
    }
    async #read(gateway) {
        const began = performance.now();
        const { status, text } = await this.call(gateway, CONTACT);
        if (status !== 200)
            return this.#refused(gateway, { status, text }, began);
        const [, told = '0'] = /generation-(\d+)/.exec(text) ?? [];
        const due = this.#generations.findLast(({ at }) => began - at >= FENCED);
        if (due && Number(told) < due.n)
            this.wrong.add(`${gateway.name}: answered by a server that was replaced ${(began - due.at).toFixed(0)} ms ago`);
        this.successes.push({ gateway: gateway.name, kind: 'read', began, ended: performance.now() });
    }
    /** A note. Until it has its answer, the client repeats it with its key, at each gateway in turn. */
    async #write(gateway, n) {
        const text = `failover-${gateway.name}-${n}`;
        const { path, body } = restOf(note(text));
        const turns = [gateway, ...this.#gateways.filter((other) => other !== gateway)];
        for (let i = 0;; i++) {
            const at = turns[i % turns.length] ?? gateway;
            const began = performance.now();
            const told = await this.call(at, path, { key: text, body });
            if (told.status === 200) {
                this.acknowledged.set(text, told.text);
                this.successes.push({ gateway: at.name, kind: 'write', began, ended: performance.now() });
                return;
            }
            this.#refused(at, told, began);
            if (!this.#going)
                return void this.wrong.add(`no answer to ${text}`);
            await pause(200);
        }
    }
    /** A caller with a good request gets an answer or 503, and 409 while the same key is under way elsewhere. */
    #refused({ name }, { status, text }, began) {
        const allowed = status === 503 || (status === 409 && /operation_in_progress|outcome_unknown/.test(text));
        if (!allowed)
            this.wrong.add(`${name}: ${status} ${text.slice(0, 300)}`);
        if (performance.now() - began > 10_000)
            this.wrong.add(`${name}: a call took longer than 10 s`);
    }
    async #pull(gateway) {
        const taken = this.readers.get(gateway.name);
        const made = await eventually(async () => {
            const told = await this.call(gateway, '/api/v1/subscriptions', { body: definition([WEBSITE]) });
            return JSON.parse(told.text);
        });
        let after = made.cursor;
        while (this.#going) {
            const query = `subscription_id=${made.subscription.subscription_id}&after=${encodeURIComponent(after)}&limit=100`;
            const began = performance.now();
            const told = await this.call(gateway, `/api/v1/events?${query}`);
            if (told.status === 200) {
                const { events, next_cursor } = JSON.parse(told.text);
                taken?.page(events);
                after = next_cursor;
            }
            else
                this.#refused(gateway, told, began);
            await pause(50);
        }
    }
    async #socket() {
        const taken = this.readers.get('socket');
        const doors = this.#gateways.map(doorOf);
        const [first = doorOf({ url: '' })] = doors;
        const made = await eventually(async () => {
            const { body } = await first.ask('/api/v1/subscriptions', { token: this.#token, body: definition([WEBSITE]) });
            return body.subscription.subscription_id;
        });
        const session = await eventually(() => openSession(first, this.#token));
        for (let turn = 0; this.#going; turn++) {
            const door = doors[turn % doors.length] ?? first;
            let client;
            try {
                const ticket = await newTicket(door, this.#token, session.session_id);
                client = new Client(door.port, { ...session, ticket });
                await client.next('ready', 2_000);
                await client.attach(made);
                for (let repeats = true; this.#going; repeats = false) {
                    const page = await client.next('page', 2_000);
                    taken?.page(page.events, repeats);
                    client.ack(page);
                    await client.next('acked', 2_000);
                }
            }
            catch {
                await pause(200); // the next gateway has the session, too
            }
            finally {
                client?.end();
            }
        }
    }
    /** An A2A task. The client repeats its message until it is told that the task has ended. */
    async #task(n) {
        const messageId = `failover-task-${n}`;
        const data = { skill: 'contact_inspection', arguments: { contact_id: 'ctc_1_1_1' } };
        const params = {
            message: { messageId, role: 'ROLE_USER', parts: [{ data, mediaType: 'application/json' }] },
            configuration: { returnImmediately: false },
        };
        for (let i = n; this.#going; i++) {
            const at = this.#gateways[i % this.#gateways.length] ?? { name: '', url: '' };
            const { status, text } = await this.call(at, '/a2a', {
                body: { jsonrpc: '2.0', id: 1, method: 'SendMessage', params },
            });
            const task = status === 200 ? JSON.parse(text).result?.task : undefined;
            if (task !== undefined) {
                const before = this.tasks.get(messageId);
                if (before !== undefined && before !== task.id)
                    this.wrong.add(`two tasks for the message ${messageId}`);
                this.tasks.set(messageId, task.id);
                if (/COMPLETED|FAILED/.test(task.status.state))
                    return;
            }
            await pause(200);
        }
        this.wrong.add(`no end of the task of ${messageId}`);
    }
}
//# sourceMappingURL=failover.js.map
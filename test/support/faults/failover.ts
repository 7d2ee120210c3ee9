import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { Client, doorOf, newTicket, openSession } from '../events/realtime.ts';
import { definition } from '../events/subscriptions.ts';
import { Taken } from '../events/taken.ts';
import { eventually } from '../eventually.ts';
import { note, restOf } from '../ledger/commands.ts';

/** A gateway process, by the way in which it reaches PostgreSQL. */
export interface Gateway {
  readonly name: string;
  readonly url: string;
}

type Kind = 'read' | 'write';

/** The moment at which a call that succeeded began and ended, in milliseconds of `performance.now()`. */
interface Success {
  readonly gateway: string;
  readonly kind: Kind;
  readonly began: number;
  readonly ended: number;
}

interface Told {
  readonly status: number;
  readonly text: string;
  readonly replayed: boolean;
}

export const WEBSITE = 'web_1_1';
export const CONTACT = '/api/v1/contacts/ctc_1_1_1';
/** Milliseconds between two reads and between two writes that a gateway gets. */
const EVERY = 150;
/** Milliseconds between two A2A tasks. An installation has at most a hundred. */
const TASKS_EVERY = 4_000;
/** Milliseconds between two pulls of a reader. What is lost or doubled shows in the positions, at every pace. */
const PULLS_EVERY = 250;
/** Milliseconds until a write that got no answer is sent again. Up to 48 of them wait during a failover. */
const AGAIN = 500;
/** So many reads, and as many writes, can wait at one gateway. */
const MOST = 24;
/** Milliseconds that a client waits for an answer. A gateway has 3 s. */
const PATIENCE = 15_000;
/** Milliseconds until nobody may be answered by a server that another one has replaced. */
export const FENCED = 2_000;

/** Clients that call two gateways without a pause: keyed notes, reads, event pulls, a realtime socket and A2A tasks. */
export class Load {
  readonly successes: Success[] = [];
  /** The answer to each acknowledged note, by its text. The text is also its key. */
  readonly acknowledged = new Map<string, string>();
  /** The ids of the A2A tasks that were told to their sender, by message. */
  readonly tasks = new Map<string, string>();
  /** What no client may see. */
  readonly wrong = new Set<string>();
  readonly readers: ReadonlyMap<string, Taken>;
  /** How often a write was refused, by status and code. */
  readonly refusals = new Map<string, number>();
  attempts = 0;
  readonly #gateways: readonly Gateway[];
  readonly #token: string;
  readonly #generations: { readonly n: number; readonly at: number }[] = [];
  readonly #calling: Promise<unknown>[] = [];
  readonly #reading: Promise<unknown>[] = [];
  #writing = true;
  #going = true;

  constructor(gateways: readonly Gateway[], token: string) {
    this.#gateways = gateways;
    this.#token = token;
    this.readers = new Map([...gateways.map(({ name }) => name), 'socket'].map((name) => [name, new Taken([WEBSITE])]));
  }

  start(): void {
    for (const gateway of this.#gateways) {
      this.#calling.push(
        this.#steadily(() => this.#read(gateway)),
        this.#steadily((n) => this.#write(gateway, n)),
      );
      this.#reading.push(this.#pull(gateway));
    }
    this.#calling.push(this.#steadily((n) => this.#task(n), TASKS_EVERY));
    this.#reading.push(this.#socket());
  }

  /** Says that the contact now has the name `generation-n`. From now on, a read that begins FENCED later must tell it. */
  generation(n: number): void {
    this.#generations.push({ n, at: performance.now() });
  }

  /** Waits for a success of this kind that began after `from`. Returns the moment at which it ended. */
  back(gateway: Gateway, kind: Kind, from: number): Promise<number> {
    const found = (): number => {
      const first = this.#of(gateway, kind).find(({ began }) => began >= from);
      if (!first) throw new Error(`${gateway.name}: no ${kind} succeeded`);
      return first.ended;
    };
    return eventually(found, 60_000);
  }

  /** The longest time without a success since `from`, in milliseconds. */
  silence(gateway: Gateway, kind: Kind, from: number): number {
    const ends = this.#of(gateway, kind).map(({ ended }) => ended);
    const within = [...ends.filter((at) => at < from).slice(-1), ...ends.filter((at) => at >= from), performance.now()];
    return Math.max(...within.slice(1).map((at, i) => at - (within[i] ?? at)));
  }

  /** Ends the writes, and then, when `drained` has ended, the readers. All writes and tasks have their answers then. */
  async end(drained: () => Promise<void>): Promise<void> {
    this.#writing = false;
    await Promise.race([Promise.all(this.#calling), pause(60_000, undefined, { ref: false })]);
    await drained();
    this.#going = false;
    await Promise.all([...this.#calling, ...this.#reading]);
  }

  /** Ends everything at once, after a failure. */
  abandon(): void {
    this.#writing = false;
    this.#going = false;
  }

  async call(
    { url }: Gateway,
    path: string,
    { token = this.#token, key, body }: { token?: string; key?: string; body?: object } = {},
  ): Promise<Told> {
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
    } catch (error) {
      return { status: 0, text: String(error), replayed: false };
    }
  }

  /** Calls at a steady pace, however long the calls take. */
  async #steadily(call: (n: number) => Promise<void>, every = EVERY): Promise<void> {
    const open = new Set<Promise<void>>();
    for (let n = 0; this.#writing; n++) {
      if (open.size < MOST) {
        const one = call(n).finally(() => open.delete(one));
        open.add(one);
      }
      await pause(every);
    }
    await Promise.all(open);
  }

  #of(gateway: Gateway, kind: Kind): Success[] {
    return this.successes.filter((one) => one.gateway === gateway.name && one.kind === kind);
  }

  async #read(gateway: Gateway): Promise<void> {
    const began = performance.now();
    const { status, text } = await this.call(gateway, CONTACT);
    if (status !== 200) return this.#refused(gateway, { status, text }, began);
    const [, told = '0'] = /generation-(\d+)/.exec(text) ?? [];
    const due = this.#generations.findLast(({ at }) => began - at >= FENCED);
    if (due && Number(told) < due.n)
      this.wrong.add(`${gateway.name}: answered by a server that was replaced ${(began - due.at).toFixed(0)} ms ago`);
    this.successes.push({ gateway: gateway.name, kind: 'read', began, ended: performance.now() });
  }

  /** A note. Until it has its answer, the client repeats it with its key, at each gateway in turn. */
  async #write(gateway: Gateway, n: number): Promise<void> {
    const text = `failover-${gateway.name}-${n}`;
    const { path, body } = restOf(note(text));
    const turns = [gateway, ...this.#gateways.filter((other) => other !== gateway)];
    for (let i = 0; ; i++) {
      const at = turns[i % turns.length] ?? gateway;
      const began = performance.now();
      const told = await this.call(at, path, { key: text, body });
      if (told.status === 200) {
        this.acknowledged.set(text, told.text);
        this.successes.push({ gateway: at.name, kind: 'write', began, ended: performance.now() });
        return;
      }
      this.#refused(at, told, began);
      if (!this.#going) return void this.wrong.add(`no answer to ${text}`);
      await pause(AGAIN);
    }
  }

  /** A caller with a good request gets an answer or 503, and 409 while the same key is under way elsewhere. */
  #refused({ name }: Gateway, { status, text }: Pick<Told, 'status' | 'text'>, began: number): void {
    const what = `${status} ${/"code":"(\w+)"/.exec(text)?.[1] ?? ''}`;
    this.refusals.set(what, (this.refusals.get(what) ?? 0) + 1);
    const allowed = status === 503 || (status === 409 && /operation_in_progress|outcome_unknown/.test(text));
    if (!allowed) this.wrong.add(`${name}: ${status} ${text.slice(0, 300)}`);
    if (performance.now() - began > 10_000) this.wrong.add(`${name}: a call took longer than 10 s`);
  }

  async #pull(gateway: Gateway): Promise<void> {
    const taken = this.readers.get(gateway.name);
    const made = await eventually(async () => {
      const told = await this.call(gateway, '/api/v1/subscriptions', { body: definition([WEBSITE]) });
      expect(told.status, told.text).toBe(201);
      return JSON.parse(told.text);
    }, 60_000);
    let after: string = made.cursor;
    while (this.#going) {
      const query = `subscription_id=${made.subscription.subscription_id}&after=${encodeURIComponent(after)}&limit=100`;
      const began = performance.now();
      const told = await this.call(gateway, `/api/v1/events?${query}`);
      if (told.status === 200) {
        const { events, next_cursor } = JSON.parse(told.text);
        taken?.page(events);
        after = next_cursor;
      } else this.#refused(gateway, told, began);
      await pause(PULLS_EVERY);
    }
  }

  async #socket(): Promise<void> {
    const taken = this.readers.get('socket');
    const doors = this.#gateways.map(doorOf);
    const [first = doorOf({ url: '' })] = doors;
    const made = await eventually(async () => {
      const told = await first.ask('/api/v1/subscriptions', { token: this.#token, body: definition([WEBSITE]) });
      expect(told.status, told.text).toBe(201);
      return told.body.subscription.subscription_id;
    }, 60_000);
    let session = await eventually(() => openSession(first, this.#token), 60_000);
    /** The cursor of the last page. A new session has none of its own. */
    let last: string | undefined;
    let fresh = false;
    for (let turn = 0; this.#going; turn++) {
      const door = doors[turn % doors.length] ?? first;
      let client: Client | undefined;
      try {
        const ticket = await newTicket(door, this.#token, session.session_id).catch(async (error: unknown) => {
          // A session lasts an hour.
          if (!/not_found/.test(String(error))) throw error;
          session = await openSession(door, this.#token);
          fresh = true;
          return session.ticket;
        });
        client = new Client(door.port, { ...session, ticket });
        await client.next('ready', 2_000);
        await client.attach(made, fresh ? last : undefined);
        for (let repeats = true; this.#going; repeats = false) {
          const page = await client.next('page', 2_000);
          taken?.page(page.events, repeats);
          last = page.next_cursor;
          client.ack(page);
          await client.next('acked', 2_000);
          fresh = false;
        }
      } catch {
        await pause(200); // the next gateway has the session, too
      } finally {
        client?.end();
      }
    }
  }

  /** An A2A task. The client repeats its message until it is told that the task has ended. */
  async #task(n: number): Promise<void> {
    const messageId = `failover-task-${n}`;
    const data = { skill: 'contact_inspection', arguments: { contact_id: 'ctc_1_1_1' } };
    const params = {
      message: { messageId, role: 'ROLE_USER', parts: [{ data, mediaType: 'application/json' }] },
      configuration: { returnImmediately: false },
    };
    let expires = Number.POSITIVE_INFINITY;
    for (let i = n; this.#going; i++) {
      const at = this.#gateways[i % this.#gateways.length] ?? { name: '', url: '' };
      const { status, text } = await this.call(at, '/a2a', {
        body: { jsonrpc: '2.0', id: 1, method: 'SendMessage', params },
      });
      const task = status === 200 ? JSON.parse(text).result?.task : undefined;
      if (task !== undefined) {
        const before = this.tasks.get(messageId);
        // A task lives for 15 minutes by the clock of PostgreSQL, which a fault can set forward by an hour.
        const lives = Date.parse(task.status.timestamp) < expires;
        if (before !== undefined && before !== task.id && lives)
          this.wrong.add(`two tasks for the message ${messageId}`);
        this.tasks.set(messageId, task.id);
        expires = Date.parse(task.metadata.expires_at);
        if (Number.isNaN(expires)) this.wrong.add(`no end of the life of the task of ${messageId}`);
        if (/COMPLETED|FAILED/.test(task.status.state)) return;
      }
      await pause(200);
    }
    this.wrong.add(`no end of the task of ${messageId}`);
  }
}

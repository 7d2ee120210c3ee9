import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Authority } from '../../src/core/authority.ts';
import type { Skill } from '../../src/core/skill.ts';
import { compile } from '../../src/core/sql.ts';
import type { Caller, Corridor } from '../../src/gateway/call.ts';
import { loadSkills, loadTools } from '../../src/gateway/load.ts';
import { openGateway } from '../../src/gateway/open.ts';
import { type Database, openDatabase } from '../../src/store/driver/postgres.ts';
import { newTaskId, openTasks, type Task, type Tasks, type TasksOptions } from '../../src/tasks/tasks.ts';
import { type Grant, type Issued, issue } from './credentials.ts';
import { freshDatabase, type TestDatabase } from './database.ts';
import { KEYS } from './keys.ts';

/**
 * The parts of a gateway that run tasks, each replica with its own pool, corridor and task runner on the shared store.
 */
export interface Replica {
  readonly tasks: Tasks;
  readonly corridor: Corridor;
  readonly db: Database;
  sent(match: RegExp): number;
  close(): Promise<void>;
}

export interface Sending {
  readonly messageId?: string;
  readonly contextId?: string;
  readonly skill?: Skill;
  readonly input?: Record<string, unknown>;
  readonly wait?: boolean;
  readonly signal?: AbortSignal;
}

export interface World {
  readonly database: TestDatabase;
  readonly a: Replica;
  readonly b: Replica;
  readonly errors: unknown[];
  skill(name: string): Skill;
  issue(grant?: Grant): Promise<Issued>;
  /** Proves the authority and charges one unit before `work` runs, as the surface does. */
  run<T>(replica: Replica, token: string, work: (caller: Caller) => Promise<T>): Promise<T>;
  send(replica: Replica, token: string, sending?: Sending): Promise<Task>;
  /** Sends `n` tasks to the replicas in turn. They do not end until the test releases them. */
  fill(probe: Pick<Probe, 'skill'>, sender: Issued, n: number, replicas?: readonly Replica[]): Promise<Task[]>;
  authority(replica: Replica, token: string): Promise<Authority>;
  get(replica: Replica, token: string, id: string): Promise<Task | undefined>;
  cancel(replica: Replica, token: string, id: string): ReturnType<Tasks['cancel']>;
  open(
    target?: Parameters<typeof openDatabase>[0]['target'],
    options?: Pick<TasksOptions, 'patience' | 'held'> & {
      readonly db?: (db: Database) => Database;
      /** Milliseconds. */
      readonly statementTimeout?: number;
    },
  ): Promise<Replica>;
  row(id: string): Promise<Row | undefined>;
  moves(id: string): Promise<string[]>;
  count(state: string, installation: string): Promise<number>;
  close(): Promise<void>;
}

export interface Row {
  readonly state: string;
  readonly failure: string | null;
  readonly artifact: unknown;
  readonly lease_until: Date | null;
  readonly state_at: Date;
}

export const CONTACT = 'ctc_1_1_1';
let messages = 0;
export const newMessage = (): string => `message-${process.pid}-${++messages}`;

/** A skill whose runs wait until the test releases them. `runs` counts its runs. */
export interface Probe {
  readonly skill: Skill;
  readonly runs: () => number;
  readonly held: () => number;
  release(which?: 'one' | 'all'): void;
}

export function probe(run: Skill['run'] = ({ call, input }) => call('contact_get', input)): Probe {
  const waiting: (() => void)[] = [];
  let runs = 0;
  let open = false;
  return {
    runs: () => runs,
    held: () => waiting.length,
    release(which = 'all') {
      if (which === 'one') return waiting.shift()?.();
      open = true;
      for (const go of waiting.splice(0)) go();
    },
    skill: {
      ...PROBE,
      async run(context) {
        runs++;
        if (!open) await new Promise<void>((resolve) => waiting.push(resolve));
        return run(context);
      },
    },
  };
}

let PROBE: Skill;

export async function until(what: () => unknown, limit = 60_000): Promise<void> {
  for (const end = performance.now() + limit; performance.now() < end; await pause(20)) if (await what()) return;
  expect(await what(), String(what)).toBeTruthy();
}

export async function openWorld(): Promise<World> {
  const database = await freshDatabase('demo');
  const { sql } = database;
  const skills = await loadSkills(await loadTools());
  const errors: unknown[] = [];
  const skill = (name: string): Skill => skills.get(name)?.skill ?? expect.fail(`no skill ${name}`);
  PROBE = skill('contact_inspection');
  await sql.unsafe(`
    CREATE TABLE public.move (n bigserial, id text, move text);
    CREATE FUNCTION public.move() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP = 'INSERT' THEN INSERT INTO public.move (id, move) VALUES (NEW.id, NEW.state);
        ELSIF OLD.state <> NEW.state THEN INSERT INTO public.move (id, move) VALUES (NEW.id, OLD.state || '>' || NEW.state);
        END IF;
        RETURN NULL;
      END $$;
    CREATE TRIGGER move AFTER INSERT OR UPDATE ON gateway.task FOR EACH ROW EXECUTE FUNCTION public.move();`);

  const open: World['open'] = async (
    target = { host: database.host, port: database.port, database: database.name, username: 'postgres' },
    { db: through = (db: Database) => db, statementTimeout = 5_000, ...options } = {},
  ) => {
    const connect = (connections: number, keyed = false): Database =>
      through(openDatabase({ target, connections, statementTimeout, name: 'replica', keyed }));
    const [pool, begins, ends] = [connect(8), connect(1, true), connect(1, true)];
    const texts: string[] = [];
    const told = (of: Database): Database => ({
      ...of,
      query: (statement) => {
        texts.push(compile(statement).text);
        return of.query(statement);
      },
      read: (statement) => {
        texts.push(compile(statement).text);
        return of.read(statement);
      },
    });
    const db = told(pool);
    const batches = { begins: told(begins), ends: told(ends) };
    const corridor = await openGateway({
      keys: KEYS,
      store: { db, slow: db },
      checkEvery: 1,
      onDefect: (tool, error) => errors.push(tool, error),
    });
    const tasks = openTasks({ db, batches, corridor, onError: (error) => errors.push(error), ...options });
    return {
      tasks,
      corridor,
      db,
      sent: (match) => texts.filter((text) => match.test(text)).length,
      close: async () => {
        await tasks.stop();
        await Promise.all([pool, begins, ends].map((one) => one.close()));
      },
    };
  };
  const [a, b] = await Promise.all([open(), open()]);
  const run: World['run'] = (replica, token, work) => replica.corridor.run(token, 'a2a', work);
  const authority: World['authority'] = (replica, token) => replica.corridor.admit(token, 'a2a');
  const send: World['send'] = (replica, token, sending = {}) => {
    const { messageId = newMessage(), contextId, input = { contact_id: CONTACT }, wait = true } = sending;
    const { skill = PROBE, signal = new AbortController().signal } = sending;
    const message = {
      id: newTaskId(),
      requestId: 'req_test',
      bearer: token,
      from: undefined,
      messageId,
      contextId,
      input,
      wait,
    };
    return run(replica, token, (caller) => replica.tasks.send({ ...message, caller, skill, signal }));
  };
  return {
    database,
    a,
    b,
    errors,
    skill,
    open,
    run,
    authority,
    send,
    issue: (grant) => issue(sql, 1, grant),
    async fill({ skill }, { token }, n, replicas = [a, b]) {
      const tasks: Task[] = [];
      for (let i = 0; i < n; i++) {
        tasks.push(await send(replicas[i % replicas.length] ?? a, token, { skill, wait: false }));
        // Of two tasks of one millisecond, either is the older one.
        await pause(2);
      }
      return tasks;
    },
    get: (replica, token, id) => run(replica, token, (caller) => replica.tasks.get(caller, id)),
    cancel: (replica, token, id) => run(replica, token, (caller) => replica.tasks.cancel(caller, id)),
    row: async (id) =>
      (await sql<Row[]>`SELECT state, failure, artifact, lease_until, state_at FROM gateway.task WHERE id = ${id}`)[0],
    moves: async (id) =>
      (await sql<{ move: string }[]>`SELECT move FROM public.move WHERE id = ${id} ORDER BY n`).map(({ move }) => move),
    count: async (state, installation) =>
      Number(
        (
          await sql<{ n: string }[]>`SELECT count(*) AS n FROM gateway.task
            WHERE installation_id = ${installation} AND state = ${state}`
        )[0]?.n,
      ),
    async close() {
      await Promise.all([a.close(), b.close()]);
      await database.close();
    },
  };
}

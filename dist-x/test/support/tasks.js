import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { compile } from '../../src/core/sql.js';
import { loadSkills, loadTools } from '../../src/gateway/load.js';
import { openGateway } from '../../src/gateway/open.js';
import { openDatabase } from '../../src/store/driver/postgres.js';
import { newTaskId, openTasks } from '../../src/tasks/tasks.js';
import { issue } from './credentials.js';
import { freshDatabase } from './database.js';
import { KEYS } from './keys.js';
export const CONTACT = 'ctc_1_1_1';
let messages = 0;
export const newMessage = () => `message-${process.pid}-${++messages}`;
export function probe(run = ({ call, input }) => call('contact_get', input)) {
    const waiting = [];
    let runs = 0;
    let open = false;
    return {
        runs: () => runs,
        held: () => waiting.length,
        release(which = 'all') {
            if (which === 'one')
                return waiting.shift()?.();
            open = true;
            for (const go of waiting.splice(0))
                go();
        },
        skill: {
            ...PROBE,
            async run(context) {
                runs++;
                if (!open)
                    await new Promise((resolve) => waiting.push(resolve));
                return run(context);
            },
        },
    };
}
let PROBE;
export async function until(what, limit = 20_000) {
    for (const end = performance.now() + limit; performance.now() < end; await pause(20))
        if (await what())
            return;
    expect(await what(), String(what)).toBeTruthy();
}
export async function openWorld() {
    const database = await freshDatabase('demo');
    const { sql } = database;
    const skills = await loadSkills(await loadTools());
    const errors = [];
    const skill = (name) => skills.get(name)?.skill ?? expect.fail(`no skill ${name}`);
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
    const open = async (target = { host: database.host, port: database.port, database: database.name, username: 'postgres' }, { db: through = (db) => db, statementTimeout = 5_000, ...options } = {}) => {
        const connect = (connections, keyed = false) => through(openDatabase({ target, connections, statementTimeout, name: 'replica', keyed }));
        const [pool, begins, ends] = [connect(8), connect(1, true), connect(1, true)];
        const texts = [];
        const told = (of) => ({
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
    const run = (replica, token, work) => replica.corridor.run(token, 'a2a', work);
    const authority = (replica, token) => replica.corridor.admit(token, 'a2a');
    const send = (replica, token, sending = {}) => {
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
            const tasks = [];
            for (let i = 0; i < n; i++) {
                tasks.push(await send(replicas[i % replicas.length] ?? a, token, { skill, wait: false }));
                // Of two tasks of one millisecond, either is the older one.
                await pause(2);
            }
            return tasks;
        },
        get: (replica, token, id) => run(replica, token, (caller) => replica.tasks.get(caller, id)),
        cancel: (replica, token, id) => run(replica, token, (caller) => replica.tasks.cancel(caller, id)),
        row: async (id) => (await sql `SELECT state, failure, artifact, lease_until, state_at FROM gateway.task WHERE id = ${id}`)[0],
        moves: async (id) => (await sql `SELECT move FROM public.move WHERE id = ${id} ORDER BY n`).map(({ move }) => move),
        count: async (state, installation) => Number((await sql `SELECT count(*) AS n FROM gateway.task
            WHERE installation_id = ${installation} AND state = ${state}`)[0]?.n),
        async close() {
            await Promise.all([a.close(), b.close()]);
            await database.close();
        },
    };
}
//# sourceMappingURL=tasks.js.map
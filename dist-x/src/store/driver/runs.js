import { setImmediate as socketsRead } from 'node:timers/promises';
import postgres from 'postgres';
import { OWN, WAITING } from './connections.js';
import { atStandby, DOWN, isFull, isUnavailable, late, NO_PRIMARY, ON_STANDBY, QUEUED, READ_ONLY, REFUSED, SILENT, StoreUnreachable, sqlState, UNREACHABLE, } from './errors.js';
import { SharedReads } from './shared-reads.js';
import { collecting, openStatements } from './statement.js';
/** Milliseconds to wait for an answer after PostgreSQL should have cancelled the statement. */
export const GRACE = 500;
/** Milliseconds until the next attempt when the server is down or has no free connection. */
const BACKOFF = 250;
/** Runs statements on connections: waits for a turn, keeps the time, and judges what an error says of the server. */
export function openRuns(options) {
    const { connections, prepare, dialOf } = options;
    const statementOf = openStatements();
    const sharedReads = new SharedReads(WAITING * options.size);
    // After a refusal, all statements fail at once until this time, so that a starting server gets no more attempts.
    let downUntil = 0;
    let downBy;
    const limit = options.statementTimeout + GRACE;
    const unreachable = (cause) => new StoreUnreachable('the store cannot be reached', { cause });
    const asOurs = (error) => (UNREACHABLE.test(sqlState(error)) ? unreachable(error) : error);
    /** Fails all waiting statements, and those of the next BACKOFF milliseconds. The server would refuse them. */
    const down = (error) => {
        downUntil = performance.now() + BACKOFF;
        downBy = error;
        connections.refuse(unreachable(error));
    };
    /**
     * Returns the connection of a failed statement to the pool if the server itself refused it. Else closes the
     * connection.
     */
    const giveBack = (used, error) => {
        const state = sqlState(error);
        const isStandby = NO_PRIMARY.test(state);
        if (isStandby)
            dialOf(used)?.left('standby');
        else if (UNREACHABLE.test(state) && !isFull(error))
            dialOf(used)?.left();
        if (DOWN.test(state))
            down(error);
        if (REFUSED.test(state)) {
            if (!connections.rest(used, BACKOFF))
                down(error);
        }
        else if (UNREACHABLE.test(state) || ON_STANDBY.test(state) || !(error instanceof postgres.PostgresError))
            connections.lose(used);
        else {
            dialOf(used)?.answered();
            // Reconnect, to find out whether the server is still read-only. The idle connections stay.
            if (READ_ONLY.test(state))
                connections.lose(used, Number.NEGATIVE_INFINITY);
            else
                connections.give(used);
        }
    };
    /**
     * PostgreSQL reports to each new connection whether the server is a standby, and reports a change before its next
     * answer. A pooler can keep an old report. So behind a pooler, the guard of the statement asks
     * (store/calls/guard.ts).
     */
    const isAtStandby = (used) => options.primary === true && options.direct === undefined && used.parameters['in_hot_standby'] === 'on';
    /** Rejects the answer of a standby. It can be any time behind, so a revoked token can still be valid there. */
    const requireAnswer = (used) => {
        if (isAtStandby(used))
            throw atStandby();
        dialOf(used)?.answered();
    };
    /** An error of a standby tells only that the server is one. It has many codes, and must not keep the connection. */
    const meant = (used, error) => error instanceof postgres.PostgresError && isAtStandby(used) ? atStandby() : error;
    /**
     * Waits for a connection. Returns the connection and the milliseconds that are left for the statement. The wait
     * leaves a quarter of the limit for the statement, but at least one second. If the limit is shorter than two seconds,
     * the wait leaves half of the limit. So under overload, no statement starts just before its caller gives up.
     */
    const turn = async (app) => {
        const began = performance.now();
        const own = Math.min(limit / 2, Math.max(1_000, limit / 4));
        const used = await connections.wait(app, limit - own, () => late(QUEUED));
        return [used, Math.max(1, began + limit - performance.now())];
    };
    /** A connection that is free now, or else at the app's turn, and the milliseconds that are left for the statement. */
    const taken = async (app) => {
        const free = connections.take(app);
        return free ? [free, limit] : turn(app);
    };
    /**
     * Runs a statement, and drops the connection when no answer comes in time. PostgreSQL normally ends the statement at
     * its time-out. This function waits half a second longer. After this wait, the server counts as silent.
     *
     * The statement may still run afterwards. The gateway cannot cancel the statement, because the driver's cancel can
     * end the process or cancel the next statement. So a caller that repeats a write must repeat its idempotency key.
     */
    const inTime = (used, left, { text, parameters, lists }, ran) => new Promise((resolve, reject) => {
        const began = performance.now();
        let timer;
        let over = false;
        const after = (milliseconds, what) => {
            // A busy process reads its sockets late. Read once more before the time-out counts: the answer may be there.
            timer = setTimeout(() => setImmediate(() => over || what()), milliseconds);
        };
        const silent = () => {
            dialOf(used)?.left(options.confirms === true ? 'cut off' : undefined);
            connections.lose(used, began);
            reject(late(SILENT));
        };
        // The caller has waited long enough and gets an error. The connection is silent only after the full limit.
        const impatient = () => {
            reject(late(QUEUED));
            after(limit - left, silent);
        };
        after(left, left === limit ? silent : impatient);
        const ended = () => {
            over = true;
            clearTimeout(timer);
        };
        const rows = collecting();
        // The caller declares the type of the rows. A golden schema and the checks of outputs verify it.
        const statement = used.unsafe(text, parameters, { prepare });
        if (lists)
            statement.values();
        const answer = statement.forEach(rows.add).then((result) => {
            requireAnswer(used);
            ran?.(result.statement.types, performance.now() - began);
        });
        answer.then(() => {
            ended();
            resolve(rows.taken());
            connections.give(used, prepare ? text : undefined);
        }, (thrown) => {
            const error = meant(used, thrown);
            ended();
            rows.taken();
            reject(error);
            giveBack(used, error);
        });
    });
    const alone = async (statement) => {
        const sent = statementOf(statement);
        const { app = OWN } = statement;
        if (performance.now() < downUntil)
            throw unreachable(downBy);
        try {
            return await inTime(...(await taken(app)), sent);
        }
        catch (error) {
            throw asOurs(error);
        }
    };
    /**
     * Runs a read of an app in a batch. The batch is sent when all sockets of this turn of the event loop are read and a
     * connection is free. A read whose statement cannot be shared runs alone.
     */
    const shared = async (statement) => {
        const { app } = statement;
        if (app === undefined)
            return alone(statement);
        const sent = statementOf(statement);
        if (performance.now() < downUntil)
            throw unreachable(downBy);
        try {
            const joined = sharedReads.join(app, sent, statement.values, async (begin) => {
                await socketsRead();
                return inTime(...(await taken(app)), begin());
            });
            if (joined)
                return await joined.catch((error) => {
                    // One read can be the cause. The others must not fail with it.
                    if (error instanceof postgres.PostgresError && !isUnavailable(error))
                        return alone(statement);
                    throw error;
                });
            const ran = (types, took) => sharedReads.ran(statement, sent.text, types, took);
            return await inTime(...(await taken(app)), sent, ran);
        }
        catch (error) {
            throw asOurs(error);
        }
    };
    return {
        alone,
        shared,
        async script(text) {
            try {
                const used = connections.take(OWN) ?? (await turn(OWN))[0];
                await used
                    .unsafe(text)
                    .simple()
                    .then(() => requireAnswer(used))
                    .then(() => connections.give(used), (thrown) => {
                    const error = meant(used, thrown);
                    giveBack(used, error);
                    throw error;
                });
            }
            catch (error) {
                throw asOurs(error);
            }
        },
    };
}
//# sourceMappingURL=runs.js.map
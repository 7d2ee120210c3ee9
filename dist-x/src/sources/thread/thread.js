import { Worker } from 'node:worker_threads';
import { packageRoot } from '../../config/package.js';
import { SourceRefused } from '../follow/explain.js';
import { newMemory, received, sent, ThreadPulse } from './protocol.js';
/** Milliseconds between two checks of the pulse. After SILENT checks without a beat, a thread is ended. */
const LOOK = 1_000;
const SILENT = 15;
/** Timeout (ms) of one call. A page can need several statements, and each may take a minute. */
const DEADLINE = 600_000;
/** How long (ms) a thread may take to close its connections. */
const CLOSING = 5_000;
/**
 * The heap limit of a thread in MiB. A page of 8 MiB of the longest mails needs less than 64. The buffers of its
 * connections are not in the heap: a full reader takes 191 to 202 MiB in all (24 November 2026,
 * test/hostile/postgres-memory.test.ts).
 *
 * Node gives a full heap 16 MiB more for an orderly end. V8 ends the whole process if one value is larger than that, so
 * the values of a helpdesk have a limit (store/driver/wire.ts).
 */
const MEMORY = 128;
/** The built file of a thread. Node 20 cannot start a thread from a TypeScript file, so the tests build first. */
export const entryIn = (folder) => import.meta.url.endsWith('.ts')
    ? new URL(`dist/src/sources/${folder}/worker.js`, packageRoot)
    : new URL(`../${folder}/worker.js`, import.meta.url);
/**
 * Opens a thread that communicates with a foreign server. An error, too little memory or a hang there ends only this
 * thread, and all its calls fail. `hung` gets the row that the thread worked on, if any.
 */
export function openThread({ opening, secrets, texts }, { entry, silent = SILENT }, heard = {}) {
    const memory = newMemory();
    const pulse = new ThreadPulse(memory);
    const workerData = { ...opening, memory };
    const worker = new Worker(entry, { workerData, execArgv: [], resourceLimits: { maxOldGenerationSizeMb: MEMORY } });
    worker.unref();
    const waiting = new Map();
    let [calls, beats, quiet] = [0, 0, 0];
    let ended;
    const end = (error) => {
        if (ended !== undefined)
            return;
        ended = error;
        clearInterval(look);
        for (const { reject } of waiting.values())
            reject(error);
        waiting.clear();
        worker.terminate().catch(() => undefined);
    };
    const look = setInterval(() => {
        if (waiting.size === 0)
            return;
        quiet = pulse.count === beats ? quiet + 1 : 0;
        beats = pulse.count;
        if (quiet >= (beats === 0 ? SILENT : silent)) {
            if (pulse.row !== '')
                heard.hung?.(pulse.row);
            end(new SourceRefused(texts.hangs));
        }
        else if ([...waiting.values()].some(({ until }) => performance.now() > until))
            end(new SourceRefused(texts.late));
    }, LOOK).unref();
    worker.on('message', (reply) => {
        if ('changed' in reply)
            return heard.changed?.();
        const one = waiting.get(reply.id);
        waiting.delete(reply.id);
        if (waiting.size === 0)
            worker.unref();
        if ('error' in reply)
            one?.reject(received(reply.error));
        else
            one?.resolve(reply.answer);
    });
    const died = (error) => end(new SourceRefused(texts.ended, { cause: received(sent(error, secrets)) }));
    worker.on('error', died);
    worker.on('messageerror', died);
    worker.on('exit', () => end(new SourceRefused(texts.ended)));
    // The thread calls the method of the same name, so its answers have the types of the interface.
    const begin = (method, args, deadline) => {
        const id = ++calls;
        const answer = new Promise((resolve, reject) => {
            if (ended !== undefined)
                return reject(ended);
            waiting.set(id, { resolve: resolve, reject, until: performance.now() + deadline });
            worker.ref();
            worker.postMessage({ id, method, args });
        });
        return { id, answer };
    };
    const call = (method, ...args) => begin(method, args, DEADLINE).answer;
    return {
        call,
        callWithin: (method, args, { signal, deadline }) => {
            const { id, answer } = begin(method, args, deadline);
            const abort = () => worker.postMessage({ id, abort: true });
            signal.addEventListener('abort', abort, { once: true });
            if (signal.aborted)
                abort();
            return answer.finally(() => signal.removeEventListener('abort', abort));
        },
        get ended() {
            return ended !== undefined;
        },
        close: async () => {
            if (ended === undefined) {
                const late = setTimeout(() => end(new SourceRefused(texts.late)), CLOSING);
                await call('close').catch(() => undefined);
                clearTimeout(late);
            }
            end(new SourceRefused(texts.ended));
            await worker.terminate();
        },
    };
}
//# sourceMappingURL=thread.js.map
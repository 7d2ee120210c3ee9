import { Worker } from 'node:worker_threads';
/** The largest number of texts that wait for the thread. */
const WAITING = 1_000;
/** Timeout (ms) for one text. The first text also waits for the model, which loads in 0.4 s on an idle processor. */
const DEADLINE = 5_000;
let thread;
let texts = 0;
/**
 * Detects the language of a text in a worker thread, which starts with the first text. On the main thread, loading the
 * model blocked all requests: for 0.4 s, and for 3 s on a loaded machine (24 November 2026).
 *
 * Returns `undefined` after a timeout. The thread is then terminated, and the next text starts another.
 *
 * Node 20 cannot start a thread from a TypeScript file, so code that is not built detects in the calling thread.
 */
export async function detectInThread(text) {
    if (import.meta.url.endsWith('.ts'))
        return (await import('./language.js')).detectLanguage(text);
    const { worker, waiting } = thread ?? start();
    if (waiting.size >= WAITING)
        return undefined;
    const id = ++texts;
    // When the thread exits, all its waiting callers get an answer.
    const late = setTimeout(() => void worker.terminate(), DEADLINE).unref();
    try {
        return await new Promise((resolve) => {
            waiting.set(id, { resolve });
            worker.postMessage({ id, text });
        });
    }
    finally {
        clearTimeout(late);
        waiting.delete(id);
    }
}
function start() {
    const worker = new Worker(new URL('./detector.js', import.meta.url), { execArgv: [] });
    const started = { worker, waiting: new Map() };
    const end = () => {
        if (thread === started)
            thread = undefined;
        for (const { resolve } of started.waiting.values())
            resolve(undefined);
        started.waiting.clear();
    };
    worker.on('message', ({ id, language }) => started.waiting.get(id)?.resolve(language));
    worker.on('error', end);
    worker.on('exit', end);
    // Adding a listener makes the thread keep the process alive again, so `unref` comes last.
    worker.unref();
    thread = started;
    return started;
}
//# sourceMappingURL=thread.js.map
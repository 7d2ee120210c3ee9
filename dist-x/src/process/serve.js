import { setFlagsFromString } from 'node:v8';
import { openKeys } from '../auth/key-file.js';
import { address, checkAddress } from './address.js';
import { buildInBackground } from './builds.js';
import { openLog, uncollected } from './log.js';
import { keptToken, openServedStore, ownerLink, prepareDemo } from './open-store.js';
import { openTracing } from './open-tracing.js';
import { endInOrder, handleUncaught } from './uncaught.js';
import { addresses, welcome } from './welcome.js';
import { isWorker, leave, stopSignal, superviseWorkers } from './workers.js';
/**
 * Limits how much the heap's old generation grows between two garbage collections, in per cent of the live heap. V8's
 * default is about twice as high and returns little memory. In two minutes of load, resident memory varies by 20 MB
 * with the default, and by 6 MB with this limit.
 */
const HEAP_GROWTH = '--heap-growing-percent=30';
/**
 * Opens five things: here the log with its traces and the store, in serve-here.ts the gateway, the server and the
 * background work.
 */
export async function serve(context, options) {
    if (!process.execArgv.some((flag) => flag.startsWith('--heap-growing-percent')))
        setFlagsFromString(HEAP_GROWTH);
    const { config, out } = context;
    const worker = isWorker();
    const { log, flush } = openLog({ level: config.logLevel, format: config.logFormat });
    const supervises = options.workers > 1 && !worker;
    // Refuse a wrong address before the store is opened.
    if (!worker)
        await checkAddress(config);
    const told = {
        log: (message) => log.info(message),
        warn: worker ? undefined : (message) => log.warn(message),
    };
    const keys = await openKeys(config, told);
    // A supervisor answers no calls, so it exports no traces.
    const tracing = supervises ? undefined : await openTracing(config, log);
    const stop = stopSignal(config.npm);
    surviveTerminal();
    handleUncaught(endInOrder(log, flush, stop));
    const opening = openServedStore(config, { tracing, supervises, stop, ...told });
    // Loaded while PostgreSQL starts. An error of this promise is thrown below, when the store is open.
    const loading = supervises ? undefined : import('./serve-here.js').then(({ loadServing }) => loadServing());
    loading?.catch(() => undefined);
    const store = await opening;
    let building = false;
    try {
        if (stop.aborted)
            return;
        const ofDemo = options.demo && store.embedded && !worker;
        const demo = ofDemo ? await prepareDemo(store, config.dataDir) : undefined;
        const ready = (baseUrl) => {
            if (worker)
                return;
            out.note(`gateway ready on ${baseUrl}`);
            const tell = (link) => out.note(demo ? welcome(baseUrl, demo, link) : addresses(baseUrl, keptToken(config.dataDir), link));
            // Written to the terminal only, never to the log.
            if (ofDemo)
                ownerLink(store, baseUrl).then(tell);
            else
                tell();
            stop.addEventListener('abort', () => out.note('gateway stopping'), { once: true });
        };
        const serving = { config, keys, store, log, tracing, stop, ready };
        const builds = worker ? undefined : buildInBackground(store, log, stop);
        await (loading ? (await loading)(serving) : serveByWorkers(serving, options.workers));
        building = (await builds?.stop()) ?? false;
    }
    finally {
        flush();
        const [, sent] = await Promise.all([store.close(), tracing?.stop()]);
        flush();
        leave(stop);
        // Exit now. An unfinished export of traces has timers and a socket, and a build has a connection, which would keep
        // the process alive.
        if (sent === false || building)
            setImmediate(() => process.exit());
    }
}
/** Keeps the process alive when its terminal has closed. Each later write to the terminal fails with EIO. */
function surviveTerminal() {
    for (const stream of [process.stdout, process.stderr])
        stream.on('error', () => stream.destroy());
}
/**
 * Serves with several workers. The supervisor chooses the port, because with PORT=0 each worker would get another one.
 */
async function serveByWorkers({ config, log, stop, ready }, count) {
    const { superviseGroup } = await import('../observe/group.js');
    const { port, baseUrl } = await address(config);
    await superviseWorkers({
        count,
        env: { PORT: `${port}`, GATEWAY_BASE_URL: baseUrl },
        stop,
        log,
        onReady: () => ready(baseUrl),
        onWorker: superviseGroup(uncollected(log)),
    });
}
//# sourceMappingURL=serve.js.map
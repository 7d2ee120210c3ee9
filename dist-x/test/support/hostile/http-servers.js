import { fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
export async function openHostileServer(seed) {
    const program = fileURLToPath(new URL('http-server.mjs', import.meta.url));
    const child = fork(program, [String(seed)], { execArgv: [], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    const { ports = {}, names = [] } = await next(child);
    const { plain, ...tls } = ports;
    // One message waits for its answer at a time.
    let turn = Promise.resolve({});
    const tell = (message) => {
        turn = turn.then(() => {
            const answer = next(child);
            child.send(message);
            return answer;
        });
        return turn;
    };
    return {
        origin: `http://127.0.0.1:${plain}`,
        names,
        tls: Object.fromEntries(Object.entries(tls).map(([name, port]) => [name, `https://127.0.0.1:${port}`])),
        honest: async (paths) => void (await tell({ honest: paths })),
        counts: async () => (await tell('counts')).counts ?? {},
        close: () => child.disconnect(),
    };
}
function next(child) {
    return new Promise((resolve, reject) => {
        const ended = (code) => reject(new Error(`the hostile server ended with ${code}`));
        child.once('exit', ended);
        child.once('message', (message) => {
            child.off('exit', ended);
            resolve(message); // the cast is sound, because the program of the tests sends these messages only
        });
    });
}
const PERIOD = 10;
const used = () => {
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
};
/** Milliseconds of processor time of this process's main thread. */
const busy = () => Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
/** Milliseconds of processor time for which this work holds the event loop: a measure for others in the same process. */
export function heldBy(work) {
    const began = busy();
    work();
    return busy() - began;
}
/**
 * Watches the event loop and the memory. A delay counts only as far as this thread used processor time in it. So other
 * threads, and other programs on a busy machine, add nothing.
 */
export function watchProcess() {
    const before = used();
    let [held, most, last, spent] = [0, before, performance.now(), busy()];
    const timer = setInterval(() => {
        held = Math.max(held, Math.min(performance.now() - last - PERIOD, busy() - spent));
        most = Math.max(most, used());
        [last, spent] = [performance.now(), busy()];
    }, PERIOD);
    return () => {
        clearInterval(timer);
        return { held: Math.round(held), grown: most - before };
    };
}
//# sourceMappingURL=http-servers.js.map
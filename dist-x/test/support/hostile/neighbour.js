import { setTimeout as pause } from 'node:timers/promises';
import { exchange } from '../answer.js';
export const tookOf = ({ began, ended }) => ended - began;
/** The slowest of the requests that began or ended since this time. */
export const slowestOf = (answers, since = 0) => Math.max(0, ...answers.filter(({ ended }) => ended > since).map(tookOf));
/**
 * Waits `every` milliseconds between an answer and the next request. The first answers load and compile code. `waiting`
 * returns the milliseconds for which the server's process has waited for a processor since its start.
 */
export function keepAsking(options, every, waiting = () => 0) {
    const answers = [];
    let [failed, stopped] = [0, false];
    const once = async () => {
        const [began, before] = [performance.now(), waiting()];
        const status = await exchange(options).then((answer) => answer.status, () => 0);
        if (status !== 200)
            failed += 1;
        return { began, ended: performance.now(), waited: waiting() - before };
    };
    const loop = async () => {
        for (let n = 0; n < 10; n++)
            await once();
        for (; !stopped; await pause(every))
            answers.push(await once());
    };
    const running = loop();
    return {
        answers,
        get failed() {
            return failed;
        },
        stop: () => {
            stopped = true;
            return running;
        },
    };
}
//# sourceMappingURL=neighbour.js.map
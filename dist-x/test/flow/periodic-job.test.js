import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { PeriodicJob } from '../../src/flow/periodic-job.js';
beforeEach(() => {
    vi.useFakeTimers();
});
afterEach(() => {
    vi.useRealTimers();
});
function hanging(every) {
    const errors = [];
    const running = [];
    let begun = 0;
    const job = new PeriodicJob({
        ...(every !== undefined && { every }),
        run: (stop) => new Promise((resolve, reject) => {
            begun++;
            running.push({ stop, end: (error) => (error ? reject(error) : resolve()) });
        }),
        onError: (error) => errors.push(error),
    });
    const end = async (error) => {
        running.shift()?.end(error);
        await vi.advanceTimersByTimeAsync(0);
    };
    return { job, errors, running, end, begun: () => begun };
}
describe('a periodic job', () => {
    it('a run that hangs queues no others: after it, the next tick starts one', async () => {
        const { job, end, begun } = hanging(1_000);
        await vi.advanceTimersByTimeAsync(60_500);
        expect(begun()).toBe(1);
        await end();
        expect(begun()).toBe(1);
        await vi.advanceTimersByTimeAsync(500);
        expect(begun()).toBe(2);
        await end();
        await job.stop();
    });
    it('all wakes during a run share the one after it', async () => {
        const { job, end, begun } = hanging();
        for (let n = 0; n < 5; n++)
            job.wake();
        expect(begun()).toBe(1);
        for (let n = 0; n < 5; n++)
            job.wake();
        await end();
        expect(begun()).toBe(2);
        await end();
        expect(begun()).toBe(2);
    });
    it('a failed run is reported and does not end the job', async () => {
        const { job, end, errors, begun } = hanging(1_000);
        await vi.advanceTimersByTimeAsync(1_000);
        job.wake();
        await end(new Error('planted'));
        expect(errors).toHaveLength(1);
        expect(begun()).toBe(2);
        await end();
        await vi.advanceTimersByTimeAsync(1_000);
        expect(begun()).toBe(3);
    });
    it('a stop aborts the run, waits for it, and nothing starts afterwards', async () => {
        const { job, end, running, begun } = hanging(1_000);
        job.wake();
        job.wake();
        let stopped = false;
        const stop = job.stop().then(() => {
            stopped = true;
        });
        expect(running[0]?.stop.aborted).toBe(true);
        await vi.advanceTimersByTimeAsync(5_000);
        expect(stopped).toBe(false);
        await end();
        await stop;
        job.wake();
        job.resume();
        await vi.advanceTimersByTimeAsync(5_000);
        expect(begun()).toBe(1);
    });
});
//# sourceMappingURL=periodic-job.test.js.map
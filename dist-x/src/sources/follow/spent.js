/** The load took too much time, or its helpdesk answered too rarely. The message is for the operator. */
export class LoadStopped extends Error {
    name = 'LoadStopped';
}
/** In an hour of waiting, 30 seconds an answer on average. In all, a day. */
export const BOUNDS = { window: 3_600, fewest: 120, total: 86_400 };
/** Milliseconds between two updates of the time in the store. */
const COUNTED = 2_000;
/** Adds up the time of a load in the store, so that the sum survives this process. */
export function watchSpent(run, waited, bounds, stop) {
    const count = async () => {
        const why = await run.spend(waited(), bounds);
        if (why !== undefined)
            stop(new LoadStopped(TEXTS[why](bounds)));
    };
    const every = Math.min(COUNTED, bounds.window * 250);
    // Ignore an error here, because the next statement of the load reports it.
    const timer = setInterval(() => count().catch(() => undefined), every).unref();
    return {
        end: async () => {
            clearInterval(timer);
            await count().catch(() => undefined);
        },
    };
}
const TEXTS = {
    slow: ({ window, fewest }) => `The helpdesk answered fewer than ${fewest} times while the gateway waited ${told(window)} for it.`,
    long: ({ total }) => `Reading all records took longer than ${told(total)}.`,
};
const told = (seconds) => seconds % 3_600 === 0 ? `${seconds / 3_600} ${seconds === 3_600 ? 'hour' : 'hours'}` : `${seconds} s`;
//# sourceMappingURL=spent.js.map
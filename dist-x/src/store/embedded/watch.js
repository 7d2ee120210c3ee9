import { errorCode, StoreUnavailable } from './unavailable.js';
/** Two pauses in milliseconds. `interval`: the pause between two checks. `rest`: the pause after a failed restart. */
const interval = 500;
const rest = 5000;
/**
 * Restarts a server with `revive` after it was killed, for example by the out-of-memory killer. The returned function
 * ends the watch after a running restart. The timer does not keep the process alive.
 */
export function watch(options) {
    const { lives, revive, log } = options;
    let reviving;
    let quietUntil = 0;
    const timer = setInterval(() => {
        if (reviving || Date.now() < quietUntil || lives())
            return;
        log('PostgreSQL ended unexpectedly; starting it again');
        reviving = revive()
            .catch((error) => {
            quietUntil = Date.now() + rest;
            if (error instanceof StoreUnavailable)
                log(error.message);
            else
                log(`PostgreSQL could not be started again (${errorCode(error) ?? String(error)})`);
        })
            .finally(() => {
            reviving = undefined;
        });
    }, interval);
    timer.unref();
    return async () => {
        clearInterval(timer);
        await reviving;
    };
}
//# sourceMappingURL=watch.js.map
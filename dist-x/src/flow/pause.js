/** Resolves after this time, when a promise resolves, or when the signal aborts. Leaves no timer behind. */
export async function pauseUpTo(milliseconds, others = [], signal) {
    let end = () => undefined;
    const over = new Promise((resolve) => {
        end = resolve;
    });
    const timer = setTimeout(end, milliseconds);
    signal?.addEventListener('abort', end, { once: true });
    if (signal?.aborted)
        end();
    await Promise.race([over, ...others]);
    clearTimeout(timer);
    signal?.removeEventListener('abort', end);
}
//# sourceMappingURL=pause.js.map
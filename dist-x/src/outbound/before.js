/** Settles like `promise`, but rejects at once when the signal aborts. The work behind `promise` goes on. */
export function before(signal, promise) {
    return new Promise((resolve, reject) => {
        const abort = () => reject(signal.reason);
        if (signal.aborted)
            abort();
        signal.addEventListener('abort', abort, { once: true });
        promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
    });
}
//# sourceMappingURL=before.js.map
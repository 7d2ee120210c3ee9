/** Settles like `promise`, but rejects at once when the signal aborts. The promise itself goes on. */
export function before<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const cut = (): void => reject(signal.reason);
    if (signal.aborted) cut();
    signal.addEventListener('abort', cut, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', cut));
  });
}

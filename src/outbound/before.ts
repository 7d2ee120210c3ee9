/** Settles like `promise`, but rejects at once when the signal aborts. The work behind `promise` goes on. */
export function before<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/**
 * Runs `work` with a signal that aborts after `ms`, or with `outer` and for its reason. AbortSignal.any would keep one
 * object for each call until `outer` ends, and Node can garbage-collect an AbortSignal.timeout inside of it, which then
 * never aborts. So this uses its own timer.
 */
export async function within<T>(
  ms: number,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const cut = new AbortController();
  const abort = (): void => cut.abort(outer?.reason);
  const timer = setTimeout(abort, ms);
  outer?.addEventListener('abort', abort, { once: true });
  if (outer?.aborted) abort();
  try {
    return await work(cut.signal);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener('abort', abort);
  }
}

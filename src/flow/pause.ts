/** Resolves after this time (Infinity: never), when a promise resolves, or when the signal aborts. Leaves no timer. */
export async function pauseUpTo(
  milliseconds: number,
  others: readonly Promise<unknown>[] = [],
  signal?: AbortSignal,
): Promise<void> {
  let end = (): void => undefined;
  const over = new Promise<void>((resolve) => {
    end = resolve;
  });
  const timer = milliseconds === Infinity ? undefined : setTimeout(end, milliseconds);
  signal?.addEventListener('abort', end, { once: true });
  if (signal?.aborted) end();
  try {
    await Promise.race([over, ...others]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', end);
  }
}

/**
 * Resolves after this many milliseconds, or earlier when one of the promises resolves or the signal aborts. Leaves no
 * timer behind.
 */
export async function pauseUpTo(
  milliseconds: number,
  others: readonly Promise<unknown>[] = [],
  signal?: AbortSignal,
): Promise<void> {
  let end = (): void => undefined;
  const over = new Promise<void>((resolve) => {
    end = resolve;
  });
  const timer = setTimeout(end, milliseconds);
  signal?.addEventListener('abort', end, { once: true });
  if (signal?.aborted) end();
  await Promise.race([over, ...others]);
  clearTimeout(timer);
  signal?.removeEventListener('abort', end);
}

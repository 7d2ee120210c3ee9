import { setTimeout as pause } from 'node:timers/promises';

/**
 * Waits until `met` throws no more, and returns what it returns. Throws the last error after `milliseconds`. It does not move fake timers, as
 * `vi.waitFor` does, and its patience is that of a busy machine.
 */
export async function eventually<T>(met: () => T, milliseconds = 60_000): Promise<Awaited<T>> {
  for (const end = performance.now() + milliseconds; ; await pause(20)) {
    try {
      return await met();
    } catch (error) {
      if (performance.now() > end) throw error;
    }
  }
}

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Rounds } from '../../src/core/rounds.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function hanging(every?: number) {
  const errors: unknown[] = [];
  const running: { end(error?: Error): void; readonly stop: AbortSignal }[] = [];
  let begun = 0;
  const rounds = new Rounds({
    ...(every !== undefined && { every }),
    round: (stop) =>
      new Promise<void>((resolve, reject) => {
        begun++;
        running.push({ stop, end: (error) => (error ? reject(error) : resolve()) });
      }),
    onError: (error) => errors.push(error),
  });
  const end = async (error?: Error): Promise<void> => {
    running.shift()?.end(error);
    await vi.advanceTimersByTimeAsync(0);
  };
  return { rounds, errors, running, end, begun: () => begun };
}

describe('rounds', () => {
  it('a round that hangs queues no others: after it, the next tick starts one', async () => {
    const { rounds, end, begun } = hanging(1_000);
    await vi.advanceTimersByTimeAsync(60_500);
    expect(begun()).toBe(1);
    await end();
    expect(begun()).toBe(1);
    await vi.advanceTimersByTimeAsync(500);
    expect(begun()).toBe(2);
    await end();
    await rounds.stop();
  });

  it('all wakes during a round share the one after it', async () => {
    const { rounds, end, begun } = hanging();
    for (let n = 0; n < 5; n++) rounds.wake();
    expect(begun()).toBe(1);
    for (let n = 0; n < 5; n++) rounds.wake();
    await end();
    expect(begun()).toBe(2);
    await end();
    expect(begun()).toBe(2);
  });

  it('a failed round is reported and does not end the rounds', async () => {
    const { rounds, end, errors, begun } = hanging(1_000);
    await vi.advanceTimersByTimeAsync(1_000);
    rounds.wake();
    await end(new Error('planted'));
    expect(errors).toHaveLength(1);
    expect(begun()).toBe(2);
    await end();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(begun()).toBe(3);
  });

  it('a stop aborts the round, waits for it, and nothing starts afterwards', async () => {
    const { rounds, end, running, begun } = hanging(1_000);
    rounds.wake();
    rounds.wake();
    let stopped = false;
    const stop = rounds.stop().then(() => {
      stopped = true;
    });
    expect(running[0]?.stop.aborted).toBe(true);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(stopped).toBe(false);
    await end();
    await stop;
    rounds.wake();
    rounds.resume();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(begun()).toBe(1);
  });
});

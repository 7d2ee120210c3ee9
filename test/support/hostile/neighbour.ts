import type { RequestOptions } from 'node:http';
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { exchange } from '../answer.ts';

/**
 * The start and the end of one request, and two times between them in milliseconds: `waited`, for which the server waited
 * for a processor, and `busy`, for which this process did other work and could not read the answer. (To compile the
 * validator of a large schema takes a second.)
 */
export interface Timed {
  readonly began: number;
  readonly ended: number;
  readonly waited: number;
  readonly busy: number;
}

/** A caller who repeats one request, without overlap. */
export interface Asking {
  readonly answers: readonly Timed[];
  readonly failed: number;
  stop(): Promise<void>;
}

export const tookOf = ({ began, ended }: Pick<Timed, 'began' | 'ended'>): number => ended - began;

/** The slowest of the requests that began or ended since this time. */
export const slowestOf = (answers: readonly Timed[], since = 0): number =>
  Math.max(0, ...answers.filter(({ ended }) => ended > since).map(tookOf));

/**
 * Waits `every` milliseconds between an answer and the next request. The first answers load and compile code. `waiting`
 * returns the milliseconds for which the server's process has waited for a processor since its start.
 */
export function keepAsking(options: RequestOptions, every: number, waiting = () => 0): Asking {
  const answers: Timed[] = [];
  let [failed, stopped] = [0, false];
  const once = async (): Promise<Timed> => {
    const [began, before, loop] = [performance.now(), waiting(), performance.eventLoopUtilization()];
    const status = await exchange(options).then(
      (answer) => answer.status,
      () => 0,
    );
    if (status !== 200) failed += 1;
    const { active } = performance.eventLoopUtilization(loop);
    return { began, ended: performance.now(), waited: waiting() - before, busy: active };
  };
  const loop = async (): Promise<void> => {
    for (let n = 0; n < 10; n++) await once();
    for (; !stopped; await pause(every)) answers.push(await once());
  };
  const running = loop();
  return {
    answers,
    get failed() {
      return failed;
    },
    stop: () => {
      stopped = true;
      return running;
    },
  };
}

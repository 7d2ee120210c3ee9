import type { RequestOptions } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { exchange } from '../answer.ts';

/** The start and the end of one request, and how long the server waited for a processor meanwhile (milliseconds). */
export interface Timed {
  readonly began: number;
  readonly ended: number;
  readonly waited: number;
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
    const [began, before] = [performance.now(), waiting()];
    const status = await exchange(options).then(
      (answer) => answer.status,
      () => 0,
    );
    if (status !== 200) failed += 1;
    return { began, ended: performance.now(), waited: waiting() - before };
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

import { type ChildProcess, fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../../src/config/package.ts';

export interface Count {
  readonly connections: number;
  readonly requests: number;
  /** Bytes that the kernel took. A few megabytes of them can lie in its buffers, unread by the client. */
  readonly bytes: number;
}

export interface HostileServer {
  readonly origin: string;
  readonly names: readonly string[];
  /** By answer: the origins that should speak TLS. */
  readonly tls: Readonly<Record<string, string>>;
  /** Makes `<key>/<rest of the path>` answer with this JSON instead of the answer that the path names. */
  honest(paths: Readonly<Record<string, string>>): Promise<void>;
  counts(): Promise<Readonly<Record<string, Count>>>;
  close(): void;
}

interface Message {
  readonly ports?: Readonly<Record<string, number>>;
  readonly names?: readonly string[];
  readonly counts?: Readonly<Record<string, Count>>;
}

export async function openHostileServer(seed: number): Promise<HostileServer> {
  const program = fileURLToPath(new URL('test/support/hostile/http-server.mjs', packageRoot));
  const child = fork(program, [String(seed)], { execArgv: [], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const { ports = {}, names = [] } = await next(child);
  const { plain, ...tls } = ports;
  // One message waits for its answer at a time.
  let turn: Promise<Message> = Promise.resolve({});
  const tell = (message: object | string): Promise<Message> => {
    turn = turn.then(() => {
      const answer = next(child);
      child.send(message);
      return answer;
    });
    return turn;
  };
  return {
    origin: `http://127.0.0.1:${plain}`,
    names,
    tls: Object.fromEntries(Object.entries(tls).map(([name, port]) => [name, `https://127.0.0.1:${port}`])),
    honest: async (paths) => void (await tell({ honest: paths })),
    counts: async () => (await tell('counts')).counts ?? {},
    close: () => child.disconnect(),
  };
}

function next(child: ChildProcess): Promise<Message> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null): void => reject(new Error(`the hostile server ended with ${code}`));
    child.once('exit', ended);
    child.once('message', (message) => {
      child.off('exit', ended);
      resolve(message as Message); // the cast is sound, because the program of the tests sends these messages only
    });
  });
}

export interface Watched {
  /** Longest time in milliseconds for which one task held the event loop. */
  readonly held: number;
  /** The largest growth of this process's memory in bytes. */
  readonly grown: number;
}

const PERIOD = 10;
const used = (): number => {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

/** Milliseconds of processor time of this process's main thread. */
const busy = (): number => Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;

/** Milliseconds of processor time for which this work holds the event loop: a measure for others in the same process. */
export function heldBy(work: () => unknown): number {
  const began = busy();
  work();
  return busy() - began;
}

/**
 * Watches the event loop and the memory. A delay counts only as far as this thread used processor time in it. So other
 * threads, and other programs on a busy machine, add nothing.
 */
export function watchProcess(): () => Watched {
  const before = used();
  let [held, most, last, spent] = [0, before, performance.now(), busy()];
  const timer = setInterval(() => {
    held = Math.max(held, Math.min(performance.now() - last - PERIOD, busy() - spent));
    most = Math.max(most, used());
    [last, spent] = [performance.now(), busy()];
  }, PERIOD);
  return () => {
    clearInterval(timer);
    return { held: Math.round(held), grown: most - before };
  };
}

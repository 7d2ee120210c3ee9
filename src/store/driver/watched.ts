import type { Database } from './postgres.ts';

export interface Pool {
  readonly name: string;
  readonly connections: number;
  readonly running: number;
}

/** Called when a statement starts. The returned function must be called when the statement ends. */
export type OnStatement = (pool: string) => (failed: boolean) => void;

interface WatchOptions {
  readonly name: string;
  readonly connections: number;
  readonly onStatement?: OnStatement | undefined;
  /** The error of statements while the server must not be used (open/fence.ts). */
  readonly closed?: (() => Error | undefined) | undefined;
}

export function watched(
  db: Database,
  { name, connections, onStatement, closed }: WatchOptions,
): { readonly db: Database; readonly pool: Pool } {
  let running = 0;
  const under = <T>(run: () => Promise<T>): Promise<T> => {
    const refused = closed?.();
    if (refused) return Promise.reject(refused);
    const answer = run();
    const ended = onStatement?.(name);
    running++;
    const over = (failed: boolean): void => {
      running--;
      ended?.(failed);
    };
    // Return the original promise, because one more promise for each statement would cost measurable time.
    answer.then(
      () => over(false),
      () => over(true),
    );
    return answer;
  };
  return {
    db: {
      query: (statement) => under(() => db.query(statement)),
      read: (statement) => under(() => db.read(statement)),
      script: (text) => under(() => db.script(text)),
      listen: (channel, heard) => db.listen(channel, heard),
      close: () => db.close(),
    },
    pool: {
      name,
      connections,
      get running() {
        return running;
      },
    },
  };
}

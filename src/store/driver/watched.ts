import type { Database } from './postgres.ts';

/** Statements of a pool that have not been answered yet. */
export interface Pool {
  readonly name: string;
  readonly connections: number;
  readonly running: number;
}

/** Told of a statement that begins; what it returns, of its end. */
export type OnStatement = (pool: string) => (failed: boolean) => void;

/** The same database, and what is under way on it. */
export function watched(
  db: Database,
  { name, connections, onStatement }: { name: string; connections: number; onStatement?: OnStatement | undefined },
): { readonly db: Database; readonly pool: Pool } {
  let running = 0;
  const under = <T>(answer: Promise<T>): Promise<T> => {
    const ended = onStatement?.(name);
    running++;
    const over = (failed: boolean): void => {
      running--;
      ended?.(failed);
    };
    // The caller waits for the answer itself: one promise more in each statement's way would be felt.
    answer.then(
      () => over(false),
      () => over(true),
    );
    return answer;
  };
  return {
    db: {
      query: (statement) => under(db.query(statement)),
      read: (statement) => under(db.read(statement)),
      script: (text) => under(db.script(text)),
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

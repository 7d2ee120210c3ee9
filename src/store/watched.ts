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
  const counted = async <T>(run: () => Promise<T>): Promise<T> => {
    const ended = onStatement?.(name);
    let failed = true;
    running++;
    try {
      const result = await run();
      failed = false;
      return result;
    } finally {
      running--;
      ended?.(failed);
    }
  };
  return {
    db: {
      query: (statement) => counted(() => db.query(statement)),
      read: (statement) => counted(() => db.read(statement)),
      script: (text) => counted(() => db.script(text)),
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

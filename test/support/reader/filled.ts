import { parentPort, workerData } from 'node:worker_threads';
import { sql } from '../../../src/core/sql.ts';
import { hostReader } from '../../../src/sources/reader/host.ts';
import type { Source } from '../../../src/sources/source.ts';
import type { Opening } from '../../../src/sources/thread/protocol.ts';
import { openDatabase } from '../../../src/store/driver/postgres.ts';

/** A thread that keeps all that its server sends, until its memory is full. */
const opening = workerData as Opening;
const target = opening.settings.address;
const never = (): never => {
  throw new Error('not planted');
};
const source: Source = {
  check: never,
  installation: never,
  begin: async () => {
    const kept: object[] = [];
    for (;;) {
      const db = openDatabase({ target, connections: 1, statementTimeout: 10_000, name: 'filled', foreign: true });
      kept.push(...(await db.query(sql`SELECT ${1}::integer AS a, 'x' AS b`)));
      await db.close();
    }
  },
  load: never,
  changes: never,
  reread: never,
  missing: never,
  behind: never,
  unmapped: never,
  listen: never,
  forget: never,
  close: async () => undefined,
};
if (parentPort) hostReader(source, parentPort, opening);

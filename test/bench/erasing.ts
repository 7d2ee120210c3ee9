import { once } from 'node:events';
import type { Fragment } from '../../src/core/sql.ts';
import { erase } from '../../src/privacy/erase.ts';
import { type Database, openDatabase } from '../../src/store/driver/postgres.ts';
import { KEYS } from '../support/keys.ts';

/** What this process tells about its erasure. Each statement is a transaction, so the longest is also the longest lock. */
export interface Erased {
  readonly messages: number;
  readonly seconds: number;
  /** CPU seconds of this process, without PostgreSQL. */
  readonly cpu: number;
  readonly statements: number;
  /** Milliseconds. */
  readonly longest: number;
  /** Resident memory in MB before the erasure, and its peak. */
  readonly before: number;
  readonly peak: number;
}

const [target = '', id = ''] = process.argv.slice(2);
const db = openDatabase({ target: JSON.parse(target), connections: 1, statementTimeout: 600_000, name: 'erasing' });
let [statements, longest] = [0, 0];
const timed: Database = {
  ...db,
  query: async <Row extends object>(statement: Fragment) => {
    const began = performance.now();
    try {
      return await db.query<Row>(statement);
    } finally {
      statements++;
      longest = Math.max(longest, performance.now() - began);
    }
  },
};
process.stderr.write('ready\n');
await once(process.stdin, 'data');
const before = process.memoryUsage.rss() / 2 ** 20;
const [began, used] = [performance.now(), process.cpuUsage()];
const certificate = await erase(timed, KEYS, { kind: 'contact', id, reason: 'bench' });
const { user, system } = process.cpuUsage(used);
const told: Erased = {
  ...{ messages: certificate?.counts['messages'] ?? 0, seconds: (performance.now() - began) / 1000 },
  ...{ cpu: (user + system) / 1e6, statements, longest, before, peak: process.resourceUsage().maxRSS / 1024 },
};
process.stdout.write(JSON.stringify(told));
await db.close();
process.exit();

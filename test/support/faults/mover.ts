import { moveOrganization } from '../../../src/store/cells/move.ts';
import { openDatabase } from '../../../src/store/driver/postgres.ts';

/** Moves an organization, and kills this process at a step. Run by test/support/cells.ts. */
const [sourceUrl = '', targetUrl = '', step = '', tenant = '1'] = process.argv.slice(2);
const open = (side: 'source' | 'target', name: string, statementTimeout: number) =>
  openDatabase({ target: side === 'source' ? sourceUrl : targetUrl, connections: 1, statementTimeout, name });
await moveOrganization({
  sides: {
    ...{ tenant, source: open('source', 'source', 60_000), target: open('target', 'target', 60_000), open },
    sameKey: (one, other) => one === other,
    at: (reached) => {
      if (reached === step) process.kill(process.pid, 'SIGKILL');
    },
  },
  ...{ from: sourceUrl, baseUrl: 'https://cell2.example.com', keepDays: 7, keepGiven: false },
  ...{ say: () => undefined, progress: () => undefined },
});
process.exit(0);

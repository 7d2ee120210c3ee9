import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { packageRoot } from '../../src/config/package.ts';

/**
 * The slowest files, slowest first (measured 28 November 2026). A run starts with them, so that none runs alone at the
 * end. With Vitest's own order, largest file first, only one worker was busy in the last 40 s.
 */
const LONGEST = [
  'faults/patroni',
  'faults/patroni-machines',
  'faults/webhooks',
  'sources/chatwoot/write-back-changes',
  'sources/chatwoot/write-back-kills',
  'faults/writes',
  'hostile/search-bounds',
  'documents/commands',
  'faults/degraded',
  'hostile/poison/import-and-reads',
  'hostile/http-servers',
  'faults/realtime',
  'sources/follow/bounds',
  'faults/tasks',
  'hostile/sources-away',
  'events/webhooks/webhooks',
  'events/realtime/protocol',
  'hostile/sources',
  'hostile/neighbours',
  'surfaces/console/attacks',
  'agents/driver',
  'sources/reader/reader',
  'sources/follow/turns',
  'faults/standby',
  'sources/chatwoot/write-back',
  'events/realtime/stream',
  'surfaces/docs/docs',
  'laws/live',
  'laws/matrix',
  'audit/records',
  'faults/sources',
  'audit/losses',
  'surfaces/console/console-flow',
  'cli/source',
  'surfaces/console/managed-flow',
  'hostile/poison/following',
  'tasks/states',
  'hostile/connections',
  'audit/blocks',
  'faults/rolling',
  'surfaces/oauth/consent-flow',
  'sources/writer/writer',
  'surfaces/console/managed',
  'hostile/held',
  'gateway/approvals/remote',
  'surfaces/oauth/consent',
  'surfaces/mcp/parity',
  'store/driver/statements',
  'laws/interference',
  'sources/files/kill',
  'hostile/postgres-server',
  'sources/chatwoot/write-back-replies',
  'events/realtime/upgrade',
  'hostile/turns',
  'laws/canaries',
  'hostile/postgres-bounds',
  'cli/person',
].map((name) => `test/${name}.test.ts`);

const rank = ({ moduleId, project }: TestSpecification): number => {
  const at = LONGEST.indexOf(relative(packageRoot.pathname, moduleId));
  // A process is shared only by files that follow one another.
  return (project.name === 'shared' ? 2 * LONGEST.length : 0) + (at < 0 ? LONGEST.length : at);
};

export default class Order extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}

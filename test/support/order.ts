import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { packageRoot } from '../../src/config/package.ts';

/**
 * The slowest files, slowest first (measured 22 November 2026). A run starts with them, so that none runs alone at the
 * end. With Vitest's own order, largest file first, only one worker was busy in the last 40 s.
 */
const LONGEST = [
  'faults/writes',
  'faults/webhooks',
  'documents/commands',
  'faults/realtime',
  'surfaces/fuzz',
  'hostile/connections',
  'events/realtime/protocol',
  'surfaces/docs/docs',
  'hostile/lives',
  'faults/tasks',
  'surfaces/oauth/consent-flow',
  'faults/degraded',
  'store/embedded/embedded',
  'events/webhooks/webhooks',
  'laws/interference',
  'surfaces/oauth/consent',
  'events/realtime/stream',
  'surfaces/mcp/parity',
  'surfaces/http/http',
  'faults/rolling',
  'auth/oauth/races',
  'tasks/states',
  'sources/files/kill',
  'store/embedded/binaries',
  'faults/events',
  'faults/realtime-store',
  'hostile/sources',
  'hostile/sources-away',
  'faults/sources',
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

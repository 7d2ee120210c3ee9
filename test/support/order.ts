import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { packageRoot } from '../../src/config/package.ts';

/**
 * The slowest files, slowest first (measured 30 November 2026). A run starts with them, so that none runs alone at the
 * end. With Vitest's own order, largest file first, only one worker was busy in the last 40 s.
 */
const LONGEST = [
  'faults/patroni',
  'hostile/poison/import-and-reads',
  'laws/canaries',
  'laws/interference',
  'hostile/search-bounds',
  'cli/source',
  'sources/chatwoot/write-back-kills',
  'store/cells/refusals',
  'store/cells/mistakes',
  'faults/rolling',
  'documents/commands',
  'cli/secrets',
  'surfaces/http/http',
  'faults/webhooks',
  'faults/writes',
  'sources/chatwoot/write-back-changes',
  'faults/isolated',
  'surfaces/mcp/parity',
  'hostile/http-servers',
  'store/cells/kills',
  'integrations/conformance',
  'laws/matrix',
  'integrations/inspector',
  'store/cells/roles',
  'faults/patroni-machines',
  'faults/degraded',
  'faults/events',
  'sources/chatwoot/write-back-pair',
  'hostile/statements',
  'faults/realtime',
  'auth/oauth/clock',
  'laws/live',
  'surfaces/console/managed-flow',
  'hostile/lives',
  'hostile/fence',
  'hostile/streams',
  'store/driver/statements',
  'surfaces/oauth/profiles',
  'gateway/approvals/race',
  'sources/follow/owed',
  'store/clock',
  'surfaces/console/console-flow',
  'hostile/poison/following',
  'audit/losses',
  'surfaces/oauth/consent-flow',
  'surfaces/console/managed',
  'sources/follow/bounds',
  'hostile/sources',
  'process/endings',
  'surfaces/a2a/parity',
  'surfaces/docs/docs',
  'audit/blocks',
  'auth/oauth/authorize',
  'faults/tasks',
  'sources/files/kill',
  'store/embedded/binaries',
  'hostile/sources-away',
  'deploy/package',
  'sources/writer/writer',
  'surfaces/console/attacks',
  'hostile/connections',
  'faults/store',
  'cli/doctor',
  'sources/chatwoot/bounds',
  'sources/engine/html',
  'sources/reader/reader',
  'tasks/states',
  'sources/follow/follow',
  'faults/hosts',
  'surfaces/oauth/consent',
  'events/webhooks/webhooks',
  'auth/oauth/races',
  'laws/new',
  'faults/sources',
  'cli/demo',
  'cli/workers',
  'surfaces/console/source-removal',
  'store/administration/removal',
  'events/realtime/protocol',
  'events/realtime/stream',
  'events/webhooks/queue',
  'sources/chatwoot/write-back-replies',
  'surfaces/http/bodies',
  'sources/chatwoot/write-back',
  'store/embedded/platform',
  'sources/follow/installation',
  'store/embedded/embedded',
  'hostile/held',
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

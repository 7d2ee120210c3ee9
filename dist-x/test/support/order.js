import { relative } from 'node:path';
import { BaseSequencer } from 'vitest/node';
import { packageRoot } from '../../src/config/package.js';
/**
 * The slowest files, slowest first (measured 27 November 2026). A run starts with them, so that none runs alone at the
 * end. With Vitest's own order, largest file first, only one worker was busy in the last 40 s.
 */
const LONGEST = [
    'faults/patroni',
    'faults/webhooks',
    'documents/commands',
    'faults/writes',
    'hostile/search-bounds',
    'faults/realtime',
    'hostile/http-servers',
    'hostile/poison/import-and-reads',
    'hostile/lives',
    'faults/tasks',
    'faults/degraded',
    'events/webhooks/webhooks',
    'hostile/sources-away',
    'sources/follow/bounds',
    'hostile/sources',
    'events/realtime/stream',
    'events/realtime/protocol',
    'surfaces/console/console-flow',
    'surfaces/docs/docs',
    'surfaces/console/managed-flow',
    'faults/events',
    'audit/losses',
    'faults/sources',
    'tasks/states',
    'hostile/connections',
    'sources/reader/reader',
    'agents/driver',
    'surfaces/console/attacks',
    'cli/source',
    'audit/records',
    'sources/chatwoot/write-back',
    'faults/standby',
    'sources/writer/writer',
    'faults/rolling',
    'surfaces/oauth/consent-flow',
    'laws/cells',
    'process/endings',
    'sources/files/kill',
    'surfaces/oauth/consent',
    'laws/interference',
    'surfaces/mcp/parity',
    'store/driver/statements',
    'auth/oauth/races',
    'hostile/hosted-clients',
    'laws/canaries',
    'hostile/postgres-server',
    'hostile/streams',
    'gateway/quota',
    'surfaces/http/http',
].map((name) => `test/${name}.test.ts`);
const rank = ({ moduleId, project }) => {
    const at = LONGEST.indexOf(relative(packageRoot.pathname, moduleId));
    // A process is shared only by files that follow one another.
    return (project.name === 'shared' ? 2 * LONGEST.length : 0) + (at < 0 ? LONGEST.length : at);
};
export default class Order extends BaseSequencer {
    async sort(files) {
        return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
    }
}
//# sourceMappingURL=order.js.map
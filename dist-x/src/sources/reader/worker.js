import { parentPort, workerData } from 'node:worker_threads';
import { SOURCE_KINDS } from '../openers.js';
import { hostReader } from './host.js';
// The thread of one source. src/sources/thread/thread.ts starts it with these data.
const opening = workerData;
if (parentPort)
    hostReader(SOURCE_KINDS[opening.kind].open(opening.settings), parentPort, opening);
//# sourceMappingURL=worker.js.map
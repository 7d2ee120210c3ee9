import { parentPort, workerData } from 'node:worker_threads';
import { SOURCE_KINDS } from '../kinds.ts';
import { host } from './host.ts';
import type { Opening } from './protocol.ts';

// The thread of one source. src/sources/reader/thread.ts starts it with these data.
const opening = workerData as Opening;
if (parentPort) host(SOURCE_KINDS[opening.kind].open(opening.settings), parentPort, opening);

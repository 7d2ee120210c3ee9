import { parentPort, workerData } from 'node:worker_threads';
import { SOURCE_KINDS } from '../openers.ts';
import type { Opening } from '../thread/protocol.ts';
import { hostReader } from './host.ts';

// The thread of one source. src/sources/thread/thread.ts starts it with these data.
const opening = workerData as Opening;
if (parentPort) hostReader(SOURCE_KINDS[opening.kind].open(opening.settings), parentPort, opening);

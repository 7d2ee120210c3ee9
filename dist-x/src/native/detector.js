import { parentPort } from 'node:worker_threads';
import { detectLanguage } from './language.js';
/** The thread that detects languages (thread.ts starts it). */
parentPort?.on('message', ({ id, text }) => {
    parentPort?.postMessage({ id, language: detectLanguage(text) });
});
//# sourceMappingURL=detector.js.map
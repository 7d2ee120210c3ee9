import { parentPort } from 'node:worker_threads';
import { detectLanguage } from './language.ts';
import type { Reply } from './thread.ts';

/** The thread that detects languages (thread.ts starts it). */
parentPort?.on('message', ({ id, text }: { readonly id: number; readonly text: string }) => {
  parentPort?.postMessage({ id, language: detectLanguage(text) } satisfies Reply);
});

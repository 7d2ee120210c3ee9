import { setTimeout as pause } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { openChatwootApi } from '../../../src/sources/chatwoot/write-back.ts';
import { hostWriter, type WriterOpening } from '../../../src/sources/writer/host.ts';

/**
 * A thread of writes with planted faults, as a hostile helpdesk could cause them. The text of a note names the fault,
 * and says whether Chatwoot stores the note first. PLANTED_START in the environment: milliseconds until the thread
 * starts.
 */
const opening = workerData as WriterOpening;
const { address, token } = opening.settings;
const desk = openChatwootApi(opening.settings);

const HARM: Readonly<Record<string, () => unknown>> = {
  hang: () => {
    for (;;);
  },
  throw: () =>
    setImmediate(() => {
      throw new Error(`with ${address} and ${token}`, { cause: new Error(`of ${token}`) });
    }),
  fill: () => {
    const kept: number[][] = [];
    for (;;) kept.push(new Array(100_000).fill(Math.random()));
  },
  exit: () => process.exit(),
  tell: () => Promise.reject(new Error(`with ${address} and ${token}`, { cause: new Error(`of ${token}`) })),
};

await pause(Number(process.env['PLANTED_START'] ?? 0));
if (parentPort)
  hostWriter(
    {
      ...desk,
      addNote: async (place, note, signal) => {
        const [, when, how = ''] = /^Planted (before|after) (\w+)/.exec(note.text) ?? [];
        if (when === undefined) return desk.addNote(place, note, signal);
        if (when === 'after') await desk.addNote(place, note, signal);
        await HARM[how]?.();
        return new Promise(() => undefined);
      },
    },
    parentPort,
    opening,
  );

import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import { openGivenKeys } from '../auth/key-file.ts';
import { sourceDigest } from '../privacy/digests.ts';
import { askComparison, findingsOf, readSources, type SourceRecord } from '../store/administration/sources.ts';
import type { Database } from '../store/driver/postgres.ts';
import type { CommandContext, RunAction } from './context.ts';
import { Refused } from './output.ts';
import { openProgress } from './progress.ts';
import { detailsOf, findingText, source, sourceDocument, sourceText } from './source-view.ts';

/** Milliseconds between two checks whether a running gateway has finished the comparison. */
const LOOK = 500;
/** If nobody holds a source for so many milliseconds, no gateway runs: one that runs takes it within a second. */
const ALONE = 3_000;

export function checkCommand(group: Command, register: RunAction): void {
  const command = group
    .command('check <SRC>')
    .description('check the rights and the schema of a source, then compare all its records with the store');
  register(command, async (context) => {
    const { out, store } = context;
    const { db } = await store();
    const before = await source(db, command.args[0] ?? '');
    if (before.state === 'paused')
      throw new Refused(`Source ${before.id} is paused. Run: gateway source resume ${before.id}`);
    if (before.state === 'removing') throw new Refused(`Source ${before.id} is being removed.`);
    const asked = await askComparison(db, before.id);
    if (!before.held) await compareHere(context, before.id);
    const after = await compared(db, before.id, asked ?? new Date(), () => compareHere(context, before.id));
    const findings = findingsOf(after);
    for (const finding of findings) out.note(findingText(finding));
    const details = await detailsOf(db, after);
    out.result(sourceDocument(after, details), sourceText(after, details));
    if (findings.some(({ level }) => level !== 'warning')) process.exitCode = 1;
  });
}

/** Runs the source in this process until the comparison has ended, because no gateway runs it. */
async function compareHere({ config, store }: CommandContext, id: string): Promise<void> {
  const [{ takeSource, comparisonDue }, { runSource }, { openStoredReader }, { explainSource }] = await Promise.all([
    import('../sources/follow/state.ts'),
    import('../sources/follow/runner.ts'),
    import('../sources/reader/reader.ts'),
    import('../sources/follow/explain.ts'),
  ]);
  const { db, slow } = await store();
  const row = await takeSource(db, randomUUID(), id);
  if (!row) return;
  const keys = await openGivenKeys(config);
  const done = new AbortController();
  const look = setInterval(() => {
    comparisonDue(db, row).then(
      (due) => due || done.abort(),
      () => undefined,
    );
  }, LOOK);
  const stores = { db, writer: slow };
  // The state of the source also has each error, and `compared` reads the state. So `onError` does nothing.
  const told = { explain: explainSource, onError: () => undefined };
  await runSource(
    { ...stores, ...told, open: (one) => openStoredReader(keys, one), digest: () => sourceDigest(db, keys) },
    row,
    done.signal,
  );
  clearInterval(look);
}

/**
 * Waits until the comparison has ended. Throws if the source fails meanwhile. When the gateway that ran the source has
 * stopped and no other one takes it, `compare` runs the comparison here.
 */
async function compared(db: Database, id: string, asked: Date, compare: () => Promise<void>): Promise<SourceRecord> {
  const progress = openProgress();
  let held = performance.now();
  try {
    for (;;) {
      const [record] = await readSources(db, id);
      if (!record) throw new Refused(`Source ${id} was removed.`);
      if (record.compared_at && record.compared_at >= asked) return record;
      if (record.last_error !== null) throw new Refused(record.last_error);
      if (record.state === 'removing') throw new Refused(`Source ${id} is being removed.`);
      if (record.state === 'paused') throw new Refused(`Source ${id} was paused.`);
      if (record.progress) progress.show(record.progress);
      if (record.held) held = performance.now();
      if (performance.now() - held > ALONE) {
        await compare();
        held = performance.now();
      }
      await pause(LOOK);
    }
  } finally {
    progress.end();
  }
}

import type { Keyring } from '../../auth/keys.ts';
import { type StoredSource, settingsOf } from '../follow/open.ts';
import type { SourceKind, SourceSettings } from '../kinds.ts';
import type { Change, Source, SourcePage } from '../source.ts';
import { type Parted, type ReaderMethod, secretsIn } from '../thread/protocol.ts';
import { entryIn, openThread, type ThreadOptions } from '../thread/thread.ts';

/** The rows that stopped a reader of this process, by source. Beyond the limit, the oldest rows are forgotten. */
const skipped = new Map<string, Set<string>>();
const SKIPPED = 1_000;

export const openStoredReader = (keys: Pick<Keyring, 'open'>, stored: StoredSource): Source => {
  const { kind, settings } = settingsOf(keys, stored);
  return openReader(kind, settings);
};

/**
 * Opens a source in a thread of its own. The thread communicates with the server of the helpdesk, and maps, checks and
 * converts its rows. If the thread ends, all calls fail, and the source is opened again. A row that makes a thread hang
 * is rejected.
 */
export function openReader(kind: SourceKind, settings: SourceSettings, options: ThreadOptions = {}): Source {
  const skips = skipped.get(settings.reader) ?? new Set<string>();
  let changed: () => void = () => undefined;
  let walks = 0;
  const thread = openThread<ReaderMethod>(
    {
      opening: { kind, settings, skipped: [...skips] },
      secrets: secretsIn(settings.address, settings.api?.token),
      texts: TEXTS,
    },
    { entry: entryIn('reader'), ...options },
    { changed: () => changed(), hung: (row) => skip(settings.reader, skips, row) },
  );
  const { call } = thread;
  /** A page is sent in parts, so that this thread can do other work between two parts. */
  const paged = async <Of extends { readonly changes: readonly Change[] }>(
    method: ReaderMethod,
    ...args: readonly unknown[]
  ): Promise<Of | undefined> => {
    const first = await call<Parted<Of> | undefined>(method, ...args);
    if (first === undefined) return undefined;
    const changes = [...first.page.changes];
    for (let { left } = first; left > 0; left--) changes.push(...(await call<readonly Change[]>('part', first.of)));
    return { ...first.page, changes };
  };
  const page = async (method: 'load' | 'changes', after: unknown): Promise<SourcePage> =>
    (await paged<SourcePage>(method, after)) ?? { changes: [], after: null, more: false };
  return {
    check: () => call('check'),
    installation: () => call('installation'),
    begin: () => call('begin'),
    load: (after) => page('load', after),
    changes: (after) => page('changes', after),
    reread: async function* (from) {
      const walk = ++walks;
      await call('reread', walk, from);
      try {
        for (;;) {
          const next = await paged('next', walk);
          if (next === undefined) return;
          yield next.changes;
        }
      } finally {
        if (!thread.ended) await call('end', walk);
      }
    },
    missing: (of, externalIds) => call('missing', of, externalIds),
    behind: (after) => call('behind', after),
    unmapped: () => call('unmapped'),
    listen: (hear) => {
      changed = hear;
      // If this fails, the reader has ended, and the next call reports it.
      call('listen').catch(() => undefined);
      return async () => {
        changed = () => undefined;
        if (!thread.ended) await call('unlisten').catch(() => undefined);
      };
    },
    forget: () => call('forget'),
    close: () => thread.close(),
  };
}

function skip(source: string, rows: Set<string>, row: string): void {
  rows.delete(row);
  rows.add(row);
  for (const oldest of rows) if (rows.size > SKIPPED) rows.delete(oldest);
  skipped.set(source, rows);
}

const TEXTS = {
  hangs: 'The reader of the source stopped responding, so the gateway ended it and tries again.',
  late: 'The source did not answer in time, so the gateway ended its reader. The gateway tries again.',
  ended: 'The reader of the source ended unexpectedly. The gateway tries again.',
};

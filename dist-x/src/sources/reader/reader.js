import { settingsOf } from '../follow/open.js';
import { secretsOf } from '../thread/protocol.js';
import { entryIn, openThread } from '../thread/thread.js';
/** The rows that stopped a reader of this process, by source. Beyond the limit, the oldest rows are forgotten. */
const skipped = new Map();
const SKIPPED = 1_000;
export const openStoredReader = (keys, stored) => {
    const { kind, settings } = settingsOf(keys, stored);
    return openReader(kind, settings);
};
/**
 * Opens a source in a thread of its own. The thread communicates with the server of the helpdesk, and maps, checks and
 * converts its rows. If the thread ends, all calls fail, and the source is opened again. A row that makes a thread hang
 * is rejected.
 */
export function openReader(kind, settings, options = {}) {
    const skips = skipped.get(settings.reader) ?? new Set();
    let changed = () => undefined;
    let walks = 0;
    const thread = openThread({ opening: { kind, settings, skipped: [...skips] }, secrets: secretsOf(settings.address), texts: TEXTS }, { entry: entryIn('reader'), ...options }, { changed: () => changed(), hung: (row) => skip(settings.reader, skips, row) });
    const { call } = thread;
    /** A page is sent in parts, so that this thread can do other work between two parts. */
    const paged = async (method, ...args) => {
        const first = await call(method, ...args);
        if (first === undefined)
            return undefined;
        const changes = [...first.page.changes];
        for (let { left } = first; left > 0; left--)
            changes.push(...(await call('part', first.of)));
        return { ...first.page, changes };
    };
    const page = async (method, after) => (await paged(method, after)) ?? { changes: [], after: null, more: false };
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
                    if (next === undefined)
                        return;
                    yield next.changes;
                }
            }
            finally {
                if (!thread.ended)
                    await call('end', walk);
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
                if (!thread.ended)
                    await call('unlisten').catch(() => undefined);
            };
        },
        forget: () => call('forget'),
        close: () => thread.close(),
    };
}
function skip(source, rows, row) {
    rows.delete(row);
    rows.add(row);
    for (const oldest of rows)
        if (rows.size > SKIPPED)
            rows.delete(oldest);
    skipped.set(source, rows);
}
const TEXTS = {
    hangs: 'The reader of the source stopped responding, so the gateway ended it and tries again.',
    late: 'The source did not answer in time, so the gateway ended its reader. The gateway tries again.',
    ended: 'The reader of the source ended unexpectedly. The gateway tries again.',
};
//# sourceMappingURL=reader.js.map
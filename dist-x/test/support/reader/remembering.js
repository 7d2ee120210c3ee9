import { parentPort, workerData } from 'node:worker_threads';
import { Polled } from '../../../src/sources/chatwoot/poll-known.js';
import { SOURCE_KINDS } from '../../../src/sources/openers.js';
import { hostReader } from '../../../src/sources/reader/host.js';
/**
 * A thread of a real source. Before its first real page, both of its memories get more rows than they keep: the place
 * `{ round, from }` gives a page of such rows. A reader with so many real rows would need minutes to read them.
 */
const opening = workerData;
const real = SOURCE_KINDS[opening.kind].open(opening.settings);
const ROWS = 200_000;
const PAGE = 10_000;
const polled = new Polled();
const source = {
    ...real,
    changes: async (after) => {
        const { round, from } = after;
        if (typeof round !== 'number' || typeof from !== 'number')
            return real.changes(after);
        const changes = Array.from({ length: PAGE }, (_, n) => {
            const row = `messages/${1_000_000_000 + from + n}`;
            // A new string, because the memories of a real source share no string with the page.
            polled.remember(`messages/${1_000_000_000 + from + n}`, `-${1e18 + (from + n) * 1e9}`);
            return { from: row, gone: { of: 'message', external_id: `${round} ${row}` } };
        });
        const ends = from + PAGE >= ROWS;
        // The first round ends. The second round is still running when the real page comes.
        const more = !ends || round === 2;
        if (!more)
            polled.endRound();
        return { changes, after: ends ? { round: round + 1, from: 0 } : { round, from: from + PAGE }, more };
    },
    // Keeps `polled` from being collected.
    unmapped: async () => ({ known: Number(polled.of('messages/1000000000') !== undefined) }),
};
if (parentPort)
    hostReader(source, parentPort, opening);
//# sourceMappingURL=remembering.js.map
import { parentPort, workerData } from 'node:worker_threads';
import { sql } from '../../../src/core/sql.js';
import { hostReader } from '../../../src/sources/reader/host.js';
import { openDatabase } from '../../../src/store/driver/postgres.js';
/** A thread that keeps all that its server sends, until its memory is full. */
const opening = workerData;
const target = opening.settings.address;
const never = () => {
    throw new Error('not planted');
};
const source = {
    check: never,
    installation: never,
    begin: async () => {
        const kept = [];
        for (;;) {
            const db = openDatabase({ target, connections: 1, statementTimeout: 10_000, name: 'filled', foreign: true });
            kept.push(...(await db.query(sql `SELECT ${1}::integer AS a, 'x' AS b`)));
            await db.close();
        }
    },
    load: never,
    changes: never,
    reread: never,
    missing: never,
    behind: never,
    unmapped: never,
    listen: never,
    forget: never,
    close: async () => undefined,
};
if (parentPort)
    hostReader(source, parentPort, opening);
//# sourceMappingURL=filled.js.map
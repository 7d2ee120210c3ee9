import postgres from 'postgres';
import { openGateway } from '../../src/gateway/open.js';
import { openDatabase } from '../../src/store/driver/postgres.js';
import { issue } from '../support/credentials.js';
import { KEYS } from '../support/keys.js';
import { mapAuthors } from './notes.js';
import { median } from './report.js';
const TOMBSTONES = 1_000_000;
const RETRIES = 2_000;
/**
 * Compares the latency of a retry without tombstones and with a million tombstones. A tombstone is the row without
 * content that an old write leaves in the ledger of writes. Also prints the plan of the look-up.
 */
export async function tombstones(store, visitor, print) {
    const target = { host: store.host, port: store.port, database: 'gateway', username: 'postgres' };
    const sql = postgres({ ...target, max: 1, onnotice: () => undefined });
    const db = openDatabase({ target, connections: 2, statementTimeout: 600_000, name: 'tombstones' });
    const writer = openDatabase({ target, connections: 1, statementTimeout: 600_000, name: 'tombstones', keyed: true });
    const pools = { db, slow: db, writers: [writer] };
    const corridor = await openGateway({ store: pools, keys: KEYS, checkEvery: 1_000_000, onDefect: () => undefined });
    const tool = corridor.registry.get('visitor_note_add');
    if (!tool)
        throw new Error('no visitor_note_add');
    const { token, credential } = await issue(sql, 1);
    await mapAuthors(sql, credential);
    const input = { visitor_id: visitor, text: 'Once.' };
    const call = { tool, resource: 'rest', bearer: token, input, idempotencyKey: 'tombstones' };
    const retries = async () => {
        const times = [];
        for (let i = 0; i < RETRIES; i++) {
            const began = performance.now();
            const outcome = await corridor.call(call);
            times.push(performance.now() - began);
            if (!('body' in outcome))
                throw new Error('a retry was refused');
        }
        return median(times);
    };
    await retries();
    const before = await retries();
    await sql `INSERT INTO gateway.operation (operation_id, credential_id, revision, tenant, site, operation, status, created_at)
    SELECT 'op_' || encode(sha256(n::text::bytea), 'hex'), ${credential}, 1, 1, 101, 'visitor_note_add', 'acknowledged', now() - interval '30 days'
      FROM generate_series(1, ${TOMBSTONES}::integer) n`;
    await sql `ANALYZE gateway.operation`;
    await retries();
    const after = await retries();
    print(`retry, median of ${RETRIES}: ${before.toFixed(3)} ms, with ${TOMBSTONES} tombstones ${after.toFixed(3)} ms, ratio ${(after / before).toFixed(2)}`);
    const plan = await sql `EXPLAIN SELECT * FROM gateway.operation WHERE operation_id = ${`op_${'0'.repeat(64)}`}`;
    for (const line of plan)
        print(`  ${line['QUERY PLAN']}`);
    await Promise.all([db.close(), writer.close(), sql.end()]);
}
//# sourceMappingURL=tombstones.js.map
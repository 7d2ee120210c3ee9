import { createHash, randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { sql } from '../../../src/core/sql.js';
import { loadAuthority } from '../../../src/store/calls/authority.js';
import { Caller } from '../../../src/store/calls/caller.js';
import { openReads } from '../../../src/store/calls/reads.js';
import { openDatabase } from '../../../src/store/driver/postgres.js';
import tool from '../../../tools/reporting/ai-conversation-summary.js';
import { freshDatabase } from '../database.js';
import { seed } from './rows.js';
export const ZONES = ['Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'CET'];
export const SCOPES = ['reports_read', 'conversation_read'];
export const EVERYTHING = {
    scopes: [...SCOPES, 'message_content_read', 'contact_read_pii', 'directory_read'],
    dataAccess: ['message_content', 'pii'],
    restrictions: {},
};
export async function openReports() {
    const { db, close } = await clockedStore();
    const digest = createHash('sha256').update(randomUUID()).digest();
    const tenant = await seed(db, digest, ZONES);
    const full = (await loadAuthority(db, digest))?.authority ?? expect.fail('no authority');
    return {
        db,
        tenant,
        full,
        conversations: await db.query(sql `SELECT c.*, o.name AS operator FROM platform.conversation c
      LEFT JOIN platform.operator o ON o.tenant = c.tenant AND o.site = c.site AND o.id = c.operator_id
      WHERE c.tenant = ${tenant}`),
        results: await db.query(sql `SELECT * FROM platform.ai_result WHERE tenant = ${tenant}`),
        site: (n) => `web_${tenant}_${n}`,
        setClock: (moment) => db.query(sql `UPDATE test_clock.clock SET at = ${moment}::text::timestamptz`),
        report: (input, grants) => call(db, full, input, { ...EVERYTHING, ...grants }),
        close,
    };
}
/** A store whose now() comes before that of pg_catalog and reads a table, so that the test sets the clock. */
async function clockedStore() {
    const { name: database, host, port, db: plain, close } = await freshDatabase();
    await plain.script(`CREATE SCHEMA test_clock; CREATE TABLE test_clock.clock AS SELECT pg_catalog.now() AS at;
    CREATE FUNCTION test_clock.now() RETURNS timestamptz STABLE LANGUAGE sql AS 'SELECT at FROM test_clock.clock';
    ALTER DATABASE ${database} SET search_path = test_clock, pg_catalog`);
    const target = { host, port, database, username: 'postgres' };
    const db = openDatabase({ target, connections: 2, statementTimeout: 30_000, name: 'report-test' });
    return { db, close: () => db.close().then(close) };
}
const unused = () => expect.fail('the fast pool was used');
/** Calls the report as the gateway does, with checked input and output and the pool for slow statements. */
async function call(slow, full, input, grants) {
    const { scopes, dataAccess, restrictions } = grants;
    const authority = { ...full, scopes: new Set(scopes), dataAccess: new Set(dataAccess), restrictions };
    const website = authority.websites.get(String(input['website_id'])) ?? expect.fail('not granted');
    const db = { query: unused, read: unused, script: unused, listen: unused, close: unused };
    const caller = new Caller(authority);
    const gateway = {
        operations: () => [],
        access: () => [],
        guides: () => [],
        guide: () => null,
        page: (id) => id,
        quota: () => undefined,
    };
    const read = {
        ...openReads(caller, { db, authority, website }, slow),
        operation: unused,
        subscriptions: unused,
        subscription: unused,
        pull: unused,
    };
    const writes = { write: undefined, perform: undefined };
    const body = await tool.handle({ input: tool.input.parse(input), authority, read, gateway, ...writes });
    expect(caller.proved).toBe(true);
    const { data } = tool.output.parse(body); // the cast is sound, because the schema has accepted this value
    return data;
}
//# sourceMappingURL=report.js.map
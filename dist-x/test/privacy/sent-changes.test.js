import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sql as statement } from '../../src/core/sql.js';
import { issue } from '../support/credentials.js';
import { freshDatabase } from '../support/database.js';
/** A helpdesk has taken a change of a conversation, whose person is erased before the store has its outcome. */
let database;
beforeAll(async () => {
    database = await freshDatabase('demo');
});
afterAll(() => database.close());
const id = (prefix) => `${prefix}_${randomBytes(16).toString('hex')}`;
it('an erasure and the outcome of a change never wait for each other', async () => {
    const { sql, db } = database;
    const { credential } = await issue(sql, 1, { authors: ['opr_1_1_1'] });
    const [source, erasure, operation] = [id('src'), id('era'), `op_${randomBytes(32).toString('hex')}`];
    await sql `INSERT INTO gateway.source (id, tenant, site, kind, account, mode, period, time_zone, address)
    VALUES (${source}, 1, 1, 'chatwoot', '1', 'poll', 60, 'UTC', '')`;
    await sql `INSERT INTO gateway.operation (operation_id, credential_id, revision, tenant, site, operation, status, fingerprint)
    VALUES (${operation}, ${credential}, 1, 1, 1, 'conversation_status_set', 'pending', sha256('x'))`;
    await sql `INSERT INTO gateway.write_back (operation_id, source, tenant, site, record, target, author)
    SELECT ${operation}, ${source}, tenant, site, id, external_id, 1 FROM platform.conversation
     WHERE (tenant, site, id) = (1, 1, 2)`;
    await sql `INSERT INTO gateway.erasure (id, tenant, site, native, organization_id, kind, subject, subject_digest, reason)
    VALUES (${erasure}, 1, 1, 3, '', 'visitor', 'vis_1_1_3', '', 'test')`;
    const waiting = async () => {
        const [row] = await sql `SELECT count(*)::integer AS n FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`;
        return row?.['n'];
    };
    let ends = [];
    await sql.begin(async (held) => {
        // The erasure waits here after it has taken the record of the write, and before it takes the conversation.
        await held `LOCK TABLE platform.ai_result IN SHARE MODE`;
        ends = [db.query(statement `SELECT gateway.erase_conversations(${erasure}, '{2}', '{}')`)];
        await expect.poll(waiting, { timeout: 4_000 }).toBe(1);
        ends.push(db.query(statement `SELECT gateway.write_back_change(${operation}, 'closed', NULL, NULL, now(), false) AS stored`));
        await expect.poll(waiting, { timeout: 4_000 }).toBe(2);
    });
    // With a deadlock, PostgreSQL would have ended one of them with an error.
    expect((await Promise.all(ends))[1]).toEqual([{ stored: null }]);
});
//# sourceMappingURL=sent-changes.test.js.map
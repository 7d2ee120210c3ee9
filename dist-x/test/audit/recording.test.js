import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { draftOfCommand } from '../../src/audit/mark.js';
import { sql } from '../../src/core/sql.js';
import { recording } from '../../src/store/audit/commands.js';
import { auditOf } from '../support/audit.js';
import { issue } from '../support/credentials.js';
import { freshDatabase } from '../support/database.js';
import { KEYS } from '../support/keys.js';
let database;
beforeAll(async () => {
    database = await freshDatabase('demo');
});
afterAll(() => database.close());
it('a change that is done is told, also if nobody can look for its record, which is there once', async () => {
    const { app } = await issue(database.sql, 1);
    const requestId = randomUUID();
    const draft = draftOfCommand(KEYS, {
        organization: 'org_1',
        operation: 'app rename',
        targets: [app],
        requestId,
        ms: 1,
    });
    const away = async () => {
        throw new Error('the store is away');
    };
    const db = recording({ ...database.db, read: away }, () => draft);
    const change = sql `UPDATE gateway.app SET name = 'Renamed' WHERE id = ${app} RETURNING name`;
    expect(await db.query(change)).toEqual([{ name: 'Renamed' }]);
    // The caller inserts no second record.
    expect(draft.inserted).toBe(true);
    expect(await auditOf(database, { operation: 'app rename' })).toHaveLength(1);
});
//# sourceMappingURL=recording.test.js.map
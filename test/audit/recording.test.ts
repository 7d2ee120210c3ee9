import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { draftOfCommand } from '../../src/audit/mark.ts';
import { sql } from '../../src/core/sql.ts';
import { recording } from '../../src/store/audit/commands.ts';
import { auditOf } from '../support/audit.ts';
import { issue } from '../support/credentials.ts';
import { freshDatabase, type TestDatabase } from '../support/database.ts';
import { KEYS } from '../support/keys.ts';

let database: TestDatabase;
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
  const away = async (): Promise<never> => {
    throw new Error('the store is away');
  };
  const db = recording({ ...database.db, read: away }, () => draft);
  const change = sql`UPDATE gateway.app SET name = 'Renamed' WHERE id = ${app} RETURNING name`;
  expect(await db.query(change)).toEqual([{ name: 'Renamed' }]);
  // The caller inserts no second record.
  expect(draft.inserted).toBe(true);
  expect(await auditOf(database, { operation: 'app rename' })).toHaveLength(1);
});

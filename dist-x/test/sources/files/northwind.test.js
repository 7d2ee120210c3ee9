import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { importFiles } from '../../../src/sources/files/import.js';
import { freshDatabase } from '../../support/database.js';
let store;
beforeAll(async () => {
    store = await freshDatabase();
});
afterAll(() => store.close());
// The data set is in a folder beside the checkout. The test is skipped when this folder is missing.
const northwind = fileURLToPath(new URL('../../../../shared/data/northwind-dev.ndjson', import.meta.url));
test.skipIf(!existsSync(northwind))('northwind-dev comes in whole', async () => {
    const lines = readFileSync(northwind, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
    const result = await importFiles(store.db, { files: [northwind] });
    expect(result).toMatchObject({ read: 25_777, written: 25_777, unchanged: 0, removed: 0, rejected: 0 });
    const texts = await store.sql `
    SELECT m.external_id, m.text, c.external_id AS conversation, m.created_at FROM platform.message m
      JOIN platform.conversation c ON (c.tenant, c.site, c.id) = (m.tenant, m.site, m.conversation_id)`;
    const stored = texts.map((row) => [row.external_id, [row.text, row.conversation, row.created_at.toISOString()]]);
    const messages = lines
        .filter((line) => line['type'] === 'message')
        .map((line) => [line['external_id'], [line['text'], line['conversation'], line['created_at']]]);
    expect(Object.fromEntries(stored)).toEqual(Object.fromEntries(messages));
    expect(stored.length).toBe(messages.length);
    const wrong = await store.sql `
    SELECT c.external_id FROM platform.conversation c
     WHERE c.message_count <> (SELECT count(*) FROM platform.message m
       WHERE (m.tenant, m.site, m.conversation_id) = (c.tenant, c.site, c.id) AND m.visibility = 'public')`;
    expect(wrong).toEqual([]);
});
//# sourceMappingURL=northwind.test.js.map
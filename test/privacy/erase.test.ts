import { afterAll, beforeAll, expect, it } from 'vitest';
import { erase } from '../../src/privacy/erase.ts';
import { importRecords } from '../../src/sources/files/import.ts';
import { openDigest } from '../../src/privacy/digests.ts';
import { type TestDatabase, freshDatabase } from '../support/database.ts';
import { desk } from '../support/import.ts';
import { keys } from '../support/sources.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase('empty');
});
afterAll(() => database.close());

it('erases', async () => {
  const { db, sql } = database;
  console.log(await importRecords(db, desk(40)));
  const [c] = await sql`SELECT 'ctc_' || tenant || '_' || site || '_' || contact_id AS id FROM platform.visitor_contact LIMIT 1`;
  console.log(c);
  const dry = await erase(db, keys, { kind: 'contact', id: c?.['id'], reason: 'x', dryRun: true });
  console.log(dry);
  console.log(await erase(db, keys, { kind: 'contact', id: c?.['id'], reason: 'x' }));
  const digest = await openDigest(db, async () => keys);
  const r = await importRecords(db, desk(40), { digest, onReject: (x) => console.log(x) });
  console.log(r);
  console.log(await sql`SELECT event_type, count(*) FROM gateway.journal GROUP BY 1`);
}, 60000);

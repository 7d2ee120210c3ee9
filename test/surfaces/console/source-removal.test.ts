import { expect, it } from 'vitest';
import { startUpkeep } from '../../../src/gateway/upkeep.ts';
import { importRecords } from '../../../src/sources/files/import.ts';
import { deleteSource } from '../../../src/store/administration/removal.ts';
import { look, signedInAs, submit } from '../../support/console/console.ts';
import { eventually } from '../../support/eventually.ts';
import { openTestGateway } from '../../support/gateway.ts';
import { desk } from '../../support/import.ts';
import { textOf } from '../../support/surfaces/pages.ts';

const SOURCE = `src_${'a'.repeat(32)}`;

it('a website that one statement cannot delete in time is closed at once, and goes in steps', async () => {
  const gateway = await openTestGateway('empty');
  const { db, sql } = gateway.database;
  await importRecords(db, desk(4_000));
  await sql`INSERT INTO gateway.source (id, tenant, site, kind, account, mode, period, time_zone, address)
    SELECT ${SOURCE}, tenant, site, 'chatwoot', '1', 'poll', 15, 'UTC', 'sealed by nobody' FROM platform.website WHERE external_id = 'w0'`;
  // The 4,000 messages of the website take 8 s. A statement of the console may take 2.5 s, and 5 s in this test.
  await sql.unsafe(`CREATE FUNCTION public.slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.002); RETURN OLD; END';
    CREATE TRIGGER slow BEFORE DELETE ON platform.message FOR EACH ROW EXECUTE FUNCTION public.slow()`);
  const owner = await signedInAs(gateway);
  const { token } = await gateway.issue({ websites: ['web_1_1', 'web_1_2'] });
  const page = `/console/sources/${SOURCE}`;
  const words = async (path: string): Promise<string> => textOf((await look(gateway, path, owner.cookie)).text);
  expect(await words(page)).toContain('the gateway needs minutes to delete them');

  const removed = await submit(gateway, owner, { page, action: `${page}/delete` });
  expect([removed.status, removed.headers.location]).toEqual([303, '/console/sources?done=source_deleting']);
  expect(await words('/console/sources?done=source_deleting')).toMatch(/apps get 404 for its records.*removing/s);
  const shown = await look(gateway, page, owner.cookie);
  expect(textOf(shown.text)).toContain('This source is being removed.');
  expect(shown.text).not.toMatch(/action="[^"]*\/(resume|pause|check|remove|delete)"/);
  const left = async () => sql`SELECT FROM platform.message m WHERE m.tenant = 1 AND m.site = 1`;
  expect((await left()).length).toBeGreaterThan(0);
  const [conversation] = await sql<
    { id: string }[]
  >`SELECT 'cnv_1_1_' || max(id) AS id FROM platform.conversation WHERE tenant = 1 AND site = 1`;
  for (const path of [`conversations/${conversation?.id}`, 'conversations?website_id=web_1_1'])
    expect((await gateway.ask(`/api/v1/${path}`, { token })).status, path).toBe(404);
  expect((await gateway.ask('/api/v1/conversations?website_id=web_1_2', { token })).status).toBe(200);

  // A website that is granted again meanwhile is not reached either.
  const again = await gateway.issue({ websites: ['web_1_1', 'web_1_2'] });
  expect((await gateway.ask('/api/v1/conversations?website_id=web_1_1', again)).status).toBe(404);
  // A gateway of an older version, or a removal without the records that was asked earlier, changes nothing.
  await expect(sql`UPDATE gateway.source SET paused = false`).rejects.toThrow('source_check');
  expect(await deleteSource(db, SOURCE)).toBe(false);

  const errors: unknown[] = [];
  const job = startUpkeep({ db, registry: gateway.corridor.registry, onError: (error) => errors.push(error) });
  try {
    await eventually(async () => {
      job.wake();
      expect(await sql`SELECT FROM gateway.source`).toEqual([]);
    });
  } finally {
    await job.stop();
  }
  expect(await words('/console/sources')).toContain('No source yet');
  expect([await left(), await sql`SELECT FROM platform.website WHERE external_id = 'w0'`, errors]).toEqual([
    [],
    [],
    [],
  ]);
  await gateway.close();
});

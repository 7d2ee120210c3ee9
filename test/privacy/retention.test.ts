import { afterAll, beforeAll, expect, it } from 'vitest';
import { clearOldMessages } from '../../src/privacy/retention.ts';
import { importRecords } from '../../src/sources/files/import.ts';
import { cliDatabase, document, gateway, refused } from '../support/cli.ts';
import type { TestDatabase } from '../support/database.ts';
import { desk, dump } from '../support/import.ts';

let store: TestDatabase;
beforeAll(async () => {
  store = await cliDatabase('empty');
  await importRecords(store.db, [...desk(600), ...others]);
});
afterAll(() => store.close());

const others: object[] = [
  { type: 'organization', external_id: 'other', name: 'Other' },
  { type: 'website', external_id: 'x0', organization: 'other', name: 'X', time_zone: 'UTC' },
  {
    type: 'conversation',
    external_id: 'xk',
    website: 'x0',
    status: 'closed',
    platform: 'chat',
    created_at: '2020-01-01T00:00:00Z',
  },
  {
    type: 'message',
    ...{ external_id: 'xm', conversation: 'xk', author_type: 'bot', visibility: 'public', kind: 'text', text: 'kept' },
    created_at: '2020-01-01T00:00:00Z',
  },
];
/** How many messages of the desk have a text, and how many have none. Also the files, and the hits of a search. */
async function counts(): Promise<unknown> {
  const [row] = await store.sql`
    SELECT count(*) FILTER (WHERE m.text IS NOT NULL AND NOT m.redacted)::integer AS texts, count(*) FILTER (WHERE m.text IS NULL AND m.redacted)::integer AS cleared,
           (SELECT count(*)::integer FROM platform.file) AS files, (SELECT count(*)::integer FROM platform.file_chunk) AS chunks,
           (SELECT count(*)::integer FROM platform.said s WHERE s.kind = 'message' AND s.tenant = min(m.tenant) AND s.words @@ 'hello') AS hits
      FROM platform.message m JOIN platform.organization o USING (tenant) WHERE o.external_id = 'org'`;
  return row;
}

it('clears texts and files that are too old, in short transactions, and no import brings them back', async () => {
  const fresh = { texts: 1200, cleared: 0, files: 60, chunks: 60, hits: 600 };
  expect(await counts()).toEqual(fresh);
  expect(await clearOldMessages(store.db)).toBe(0);
  for (const wrong of ['0', '36501', '1.5', '', 'never'])
    expect((await gateway('organization', 'update', 'org', '--keep-messages-days', wrong)).code, wrong).toBe(2);
  expect(await gateway('organization', 'update', 'nobody', '--keep-messages-days', '5')).toEqual(
    refused('There is no organization'),
  );

  // The messages of the desk are 100 s apart, from January 2026 on. Half of them get older than the limit.
  await store.sql`UPDATE platform.message SET created_at = now() - interval '40 days' WHERE external_id ~ '^cnv[0-9]*[02468]-'`;
  await store.sql`UPDATE platform.message SET created_at = now() - interval '20 days' WHERE external_id ~ '^cnv[0-9]*[13579]-'`;
  await store.sql`DELETE FROM gateway.journal`;
  expect(await document('organization', 'update', 'org', '--keep-messages-days', '30', '--yes')).toMatchObject({
    keep_messages_days: 30,
  });
  const totals =
    await store.sql`SELECT id, site, message_count, visitor_messages, response_seconds FROM platform.conversation ORDER BY 2, 1`;
  const before = (await dump(store.sql))['message'];
  expect(await clearOldMessages(store.db)).toBeGreaterThan(3);
  const left = { texts: 600, cleared: 600, files: 0, chunks: 0, hits: 300 };
  expect(await counts()).toEqual(left);
  expect(
    await store.sql`SELECT id, site, message_count, visitor_messages, response_seconds FROM platform.conversation ORDER BY 2, 1`,
  ).toEqual(totals);
  expect(await store.sql`SELECT DISTINCT event_type FROM gateway.journal ORDER BY 1`).toEqual([
    { event_type: 'conversation.changed' },
    { event_type: 'conversation.removed' },
  ]);
  expect(await store.sql`SELECT text FROM platform.message WHERE external_id = 'xm'`).toEqual([{ text: 'kept' }]);
  expect((await dump(store.sql))['message']).toHaveLength(before?.length ?? 0);
  // Nothing is due before the next night.
  expect(await clearOldMessages(store.db)).toBe(0);
  await store.sql`UPDATE gateway.retention_round SET ended_at = now() - interval '27 hours'`;
  expect(await clearOldMessages(store.db)).toBeGreaterThan(0);
  expect(await counts()).toEqual(left);

  // The organization sends its records again: some of them are too old.
  const age = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString();
  const again = desk(600).map((record) =>
    record.type === 'message'
      ? { ...record, created_at: /[02468]-/.test(record.external_id) ? age(40) : age(20) }
      : record,
  );
  const result = await importRecords(store.db, again);
  expect(result).toMatchObject({ rejected: 0 });
  expect(result.types.file).toMatchObject({ written: 0, unchanged: 60 });
  expect(await counts()).toEqual(left);
  expect((await importRecords(store.db, again)).types.message).toMatchObject({ written: 0, unchanged: 1200 });
  // A message that was only a file keeps its mark, too.
  const picture = {
    ...again.find(({ type, external_id }) => type === 'message' && /[02468]-/.test(String(external_id))),
  };
  Object.assign(picture, { external_id: 'picture', kind: 'attachment_only', text: undefined, created_at: age(40) });
  for (const written of [1, 0]) {
    expect((await importRecords(store.db, [picture])).types.message).toMatchObject({ written, rejected: 0 });
    await store.sql`UPDATE platform.message SET redacted = true WHERE external_id = 'picture'`;
  }
  expect(await store.sql`SELECT redacted FROM platform.message WHERE external_id = 'picture'`).toEqual([
    { redacted: true },
  ]);
  await store.sql`DELETE FROM platform.message WHERE external_id = 'picture'`;

  expect(await document('organization', 'update', 'org', '--keep-messages-days', 'off')).toMatchObject({
    keep_messages_days: null,
  });
  await importRecords(store.db, again);
  expect(await counts()).toEqual(fresh);

  // A number that is set again counts at once, whenever the last round ended.
  const keep = (organization: string, days: string) =>
    document('organization', 'update', organization, '--keep-messages-days', days, '--yes');
  await keep('org', '30');
  // One transaction has few files.
  const [org] = await store.sql`SELECT tenant FROM platform.organization WHERE external_id = 'org'`;
  const one = (n: number): Promise<unknown> =>
    store.sql`SELECT gateway.clear_old_messages(${String(org?.['tenant'])}, ${n}, 7)`;
  await one(200);
  expect(await counts()).toMatchObject({ files: 53, chunks: 53 });
  await one(3);
  expect(await counts()).toMatchObject({ files: 52, cleared: 73 });
  // An organization whose messages cannot be cleared does not stop the others.
  await store.sql.unsafe(`CREATE FUNCTION refuse_update() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''refused''; END';
    CREATE TRIGGER refuse BEFORE UPDATE ON platform.message FOR EACH ROW WHEN (OLD.external_id = 'xm') EXECUTE FUNCTION refuse_update()`);
  await store.sql`UPDATE gateway.retention_round SET tried_at = now()`;
  await keep('other', '30');
  await expect(clearOldMessages(store.db)).rejects.toThrow('refused');
  expect(await counts()).toEqual(left);
  await store.sql`DROP TRIGGER refuse ON platform.message`;
  expect(await clearOldMessages(store.db)).toBeGreaterThan(0);
  expect(await store.sql`SELECT text FROM platform.message WHERE external_id = 'xm'`).toEqual([{ text: null }]);
  await keep('org', '10');
  expect(await clearOldMessages(store.db)).toBeGreaterThan(0);
  expect(await counts()).toMatchObject({ texts: 0, cleared: 1200 });
});

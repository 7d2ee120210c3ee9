import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { newSecret } from '../../src/auth/tokens.ts';
import { demoAccess } from '../../src/cli/demo.ts';
import { cliDatabase, gateway, parse } from '../support/cli.ts';
import type { TestDatabase } from '../support/database.ts';
import { openTestGateway } from '../support/gateway.ts';
import { examples, requestOf, writer } from '../support/surfaces/wire.ts';

// Each database has one planted defect. Exactly one check of the doctor must report this defect.
let database: TestDatabase;
let full: string;
let restricted: string;
beforeEach(async () => {
  database = await cliDatabase('demo');
  const demo = await demoAccess(database.db);
  [full, restricted] = [demo.full.credential_id, demo.restricted.credential_id];
});
afterEach(() => database.close());

async function findings(): Promise<{ code: number; findings: unknown }> {
  const { code, stdout } = await gateway('doctor', '--json');
  return { code, findings: parse(stdout)['findings'] };
}

const finding = (check: string, severity: string, count: number, detail: string) => ({
  code: severity === 'error' ? 1 : 0,
  findings: [{ check, severity, count, detail: expect.stringContaining(detail) }],
});

test('a store in order has none', async () => {
  expect(await findings()).toEqual({ code: 0, findings: [] });
  expect(await gateway('doctor')).toMatchObject({
    code: 0,
    stdout: `23 checks of ${database.host}:${database.port}/${database.name} (DATABASE_URL), no findings.\n`,
  });
});

test('totals, each of them', async () => {
  const { sql } = database;
  for (const [column, wrong] of [
    ['message_count', 'message_count + 1'],
    ['visitor_messages', 'visitor_messages - 1'],
    ['bot_messages', 'bot_messages + 1'],
    ['operator_messages', 'operator_messages + 1'],
    ['last_message_at', "last_message_at + interval '1 second'"],
    ['first_visitor_at', "coalesce(first_visitor_at, now()) - interval '1 second'"],
    ['first_reply_at', "coalesce(first_reply_at, now()) + interval '1 second'"],
    ['first_operator_reply_at', "coalesce(first_operator_reply_at, now()) + interval '1 second'"],
    ['response_seconds', 'response_seconds + 0.1'],
    ['response_count', 'response_count + 1'],
    ['ai_involved', 'NOT ai_involved'],
    ['ai_customer_facing', 'NOT ai_customer_facing'],
    ['ai_escalated', 'NOT ai_escalated'],
  ] as const) {
    const where = '(tenant, site) = (1, 2) AND id IN (3, 4)';
    const right = await sql.unsafe(`SELECT id, ${column} AS value FROM platform.conversation WHERE ${where}`);
    await sql.unsafe(`UPDATE platform.conversation SET ${column} = ${wrong} WHERE ${where}`);
    expect(await findings(), column).toEqual(finding('totals', 'error', 2, 'web_1_2: conversations whose totals'));
    for (const { id, value } of right)
      await sql`UPDATE platform.conversation SET ${sql(column)} = ${value} WHERE (tenant, site, id) = (1, 2, ${id})`;
  }
  expect(await findings()).toEqual({ code: 0, findings: [] });
});

describe('files', () => {
  test.each([
    ['count', 'UPDATE platform.message SET attachment_count = attachment_count + 1 WHERE site = 1 AND id = 5'],
    ['content', 'DELETE FROM platform.file_chunk WHERE (site, file_id, chunk) = (1, 1, 0)'],
  ])('%s', async (_, defect) => {
    await database.sql.unsafe(defect);
    expect(await findings()).toEqual(finding('files', 'error', 1, 'web_1_1'));
  });
});

test('numbers', async () => {
  await database.sql`UPDATE platform.native_id SET last = 1 WHERE site = 1 AND kind IN ('message', 'contact')`;
  expect(await findings()).toEqual(finding('numbers', 'error', 2, 'web_1_1'));
});

describe('journal', () => {
  test.each([
    ['a gap', 'DELETE FROM gateway.journal WHERE (site, position) = (1, 2)'],
    ['no beginning', 'DELETE FROM gateway.journal WHERE (site, position) = (1, 1)'],
    [
      'no end',
      'DELETE FROM gateway.journal j USING gateway.journal_head h WHERE j.site = 1 AND h.site = 1 AND j.position = h.position',
    ],
    ['a head too far', 'UPDATE gateway.journal_head SET position = position + 1 WHERE site = 1'],
    ['no head', 'DELETE FROM gateway.journal_head WHERE site = 1'],
  ])('%s', async (_, defect) => {
    await database.sql`SELECT gateway.append_receipts(1, 1, ARRAY['website.changed', 'visitor.changed', 'queue.changed'])`;
    expect(await findings()).toMatchObject({ code: 0 });
    await database.sql.unsafe(defect);
    expect(await findings()).toEqual(finding('journal', 'error', 1, 'web_1_1'));
  });
});

describe('journal that retention has trimmed', () => {
  const keep = (trimmed: number) => [
    `DELETE FROM gateway.journal WHERE site = 1 AND position <= ${trimmed}`,
    `UPDATE gateway.journal_head SET trimmed = ${trimmed} WHERE site = 1`,
  ];
  test.each([
    ['a gap behind it', 'DELETE FROM gateway.journal WHERE (site, position) = (1, 4)'],
    ['more removed than it says', 'UPDATE gateway.journal_head SET trimmed = 2 WHERE site = 1'],
    ['less removed than it says', 'UPDATE gateway.journal_head SET trimmed = 4 WHERE site = 1'],
    ['all removed, unsaid', 'DELETE FROM gateway.journal WHERE site = 1'],
  ])('%s', async (_, defect) => {
    await database.sql`SELECT gateway.append_receipts(1, 1, ARRAY['website.changed', 'visitor.changed', 'queue.changed'])`;
    for (const statement of keep(3)) await database.sql.unsafe(statement);
    expect(await findings()).toMatchObject({ code: 0 });
    await database.sql.unsafe(defect);
    expect(await findings()).toEqual(finding('journal', 'error', 1, 'web_1_1'));
  });

  test('everything', async () => {
    const [head] = await database.sql`SELECT position FROM gateway.journal_head WHERE site = 1`;
    for (const statement of keep(Number(head?.['position']))) await database.sql.unsafe(statement);
    expect(await findings()).toEqual({ code: 0, findings: [] });
  });
});

test('receipts', async () => {
  await database.sql`ALTER TABLE gateway.journal DROP CONSTRAINT journal_event_type_check`;
  await database.sql`SELECT gateway.append_receipts(1, 1, ARRAY['website.changed', 'website.vanished', 'privacy.changed.x'])`;
  expect(await findings()).toEqual(finding('receipts', 'error', 2, 'does not exist'));
});

test('reviewed writes leave a store in order: done, refused by the stored state, without an author, in conflict', async () => {
  const served = await openTestGateway('demo', { ...database, close: async () => undefined });
  const calls = (await examples(served)).filter(({ body }) => body !== undefined);
  expect(calls).toHaveLength(4);
  const { token } = await writer(served);
  const { token: authorless } = await served.issue();
  const statuses = new Set<number>();
  for (const call of calls) {
    const headers = { 'idempotency-key': `doctor-${call.tool.name}` };
    for (const options of [
      { token, headers },
      { token, headers },
      {
        token,
        headers,
        body: { ...call.body, ...('text' in Object(call.body) ? { text: 'other' } : { disposition: 'other' }) },
      },
      { token, body: { ...call.body, ...(call.tool.name.endsWith('set') ? { disposition: 'nonsense' } : {}) } },
      { token: authorless },
    ])
      statuses.add((await served.ask(call.url, requestOf(call, options))).status);
  }
  await served.close();
  expect([...statuses].sort()).toEqual([200, 400, 409, 503]);
  expect(await findings()).toEqual({ code: 0, findings: [] });
});

test('operations', async () => {
  for (const [id, age, lease] of [
    ['a', '2 minutes', null],
    ['b', '50 seconds', null],
    ['c', '2 minutes', '-61 seconds'],
    ['d', '2 minutes', '-50 seconds'],
    ['e', '2 minutes', '5 seconds'],
  ] as const) {
    await database.sql`
      INSERT INTO gateway.operation (operation_id, credential_id, revision, tenant, site, operation, status, created_at, lease_until)
      VALUES (${`op_${id.repeat(64)}`}, ${full}, 1, 1, 1, 'visitor_note_add', 'pending', now() - ${age}::interval,
              now() + ${lease}::interval)`;
  }
  expect(await findings()).toEqual(finding('operations', 'error', 2, '60 s after their lease'));
});

describe('effects', () => {
  test.each([
    ['a receipt of another event', `UPDATE gateway.journal SET event_type = 'website.changed' WHERE position = 2`],
    ['a receipt of another time', 'UPDATE gateway.journal SET occurred_at = now() WHERE position = 2'],
    ['a note without its operation', `DELETE FROM gateway.operation WHERE operation_id LIKE 'op%2'`],
    ['an operation of another website', `UPDATE gateway.operation SET site = 2 WHERE operation_id LIKE 'op%2'`],
  ])('%s', async (_, defect) => {
    const { sql } = database;
    // Write two operations in one transaction, as a batch does. Write a third operation whose journal entries do not
    // exist any more.
    await sql`DELETE FROM gateway.journal`;
    await sql`DELETE FROM gateway.journal_head`;
    await sql.unsafe(`DO $$ BEGIN
      PERFORM set_config('gateway.capture', 'off', true); -- like a reviewed write, which appends its own receipts
      INSERT INTO gateway.operation (operation_id, credential_id, revision, tenant, site, operation, status, created_at)
        SELECT 'op_' || repeat(n::text, 64), 'crd_gone', 1, 1, 1, 'visitor_note_add', 'acknowledged',
               CASE n WHEN 3 THEN now() - interval '1 year' ELSE now() END FROM generate_series(1, 3) n;
      INSERT INTO platform.note (tenant, site, id, external_id, visitor_id, text, created_at)
        SELECT 1, 1, platform.reserve_ids(1, 1, 'note', 1) + 1, 'op_' || repeat(n::text, 64), 4, 'x', now()
          FROM generate_series(1, 3) n;
      PERFORM gateway.append_receipts(1, 1, ARRAY['visitor.changed', 'visitor.changed']); END $$`);
    expect(await findings()).toMatchObject({ code: 0 });
    await sql.unsafe(defect);
    expect(await findings()).toEqual(finding('effects', 'error', 1, 'web_1_1: notes written without'));
  });
});

describe('tasks', () => {
  const plant = async (columns: string, values: string): Promise<unknown> =>
    database.sql.unsafe(`INSERT INTO gateway.task
      (id, installation_id, credential_id, message, fingerprint, grants, context_id, skill, lost_as, owner, state_at, created_at, ${columns})
      SELECT 'task_' || md5('1'), 'ins', '${full}', sha256('1'), sha256('1'), sha256('1'), 'c', 'contact_inspection', 'interrupted', 'o',
             now(), now(), ${values}`);
  const SOON = "now() + interval '1 minute'";
  const held = (state: string, lease: string): Promise<unknown> =>
    plant('state, lease_until, expires_at', `'${state}', now() - interval '${lease}', ${SOON}`);

  test.each(['submitted', 'working'])('past the lease: %s', async (state) => {
    await held(state, '6 seconds');
    expect(await findings()).toEqual(finding('tasks', 'error', 1, 'no running gateway'));
    await database.sql`DELETE FROM gateway.task`;
    await held(state, '2 seconds');
    expect(await findings()).toMatchObject({ code: 0 });
  });

  test('a result of one that was canceled', async () => {
    await database.sql.unsafe(`DO $$ DECLARE c text; BEGIN
      FOR c IN SELECT conname FROM pg_constraint WHERE conrelid = 'gateway.task'::regclass AND contype = 'c'
      LOOP EXECUTE 'ALTER TABLE gateway.task DROP CONSTRAINT ' || c; END LOOP; END $$`);
    await plant('state, artifact, expires_at', `'canceled', '{}', ${SOON}`);
    expect(await findings()).toEqual(finding('artifacts', 'error', 1, 'not completed'));
  });

  test('kept after its end', async () => {
    await plant('state, artifact, expires_at', `'completed', '{}', now() - interval '6 seconds'`);
    expect(await findings()).toEqual(finding('expired', 'error', 1, 'expiry'));
    await database.sql`DELETE FROM gateway.task`;
    await plant('state, artifact, expires_at', `'completed', '{}', ${SOON}`);
    expect(await findings()).toMatchObject({ code: 0 });
  });
});

describe('secrets', () => {
  test.each([
    ['text', 'gateway.app', (secret: string) => `UPDATE gateway.app SET name = 'see ${secret}, please'`],
    [
      'a list',
      'gateway.credential',
      (secret: string) => `UPDATE gateway.credential SET origins = '{${secret}}' WHERE id = '${restricted}'`,
    ],
    [
      'bytes',
      'gateway.credential',
      (secret: string) => `UPDATE gateway.credential SET old_secret_digest = '${secret}' WHERE id = '${restricted}'`,
    ],
    [
      'JSON',
      'gateway.import_run',
      (secret: string) => `UPDATE gateway.import_run SET sources = '[{"name":"${secret}"}]' WHERE slot = 1`,
    ],
  ])('in %s', async (_, where, plant) => {
    for (const kind of ['installation_live', 'installation_test', 'secret'] as const) {
      const secret = newSecret(kind);
      await database.sql.unsafe(plant(secret));
      expect(await findings()).toEqual(finding('secrets', 'error', 1, `${where} `));
      expect((await gateway('doctor')).stdout).not.toContain(secret);
    }
    await database.sql.unsafe(plant(`igws_${'x'.repeat(49)}`));
    expect(await findings()).toMatchObject({ code: 0 });
  });
});

describe('webhooks', () => {
  const SECRET = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;
  const plant = (more = ''): Promise<unknown> =>
    database.sql.unsafe(`INSERT INTO gateway.webhook_endpoint (id, credential_id, tenant, site, url, event_types, secret, position)
      SELECT 'whk_' || md5('1'), '${full}', 1, 1, 'https://receiver.example/', '{visitor.*}', 'test~a~b~c', 0;
      INSERT INTO gateway.webhook_delivery (endpoint_id, event_id, tenant, site, position, event_type, occurred_at, recorded_at, due_at, lease_until)
      SELECT 'whk_' || md5('1'), 'evt_' || repeat('1', 64), 1, 1, 1, 'visitor.changed', now(), now(), now(), now() - interval '59 seconds'; ${more}`);

  test('past the lease', async () => {
    await plant();
    expect(await findings()).toEqual({ code: 0, findings: [] });
    await database.sql`UPDATE gateway.webhook_delivery SET lease_until = now() - interval '61 seconds'`;
    expect(await findings()).toEqual(finding('deliveries', 'error', 1, 'no running gateway'));
  });

  test.each(['secret', 'old_secret', 'description'])('a secret in clear: %s', async (column) => {
    await plant(
      `UPDATE gateway.webhook_endpoint SET ${column} = '${SECRET}', old_secret_until = ${column === 'old_secret' ? 'now()' : 'NULL'}`,
    );
    expect(await findings()).toEqual(finding('secrets', 'error', 1, 'gateway.webhook_endpoint '));
    expect((await gateway('doctor')).stdout).not.toContain(SECRET);
  });

  test('of a credential that has ended', async () => {
    await plant();
    await gateway('credential', 'revoke', full);
    expect(await findings()).toEqual(finding('webhooks', 'warning', 1, 'credential has ended'));
  });
});

test('tokens', async () => {
  await gateway('credential', 'revoke', full);
  expect(await findings()).toMatchObject({ code: 0 });
  await database.sql`UPDATE gateway.token SET revoked_at = NULL WHERE credential_id = ${full}`;
  expect(await findings()).toEqual(finding('tokens', 'error', 1, 'revoke the credential again'));
  await gateway('credential', 'revoke', full);
  expect(await findings()).toMatchObject({ code: 0 });
});

test('websites', async () => {
  await database.sql`UPDATE gateway.credential SET sites = sites || 77 WHERE id = ${restricted}`;
  expect(await findings()).toEqual(finding('websites', 'warning', 1, 'does not exist'));
});

describe('authors', () => {
  test.each([
    ['disabled', 'UPDATE platform.operator SET enabled = false WHERE external_id = $$op-priya$$'],
    ['not granted', 'UPDATE gateway.credential SET sites = ARRAY[2]::bigint[] WHERE cardinality(sites) = 2'],
  ])('%s', async (_, defect) => {
    await database.sql.unsafe(defect);
    expect(await findings()).toEqual(finding('authors', 'warning', 1, 'cannot write'));
    await database.sql`UPDATE gateway.credential SET revoked_at = now()`;
    await database.sql`UPDATE gateway.token SET revoked_at = now()`;
    expect(await findings()).toMatchObject({ code: 0 });
  });
});

test('indexes', async () => {
  await database.sql`DROP INDEX platform.note_words`;
  expect(await findings()).toEqual(finding('indexes', 'warning', 1, 'gateway migrate'));
  await gateway('migrate');
  expect(await findings()).toMatchObject({ code: 0, findings: [] });
});

test('imports', async () => {
  await database.sql`UPDATE gateway.import_run SET unfinished = true, lease_until = now() + interval '1 minute' WHERE slot = 2`;
  expect(await findings()).toMatchObject({ code: 0 });
  await database.sql`UPDATE gateway.import_run SET lease_until = now() - interval '1 minute' WHERE slot = 2`;
  expect(await findings()).toEqual(finding('imports', 'warning', 1, '--resume'));
});

test('warnings are listed, and only an error makes it exit with 1', async () => {
  await database.sql`UPDATE gateway.credential SET sites = sites || 77 WHERE id = ${restricted}`;
  const warned = await gateway('doctor');
  expect(warned.code).toBe(0);
  expect(warned.stdout).toMatch(/^websites +warning +1 +credentials that grant/m);
  await database.sql`UPDATE platform.native_id SET last = 1 WHERE site = 1 AND kind = 'contact'`;
  const { code, stdout } = await gateway('doctor');
  expect(code).toBe(1);
  expect(stdout).toMatch(/^numbers +error/m);
  expect(stdout).toMatch(/^websites +warning/m);
  expect((await gateway('doctor', '--help')).stdout.replace(/\s+/g, ' ')).toContain(
    'exit code 1 with an error, 0 with warnings only',
  );
});

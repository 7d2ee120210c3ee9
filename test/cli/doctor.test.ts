import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { revokeCredential } from '../../src/auth/issue.ts';
import { newSecret } from '../../src/auth/tokens.ts';
import { demoAccess } from '../../src/cli/demo.ts';
import { runChecks } from '../../src/cli/doctor.ts';
import { type Database, openDatabase } from '../../src/store/driver/postgres.ts';
import { openStore } from '../../src/store/open/open.ts';
import { cliDatabase, gateway, parse } from '../support/cli.ts';
import type { TestDatabase } from '../support/database.ts';
import { itInFull, itOnce as test } from '../support/form.ts';
import { openTestGateway } from '../support/gateway.ts';
import { examples, requestOf, writer } from '../support/surfaces/wire.ts';

let database: TestDatabase;
let full: string;
let restricted: string;
beforeAll(async () => {
  database = await cliDatabase('demo');
  const demo = await demoAccess(database.db);
  [full, restricted] = [demo.full.credential_id, demo.restricted.credential_id];
});
afterAll(() => database.close());

const finding = (check: string, severity: string, count: number, detail: string) => [
  { check, severity, count, detail: expect.stringContaining(detail) },
];

test('a database with the locale C gets a finding, and a warning at the start', async () => {
  const { sql } = database;
  const name = `${database.name}_c`;
  const before = process.env['DATABASE_URL'];
  const databaseUrl = `postgres:///${name}`;
  await sql.unsafe(`CREATE DATABASE ${name} TEMPLATE template0 LOCALE_PROVIDER libc LOCALE 'C'`);
  process.env['DATABASE_URL'] = databaseUrl;
  try {
    expect((await gateway('migrate')).code).toBe(0);
    expect(await gateway('doctor')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^locale +warning +1 +the database is not in UTF8 or knows the letter case of ASCII only/m,
      ),
    });
    const warnings: string[] = [];
    const quiet = { dataDir: '/nowhere', connections: 1, log: () => undefined };
    const store = await openStore({ databaseUrl, ...quiet, warn: (line) => void warnings.push(line) });
    await store.close();
    const said =
      'DATABASE_URL leads to a database that is not in UTF8, or whose locale knows the letter case of ASCII only';
    expect(warnings).toEqual([expect.stringContaining(said)]);
  } finally {
    process.env['DATABASE_URL'] = before;
    await sql.unsafe(`DROP DATABASE ${name} WITH (FORCE)`);
  }
});

test('a store in order has none', async () => {
  expect(await gateway('doctor')).toMatchObject({
    code: 0,
    stdout: `26 checks of ${database.host}:${database.port}/${database.name} (DATABASE_URL), no findings.\n`,
  });
});

/** Each test plants one defect. Exactly one check of the doctor must report this defect. */
describe('a planted defect', () => {
  // Plants and checks share a transaction that ends with the test, because a database for each test takes longer.
  let db: Database;
  beforeAll(() => {
    const { host, port, name } = database;
    const target = { host, port, database: name, username: 'postgres' };
    db = openDatabase({ target, connections: 1, statementTimeout: 60_000, name: 'doctor' });
  });
  afterAll(() => db.close());
  beforeEach(() => db.script('BEGIN'));
  afterEach(() => db.script('ROLLBACK'));

  const findings = () => runChecks(db);
  const receipts = `SELECT gateway.append_receipts(1, 1, ARRAY['website.changed', 'visitor.changed', 'queue.changed'])`;

  test.each([
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
  ])('of totals: %s', async (column, wrong) => {
    await db.script(
      `UPDATE platform.conversation SET ${column} = ${wrong} WHERE (tenant, site) = (1, 2) AND id IN (3, 4)`,
    );
    expect(await findings()).toEqual(finding('totals', 'error', 2, 'web_1_2: conversations whose totals'));
  });

  test.each([
    [
      'files',
      'a count',
      'UPDATE platform.message SET attachment_count = attachment_count + 1 WHERE site = 1 AND id = 5',
      finding('files', 'error', 1, 'web_1_1'),
    ],
    [
      'files',
      'content',
      'DELETE FROM platform.file_chunk WHERE (site, file_id, chunk) = (1, 1, 0)',
      finding('files', 'error', 1, 'web_1_1'),
    ],
    [
      'numbers',
      'the last one',
      "UPDATE platform.native_id SET last = 1 WHERE site = 1 AND kind IN ('message', 'contact')",
      finding('numbers', 'error', 2, 'web_1_1'),
    ],
    [
      'receipts',
      'the event type',
      `ALTER TABLE gateway.journal DROP CONSTRAINT journal_event_type_check;
       SELECT gateway.append_receipts(1, 1, ARRAY['website.changed', 'website.vanished', 'privacy.changed.x'])`,
      finding('receipts', 'error', 2, 'does not exist'),
    ],
    [
      'websites',
      'a grant',
      "UPDATE gateway.credential SET sites = sites || 77 WHERE id = '$restricted'",
      finding('websites', 'warning', 1, 'does not exist'),
    ],
  ])('of %s: %s', async (_, _what, defect, expected) => {
    await db.script(defect.replace('$restricted', restricted));
    expect(await findings()).toEqual(expected);
  });

  test.each([
    ['a gap', 'DELETE FROM gateway.journal WHERE (site, position) = (1, 2)'],
    ['no beginning', 'DELETE FROM gateway.journal WHERE (site, position) = (1, 1)'],
    [
      'no end',
      'DELETE FROM gateway.journal j USING gateway.journal_head h WHERE j.site = 1 AND h.site = 1 AND j.position = h.position',
    ],
    ['a head too far', 'UPDATE gateway.journal_head SET position = position + 1 WHERE site = 1'],
    ['no head', 'DELETE FROM gateway.journal_head WHERE site = 1'],
  ])('of the journal: %s', async (_, defect) => {
    await db.script(receipts);
    expect(await findings()).toEqual([]);
    await db.script(defect);
    expect(await findings()).toEqual(finding('journal', 'error', 1, 'web_1_1'));
  });

  const keep = (trimmed: number | string) => `
    DELETE FROM gateway.journal WHERE site = 1 AND position <= ${trimmed};
    UPDATE gateway.journal_head SET trimmed = ${trimmed} WHERE site = 1;`;
  test.each([
    ['a gap behind it', 'DELETE FROM gateway.journal WHERE (site, position) = (1, 4)'],
    ['more removed than it says', 'UPDATE gateway.journal_head SET trimmed = 2 WHERE site = 1'],
    ['less removed than it says', 'UPDATE gateway.journal_head SET trimmed = 4 WHERE site = 1'],
    ['all removed, unsaid', 'DELETE FROM gateway.journal WHERE site = 1'],
  ])('of a journal that retention has trimmed: %s', async (_, defect) => {
    await db.script(`${receipts};${keep(3)}`);
    expect(await findings()).toEqual([]);
    await db.script(defect);
    expect(await findings()).toEqual(finding('journal', 'error', 1, 'web_1_1'));
  });

  test('of a journal that retention has trimmed: none if it has trimmed everything', async () => {
    await db.script(keep('(SELECT position FROM gateway.journal_head WHERE site = 1)'));
    expect(await findings()).toEqual([]);
  });

  test('operations', async () => {
    for (const [id, age, lease] of [
      ['a', '2 minutes', 'NULL'],
      ['b', '50 seconds', 'NULL'],
      ['c', '2 minutes', "interval '-61 seconds'"],
      ['d', '2 minutes', "interval '-50 seconds'"],
      ['e', '2 minutes', "interval '5 seconds'"],
    ] as const) {
      await db.script(`
      INSERT INTO gateway.operation (operation_id, credential_id, revision, tenant, site, operation, status, created_at, lease_until)
      VALUES ('op_${id.repeat(64)}', '${full}', 1, 1, 1, 'visitor_note_add', 'pending', now() - interval '${age}', now() + ${lease})`);
    }
    expect(await findings()).toEqual(finding('operations', 'error', 2, '60 s after their lease'));
  });

  describe('effects', () => {
    test.each([
      ['a receipt of another event', `UPDATE gateway.journal SET event_type = 'website.changed' WHERE position = 2`],
      [
        'a receipt of another time',
        `UPDATE gateway.journal SET occurred_at = now() + interval '1 second' WHERE position = 2`,
      ],
      ['a note without its operation', `DELETE FROM gateway.operation WHERE operation_id LIKE 'op%2'`],
      ['an operation of another website', `UPDATE gateway.operation SET site = 2 WHERE operation_id LIKE 'op%2'`],
    ])('%s', async (_, defect) => {
      // Write two operations in one transaction, as a batch does. Write a third operation whose journal entries do not
      // exist any more.
      await db.script(`DELETE FROM gateway.journal; DELETE FROM gateway.journal_head; DO $$ BEGIN
      PERFORM set_config('gateway.capture', 'off', true); -- like a reviewed write, which appends its own receipts
      INSERT INTO gateway.operation (operation_id, credential_id, revision, tenant, site, operation, status, created_at)
        SELECT 'op_' || repeat(n::text, 64), 'crd_gone', 1, 1, 1, 'visitor_note_add', 'acknowledged',
               CASE n WHEN 3 THEN now() - interval '1 year' ELSE now() END FROM generate_series(1, 3) n;
      INSERT INTO platform.note (tenant, site, id, external_id, visitor_id, text, created_at)
        SELECT 1, 1, platform.reserve_ids(1, 1, 'note', 1) + 1, 'op_' || repeat(n::text, 64), 4, 'x', now()
          FROM generate_series(1, 3) n;
      PERFORM gateway.append_receipts(1, 1, ARRAY['visitor.changed', 'visitor.changed']); END $$`);
      expect(await findings()).toEqual([]);
      await db.script(defect);
      expect(await findings()).toEqual(finding('effects', 'error', 1, 'web_1_1: notes written without'));
    });
  });

  it('says where a move stands, since when, and which command comes next', async () => {
    const { sql } = database;
    const THERE = 'https://cell2.example.com';
    await sql`INSERT INTO gateway.move (tenant, phase, base_url, peer, started_at) VALUES (1, 'copying', ${THERE}, 'x', '2026-11-28T10:00Z')`;
    const [{ id = '' } = {}] = await sql<
      { id: string }[]
    >`SELECT public_id AS id FROM platform.organization WHERE tenant = 1`;
    const again = `gateway organization move ${id} --to URL --base-url ${THERE}`;
    const says = async (check: string, ...said: string[]): Promise<void> => {
      const found = await findings();
      expect(found).toEqual(finding(check, 'warning', 1, `${id} (larkspur)`));
      for (const one of said) expect(found[0]?.detail).toContain(one);
    };
    await says('move', 'since 2026-11-28T10:00:00.000Z', 'its rows are being copied', again, '--abandon');
    const command = await sql.reserve();
    await command`SELECT pg_advisory_lock(hashtextextended('gateway.move command 1', 0))`;
    await says('move', 'A command works on it: wait for its end.');
    await command`SELECT pg_advisory_unlock_all()`;
    command.release();
    await sql`UPDATE gateway.move SET phase = 'holding', copied_at = now()`;
    await says('move', 'its copy is complete and follows', again);
    await sql`UPDATE gateway.move SET phase = 'moved', moved_at = '2026-11-28T11:00Z'`;
    await says('move', 'on 2026-11-28T11:00:00.000Z', 'Perhaps no cell serves it', `At once, run \`${again}\``);
    await sql`UPDATE gateway.move SET cleared = true`;
    await says('kept_rows', 'on 2026-11-28T11:00:00.000Z', 'its rows stay here', `${again} --keep 7`);
    await sql`UPDATE gateway.move SET keep_until = now() + interval '7 days'`;
    expect(await findings()).toEqual([]);
    await sql`UPDATE gateway.move SET keep_until = '2026-11-27T11:00Z'`;
    await says('kept_rows', 'due to be deleted on 2026-11-27T11:00:00.000Z and are still here', 'look in its log for');
    await sql`UPDATE gateway.move SET phase = 'arriving', moved_at = NULL, cleared = false`;
    await says('move', 'arrives from another cell since 2026-11-28T10', 'in the cell that it leaves');
    await sql`DELETE FROM gateway.move`;
  });

  describe('tasks', () => {
    const plant = async (columns: string, values: string): Promise<unknown> =>
      db.script(`INSERT INTO gateway.task
      (id, installation_id, credential_id, message, fingerprint, grants, context_id, skill, lost_as, owner, state_at, created_at, ${columns})
      SELECT 'task_' || md5('1'), 'ins', '${full}', sha256('1'), sha256('1'), sha256('1'), 'c', 'contact_inspection', 'interrupted', 'o',
             now(), now(), ${values}`);
    const SOON = "now() + interval '1 minute'";
    const held = (state: string, lease: string): Promise<unknown> =>
      plant('state, lease_until, expires_at', `'${state}', now() - interval '${lease}', ${SOON}`);

    test.each(['submitted', 'working'])('past the lease: %s', async (state) => {
      await held(state, '6 seconds');
      expect(await findings()).toEqual(finding('tasks', 'error', 1, 'no running gateway'));
      await db.script(`DELETE FROM gateway.task`);
      await held(state, '2 seconds');
      expect(await findings()).toEqual([]);
    });

    test('a result of one that was canceled', async () => {
      await db.script(`DO $$ DECLARE c text; BEGIN
      FOR c IN SELECT conname FROM pg_constraint WHERE conrelid = 'gateway.task'::regclass AND contype = 'c'
      LOOP EXECUTE 'ALTER TABLE gateway.task DROP CONSTRAINT ' || c; END LOOP; END $$`);
      await plant('state, artifact, expires_at', `'canceled', '{}', ${SOON}`);
      expect(await findings()).toEqual(finding('artifacts', 'error', 1, 'not completed'));
    });

    test('kept after its end', async () => {
      await plant('state, artifact, expires_at', `'completed', '{}', now() - interval '6 seconds'`);
      expect(await findings()).toEqual(finding('expired', 'error', 1, 'expiry'));
      await db.script(`DELETE FROM gateway.task`);
      await plant('state, artifact, expires_at', `'completed', '{}', ${SOON}`);
      expect(await findings()).toEqual([]);
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
        await db.script(plant(secret));
        const found = await findings();
        expect(found).toEqual(finding('secrets', 'error', 1, `${where} `));
        expect(JSON.stringify(found)).not.toContain(secret);
      }
      await db.script(plant(`igws_${'x'.repeat(49)}`));
      expect(await findings()).toEqual([]);
    });
  });

  describe('webhooks', () => {
    const SECRET = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;
    const plant = (more = ''): Promise<unknown> =>
      db.script(`INSERT INTO gateway.webhook_endpoint (id, credential_id, tenant, site, url, event_types, secret, position)
      SELECT 'whk_' || md5('1'), '${full}', 1, 1, 'https://receiver.example/', '{visitor.*}', 'test~a~b~c', 0;
      INSERT INTO gateway.webhook_delivery (endpoint_id, event_id, tenant, site, position, event_type, occurred_at, recorded_at, due_at, lease_until)
      SELECT 'whk_' || md5('1'), 'evt_' || repeat('1', 64), 1, 1, 1, 'visitor.changed', now(), now(), now(), now() - interval '59 seconds'; ${more}`);

    test('past the lease', async () => {
      await plant();
      expect(await findings()).toEqual([]);
      await db.script(`UPDATE gateway.webhook_delivery SET lease_until = now() - interval '61 seconds'`);
      expect(await findings()).toEqual(finding('deliveries', 'error', 1, 'no running gateway'));
    });

    test.each(['secret', 'old_secret', 'description'])('a secret in clear: %s', async (column) => {
      await plant(
        `UPDATE gateway.webhook_endpoint SET ${column} = '${SECRET}', old_secret_until = ${column === 'old_secret' ? 'now()' : 'NULL'}`,
      );
      const found = await findings();
      expect(found).toEqual(finding('secrets', 'error', 1, 'gateway.webhook_endpoint '));
      expect(JSON.stringify(found)).not.toContain(SECRET);
    });

    test('of a credential that has ended', async () => {
      await plant();
      await revokeCredential(db, full);
      expect(await findings()).toEqual(finding('webhooks', 'warning', 1, 'credential has ended'));
    });
  });

  test('tokens', async () => {
    await revokeCredential(db, full);
    expect(await findings()).toEqual([]);
    await db.script(`UPDATE gateway.token SET revoked_at = NULL WHERE credential_id = '${full}'`);
    expect(await findings()).toEqual(finding('tokens', 'error', 1, 'revoke the credential again'));
    await revokeCredential(db, full);
    expect(await findings()).toEqual([]);
  });

  describe('authors', () => {
    test.each([
      ['disabled', 'UPDATE platform.operator SET enabled = false WHERE external_id = $$op-priya$$'],
      ['not granted', 'UPDATE gateway.credential SET sites = ARRAY[2]::bigint[] WHERE cardinality(sites) = 2'],
    ])('%s', async (_, defect) => {
      await db.script(defect);
      expect(await findings()).toEqual(finding('authors', 'warning', 1, 'cannot write'));
      await db.script(`UPDATE gateway.credential SET revoked_at = now()`);
      await db.script(`UPDATE gateway.token SET revoked_at = now()`);
      expect(await findings()).toEqual([]);
    });
  });

  test('imports', async () => {
    await db.script(
      `UPDATE gateway.import_run SET unfinished = true, lease_until = now() + interval '1 minute' WHERE slot = 2`,
    );
    expect(await findings()).toEqual([]);
    await db.script(`UPDATE gateway.import_run SET lease_until = now() - interval '1 minute' WHERE slot = 2`);
    expect(await findings()).toEqual(finding('imports', 'warning', 1, '--resume'));
  });
});

itInFull(
  'reviewed writes leave a store in order: done, refused by the stored state, without an author, in conflict',
  async () => {
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
    expect(parse((await gateway('doctor', '--json')).stdout)).toMatchObject({ findings: [] });
  },
);

test('a read-only server answers what only reads, and says why it takes no change', async () => {
  const { sql, name } = database;
  const create = ['app', 'create', '--organization', 'larkspur', '--name', 'Never made'];
  const because = (why: string) => ({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(`^gateway: [^\n]*${why}[^\n]*\n$`),
  });
  await sql.unsafe(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
  try {
    for (const argv of [
      ['website', 'list'],
      ['erase', 'list', '--json'],
      ['audit', 'list'],
      ['credential', 'list'],
    ])
      expect(await gateway(...argv)).toMatchObject({ code: 0, stderr: '' });
    expect(await gateway(...create)).toEqual(because('PostgreSQL is read-only'));
    expect(await gateway('migrate')).toEqual(because('PostgreSQL is read-only'));
    const { code, stdout } = await gateway('doctor');
    expect([code, stdout]).toEqual([1, expect.stringMatching(/^read_only +error +1 +the server takes no changes/m)]);
  } finally {
    await sql.unsafe(`ALTER DATABASE ${name} RESET default_transaction_read_only`);
  }
  await sql.unsafe(`CREATE FUNCTION public.full() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$`);
  await sql`CREATE TRIGGER planted BEFORE INSERT ON gateway.app EXECUTE FUNCTION public.full()`;
  expect(await gateway(...create)).toEqual(because('disk of its PostgreSQL is full'));
  await sql`DROP FUNCTION public.full() CASCADE`;
  expect(await sql`SELECT FROM gateway.app WHERE name = 'Never made'`).toHaveLength(0);
});

test('a missing index: gateway migrate builds it', async () => {
  await database.sql`DROP INDEX platform.note_words`;
  expect(await runChecks(database.db)).toEqual(finding('indexes', 'warning', 1, 'gateway migrate'));
  await gateway('migrate');
  expect(await runChecks(database.db)).toEqual([]);
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
  const json = await gateway('doctor', '--json');
  expect([json.code, parse(json.stdout)['findings']]).toEqual([1, await runChecks(database.db)]);
  expect((await gateway('doctor', '--help')).stdout.replace(/\s+/g, ' ')).toContain(
    'exit code 1 with an error, 0 with warnings only',
  );
});

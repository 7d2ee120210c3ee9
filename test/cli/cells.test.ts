import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { migrate } from '../../src/store/open/migrate.ts';
import { cliDatabase, fed, gateway, parse, refused } from '../support/cli.ts';
import { freshDatabase, type TestDatabase } from '../support/database.ts';
import { KEYS } from '../support/keys.ts';
import { olderDatabase } from '../support/older.ts';

/** Two cells: `a` is the cell of DATABASE_URL, `b` the other. */
const SECRET = `test:${Buffer.alloc(32, 7).toString('base64')}`;
let a: TestDatabase;
let b: TestDatabase;

async function empty(cell: number): Promise<TestDatabase> {
  const made = await freshDatabase('empty');
  await made.sql.unsafe(
    'DROP SCHEMA platform CASCADE; DROP SCHEMA gateway CASCADE; DROP TABLE public.gateway_migration',
  );
  await migrate(made.db, cell);
  return made;
}
/** The address of a cell. Its password must not be shown. */
const addressOf = ({ host, port, name }: Omit<TestDatabase, 'db' | 'sql' | 'close'>, role = 'postgres'): string =>
  `postgres://${role}:hush-hush@${encodeURIComponent(host)}:${port}/${name}`;

beforeAll(() => {
  process.env['GATEWAY_KEYS'] = SECRET;
});
afterAll(() => {
  delete process.env['GATEWAY_KEYS'];
});
beforeEach(async () => {
  a = await cliDatabase('empty');
  b = await empty(2);
});
afterEach(async () => {
  delete process.env['GATEWAY_CELL'];
  await Promise.all([a.close(), b.close()]);
});

const organization = async ({ sql }: TestDatabase, name: string): Promise<number> => {
  const [row] = await sql<{ tenant: number }[]>`
    INSERT INTO platform.organization (external_id, name) VALUES (${name}, ${name}) RETURNING tenant::integer`;
  return row?.tenant ?? expect.fail('no organization');
};
const useB = (cell = '2'): void => {
  Object.assign(process.env, { DATABASE_URL: `postgres:///${b.name}`, GATEWAY_CELL: cell });
};

describe('GATEWAY_CELL', () => {
  it('fixes the numbers of organizations at the first migration', async () => {
    expect([await organization(a, 'one'), await organization(a, 'two')]).toEqual([1, 2]);
    expect([await organization(b, 'one'), await organization(b, 'two')]).toEqual([2_000_000, 2_000_001]);
  });

  it('must be the number of the store, for every command', async () => {
    expect(await gateway('app', 'list')).toMatchObject({ code: 0 });
    process.env['GATEWAY_CELL'] = '2';
    expect(await gateway('app', 'list')).toEqual(
      refused('The store is cell 1, but GATEWAY_CELL is 2. Set GATEWAY_CELL=1'),
    );
    expect(await gateway('doctor')).toEqual(refused('The store is cell 1'));
    useB('1');
    expect(await gateway('migrate')).toEqual(refused('The store is cell 2, but GATEWAY_CELL is 1 (the default).'));
    useB();
    expect(await gateway('migrate')).toMatchObject({ code: 0 });
  });

  it('is taken by an empty store', async () => {
    const empty = await olderDatabase(0);
    await migrate(empty.db, 7);
    const [row] = await empty.sql`SELECT number FROM gateway.cell`;
    expect(row).toEqual({ number: 7 });
    expect(await organization(empty, 'first')).toBe(7_000_000);
    await empty.close();
  });

  it('says so when its numbers are used up, and a restored cell stays in its range', async () => {
    await b.sql`SELECT gateway.leap_tenants(1000000000)`;
    expect(await organization(b, 'after')).toBe(2_010_001);
    await b.sql`SELECT setval(pg_get_serial_sequence('platform.organization', 'tenant'), 2999999)`;
    useB();
    const line = JSON.stringify({ type: 'organization', external_id: 'over', name: 'Over' });
    const said = await fed(`${line}\n`, 'import', '-');
    expect([said.code, said.stderr]).toEqual([1, expect.stringContaining('no organization number left')]);
  });
});

describe('gateway migrate --like', () => {
  const keys = async ({ sql }: TestDatabase): Promise<unknown> =>
    (
      await sql`SELECT encode(l.key, 'hex') AS ledger, (SELECT sealed FROM gateway.suppression_key) AS sealed FROM gateway.ledger_key l`
    )[0];

  it('takes the keys of the other cell once, and shows none of them', async () => {
    await a.sql`INSERT INTO gateway.suppression_key (sealed) VALUES (${KEYS.seal('suppression', 'c2VjcmV0')})`;
    useB();
    expect(await keys(b)).not.toEqual(await keys(a));
    const first = await gateway('migrate', '--like', addressOf(a), '--json');
    expect(parse(first.stdout)).toEqual({ version: expect.any(Number), taken: ['ledger key', 'key of suppressions'] });
    expect(await keys(b)).toEqual(await keys(a));
    const again = await gateway('migrate', '--like', addressOf(a));
    expect(again.stdout).toContain('It already has the keys of the other cell.');
    const { ledger } = (await keys(a)) as { ledger: string };
    for (const said of [first, again])
      expect(JSON.stringify(said)).not.toMatch(new RegExp(`${ledger}|hush-hush|c2VjcmV0`));
  });

  it('is refused after the first use, for the same store, for another version and for other keys', async () => {
    useB();
    expect(await gateway('migrate', '--like', addressOf(b))).toEqual(refused('leads to this store'));
    expect(await gateway('migrate', '--like', 'http://hush-hush')).toMatchObject({
      code: 2,
      stderr: expect.not.stringContaining('hush'),
    });
    expect(await gateway('migrate', '--like', addressOf({ ...a, name: 'not_there' }))).toEqual(
      refused('The address cannot be reached'),
    );
    expect(await gateway('migrate', '--like', addressOf({ ...a, name: 'postgres' }))).toEqual(
      refused('no store of a gateway'),
    );
    await a.sql`INSERT INTO gateway.suppression_key (sealed) VALUES ('other~AAAA~AAAA~AAAA')`;
    expect(await gateway('migrate', '--like', addressOf(a))).toEqual(
      refused('All cells must have the same GATEWAY_KEYS'),
    );
    const n = await organization(b, 'one');
    await b.sql`INSERT INTO gateway.ledger_key (one, key) VALUES (true, sha256('x')) ON CONFLICT (one) DO UPDATE SET key = sha256('x')`;
    await b.sql`INSERT INTO gateway.journal_head (tenant, site, position) VALUES (${n}, 1, 1)`;
    expect(await gateway('migrate', '--like', addressOf(a))).toEqual(refused('This store has used its own ledger key'));
  });
});

describe('gateway cells check', () => {
  interface Finding {
    readonly check: string;
    readonly severity: string;
    readonly detail: string;
  }
  async function check(): Promise<{ code: number; found: Record<string, string>; all: string; hosts: unknown }> {
    const ran = await gateway('cells', 'check', addressOf(b), '--json');
    const said = parse(ran.stdout);
    const findings = said['findings'] as Finding[]; // the document's own form
    const worst = ['note', 'warning', 'error'];
    const sorted = findings.toSorted((one, other) => worst.indexOf(one.severity) - worst.indexOf(other.severity));
    const found = Object.fromEntries(sorted.map(({ check: name, severity }) => [name, severity]));
    return { code: ran.code, found, all: JSON.stringify(ran), hosts: said['hosts'] };
  }
  const alike = async (): Promise<void> => {
    const [row] = await a.sql<{ key: Buffer }[]>`SELECT key FROM gateway.ledger_key`;
    await b.sql`UPDATE gateway.ledger_key SET key = ${row?.key ?? null}`;
  };

  it('finds each difference that was planted, and says what to do', async () => {
    const plants: [name: string, severity: string, plant: () => Promise<unknown>][] = [
      ['ledger_key', 'error', () => b.sql`UPDATE gateway.ledger_key SET key = sha256('other')`],
      [
        'suppression_key',
        'warning',
        () => a.sql`INSERT INTO gateway.suppression_key (sealed) VALUES (${KEYS.seal('suppression', 'eA==')})`,
      ],
      [
        'suppression_key',
        'error',
        () => b.sql`INSERT INTO gateway.suppression_key (sealed) VALUES (${KEYS.seal('suppression', 'eQ==')})`,
      ],
      ['keys', 'error', () => b.sql`UPDATE gateway.suppression_key SET sealed = 'test~AAAA~AAAA~AAAA'`],
      ['cell', 'error', () => b.sql`UPDATE gateway.cell SET number = 1`],
      ['numbers', 'error', () => a.sql`ALTER TABLE platform.organization ALTER COLUMN tenant SET MAXVALUE 9000000000`],
      [
        'schema',
        'error',
        () =>
          b.sql`DELETE FROM public.gateway_migration WHERE version = (SELECT max(version) FROM public.gateway_migration)`,
      ],
    ];
    await alike();
    const before = await check();
    expect(before.found['ledger_key']).toBeUndefined();
    for (const [name, severity, plant] of plants) {
      const undo = name === 'cell' ? () => b.sql`UPDATE gateway.cell SET number = 2` : undefined;
      await plant();
      const { code, found, all } = await check();
      expect([name, found[name]], all).toEqual([name, severity]);
      if (severity === 'error') expect(code, name).toBe(1);
      expect(all).not.toContain('hush-hush');
      await undo?.();
    }
  });

  it('finds organizations that stand in two cells, and those that cannot stand beside each other', async () => {
    await alike();
    await organization(a, 'twin');
    await organization(b, 'twin');
    const twin = await gateway('cells', 'check', addressOf(b));
    expect(twin.stdout).toContain('have the external_id twin');
    await b.sql`UPDATE platform.organization SET public_id = ${(await a.sql`SELECT public_id FROM platform.organization`)[0]?.['public_id']}`;
    expect((await gateway('cells', 'check', addressOf(b))).stdout).toContain('lives in both cells');
    await a.sql`UPDATE platform.organization SET moved_to = 'https://b.example', host = 'acme.example'`;
    await b.sql`UPDATE platform.organization SET host = 'acme.example'`;
    const { found, hosts } = await check();
    expect(found['organization']).toBeUndefined();
    expect(hosts).toEqual([{ host: 'acme.example', cell: 2, organization_id: expect.stringMatching(/^org_/) }]);
  });

  it('says what a move needs of each PostgreSQL', async () => {
    await alike();
    await a.sql.unsafe(`DROP ROLE IF EXISTS plain_${a.name}; CREATE ROLE plain_${a.name} LOGIN;
      GRANT USAGE ON SCHEMA gateway, platform, public TO plain_${a.name};
      GRANT SELECT ON ALL TABLES IN SCHEMA gateway, platform, public TO plain_${a.name}`);
    const { found } = await check();
    const [{ level = '' } = {}] = await a.sql<{ level: string }[]>`SELECT current_setting('wal_level') AS level`;
    expect(found['wal_level']).toBe(level === 'logical' ? undefined : 'error');
    expect(found['slot_keep']).toBe('note');
    const plain = await gateway('cells', 'check', addressOf(b, `plain_${a.name}`));
    expect(plain.stderr).toContain('user, password and privileges');
    await b.sql.unsafe(`GRANT USAGE ON SCHEMA gateway, platform, public TO plain_${a.name};
      GRANT SELECT ON ALL TABLES IN SCHEMA gateway, platform, public TO plain_${a.name}`);
    const { stdout } = await gateway('cells', 'check', addressOf(b, `plain_${a.name}`));
    expect(stdout).toContain(`GRANT pg_create_subscription TO plain_${a.name};`);
    expect(stdout).toContain(`ALTER ROLE plain_${a.name} REPLICATION;`);
    await a.sql.unsafe(`DROP OWNED BY plain_${a.name}`);
    await b.sql.unsafe(`DROP OWNED BY plain_${a.name}; DROP ROLE plain_${a.name}`);
  });
});

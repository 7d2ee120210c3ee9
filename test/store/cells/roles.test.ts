import { connect, createServer, type Server } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  BASE_URL,
  type Cell,
  type Cells,
  type Ended,
  findings,
  leftovers,
  move,
  openCells,
  organizationCommand,
  organizationProcess,
} from '../../support/cells.ts';
import { closeClusters } from '../../support/cluster.ts';
import { freePort } from '../../support/port.ts';

/** Roles that are no superusers, addresses that lead through a pooler, and what the logs say of both. */
let cells: Cells;
const poolers: Server[] = [];
beforeAll(async () => {
  cells = await openCells();
});
afterAll(async () => {
  for (const one of poolers) one.close();
  await closeClusters();
});

const at = ({ url }: Cell, login: string): string => url.replace('postgres@', `${login}@`);
const moving = (organization: string, to: string, more: readonly string[]): string[] => [
  ...['move', organization, '--to', to, '--base-url', BASE_URL, '--yes', '--json'],
  ...more,
];
const command = (organization: string, from: string, to: string, ...more: string[]): Promise<Ended> =>
  organizationCommand(moving(organization, to, more), { DATABASE_URL: from });
/** In a process of its own, beside which the test goes on. Its output is all that a user of it sees. */
const started = (organization: string, from: string, to: string, ...more: string[]): Promise<Ended> =>
  organizationProcess(moving(organization, to, more), { DATABASE_URL: from });

/** What a pooler does with the settings of a connection: it refuses it, or another setting comes instead of them. */
async function pooler({ cluster, url }: Cell, refuses: boolean): Promise<string> {
  const port = await freePort();
  const server = createServer((client) => {
    const upstream = connect(cluster.port, '127.0.0.1');
    for (const one of [client, upstream]) one.on('error', () => client.destroy()).on('close', () => upstream.destroy());
    upstream.pipe(client);
    client.on('data', (part) => {
      const said = part.toString('latin1');
      const own = said.replace('statement_timeout\0', 'cpu_operator_cost\0');
      if (refuses && (own !== said || said.includes('replication\0'))) {
        const fields = 'SFATAL\0C08P01\0Munsupported startup parameter: statement_timeout\0\0';
        const head = Buffer.from('E0000');
        head.writeInt32BE(fields.length + 4, 1);
        client.end(Buffer.concat([head, Buffer.from(fields)]));
      } else upstream.write(Buffer.from(own, 'latin1'));
    });
  });
  poolers.push(server);
  await new Promise<void>((done) => server.listen(port, '127.0.0.1', done));
  return url.replace(String(cluster.port), String(port));
}

it('an address that leads through a pooler is refused', async () => {
  const { source, target } = cells;
  const [refusing, ignoring] = [await pooler(target, true), await pooler(target, false)];
  for (const to of [refusing, ignoring])
    expect(await command('larkspur', source.url, to, '--dry-run')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('At the target: The address leads to a pooler'),
    });
  const found = await findings({ source, target: { ...target, url: ignoring } });
  expect(found).toContainEqual(expect.objectContaining({ check: 'pooler', severity: 'error' }));
  const from = await command('larkspur', source.url, target.url, '--from', await pooler(source, true));
  expect(from).toMatchObject({ code: 1, stderr: expect.stringContaining('not through a pooler') });
  // A move that has begun is not continued or undone through a pooler, either.
  expect(await command('larkspur', source.url, ignoring, '--abandon')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('leads to a pooler'),
  });
  expect(await move(cells, '--abandon')).toMatchObject({ code: 0 });
  expect(await leftovers(cells)).toEqual([]);
});

it('no password is shown, and no server writes one into its log', async () => {
  const { source, target } = cells;
  for (const { cluster, sql } of [source, target]) {
    await sql`ALTER SYSTEM SET logging_collector = on`;
    await sql.unsafe(`ALTER DATABASE gateway SET log_min_messages = info; ALTER DATABASE gateway SET log_statement = 'all';
      ALTER DATABASE gateway SET log_min_duration_statement = 0; CREATE ROLE feeder SUPERUSER LOGIN PASSWORD 'hush-role'`);
    await cluster.kill();
    await cluster.start();
  }
  const [from, to] = [at(source, 'feeder:hush-from'), at(target, 'feeder:hush-to')];
  const nowhere = 'postgres://feeder:hush-none@127.0.0.1:9/gateway';
  const all = [
    await started('rosewood', from, nowhere),
    await started('rosewood', from, to, '--from', nowhere),
    await started('rosewood', from, to),
  ];
  expect(all.map(({ code }) => code)).toEqual([1, 1, 0]);
  expect(JSON.stringify(all)).not.toMatch(/hush/);
  for (const { sql } of [source, target]) {
    const [{ log = '' } = {}] = await sql<{ log: string }[]>`SELECT pg_read_file(pg_current_logfile()) AS log`;
    expect(log).toContain('gateway.move');
    expect(log.split('\n').filter((line) => /hush-(from|to|none)/.test(line))).toEqual([]);
  }
});

/** Gives all that the gateway has made to the role `keeper`. */
const KEEPER = `CREATE ROLE keeper LOGIN PASSWORD 'hush-keeper'; CREATE ROLE weak LOGIN; GRANT pg_read_all_data TO weak;
  ALTER ROLE keeper SET statement_timeout = '1ms'; GRANT ALL ON SCHEMA public TO keeper;
  ALTER SCHEMA gateway OWNER TO keeper; ALTER SCHEMA platform OWNER TO keeper; ALTER TABLE public.gateway_migration OWNER TO keeper;
  DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT oid::regclass FROM pg_class WHERE relkind IN ('r', 'v') AND relnamespace::regnamespace::text IN ('gateway', 'platform')
    LOOP EXECUTE 'ALTER TABLE ' || name || ' OWNER TO keeper'; END LOOP;
    FOR name IN SELECT oid::regprocedure FROM pg_proc WHERE pronamespace::regnamespace::text IN ('gateway', 'platform')
    LOOP EXECUTE 'ALTER ROUTINE ' || name || ' OWNER TO keeper'; END LOOP;
  END $$`;

it('a role without a privilege is told which, and the owner of the tables with them moves an organization', async () => {
  const { source, target } = cells;
  for (const { sql } of [source, target]) {
    await sql.unsafe(KEEPER);
    const [{ file = '' } = {}] = await sql<{ file: string }[]>`SELECT current_setting('hba_file') AS file`;
    await sql.unsafe(`COPY (SELECT * FROM (VALUES ('host all keeper 127.0.0.1/32 scram-sha-256'),
      ('host all all 127.0.0.1/32 trust')) v) TO '${file}'`);
    await sql`SELECT pg_reload_conf()`;
  }
  const [from, to] = [at(source, 'keeper:hush-keeper'), at(target, 'keeper:hush-keeper')];
  const refused = async (said: string, ended: Promise<Ended>): Promise<void> =>
    expect(await ended).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(said) });
  await refused(
    'ALTER ROLE keeper REPLICATION; GRANT CREATE ON DATABASE gateway TO keeper;',
    command('larkspur', from, to),
  );
  await source.sql.unsafe('ALTER ROLE keeper REPLICATION; GRANT CREATE ON DATABASE gateway TO keeper');
  const [{ version = 0 } = {}] = await target.sql<{ version: number }[]>`
    SELECT current_setting('server_version_num')::integer / 10000 AS version`;
  if (version < 16) {
    await refused('before PostgreSQL 16, only a superuser may', command('larkspur', from, to));
    await target.sql`ALTER ROLE keeper SUPERUSER`;
  } else {
    const grants = (role: string): string =>
      `GRANT pg_create_subscription TO ${role}; GRANT CREATE ON DATABASE gateway TO ${role};`;
    await refused(grants('keeper'), command('larkspur', from, to));
    await target.sql.unsafe(
      ['keeper', 'weak']
        .map(
          (role) => `${grants(role)}
      GRANT SET ON PARAMETER session_replication_role TO ${role};`,
        )
        .join('\n'),
    );
    await refused('does not own the tables of the gateway', command('larkspur', from, at(target, 'weak')));
    await refused('wants a password in --from', command('larkspur', from, to, '--from', source.url));
  }
  // It could still write behind the move, so its guards stay. PostgreSQL does not tell `keeper` when it began.
  const other = await source.sql.reserve();
  await other`BEGIN READ ONLY`;
  await other`SELECT 1`;
  const ends = started('larkspur', from, to);
  const gone = () => source.sql`SELECT FROM platform.organization WHERE tenant = 1 AND moved_to IS NOT NULL`;
  await expect.poll(gone).toHaveLength(1);
  await pause(2_000);
  expect(await source.sql`SELECT FROM pg_trigger WHERE tgfoid = 'gateway.guard_move'::regproc`).not.toHaveLength(0);
  await other`COMMIT`;
  other.release();
  const moved = await ends;
  expect(moved, moved.stderr).toMatchObject({ code: 0 });
  expect(JSON.parse(moved.stdout)).toMatchObject({ digests_equal: true });
  expect(await leftovers(cells)).toEqual([]);
});

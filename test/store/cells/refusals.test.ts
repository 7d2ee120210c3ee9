import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  BASE_URL,
  type Cells,
  type Ended,
  findings,
  leftovers,
  move,
  moveProcess,
  moveUntil,
  number,
  openCells,
  organizationCommand,
} from '../../support/cells.ts';
import { closeClusters } from '../../support/cluster.ts';
import { addressOf, freshDatabase } from '../../support/database.ts';
import { KEYS } from '../../support/keys.ts';

/** Everything that stops a move stops it before anything is made, with a sentence that says what to do. */
let cells: Cells;
beforeAll(async () => {
  cells = await openCells();
});
afterAll(closeClusters);

async function refused(said: string, ended: Promise<Ended>): Promise<void> {
  const { code, stdout, stderr } = await ended;
  expect([code, stdout], stderr).toEqual([1, '']);
  expect(stderr).toContain(said);
  expect(stderr).not.toMatch(/postgres(ql)?:\/\/|\n {4}at /);
  expect(await leftovers(cells)).toEqual([]);
  expect(await cells.source.sql`SELECT FROM gateway.move`).toHaveLength(0);
  expect(await cells.target.sql`SELECT FROM platform.organization WHERE tenant = 1`).toHaveLength(0);
}

it('a target that must not take the organization', async () => {
  const { source, target } = cells;
  const to = (url: string): Promise<Ended> => move({ source, target: { ...target, url } });
  await refused('lead to one database', to(source.url));
  await source.cluster.sql('postgres').unsafe('CREATE DATABASE other');
  await refused('has no current schema of the gateway', to(source.cluster.url('other')));
  await refused('cannot be reached', to('postgres://postgres:secret@127.0.0.1:9/gateway'));
  await refused('has no database of this name', to(target.cluster.url('absent')));
  for (const [said, wrong, right] of [
    ['different ledger keys', "UPDATE gateway.ledger_key SET key = sha256('planted')", undefined],
    ['Both cells have the number 1', 'UPDATE gateway.cell SET number = 1', 'UPDATE gateway.cell SET number = 2'],
    [
      'different schemas',
      'DELETE FROM public.gateway_migration WHERE version = 51',
      "INSERT INTO public.gateway_migration VALUES (51, '0051_unused.sql')",
    ],
    [
      'same external_id',
      "INSERT INTO platform.organization (tenant, external_id, name) VALUES (2000007, 'larkspur', 'x')",
      'DELETE FROM platform.organization',
    ],
    [
      'rows of this organization already',
      "INSERT INTO platform.organization (tenant, external_id, name) VALUES (1, 'another', 'x')",
      'DELETE FROM platform.organization',
    ],
  ] as const) {
    const [key] = await target.sql<{ key: Buffer }[]>`SELECT key FROM gateway.ledger_key`;
    await target.sql.unsafe(wrong);
    if (said.startsWith('rows')) {
      expect((await move(cells)).stderr).toContain(said);
    } else await refused(said, move(cells));
    if (right === undefined) await target.sql`UPDATE gateway.ledger_key SET key = ${key?.key ?? Buffer.alloc(0)}`;
    else await target.sql.unsafe(right);
  }
});

it('a source that cannot let it go', async () => {
  const { source, target } = cells;
  const plain = await freshDatabase('demo');
  await plain.sql`UPDATE gateway.ledger_key SET key = (${(await target.sql`SELECT key FROM gateway.ledger_key`)[0]?.['key']}::bytea)`;
  const own = { ...source, url: addressOf(plain), sql: plain.sql };
  await refused('Set wal_level = logical', move({ source: own, target }));
  await plain.close();
  const { sql } = source;
  await sql`UPDATE gateway.import_run SET unfinished = true, names = '{larkspur}' WHERE slot = 9`;
  await refused('An import of this organization is not finished.', move(cells));
  await sql`UPDATE gateway.import_run SET unfinished = false, names = '{}' WHERE slot = 9`;
  await sql`INSERT INTO gateway.import_owed (tenant, site, event_type, slot) VALUES (1, 1, 'visitor.snapshot', 9)`;
  await refused('An import of this organization is not finished.', move(cells));
  await sql`DELETE FROM gateway.import_owed`;
  await sql`INSERT INTO gateway.suppression (tenant, digest) VALUES (1, ${Buffer.alloc(32)})`;
  await sql`INSERT INTO gateway.suppression_key (sealed) VALUES ('planted')`;
  await refused('GATEWAY_KEYS cannot open', move(cells));
  await sql`UPDATE gateway.suppression_key SET sealed = ${KEYS.seal('suppression', 'one')}`;
  await refused('different suppression keys', move(cells));
  // One key, encrypted twice: the cells need not have changed their keys at once.
  await target.sql`INSERT INTO gateway.suppression_key (sealed) VALUES (${KEYS.seal('suppression', 'one')})`;
  expect(await move(cells, '--dry-run')).toMatchObject({ code: 0 });
  for (const cell of [source, target]) await cell.sql`DELETE FROM gateway.suppression_key`;
  await sql`DELETE FROM gateway.suppression`;
});

it('what `cells check` finds, in the same words', async () => {
  const { source, target } = cells;
  const planted = async (wrong: Cells, check: string, right: () => Promise<unknown>): Promise<void> => {
    const found = (await findings(wrong)).filter(({ severity }) => severity === 'error');
    expect(
      found.map((one) => one.check),
      JSON.stringify(found),
    ).toEqual([check]);
    await refused(found[0]?.detail ?? '', move(wrong));
    await right();
  };
  await source.sql`SELECT pg_create_physical_replication_slot('s' || n) FROM generate_series(1, 7) n`;
  await planted(cells, 'slots', () =>
    source.sql.unsafe('SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots'),
  );
  await target.sql.unsafe(`CREATE ROLE weak LOGIN; GRANT postgres TO weak`);
  const weak = { source, target: { ...target, url: target.url.replace('postgres@', 'weak@') } };
  await planted(weak, 'subscription', () =>
    target.sql.unsafe('GRANT CREATE ON DATABASE gateway TO weak; REVOKE postgres FROM weak'),
  );
});

it('a command that is wrong', async () => {
  const { source, target } = cells;
  const url = { DATABASE_URL: source.url };
  await refused('There is no organization', organizationCommand(['move', 'nobody', '--to', target.url], url));
  await refused('--base-url must say', organizationCommand(['move', 'larkspur', '--to', target.url], url));
  await refused('No move of this organization has begun.', move(cells, '--abandon'));
  const dry = await move(cells, '--dry-run');
  expect(JSON.parse(dry.stdout)).toMatchObject({ dry_run: true, rows: expect.any(Number) });
  expect(await leftovers(cells)).toEqual([]);
});

it('two moves of one organization', async () => {
  const { source, target } = cells;
  const both = await Promise.all([moveProcess(cells), moveProcess(cells)]);
  const [done, late] = both.toSorted((a, b) => (a.code ?? 0) - (b.code ?? 0));
  expect([done?.code, late?.code], `${done?.stderr}${late?.stderr}`).toEqual([0, 1]);
  expect(late?.stderr).toContain('Another command moves this organization now.');
  // It has left: neither a second move nor an undo is possible. The same command tells where it lives.
  expect((await move(cells, '--abandon')).stderr).toContain(
    'The organization has moved, so there is nothing to abandon.',
  );
  expect(JSON.parse((await move(cells)).stdout)).toMatchObject({ base_url: BASE_URL, digests_equal: null });
  // While the other organization is under way, it cannot be moved from the target, nor to a third cell.
  expect((await moveUntil(cells, 'copying', '2')).signal).toBe('SIGKILL');
  const moves = (await findings(cells)).filter(({ check }) => check === 'move');
  expect(moves.map(({ severity, detail }) => `${severity} ${detail}`)).toEqual([
    expect.stringMatching(/^warning org_\w+ \(rosewood\) moves to .* Run `gateway organization move org_\w+ --to URL/),
    expect.stringMatching(
      /^warning org_\w+ \(rosewood\) arrives from another cell since 20.* in the cell that it leaves/,
    ),
  ]);
  await number(target, 1);
  const back = organizationCommand(['move', 'rosewood', '--to', source.url, '--base-url', BASE_URL, '--yes'], {
    DATABASE_URL: target.url,
  });
  expect((await back).stderr).toContain('The organization is arriving in this cell.');
  await number(target, 2);
  const gone = await organizationCommand(['move', 'rosewood', '--to', target.url, '--abandon', '--yes', '--json'], {
    DATABASE_URL: source.url,
  });
  expect(gone).toMatchObject({ code: 0 });
  expect(await leftovers(cells)).toEqual([]);
});

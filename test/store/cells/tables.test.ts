import { afterAll, beforeAll, expect, it } from 'vitest';
import { COPIED, deletionOrder, ORGANIZATION, partsOf, REPLICATED } from '../../../src/store/cells/tables.ts';
import { freshDatabase, type TestDatabase } from '../../support/database.ts';

/**
 * The law of moves: what happens with each table when an organization moves to another cell. Without it, a new table would
 * silently stay behind.
 */
let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.close());

const STAYS = {
  audit: 'the chains of audit records belong to the processes of a cell; the old cell keeps them for their days',
  import: 'the state of an import; a move waits for its end',
  store: 'the state of this PostgreSQL, not of an organization',
  quota: 'a bucket begins full at the target',
  people: 'people sign in again, because the cookie belongs to the old address',
} as const;

/** Tables whose rows do not move, with the reason. `import_chunk_1` and its like: see LEFT_PATTERN. */
const LEFT: Readonly<Record<string, string>> = {
  'gateway.audit': STAYS.audit,
  'gateway.audit_app_day': STAYS.audit,
  'gateway.audit_app_hour': STAYS.audit,
  'gateway.audit_block': STAYS.audit,
  'gateway.audit_chain': STAYS.audit,
  'gateway.audit_hour': STAYS.audit,
  'gateway.audit_summed': STAYS.audit,
  'gateway.audit_target': STAYS.audit,
  'gateway.capture_due': 'unlogged; a row lives only within a transaction',
  'gateway.cell': STAYS.store,
  'gateway.import_owed': STAYS.import,
  'gateway.import_run': STAYS.import,
  'gateway.import_step': STAYS.import,
  'gateway.import_tally': STAYS.import,
  'gateway.import_turn': STAYS.import,
  'gateway.import_wait': STAYS.import,
  'gateway.ledger_key': 'both cells have the same; the move refuses others',
  'gateway.move': 'the moves themselves',
  'gateway.quota': STAYS.quota,
  'gateway.session': STAYS.people,
  'gateway.sign_in_failure': STAYS.people,
  'gateway.sign_in_link': STAYS.people,
  'gateway.sign_in_place': STAYS.people,
  'gateway.suppression_key': 'both cells have the same; the move refuses others',
  'gateway.unnoted_block': STAYS.store,
  'gateway.unspelled': STAYS.store,
  'gateway.wanted_index': STAYS.store,
};

/** The staged records of imports: numbered, unlogged tables. */
const LEFT_PATTERN = /^gateway\.import_(chunk|plan|reject|stage)_\d+$/;

interface Table {
  readonly name: string;
  readonly columns: readonly string[];
  /** Columns of the replica identity. Null: all columns. */
  readonly identity: readonly string[] | null;
  readonly unlogged: boolean;
}

const tables = (): Promise<Table[]> => database.sql<Table[]>`
  SELECT n.nspname || '.' || c.relname AS name, c.relpersistence = 'u' AS unlogged,
         ARRAY(SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) AS columns,
         CASE WHEN c.relreplident <> 'f' THEN ARRAY(
           SELECT a.attname::text FROM pg_index i CROSS JOIN unnest(i.indkey::int2[]) k
             JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k
            WHERE i.indrelid = c.oid AND CASE c.relreplident WHEN 'd' THEN i.indisprimary ELSE i.indisreplident END) END AS identity
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
   WHERE n.nspname IN ('platform', 'gateway') AND c.relkind IN ('r', 'p') AND NOT c.relispartition`;

/** The classes of a table. There must be one. */
const classesOf = (name: string): string[] => [
  ...REPLICATED.filter((one) => one === name).map(() => 'replicated'),
  ...COPIED.filter((one) => one.name === name).map(() => 'copied'),
  ...(name === ORGANIZATION ? ['organization'] : []),
  ...(name in LEFT || LEFT_PATTERN.test(name) ? ['left'] : []),
];

/** What is wrong with how a move treats a table. */
function wrong({ name, columns, identity, unlogged }: Table): string[] {
  const classes = classesOf(name);
  const [own] = classes;
  return [
    ...(classes.length === 1
      ? []
      : [`${name} is in ${classes.length} classes (src/store/cells/tables.ts, or LEFT in this file)`]),
    ...(own === 'replicated' && identity?.includes('tenant') === false ? [`the identity of ${name} lacks tenant`] : []),
    ...(own === 'replicated' && unlogged ? [`${name} is unlogged, so PostgreSQL does not replicate it`] : []),
    ...(own === 'copied' && columns.includes('tenant') ? [`${name} has a tenant, so it can be replicated`] : []),
  ];
}

it('every table is replicated with its tenant, copied in the hold, or left behind with a reason', async () => {
  const all = await tables();
  expect(all.length).toBeGreaterThan(100);
  expect(all.flatMap(wrong)).toEqual([]);
  const names = new Set(all.map(({ name }) => name));
  expect(
    [...REPLICATED, ...COPIED.map(({ name }) => name), ...Object.keys(LEFT)].filter((one) => !names.has(one)),
  ).toEqual([]);
});

it('a table in no class, and one whose identity lacks the tenant, are seen', async () => {
  await database.sql`CREATE TABLE gateway.planted (id text PRIMARY KEY, tenant bigint)`;
  await database.sql`ALTER TABLE gateway.webhook_endpoint REPLICA IDENTITY DEFAULT`;
  expect((await tables()).flatMap(wrong).sort()).toEqual([
    'gateway.planted is in 0 classes (src/store/cells/tables.ts, or LEFT in this file)',
    'the identity of gateway.webhook_endpoint lacks tenant',
  ]);
  await database.sql`DROP TABLE gateway.planted`;
  await database.sql`ALTER TABLE gateway.webhook_endpoint REPLICA IDENTITY FULL`;
});

it('rows are deleted in an order in which no row is deleted with its parent, but for those of people', async () => {
  const order = deletionOrder('1').map(({ name }) => name);
  expect(order.toSorted()).toEqual(
    partsOf('1')
      .map(({ name }) => name)
      .toSorted(),
  );
  const references = await database.sql<{ child: string; parent: string }[]>`
    SELECT conrelid::regclass::text AS child, confrelid::regclass::text AS parent FROM pg_constraint
     WHERE contype = 'f' AND confdeltype = 'c' AND connamespace IN ('platform'::regnamespace, 'gateway'::regnamespace)`;
  const moving = references.filter(({ child, parent }) => order.includes(child) && order.includes(parent));
  expect(moving.length).toBeGreaterThan(40);
  expect(moving.filter(({ child, parent }) => order.indexOf(child) > order.indexOf(parent))).toEqual([]);
});

it('work for many organizations leaves held rows as they are', async () => {
  const rows = await database.sql<{ name: string }[]>`
    SELECT p.oid::regproc::text AS name FROM pg_proc p 
     WHERE p.prosrc LIKE '%set_config(''gateway.machine'', ''on'', true)%' ORDER BY 1`;
  expect(rows.map(({ name }) => name)).toEqual([
    ...['gateway.claim_deliveries', 'gateway.delete_tasks', 'gateway.erase_outcomes', 'gateway.interrupt_tasks'],
    'gateway.mend_clock',
    ...['gateway.settle_webhooks', 'gateway.source_take', 'gateway.take_lapsed', 'gateway.write_back_begin'],
  ]);
});

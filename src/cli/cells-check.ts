import { openGivenKeys } from '../auth/key-file.ts';
import type { Keyring } from '../auth/keys.ts';
import * as cells from '../store/administration/cells.ts';
import type { Database } from '../store/driver/postgres.ts';
import { withStoreAt } from '../store/open/cell.ts';
import { leadsTo } from '../store/open/server.ts';
import type { CommandContext } from './context.ts';
import { existingStore } from './existing-store.ts';
import { plain, table } from './output.ts';

interface CellFinding {
  readonly check: string;
  /** `error`: prevents a move. `warning`: will prevent one, or prevents one back. `note`: a value to think about. */
  readonly severity: 'error' | 'warning' | 'note';
  readonly cell: string;
  /** What is wrong, and what to do. */
  readonly detail: string;
}

/** The name of a store in the output, without its password. */
interface NamedCell {
  readonly store: string;
  /** `cell 2`, or the store if its number is unknown. */
  readonly name: string;
  readonly version: number;
}

interface ReadCell extends NamedCell {
  readonly own: boolean;
  readonly facts: cells.CellFacts;
  readonly keys: cells.CellKeys;
  readonly sealed: Awaited<ReturnType<typeof cells.readSealed>>;
  readonly organizations: readonly cells.CellOrganization[];
}

/** `schema`: the version that this command knows. A store of another version is only named. */
async function readCell(db: Database, store: string, schema: number, own: boolean): Promise<ReadCell | NamedCell> {
  const version = await cells.schemaVersion(db);
  if (version !== schema) return { store, name: store, version };
  const facts = await cells.readCellFacts(db);
  const [keys, sealed, organizations] = await Promise.all([
    cells.readCellKeys(db),
    cells.readSealed(db),
    cells.readCellOrganizations(db),
  ]);
  return { store, name: `cell ${facts.cell}`, version, own, facts, keys, sealed, organizations };
}

export async function checkCells({ out, store, config }: CommandContext, addresses: readonly string[]): Promise<void> {
  const here = existingStore(config);
  const keys = await openGivenKeys(config);
  const { slow, version } = await store({ migrates: false });
  const read = [await readCell(slow, here, version, true)];
  for (const address of addresses)
    read.push(await withStoreAt(address, (db) => readCell(db, leadsTo(address), version, false)));
  const all = read.filter((one): one is ReadCell => 'facts' in one);
  const findings = [...versions(read), ...all.flatMap((one) => ofOne(one, keys))];
  for (const [i, one] of all.entries())
    for (const other of all.slice(i + 1)) findings.push(...between(one, other, keys));
  out.result(
    {
      cells: all.map(({ facts, store: at, version, organizations }) => ({
        ...{ cell: facts.cell, store: at, schema: version, postgres: facts.postgres },
        ...{ organizations: organizations.length, numbers: { from: facts.from, to: facts.to, left: facts.left } },
      })),
      hosts: hostsOf(all),
      findings,
    },
    [
      table(
        ['CELL', 'STORE', 'SCHEMA', 'POSTGRESQL', 'ORGANIZATIONS', 'NUMBERS LEFT'],
        all.map(({ facts, store: at, version, organizations }) => [
          ...[
            String(facts.cell),
            at,
            String(version),
            facts.postgres,
            String(organizations.length),
            String(facts.left),
          ],
        ]),
      ),
      findings.length === 0
        ? 'No findings: organizations can move between these cells.'
        : table(
            ['CHECK', 'SEVERITY', 'CELL', 'DETAIL'],
            findings.map(({ check, severity, cell, detail }) => [check, severity, cell, detail]),
          ),
    ].join('\n\n'),
  );
  if (findings.some(({ severity }) => severity === 'error')) process.exitCode = 1;
}

/** Which cell answers for a host now, for the map of a proxy. */
const hostsOf = (all: readonly ReadCell[]): object[] =>
  all.flatMap(({ facts, organizations }) =>
    organizations
      .filter(({ host, moved_to }) => host !== null && moved_to === null)
      .map(({ host, id }) => ({ host, cell: facts.cell, organization_id: id })),
  );

function versions(all: readonly NamedCell[]): CellFinding[] {
  const newest = Math.max(...all.map(({ version }) => version));
  return all
    .filter(({ version }) => version < newest)
    .map(({ name, version }) => ({
      ...{ check: 'schema', severity: 'error', cell: name },
      detail:
        version === 0
          ? 'The database is no store of a gateway. Name the store of a cell, or run `gateway migrate` there.'
          : `The schema has version ${version}, and another cell has ${newest}. Run \`gateway migrate\` of the same version of the gateway there.`,
    }));
}

/** What a move needs of one cell. This store is the source of a move, and the others are targets. */
function ofOne({ name, own, facts, sealed }: ReadCell, keys: Keyring): CellFinding[] {
  const found = (check: string, severity: CellFinding['severity'], detail: string): CellFinding[] => [
    { check, severity, cell: name, detail },
  ];
  const source = own ? 'error' : 'warning';
  const target = own ? 'warning' : 'error';
  const unopened = sealed.filter((one) => keys.open(one.purpose, one.sealed) === undefined).length;
  const slots = facts.slotKeepsMegabytes;
  return [
    ...(unopened > 0
      ? found(
          'keys',
          'error',
          `GATEWAY_KEYS cannot open ${unopened} of ${sealed.length} encrypted values. All cells must have the same GATEWAY_KEYS: run the check with those of the gateways, and give them to each cell.`,
        )
      : []),
    ...(sealed.length === 0
      ? found(
          'keys',
          'note',
          'Nothing is encrypted in this store yet, so the check cannot tell whether its gateways have the same GATEWAY_KEYS. Compare the settings.',
        )
      : []),
    ...(facts.walLevel === 'logical'
      ? []
      : found('wal_level', source, `wal_level is ${facts.walLevel}. Set wal_level = logical, and restart PostgreSQL.`)),
    ...(facts.freeSlots > 0
      ? []
      : found('slots', source, 'No replication slot is free. Raise max_replication_slots, and restart PostgreSQL.')),
    ...(facts.freeSenders > 0
      ? []
      : found('senders', source, 'No WAL sender is free. Raise max_wal_senders, and restart PostgreSQL.')),
    ...(own
      ? found(
          'slot_keep',
          'note',
          slots < 0
            ? 'max_slot_wal_keep_size has no limit. A move that stands still keeps WAL until the disk is full. Set a limit, such as 50GB.'
            : `max_slot_wal_keep_size is ${slots} MB. A move that falls further behind must start over.`,
        )
      : []),
    ...(facts.replicates
      ? []
      : found(
          'replication',
          source,
          `The role may not replicate. As a superuser, run: ALTER ROLE ${facts.role} REPLICATION;`,
        )),
    ...(facts.subscribes
      ? []
      : found(
          'subscription',
          target,
          `The role may not make subscriptions. As a superuser, run: GRANT pg_create_subscription TO ${facts.role}; PostgreSQL 15 needs a superuser.`,
        )),
    ...(facts.logicalWorkers > 0
      ? []
      : found('workers', target, 'max_logical_replication_workers is 0. Set it to 4, and restart PostgreSQL.')),
    ...(facts.synchronous
      ? []
      : found(
          'synchronous_commit',
          'error',
          'synchronous_commit is off or local, so a crash can lose the end of a move. Set it to on.',
        )),
    ...(facts.left > 0
      ? []
      : found('numbers', 'warning', 'No organization number is left. Add new organizations to another cell.')),
  ];
}

/** What two cells must have in common, and what they must not. */
function between(one: ReadCell, other: ReadCell, keys: Keyring): CellFinding[] {
  const both = `${one.name}, ${other.name}`;
  const found = (check: string, severity: CellFinding['severity'], detail: string): CellFinding[] => [
    { check, severity, cell: both, detail },
  ];
  if (one.facts.database === other.facts.database)
    return found('store', 'error', 'Both addresses lead to one database. Name the store of another cell.');
  const major = (cell: ReadCell): number => Number.parseInt(cell.facts.postgres, 10);
  const [a, b] = [one, other].map(({ keys: { suppression } }) =>
    suppression === null ? undefined : keys.open('suppression', suppression),
  );
  const erased = one.keys.suppression !== null && other.keys.suppression !== null;
  const like = 'in the cell that has no use of its own yet, run `gateway migrate --like URL` with the URL of the other';
  return [
    ...(one.facts.cell === other.facts.cell
      ? found('cell', 'error', 'Both stores have one cell number. Make one anew with another GATEWAY_CELL.')
      : one.facts.from <= other.facts.to && other.facts.from <= one.facts.to
        ? found(
            'numbers',
            'error',
            'Both cells can give out the same organization number, because one has no range (docs/cells.md). Set the MAXVALUE of its sequence.',
          )
        : []),
    ...(one.keys.ledger === other.keys.ledger
      ? []
      : found(
          'ledger_key',
          'error',
          `The ledger keys differ, so a repeated Idempotency-Key would act again after a move. To mend it, ${like}.`,
        )),
    ...(erased && a !== b
      ? found(
          'suppression_key',
          'error',
          `The keys of suppressions differ, so imports would bring erased people back. To mend it, ${like}.`,
        )
      : []),
    ...(!erased && one.keys.suppression !== other.keys.suppression
      ? found(
          'suppression_key',
          'warning',
          `People were erased in one cell only. Before an erasure in the other, ${like}.`,
        )
      : []),
    ...(major(one) === major(other)
      ? []
      : found(
          'postgres',
          'note',
          `PostgreSQL ${one.facts.postgres} and ${other.facts.postgres}: a move works from the older to the newer. Check its tests before one back.`,
        )),
    ...organizations(one, other).flatMap(([check, detail]) => found(check, 'error', detail)),
  ];
}

/** Organizations that stand in two cells, or cannot stand beside each other. One that has moved away stands there no more. */
function organizations(one: ReadCell, other: ReadCell): [check: string, detail: string][] {
  const living = (cell: ReadCell): cells.CellOrganization[] =>
    cell.organizations.filter(({ moved_to }) => moved_to === null);
  const theirs = living(other);
  const [ids, names, numbers, hosts] = (['id', 'external_id', 'number', 'host'] as const).map(
    (member) => new Map(theirs.map((met) => [met[member], met])),
  );
  return living(one).flatMap((own): [string, string][] => {
    if (ids?.has(own.id))
      return [
        ['organization', `${own.id} (${plain(own.external_id)}) lives in both cells. Finish or abandon its move.`],
      ];
    const host = own.host === null ? undefined : hosts?.get(own.host);
    const alike = new Set(
      [names?.get(own.external_id), numbers?.get(own.number), host].filter((met) => met !== undefined),
    );
    return [...alike].map((met) => [
      'organization',
      met.external_id === own.external_id
        ? `${own.id} and ${met.id} have the external_id ${plain(own.external_id)}. Neither can move to the other cell: change one in its source.`
        : met.number === own.number
          ? `${own.id} and ${met.id} have the number ${own.number}. Neither can move to the other cell.`
          : `${own.id} and ${met.id} have the host ${own.host}. Remove it from one with \`gateway organization update\`.`,
    ]);
  });
}

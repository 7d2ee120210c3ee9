import { openGivenKeys } from '../auth/key-file.ts';
import type { Keyring } from '../auth/keys.ts';
import * as cells from '../store/administration/cells.ts';
import { type CellNeed, LIKE, pairNeeds, sourceNeeds, targetNeeds } from '../store/cells/checks.ts';
import { type CellFacts, readCellFacts } from '../store/cells/facts.ts';
import type { Database } from '../store/driver/postgres.ts';
import { withStoreAt } from '../store/open/cell.ts';
import { leadsTo } from '../store/open/server.ts';
import type { CommandContext } from './context.ts';
import { existingStore } from './existing-store.ts';
import { findMoves } from './open-moves.ts';
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
  readonly facts: CellFacts;
  readonly sealed: Awaited<ReturnType<typeof cells.readSealed>>;
  readonly organizations: readonly cells.CellOrganization[];
  readonly moves: Awaited<ReturnType<typeof findMoves>>;
}

/** `schema`: the version that this command knows. A store of another version is only named. */
async function readCell(db: Database, store: string, schema: number, own: boolean): Promise<ReadCell | NamedCell> {
  const version = await cells.schemaVersion(db);
  if (version !== schema) return { store, name: store, version };
  const facts = await readCellFacts(db);
  const [sealed, organizations, moves] = await Promise.all([
    cells.readSealed(db),
    cells.readCellOrganizations(db),
    findMoves(db),
  ]);
  return { store, name: `cell ${facts.cell}`, version, own, facts, sealed, organizations, moves };
}

export async function checkCells({ out, store, config }: CommandContext, addresses: readonly string[]): Promise<void> {
  const here = existingStore(config);
  const keys = await openGivenKeys(config);
  const { slow, version } = await store();
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
        all.map(({ facts, store: at, version, organizations }) =>
          [facts.cell, at, version, facts.postgres, organizations.length, facts.left].map(String),
        ),
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

/** Makes the finding of a check in `cell`, if `when` is true. */
const findingIn =
  (cell: string) =>
  (when: boolean, check: string, severity: CellFinding['severity'], detail: string): CellFinding[] =>
    when ? [{ check, severity, cell, detail }] : [];

/** What a move needs of one cell. This store is the source of a move, and the others are targets. */
function ofOne({ name, own, facts, sealed, moves }: ReadCell, keys: Keyring): CellFinding[] {
  const found = findingIn(name);
  const [leaves, arrives] = [sourceNeeds(facts), targetNeeds(facts)];
  const now = lacking(own ? leaves : arrives, 'error', name);
  const back = lacking(own ? arrives : leaves, 'warning', name);
  const unopened = sealed.filter((one) => keys.open(one.purpose, one.sealed) === undefined).length;
  const slots = facts.slotKeepsMegabytes;
  return [
    ...found(
      unopened > 0,
      'keys',
      'error',
      `GATEWAY_KEYS cannot open ${unopened} of ${sealed.length} encrypted values. All cells must have the same GATEWAY_KEYS: run the check with those of the gateways, and give them to each cell.`,
    ),
    ...found(
      sealed.length === 0,
      'keys',
      'note',
      'Nothing is encrypted in this store yet, so the check cannot tell whether its gateways have the same GATEWAY_KEYS. Compare the settings.',
    ),
    ...now,
    ...back.filter(({ detail }) => !now.some((one) => one.detail === detail)),
    ...found(
      own,
      'slot_keep',
      'note',
      slots < 0
        ? 'max_slot_wal_keep_size has no limit. A move that stands still keeps WAL until the disk is full. Set a limit, such as 50GB.'
        : `max_slot_wal_keep_size is ${slots} MB. A move that falls further behind must start over.`,
    ),
    ...moves.flatMap(({ check, detail }) => found(true, check, 'warning', detail)),
    ...found(
      facts.left <= 0,
      'numbers',
      'warning',
      'No organization number is left. Add new organizations to another cell.',
    ),
  ];
}

const lacking = (needs: readonly CellNeed[], severity: CellFinding['severity'], cell: string): CellFinding[] =>
  needs.filter(({ holds }) => !holds).map(({ check, sentence }) => ({ check, severity, cell, detail: sentence }));

/** What two cells must have in common, and what they must not. */
function between(one: ReadCell, other: ReadCell, keys: Keyring): CellFinding[] {
  const both = `${one.name}, ${other.name}`;
  const found = findingIn(both);
  const [a, b] = [one.facts, other.facts];
  const erased = [a, b].filter(({ suppressionKey }) => suppressionKey !== '').length;
  const sameKey = (mine: string, theirs: string): boolean =>
    keys.open('suppression', mine) === keys.open('suppression', theirs);
  const lack = lacking(pairNeeds(a, b, erased === 2, sameKey), 'error', both);
  if (lack.some(({ check }) => check === 'store')) return lack.slice(0, 1);
  const major = ({ postgres }: CellFacts): number => Number.parseInt(postgres, 10);
  return [
    ...lack,
    ...found(
      erased === 1,
      'suppression_key',
      'warning',
      `People were erased in one cell only. Do this before an erasure in the other. ${LIKE}`,
    ),
    ...found(
      major(a) !== major(b),
      'postgres',
      'note',
      `PostgreSQL ${a.postgres} and ${b.postgres}: a move works from the older to the newer. Check its tests before one back.`,
    ),
    ...organizations(one, other).flatMap(([check, detail]) => found(true, check, 'error', detail)),
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

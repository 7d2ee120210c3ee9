import { setTimeout as pause } from 'node:timers/promises';
import { Refused } from '../../core/refused.ts';
import { sql } from '../../core/sql.ts';
import { holdsIn } from '../driver/answers.ts';
import { refusesSettings, StoreUnreachable, sqlState } from '../driver/errors.ts';
import type { Database } from '../driver/postgres.ts';
import { type CellFacts, readCellFacts } from './facts.ts';
import type { MoveSides } from './hold.ts';

const REFUSALS = [
  [
    /^28/,
    'The PostgreSQL of --to refuses the role of its address, or its password. Put the password into the address, or into PGPASSWORD.',
  ],
  [/^3D000$/, 'The PostgreSQL of --to has no database of this name. Check the end of its address.'],
  [/^42501$/, 'The role of --to may not read the store of its gateway. Use a superuser.'],
] as const;

const AT_TARGET = 'At the target: ';
const BEHIND = 'The address leads to a pooler, through which no move works. Give the address of the server behind it.';
/** Milliseconds in which the primary is looked for among the hosts of an address. A silent host takes two seconds. */
const FOUND = 5_000;

const directNeed = ({ direct }: CellFacts): CellNeed => need('pooler', direct, BEHIND);

/** Each failed statement leads the next one to the next host of the address, so the primary is found. */
async function factsOfPrimary(db: Database): Promise<CellFacts> {
  for (const end = performance.now() + FOUND; ; ) {
    try {
      return await readCellFacts(db);
    } catch (error) {
      if (performance.now() > end || !(error instanceof StoreUnreachable) || refusesSettings(error)) throw error;
    }
    await pause(200);
  }
}

/** Like `readCellFacts`, for an address that the operator has typed. */
export async function factsOfTarget(db: Database): Promise<CellFacts> {
  try {
    const facts = await factsOfPrimary(db);
    requireAll([directNeed(facts)], AT_TARGET);
    return facts;
  } catch (error) {
    if (error instanceof StoreUnreachable && refusesSettings(error))
      throw new Refused(AT_TARGET + BEHIND, { cause: error });
    if (error instanceof StoreUnreachable)
      throw new Refused('The PostgreSQL of --to cannot be reached. Check its address, and that it runs.', {
        cause: error,
      });
    // No such table or schema.
    if (/^(42P01|3F000)$/.test(sqlState(error)))
      throw new Refused(
        'The database of --to has no current schema of the gateway. Run `gateway migrate` on it first.',
        {
          cause: error,
        },
      );
    const [, said] = REFUSALS.find(([state]) => state.test(sqlState(error))) ?? [];
    if (said !== undefined) throw new Refused(said, { cause: error });
    throw error;
  }
}

/** Something that a move needs, and the sentence that says what is wrong and what to do. */
export interface CellNeed {
  readonly check: string;
  readonly holds: boolean;
  readonly sentence: string;
}

function need(check: string, holds: boolean, sentence: string): CellNeed {
  return { check, holds, sentence };
}

/** Privileges that a role lacks, each with the statement that grants it. */
const granted = (check: string, { role }: CellFacts, ...all: readonly (readonly [boolean, string])[]): CellNeed => {
  const missing = all.flatMap(([has, statement]) => (has ? [] : [statement]));
  return need(
    check,
    missing.length === 0,
    `The role ${role} may not do all that a move needs here. As a superuser, run: ${missing.join(' ')}`,
  );
};

/** What a cell needs at either side of a move. */
const always = ({ synchronous, role, owner }: CellFacts): CellNeed[] => [
  need(
    'synchronous_commit',
    synchronous,
    'synchronous_commit is off or local, so a crash can lose the end of a move. Set it to on.',
  ),
  need(
    'owner',
    owner === null,
    `The role ${role} does not own the tables of the gateway. Give the address of their owner ${owner}, or of a superuser.`,
  ),
];

const free = (check: string, setting: string, n: number): CellNeed =>
  need(
    check,
    n >= 4,
    `${Math.max(0, n)} of ${setting} are free, but a move needs up to 4. Raise ${setting}, and restart PostgreSQL.`,
  );

/** What a cell needs so that an organization can leave it. */
export const sourceNeeds = (facts: CellFacts): CellNeed[] => [
  need(
    'wal_level',
    facts.walLevel === 'logical',
    `wal_level is ${facts.walLevel}. Set wal_level = logical, and restart PostgreSQL.`,
  ),
  free('slots', 'max_replication_slots', facts.freeSlots),
  free('senders', 'max_wal_senders', facts.freeSenders),
  granted(
    'replication',
    facts,
    [facts.replicates, `ALTER ROLE ${facts.role} REPLICATION;`],
    [facts.creates, `GRANT CREATE ON DATABASE ${facts.database} TO ${facts.role};`],
  ),
  need(
    'upgrade',
    !facts.backfills,
    'After an upgrade, the gateway still prepares its records for searches. Run `gateway migrate`, which ends when that is done.',
  ),
  ...always(facts),
];

/** What a cell needs so that an organization can arrive. */
export const targetNeeds = (facts: CellFacts): CellNeed[] => [
  directNeed(facts),
  need('standby', !facts.standby, 'The address leads to a standby. Give the address of its primary.'),
  Number.parseInt(facts.postgres, 10) < 16
    ? need(
        'subscription',
        facts.subscribes,
        `The role ${facts.role} may not create subscriptions: before PostgreSQL 16, only a superuser may. Give the address of a superuser.`,
      )
    : granted(
        'subscription',
        facts,
        [facts.subscribes, `GRANT pg_create_subscription TO ${facts.role};`],
        [facts.creates, `GRANT CREATE ON DATABASE ${facts.database} TO ${facts.role};`],
        [facts.quiet, `GRANT SET ON PARAMETER session_replication_role TO ${facts.role};`],
      ),
  need(
    'workers',
    facts.logicalWorkers > 0,
    'max_logical_replication_workers is 0. Set it to 4, and restart PostgreSQL.',
  ),
  ...always(facts),
];

/**
 * What two cells must have in common, and what they must not. `suppressed`: true if the key of suppressions matters,
 * because people were erased.
 */
export const pairNeeds = (
  one: CellFacts,
  other: CellFacts,
  suppressed: boolean,
  sameKey: MoveSides['sameKey'],
): CellNeed[] => {
  const [own, theirs] = [one, other].map(({ identity }) => identity.split(' ')[0]);
  return [
    need(
      'store',
      one.identity !== other.identity,
      'Both addresses lead to one database. Name the store of another cell.',
    ),
    need('server', own !== theirs, 'Both are databases of one PostgreSQL server. A cell is a server of its own.'),
    need(
      'cell',
      one.cell !== other.cell,
      `Both cells have the number ${one.cell}, so they give out the same ids. Make one anew with another GATEWAY_CELL.`,
    ),
    need(
      'numbers',
      one.cell === other.cell || one.from > other.to || other.from > one.to,
      'Both cells can give out the same organization number, because one has no range (docs/cells.md). Set the MAXVALUE of its sequence.',
    ),
    ...keptNeeds(one, other, suppressed, sameKey),
  ];
};

/** What can change while a move runs. */
const keptNeeds = (
  one: CellFacts,
  other: CellFacts,
  suppressed: boolean,
  sameKey: MoveSides['sameKey'],
): CellNeed[] => [
  need(
    'schema',
    one.schema === other.schema,
    'The cells have different schemas. Upgrade both to the same version, and run `gateway migrate` on each.',
  ),
  need(
    'ledger_key',
    one.ledgerKey === other.ledgerKey,
    `The cells have different ledger keys, so a repeated Idempotency-Key would act again after a move. ${LIKE}`,
  ),
  need(
    'suppression_key',
    !suppressed || sameKey(one.suppressionKey, other.suppressionKey),
    `The cells have different suppression keys, so an import could bring back an erased person. ${LIKE}`,
  ),
];

export const LIKE =
  'In the cell that has no use of its own yet, run `gateway migrate --like URL` with the URL of the other.';

function requireAll(needs: readonly CellNeed[], side = ''): void {
  for (const { holds, sentence } of needs) if (!holds) throw new Refused(`${side}${sentence}`);
}

/** Looks again, in the hold, at what may have changed since the move began. */
export async function mustStillFit({ source, target, tenant, sameKey }: MoveSides): Promise<void> {
  const [here, there, erased] = await Promise.all([
    readCellFacts(source),
    readCellFacts(target),
    suppressions(source, tenant),
  ]);
  requireAll(keptNeeds(here, there, erased, sameKey));
}

/** Refuses a move that has not begun, with a sentence for the operator. */
export async function mustFit({ source, target, tenant, sameKey }: MoveSides): Promise<void> {
  const [here, there, erased] = await Promise.all([
    readCellFacts(source),
    factsOfTarget(target),
    suppressions(source, tenant),
  ]);
  requireAll(pairNeeds(here, there, erased, sameKey));
  requireAll(sourceNeeds(here), 'At the source: ');
  requireAll(targetNeeds(there), AT_TARGET);
}

/** Refuses an organization that is in the target already, and one whose names another organization has there. */
export async function mustBeFree(source: Database, target: Database, tenant: string): Promise<void> {
  const [own] = await source.query<{ external: string; id: string }>(
    sql`SELECT external_id AS external, public_id AS id FROM platform.organization WHERE tenant = ${tenant}`,
  );
  if (!own) throw new Refused('The organization is gone.');
  // An organization that moved away and whose rows are deleted has only its row left (`clearMoved`). It may come back.
  const [other] = await target.query<{ same: boolean; external: boolean }>(sql`
    SELECT o.tenant = ${tenant} AS same, o.external_id = ${own.external} AS external FROM platform.organization o
     WHERE (o.tenant = ${tenant} OR o.external_id = ${own.external} OR o.public_id = ${own.id})
       AND NOT (o.tenant = ${tenant} AND o.public_id = ${own.id} AND o.moved_to IS NOT NULL
                AND NOT EXISTS (SELECT FROM gateway.move m WHERE m.tenant = o.tenant)
                AND NOT EXISTS (SELECT FROM platform.website w WHERE w.tenant = o.tenant)) LIMIT 1`);
  if (!other) return;
  throw new Refused(
    other.same
      ? 'The target has rows of this organization already. If a move to it has begun, give the command without --dry-run. If the organization lived there before, give the command of that move again with --keep 0 there, and wait a minute.'
      : `Another organization of the target has the same ${other.external ? 'external_id' : 'id'}. Two cells must not share one.`,
  );
}

async function suppressions(source: Database, tenant: string): Promise<boolean> {
  return holdsIn(source.query(sql`SELECT EXISTS (SELECT FROM gateway.suppression WHERE tenant = ${tenant}) AS holds`));
}

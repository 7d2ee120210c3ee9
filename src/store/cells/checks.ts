import { Refused } from '../../core/refused.ts';
import { sql } from '../../core/sql.ts';
import { StoreUnreachable, sqlState } from '../driver/errors.ts';
import type { Database } from '../driver/postgres.ts';
import type { MoveSides } from './hold.ts';

/** What a move must know of the PostgreSQL of a cell. */
interface MoveFacts {
  /** System identifier and name of the database. */
  readonly identity: string;
  readonly cell: number;
  readonly schema: string;
  readonly walLevel: string;
  readonly freeSlots: number;
  readonly freeSenders: number;
  readonly superuser: boolean;
  readonly replicates: boolean;
  readonly subscribes: boolean;
  readonly creates: boolean;
  /** True if the role may stop triggers for its own transaction. */
  readonly quiet: boolean;
  readonly standby: boolean;
  readonly ledgerKey: string;
  /** Encrypted with GATEWAY_KEYS. Empty: no person was erased. */
  readonly suppressionKey: string;
  /** True if a replication slot may fill the disk. */
  readonly keepsAllWal: boolean;
  readonly backfills: boolean;
}

export async function factsOf(db: Database): Promise<MoveFacts> {
  const [row] = await db.query<MoveFacts>(sql`
    SELECT (SELECT system_identifier FROM pg_control_system()) || ' ' || current_database() AS identity,
           (SELECT number FROM gateway.cell) AS cell,
           (SELECT string_agg(version || ' ' || name, ',' ORDER BY version) FROM public.gateway_migration) AS schema,
           current_setting('wal_level') AS "walLevel",
           current_setting('max_replication_slots')::integer - (SELECT count(*)::integer FROM pg_replication_slots) AS "freeSlots",
           current_setting('max_wal_senders')::integer - (SELECT count(*)::integer FROM pg_stat_replication) AS "freeSenders",
           r.rolsuper AS superuser, r.rolsuper OR r.rolreplication AS replicates,
           r.rolsuper OR EXISTS (SELECT FROM pg_roles p WHERE p.rolname = 'pg_create_subscription'
                                    AND pg_has_role(r.oid, p.oid, 'MEMBER')) AS subscribes,
           has_database_privilege(current_database(), 'CREATE') AS creates,
           has_parameter_privilege('session_replication_role', 'SET') AS quiet,
           pg_is_in_recovery() AS standby,
           coalesce((SELECT encode(sha256(key), 'hex') FROM gateway.ledger_key), '') AS "ledgerKey",
           coalesce((SELECT sealed FROM gateway.suppression_key), '') AS "suppressionKey",
           current_setting('max_slot_wal_keep_size') = '-1' AS "keepsAllWal",
           EXISTS (SELECT FROM gateway.unnoted_block) OR EXISTS (SELECT FROM gateway.unspelled) AS backfills
      FROM pg_roles r WHERE r.rolname = current_user`);
  if (!row) throw new Error('the role has no row');
  return row;
}

const REFUSALS = [
  [
    /^28/,
    'The PostgreSQL of --to refuses the role of its address, or its password. Put the password into the address, or into PGPASSWORD.',
  ],
  [/^3D000$/, 'The PostgreSQL of --to has no database of this name. Check the end of its address.'],
  [/^42501$/, 'The role of --to may not read the store of its gateway. Use a superuser.'],
] as const;

/** Like `factsOf`, for an address that the operator has typed. */
export async function factsOfTarget(db: Database): Promise<MoveFacts> {
  try {
    return await factsOf(db);
  } catch (error) {
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

type Need = readonly [holds: boolean, sentence: string];

/** What both cells must have in common, and what can change while a move runs. */
function common(source: MoveFacts, target: MoveFacts, hasSuppressions: boolean, sameKey: MoveSides['sameKey']): Need[] {
  return [
    [
      source.schema === target.schema,
      'The two cells have different schemas. Upgrade both to the same version, and run `gateway migrate` on each.',
    ],
    [
      source.ledgerKey === target.ledgerKey,
      'The two cells have different ledger keys, so a repeated Idempotency-Key would act again at the target. Set up the target with `gateway migrate --like URL`.',
    ],
    [
      !hasSuppressions || sameKey(source.suppressionKey, target.suppressionKey),
      'The two cells have different suppression keys, so an import could bring back an erased person. Set up the target with `gateway migrate --like URL`.',
    ],
  ];
}

function requireAll(needs: readonly Need[]): void {
  for (const [holds, sentence] of needs) if (!holds) throw new Refused(sentence);
}

/** Looks again, in the hold, at what may have changed since the move began. */
export async function mustStillFit({ source, target, tenant, sameKey }: MoveSides): Promise<void> {
  const [here, there, erased] = await Promise.all([factsOf(source), factsOf(target), suppressions(source, tenant)]);
  requireAll(common(here, there, erased, sameKey));
}

/** What stops a move that has not begun, as sentences for the operator. */
export function mustHold(
  source: MoveFacts,
  target: MoveFacts,
  hasSuppressions: boolean,
  sameKey: MoveSides['sameKey'],
): void {
  requireAll([
    [source.identity !== target.identity, 'Source and target are one database. --to must name the other cell.'],
    [
      source.identity.split(' ')[0] !== target.identity.split(' ')[0],
      'Source and target are databases of one PostgreSQL server. A cell is a server of its own.',
    ],
    [!target.standby, 'The address of --to leads to a standby. Give the address of its primary.'],
    [
      source.cell !== target.cell,
      `Both cells have the number ${source.cell}, so they give out the same ids. The target must be set up with another GATEWAY_CELL.`,
    ],
    ...common(source, target, hasSuppressions, sameKey),
    [
      source.walLevel === 'logical',
      `The source has wal_level ${source.walLevel}. Set wal_level = logical in its configuration and restart PostgreSQL.`,
    ],
    [source.freeSlots >= 4, needed('max_replication_slots', source.freeSlots)],
    [source.freeSenders >= 4, needed('max_wal_senders', source.freeSenders)],
    [source.creates, 'The role of DATABASE_URL may not create a publication. Run GRANT CREATE ON DATABASE for it.'],
    [
      target.subscribes && target.creates,
      'The role of --to may not create a subscription. Use a superuser, or on PostgreSQL 16 or newer grant it pg_create_subscription and CREATE ON DATABASE.',
    ],
    [
      target.quiet,
      'The role of --to may not set session_replication_role. Use a superuser, or run GRANT SET ON PARAMETER session_replication_role for it.',
    ],
    [
      !source.backfills,
      'After an upgrade, the source still prepares its records for searches. Run `gateway migrate` there, which ends when that is done.',
    ],
  ]);
}

const needed = (setting: string, free: number): string =>
  `The source has ${Math.max(0, free)} free of its ${setting}, but a move needs up to 4. Raise ${setting} and restart PostgreSQL.`;

/** The role that PostgreSQL at the target uses at the source. It is known here only if `--from` names the same. */
export function mustReplicate(source: MoveFacts): void {
  if (!source.replicates)
    throw new Refused(
      'The role of DATABASE_URL may not replicate. Run ALTER ROLE … REPLICATION for it at the source, or name another role in --from.',
    );
}

/** Refuses an organization that the target has already, or whose names another one there has. */
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

export async function suppressions(source: Database, tenant: string): Promise<boolean> {
  const [row] = await source.query<{ some: boolean }>(
    sql`SELECT EXISTS (SELECT FROM gateway.suppression WHERE tenant = ${tenant}) AS some`,
  );
  return row?.some === true;
}

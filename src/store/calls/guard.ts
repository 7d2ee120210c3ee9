import type { Authority } from '../../core/authority.ts';
import type { Failure } from '../../core/failures.ts';
import { empty, type Fragment, runFor, sql } from '../../core/sql.ts';
import { sqlState } from '../driver/errors.ts';
import type { Database } from '../driver/postgres.ts';

/** Identifies an authority by a token digest and a credential revision. These two decide what a token may do. */
type Identity = Pick<Authority, 'digest' | 'revision'>;

/**
 * The proof that an authority held at the snapshot of a statement. Only this file can make a proof. The file makes a
 * proof only from the answer of a statement that it has built with a guard.
 */
class Proof {
  readonly #digest: Uint8Array;
  readonly #revision: number;

  constructor({ digest, revision }: Identity) {
    this.#digest = digest;
    this.#revision = revision;
  }

  proves({ digest, revision }: Authority): boolean {
    return this.#revision === revision && Buffer.compare(this.#digest, digest) === 0;
  }
}

export type { Proof };

/** The answer of a statement, with a proof of the authority. A refusal is an answer too, so it has a proof as well. */
export interface Proved<T> {
  readonly proof: Proof;
  readonly answer: T | Failure;
}

/** The authority that a statement is built for, and the connections that run the statement. */
export interface Access {
  readonly authority: Authority;
  readonly db: Database;
}

/** The rows of a guarded statement, with the proof that the statement gave. */
export interface Guarded<R> {
  readonly proof: Proof;
  readonly rows: readonly R[];
}

/**
 * The guard of a statement on a replica. `guard` is one row with the column `ok`. `now` is the moment that counts as
 * the current time.
 */
export interface Standing {
  readonly guard: Fragment;
  readonly now: Fragment;
}

/** The authority of a statement no longer holds. The corridor reads the authority again and repeats the call. */
export class StaleAuthority extends Error {
  override readonly name = 'StaleAuthority';
}

/** SQL that is true when a token and a revision hold at the snapshot of the statement, and null otherwise. */
const holds = (digest: Uint8Array | Fragment, revision: number | Fragment): Fragment => sql`(
  SELECT true FROM gateway.token t JOIN gateway.credential c ON c.id = t.credential_id
   WHERE t.digest = ${digest} AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now())
     AND c.revision = ${revision} AND c.revoked_at IS NULL AND c.expires_at > now())`;

/** SQLSTATE that means: the authority ended while an SQL function of the store waited. */
const STALE = 'GW401';

async function changed<R extends object>(db: Database, statement: Fragment): Promise<R[]> {
  try {
    return await db.query<R>(statement);
  } catch (error) {
    throw sqlState(error) === STALE ? new StaleAuthority() : error;
  }
}

/**
 * Runs `SELECT columns FROM guard joins`. `guard` is one row, and its column `ok` says whether the authority holds.
 * Throws StaleAuthority when the authority does not hold. Data and proof come from PostgreSQL in one round trip. An
 * authority that was read earlier is only a guess. The guard proves the authority with two primary-key look-ups (0.02
 * ms). The guard also names the app that the statement runs for. Use `query` for `how` if the statement changes data.
 */
export async function guarded<R extends object>(
  { authority, db }: Access,
  columns: Fragment,
  joins: Fragment = empty,
  how: 'read' | 'query' = 'read',
): Promise<Guarded<R>> {
  const { appId, digest, revision } = authority;
  const statement = runFor(
    appId,
    sql`SELECT guard.ok, ${columns}
      FROM (SELECT coalesce(${holds(digest, revision)}, false) AS ok OFFSET 0) guard ${joins}`,
  );
  type Row = R & { ok: boolean };
  const rows = await (how === 'read' ? db.read<Row>(statement) : changed<Row>(db, statement));
  if (rows[0]?.ok !== true) throw new StaleAuthority();
  return { proof: new Proof(authority), rows };
}

/** Returns bytes in the text form of an element of a bytea[]. */
export const hex = (bytes: Uint8Array): string => `\\x${Buffer.from(bytes).toString('hex')}`;

/**
 * Like `guarded`, but for a statement that changes data for several authorities. `guard` is one row with the lists
 * `digests`, `revisions` and `oks`. Returns the proofs in the order of the authorities. `undefined` stands for an
 * authority that does not hold.
 */
export async function guardedBatch<R extends object>(
  db: Database,
  authorities: readonly Authority[],
  columns: Fragment,
  joins: Fragment,
): Promise<{ readonly proofs: readonly (Proof | undefined)[]; readonly rows: readonly R[] }> {
  const guard = sql`(
    SELECT g.*, (SELECT array_agg(coalesce(${holds(sql`k.digest`, sql`k.revision`)}, false) ORDER BY k.n)
                   FROM unnest(g.digests, g.revisions) WITH ORDINALITY AS k (digest, revision, n)) AS oks
      FROM (SELECT ${authorities.map(({ digest }) => hex(digest))}::bytea[] AS digests,
                   ${authorities.map(({ revision }) => revision)}::integer[] AS revisions) g OFFSET 0) guard`;
  const statement = sql`SELECT to_json(guard.oks) AS oks, ${columns} FROM ${guard} ${joins}`;
  const rows = await changed<R & { oks: readonly boolean[] }>(db, statement);
  const oks = rows[0]?.oks ?? [];
  return { proofs: authorities.map((one, i) => (oks[i] === true ? new Proof(one) : undefined)), rows };
}

/** The state of an existing token and the revision of its credential. An expired or revoked token cannot be used. */
export interface Found {
  readonly state: 'valid' | 'expired' | 'revoked';
  readonly revision: number;
}

/**
 * Reads a token `t` and its credential `c` again. `columns` can use `t`, `c` and the tables of `joins`. The proof is
 * for the revision in the row. `undefined` means that no token has the digest. `turn` is the app or network that the
 * statement runs for.
 */
export async function lookUp<R extends object>(
  db: Database,
  digest: Uint8Array,
  { columns, joins, turn }: { columns: Fragment; joins: Fragment; turn: string | undefined },
): Promise<{ readonly row: R & Found; readonly proof: Proof | undefined } | undefined> {
  const statement = sql`
    SELECT CASE WHEN t.revoked_at IS NOT NULL OR c.revoked_at IS NOT NULL THEN 'revoked'
                WHEN t.expires_at <= now() OR c.expires_at <= now() THEN 'expired' ELSE 'valid' END AS state,
           c.revision, ${columns}
      FROM gateway.token t
      JOIN gateway.credential c ON c.id = t.credential_id ${joins}
     WHERE t.digest = ${digest}`;
  const [row] = await db.read<R & Found>(turn === undefined ? statement : runFor(turn, statement));
  return row && { row, proof: row.state === 'valid' ? new Proof({ digest, revision: row.revision }) : undefined };
}

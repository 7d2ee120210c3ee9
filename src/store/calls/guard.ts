import type { Actor, Authority, PersonAuthority } from '../../core/authority.ts';
import type { Failure } from '../../core/failures.ts';
import { asLists, empty, type Fragment, runFor, sql } from '../../core/sql.ts';
import { changesOf } from '../driver/connections.ts';
import { sqlState } from '../driver/errors.ts';
import type { Database } from '../driver/postgres.ts';

const owns = sql`p.disabled_at IS NULL AND p.role IN ('owner', 'admin')`;
const enters = sql`p.disabled_at IS NULL AND (p.role IN ('owner', 'admin') OR gateway.is_approver(p))`;
const livesHere = sql`gateway.lives_here(p.tenant)`;

/**
 * SQL condition: the person may consent, because the person is an enabled owner or admin. Every statement that looks up a
 * signed-in person uses this condition, but for the few that approvers need (mayEnter). Nobody works in an organization
 * that has moved to another cell.
 */
export const mayConsent = sql`${owns} AND ${livesHere}`;

/**
 * SQL condition: the console lets the person in. Besides owners and admins, it lets in approvers, whom a credential names.
 * Statements for approvers check for themselves that a record concerns such a credential (administration/approvals.ts).
 */
export const mayEnter = sql`${enters} AND ${livesHere}`;

/** SQL condition: the person may sign in, here or where the organization lives now. */
export const maySignIn = ({ approvers }: { readonly approvers: boolean }): Fragment => (approvers ? enters : owns);

/** A token digest and a credential revision decide together what a token may do. */
type TokenIdentity = Pick<Authority, 'digest' | 'revision'>;

/**
 * Proves that an authority held at the snapshot of a statement. Made only here, from the answer of a guarded statement.
 */
class Proof {
  readonly #digest: Uint8Array;
  readonly #revision: number | null;

  constructor(of: TokenIdentity | PersonAuthority) {
    this.#digest = of.digest;
    this.#revision = revisionOf(of);
  }

  proves(authority: Actor): boolean {
    return this.#revision === revisionOf(authority) && Buffer.compare(this.#digest, authority.digest) === 0;
  }
}

/** Returns the revision of a credential. Null for a session, because the rights of a person have no revision. */
const revisionOf = (of: TokenIdentity | PersonAuthority): number | null => ('revision' in of ? of.revision : null);

export type { Proof };

/** The answer of a statement with the proof of the authority. A refusal is an answer too, and has a proof. */
export interface Proved<T> {
  readonly proof: Proof;
  readonly answer: T | Failure;
}

export interface Access<Of extends Actor = Authority> {
  readonly authority: Of;
  readonly db: Database;
}

export interface Guarded<R> {
  readonly proof: Proof;
  readonly rows: readonly R[];
}

/** The authority of a statement no longer holds. The call is then repeated under the current authority. */
export class StaleAuthority extends Error {
  override readonly name = 'StaleAuthority';
}

/**
 * Wraps a value in SQL that fails on a standby before PostgreSQL uses the value. So only a primary can prove an
 * authority, a session or a membership, even behind a pooler, which can change the server at any statement.
 */
export const atPrimary = (value: Fragment | Uint8Array): Fragment =>
  sql`(SELECT ${value instanceof Uint8Array ? sql`${value}::bytea` : value} WHERE pg_current_wal_flush_lsn() IS NOT NULL)`;

/** SQL that is true when the token and the revision are valid at the snapshot of the statement, and null otherwise. */
const holds = (digest: Uint8Array | Fragment, revision: number | Fragment): Fragment => sql`(
  SELECT true FROM gateway.token t JOIN gateway.credential c ON c.id = t.credential_id
   WHERE t.digest = ${digest} AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now())
     AND c.revision = ${revision} AND c.revoked_at IS NULL AND c.expires_at > now())`;

/** SQL that is true when the session is valid and its person may see data of the organization, and null otherwise. */
const signedIn = ({ digest, personId, tenant }: PersonAuthority): Fragment => sql`(
  SELECT true FROM gateway.session s JOIN gateway.person p ON p.id = s.person_id
   WHERE s.digest = ${atPrimary(digest)} AND s.expires_at > now() AND p.id = ${personId} AND p.tenant = ${tenant} AND ${mayConsent})`;

/** The SQLSTATE with which an SQL function fails when the authority has ended while the function waited. */
const STALE = 'GW401';

/** Runs a statement that changes data under an authority. Throws StaleAuthority if the authority ended while it waited. */
export async function changed<R extends object>(db: Database, statement: Fragment): Promise<R[]> {
  try {
    return await db.query<R>(statement);
  } catch (error) {
    throw sqlState(error) === STALE ? new StaleAuthority() : error;
  }
}

/**
 * Runs `SELECT columns FROM guard joins`. `guard` is one row, and its column `ok` says whether the authority holds.
 * Throws StaleAuthority when the authority does not hold. An authority that was loaded earlier may be outdated. So each
 * statement proves the authority again with two primary-key look-ups (0.02 ms), in the same round trip as the data. The
 * guard also names the app or person whose share of connections the statement uses. If the statement changes data,
 * `how` must be `query`. The statement then waits in the queue of the app's changes, so it must be short.
 */
export async function guarded<R extends object>(
  { authority, db }: Access<Actor>,
  columns: Fragment,
  joins: Fragment = empty,
  how: 'read' | 'query' = 'read',
): Promise<Guarded<R>> {
  const { turn, statement } = underGuard(authority, columns, joins);
  type Row = R & { ok: boolean };
  const rows = await (how === 'read'
    ? db.read<Row>(runFor(turn, statement))
    : changed<Row>(db, runFor(changesOf(turn), statement)));
  if (rows[0]?.ok !== true) throw new StaleAuthority();
  return { proof: new Proof(authority), rows };
}

/**
 * Calls an SQL function that changes data, if the authority holds. The function must return a value: null counts as an
 * authority that ended.
 */
export async function guardedCall<Answer>(
  access: Access<Actor>,
  call: Fragment,
): Promise<{ readonly proof: Proof; readonly answer: Answer }> {
  const columns = sql`CASE WHEN guard.ok THEN ${call} END AS answer`;
  const { proof, rows } = await guarded<{ answer: Answer | null }>(access, columns, empty, 'query');
  const answer = rows[0]?.answer;
  if (answer === null || answer === undefined) throw new StaleAuthority();
  return { proof, answer };
}

/** A guarded read whose rows are lists. The first value of each is `ok`. Run it with `readLists`. */
export function listsUnderGuard(authority: Actor, columns: Fragment, joins: Fragment): Fragment {
  const { turn, statement } = underGuard(authority, columns, joins);
  return asLists(runFor(turn, statement));
}

/** Runs a statement of `listsUnderGuard` for the same authority. */
export async function readLists(
  { authority, db }: Access<Actor>,
  statement: Fragment,
): Promise<Guarded<readonly unknown[]>> {
  const rows = await db.read<readonly unknown[]>(statement);
  if (rows[0]?.[0] !== true) throw new StaleAuthority();
  return { proof: new Proof(authority), rows };
}

function underGuard(authority: Actor, columns: Fragment, joins: Fragment): { turn: string; statement: Fragment } {
  const [turn, valid] =
    'tenant' in authority
      ? [authority.personId, signedIn(authority)]
      : [authority.appId, holds(atPrimary(authority.digest), authority.revision)];
  const statement = sql`SELECT guard.ok, ${columns}
      FROM (SELECT coalesce(${valid}, false) AS ok OFFSET 0) guard ${joins}`;
  return { turn, statement };
}

export const hex = (bytes: Uint8Array): string => `\\x${Buffer.from(bytes).toString('hex')}`;

/**
 * Like `guarded`, for one statement that writes under several authorities. `guard` is one row with lists `digests`,
 * `revisions` and `oks`. Returns a proof for each authority in order, or `undefined` if it no longer holds.
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

/**
 * Runs a statement that writes under several authorities. The statement returns only the rows whose authority it has
 * proved itself. Returns these rows by id, each with its proof.
 */
export async function provedWrites<R extends { readonly id: string }>(
  db: Database,
  statement: Fragment,
  authorities: ReadonlyMap<string, Authority>,
): Promise<ReadonlyMap<string, { readonly proof: Proof; readonly row: R }>> {
  const written = new Map<string, { proof: Proof; row: R }>();
  for (const row of await changed<R>(db, statement)) {
    const authority = authorities.get(row.id);
    if (authority) written.set(row.id, { proof: new Proof(authority), row });
  }
  return written;
}

export interface Found {
  /** `moved`: the organization lives in another cell. `arriving`: it is not open here yet. */
  readonly state: 'valid' | 'expired' | 'revoked' | 'moved' | 'arriving';
  readonly revision: number;
}

/**
 * Looks up a token `t` and its credential `c`, for `columns` and `joins`, which name the organization `o`. Undefined if no
 * token has the digest. The proof names the revision that was read. `turn`: the app or network in whose turn the statement waits.
 */
export async function lookUp<R extends object>(
  db: Database,
  digest: Uint8Array,
  { columns, joins, turn }: { columns: Fragment; joins: Fragment; turn: string | undefined },
): Promise<{ readonly row: R & Found; readonly proof: Proof | undefined } | undefined> {
  const statement = sql`
    SELECT CASE WHEN t.revoked_at IS NOT NULL OR c.revoked_at IS NOT NULL THEN 'revoked'
                WHEN t.expires_at <= now() OR c.expires_at <= now() THEN 'expired'
                WHEN o.moved_to IS NULL THEN 'valid'
                WHEN EXISTS (SELECT FROM gateway.move m WHERE m.tenant = o.tenant AND m.phase = 'arriving' AND NOT m.returns)
                THEN 'arriving' ELSE 'moved' END AS state,
           c.revision, ${columns}
      FROM gateway.token t
      JOIN gateway.credential c ON c.id = t.credential_id ${joins}
     WHERE t.digest = ${atPrimary(digest)}`;
  const [row] = await db.read<R & Found>(turn === undefined ? statement : runFor(turn, statement));
  return row && { row, proof: row.state === 'valid' ? new Proof({ digest, revision: row.revision }) : undefined };
}

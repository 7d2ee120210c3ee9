import type { Authority } from '../../core/authority.ts';
import { type Fragment, runFor, sql } from '../../core/sql.ts';

/** Whether the authority that a statement was built for still holds at its snapshot: true, or null. */
export const proof = (digest: Uint8Array | Fragment, revision: number | Fragment): Fragment => sql`(
  SELECT true FROM gateway.token t JOIN gateway.credential c ON c.id = t.credential_id
   WHERE t.digest = ${digest} AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now())
     AND c.revision = ${revision} AND c.revoked_at IS NULL AND c.expires_at > now())`;

/**
 * One row, `ok`: the proof of one authority. Data and proof travel in one round trip: an authority read before is only a
 * guess until the guard of the statement that uses it has said yes (two primary-key look-ups, 0.02 ms). It also says for
 * which app the statement is run, so that no reader of data can forget it.
 */
export const guard = (authority: Authority): Fragment =>
  runFor(
    authority.appId,
    sql`(SELECT coalesce(${proof(authority.digest, authority.revision)}, false) AS ok OFFSET 0) guard`,
  );

/** What a statement is proved by, one row `guard` with `ok`, and the moment that it takes for now. */
export interface Standing {
  readonly guard: Fragment;
  readonly now: Fragment;
}

/** An authority that is a guess until a statement has proved it, which then says so in `verified`. */
export interface Session {
  readonly authority: Authority;
  verified: boolean;
}

/** The authority a statement was built for no longer holds: the corridor reads it anew and runs the call again. */
export class StaleAuthority extends Error {
  override readonly name = 'StaleAuthority';
}

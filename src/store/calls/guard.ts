import type { Authority } from '../../core/authority.ts';
import { type Fragment, runFor, sql } from '../../core/sql.ts';

/** Whether the authority that a statement was built for still holds at its snapshot: true or null. */
export const proof = (digest: Uint8Array | Fragment, revision: number | Fragment): Fragment => sql`(
  SELECT true FROM gateway.token t JOIN gateway.credential c ON c.id = t.credential_id
   WHERE t.digest = ${digest} AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now())
     AND c.revision = ${revision} AND c.revoked_at IS NULL AND c.expires_at > now())`;

/**
 * One row with `ok`: the proof of one authority. Data and proof travel in one round trip. An authority that was read
 * before is only a guess. The guard of the statement that uses it proves it (two primary-key look-ups, 0.02 ms). The
 * guard also names the app that the statement runs for, so that no reader of data can forget it.
 */
export const guard = (authority: Authority): Fragment =>
  runFor(
    authority.appId,
    sql`(SELECT coalesce(${proof(authority.digest, authority.revision)}, false) AS ok OFFSET 0) guard`,
  );

/** How a statement is proved: `guard`, one row with `ok`; and `now`, the moment that counts as now. */
export interface Standing {
  readonly guard: Fragment;
  readonly now: Fragment;
}

/** An authority that is a guess until a statement has proved it. `verified` says whether one has. */
export interface Session {
  readonly authority: Authority;
  verified: boolean;
}

/** The authority of a statement no longer holds. The corridor reads it again and repeats the call. */
export class StaleAuthority extends Error {
  override readonly name = 'StaleAuthority';
}

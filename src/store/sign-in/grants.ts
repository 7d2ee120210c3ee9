import type { Resource } from '../../core/authority.ts';
import type { DataAccess, Scope } from '../../core/scopes.ts';
import { type Fragment, raw, sql } from '../../core/sql.ts';
import { mayConsent } from '../calls/guard.ts';
import type { Database } from '../driver/postgres.ts';

/**
 * An installed client that has proved its identity with the current or the previous secret, at one revision of its
 * credential. Statements check this proof again with gateway.client_proved (11_oauth.sql).
 */
export interface ProvedClient {
  readonly credential: string;
  readonly revision: number;
  readonly oldSecret: boolean;
}

/** The client that presents a code or a token. A client by URL proves nothing, because it has no secret. */
export type Presenter = ProvedClient | { readonly url: string };

/** The longest lifetimes in seconds. If the consent or the credential ends earlier, the store uses that earlier end. */
export const LIVES = {
  access: 900,
  code: 60,
  refreshIdle: 3_600,
  renewableConsent: 28_800,
} as const;

const seconds = (n: number): Fragment => sql`make_interval(secs => ${n})`;

/**
 * Without a consent, a client gets at most 60 tokens a minute, over all replicas and by PostgreSQL's clock. With
 * this OFFSET, SQL finds the client's sixtieth newest token. A refusal says how long the client must wait.
 */
const SIXTIETH = raw('59');

/**
 * SQL for the tokens that credential `c` got in the last minute without a consent. The SQL takes no lock, so
 * simultaneous requests can get a few more than 60 tokens. A token from more than a minute in the future does not
 * count, because such a token was made before the clock was set back.
 */
const ofTheLastMinute = sql`
  FROM gateway.token o
 WHERE o.credential_id = c.id AND o.kind = 'access' AND o.consent_id IS NULL
   AND o.created_at > now() - interval '1 minute' AND o.created_at < now() + interval '1 minute'`;

/**
 * Issues an access token without a consent, or returns the seconds to wait. Returns undefined when the client's proof
 * no longer holds.
 */
export async function issueAccess(
  db: Database,
  proved: ProvedClient,
  given: { digest: Uint8Array; audience: Resource; scopes: readonly Scope[]; sites: readonly string[] },
): Promise<{ expires_in: number } | { wait: number } | undefined> {
  const stands = sql`c.id = ${proved.credential} AND c.revision = ${proved.revision} AND c.revoked_at IS NULL
    AND c.expires_at > now() AND (NOT ${proved.oldSecret}::boolean OR c.old_secret_until > now())`;
  const [made] = await db.query<{ expires_in: number }>(sql`
    WITH c AS (SELECT id, expires_at FROM gateway.credential c WHERE ${stands} FOR SHARE),
    unflushed AS MATERIALIZED (
      -- Do not wait for the disk. If a crash loses a token, the client asks for a new one. A statement that ends a
      -- token does wait, until all earlier writes are on disk too. The wait cost more than half of the throughput
      -- (1,339/s against 3,234/s, 8 connections).
      SELECT set_config('synchronous_commit', 'off', true) FROM c
    )
    INSERT INTO gateway.token (digest, credential_id, kind, audience, scopes, sites, expires_at)
    SELECT ${given.digest}::bytea, c.id, 'access', ${given.audience}::text, ${given.scopes}::text[],
           ${given.sites}::bigint[], least(now() + ${seconds(LIVES.access)}, c.expires_at)
      FROM c, unflushed WHERE NOT EXISTS (SELECT ${ofTheLastMinute} OFFSET ${SIXTIETH})
    RETURNING floor(extract(epoch FROM expires_at - now()))::integer AS expires_in`);
  if (made) return made;
  const [full] = await db.read<{ wait: number }>(sql`
    SELECT greatest(1, ceil(extract(epoch FROM s.created_at + interval '1 minute' - now())))::integer AS wait
      FROM gateway.credential c CROSS JOIN LATERAL (
        SELECT o.created_at ${ofTheLastMinute} ORDER BY o.created_at DESC OFFSET ${SIXTIETH} LIMIT 1) s
     WHERE ${stands}`);
  return full;
}

/** The credential and the consent of a client by URL. Absent when the code or token is not the client's. */
export interface Holder {
  readonly credential?: string | undefined;
  readonly consent?: string | undefined;
}

export interface EndedConsent {
  readonly consent: string;
  readonly because: 'code_misused' | 'refresh_reused';
}

/** The tokens, or the reason why the exchange was refused. */
export type Exchanged = Holder &
  (
    | {
        readonly refused: 'invalid_grant' | 'invalid_target' | 'invalid_scope' | 'too_many_tokens';
        readonly ended?: EndedConsent;
        /** Seconds that the client must wait. Only present after `too_many_tokens`. */
        readonly wait?: number;
      }
    | { readonly refused: 'organization_moved'; readonly to: string }
    | {
        readonly scopes: readonly Scope[];
        readonly expires_in: number;
        readonly refresh_expires_in: number | null;
        /** The salt of the new tokens, in hex. Only present after a refresh by a client by URL. */
        readonly salt?: string;
      }
  );

interface NewTokens {
  readonly audience: Resource;
  readonly access: Uint8Array;
  readonly refresh: Uint8Array;
}

/**
 * Exchanges an authorization code. A `redirectUri` of null is not compared. Returns undefined when the client's proof
 * no longer holds.
 */
export function redeemCode(
  db: Database,
  by: Presenter,
  given: NewTokens & { readonly code: Uint8Array; readonly redirectUri: string | null; readonly challenge: string },
): Promise<Exchanged | undefined> {
  const { code, redirectUri, challenge, audience, access, refresh } = given;
  const all = sql`${code}, ${redirectUri}, ${challenge}, ${audience}, ${access}, ${refresh}, ${seconds(LIVES.access)}`;
  const call =
    'url' in by
      ? sql`gateway.redeem_hosted(${by.url}, ${all})`
      : sql`gateway.redeem_code(${proof(by)}, ${all}, ${seconds(LIVES.refreshIdle)})`;
  return exchange(db, call);
}

/**
 * Replaces a refresh token by a new one. `scopes` limits the new access token. Null means all consented scopes. `salt`
 * is the salt from which the new tokens are derived. For a client by URL, the answer has another salt when the request
 * repeats an earlier request. Returns undefined when the client's proof no longer holds.
 */
export function rotateRefresh(
  db: Database,
  by: Presenter,
  given: NewTokens & {
    readonly token: Uint8Array;
    readonly scopes: readonly Scope[] | null;
    readonly salt: Uint8Array;
  },
): Promise<Exchanged | undefined> {
  const { token, audience, scopes, access, refresh, salt } = given;
  const all = sql`${token}, ${audience}, ${scopes}::text[], ${access}, ${refresh}`;
  const call =
    'url' in by
      ? sql`gateway.rotate_hosted(${by.url}, ${all}, ${salt}, ${seconds(LIVES.access)})`
      : sql`gateway.rotate_refresh(${proof(by)}, ${all}, ${seconds(LIVES.access)}, ${seconds(LIVES.refreshIdle)})`;
  return exchange(db, call);
}

const proof = ({ credential, revision, oldSecret }: ProvedClient): Fragment =>
  sql`${credential}, ${revision}, ${oldSecret}`;

async function exchange(db: Database, call: Fragment): Promise<Exchanged | undefined> {
  const [row] = await db.query<{ exchanged: Exchanged | { refused: 'stale' } }>(sql`SELECT ${call} AS exchanged`);
  if (!row) throw new Error('the exchange answered nothing');
  const { exchanged } = row;
  return 'refused' in exchanged && exchanged.refused === 'stale' ? undefined : exchanged;
}

/**
 * What a client has ended. The members of the holder name the consent that has ended, or whose token has ended. They
 * are undefined when nothing ended, and for a token without a consent.
 */
export interface TokenEnd extends Holder {
  /**
   * The base URL of the cell in which the organization of the token lives now. Nothing has ended here then. Undefined
   * for a token that has already ended, because its holder has proved nothing.
   */
  readonly movedTo?: string;
  readonly what: 'token' | 'consent' | 'nothing';
}

/**
 * Ends an access token of this client. For a refresh token, ends the whole consent. A token of another client, or any
 * other text, changes nothing (RFC 7009, section 2.1). Returns undefined when the client's proof no longer holds.
 */
export async function endToken(db: Database, by: Presenter, digest: Uint8Array): Promise<TokenEnd | undefined> {
  // A client by URL has one credential for each person. The token leads to the right one.
  const credential =
    'url' in by
      ? sql`SELECT k.id FROM gateway.credential k WHERE k.hosted_client = ${by.url} AND k.id IN (
              SELECT t.credential_id FROM gateway.token t WHERE t.digest = ${digest} UNION ALL
              SELECT c.credential_id FROM gateway.refresh_token r JOIN gateway.consent c ON c.id = r.consent_id
               WHERE r.digest = ${digest})`
      : sql`SELECT (gateway.client_proved(${proof(by)})).id AS id`;
  interface EndedRow {
    readonly credential: string | null;
    readonly what: TokenEnd['what'];
    readonly consent: string | null;
    readonly moved: string | null;
  }
  const [row] = await db.query<EndedRow>(sql`
    WITH k AS MATERIALIZED (SELECT x.id, gateway.credential_moved_to(x.id) AS moved FROM (${credential}) x),
    t AS (
      UPDATE gateway.token t SET revoked_at = now() FROM k
       WHERE t.digest = ${digest} AND k.moved IS NULL AND t.credential_id = k.id AND t.kind = 'access' AND t.revoked_at IS NULL
       RETURNING t.consent_id
    ), c AS (
      UPDATE gateway.consent c SET revoked_at = now(), revoked_because = 'client' FROM k, gateway.refresh_token r
       WHERE r.digest = ${digest} AND k.moved IS NULL AND c.id = r.consent_id AND c.credential_id = k.id AND c.revoked_at IS NULL
       RETURNING c.id
    ), live AS (
      SELECT FROM gateway.token t WHERE t.digest = ${digest} AND t.revoked_at IS NULL AND t.expires_at > now() UNION ALL
      SELECT FROM gateway.refresh_token r JOIN gateway.consent c ON c.id = r.consent_id
       WHERE r.digest = ${digest} AND r.expires_at > now() AND c.revoked_at IS NULL AND c.expires_at > now()
    )
    SELECT k.id AS credential, CASE WHEN EXISTS (SELECT FROM live) THEN k.moved END AS moved,
           coalesce((SELECT c.id FROM c), (SELECT t.consent_id FROM t)) AS consent,
           CASE WHEN EXISTS (SELECT FROM t) THEN 'token' WHEN EXISTS (SELECT FROM c) THEN 'consent' ELSE 'nothing' END AS what
      FROM k`);
  if (!('url' in by) && !row?.credential) return undefined;
  if (row?.moved != null) return { what: 'nothing', movedTo: row.moved };
  if (!row || row.what === 'nothing') return { what: 'nothing' };
  return { what: row.what, credential: row.credential ?? undefined, consent: row.consent ?? undefined };
}

interface AnyApproval {
  readonly id: string;
  readonly session: Uint8Array;
  readonly request: Uint8Array;
  readonly audience: Resource;
  readonly scopes: readonly Scope[];
  readonly sites: readonly string[];
  readonly code: Uint8Array;
  readonly challenge: string;
  readonly redirectUri: string;
}

/** A person's approval of an installed client. */
export interface InstalledApproval extends AnyApproval {
  readonly kind: 'installed';
  readonly credential: string;
  readonly revision: number;
  readonly renewable: boolean;
}

/** A person's approval of a client by URL. */
export interface ApprovalByUrl extends AnyApproval {
  readonly kind: 'by_url';
  readonly client: { readonly url: string; readonly host: string; readonly name: string };
  /** The ids of the app, its installation and its credential. They are unused if the person approved this client before. */
  readonly made: Readonly<Record<'app' | 'installation' | 'credential', string>>;
  /** The digest of a secret that nobody knows. */
  readonly secret: Uint8Array;
  readonly dataAccess: readonly DataAccess[];
  /** Seconds until the consent ends. */
  readonly lasts: number;
  /** Seconds without a refresh after which the consent ends. */
  readonly idle: number;
}

/**
 * Stores a consent with its authorization code. Returns false when the request was already answered, or when the
 * session, the role, the credential or the websites have changed since the page was shown.
 */
export async function insertConsent(db: Database, approval: InstalledApproval | ApprovalByUrl): Promise<boolean> {
  const rows = await db.query<{ done: boolean }>(
    approval.kind === 'installed' ? approveInstalled(approval) : approveByUrl(approval),
  );
  return rows[0]?.done === true;
}

/**
 * The rows of the person, the session and the credential stay locked until the commit. Nothing is stored if the person,
 * the session or the credential has already ended. If the person or the credential ends later, this consent also ends.
 */
const approveInstalled = (approval: InstalledApproval): Fragment => sql`
  INSERT INTO gateway.consent (id, credential_id, person_id, request, audience, scopes, sites, renewable, code_digest,
                               code_challenge, code_expires_at, redirect_uri, expires_at)
  SELECT ${approval.id}::text, c.id, p.id, ${approval.request}::bytea, ${approval.audience}::text,
         ${approval.scopes}::text[], ${approval.sites}::bigint[], ${approval.renewable}::boolean,
         ${approval.code}::bytea, ${approval.challenge}::text, now() + ${seconds(LIVES.code)},
         ${approval.redirectUri}::text,
         least(c.expires_at, now() + make_interval(secs => CASE WHEN ${approval.renewable}::boolean
           THEN ${LIVES.renewableConsent}::integer ELSE ${LIVES.code + LIVES.access}::integer END))
    FROM gateway.session s JOIN gateway.person p ON p.id = s.person_id, gateway.credential c
   WHERE s.digest = ${approval.session} AND s.expires_at > now()
     AND ${mayConsent}
     AND c.id = ${approval.credential} AND c.revision = ${approval.revision} AND c.revoked_at IS NULL AND c.expires_at > now()
     FOR SHARE OF p, s, c
  ON CONFLICT (request) DO NOTHING
  RETURNING true AS done`;

/** The first approval of a client by URL makes an app and a credential for the person (11_oauth.sql). */
const approveByUrl = ({ client, made, ...approval }: ApprovalByUrl): Fragment => sql`
  SELECT gateway.approve_hosted(${approval.id}, ${made.app}, ${made.installation}, ${made.credential}, ${approval.secret},
    ${client.url}, ${client.host}, ${client.name}, ${approval.session}, ${approval.request}, ${approval.audience},
    ${approval.scopes}::text[], ${approval.sites}::bigint[], ${approval.dataAccess}::text[], ${seconds(approval.lasts)},
    ${seconds(approval.idle)}, ${approval.code}, ${seconds(LIVES.code)}, ${approval.challenge}, ${approval.redirectUri}) AS done`;

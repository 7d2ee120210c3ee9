import { WAIT_BY_DEFAULT } from '../../core/authority.ts';
import type { DataAccess, Restriction, Scope } from '../../core/scopes.ts';
import { empty, type Fragment, join, raw, sql } from '../../core/sql.ts';
import type { Database } from '../driver/postgres.ts';
import {
  type Administrator,
  door,
  type ListPage,
  type Nullable,
  readPage,
  type Slice,
  within,
} from './administrator.ts';

/** A credential without its secrets and digests. Each write in this file is one statement. */
export interface CredentialRecord extends Omit<Policy, 'lifetime'> {
  readonly id: string;
  readonly installation_id: string;
  readonly app_id: string;
  readonly app_name: string;
  readonly organization_id: string;
  readonly tenant: string;
  readonly environment: Environment;
  readonly state: 'active' | 'expired' | 'revoked';
  readonly approver_emails: string[];
  readonly revision: number;
  readonly expires_at: Date;
  readonly revoked_at: Date | null;
  readonly created_at: Date;
  readonly updated_at: Date;
  /** After a rotation, the old secret is also accepted until this time. Null: only the new secret is accepted. */
  readonly old_secret_until: Date | null;
  readonly usable_tokens: number;
  /** The host of a client by URL. Null for an installed client. */
  readonly client_host: string | null;
}

export type Environment = 'live' | 'test';

/** Who may approve the writes that wait. `others`: nobody approves a write of their own agent. */
export const APPROVAL_BY = ['anyone', 'others'] as const;
export type ApprovalBy = (typeof APPROVAL_BY)[number];

/** The permissions of a credential. A restriction lists the permitted ids. Null permits every id. */
export interface Policy extends Readonly<Record<Restriction, readonly string[] | null>> {
  readonly sites: readonly string[];
  readonly scopes: readonly Scope[];
  readonly data_access: readonly DataAccess[];
  readonly callbacks: readonly string[];
  readonly origins: readonly string[];
  /** The ranges of IP addresses from which the credential may be used. Empty: every address. */
  readonly allow_ip: readonly string[];
  /** The operations whose writes a person must approve first. */
  readonly approve: readonly string[];
  readonly approval_by: ApprovalBy;
  /** The people who decide about these writes besides owners and admins, by id. */
  readonly approvers: readonly string[];
  /** The operations by policy that the credential has. */
  readonly write: readonly string[];
  /** Those of them that wait for a person by default, and need not. */
  readonly without_approval: readonly string[];
  /** The lifetime in seconds from now. */
  readonly lifetime: number;
}

/** `without_approval` removes from `approve`, and adds to what need not wait. */
export type PolicyChanges = { readonly [K in keyof Policy]?: Policy[K] | undefined };

export interface Digests {
  readonly secret: Uint8Array;
  readonly token: Uint8Array;
}

const seconds = (n: number): Fragment => sql`make_interval(secs => ${n}::double precision)`;
/** The time `n` seconds from now, in whole milliseconds, because the command line shows only milliseconds. */
const until = (n: number): Fragment => sql`date_trunc('milliseconds', now() + ${seconds(n)})`;

const view = (where: Fragment = empty): Fragment => sql`
  SELECT c.id, c.installation_id, a.id AS app_id, a.name AS app_name, o.public_id AS organization_id, a.tenant,
         c.environment, c.sites, c.scopes, c.data_access, c.channel_ids, c.team_ids, c.subsite_ids,
         c.callbacks, c.origins, c.allow_ip, c.approve, c.approval_by, c.approvers,
         ARRAY(SELECT p.email FROM gateway.person p WHERE p.id = ANY (c.approvers) ORDER BY p.email) AS approver_emails,
         c.write, c.without_approval, c.revision, c.expires_at, c.revoked_at, c.created_at, c.updated_at,
         c.hosted_host AS client_host,
         CASE WHEN c.revoked_at IS NOT NULL THEN 'revoked' WHEN c.expires_at <= now() THEN 'expired' ELSE 'active' END AS state,
         CASE WHEN c.old_secret_until > now() THEN c.old_secret_until END AS old_secret_until,
         (SELECT count(*)::integer FROM gateway.token t
           WHERE t.credential_id = c.id AND t.kind = 'installation' AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now())
             AND c.revoked_at IS NULL AND c.expires_at > now()) AS usable_tokens
    FROM c
    JOIN gateway.installation i ON i.id = c.installation_id
    JOIN gateway.app a ON a.id = i.app_id
    JOIN platform.organization o ON o.tenant = a.tenant
   ${where} ORDER BY c.created_at, c.id`;

/** Inserts a credential with its first token. Returns undefined when the installation does not exist. */
export async function insertCredential(
  db: Database,
  made: { id: string; installation: string; environment: Environment; policy: Policy; digests: Digests },
): Promise<CredentialRecord | undefined> {
  const { policy, digests } = made;
  const [row] = await db.query<CredentialRecord>(sql`
    WITH c AS (
      INSERT INTO gateway.credential (id, installation_id, environment, secret_digest, sites, scopes, data_access,
                                      channel_ids, team_ids, subsite_ids, callbacks, origins, allow_ip, approve, approval_by,
                                      approvers, write, without_approval, expires_at)
      SELECT ${made.id}::text, i.id, ${made.environment}::text, ${digests.secret}::bytea, ${policy.sites}::bigint[],
             ${policy.scopes}::text[], ${policy.data_access}::text[], ${policy.channel_ids}::text[],
             ${policy.team_ids}::text[], ${policy.subsite_ids}::text[], ${policy.callbacks}::text[],
             ${policy.origins}::text[], ${policy.allow_ip}::text[], ${policy.approve}::text[], ${policy.approval_by}::text,
             ${policy.approvers}::text[], ${policy.write}::text[], ${freeOf(policy)}::text[],
             ${until(policy.lifetime)}
        FROM gateway.installation i WHERE i.id = ${made.installation}
      RETURNING *
    ), t AS (
      INSERT INTO gateway.token (digest, credential_id, kind) SELECT ${digests.token}::bytea, c.id, 'installation' FROM c
    ) ${view()}`);
  return row;
}

/** Only operations that the policy names, and that would wait without this. */
const freeOf = ({ write, without_approval: free }: Policy): readonly string[] =>
  WAIT_BY_DEFAULT.filter((name) => write.includes(name) && free.includes(name));

/** The organization of a row of the table `credential`. */
const TENANT = sql`(SELECT a.tenant FROM gateway.installation i JOIN gateway.app a ON a.id = i.app_id
                     WHERE i.id = credential.installation_id)`;

export interface CredentialFilter {
  readonly id?: string;
  readonly tenant?: string;
  readonly app?: string;
  readonly installation?: string;
}

export async function readCredentials(db: Database, filter: CredentialFilter = {}): Promise<CredentialRecord[]> {
  const { id = null, tenant = null, app = null, installation = null } = filter;
  return db.query<CredentialRecord>(sql`
    WITH c AS (
      SELECT * FROM gateway.credential
       WHERE (${id}::text IS NULL OR id = ${id}) AND (${installation}::text IS NULL OR installation_id = ${installation})
    ) ${view(sql`WHERE (${tenant}::bigint IS NULL OR a.tenant = ${tenant}) AND (${app}::text IS NULL OR a.id = ${app})`)}`);
}

export interface CredentialSearch {
  readonly id?: string | undefined;
  readonly app?: string | undefined;
  readonly state?: CredentialRecord['state'] | undefined;
  /** Only active credentials that end within this number of days. */
  readonly endsWithin?: number | undefined;
}

/** One page of the credentials in the administrator's organization. Those that can still be used come first. */
export const pageOfCredentials = (
  db: Database,
  by: Administrator,
  { id = null, app = null, state = null, endsWithin = null }: Nullable<CredentialSearch>,
  slice: Slice,
): Promise<ListPage<CredentialRecord>> =>
  readPage(
    db,
    by,
    sql`SELECT w.* FROM (
      WITH c AS (SELECT * FROM gateway.credential WHERE (${id}::text IS NULL OR id = ${id}))
      ${view(sql`WHERE ${within(by, sql`a.tenant`)} AND (${app}::text IS NULL OR a.id = ${app})`)}) w
     WHERE (${state}::text IS NULL OR w.state = ${state})
       AND (${endsWithin}::integer IS NULL
            OR w.state = 'active' AND w.expires_at < now() + make_interval(days => ${endsWithin}::integer))`,
    slice,
    { order: endsWithin === null ? sql`r.state = 'active' DESC, r.created_at DESC` : sql`r.expires_at` },
  );

/** Changes a credential at once. A real change adds one to its revision. Undefined if it is revoked or unknown. */
export async function updateCredential(
  db: Database,
  id: string,
  { lifetime, sites, ...lists }: PolicyChanges,
): Promise<CredentialRecord | undefined> {
  const changes = [
    ...(sites === undefined ? [] : [sql`sites = ${sites}::bigint[]`]),
    ...(lifetime === undefined ? [] : [sql`expires_at = ${until(lifetime)}`]),
    ...setLists(lists),
  ];
  const [row] = await db.query<CredentialRecord>(sql`
    WITH c AS (
      UPDATE gateway.credential SET ${join(changes, ', ')} WHERE id = ${id} AND revoked_at IS NULL RETURNING *
    ) ${view()}`);
  return row;
}

/** The lists of texts that a change replaces as they are given. */
const LISTS = [
  ...(['scopes', 'data_access', 'channel_ids', 'team_ids', 'subsite_ids', 'callbacks', 'origins'] as const),
  ...(['allow_ip', 'approvers', 'write'] as const),
];

function setLists(lists: Omit<PolicyChanges, 'lifetime' | 'sites'>): Fragment[] {
  const { approve, approval_by, write, without_approval: free = [] } = lists;
  const waits = approve === undefined ? sql`approve` : sql`${approve}::text[]`;
  const written = write === undefined ? sql`write` : sql`${write}::text[]`;
  return [
    ...LISTS.flatMap((name) => {
      const list = lists[name];
      return list === undefined ? [] : [sql`${raw(name)} = ${list}::text[]`];
    }),
    ...(approval_by === undefined ? [] : [sql`approval_by = ${approval_by}::text`]),
    ...(approve === undefined && free.length === 0
      ? []
      : [sql`approve = ARRAY(SELECT o FROM unnest(${waits}) AS o WHERE o <> ALL (${free}::text[]) ORDER BY o)`]),
    // An operation that the policy names again waits again.
    ...(approve === undefined && write === undefined && free.length === 0
      ? []
      : [
          sql`without_approval = ARRAY(SELECT DISTINCT o FROM unnest(without_approval || ${free}::text[]) AS o
               WHERE o = ANY (${WAIT_BY_DEFAULT}::text[]) AND o = ANY (${written}) AND o <> ALL (${approve ?? []}::text[]) ORDER BY o)`,
        ]),
  ];
}

/**
 * Replaces the secret and the token of a credential. The old secret and token work for `overlap` more seconds. With 0
 * they end at once. Secrets and tokens of earlier rotations do not get more time.
 *
 * Returns undefined and changes nothing when the credential is revoked or expired, or belongs to a client without a
 * secret. The same happens when the credential no longer has the revision that the caller has read. Without this check,
 * two rotations at the same time could leave the token of the first rotation active.
 */
export async function rotateSecrets(
  db: Database,
  which: { id: string; revision: number },
  digests: Digests,
  overlap: number,
): Promise<CredentialRecord | undefined> {
  const end = until(overlap);
  const [row] = await db.query<CredentialRecord>(sql`
    WITH c AS (
      UPDATE gateway.credential
         SET secret_digest = ${digests.secret}::bytea,
             old_secret_digest = CASE WHEN ${overlap}::integer > 0 THEN secret_digest END,
             old_secret_until = CASE WHEN ${overlap}::integer > 0 THEN ${end} END
       WHERE id = ${which.id} AND revision = ${which.revision} AND revoked_at IS NULL AND expires_at > now()
         AND hosted_client IS NULL
      RETURNING *
    ), old AS (
      UPDATE gateway.token t
         SET expires_at = least(t.expires_at, ${end}), revoked_at = CASE WHEN ${overlap}::integer = 0 THEN now() END
        FROM c WHERE t.credential_id = c.id AND t.kind = 'installation' AND t.revoked_at IS NULL
    ), new AS (
      INSERT INTO gateway.token (digest, credential_id, kind) SELECT ${digests.token}::bytea, c.id, 'installation' FROM c
    ) ${view()}`);
  return row;
}

/**
 * Revokes a credential and its installation tokens. Repeating changes nothing. Undefined if its revision changed, or if
 * the administrator may not change it.
 */
export async function endCredential(
  db: Database,
  which: { id: string; revision: number },
  by?: Administrator,
): Promise<CredentialRecord | undefined> {
  const [row] = await db.query<CredentialRecord>(sql`
    WITH ${door(by)}c AS (
      UPDATE gateway.credential SET revoked_at = coalesce(revoked_at, now())
       WHERE id = ${which.id} AND revision = ${which.revision} AND ${within(by, TENANT)} RETURNING *
    ), t AS (
      UPDATE gateway.token t SET revoked_at = now()
        FROM c WHERE t.credential_id = c.id AND t.kind = 'installation' AND t.revoked_at IS NULL
    ) ${view()}`);
  return row;
}

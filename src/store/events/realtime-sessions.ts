import type { AuditDraft } from '../../core/audit.ts';
import { Failure, type FailureCode } from '../../core/failures.ts';
import { type Fragment, runFor, sql } from '../../core/sql.ts';
import { auditedEntry } from '../calls/audited.ts';
import { type Access, atPrimary, guardedCall, type Proved } from '../calls/guard.ts';
import type { Database } from '../driver/postgres.ts';
import { repeated } from '../driver/repeated.ts';

/** Realtime sessions, their tickets and their acknowledged cursors (15_realtime.sql). */

type SessionAnswer<Done> = { readonly done: Done } | { readonly refused: FailureCode };

/** Calls an SQL function that changes a session. It proves the authority again after waiting for a lock. */
async function write<Done>(access: Access, call: Fragment, draft: AuditDraft | undefined): Promise<Proved<Done>> {
  const entry = sql`json_build_object('state', 'new', 'outcome', ${call})`;
  // A lost reply can leave an unused session or ticket in the store. The next attempt replaces the ticket.
  return repeated(async (attempt) => {
    const { proof, answer } = await guardedCall<SessionAnswer<Done>>(
      access,
      draft ? sql`${auditedEntry(draft, attempt, entry)} -> 'outcome'` : call,
    );
    if (draft && !('refused' in answer)) draft.inserted = true;
    return { proof, answer: 'refused' in answer ? new Failure(answer.refused) : answer.done };
  });
}

export interface NewSession {
  readonly id: string;
  readonly origin: string;
  readonly sites: readonly string[];
  readonly ticket: Uint8Array;
}

/**
 * Creates a session. Times are Unix milliseconds. `not_permitted`: the origin is not registered. `inventory_limit`: too
 * many sessions.
 */
export const createSession = (
  access: Access,
  { id, origin, sites, ticket }: NewSession,
  draft?: AuditDraft,
): Promise<Proved<{ expires_at: number; ticket_expires_at: number }>> => {
  const { digest, revision } = access.authority;
  return write(
    access,
    sql`gateway.create_realtime_session(${digest}, ${revision}, ${origin}, ${id}, ${sites}::bigint[], ${ticket})`,
    draft,
  );
};

/**
 * Creates a ticket. `not_permitted`: the origin is not registered. `not_found`: the session has another credential or
 * origin, or a website that is not granted.
 */
export const createTicket = (
  access: Access,
  { id, origin, ticket }: Omit<NewSession, 'sites'>,
  draft?: AuditDraft,
): Promise<Proved<{ ticket_expires_at: number }>> => {
  const { digest, revision, websites } = access.authority;
  const granted = [...websites.values()].map(({ site }) => site);
  return write(
    access,
    sql`gateway.create_realtime_ticket(${digest}, ${revision}, ${origin}, ${id}, ${granted}::bigint[], ${ticket})`,
    draft,
  );
};

export const closeSession = (
  access: Access,
  { id, origin }: Pick<NewSession, 'id' | 'origin'>,
  draft?: AuditDraft,
): Promise<Proved<unknown>> => {
  const { digest, revision } = access.authority;
  return write(access, sql`gateway.close_realtime_session(${digest}, ${revision}, ${origin}, ${id})`, draft);
};

/** The origins registered on any credential that has not ended. Reads all credentials, so callers share an answer. */
export async function registeredOrigins(db: Database): Promise<ReadonlySet<string>> {
  const rows = await db.read<{ origin: string }>(
    sql`SELECT DISTINCT unnest(c.origins) AS origin FROM gateway.credential c
         WHERE c.origins <> '{}' AND c.revoked_at IS NULL AND c.expires_at > now()`,
  );
  return new Set(rows.map(({ origin }) => origin));
}

export interface TicketUse {
  readonly session: string;
  readonly origin: string;
  readonly ticket: Uint8Array;
}

/** Returns the token digest and the websites of the session that a ticket can open. The ticket stays valid. */
export async function ticketHolder(
  db: Database,
  { session, origin, ticket }: TicketUse,
): Promise<{ digest: Uint8Array; sites: readonly string[] } | undefined> {
  const [row] = await db.read<{ token_digest: Uint8Array; sites: string[] }>(
    sql`SELECT token_digest, sites::text[] FROM gateway.realtime_session s
         WHERE s.id = ${session} AND s.ticket_digest = ${ticket} AND s.ticket_expires_at > now() AND s.origin = ${origin}
           AND s.expires_at > now()`,
  );
  return row && { digest: row.token_digest, sites: row.sites };
}

/** A session counts as held for this many seconds after its replica has become silent. */
const LEASE = 45;

export interface HeldSession {
  readonly session: string;
  readonly epoch: number;
}

/** Uses up a ticket, which gives its session to one caller only. `expiresAt` is in Unix milliseconds. */
export async function useTicket(
  db: Database,
  { session, origin, ticket }: TicketUse,
): Promise<{ epoch: number; expiresAt: number } | undefined> {
  const [row] = await db.query<{ held: { epoch: number; expires_at: number } | null }>(
    sql`SELECT gateway.use_realtime_ticket(${session}, ${origin}, ${ticket}, make_interval(secs => ${LEASE}::integer)) AS held`,
  );
  return row?.held ? { epoch: row.held.epoch, expiresAt: row.held.expires_at } : undefined;
}

/** Why a socket has ended. `replaced`: a newer socket has taken over the session. */
export type SessionEnd = 'authority' | 'closed' | 'expired' | 'replaced';

export interface Watched extends HeldSession {
  /** `digest` and `revision` are the token digest and the credential revision of the last proof for this socket. */
  readonly digest: Uint8Array;
  readonly revision: number;
}

/** Returns changed and ended sessions. `changed`: the credential has a new revision, so prove the session again. */
export async function endedSessions(
  db: Database,
  held: readonly Watched[],
): Promise<{ readonly session: string; readonly why: SessionEnd | 'changed' }[]> {
  return db.read(
    sql`SELECT k.session, CASE
               WHEN t.digest IS NULL THEN 'authority' WHEN s.id IS NULL THEN 'closed' WHEN s.epoch <> k.epoch THEN 'replaced'
               WHEN s.expires_at <= now() THEN 'expired' WHEN s.origin = ANY (c.origins) THEN 'changed' ELSE 'authority' END AS why
          FROM unnest(${atPrimary(sql`${held.map(({ session }) => session)}::text[]`)}, ${held.map(({ epoch }) => epoch)}::integer[],
                      ${held.map(({ digest }) => Buffer.from(digest).toString('hex'))}::text[],
                      ${held.map(({ revision }) => revision)}::integer[]) AS k (session, epoch, digest, revision)
          LEFT JOIN gateway.realtime_session s ON s.id = k.session
          LEFT JOIN (gateway.token t JOIN gateway.credential c ON c.id = t.credential_id AND c.revoked_at IS NULL AND c.expires_at > now())
            ON t.digest = decode(k.digest, 'hex') AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now())
         WHERE (s.epoch = k.epoch AND s.expires_at > now() AND c.revision = k.revision) IS NOT TRUE`,
  );
}

export async function renewSessions(db: Database, held: readonly HeldSession[]): Promise<void> {
  await db.query(
    sql`UPDATE gateway.realtime_session s SET held_until = now() + make_interval(secs => ${LEASE}::integer)
          FROM unnest(${held.map(({ session }) => session)}::text[], ${held.map(({ epoch }) => epoch)}::integer[]) AS k (session, epoch)
         WHERE s.id = k.session AND s.epoch = k.epoch`,
  );
}

export async function dropSessions(db: Database, most: number): Promise<number> {
  const rows = await db.query(
    sql`DELETE FROM gateway.realtime_session WHERE id IN (
          SELECT id FROM gateway.realtime_session WHERE expires_at < now() - interval '1 minute'
           ORDER BY expires_at LIMIT ${most} FOR UPDATE SKIP LOCKED) RETURNING 1 AS gone`,
  );
  return rows.length;
}

/** Releases a session whose socket has closed. A new session can replace it, oldest release first. */
export async function releaseSession(db: Database, { session, epoch }: HeldSession): Promise<void> {
  await db.query(
    sql`UPDATE gateway.realtime_session SET held_until = now() WHERE id = ${session} AND epoch = ${epoch}`,
  );
}

export interface Ack extends HeldSession {
  readonly subscription: string;
  readonly revision: number;
  readonly cursor: string;
}

/** Stores acknowledgements, except for sessions with a newer socket. Returns the stored ones. */
export async function storeAcks(db: Database, acks: readonly Ack[]): Promise<ReadonlySet<Ack>> {
  const rows = await db.query<{ n: number }>(
    sql`WITH s AS (
          -- Lock the sessions, so that nobody closes them during this statement. A closed session would violate the
          -- foreign key, and PostgreSQL would then undo all acknowledgements.
          SELECT id, epoch FROM gateway.realtime_session
           WHERE id = ANY (${acks.map(({ session }) => session)}::text[]) ORDER BY id FOR KEY SHARE
        ), k AS (
          SELECT DISTINCT ON (a.session, a.subscription) a.* FROM unnest(${acks.map(({ session }) => session)}::text[], ${acks.map(({ epoch }) => epoch)}::integer[],
                      ${acks.map(({ subscription }) => subscription)}::text[], ${acks.map(({ revision }) => revision)}::integer[],
                      ${acks.map(({ cursor }) => cursor)}::text[]) WITH ORDINALITY AS a (session, epoch, subscription, revision, cursor, n)
            JOIN s ON s.id = a.session AND s.epoch = a.epoch ORDER BY a.session, a.subscription, a.n DESC
        ), stored AS (
          INSERT INTO gateway.realtime_ack AS r (session_id, subscription_id, revision, cursor)
          SELECT k.session, k.subscription, k.revision, k.cursor FROM k
          ON CONFLICT (session_id, subscription_id) DO UPDATE SET revision = excluded.revision, cursor = excluded.cursor
           WHERE r.revision <= excluded.revision
        )
        SELECT k.n::integer AS n FROM k`,
  );
  return new Set(rows.flatMap(({ n }) => acks[n - 1] ?? []));
}

/**
 * Stores where the stream of a subscription has started in a session. Keeps an acknowledgement of the same revision.
 * Stores nothing if the session has a newer socket.
 */
export async function storeBegin({ db, authority }: Access, begin: Ack): Promise<void> {
  const { session, epoch, subscription, revision, cursor } = begin;
  const statement = sql`
    INSERT INTO gateway.realtime_ack AS r (session_id, subscription_id, revision, cursor)
    SELECT s.id, ${subscription}, ${revision}::integer, ${cursor} FROM gateway.realtime_session s
     WHERE s.id = ${session} AND s.epoch = ${epoch} FOR KEY SHARE
    ON CONFLICT (session_id, subscription_id) DO UPDATE SET revision = excluded.revision, cursor = excluded.cursor
     WHERE r.revision < excluded.revision`;
  await db.query(runFor(authority.appId, statement));
}

export async function readAck(
  { db, authority }: Access,
  session: string,
  subscription: string,
  revision: number,
): Promise<string | undefined> {
  const statement = sql`SELECT cursor FROM gateway.realtime_ack
         WHERE session_id = ${session} AND subscription_id = ${subscription} AND revision = ${revision}`;
  const [row] = await db.read<{ cursor: string }>(runFor(authority.appId, statement));
  return row?.cursor;
}

export interface KnownHead {
  readonly tenant: string;
  readonly site: string;
  readonly position: number;
}

/** Finds the journals that grew past the given positions. One statement covers all websites that a process streams. */
export async function grownHeads(db: Database, known: readonly KnownHead[]): Promise<KnownHead[]> {
  const rows = await db.read<{ n: number; position: number }>(
    sql`SELECT k.n::integer AS n, h.position::double precision AS position
          FROM unnest(${known.map(({ tenant }) => tenant)}::bigint[], ${known.map(({ site }) => site)}::bigint[],
                      ${known.map(({ position }) => position)}::bigint[]) WITH ORDINALITY AS k (tenant, site, position, n)
          JOIN gateway.journal_head h ON h.tenant = k.tenant AND h.site = k.site AND h.position <> k.position`,
  );
  return rows.flatMap(({ n, position }) => {
    const before = known[n - 1];
    return before ? [{ ...before, position }] : [];
  });
}

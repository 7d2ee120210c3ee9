import { digestOf, wellFormed } from '../../auth/tokens.ts';
import type { AuditDraft, CallReport } from '../../core/audit.ts';
import type { RemoteWriter } from '../../core/writes.ts';
import { networkOf } from '../../flow/network.ts';
import { RateLimit } from '../../flow/rate-limit.ts';
import type { Administrator, ListPage, Slice } from '../../store/administration/administrator.ts';
import { recording } from '../../store/audit/commands.ts';
import type { Database } from '../../store/driver/postgres.ts';
import { inTurnOf } from '../../store/driver/turns.ts';
import { type AdministratorRecord, readAdministrator } from '../../store/sign-in/administrators.ts';
import type { SourceTools } from './sources.ts';
import type { WebhookTools } from './webhooks.ts';

export { inTurnOf } from '../../store/driver/turns.ts';
export type { AdministratorRecord } from '../../store/sign-in/administrators.ts';
export { holderOfConsent } from '../../store/sign-in/administrators.ts';

/** What changes of webhooks and sources need besides the store. */
export interface DeskTools {
  readonly webhooks: WebhookTools;
  readonly sources: SourceTools;
  /** Performs approved writes in helpdesks. Undefined: all writes go to the store. */
  readonly remote?: RemoteWriter | undefined;
}

/** What the record of a change names besides the operation and the person. */
export type DraftCall = Partial<Pick<CallReport, 'targets' | 'websiteId' | 'operationId'>>;

/**
 * With a desk, a page of the console reads and changes one organization. Every statement proves the role again, and
 * takes turns as the person.
 */
export interface AdministratorDesk {
  readonly db: Database;
  /** Connections for long searches, so that calls of apps never wait for them. */
  readonly slow: Database;
  readonly by: Administrator;
  readonly tools: DeskTools;
  /** For a statement that inserts its record itself: the plain database, and the draft of the record. */
  readonly recorded?: { readonly db: Database; readonly draftOf: (call: DraftCall) => AuditDraft };
}

/**
 * The same desk for one change, whose audit record is in the transaction of the change. `draftOf` gets the ids that a
 * statement names, without the person's own.
 */
export const recordingDesk = (
  desk: AdministratorDesk,
  draftOf: (ids: readonly string[], call?: DraftCall) => AuditDraft,
): AdministratorDesk => ({
  ...desk,
  db: recording(desk.db, (ids) => draftOf(ids.filter((id) => id !== desk.by.personId))),
  recorded: { db: desk.db, draftOf: (call) => draftOf([], call) },
});

/** A function that reads a page of a list of the organization. */
export const listing =
  <Search, Row>(pageOf: (db: Database, by: Administrator, search: Search, slice: Slice) => Promise<ListPage<Row>>) =>
  ({ db, by }: AdministratorDesk, search: Search, slice: Slice): Promise<ListPage<Row>> =>
    pageOf(db, by, search, slice);

/** A function that finds one row of such a list. */
export const finding =
  <Row>(list: (desk: AdministratorDesk, search: { id: string }, slice: Slice) => Promise<ListPage<Row>>) =>
  async (desk: AdministratorDesk, id: string): Promise<Row | undefined> =>
    (await list(desk, { id }, { limit: 1, offset: 0 })).rows[0];

/** A function that changes one record of the organization. */
export const changing =
  <Made>(change: (db: Database, id: string, by: Administrator) => Promise<Made>) =>
  ({ db, by }: AdministratorDesk, id: string): Promise<Made> =>
    change(db, id, by);

export type Entered =
  | { readonly state: 'signed_out' }
  | { readonly state: 'throttled'; readonly retryAfter: number }
  | { readonly state: 'entered'; readonly desk: AdministratorDesk; readonly person: AdministratorRecord };

/** How often one person may ask for a page of the console. Each process counts in its own memory. */
const ASKED = { perMinute: 120, burst: 60 };

/**
 * Returns a function that finds the administrator of a session. `source` is the caller's address. A second look in the
 * same request does not count as a page.
 */
export function openDesks(
  { db, slow }: Pick<AdministratorDesk, 'db' | 'slow'>,
  tools: DeskTools,
): (asked: { session: string | undefined; source: string }, counts?: boolean) => Promise<Entered> {
  const asked = new RateLimit(ASKED);
  return async ({ session, source }, counts = true) => {
    if (session === undefined || !wellFormed(session)) return { state: 'signed_out' };
    const digest = digestOf(session);
    const person = await readAdministrator(db, { digest, network: networkOf(source) });
    if (!person) return { state: 'signed_out' };
    const retryAfter = counts ? asked.wait(person.id) : 0;
    if (retryAfter > 0) return { state: 'throttled', retryAfter };
    if (counts) asked.failed(person.id);
    return {
      state: 'entered',
      desk: {
        db: inTurnOf(person.id, db),
        slow: inTurnOf(person.id, slow),
        tools,
        by: { digest, personId: person.id, tenant: person.tenant },
      },
      person,
    };
  };
}

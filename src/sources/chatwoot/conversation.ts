import { z } from 'zod';
import { isObject, jsonOf } from '../../core/json.ts';
import { sql } from '../../core/sql.ts';
import { before } from '../../outbound/before.ts';
import type { Database } from '../../store/driver/postgres.ts';
import { NotPerformed, refused } from '../helpdesk.ts';
import { type ApiRequest, hasTooManyMarks } from './api.ts';
import { type DeskState, idIn, stateIn, statusOfNumber } from './change.ts';
import { DISPOSITION, marksOf, OPERATIONS, withMark } from './mark.ts';

type AttributeMembers = Readonly<Record<string, unknown>>;

// z.record would check each attribute: 2.9 s for 8 MiB of short attributes (24 November 2026).
const Attributes = z.object({ custom_attributes: z.custom<AttributeMembers>(isObject).nullish() });
/** The answer to a write of attributes, which always has some. */
const Written = z.object({ custom_attributes: z.custom<AttributeMembers>(isObject) });

/** The largest size of a conversation's attributes. Parsing 1 MiB of the shortest attributes takes 0.2 s. */
export const ATTRIBUTES = 1024 * 1024;

interface ConversationRow {
  readonly display_id: unknown;
  readonly standby: boolean;
  readonly status: string;
  readonly operator: string | null;
  readonly team: string | null;
  readonly at: string;
  /** A JSON object as text. Null if it is longer than ATTRIBUTES. */
  readonly attributes: string | null;
}

interface Conversation {
  readonly path: string;
  readonly state: DeskState;
  readonly attributes: AttributeMembers;
}

/** A conversation before a write. `merge`: Chatwoot can change single attributes. */
export interface ReadyConversation extends Conversation {
  readonly merge: boolean;
}

/** What a write to a conversation needs: to read it, and to leave a mark in its attributes. */
interface Conversations {
  read(target: string, signal: AbortSignal): Promise<Conversation>;
  /**
   * Reads a conversation last, so that little time passes until the write. Throws NotPerformed if the database or the API
   * leads to another Chatwoot.
   */
  ready(target: string, signal: AbortSignal): Promise<ReadyConversation>;
  /** Writes a mark and other attributes of the gateway. Returns the attributes that the conversation has then. */
  mark(
    conversation: ReadyConversation,
    mark: string,
    others: AttributeMembers,
    signal: AbortSignal,
  ): Promise<AttributeMembers>;
}

/** Opens the conversations of an account. Sends nothing before the first call. `requireSame` comes before each write. */
export function openConversations(
  db: Database,
  account: number,
  call: (asked: ApiRequest, signal: AbortSignal) => Promise<unknown>,
  requireSame: (signal: AbortSignal) => Promise<void>,
): Conversations {
  // True once Chatwoot has shown that it can change single attributes. The opposite is asked for each write: a proxy can
  // answer 404 too, and an older Chatwoot can get its update.
  let merges = false;

  /** Reads a conversation from the database. The API would add two whole messages, whose emails can have any length. */
  async function conversationOf(target: string, signal: AbortSignal): Promise<Conversation> {
    const id = idIn(target, account, 'conversation');
    const read = db.read<ConversationRow>(
      sql`SELECT display_id, pg_is_in_recovery() AS standby, status::text AS status, assignee_id::text AS operator,
                   team_id::text AS team,
                   to_char(greatest(updated_at, last_activity_at), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at,
                   CASE WHEN octet_length(coalesce(custom_attributes, '{}')::text) <= ${ATTRIBUTES}::integer
                     THEN coalesce(custom_attributes, '{}')::text END AS attributes
              FROM public.conversations WHERE id = ${id}::bigint AND account_id = ${account}::bigint`,
    );
    const rows = await before(signal, read).catch((error: unknown) => {
      throw refused('the conversation could not be read', undefined, error);
    });
    if (rows[0] === undefined) throw refused('the conversation is not in Chatwoot', 'not_found');
    const { display_id, standby, attributes, status, operator, team, at } = rows[0];
    // A foreign server could send a path to another endpoint, and that would get the request with the token.
    const number = Number(display_id);
    if (!Number.isSafeInteger(number) || number < 1) throw refused('the conversation has no number of the API');
    const path = `/conversations/${number}`;
    // A standby server can be behind. An older Chatwoot, which replaces all attributes, would then get old values back.
    if (standby) {
      const shown = await call({ method: 'GET', path, bytes: ATTRIBUTES }, signal);
      return { path, state: stateIn(shown), attributes: attributesIn(shown) };
    }
    // A foreign server can send more than the statement asks for.
    if (attributes === null || attributes.length > ATTRIBUTES)
      throw refused(`the attributes of the conversation are longer than ${ATTRIBUTES} bytes`);
    if (hasTooManyMarks(Buffer.from(attributes))) throw refused('the conversation has too many attributes');
    const state = { status: statusOfNumber(status), operator: operator ?? undefined, team: team ?? undefined, at };
    // The error of JSON.parse would show a part of the text.
    const given = jsonOf(attributes);
    if (given === undefined) throw refused('the attributes of the conversation are not JSON');
    return { path, state, attributes: attributesIn({ custom_attributes: given }) };
  }

  /**
   * True if Chatwoot can change single attributes. The endpoint that removes attributes came in the same version. So
   * the gateway removes an attribute that no conversation has, and the answer shows the version.
   */
  async function canMerge(conversation: string, signal: AbortSignal): Promise<boolean> {
    const body = { custom_attributes: ['gateway_none'] };
    merges = await call({ method: 'POST', path: `${conversation}/destroy_custom_attributes`, body }, signal).then(
      () => true,
      (error: unknown) => (isAbsent(error) ? false : Promise.reject(error)),
    );
    return merges;
  }

  /** Sends attributes once. The answer holds all attributes of the conversation. */
  const send = async (conversation: string, attributes: AttributeMembers, merge: boolean, signal: AbortSignal) =>
    Written.parse(
      await call(
        {
          method: 'POST',
          path: `${conversation}/custom_attributes`,
          bytes: ATTRIBUTES,
          body: { custom_attributes: attributes, ...(merge && { merge: true }) },
        },
        signal,
      ),
    ).custom_attributes;

  /**
   * Called when a write has removed all attributes of others. Either somebody deleted them meanwhile, or this server
   * replaced the attributes, for example an older server beside a newer one. A second write shows which: if it removes
   * an attribute of the gateway, the server replaces attributes. Only then are the attributes of others written back.
   * Without a disposition, the second write sends an empty one, because all attributes of before are gone anyway.
   */
  async function unreplaced(
    path: string,
    own: AttributeMembers,
    found: AttributeMembers,
    signal: AbortSignal,
  ): Promise<AttributeMembers> {
    const [sent, kept] = Object.hasOwn(own, DISPOSITION)
      ? [{ [OPERATIONS]: own[OPERATIONS] }, DISPOSITION]
      : [{ [DISPOSITION]: null }, OPERATIONS];
    const after = await send(path, sent, true, signal);
    if (Object.hasOwn(after, kept)) return after;
    merges = false;
    return send(path, { ...found, ...own }, false, signal);
  }

  async function readied(target: string, signal: AbortSignal): Promise<ReadyConversation> {
    const there = await conversationOf(target, signal);
    await requireSame(signal);
    if (merges) return { ...there, merge: true };
    const merge = await canMerge(there.path, signal);
    return { ...(await conversationOf(target, signal)), merge };
  }

  async function mark(
    { path, attributes: found, merge }: ReadyConversation,
    text: string,
    others: AttributeMembers,
    signal: AbortSignal,
  ): Promise<AttributeMembers> {
    const own = { ...others, [OPERATIONS]: withMark(found[OPERATIONS], text) };
    const isOwn = (name: string): boolean => Object.hasOwn(own, name);
    // An older Chatwoot replaces all attributes. So send all attributes back, as they were a moment ago.
    let after = await send(path, merge ? own : { ...found, ...own }, merge, signal);
    const bare = Object.keys(after).every(isOwn) && !Object.keys(found).every(isOwn);
    if (merge && bare)
      after = await unreplaced(path, own, found, signal).catch((error: unknown) => {
        // The first request had an effect, so the error must not say that there was none.
        throw new Error('attributes that the API removed could not go back', { cause: error });
      });
    if (!marksOf(after[OPERATIONS]).includes(text)) throw new Error('the API lost the attributes');
    return after;
  }

  return { read: conversationOf, ready: readied, mark };
}

const attributesIn = (answer: unknown): AttributeMembers => Attributes.parse(answer).custom_attributes ?? {};

const isAbsent = (error: unknown): boolean =>
  error instanceof NotPerformed && (error.status === 404 || error.status === 405);

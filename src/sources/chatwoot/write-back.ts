import { z } from 'zod';
import { sql } from '../../core/sql.ts';
import { before } from '../../outbound/before.ts';
import { openDatabase } from '../../store/driver/postgres.ts';
import { type Helpdesk, NotPerformed, refused, type SentNote, type SentReply, type WriteTarget } from '../helpdesk.ts';
import { type ApiRequest, type ApiSettings, ask, hasTooManyMarks } from './api.ts';
import { DISPOSITION, marked, markIn, markOf, marksOf, OPERATION, OPERATIONS, unmarked, withMark } from './mark.ts';

export interface WriteBackSettings extends ApiSettings {
  /** Chatwoot's database. Only it tells the API number of a conversation, and its attributes without its messages. */
  readonly address: string;
  readonly account: number;
}

const Listed = z.object({ id: z.int().min(1), content: z.string(), created_at: z.number() });
/** A stored note. Its text is at most as long as the text of an imported note (engine/records.ts). */
const Note = Listed.extend({ content: z.string().max(200_000) });
const Notes = z.array(Listed.partial());
// z.record would check each attribute: 2.9 s for 8 MiB of short attributes (24 November 2026).
const Attributes = z.object({ custom_attributes: z.custom<AttributeMembers>(isObject).nullish() });

/** A stored message. Chatwoot answers with its whole text, which is the one that was sent. */
const Message = z.object({
  id: z.int().min(1),
  created_at: z.number(),
  sender: z.object({ id: z.int().min(1) }).nullish(),
});

/** The largest answer with notes, in bytes. Chatwoot lists all notes of a contact in one answer. */
const NOTES = 4 * 1024 * 1024;
/** The most characters of a reply. Chatwoot can have changed the text that was sent. */
const REPLY = 200_000;
/** The largest size of a conversation's attributes. Parsing 1 MiB of the shortest attributes takes 0.2 s. */
const ATTRIBUTES = 1024 * 1024;
/** Timeout (ms) of a statement in Chatwoot's database. */
const STATEMENT = 1_500;

type AttributeMembers = Readonly<Record<string, unknown>>;
interface ConversationRow {
  readonly display_id: unknown;
  readonly standby: boolean;
  /** A JSON object as text. Null if it is longer than ATTRIBUTES. */
  readonly attributes: string | null;
}
interface MessageRow {
  readonly id: number;
  readonly sender: number | string | null | undefined;
  readonly at: Date;
  readonly text: string;
  readonly internal: boolean;
}
interface Conversation {
  readonly path: string;
  readonly attributes: AttributeMembers;
}

/** Opens Chatwoot for writes. Sends nothing before the first call. */
export function openChatwootApi(settings: WriteBackSettings): Helpdesk {
  const { address, account } = settings;
  const db = openDatabase({
    target: address,
    connections: 1,
    statementTimeout: STATEMENT,
    name: 'gateway-write-back',
    foreign: true,
  });
  // True if Chatwoot can change single attributes. Undefined until the gateway has asked Chatwoot.
  let merges: boolean | undefined;
  const root = `/api/v1/accounts/${account}`;
  const call = (asked: ApiRequest, signal: AbortSignal): Promise<unknown> =>
    ask(settings, { ...asked, path: `${root}${asked.path}` }, signal);
  const notesOf = (target: string): string => `/contacts/${idIn(target, account, 'contact')}/notes`;

  /** Reads a conversation from the database. The API would add two whole messages, whose emails can have any length. */
  async function conversationOf(target: string, signal: AbortSignal): Promise<Conversation> {
    const id = idIn(target, account, 'conversation');
    const read = db.read<ConversationRow>(
      sql`SELECT display_id, pg_is_in_recovery() AS standby,
                   CASE WHEN octet_length(coalesce(custom_attributes, '{}')::text) <= ${ATTRIBUTES}::integer
                     THEN coalesce(custom_attributes, '{}')::text END AS attributes
              FROM public.conversations WHERE id = ${id}::bigint AND account_id = ${account}::bigint`,
    );
    const rows = await before(signal, read).catch((error: unknown) => {
      throw refused('the conversation could not be read', undefined, error);
    });
    if (rows[0] === undefined) throw refused('the conversation is not in Chatwoot', 'not_found');
    const { display_id, standby, attributes } = rows[0];
    // A foreign server could send a path to another endpoint, and that would get the request with the token.
    const number = Number(display_id);
    if (!Number.isSafeInteger(number) || number < 1) throw refused('the conversation has no number of the API');
    const path = `/conversations/${number}`;
    // A standby server can be behind. An older Chatwoot, which replaces all attributes, would then get old values back.
    if (standby)
      return { path, attributes: attributesIn(await call({ method: 'GET', path, bytes: ATTRIBUTES }, signal)) };
    // A foreign server can send more than the statement asks for.
    if (attributes === null || attributes.length > ATTRIBUTES)
      throw refused(`the attributes of the conversation are longer than ${ATTRIBUTES} bytes`);
    if (hasTooManyMarks(Buffer.from(attributes))) throw refused('the conversation has too many attributes');
    return { path, attributes: attributesIn({ custom_attributes: parsed(attributes) }) };
  }

  /**
   * True if Chatwoot can change single attributes. The endpoint that removes attributes came in the same version. So
   * the gateway removes an attribute that no conversation has, and the answer shows the version.
   */
  async function canMerge(conversation: string, signal: AbortSignal): Promise<boolean> {
    if (merges !== undefined) return merges;
    const body = { custom_attributes: ['gateway_none'] };
    const found = await call({ method: 'POST', path: `${conversation}/destroy_custom_attributes`, body }, signal).then(
      () => true,
      (error: unknown) => (isAbsent(error) ? false : Promise.reject(error)),
    );
    merges = found;
    return found;
  }

  /** Sends attributes once. The answer holds all attributes of the conversation. */
  const send = async (conversation: string, attributes: AttributeMembers, merge: boolean, signal: AbortSignal) =>
    attributesIn(
      await call(
        {
          method: 'POST',
          path: `${conversation}/custom_attributes`,
          bytes: ATTRIBUTES,
          body: { custom_attributes: attributes, ...(merge && { merge: true }) },
        },
        signal,
      ),
    );

  /**
   * Called when a write has removed all attributes of others. Either somebody deleted them meanwhile, or this server
   * replaced the attributes, for example an older server beside a newer one. A second write shows which: if it removes
   * an attribute of the gateway, the server replaces attributes. Only then are the attributes of others written back.
   */
  async function unreplaced(
    path: string,
    own: AttributeMembers,
    found: AttributeMembers,
    signal: AbortSignal,
  ): Promise<AttributeMembers> {
    const after = await send(path, { [OPERATIONS]: own[OPERATIONS] }, true, signal);
    if (Object.hasOwn(after, DISPOSITION)) return after;
    merges = false;
    return send(path, { ...found, ...own }, false, signal);
  }

  return {
    addNote: async ({ operationId, target }, { text, author }, signal) => {
      const body = { content: marked(text, author, markOf(operationId)) };
      const note = Note.parse(await call({ method: 'POST', path: notesOf(target), body }, signal));
      return sent(account, { ...note, content: body.content });
    },
    setDisposition: async ({ operationId, target }, value, signal) => {
      const mark = markOf(operationId);
      const [{ path, attributes: found }, merge] = await beforehand(async () => {
        const there = await conversationOf(target, signal);
        if (merges === true) return [there, true];
        const merge = await canMerge(there.path, signal);
        // Read last, so that little time passes until the write.
        return [await conversationOf(target, signal), merge];
      });
      const own = { [DISPOSITION]: value, [OPERATIONS]: withMark(found[OPERATIONS], mark) };
      const isOwn = (name: string): boolean => Object.hasOwn(own, name);
      // An older Chatwoot replaces all attributes. So send all attributes back, as they were a moment ago.
      let after = await send(path, merge ? own : { ...found, ...own }, merge, signal);
      const bare = Object.keys(after).every(isOwn) && !Object.keys(found).every(isOwn);
      if (merge && bare)
        after = await unreplaced(path, own, found, signal).catch((error: unknown) => {
          // The first request had an effect, so the error must not say that there was none.
          throw new Error('attributes that the API removed could not go back', { cause: error });
        });
      if (!marksOf(after[OPERATIONS]).includes(mark)) throw new Error('the API lost the attributes');
      return String(after[DISPOSITION]);
    },
    addReply: async ({ operationId, target }, { text, internal }, signal) => {
      const { path } = await beforehand(() => conversationOf(target, signal));
      const body = {
        ...{ content: text, message_type: 'outgoing', private: internal },
        content_attributes: { [OPERATION]: markOf(operationId) },
      };
      const answer = await call({ method: 'POST', path: `${path}/messages`, body, bytes: ATTRIBUTES }, signal);
      const { id, created_at, sender } = Message.parse(answer);
      return sentReply(account, { id, sender: sender?.id, at: new Date(created_at * 1000), text, internal });
    },
    findReply: async ({ operationId, target }, signal) => {
      const id = idIn(target, account, 'conversation');
      // The mark is hexadecimal, so it is the same text inside a JSON string, in which Rails keeps the attributes.
      const read = db.read<MessageRow>(sql`
        SELECT id, CASE WHEN sender_type = 'User' THEN sender_id::text END AS sender, created_at AT TIME ZONE 'UTC' AS at,
               left(content, ${REPLY}::integer) AS text, private AS internal
          FROM public.messages
         WHERE conversation_id = ${id}::bigint AND account_id = ${account}::bigint AND message_type = 1
           AND strpos(content_attributes::text, ${markOf(operationId)}) > 0 ORDER BY id LIMIT 1`);
      const [row] = await before(signal, read);
      return row && sentReply(account, row);
    },
    findNote: async ({ operationId, target }, signal) => {
      const listed = Notes.parse(await call({ method: 'GET', path: notesOf(target), bytes: NOTES }, signal));
      const [first] = listed
        .flatMap((one) => (markIn(one.content ?? '') === markOf(operationId) ? [Note.parse(one)] : []))
        .sort((a, b) => a.id - b.id);
      return first && sent(account, first);
    },
    findDisposition: async ({ operationId, target }, signal) => {
      const { attributes } = await conversationOf(target, signal);
      const value = attributes[DISPOSITION];
      const there = marksOf(attributes[OPERATIONS]).includes(markOf(operationId));
      return there && typeof value === 'string' ? value : undefined;
    },
    close: () => db.close(),
  };
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const attributesIn = (answer: unknown): AttributeMembers => Attributes.parse(answer).custom_attributes ?? {};

/** Runs the steps before a write. An error in these steps says that the write had no effect. */
const beforehand = <T>(work: () => Promise<T>): Promise<T> =>
  work().catch((error: unknown) => {
    throw error instanceof NotPerformed ? error : refused('the conversation could not be read first', undefined, error);
  });

/** Hides the error of JSON.parse, because it shows a part of the text. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw refused('the attributes of the conversation are not JSON');
  }
}

const isAbsent = (error: unknown): boolean =>
  error instanceof NotPerformed && (error.status === 404 || error.status === 405);

const sent = (account: number, { id, content, created_at }: z.output<typeof Note>): SentNote => ({
  prefix: `cw:${account}:note:${id}:`,
  text: unmarked(content),
  at: new Date(created_at * 1000).toISOString(),
});

const sentReply = (account: number, { id, sender, at, text, internal }: MessageRow): SentReply => ({
  ...{ id: `cw:${account}:message:${id}`, at: at.toISOString(), text, internal },
  author: sender === null || sender === undefined ? undefined : `cw:${account}:operator:${sender}`,
});

/** The number in an external_id of this account. A record of another origin cannot go to Chatwoot. */
function idIn(target: WriteTarget['target'], account: number, word: 'contact' | 'conversation'): string {
  const [, id] = new RegExp(`^cw:${account}:${word}:(\\d{1,18})$`).exec(target) ?? [];
  if (id === undefined) throw new NotPerformed({ rejected: 'operation_conflict' }, 'the record is not of Chatwoot');
  return id;
}

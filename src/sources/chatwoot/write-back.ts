import { z } from 'zod';
import { sql } from '../../core/sql.ts';
import { before } from '../../outbound/before.ts';
import { openDatabase } from '../../store/driver/postgres.ts';
import { type Helpdesk, NotPerformed, refused, type SentNote, type SentReply, type WriteTarget } from '../helpdesk.ts';
import type { ApiOfSource } from '../kinds.ts';
import { type ApiRequest, ask } from './api.ts';
import {
  type DeskChange,
  type DeskState,
  idIn,
  inDesk,
  isThere,
  proofOf,
  requestOf,
  seenIn,
  sentChange,
} from './change.ts';
import { ATTRIBUTES, openConversations, type ReadyConversation } from './conversation.ts';
import { accountDigest, creationOf } from './installation.ts';
import { DISPOSITION, marked, markFor, markIn, markOf, marksOf, OPERATION, OPERATIONS, unmarked } from './mark.ts';
import { requirePair } from './pair.ts';

const Listed = z.object({ id: z.int().min(1), content: z.string(), created_at: z.number() });
/** A stored note. Its text is at most as long as the text of an imported note (engine/records.ts). */
const Note = Listed.extend({ content: z.string().max(200_000) });
const Notes = z.array(Listed.partial());
/** A stored message. Chatwoot answers with its whole text, which is the one that was sent. */
const Message = z.object({
  id: z.int().min(1),
  created_at: z.number(),
  sender: z.object({ id: z.int().min(1) }).nullish(),
});

/** The largest answer with notes, in bytes. Chatwoot lists all notes of a contact in one answer. */
const NOTES = 4 * 1024 * 1024;
/**
 * Chatwoot fills the templates of an outgoing message with data of the contact and of others. The person who approves such
 * a text would not see what it sends, and the app would read data that it may not read.
 */
const TEMPLATE = /\{[{%]/;
/** The most characters of a reply. Chatwoot can have changed the text that was sent. */
const REPLY = 200_000;
/** Timeout (ms) of a statement in Chatwoot's database. */
const STATEMENT = 1_500;
/**
 * How long (ms) the API and the database count as one Chatwoot after a look. A look is one more request, which takes as
 * long as the write itself.
 */
const PAIRED = 60_000;

/** What the messages of a conversation show. */
interface Looked {
  /** The reply of the operation. Absent at a standby server does not mean that it was not sent. */
  readonly reply: SentReply | undefined;
  readonly standby: boolean;
  /** The id of the newest outgoing message. */
  readonly newest: string | null;
}

interface ReplyRow {
  readonly id: number;
  readonly sender: number | string | null | undefined;
  readonly at: Date;
  readonly text: string;
  readonly internal: boolean;
}

/** Opens Chatwoot for writes. Sends nothing before the first call. */
export function openChatwootApi(settings: ApiOfSource): Helpdesk {
  const account = Number(settings.account);
  // Only the database tells the API number of a conversation, and its attributes without its messages.
  const db = openDatabase({
    target: settings.address,
    connections: 1,
    statementTimeout: STATEMENT,
    name: 'gateway-write-back',
    foreign: true,
  });
  const root = `/api/v1/accounts/${account}`;
  const call = (asked: ApiRequest, signal: AbortSignal): Promise<unknown> =>
    ask(settings, { ...asked, path: `${root}${asked.path}` }, signal);
  const conversations = openConversations(db, account, call, requireSame);
  const notesOf = (target: string): string => `/contacts/${idIn(target, account, 'contact')}/notes`;

  let paired: { readonly at: string; readonly until: number } | undefined;
  /**
   * Throws NotPerformed unless the database is still the one that was read, and the API leads to the same Chatwoot.
   * Otherwise a write could reach another customer.
   */
  async function requireSame(signal: AbortSignal): Promise<void> {
    const at = await before(signal, creationOf(db, account)).catch((error: unknown) => {
      throw refused('the account could not be read', undefined, error);
    });
    if (settings.installation === null) throw refused('no gateway has read the helpdesk of this website yet');
    if (at === undefined || accountDigest(account, at) !== settings.installation)
      throw refused('the database leads to another Chatwoot than the one whose records this website holds');
    if (paired?.at === at && performance.now() < paired.until) return;
    await requirePair(settings, at, signal);
    paired = { at, until: performance.now() + PAIRED };
  }

  /** Looks for the reply of an operation. PostgreSQL finds the messages of the conversation by an index. */
  async function lookForReply({ operationId, target }: WriteTarget, signal: AbortSignal): Promise<Looked> {
    const id = idIn(target, account, 'conversation');
    // The mark is hexadecimal, so it is the same text inside a JSON string, in which Rails keeps the attributes.
    const read = db.read<Partial<ReplyRow> & Pick<Looked, 'standby' | 'newest'>>(sql`
      SELECT s.newest::text AS newest, pg_is_in_recovery() AS standby, m.id, m.created_at AT TIME ZONE 'UTC' AS at,
             CASE WHEN m.sender_type = 'User' THEN m.sender_id::text END AS sender,
             left(m.content, ${REPLY}::integer) AS text, m.private AS internal
        FROM (SELECT max(id) AS newest,
                     min(id) FILTER (WHERE strpos(content_attributes::text, ${markOf(operationId)}) > 0) AS found
                FROM public.messages WHERE conversation_id = ${id}::bigint AND message_type = 1
                 AND (account_id = ${account}::bigint) IS TRUE) s
        LEFT JOIN public.messages m ON m.id = s.found`);
    const [row] = await before(signal, read);
    if (row === undefined) throw new Error('the database did not answer the look for a reply');
    const { newest, standby, id: found, sender, at, text, internal } = row;
    const isFound = found != null && at != null && text != null && internal != null;
    return {
      reply: isFound ? sentReply(account, { id: found, sender, at, text, internal }) : undefined,
      standby,
      newest,
    };
  }

  /** Looks for the note of an operation in the database. */
  async function lookForNote({ operationId, target }: WriteTarget, signal: AbortSignal): Promise<SentNote | undefined> {
    const id = idIn(target, account, 'contact');
    const read = db.read<object>(sql`
      SELECT id::float8 AS id, content, floor(extract(epoch FROM created_at))::float8 AS created_at
        FROM public.notes WHERE contact_id = ${id}::bigint AND (account_id = ${account}::bigint) IS TRUE
         AND strpos(content, ${markOf(operationId)}) > 0 ORDER BY public.notes.id LIMIT 1`);
    const [row] = await before(signal, read);
    return row && sent(account, Note.parse(row));
  }

  /** Chatwoot takes an id that it does not have as nobody, and would clear the operator or the team. */
  async function expectThere(change: DeskChange, signal: AbortSignal): Promise<void> {
    if ('status' in change || ('operator' in change && change.operator === null)) return;
    const read = db.read<{ there: boolean }>(
      'team' in change
        ? sql`SELECT EXISTS (SELECT FROM public.teams WHERE id = ${change.team}::bigint
                               AND account_id = ${account}::bigint) AS there`
        : sql`SELECT EXISTS (SELECT FROM public.account_users WHERE user_id = ${change.operator}::bigint
                               AND account_id = ${account}::bigint) AS there`,
    );
    const [row] = await before(signal, read);
    if (row?.there !== true)
      throw new NotPerformed({ rejected: 'operation_conflict' }, 'Chatwoot has no such operator or team');
  }

  /** Writes the mark of a change that comes next. An error says that the change was not sent. */
  async function markBefore(ready: ReadyConversation, mark: string, signal: AbortSignal): Promise<void> {
    await conversations.mark(ready, mark, {}, signal).catch((error: unknown) => {
      // An older Chatwoot can still replace all attributes with those of now. So the conversation must stay busy.
      if (error instanceof NotPerformed || !ready.merge) throw error;
      throw refused('the mark could not be written before the change', undefined, error);
    });
  }

  return {
    addNote: async (place, { text, author }, signal) => {
      const { operationId, target } = place;
      // After a restore of the store, a repeated key comes here again.
      const there = await beforehand(() => lookForNote(place, signal));
      await requireSame(signal);
      if (there) return there;
      const body = { content: marked(text, author, markOf(operationId)) };
      const note = Note.parse(await call({ method: 'POST', path: notesOf(target), body }, signal));
      return sent(account, { ...note, content: body.content });
    },
    setDisposition: async ({ operationId, target }, value, signal) => {
      const ready = await beforehand(() => conversations.ready(target, signal));
      return String(
        (await conversations.mark(ready, markOf(operationId), { [DISPOSITION]: value }, signal))[DISPOSITION],
      );
    },
    changeConversation: async ({ operationId, target }, given, signal) => {
      const change = inDesk(given, account);
      const ready = await beforehand(async () => {
        await expectThere(change, signal);
        return conversations.ready(target, signal);
      });
      const was = ready.state;
      if (was.status === undefined) throw refused('the conversation has a status that the gateway does not know');
      await markBefore(ready, `${markOf(operationId)}:${proofOf(change, was)}`, signal);
      const stateNow = async (): Promise<DeskState> =>
        (await afterwards(() => conversations.read(target, signal))).state;
      const send = (one: DeskChange): Promise<unknown> => {
        const { end, body } = requestOf(one);
        return call({ method: 'POST', path: `${ready.path}/${end}`, body, bytes: ATTRIBUTES }, signal);
      };
      await send(change).catch(async (error: unknown) => {
        // Chatwoot stores some changes in two steps, so the refusal of the second can follow the effect of the first.
        const isLate = error instanceof NotPerformed && error.status === 422 && !isSame(await stateNow(), was);
        throw isLate ? new Error('the API refused a change that it has made', { cause: error }) : error;
      });
      let now = await stateNow();
      // Chatwoot assigns a conversation that is opened, to the user of the token or to somebody of the inbox.
      if ('status' in change && change.status === 'open' && now.operator !== was.operator) {
        const back = { operator: was.operator === undefined ? null : Number(was.operator) };
        await send(back).catch(() => undefined); // The answer then tells that the operator has changed.
        now = await stateNow();
      }
      if (!isThere(change, now)) throw new Error('the API has confirmed a change that is not there');
      return sentChange(now, account, 'status' in change && now.operator !== was.operator);
    },
    addReply: async (place, { text, internal }, signal) => {
      const { operationId, target } = place;
      if (TEMPLATE.test(text)) throw new NotPerformed({ rejected: 'operation_conflict' }, 'the text is a template');
      const { path } = await beforehand(() => conversations.read(target, signal));
      // After a restore of the store, a repeated key comes here again.
      const was = await beforehand(() => lookForReply(place, signal));
      await requireSame(signal);
      if (was.reply) return was.reply;
      const body = {
        ...{ content: text, message_type: 'outgoing', private: internal },
        content_attributes: { [OPERATION]: markOf(operationId) },
      };
      try {
        const answer = await call({ method: 'POST', path: `${path}/messages`, body, bytes: ATTRIBUTES }, signal);
        const { id, created_at, sender } = Message.parse(answer);
        return sentReply(account, { id, sender: sender?.id, at: new Date(created_at * 1000), text, internal });
      } catch (error) {
        // Chatwoot answers 422 to each error of its own code, also to one after it has stored and sent the message.
        if (!(error instanceof NotPerformed) || error.status !== 422) throw error;
        const now = await afterwards(() => lookForReply(place, signal));
        if (now.reply) return now.reply;
        // An older Chatwoot drops the mark. So any new message can be this one.
        if (now.standby || now.newest !== was.newest)
          throw new Error('the API refused a message that it can have sent', { cause: error });
        throw error;
      }
    },
    findReply: async (place, signal) => (await lookForReply(place, signal)).reply,
    findNote: async ({ operationId, target }, signal) => {
      const listed = Notes.parse(await call({ method: 'GET', path: notesOf(target), bytes: NOTES }, signal));
      const [first] = listed
        .flatMap((one) => (markIn(one.content ?? '') === markOf(operationId) ? [Note.parse(one)] : []))
        .sort((a, b) => a.id - b.id);
      return first && sent(account, first);
    },
    findDisposition: async ({ operationId, target }, signal) => {
      const { attributes } = await conversations.read(target, signal);
      const value = attributes[DISPOSITION];
      const there = marksOf(attributes[OPERATIONS]).includes(markOf(operationId));
      return there && typeof value === 'string' ? value : undefined;
    },
    findChange: async ({ operationId, target }, signal) => {
      const { attributes, state } = await conversations.read(target, signal);
      const found = markFor(attributes[OPERATIONS], operationId);
      return found === undefined ? undefined : seenIn(found, state, account);
    },
    close: () => db.close(),
  };
}

/** Runs the steps before a write. An error in these steps says that the write had no effect. */
const beforehand = <T>(work: () => Promise<T>): Promise<T> =>
  work().catch((error: unknown) => {
    throw error instanceof NotPerformed ? error : refused('Chatwoot could not be read first', undefined, error);
  });

/** Runs the steps after a write. An error in these steps must not say that the write had no effect. */
const afterwards = <T>(work: () => Promise<T>): Promise<T> =>
  work().catch((error: unknown) => {
    throw new Error('Chatwoot could not be read after the write', { cause: error });
  });

const isSame = (a: DeskState, b: DeskState): boolean =>
  a.status === b.status && a.operator === b.operator && a.team === b.team;

const sent = (account: number, { id, content, created_at }: z.output<typeof Note>): SentNote => ({
  prefix: `cw:${account}:note:${id}:`,
  text: unmarked(content),
  at: new Date(created_at * 1000).toISOString(),
});

const sentReply = (account: number, { id, sender, at, text, internal }: ReplyRow): SentReply => ({
  ...{ id: `cw:${account}:message:${id}`, at: at.toISOString(), text, internal },
  author: sender === null || sender === undefined ? undefined : `cw:${account}:operator:${sender}`,
});

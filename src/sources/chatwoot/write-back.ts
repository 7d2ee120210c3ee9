import { z } from 'zod';
import { sql } from '../../core/sql.ts';
import { openDatabase } from '../../store/driver/postgres.ts';
import { type Helpdesk, NotPerformed, type Place, refused, type SentNote } from '../helpdesk.ts';
import { type ApiSettings, type Asked, ask } from './api.ts';
import { DISPOSITION, marked, markIn, markOf, marksOf, OPERATIONS, unmarked, withMark } from './mark.ts';

export interface WriteBackSettings extends ApiSettings {
  /** The address of Chatwoot's database. Only the database knows which number the API gives to a conversation. */
  readonly address: string;
  readonly account: number;
}

const Note = z.object({ id: z.int().min(1), content: z.string(), created_at: z.number() });
const Notes = z.array(Note.partial().loose());
const Attributes = z.object({ custom_attributes: z.record(z.string(), z.unknown()).nullish() });

/** Bytes. Chatwoot lists all notes of a contact in one answer. */
const LIST_BYTES = 8 * 1024 * 1024;
/** Milliseconds of a statement in Chatwoot's database. */
const STATEMENT = 1_500;
/** The largest number of conversations whose numbers are kept in memory. A number never changes. */
const NUMBERS = 10_000;

type Members = Readonly<Record<string, unknown>>;

/** Opens Chatwoot for writes. Nothing is sent before the first call. */
export function openChatwootApi(settings: WriteBackSettings): Helpdesk {
  const { address, account } = settings;
  const db = openDatabase({
    target: address,
    connections: 1,
    statementTimeout: STATEMENT,
    name: 'gateway-write-back',
    foreign: true,
  });
  const numbers = new Map<string, number>();
  // True if Chatwoot can change single attributes. Undefined while the gateway has not asked Chatwoot.
  let merges: boolean | undefined;
  const root = `/api/v1/accounts/${account}`;
  const call = (asked: Asked, signal: AbortSignal): Promise<unknown> =>
    ask(settings, { ...asked, path: `${root}${asked.path}` }, signal);
  const notesOf = (target: string): string => `/contacts/${idIn(target, account, 'contact')}/notes`;

  async function conversationOf(target: string): Promise<string> {
    const id = idIn(target, account, 'conversation');
    let number = numbers.get(id);
    if (number === undefined) {
      const rows = await db
        .read<{ display_id: number }>(
          sql`SELECT display_id FROM public.conversations WHERE id = ${id}::bigint AND account_id = ${account}::bigint`,
        )
        .catch((error: unknown) => {
          throw refused('the number of the conversation could not be read', undefined, error);
        });
      number = rows[0]?.display_id;
      if (number === undefined) throw refused('the conversation is not in Chatwoot', 'not_found');
      if (numbers.size >= NUMBERS) numbers.clear();
      numbers.set(id, number);
    }
    return `/conversations/${number}`;
  }

  const attributesOf = async (conversation: string, signal: AbortSignal): Promise<Members> =>
    Attributes.parse(await call({ method: 'GET', path: conversation }, signal)).custom_attributes ?? {};

  /**
   * True if Chatwoot can change single attributes. The endpoint that removes attributes came in the same version, so the
   * gateway removes an attribute that no conversation has. The answer shows the version.
   */
  async function canMerge(conversation: string, signal: AbortSignal): Promise<boolean> {
    if (merges !== undefined) return merges;
    // A conversation that is gone says nothing about the version.
    await attributesOf(conversation, signal);
    const body = { custom_attributes: ['gateway_none'] };
    const found = await call({ method: 'POST', path: `${conversation}/destroy_custom_attributes`, body }, signal).then(
      () => true,
      (error: unknown) => (isAbsent(error) ? false : Promise.reject(error)),
    );
    merges = found;
    return found;
  }

  /** Sends attributes once. The answer holds all attributes of the conversation. */
  const send = async (conversation: string, attributes: Members, merge: boolean, signal: AbortSignal) =>
    Attributes.parse(
      await call(
        {
          method: 'POST',
          path: `${conversation}/custom_attributes`,
          body: { custom_attributes: attributes, ...(merge && { merge: true }) },
        },
        signal,
      ),
    ).custom_attributes ?? {};

  return {
    addNote: async ({ operationId, target }, { text, author }, signal) => {
      const body = { content: marked(text, author, markOf(operationId)) };
      const note = Note.parse(await call({ method: 'POST', path: notesOf(target), body }, signal));
      return sent(account, { ...note, content: body.content });
    },
    setDisposition: async ({ operationId, target }, value, signal) => {
      const conversation = await conversationOf(target);
      const [found, merge] = await beforehand(async () => {
        const merges = await canMerge(conversation, signal);
        // The read comes last, so that the time until the write is short.
        return [await attributesOf(conversation, signal), merges];
      });
      const own = { [DISPOSITION]: value, [OPERATIONS]: withMark(found[OPERATIONS], markOf(operationId)) };
      // An older Chatwoot replaces all attributes. So all attributes go back, as they were a moment ago.
      let after = await send(conversation, merge ? own : { ...found, ...own }, merge, signal);
      if (merge && Object.keys(found).some((name) => !Object.hasOwn(after, name))) {
        // This server replaced the attributes, for example an older server beside a newer one. The same values go back.
        merges = false;
        after = await send(conversation, { ...found, ...own }, false, signal).catch((error: unknown) => {
          // The first request had an effect, so no error may say that there is none.
          throw new Error('attributes that the API removed could not go back', { cause: error });
        });
      }
      if (!marksOf(after[OPERATIONS]).includes(markOf(operationId))) throw new Error('the API lost the attributes');
      return String(after[DISPOSITION]);
    },
    findNote: async ({ operationId, target }, signal) => {
      const listed = Notes.parse(await call({ method: 'GET', path: notesOf(target), bytes: LIST_BYTES }, signal));
      const [first] = listed
        .flatMap((one) => (markIn(one.content ?? '') === markOf(operationId) ? [Note.parse(one)] : []))
        .sort((a, b) => a.id - b.id);
      return first && sent(account, first);
    },
    findDisposition: async ({ operationId, target }, signal) => {
      const attributes = await attributesOf(await conversationOf(target), signal);
      const value = attributes[DISPOSITION];
      const there = marksOf(attributes[OPERATIONS]).includes(markOf(operationId));
      return there && typeof value === 'string' ? value : undefined;
    },
    close: () => db.close(),
  };
}

/** Runs the steps before a write. An error in these steps says that the write had no effect. */
const beforehand = <T>(work: () => Promise<T>): Promise<T> =>
  work().catch((error: unknown) => {
    throw error instanceof NotPerformed ? error : refused('the conversation could not be read first', undefined, error);
  });

const isAbsent = (error: unknown): boolean =>
  error instanceof NotPerformed && (error.status === 404 || error.status === 405);

const sent = (account: number, { id, content, created_at }: z.output<typeof Note>): SentNote => ({
  prefix: `cw:${account}:note:${id}:`,
  text: unmarked(content),
  at: new Date(created_at * 1000).toISOString(),
});

/** The number in an external_id of this account. A record of another origin cannot go to Chatwoot. */
function idIn(target: Place['target'], account: number, word: 'contact' | 'conversation'): string {
  const [, id] = new RegExp(`^cw:${account}:${word}:(\\d{1,18})$`).exec(target) ?? [];
  if (id === undefined) throw new NotPerformed({ rejected: 'operation_conflict' }, 'the record is not of Chatwoot');
  return id;
}

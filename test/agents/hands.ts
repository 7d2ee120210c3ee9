import { once } from '../support/once.ts';
import type { Meeting } from './desk.ts';

/** The members of records that the solver reads, over MCP or REST. */
export interface Row {
  readonly id: string;
  readonly name: string;
  readonly email: string | null;
  /** Null if a message holds nothing but files. */
  readonly text: string | null;
  readonly subject: string;
  readonly content: string;
  readonly label: string;
  readonly value: string;
  readonly size: number;
  readonly status: string;
  readonly platform: string;
  readonly disposition: string | null;
  readonly created_at: string;
  readonly ends_at: string | null;
  readonly mobile_e164: string | null;
  readonly phone_e164: string | null;
  readonly attachment_count: number;
  readonly contact_id: string;
  readonly visitor_id: string;
  readonly website_id: string;
  readonly team_id: string;
  readonly operator_id: string;
  readonly conversation_count: number;
  readonly count: number;
  readonly key: Readonly<Record<string, string | null>>;
  readonly author: { readonly type: string };
}

/** Calls a tool and reads its answer as JSON. A refused call throws. */
export type Use = ReturnType<typeof using>;
export function using({ host }: Meeting) {
  return async (name: string, args: object = {}) => {
    const { text, isError } = await host.call(name, { ...args });
    if (isError) throw new Error(`${name}: ${text}`);
    return JSON.parse(text);
  };
}

/** A value that a text names. */
export function named(what: RegExp, text: string): string {
  const [whole, part] = what.exec(text) ?? [];
  if (whole === undefined) throw new Error(`nothing like ${what}`);
  return part ?? whole;
}
export const CONVERSATION = /cnv_\d+_\d+_\d+/;

/** The id of the website whose name ends so. */
export async function website(use: Use, name: string): Promise<string> {
  const { websites } = await use('websites_list');
  return websites.find((one: Row) => one.name.endsWith(name)).website_id;
}

/** What one conversation tells. A member costs calls only when it is asked for. */
interface Opened {
  conversation(): Promise<Row>;
  contact(): Promise<Row>;
  messages(): Promise<Row[]>;
  /** The names of the team and of the operator. */
  names(): Promise<string[]>;
}

/** The conversation in which words were found. */
interface Found {
  readonly id: string;
  readonly website_id: string;
  name(): Promise<string>;
  email(): Promise<string | null>;
  /** The only file of the conversation. */
  file(): Promise<Pick<Row, 'name' | 'size'>>;
}

interface Person {
  readonly name: string;
  visitor(): Promise<string>;
  notes(): Promise<Row[]>;
  /** With a disposition, newest first. */
  ended(): Promise<Row[]>;
}

/** How an agent does with the tools of one server what the tasks need. */
export interface Hands {
  /** The name of the argument that takes the idempotency key. */
  readonly key: string;
  /** Finds `query` by search, or else reads what `said` looks for. */
  find(query: string, said: RegExp): Promise<Found>;
  open(conversation_id: string, more?: object): Opened;
  person(email: string): Promise<Person>;
  /** The person with an American number, the number of conversations and the id of the last. */
  caller(phone: string): Promise<[name: string, count: number, last: string]>;
  /** The address of the only person of this name who has a conversation. */
  writer(name: string): Promise<string | null>;
  /** What is missing to see the people of a conversation. */
  lacks(conversation_id: string): Promise<string>;
}

const withEnd = (rows: readonly Row[]): Row[] => rows.filter(({ disposition }) => disposition !== null);

export function mcpHands(use: Use): Hands {
  const customers = async (by: object) => (await use('customer_find', by)).data.customers;
  return {
    key: 'idempotency_key',
    find: async (query) => {
      const { results } = await use('search', { query, kinds: 'messages', limit: 1 });
      const [{ conversation_id: id, website_id, customer }] = results;
      return {
        ...{ id, website_id },
        name: async () => customer.name,
        email: async () => {
          const same = await customers({ name: customer.name });
          return same.find((one: Row) => one.contact_id === customer.contact_id).email;
        },
        file: async () => {
          const { text } = await use('fetch', { id });
          const [, name = '', size] = /^file fil\w+ <<<data \w+>>> (.+?) <<<end.* (\d+) bytes$/m.exec(text) ?? [];
          return { name, size: Number(size) };
        },
      };
    },
    open: (conversation_id, more) => {
      const brief = use('conversation_brief', { conversation_id, ...more }).then(({ data }) => data);
      return {
        conversation: async () => (await brief).conversation,
        contact: async () => (await brief).contacts[0],
        messages: async () => (await brief).messages,
        names: async () => [(await brief).team.name, (await brief).operator.name],
      };
    },
    person: async (email) => {
      const [one] = await customers({ email });
      return {
        name: one.name,
        visitor: async () => one.visitor_ids[0],
        notes: async () => (await use('visitor_notes', { visitor_id: one.visitor_ids[0] })).data.notes,
        ended: async () => withEnd(one.last_conversations),
      };
    },
    caller: async (phone) => {
      const [one] = await customers({ phone });
      return [one.name, one.conversation_count, one.last_conversation.id];
    },
    writer: async (name) => (await customers({ name })).find((one: Row) => one.conversation_count > 0).email,
    lacks: async () => {
      const { data } = await use('access_explain', { operations: 'customer_find' });
      return data.operations[0].lacks.scopes.join(' and ');
    },
  };
}

const PAGE = 100;

/** Walks through the pages of a list. */
async function* walk(use: Use, name: string, args: object): AsyncGenerator<Row> {
  let cursor: string | null | undefined;
  do {
    const { data } = await use(name, { ...args, limit: PAGE, ...(typeof cursor === 'string' && { cursor }) });
    // The member with the rows has another name in each list.
    yield* Object.values(data).find((one) => Array.isArray(one)) as Row[]; // by the schema of each list
    cursor = data.next_cursor;
  } while (typeof cursor === 'string');
}

async function all(rows: AsyncGenerator<Row>): Promise<Row[]> {
  const found: Row[] = [];
  for await (const row of rows) found.push(row);
  return found;
}

export function restHands(use: Use): Hands {
  const list = (name: string, args: object): Promise<Row[]> => all(walk(use, name, args));
  const us = (): Promise<string> => website(use, ' US');
  const contactOf = async (conversation_id: string): Promise<Row> =>
    (await use('conversation_contacts', { conversation_id })).data.contacts[0];
  return {
    key: 'Idempotency-Key',
    // REST finds no words in messages: an agent reads the conversations, newest first, until one says it.
    find: async (_, said) => {
      const website_id = await us();
      for await (const { id } of walk(use, 'conversations_list', { website_id })) {
        for await (const { text } of walk(use, 'conversation_messages', { conversation_id: id })) {
          if (!said.test(text ?? '')) continue;
          const contact = once(() => contactOf(id));
          return {
            ...{ id, website_id },
            name: async () => (await contact()).name,
            email: async () => (await contact()).email,
            file: async () => {
              const messages = await list('conversation_messages', { conversation_id: id });
              const message_id = messages.find(({ attachment_count }) => attachment_count > 0)?.id;
              const ids = { conversation_id: id, message_id };
              return (await use('conversation_message_attachments', ids)).data.attachments[0];
            },
          };
        }
      }
      throw new Error(`nobody says ${said}`);
    },
    open: (conversation_id, more) => {
      const conversation = once(
        async (): Promise<Row> => (await use('conversation', { conversation_id })).data.conversation,
      );
      return {
        conversation,
        contact: () => contactOf(conversation_id),
        messages: () => list('conversation_messages', { conversation_id, order: 'asc', ...more }),
        names: async () => {
          const { website_id, team_id, operator_id } = await conversation();
          const names = [await list('teams', { website_id }), await list('operators', { website_id })].flat();
          return [team_id, operator_id].map((id) => names.find((one) => one.id === id)?.name ?? '');
        },
      };
    },
    person: async (email) => {
      const website_id = await us();
      const by = { website_id, query: email, query_field: 'email', query_match: 'exact' };
      const { id: contact_id, name } = (await use('contacts_list', by)).data.data[0];
      return {
        name,
        visitor: async () => (await use('contact_visitors', { contact_id })).data.visitors[0].id,
        notes: () => list('contact_notes', { contact_id }),
        ended: async () => withEnd(await list('conversations_list', { website_id, contact_id })),
      };
    },
    caller: async (phone) => {
      const website_id = await us();
      const number = `+1${phone.replaceAll(/\D/g, '')}`;
      const contacts = await list('contacts_list', { website_id });
      const one = contacts.find(({ mobile_e164, phone_e164 }) => [mobile_e164, phone_e164].includes(number));
      const found = await list('conversations_list', { website_id, contact_id: one?.id });
      return [one?.name ?? '', found.length, found[0]?.id ?? ''];
    },
    writer: async (name) => {
      const website_id = await us();
      const by = { website_id, query: name, query_field: 'name', query_match: 'exact' };
      for await (const { id: contact_id, email } of walk(use, 'contacts_list', by)) {
        if ((await use('conversations_count', { website_id, contact_id })).data.total > 0) return email;
      }
      return null;
    },
    // The refusal names what is missing.
    lacks: (conversation_id) => contactOf(conversation_id).then(JSON.stringify, ({ message }: Error) => message),
  };
}

import { once } from '../support/once.js';
export function using({ host }) {
    return async (name, args = {}) => {
        const { text, isError } = await host.call(name, { ...args });
        if (isError)
            throw new Error(`${name}: ${text}`);
        return JSON.parse(text);
    };
}
/** A value that a text names. */
export function named(what, text) {
    const [whole, part] = what.exec(text) ?? [];
    if (whole === undefined)
        throw new Error(`nothing like ${what}`);
    return part ?? whole;
}
export const CONVERSATION = /cnv_\d+_\d+_\d+/;
/** The id of the website whose name ends so. */
export async function website(use, name) {
    const { websites } = await use('websites_list');
    return websites.find((one) => one.name.endsWith(name)).website_id;
}
const withEnd = (rows) => rows.filter(({ disposition }) => disposition !== null);
export function mcpHands(use) {
    const customers = async (by) => (await use('customer_find', by)).data.customers;
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
                    return same.find((one) => one.contact_id === customer.contact_id).email;
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
        writer: async (name) => (await customers({ name })).find((one) => one.conversation_count > 0).email,
        lacks: async () => {
            const { data } = await use('access_explain', { operations: 'customer_find' });
            return data.operations[0].lacks.scopes.join(' and ');
        },
    };
}
const PAGE = 100;
/** Walks through the pages of a list. */
async function* walk(use, name, args) {
    let cursor;
    do {
        const { data } = await use(name, { ...args, limit: PAGE, ...(typeof cursor === 'string' && { cursor }) });
        // The member with the rows has another name in each list.
        yield* Object.values(data).find((one) => Array.isArray(one)); // by the schema of each list
        cursor = data.next_cursor;
    } while (typeof cursor === 'string');
}
async function all(rows) {
    const found = [];
    for await (const row of rows)
        found.push(row);
    return found;
}
export function restHands(use) {
    const list = (name, args) => all(walk(use, name, args));
    const us = () => website(use, ' US');
    const contactOf = async (conversation_id) => (await use('conversation_contacts', { conversation_id })).data.contacts[0];
    return {
        key: 'Idempotency-Key',
        // REST finds no words in messages: an agent reads the conversations, newest first, until one says it.
        find: async (_, said) => {
            const website_id = await us();
            for await (const { id } of walk(use, 'conversations_list', { website_id })) {
                for await (const { text } of walk(use, 'conversation_messages', { conversation_id: id })) {
                    if (!said.test(text ?? ''))
                        continue;
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
            const conversation = once(async () => (await use('conversation', { conversation_id })).data.conversation);
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
                if ((await use('conversations_count', { website_id, contact_id })).data.total > 0)
                    return email;
            }
            return null;
        },
        // The refusal names what is missing.
        lacks: (conversation_id) => contactOf(conversation_id).then(JSON.stringify, ({ message }) => message),
    };
}
//# sourceMappingURL=hands.js.map
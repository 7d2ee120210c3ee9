import { pickFrom } from '../random.js';
import * as rails from './rails.js';
import * as desk from './rails-desk.js';
import { cw, railsTime } from './script.js';
import { chance, fileNames, mediaTypes, personName, sentence, whole } from './words.js';
export const CHANNELS = 'WebWidget Email Api Whatsapp FacebookPage Instagram Telegram Line Sms TwilioSms Voice TwitterProfile'.split(' ');
const YEAR = 365 * 24 * 3_600_000;
const past = (world) => railsTime(Date.now() - whole(world.random, 3 * YEAR), whole(world.random, 1000));
/** Remembers a member of the account for the oracle, because Chatwoot's tables can lose every trace of the member. */
export const remember = (world, account, type, id) => world.commit(cw `INSERT INTO simulated.past (account_id, type, id) VALUES (${account}, ${type}, ${id}) ON CONFLICT DO NOTHING`);
/** An action on the row that `choose` finds. */
export function on(choose, act) {
    return async (world, state) => {
        const one = choose(state, world);
        if (one === undefined)
            return false;
        await act(world, one, state);
        return true;
    };
}
export const any = (list, world) => list.length === 0 ? undefined : pickFrom(list, world.random);
export const contact = (state, world) => any(state.contacts, world);
export const conversation = (state, world) => any(state.conversations, world)?.id;
export const message = (state, world) => any(state.messages, world)?.id;
export const agent = (state, world) => any(state.agents, world);
/** Chooses one to remove. At least `least` of them must remain. */
export const spare = (list, least, world) => list.length > least ? any(list, world) : undefined;
function files(world) {
    if (!chance(world.random, 0.15))
        return [];
    return Array.from({ length: 1 + whole(world.random, 3) }, () => ({
        name: chance(world.random, 0.1) ? null : pickFrom(fileNames, world.random),
        mediaType: pickFrom(mediaTypes, world.random),
        size: whole(world.random, 1e7),
    }));
}
/** The attributes of a message: a reply to a message of this or of another conversation, or none. */
function extras(world, state, id) {
    const near = state.messages.filter((one) => one.conversation === id);
    const to = chance(world.random, 0.9) ? any(near, world) : any(state.messages, world);
    const reply = to !== undefined && chance(world.random, 0.25)
        ? { in_reply_to: chance(world.random, 0.8) ? to.id : String(to.id) }
        : {};
    return { attributes: { ...reply }, twice: chance(world.random, 0.85) };
}
export const incoming = async (world, id, state, more = {}) => {
    const from = state.conversations.find((one) => one.id === id)?.contact ?? null;
    return rails.createMessage(world, {
        conversation: id,
        type: 0,
        content: sentence(world.random),
        sender: from === null ? undefined : { type: 'Contact', id: from },
        files: files(world),
        ...extras(world, state, id),
        ...more,
    });
};
export const outgoing = async (world, id, state, more = {}) => {
    const user = agent(state, world);
    return rails.createMessage(world, {
        conversation: id,
        type: 1,
        content: sentence(world.random),
        sender: user === undefined || chance(world.random, 0.03) ? undefined : { type: 'User', id: user },
        files: files(world),
        ...extras(world, state, id),
        ...more,
    });
};
export const extraOf = (world) => ({
    ...(chance(world.random, 0.3) ? { mail_subject: `Re: ${sentence(world.random)}`.slice(0, 300) } : {}),
    ...(chance(world.random, 0.3)
        ? { conversation_language: pickFrom(['en', 'de', 'pt-BR', 'zh-CN'], world.random) }
        : {}),
    browser: { browser_name: 'Firefox' },
});
const attributesOf = (world) => ({
    ...(chance(world.random, 0.4) ? { company_name: `Company ${whole(world.random, 1e4)}` } : {}),
    ...(chance(world.random, 0.4)
        ? { country_code: pickFrom(['AT', 'de', 'Brazil', 'USA'], world.random), city: 'Vienna' }
        : {}),
});
export const person = (world, account) => ({
    account,
    name: chance(world.random, 0.1) ? '' : personName(world.random),
    ...(chance(world.random, 0.2) ? { lastName: `Last ${whole(world.random, 999)}` } : {}),
    email: chance(world.random, 0.7) ? `c${whole(world.random, 1e9)}@example.com` : null,
    phone: chance(world.random, 0.5) ? `+4366${1e7 + whole(world.random, 8e7)}` : null,
    country: pickFrom(['', '', 'AT', 'us', 'Germany'], world.random),
    extra: attributesOf(world),
});
/** Rows that the import schemas refuse from the start, so nothing of them may ever be stored. */
export async function refusedRow(world, state) {
    const { account } = state;
    const [inbox, id] = [any(state.inboxes, world), conversation(state, world)];
    const long = `${'refused '.repeat(31)}${whole(world.random, 1e9)}`;
    const kind = whole(world.random, 5);
    if (kind === 0 && inbox !== undefined) {
        const made = await rails.createContact(world, inbox, { account, name: long });
        const began = made === null ? null : await rails.createConversation(world, { contactInbox: made });
        if (began !== null)
            await rails.createMessage(world, { conversation: began, type: 0, content: 'of a refused contact' });
    }
    else if (kind === 1 && inbox !== undefined) {
        await rails.createContact(world, inbox, {
            account,
            name: 'refused',
            email: `${'e'.repeat(330)}${whole(world.random, 1e9)}@example.com`,
        });
    }
    else if (kind === 2) {
        await desk.addResponse(world, account, `refused ${'c'.repeat(130)}${whole(world.random, 1e9)}`, 'a short code of more than 120 characters');
    }
    else if (kind === 3 && inbox !== undefined) {
        await rails.createContact(world, inbox, { account, name: 'refused', phone: `+${'9'.repeat(50)}` });
    }
    else if (id !== undefined) {
        await rails.createMessage(world, { conversation: id, type: 0, content: 'x'.repeat(1_000_001) });
    }
    return true;
}
export async function begin(world, state, hold) {
    const contactInbox = any(state.contactInboxes, world);
    if (contactInbox === undefined)
        return false;
    const assignee = chance(world.random, 0.4) ? (agent(state, world) ?? null) : null;
    const made = await rails.createConversation(world, {
        contactInbox,
        status: chance(world.random, 0.1) ? 2 : 0,
        extra: extraOf(world),
        assignee,
        ...(hold === undefined ? {} : { hold }),
    });
    if (made !== null)
        await incoming(world, made, state);
    return true;
}
/** An import by SQL or API: old times, sometimes with the source's time in the attributes. */
export async function bring(world, state) {
    const contactInbox = any(state.contactInboxes, world);
    if (contactInbox === undefined)
        return false;
    const old = past(world);
    const made = await rails.createConversation(world, {
        contactInbox,
        status: 1,
        createdAt: old,
        extra: extraOf(world),
    });
    const id = chance(world.random, 0.6) ? made : (conversation(state, world) ?? null);
    if (id === null)
        return true;
    for (let i = 0; i < 3; i++) {
        const seconds = Math.floor((Date.now() - whole(world.random, YEAR)) / 1000);
        const external = chance(world.random, 0.5) ? seconds : String(seconds);
        const bySql = chance(world.random, 0.3);
        const given = chance(world.random, 0.6)
            ? { attributes: { external_created_at: external } }
            : { createdAt: past(world) };
        await incoming(world, id, state, { ...given, bySql });
    }
    return true;
}
export async function change(world, id) {
    const fields = [
        { name: personName(world.random), last_name: '' },
        { email: `n${whole(world.random, 1e9)}@example.com` },
        { phone_number: `+4366${1e7 + whole(world.random, 8e7)}`, country_code: 'AT' },
        { additional_attributes: JSON.stringify(attributesOf(world)) },
    ];
    await desk.changeContact(world, id, pickFrom(fields, world.random));
}
export const hold = (world) => 0.5 + Math.round(world.random() * 30) / 10;
//# sourceMappingURL=actions-parts.js.map
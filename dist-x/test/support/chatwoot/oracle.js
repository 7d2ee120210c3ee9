import { phoneToE164 } from '../../../src/sources/engine/text.js';
import { emptyWorld } from './difference.js';
import { cut, fits, messages, some } from './oracle-messages.js';
import { readChat } from './read.js';
const PLATFORMS = {
    WebWidget: 'chat',
    Email: 'email',
    Api: 'api',
    Whatsapp: 'whatsapp',
    FacebookPage: 'messenger',
    Instagram: 'instagram',
    Telegram: 'telegram',
    Line: 'line',
    Sms: 'sms',
    TwilioSms: 'sms',
    Voice: 'voice',
};
const LOCALES = 'en ar nl fr de hi it ja ko pt ru zh es ml ca el pt-BR ro ta fa zh-TW vi da tr cs fi id sv hu no zh-CN pl sk uk th lv is he lt sr bg'.split(' ');
const LANGUAGE = /^[a-zA-Z]{2,3}(?:-[a-zA-Z0-9]{2,8}){0,3}$/;
const list = (ids) => ids.filter((id) => id !== null).sort();
/** What the gateway must hold for the account, by type and external id. */
export async function expected(sql, { account, timeZone = 'UTC' }) {
    const chat = await readChat(sql, account);
    const world = emptyWorld();
    const { owner } = chat;
    if (owner === undefined)
        return world;
    const key = (type, id) => `cw:${account}:${type}:${id}`;
    const put = (type, id, members, optional = false) => {
        world[type].set(id, { members, optional });
    };
    put('organization', key('organization', account), {});
    put('website', key('website', account), { name: cut(owner.name, 240), time_zone: timeZone, crm_integrated: false });
    for (const { id, name, channel_type } of chat.inboxes.values()) {
        const platform = platformOf(channel_type);
        put('channel', key('channel', id), { name: cut(some(name), 240), platform });
    }
    for (const { id, name } of chat.teams.values()) {
        put('team', key('team', id), { name: cut(some(name), 240), enabled: true });
    }
    operators(chat, (type, id, members, optional) => put('operator', key(type, id), members, optional), key);
    for (const { id, short_code, content } of chat.responses) {
        if (short_code === null || short_code === '' || !fits(content, 200_000))
            continue;
        put('saved_response', key('saved_response', id), {
            language: LOCALES[owner.locale ?? 0] ?? 'en',
            label: cut(short_code, 240),
            content: content ?? '',
            category_name: 'Chatwoot',
            shortcut: fits(short_code, 120) ? short_code : null,
            platform_id: -1,
            scope: 'global',
        });
    }
    for (const one of chat.contacts.values()) {
        put('contact', key('contact', one.id), contactOf(one));
    }
    for (const one of chat.visitors.values()) {
        // The link to an existing contact must be there, even if the contact is refused.
        const link = chat.contacts.has(Number(one.contact_id)) ? key('contact', Number(one.contact_id)) : null;
        if (link !== null && !world.contact.has(link))
            continue;
        put('visitor', key('visitor', one.id), {
            nickname: null,
            blocked: false,
            contacts: list([link]),
            created_at: one.created_at,
            last_seen_at: one.last_seen_at,
        });
    }
    conversations(chat, world, key);
    messages(chat, world, key);
    for (const note of chat.notes) {
        const author = note.user_id === null || !chat.users.has(note.user_id) ? null : key('operator', note.user_id);
        if (author !== null && !world.operator.has(author))
            continue;
        if (note.content === '' || note.content.length > 200_000 || !chat.contacts.has(note.contact_id))
            continue;
        for (const visitor of chat.visitors.values()) {
            if (visitor.contact_id !== note.contact_id || !world.visitor.has(key('visitor', visitor.id)))
                continue;
            put('note', `${key('note', note.id)}:${visitor.id}`, {
                visitor: key('visitor', visitor.id),
                operator: author,
                title: null,
                text: note.content,
                created_at: note.created_at,
            });
        }
    }
    return world;
}
const platformOf = (type) => PLATFORMS[/^Channel::(\w+)$/.exec(type ?? '')?.[1] ?? ''] ?? 'unknown';
function operators(chat, put, key) {
    const was = (type, id) => chat.past.has(`${type} ${id}`);
    for (const user of chat.users.values()) {
        const place = chat.agents.get(user.id);
        const traced = chat.authors.has(`User ${user.id}`);
        if (place === undefined && !traced && !was('operator', user.id))
            continue;
        const name = some(user.display_name) ?? some(user.name);
        if (name === null)
            continue;
        const teams = place === undefined ? [] : chat.members.filter((one) => one.user_id === user.id);
        const members = {
            name: cut(name, 120),
            email: null,
            role: place?.role === 1 ? 'admin' : 'operator',
            enabled: place !== undefined,
            teams: list(teams.map((one) => key('team', one.team_id))),
        };
        put('operator', user.id, members, place === undefined && !traced);
    }
    for (const bot of chat.bots) {
        const traced = chat.authors.has(`${bot.type} ${bot.id}`);
        const type = bot.type === 'AgentBot' ? 'agent_bot' : 'assistant';
        const name = some(bot.name);
        if ((!traced && !was(type, bot.id)) || name === null)
            continue;
        put(type, bot.id, { name: cut(name, 120), email: null, role: 'bot', enabled: true, teams: [] }, !traced);
    }
}
function contactOf(one) {
    const last = some(one.last_name);
    const first = some(one.name);
    const name = last === null ? first : [first, last].filter((part) => part !== null).join(' ');
    const email = fits(one.email, 320) ? some(one.email) : null;
    const mobile = fits(one.phone_number, 40) ? some(one.phone_number) : null;
    const extra = one.additional_attributes ?? {};
    const country = [one.country_code, extra['country_code']].find((code) => typeof code === 'string' && /^[A-Za-z]{2}$/.test(code));
    const company = some(extra['company_name']);
    const upper = country?.toUpperCase();
    const split = last === null ? null : first;
    return {
        name: cut(name, 240),
        first_name: cut(split, 120),
        last_name: cut(last, 120),
        email,
        mobile,
        mobile_e164: phoneToE164(mobile ?? undefined, upper),
        phone: null,
        company: cut(company, 240),
        language: null,
        country: upper ?? null,
        time_zone: null,
        blocked: one.blocked,
        deleted: false,
        created_at: one.created_at,
        updated_at: null,
    };
}
function conversations(chat, world, key) {
    for (const one of chat.conversations.values()) {
        const at = (type, id, known) => id !== null && known.has(id) ? key(type, id) : null;
        const inbox = chat.inboxes.get(one.inbox_id);
        const refs = {
            visitor: at('visitor', one.contact_inbox_id, chat.visitors),
            channel: at('channel', one.inbox_id, chat.inboxes),
            team: at('team', one.team_id, chat.teams),
            operator: at('operator', one.assignee_id, chat.users),
        };
        const contact = at('contact', one.contact_id, chat.contacts);
        const unknown = Object.entries(refs).some(([type, id]) => id !== null && !world[type].has(id)); // the entries have the keys of refs
        const extra = one.additional_attributes ?? {};
        const subject = some(extra['mail_subject']);
        const language = some(extra['conversation_language']);
        if (unknown || (contact !== null && !world.contact.has(contact)))
            continue;
        const status = ['unassigned', 'closed', 'pending', 'snoozed'][one.status] ?? 'unassigned';
        const { rating } = one;
        const members = {
            ...refs,
            contacts: list([contact]),
            status: one.status === 0 && one.assignee_id !== null ? 'assigned' : status,
            platform: platformOf(inbox?.channel_type),
            language: language !== null && LANGUAGE.test(language) ? language : null,
            subject: cut(subject, 2000),
            rating_label: rating === null ? null : cut(some(rating.feedback) ?? String(rating.value), 120),
            rating_score: rating?.value ?? null,
            created_at: one.created_at,
            updated_at: one.updated_at > one.last_activity_at ? one.updated_at : one.last_activity_at,
            first_response_at: one.first_reply_created_at,
            closed_at: one.status === 1 ? (one.resolved_at ?? one.updated_at) : null,
        };
        world.conversation.set(key('conversation', one.id), { members, optional: false });
    }
}
//# sourceMappingURL=oracle.js.map
import { htmlToText } from '../../../src/sources/engine/html.js';
import { fileName } from '../../../src/sources/engine/text.js';
import { totalsOf } from './totals.js';
const MEDIA = /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+(?: ?; ?[\w!#$%&'*+.^`|~-]+=(?:[\w!#$%&'*+.^`|~-]+|"[ -!#-[\]-~]*"))*$/;
export const some = (text) => (typeof text === 'string' && text !== '' ? text : null);
export const fits = (text, max) => text === null || text.length <= max;
/** The first `max` units of the text. It ends with an ellipsis if something is missing. */
export function cut(text, max) {
    if (text === null || text.length <= max)
        return text;
    const last = text.charCodeAt(max - 2);
    return `${text.substring(0, last >= 0xd800 && last < 0xdc00 ? max - 2 : max - 1)}\u2026`;
}
/** The messages of the stored conversations, with their files, and the totals of the conversations. */
export function messages(chat, world, key) {
    const taken = new Map();
    for (const one of chat.messages.values()) {
        const conversation = chat.conversations.get(one.conversation_id);
        if (conversation === undefined || !world.conversation.has(key('conversation', conversation.id)))
            continue;
        const { type, author } = authorOf(chat, one, conversation, key);
        const deleted = one.attributes['deleted'] === true;
        const text = deleted ? null : some(one.content);
        if (tooLong(one) || (author !== null && type !== 'visitor' && !world.operator.has(author)))
            continue;
        const reply = deleted ? null : replyOf(chat, one);
        const kind = kindOf(one, text);
        const members = {
            conversation: key('conversation', conversation.id),
            author_type: type,
            author,
            visibility: one.private ? 'internal' : 'public',
            kind,
            text: kind === 'html' && text !== null ? htmlToText(/<\/?[a-z]/i.test(text) ? text : escaped(text)) : text,
            language: null,
            created_at: timeOf(one, deleted),
            edited_at: null,
            delivery_status: ['sent', 'delivered', 'read', 'failed'][one.status ?? -1] ?? 'unknown',
            in_reply_to: reply === null ? null : key('message', reply),
            ai_generated: false,
            redacted: deleted,
        };
        taken.set(one.id, { one, members, reply });
    }
    for (let gone = -1; gone !== 0;) {
        const refused = [...taken.values()].filter(({ reply }) => reply !== null && !taken.has(reply));
        for (const { one } of refused)
            taken.delete(one.id);
        gone = refused.length;
    }
    const counts = new Map();
    for (const file of chat.files) {
        if (!taken.has(file.message_id) || file.filename === '')
            continue;
        const media = some(file.content_type) ?? 'application/octet-stream';
        if (media.length > 127 || !MEDIA.test(media))
            continue;
        counts.set(file.message_id, (counts.get(file.message_id) ?? 0) + 1);
        const members = {
            message: key('message', file.message_id),
            name: fileName(cut(file.filename, 1024)),
            media_type: media,
            size: file.byte_size,
            disposition: 'attachment',
            created_at: file.created_at,
        };
        world.file.set(key('file', file.id), { members, optional: false });
    }
    for (const { one, members } of taken.values()) {
        const all = { ...members, attachment_count: counts.get(one.id) ?? 0 };
        world.message.set(key('message', one.id), { members: all, optional: false });
    }
    totalsOf(world);
}
function authorOf(chat, one, conversation, key) {
    const { contact_inbox_id: visitor } = conversation;
    const bot = one.sender_type === 'AgentBot' ? 'agent_bot' : one.sender_type === 'Captain::Assistant' ? 'assistant' : null;
    const named = one.sender_id !== null;
    if (one.message_type === 0) {
        return { type: 'visitor', author: visitor !== null && chat.visitors.has(visitor) ? key('visitor', visitor) : null };
    }
    if (one.message_type !== 2 && bot !== null && named) {
        const known = chat.bots.some(({ type, id }) => type === one.sender_type && id === one.sender_id);
        return { type: 'bot', author: known ? key(bot, Number(one.sender_id)) : null };
    }
    if (one.message_type === 1 && one.sender_type === 'User' && named) {
        const known = chat.users.has(Number(one.sender_id));
        return { type: 'operator', author: known ? key('operator', Number(one.sender_id)) : null };
    }
    return { type: 'system', author: null };
}
const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').split(/\r?\n/).join('<br>');
function kindOf(one, text) {
    if (one.message_type === 2)
        return 'event';
    if (text === null && one.attached)
        return 'attachment_only';
    return one.content_type === 8 ? 'html' : one.content_type === 6 ? 'form' : 'text';
}
/** A deleted message shows no text. */
const tooLong = (one) => one.attributes['deleted'] !== true && !fits(one.content, 1_000_000);
const digits = (value) => (/^\d{1,15}$/.test(String(value)) ? Number(value) : null);
function replyOf(chat, one) {
    const to = digits(one.attributes['in_reply_to']);
    const other = to === null ? undefined : chat.messages.get(to);
    return other?.conversation_id === one.conversation_id && !tooLong(other) ? to : null;
}
function timeOf(one, deleted) {
    const seconds = deleted ? null : digits(one.attributes['external_created_at']);
    return seconds === null ? one.created_at : new Date(seconds * 1000).toISOString().replace('Z', '000Z');
}
//# sourceMappingURL=oracle-messages.js.map
import { asHtml, contentAttributes, externalTime, filled, isTrue, looksLikeHtml, member, rowId } from './attributes.js';
import { ATTRIBUTES_MAX } from './kinds.js';
import { idOf, record, refTo } from './map.js';
const DELIVERY = { 0: 'sent', 1: 'delivered', 2: 'read', 3: 'failed' };
const EMAIL = '8';
const FORM = '6';
const ACTIVITY = '2';
/** Reads the attributes of a message. Attributes that were cut cannot be read, so they count as empty. */
const attributesOf = (row) => contentAttributes(isCut(row) ? null : (row['attributes'] ?? null));
const isCut = (row) => (row['attributes']?.length ?? 0) > ATTRIBUTES_MAX;
/** The id of the message that this message answers, as Chatwoot says. The message can lie in another conversation. */
export const answered = (row) => rowId(member(attributesOf(row), 'in_reply_to'));
/**
 * The text of an email as HTML. Chatwoot puts the new part into `content` as plain text, without quoted older emails.
 * `content_attributes.email` is the whole email, used only if `content` is empty.
 */
function emailOf(content, attributes) {
    if (content !== undefined)
        return looksLikeHtml(content) ? content : asHtml(content);
    const html = filled(member(attributes, 'email', 'html_content', 'full'));
    const plain = filled(member(attributes, 'email', 'text_content', 'full'));
    return html ?? (plain === undefined ? undefined : asHtml(plain));
}
function authorOf(row, names) {
    const sender = row['sender'];
    const bot = row['sender_type'] === 'AgentBot'
        ? { author_type: 'bot', author: refTo(names, 'agent_bots', sender) }
        : row['sender_type'] === 'Captain::Assistant'
            ? { author_type: 'bot', author: refTo(names, 'captain_assistants', sender) }
            : undefined;
    switch (row['message_type']) {
        case '0':
            return { author_type: 'visitor', author: refTo(names, 'contact_inboxes', row['visitor']) };
        case '1':
            if (row['sender_type'] === 'User')
                return { author_type: 'operator', author: refTo(names, 'users', sender) };
            return bot ?? { author_type: 'system' };
        case ACTIVITY:
            return { author_type: 'system' };
        case '3':
            return bot ?? { author_type: 'system' };
        default:
            // The mapping must not guess. The import refuses this author type and names the member.
            return { author_type: `message_type ${row['message_type'] ?? 'null'}` };
    }
}
/**
 * Makes the record of a message. `conversationOf` gives the conversation of the answered message, if the gateway can
 * store that message. Otherwise no reply is named, because the import would refuse it.
 */
export function messageOf(row, names, conversationOf) {
    const attributes = attributesOf(row);
    const redacted = isTrue(attributes['deleted']);
    const type = row['content_type'];
    const event = row['message_type'] === ACTIVITY;
    const content = filled(row['content']);
    const email = !event && type === EMAIL;
    const text = redacted ? undefined : email ? emailOf(content, attributes) : content;
    const alone = text === undefined && !redacted && row['attachments'] === 'true';
    const reply = answered(row);
    const inside = reply !== undefined && reply !== row.id && conversationOf(reply) === row['conversation'];
    return record('message', idOf(names, 'messages', row.id), {
        conversation: refTo(names, 'conversations', row['conversation']),
        ...authorOf(row, names),
        visibility: row['private'] === 'true' ? 'internal' : 'public',
        kind: event ? 'event' : alone ? 'attachment_only' : email ? 'html' : type === FORM ? 'form' : 'text',
        // Attributes that were cut can be an email without `content`. They are longer than any valid text, so the import
        // refuses the email as too long. A deleted message has short attributes.
        text: isCut(row) && content === undefined ? row['attributes'] : text,
        created_at: externalTime(attributes['external_created_at']) ?? row['created_at'],
        delivery_status: DELIVERY[row['status'] ?? ''] ?? 'unknown',
        in_reply_to: inside ? idOf(names, 'messages', reply) : undefined,
        redacted,
    });
}
//# sourceMappingURL=map-message.js.map
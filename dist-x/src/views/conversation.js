import { z } from 'zod';
import { example } from '../core/example.js';
import { ChannelId, ConversationId, OperatorId, SubsiteId, TeamId, VisitorId, WebsiteId } from '../core/ids.js';
import { named } from '../core/json-schema.js';
import { both, DIRECTORY, MSG, PII } from '../core/scopes.js';
import { sql } from '../core/sql.js';
import { writtenBy } from '../core/texts.js';
import * as f from '../core/view.js';
export const STATUSES = ['unassigned', 'assigned', 'pending', 'snoozed', 'closed', 'missed', 'spam'];
/** The meaning of each status whose name does not say it. */
const MEANINGS = {
    unassigned: 'open, no operator',
    pending: 'waits for the visitor or a bot',
    missed: 'ended without an operator’s reply',
};
export const STATUS_WORDS = STATUSES.map((status) => MEANINGS[status] === undefined ? status : `${status} (${MEANINGS[status]})`).join(', ');
export const PLATFORMS = [
    'chat',
    'email',
    'voice',
    'sms',
    'whatsapp',
    'messenger',
    'instagram',
    'telegram',
    'line',
    'api',
    'unknown',
];
export const Status = named('ConversationStatus', z.enum(STATUSES));
export const Platform = named('Platform', z.enum(PLATFORMS));
const SUBJECT = 500;
const content = { needs: both(MSG, PII) };
const told = { ...content, writer: 'outsiders' };
export const ConversationView = f.defineView({
    name: 'Conversation',
    table: 'platform.conversation',
    alias: 'c',
    id: ConversationId,
    reachable: ({ allowed }) => allowed('c'),
    within: { Visitor: (id) => sql `c.visitor_id = ${id}` },
    fields: {
        id: f.ownId('c', ConversationId),
        website_id: f.websiteId(WebsiteId),
        status: f.column('c.status', Status.describe(`Status of the conversation: ${STATUS_WORDS}. Conversations with another status can have no operator too.`), { example: 'closed' }),
        platform: f.column('c.platform', Platform.describe('Platform on which the conversation takes place.'), {
            example: 'email',
        }),
        channel_id: f.reference('c.channel_id', ChannelId, 'Id of the channel of the conversation. Null if the conversation has no channel. The operations conversation_brief and channels have the name.', { example: 'chn_1_1_2' }),
        team_id: f.reference('c.team_id', TeamId, 'Id of the team of the conversation. Null if the conversation has no team. The operations conversation_brief and teams have the name.', { example: 'tem_1_1_2' }),
        subsite_id: f.reference('c.subsite_id', SubsiteId, 'Id of the subsite of the conversation. Null if the conversation has no subsite.', { example: 'sst_1_1_1' }),
        disposition: f.nullableText('c.disposition', 200, 'Disposition of the conversation, as a value from the list of dispositions. Null if no disposition is set.', { writer: 'service', example: 'replacement-sent' }),
        language: f.nullableText('c.language', 35, 'Language of the conversation, as a BCP 47 tag. Null if the language is unknown.', { needs: PII, writer: 'service', example: 'en' }),
        ai: f.derived(z
            .strictObject({
            involved: z.boolean().describe('True if the conversation has an AI message or an AI result.'),
            escalated: z
                .boolean()
                .describe('True if an operator wrote a message after the first AI message or AI result.'),
        })
            .describe('Facts about the use of AI in the conversation.'), ['c.ai_involved', 'c.ai_escalated'], ([involved, escalated]) => ({ involved, escalated })),
        visitor_id: f.reference('c.visitor_id', VisitorId, 'Id of the visitor in the conversation. Null if no visitor is known.', { example: 'vis_1_1_55' }),
        message_count: f.count('c.message_count', 'Number of public messages in the conversation.', { example: 10 }),
        created_at: f.time('c.created_at', 'Time at which the conversation started.', {
            example: '2026-10-06T21:11:33.922Z',
        }),
        updated_at: f.time('c.updated_at', 'Time of the last change of the conversation.', {
            example: '2026-10-07T16:24:20.922Z',
        }),
        first_response_at: f.nullableTime(
        // The columns are those of the report's speed of response, so both agree where no source gives a time.
        'coalesce(c.first_response_at, c.first_operator_reply_at)', 'Time of the first reply, as the source gives it. Otherwise of the first public message by an operator after the first of the visitor. Null: none.', { example: '2026-10-06T21:11:36.922Z' }),
        last_message_at: f.nullableTime('c.last_message_at', 'Time at which the last public message was written. Null if there is no public message.', { example: '2026-10-07T15:47:20.922Z' }),
        closed_at: f.nullableTime('c.closed_at', 'Time at which the conversation was closed. Null if the conversation is not closed.', { example: '2026-10-07T16:24:20.922Z' }),
        rating: f.derived(z
            .strictObject({
            label: example('Good', writtenBy('outsiders', z.string().max(120)).describe('Label of the rating that the visitor gave.')),
            score: example(4, z
                .int()
                .nullable()
                .describe('Score of the rating that the visitor gave. Null if the rating has only a label.')),
        })
            .nullable()
            .describe('Rating that the visitor gave to the conversation. Null if there is no rating.'), ['c.rating_label', 'c.rating_score'], ([label, score]) => (label === null ? null : { label: f.clip(label, 120), score }), { needs: MSG }),
        operator_id: f.reference('c.operator_id', OperatorId, 'Id of the operator who is assigned to the conversation. Null if no operator is assigned, whatever the status is. The operations conversation_brief and operators have the name.', { needs: both(DIRECTORY, PII), example: 'opr_1_1_5' }),
        subject: f.nullableText(f.longText('c.subject', SUBJECT), SUBJECT, 'Subject line of the conversation. Null if there is no subject.', { ...told, example: 'Broken pole on Campanula Ultralight' }),
        subject_truncated: f.truncated(f.longText('c.subject', SUBJECT), SUBJECT, content),
        access: f.access({ pii: PII, message_content: MSG }),
    },
});
//# sourceMappingURL=conversation.js.map
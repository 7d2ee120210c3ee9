import { z } from 'zod';
import { ConversationId } from '../../src/core/ids.js';
import { both, INT, MSG, PII } from '../../src/core/scopes.js';
import { data, defineTool, ofWebsite } from '../../src/core/tool.js';
import { BriefParts, HandoverView, leftOut, PARTS } from '../../src/views/brief.js';
import { ContactView } from '../../src/views/contact.js';
import { ConversationView } from '../../src/views/conversation.js';
import { IncludeInternal, MessageView, publicOnly } from '../../src/views/message.js';
import { NoteView } from '../../src/views/note.js';
import { VisitorView } from '../../src/views/visitor.js';
const CONTACTS = 100;
const NOTES = 20;
export default defineTool({
    name: 'conversation_brief',
    title: 'Brief on a conversation',
    summary: 'What a colleague needs to take over: conversation, contacts, operator, team, newest messages and notes, if granted.',
    rest: 'GET /api/v1/conversations/{conversation_id}/brief',
    effect: 'read',
    tag: 'Conversations',
    toolsets: ['find'],
    scopes: ['conversation_read'],
    restrictions: 'applied',
    when: [{ given: 'include_internal', is: true, ...both(MSG, PII, INT) }],
    parts: PARTS,
    cost: 2,
    input: {
        path: { conversation_id: ConversationId.schema },
        query: {
            ...ofWebsite,
            messages: z
                .int()
                .min(1)
                .max(100)
                .default(30)
                .describe('Number of newest messages. The range is 1 to 100, and the default is 30.'),
            include_internal: IncludeInternal,
        },
    },
    output: data({
        conversation: ConversationView.schema.describe('The conversation, with the same members as in the operation conversation.'),
        ...BriefParts,
    }),
    async handle({ input, authority, read }) {
        const { conversation_id, include_internal } = input;
        const left_out = leftOut(authority);
        const { operator, team, channel, ...conversation } = await read.one(HandoverView, conversation_id);
        const visitor = conversation['visitor_id'];
        const within = [{ view: ConversationView, id: conversation_id }];
        const where = include_internal ? [] : [publicOnly];
        const [contacts, messages, notes] = await Promise.all([
            left_out.includes('contacts') ? undefined : read.page(ContactView, { within, limit: CONTACTS }),
            left_out.includes('messages') ? undefined : read.page(MessageView, { within, where, limit: input.messages }),
            left_out.includes('notes') || typeof visitor !== 'string'
                ? undefined
                : read.page(NoteView, { within: [{ view: VisitorView, id: visitor }], limit: NOTES }),
        ]);
        const all = {
            contacts: contacts?.rows.map(({ id, name, email }) => ({ id, name, email })),
            ...{ operator, team, channel },
            messages: messages?.rows.reverse(),
            notes: notes?.rows ?? [],
        };
        const granted = Object.entries(all).filter(([part]) => !left_out.some((one) => one === part));
        return {
            data: {
                conversation,
                ...Object.fromEntries(granted),
                left_out,
            },
        };
    },
});
//# sourceMappingURL=conversation-brief.js.map
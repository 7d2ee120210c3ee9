import { z } from 'zod';
import { example } from '../../src/core/example.js';
import { MessageId } from '../../src/core/ids.js';
import { INT } from '../../src/core/scopes.js';
import { data, defineTool, ofWebsite } from '../../src/core/tool.js';
import { changedConversation, ifUnchanged, ofConversation, websiteOfId, writtenText } from '../../src/views/written.js';
import { AddReply } from '../../src/writes/conversation-reply.js';
export default defineTool({
    name: AddReply.name,
    title: 'Reply to a conversation',
    summary: 'Add a message as the mapped operator. A public reply goes to the visitor, and a person must approve it first.',
    rest: 'POST /api/v1/conversations/{conversation_id}/replies',
    effect: 'write',
    performs: AddReply,
    policy: 'required',
    tag: 'Conversations',
    scopes: ['conversation_read', 'conversation_update', 'message_content_read', 'contact_read_pii'],
    dataAccess: ['message_content', 'pii'],
    when: [{ given: 'visibility', has: 'internal', ...INT }],
    restrictions: 'applied',
    author: 'required',
    idempotency: 'required',
    emits: ['conversation.changed'],
    errors: ['enrollment_unavailable', 'native_unavailable', 'operation_conflict'],
    input: {
        path: ofConversation,
        query: ofWebsite,
        body: {
            text: example('Your parcel left our warehouse today.', writtenText(4000).describe('Text, 1 to 4,000 UTF-16 code units. The text must not be blank.')),
            visibility: example('public', z.enum(['public', 'internal']).describe('public: for the visitor. internal: only for operators.')),
            ...ifUnchanged,
        },
    },
    output: data({ ...changedConversation, message_id: MessageId.schema.describe('Id of the new message.') }),
    async handle({ input: { conversation_id, text, visibility, if_updated_at }, perform }) {
        const done = await perform({ conversation: conversation_id, text, visibility, if_updated_at });
        const message_id = MessageId.format(websiteOfId(conversation_id), done.message_id);
        return { data: { success: true, message_id, updated_at: done.updated_at } };
    },
});
//# sourceMappingURL=conversation-reply.js.map
import { expect, it } from 'vitest';
import { OperatorView } from '../../src/views/catalogue.js';
import { ContactView } from '../../src/views/contact.js';
import { ConversationView } from '../../src/views/conversation.js';
import { FileView } from '../../src/views/file.js';
import { MessageView } from '../../src/views/message.js';
import { NoteView } from '../../src/views/note.js';
const contact = { view: ContactView, id: '' };
const conversation = { view: ConversationView, id: '' };
const message = { view: MessageView, id: '' };
/** Only the compiler checks these calls. `npm run check` fails if one of the marked lines compiles. */
const calls = (read) => [
    read.page(NoteView, { limit: 1, within: [contact] }),
    read.page(FileView, { limit: 1, within: [conversation, message] }),
    read.page(FileView, { limit: 1, within: [conversation] }),
    read.one(MessageView, '', { within: [conversation] }),
    // @ts-expect-error NoteView does not say how notes belong to a message
    read.page(NoteView, { limit: 1, within: [message] }),
    // @ts-expect-error MessageView does not say how a message belongs to another message
    read.one(MessageView, '', { within: [message] }),
    // @ts-expect-error OperatorView names no parent at all
    read.page(OperatorView, { limit: 1, within: [contact] }),
    // @ts-expect-error MessageView does not say how messages belong to a contact
    read.page(FileView, { limit: 1, within: [contact, message] }),
];
it('a view names the views that its records can be read within', () => {
    expect(calls).toHaveLength(1);
    expect(Object.keys(FileView.within ?? {})).toEqual(['Message', 'Conversation']);
    expect(OperatorView.within).toBeUndefined();
});
//# sourceMappingURL=within.test.js.map
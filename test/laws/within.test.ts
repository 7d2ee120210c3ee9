import { expect, it } from 'vitest';
import type { Reads } from '../../src/core/reads.ts';
import { OperatorView } from '../../src/views/catalogue.ts';
import { ContactView } from '../../src/views/contact.ts';
import { ConversationView } from '../../src/views/conversation.ts';
import { FileView } from '../../src/views/file.ts';
import { MessageView } from '../../src/views/message.ts';
import { NoteView } from '../../src/views/note.ts';

const contact = { view: ContactView, id: '' };
const conversation = { view: ConversationView, id: '' };
const message = { view: MessageView, id: '' };

/** Only the compiler checks these calls. `npm run check` fails if one of the marked lines compiles. */
const calls = (read: Reads) => [
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

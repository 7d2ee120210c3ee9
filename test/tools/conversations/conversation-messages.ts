import { DIRECTORY } from '../../support/authority/grants.ts';
import { INTERNAL, MESSAGE, messages, said, stored } from '../../support/authority/records.ts';
import { always, plain, reads, type Shown } from '../../support/authority/row.ts';

// Message 5 is redacted. Its text is hidden, but its language is visible.
const publicMessages: readonly Shown[] = [
  stored.message(1, 2, 3, 6),
  ['message', [5], { language: [] }],
  stored.nickname(1),
];
const messagesPage = {
  data: plain('conversation_id', 'messages', 'next_cursor', 'include_internal', 'coverage'),
  'data.messages.*': MESSAGE,
} as const;

export default reads(
  {
    path: '/conversations/{cnv:1}/messages',
    ...messages,
    members: messagesPage,
    list: ['data.messages', 'id', always(6, 5, 3, 2, 1)],
    cursor: 'msg',
    shows: [...publicMessages, stored.staff(DIRECTORY, 1, 2)],
    outsiders: said.message('/data/messages/*'),
  },
  {
    variant: 'include_internal, asc',
    path: '/conversations/{cnv:1}/messages?include_internal=true&order=asc',
    ...messages,
    given: INTERNAL,
    members: messagesPage,
    list: ['data.messages', 'id', always(1, 2, 3, 4, 5, 6)],
    cursor: 'msg',
    shows: [...publicMessages, stored.message(4), stored.staff(DIRECTORY, 1, 2)],
  },
);

import { stored, VISITOR } from '../../support/authority/records.ts';
import { plain, reads } from '../../support/authority/row.ts';

export default reads({
  path: '/dashboard/visitors/{vis:1}',
  scopes: ['conversation_read'],
  unrestricted: true,
  members: {
    data: plain('visitor', 'coverage'),
    'data.visitor': VISITOR,
    'data.visitor.access': plain('pii'),
  },
  shows: [stored.nickname(1)],
  outsiders: ['/data/visitor/nickname'],
});

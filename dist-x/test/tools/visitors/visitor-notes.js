import { NOTE, notes, said, stored } from '../../support/authority/records.js';
import { always, plain, reads } from '../../support/authority/row.js';
export default reads({
    path: '/visitors/{vis:1}/notes',
    ...notes,
    members: {
        data: plain('visitor_id', 'notes', 'next_cursor', 'coverage'),
        'data.notes.*': NOTE,
    },
    list: ['data.notes', 'id', always(2, 1)],
    cursor: '',
    shows: [stored.note(1, 2), stored.staff([], 1, 2)],
    outsiders: said.note('/data/notes/*'),
});
//# sourceMappingURL=visitor-notes.js.map
import { INTERNAL_MESSAGES, stored } from '../../support/authority/records.js';
import { always, columns, plain, reads, through } from '../../support/authority/row.js';
import { ASIDE, ECHO } from '../../support/authority/world.js';
const found = (...more) => ({
    '': plain('results', 'left_out', 'next_cursor'),
    'results.*': plain('id', 'title', 'url', 'kind', 'website_id', 'created_at', ...more),
});
/** Hits of conversations also tell the contact, where granted. */
const foundOf = (...more) => {
    const { 'results.*': members, ...rest } = found('conversation_id', 'status', ...more);
    return {
        ...rest,
        'results.*': { ...members, ...columns(['contact_read'], 'customer') },
        'results.*.customer': columns(['contact_read'], 'contact_id', 'name'),
    };
};
const misspelt = {
    '': { ...plain('results', 'left_out', 'next_cursor'), ...columns(['unrestricted'], 'corrected') },
    'corrected.*': columns(['unrestricted'], 'word', 'used'),
};
const SPOKEN = {
    scopes: ['conversation_read', 'message_content_read', 'contact_read_pii'],
    flags: ['message_content', 'pii'],
};
const searched = (kind, more = '&order=newest') => ({
    cursor: '',
    variant: `${kind}${more}`,
    kind: `kinds=${kind}`,
    path: `/search?query=${ECHO}&kinds=${kind}&website_id={web}${more}`,
});
const searchedMessages = (more) => ({
    ...searched('messages', more),
    ...SPOKEN,
    members: foundOf('message_id', 'snippet', 'author_type', 'matches'),
    list: ['results', 'message_id', through([11, 10, 7, 6], [7, 6])],
    shows: [
        ['message', [6, 7, 10, 11], columns([], 'text')],
        ['conversation', [1, 2, 3, 5], columns([], 'subject')],
        ['contact', [1, 2], columns(['contact_read'], 'name')],
    ],
});
const searchedAside = (more) => ({
    ...searchedMessages(more),
    variant: `words of internal messages${more}`,
    path: `/search?query=${ASIDE}&kinds=messages&website_id={web}${more}`,
});
export default reads({
    ...searchedMessages(),
    outsiders: [
        '/results/*/title',
        '/results/*/snippet',
        '/results/*/customer/name',
        '/corrected/*/word',
        '/corrected/*/used/*',
    ],
}, searchedMessages('&order=best'), {
    ...searchedMessages('&order=newest&per=message'),
    list: ['results', 'message_id', through([11, 10, 8, 7, 6, 3, 2, 1], [7, 6, 3, 2, 1])],
    shows: [
        ['message', [1, 2, 3, 6, 7, 8, 10, 11], columns([], 'text')],
        ['conversation', [1, 2, 3, 5], columns([], 'subject')],
        ['contact', [1, 2], columns(['contact_read'], 'name')],
    ],
}, {
    ...searchedMessages('&order=newest&author=operator,bot'),
    list: ['results', 'message_id', through([10, 3], [3])],
    shows: [
        ['message', [3, 10], columns([], 'text')],
        ['conversation', [1, 2], columns([], 'subject')],
        ['contact', [1, 2], columns(['contact_read'], 'name')],
    ],
}, 
// Only internal messages have the word. A caller that does not ask for internal messages finds nothing.
{ ...searchedAside(''), list: ['results', 'message_id', always()], shows: [] }, {
    ...searchedAside('&include_internal=true'),
    given: { ...INTERNAL_MESSAGES, scopes: ['conversation_read', ...INTERNAL_MESSAGES.scopes] },
    list: ['results', 'message_id', through([9, 4], [4])],
    shows: [
        ['message', [4, 9], columns([], 'text')],
        ['conversation', [1, 2], columns([], 'subject')],
        ['contact', [1, 2], columns(['contact_read'], 'name')],
    ],
}, {
    ...searchedMessages(),
    variant: 'misspelt',
    path: `/search?query=${ECHO}x&kinds=messages&website_id={web}&order=newest`,
    members: { ...foundOf('message_id', 'snippet', 'author_type', 'matches'), ...misspelt },
    list: ['results', 'message_id', through([11, 10, 7, 6], [])],
    shows: [
        ['message', [6, 7, 10, 11], columns(['unrestricted'], 'text')],
        ['conversation', [1, 2, 3, 5], columns(['unrestricted'], 'subject')],
        ['contact', [1, 2], columns(['contact_read', 'unrestricted'], 'name')],
    ],
}, {
    ...searched('subjects'),
    ...SPOKEN,
    members: foundOf(),
    list: ['results', 'id', through([5, 3, 2, 1], [3, 1])],
    shows: [
        ['conversation', [1, 2, 3, 5], columns([], 'subject')],
        ['contact', [1, 2], columns(['contact_read'], 'name')],
    ],
}, {
    ...searched('notes'),
    scopes: ['conversation_read', 'visitor_notes_read', 'contact_read_pii'],
    flags: ['message_content', 'pii', 'internal_notes'],
    unrestricted: true,
    members: found('snippet'),
    list: ['results', 'id', always(3, 2, 1)],
    shows: [stored.note(1, 2, 3), ['visitor', [1, 2, 3], columns([], 'nickname')]],
}, {
    ...searched('contacts'),
    scopes: ['contact_read', 'contact_read_pii'],
    flags: ['pii'],
    unrestricted: true,
    members: found(),
    list: ['results', 'id', always(2, 1)],
    shows: [['contact', [1, 2], columns([], 'name')]],
});
//# sourceMappingURL=search.js.map
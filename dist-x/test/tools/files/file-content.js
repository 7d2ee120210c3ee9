import { files, INTERNAL } from '../../support/authority/records.js';
import { plain, reads } from '../../support/authority/row.js';
const chunk = plain(...['file_id', 'version', 'chunk', 'chunk_count', 'offset', 'length', 'total_size', 'sha256', 'encoding', 'content'], 'next_chunk');
export default reads({
    path: '/files/{fil:1}/content',
    ...files,
    members: { data: chunk },
    shows: [['file_chunk', [1], { bytes: [] }]],
    outsiders: ['/data/content'],
}, {
    variant: 'internal',
    path: '/files/{fil:2}/content?include_internal=true',
    ...files,
    given: INTERNAL,
    members: { data: chunk },
    shows: [['file_chunk', [2], { bytes: [] }]],
});
//# sourceMappingURL=file-content.js.map
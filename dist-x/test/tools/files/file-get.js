import { FILE, files, INTERNAL, said, stored } from '../../support/authority/records.js';
import { plain, reads } from '../../support/authority/row.js';
export default reads({
    path: '/files/{fil:1}',
    ...files,
    members: { data: plain('file', 'coverage'), 'data.file': FILE },
    shows: [stored.file(1)],
    outsiders: said.file('/data/file'),
}, {
    variant: 'internal',
    path: '/files/{fil:2}?include_internal=true',
    ...files,
    given: INTERNAL,
    members: { 'data.file': FILE },
    shows: [stored.file(2)],
});
//# sourceMappingURL=file-get.js.map
import { FileId } from '../../src/core/ids.js';
import { INT } from '../../src/core/scopes.js';
import { coverage, data, defineTool, ofWebsite } from '../../src/core/tool.js';
import { FileView, publicFilesOnly } from '../../src/views/file.js';
import { IncludeInternal } from '../../src/views/message.js';
export default defineTool({
    name: 'file_get',
    title: 'Read file metadata',
    summary: 'Name, type, size, version and SHA-256 of a stored file. file_content reads the bytes.',
    rest: 'GET /api/v1/files/{file_id}',
    effect: 'read',
    tag: 'Files',
    scopes: ['file_read', 'conversation_read', 'message_content_read', 'contact_read_pii'],
    dataAccess: ['message_content', 'pii'],
    restrictions: 'applied',
    when: [{ given: 'include_internal', is: true, ...INT }],
    input: { path: { file_id: FileId.schema }, query: { ...ofWebsite, include_internal: IncludeInternal } },
    output: data({ file: FileView.schema.describe('Metadata of the file.'), coverage: coverage('persisted_files') }),
    async handle({ input, read }) {
        const where = input.include_internal ? [] : [publicFilesOnly];
        return { data: { file: await read.one(FileView, input.file_id, { where }), coverage: 'persisted_files' } };
    },
});
//# sourceMappingURL=file-get.js.map
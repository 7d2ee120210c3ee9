import { z } from 'zod';
import { example } from '../core/example.js';
import { ConversationId, FileId, MessageId, WebsiteId } from '../core/ids.js';
import { raw, sql } from '../core/sql.js';
import * as f from '../core/view.js';
export const CHUNK_SIZE = 65_536;
const ofMessage = (column) => `(SELECT ${column} FROM platform.message fm WHERE fm.tenant = f.tenant AND fm.site = f.site AND fm.id = f.message_id)`;
export const publicFilesOnly = sql `${raw(ofMessage('fm.visibility'))} = 'public'`;
const Dimension = z.int().min(1);
/** A field that is absent, never null, if the file has no value for it. */
const optional = (expression, schema) => f.derived(schema.optional().describe(schema.description ?? ''), [expression], ([value]) => value ?? undefined);
export const FileView = f.defineView({
    name: 'File',
    table: 'platform.file',
    alias: 'f',
    id: FileId,
    reachable: ({ allowed }) => sql `EXISTS (SELECT 1 FROM platform.conversation fc
    WHERE fc.tenant = f.tenant AND fc.site = f.site AND fc.id = f.conversation_id AND ${allowed('fc')})`,
    within: {
        Message: (id) => sql `f.message_id = ${id}`,
        Conversation: (id) => sql `f.conversation_id = ${id}`,
    },
    fields: {
        id: f.ownId('f', FileId),
        website_id: f.websiteId(WebsiteId),
        conversation_id: f.owner('f.conversation_id', ConversationId),
        message_id: f.owner('f.message_id', MessageId),
        name: f.text('f.name', 255, 'Name of the file, without a path.', { writer: 'outsiders', example: 'gps-track.csv' }),
        media_type: f.text('f.media_type', 127, 'Media type of the file, as the sender declared the type.', {
            writer: 'outsiders',
            example: 'text/csv',
        }),
        size: f.count('f.size', 'Size of the file in bytes.', { example: 153_641 }),
        version: f.column('f.version', z
            .string()
            .regex(/^[a-f0-9]{16,64}$/)
            .describe('Version of the content of the file. The version changes whenever the content changes.'), { example: 'bc6c8d45379cff6357fdd0160f179618' }),
        sha256: f.column('f.sha256', z
            .string()
            .regex(/^[a-f0-9]{64}$/)
            .nullable()
            .describe('SHA-256 of the whole file, in hexadecimal. Null until the hash is computed.')),
        chunk_size: f.derived(z.literal(CHUNK_SIZE).describe('Size of a chunk of the file, in bytes. The last chunk can be shorter.'), [], () => CHUNK_SIZE),
        chunk_count: f.derived(z.int().min(0).describe('Number of chunks in the file. The number is 0 if the file is empty.'), ['f.size'], ([size]) => Math.ceil(Number(size) / CHUNK_SIZE), { example: 3 }),
        disposition: f.column('f.disposition', z
            .enum(['inline', 'attachment'])
            .describe('How the conversation shows the file. inline: inside the message. attachment: as a separate attachment.'), { example: 'attachment' }),
        visibility: f.column(raw(ofMessage('fm.visibility')), z
            .enum(['public', 'internal'])
            .describe('Visibility of the message that has the file. public: the visitor sees the message. internal: only operators see the message.')),
        created_at: f.time('f.created_at', 'Time at which the file was stored.'),
        width: optional('f.width', Dimension.describe('Width of the image in pixels. Absent if the width is unknown.')),
        height: optional('f.height', Dimension.describe('Height of the image in pixels. Absent if the height is unknown.')),
        duration_ms: optional('f.duration_ms', example(2, z.int().min(0).describe('Duration of the audio or video in milliseconds. Absent if the duration is unknown.'))),
    },
});
//# sourceMappingURL=file.js.map
import { z } from 'zod';
import { ConversationId, FileId, MessageId, WebsiteId } from '../core/ids.ts';
import { raw, sql } from '../core/sql.ts';
import * as f from '../core/view.ts';

/** Bytes of one chunk (contract, Limits). */
export const CHUNK_SIZE = 65_536;

const ofMessage = (column: string): string =>
  `(SELECT ${column} FROM platform.message fm WHERE fm.tenant = f.tenant AND fm.site = f.site AND fm.id = f.message_id)`;

/** Files of public messages only, unless the caller asked for internal ones and holds them. */
export const publicFilesOnly = sql`${raw(ofMessage('fm.visibility'))} = 'public'`;

const Dimension = z.int().min(1);

/** Members that a file has only where they mean something. */
const optional = (expression: string, schema: z.ZodType): f.Field =>
  f.derived(schema.optional().describe(schema.description ?? ''), [expression], ([value]) => value ?? undefined);

/** Decisions, section 6. */
export const FileView = f.defineView({
  name: 'File',
  table: 'platform.file',
  alias: 'f',
  id: FileId,
  reachable: ({ allowed }) => sql`EXISTS (SELECT 1 FROM platform.conversation fc
    WHERE fc.tenant = f.tenant AND fc.site = f.site AND fc.id = f.conversation_id AND ${allowed('fc')})`,
  within: { Message: (id) => sql`f.message_id = ${id}` },
  fields: {
    id: f.ownId('f', FileId),
    website_id: f.websiteId(WebsiteId),
    conversation_id: f.owner('f.conversation_id', ConversationId),
    message_id: f.owner('f.message_id', MessageId),
    name: f.text('f.name', 255, 'File name without path.'),
    media_type: f.text('f.media_type', 127, 'Media type as the sender declared it.'),
    size: f.count('f.size', 'Bytes.'),
    version: f.column(
      'f.version',
      z
        .string()
        .regex(/^[a-f0-9]{16,64}$/)
        .describe('Changes with the content.'),
    ),
    sha256: f.column(
      'f.sha256',
      z
        .string()
        .regex(/^[a-f0-9]{64}$/)
        .nullable()
        .describe('SHA-256 of the whole file, hex; null until computed.'),
    ),
    chunk_size: f.derived(
      z.literal(CHUNK_SIZE).describe('Bytes of a chunk; the last may be shorter.'),
      [],
      () => CHUNK_SIZE,
    ),
    chunk_count: f.derived(z.int().min(0).describe('Chunks of the content; 0 when empty.'), ['f.size'], ([size]) =>
      Math.ceil(Number(size) / CHUNK_SIZE),
    ),
    disposition: f.column(
      'f.disposition',
      z.enum(['inline', 'attachment']).describe('How it was shown in the conversation.'),
    ),
    visibility: f.column(
      raw(ofMessage('fm.visibility')),
      z.enum(['public', 'internal']).describe('That of its message.'),
    ),
    created_at: f.time('f.created_at', 'Stored.'),
    width: optional('f.width', Dimension.describe('Pixels, for images.')),
    height: optional('f.height', Dimension.describe('Pixels, for images.')),
    duration_ms: optional('f.duration_ms', z.int().min(0).describe('Milliseconds, for sound and video.')),
  },
});

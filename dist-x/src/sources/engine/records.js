/**
 * The import format: one schema for each record type, without unknown members. The published JSON Schemas, the
 * importer's types and the reject codes come from it. Lengths are in UTF-16 units, as in the whole API.
 */
import { z } from 'zod';
import { AI_TYPES } from '../../views/ai-feature.js';
import { STATUSES } from '../../views/conversation.js';
import { externalId, flag, INLINE_FILE_MAX, INT_MAX, int, isBase64, isInsideFolder, language, languageTag, optional, optionalRef, optionalRefs, optionalTime, platform, ref, refs, required, scope, text, time, webAddress, website, zone, } from './fields.js';
const recordType = z.enum([
    'organization',
    'website',
    'subsite',
    'channel',
    'team',
    'operator',
    'contact',
    'visitor',
    'ai_feature',
    'disposition',
    'saved_response',
    'saved_link',
    'offer',
    'conversation',
    'message',
    'file',
    'note',
    'ai_result',
    'delete',
]);
/** In dependency order: a record refers only to earlier types, except for `in_reply_to` from message to message. */
export const RECORD_TYPES = recordType.options;
function record(type, description, shape) {
    const literal = z.literal(type).describe('Type of the record');
    return z.strictObject({ type: literal, external_id: externalId, ...shape }).meta({ title: type, description });
}
const fileShape = {
    message: ref('the message it is attached to'),
    name: required(1024, 'File name; the import removes folders and control characters, and keeps 255 characters'),
    media_type: z
        .string()
        .max(127)
        .regex(/^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+(?: ?; ?[\w!#$%&'*+.^`|~-]+=(?:[\w!#$%&'*+.^`|~-]+|"[ -!#-[\]-~]*"))*$/)
        .describe('Media type (RFC 9110)'),
    disposition: z.enum(['inline', 'attachment']).default('attachment').describe('How the conversation shows the file'),
    created_at: time('Creation'),
    width: int(1).optional().describe('Width in pixels'),
    height: int(1).optional().describe('Height in pixels'),
    duration_ms: int(0).optional().describe('Duration in milliseconds'),
};
export const recordSchemas = {
    organization: record('organization', 'An organization, which owns all other records', {
        name: required(240, 'Display name'),
    }),
    website: record('website', 'A website whose support data is stored', {
        organization: ref('its organization'),
        name: required(240, 'Display name'),
        time_zone: zone.describe('IANA time zone of the reports'),
        crm_integrated: flag(false, 'Whether a third-party CRM manages the dispositions; the gateway then refuses to set them'),
    }),
    subsite: record('subsite', 'A part of a website', { website, name: required(240, 'Display name') }),
    channel: record('channel', 'A channel through which conversations reach a website', {
        website,
        name: optional(240, 'Display name'),
        platform,
    }),
    team: record('team', 'A team of operators', {
        website,
        name: optional(240, 'Display name'),
        enabled: flag(true, 'Whether the team takes conversations'),
    }),
    operator: record('operator', 'A person or a bot that answers conversations', {
        organization: ref('its organization'),
        name: required(120, 'Display name'),
        email: optional(320, 'E-mail address'),
        role: z.enum(['owner', 'admin', 'operator', 'bot']).describe('Role in the organization'),
        enabled: flag(true, 'Whether the account is in use'),
        websites: refs('the websites it works on').min(1),
        teams: optionalRefs('the teams it is in'),
    }),
    contact: record('contact', 'A known customer', {
        website,
        name: optional(240, 'Full name'),
        first_name: optional(120, 'Given name'),
        last_name: optional(120, 'Family name'),
        email: optional(320, 'Primary e-mail address'),
        mobile: optional(40, 'Mobile number as stored, in any notation'),
        phone: optional(40, 'Phone number as stored, in any notation'),
        company: optional(240, 'Company'),
        language: language('Language of the contact'),
        country: z
            .string()
            .regex(/^[A-Z]{2}$/)
            .optional()
            .describe('Country (ISO 3166-1 alpha-2, upper case)'),
        time_zone: zone.optional().describe('IANA time zone'),
        blocked: flag(false, 'Whether the contact is blocked'),
        deleted: flag(false, 'Whether the contact is deleted; it is stored, but never shown'),
        created_at: time('Creation'),
        updated_at: optionalTime('Last change'),
    }),
    visitor: record('visitor', 'A browser or device from which a person wrote to a website', {
        website,
        nickname: optional(120, 'Nickname'),
        blocked: flag(false, 'Whether the visitor is blocked'),
        contacts: optionalRefs('the contacts it is actively linked to'),
        created_at: time('First visit'),
        last_seen_at: optionalTime('Last visit'),
    }),
    ai_feature: record('ai_feature', 'An AI feature of a website', {
        website,
        name: required(200, 'Display name'),
        ai_type: z.enum(AI_TYPES).describe('What the feature does'),
        enabled: flag(true, 'Whether the feature is switched on'),
        versions: z
            .array(z.strictObject({
            version: int(1).describe('Version number'),
            active: flag(false, 'Whether this version is active'),
        }))
            .min(1)
            .max(1000)
            .refine((all) => new Set(all.map((one) => one.version)).size === all.length, 'duplicate')
            .describe('Versions, each number once; the API shows the highest active one, and hides a feature without one'),
    }),
    disposition: record('disposition', 'A disposition: a value that classifies a closed conversation', {
        website,
        value: required(200, 'Value that is stored in conversations'),
        label: required(240, 'Display name'),
        group: optional(120, 'Group in which operators find it'),
        enabled: flag(true, 'Whether it can be set'),
        position: int(-INT_MAX).default(0).describe('Position in the list, ascending'),
    }),
    saved_response: record('saved_response', 'A prepared answer', {
        website,
        language: languageTag.describe('Language (BCP 47 tag)'),
        label: required(240, 'Display name'),
        content: text(200_000).describe('Text; the API shows its first 32,768 characters'),
        category_name: required(240, 'Category'),
        shortcut: optional(120, 'Text that an operator types to insert the response'),
        platform_id: int(-1).default(-1).describe('Platform on which operators can use it; -1 for all platforms'),
        scope,
    }),
    saved_link: record('saved_link', 'A prepared link', {
        website,
        label: required(240, 'Display name'),
        url: webAddress.describe('Address (http or https)'),
        kind: z
            .enum(['static', 'dynamic', 'scripted'])
            .default('static')
            .describe('How the address is produced; the API lists only static links'),
        scope,
    }),
    offer: record('offer', 'An offer shown to visitors', {
        website,
        name: required(240, 'Display name'),
        offer_type: z.enum(['banner', 'popup', 'proactive_chat', 'link', 'other']).describe('How visitors see the offer'),
        status: z.enum(['draft', 'active', 'paused', 'ended']).describe('Status of the offer'),
        url: webAddress.optional().describe('Address that the offer opens (http or https)'),
        starts_at: optionalTime('Start'),
        ends_at: optionalTime('End'),
    }),
    conversation: record('conversation', 'A conversation; the gateway derives its totals from its messages', {
        website,
        visitor: optionalRef('the visitor who wrote'),
        contacts: optionalRefs('the contacts that take part'),
        channel: optionalRef('the channel through which it came'),
        team: optionalRef('the team that handles it'),
        subsite: optionalRef('the subsite it belongs to'),
        operator: optionalRef('the operator it is assigned to'),
        status: z.enum(STATUSES).describe('Status of the conversation'),
        platform,
        language: language('Language of the conversation'),
        subject: optional(2000, 'Subject; the API shows its first 500 characters'),
        disposition: optional(200, 'Value of a disposition'),
        rating: z
            .strictObject({
            label: required(120, 'Rating in words'),
            score: int(-INT_MAX).optional().describe('Rating as a number'),
        })
            .optional()
            .describe('Rating by the visitor'),
        created_at: time('Creation'),
        updated_at: optionalTime('Last change; default: created_at'),
        first_response_at: optionalTime('First reply; default: the first public message of an operator after the first of the visitor'),
        closed_at: optionalTime('Time of closing'),
    }),
    message: record('message', 'A message in a conversation', {
        conversation: ref('its conversation'),
        author_type: z.enum(['visitor', 'operator', 'bot', 'system']).describe('Kind of author'),
        author: optionalRef('the author: a visitor if author_type is visitor, otherwise an operator'),
        visibility: z.enum(['public', 'internal']).describe('Internal messages are notes that the visitor never sees'),
        kind: z
            .enum(['text', 'html', 'event', 'form', 'voice_transcript', 'attachment_only'])
            .describe('Format of the text; the import converts html to plain text'),
        text: optional(1_000_000, 'Text; the API shows its first 32,768 characters'),
        language: language('Language of the text'),
        created_at: time('Creation'),
        edited_at: optionalTime('Last edit'),
        delivery_status: z
            .enum(['sent', 'delivered', 'read', 'failed', 'unknown'])
            .default('unknown')
            .describe('Delivery status'),
        in_reply_to: optionalRef('the message that it answers'),
        ai_generated: flag(false, 'Whether AI wrote it'),
        ai_feature: optionalRef('the AI feature that wrote it'),
        redacted: flag(false, 'Whether the text was removed; the API then shows no text'),
    }),
    file: record('file', 'A file attached to a message; exactly one of content_base64 and path', {
        ...fileShape,
        content_base64: z
            .string()
            .max(INLINE_FILE_MAX)
            .refine(isBase64, 'invalid_base64')
            .meta({ contentEncoding: 'base64' })
            .optional()
            .describe('Content in base64, at most 32 MiB of bytes'),
        path: text(1024, 1)
            .refine(isInsideFolder, 'invalid_path')
            .optional()
            .describe('Path of the content, relative to the folder of the NDJSON file and inside it'),
    })
        .refine((file) => file.content_base64 !== undefined || file.path !== undefined, {
        path: ['content_base64'],
        error: 'missing',
    })
        .refine((file) => file.content_base64 === undefined || file.path === undefined, {
        path: ['path'],
        error: 'conflicting_members',
    })
        .meta({ oneOf: [{ required: ['content_base64'] }, { required: ['path'] }] }),
    note: record('note', "An operator's note on a visitor", {
        visitor: ref('the visitor'),
        operator: optionalRef('the operator who wrote it'),
        title: optional(240, 'Title'),
        text: required(200_000, 'Text; the API shows its first 32,768 characters'),
        created_at: time('Creation'),
    }),
    ai_result: record('ai_result', 'Result of an AI session about a conversation', {
        conversation: ref('its conversation'),
        topics: z.array(text(120, 1)).max(100).default([]).describe('Topics'),
        sentiment: z.number().min(-1).max(1).optional().describe('Sentiment of the visitor, -1 (negative) to 1 (positive)'),
        confidence: z.number().min(0).max(1).optional().describe('Confidence of the classification, 0 to 1'),
        resolution: optional(120, 'How the request was resolved'),
        first_contact_resolved: z.boolean().optional().describe('Whether the first contact resolved it'),
        outcome: optional(120, 'How the AI session ended'),
    }),
    delete: z
        .strictObject({
        type: z.literal('delete').describe('Type of the record'),
        of: recordType.exclude(['delete']).describe('Type of the record to remove'),
        external_id: text(200, 1).describe('external_id of the record to remove'),
    })
        .meta({ title: 'delete', description: 'Removes a record and all records that depend on it' }),
};
/** A file of a source. If nothing can be read at `path`, the store has only its metadata. */
export const sourceFile = record('file', 'A file of a source', {
    ...fileShape,
    size: z.int().min(0),
    path: text(1024, 1).refine(isInsideFolder, 'invalid_path').optional(),
});
export function recordJsonSchema(type) {
    return z.toJSONSchema(recordSchemas[type], { target: 'draft-2020-12', io: 'input' });
}
//# sourceMappingURL=records.js.map
import { z } from 'zod';
import { ChannelId, DispositionId, OfferId, OperatorId, TeamId } from '../core/ids.js';
import { named } from '../core/json-schema.js';
import { raw, sql } from '../core/sql.js';
import * as f from '../core/view.js';
const LABEL = 240;
const CONTENT = 32_768;
const enabled = (noun) => z.boolean().describe(`True if the ${noun} is in use.`);
export const PlainId = named('SavedId', z
    .string()
    .max(19)
    .regex(/^[1-9][0-9]{0,18}$/)
    .describe('Id of a saved response or a saved link. The id is a positive integer, written as a string.'));
export const OperatorView = f.defineView({
    name: 'Operator',
    table: 'platform.operator',
    alias: 'o',
    id: OperatorId,
    fields: {
        id: f.ownId('o', OperatorId),
        name: f.text('o.name', 120, 'Display name of the operator.', { writer: 'outsiders', example: 'Kenji Mori' }),
        email: f.nullableText('o.email', 320, 'E-mail address of the operator. Null if no address is stored.', {
            writer: 'outsiders',
            example: 'kenji@larkspur.example',
        }),
        role: f.column('o.role', z.enum(['owner', 'admin', 'operator', 'bot']).describe('Role of the operator.'), {
            example: 'operator',
        }),
        enabled: f.column('o.enabled', enabled('operator account')),
        team_ids: f.derived(z
            .array(TeamId.schema)
            .describe('Ids of the operator’s teams on this website. Teams that the credential may not see are left out.'), [
            ({ permitted }) => {
                const teams = permitted('team_ids');
                return teams
                    ? sql `ARRAY(SELECT unnest(o.team_ids) INTERSECT SELECT unnest(${teams}::bigint[]) ORDER BY 1)`
                    : raw('o.team_ids');
            },
        ], ([ids], { website }) => (Array.isArray(ids) ? ids.map((id) => TeamId.format(website, String(id))) : [])),
    },
});
export const DispositionView = f.defineView({
    name: 'Disposition',
    table: 'platform.disposition',
    alias: 'd',
    id: DispositionId,
    fields: {
        value: f.text('d.value', 200, 'Value of the disposition. Send this value to conversation_disposition_set.', {
            writer: 'service',
            example: 'refund-issued',
        }),
        label: f.text('d.label', LABEL, 'Label of the disposition. Operators see this label.', {
            writer: 'service',
            example: 'Refund issued',
        }),
        group: f.nullableText('d.group_name', 120, 'Name of the group that the disposition belongs to. Null if the disposition has no group.', { writer: 'service', example: 'Solved' }),
        enabled: f.column('d.enabled', enabled('disposition')),
        position: f.column('d.position', z.int().describe('Place of the disposition in its group. The lowest number comes first.'), { example: 2 }),
    },
});
const content = f.weighedText('sr.content', CONTENT);
export const SavedResponseView = f.defineView({
    name: 'SavedResponse',
    table: 'platform.saved_response',
    alias: 'sr',
    id: 'plain',
    visible: raw(`sr.scope = 'global'`),
    weight: 'sr.content',
    fields: {
        id: f.derived(PlainId, ['sr.id'], ([id]) => String(id), { example: '2' }),
        label: f.text('sr.label', LABEL, 'Label of the saved response. Operators see this label.', {
            writer: 'outsiders',
            example: 'Refund timing',
        }),
        content: f.text(content, CONTENT, 'Text of the saved response.', {
            writer: 'outsiders',
            example: 'We release refunds within five working days of receiving the parcel.',
        }),
        content_truncated: f.truncated(content, CONTENT),
        category_name: f.text('sr.category_name', LABEL, 'Name of the category that the saved response belongs to.', {
            writer: 'outsiders',
            example: 'Returns',
        }),
        shortcut: f.nullableText('sr.shortcut', 120, 'Shortcut that operators type to insert the saved response. Null if there is no shortcut.', { writer: 'outsiders', example: 'refund' }),
        platform_id: f.column('sr.platform_id', z
            .int()
            .min(-1)
            .max(2_147_483_647)
            .describe('Number of the platform that the saved response is for. -1 means every platform. config_catalog names the other numbers.'), { example: -1 }),
    },
});
export const SavedLinkView = f.defineView({
    name: 'SavedLink',
    table: 'platform.saved_link',
    alias: 'sl',
    id: 'plain',
    visible: raw(`sl.scope = 'global' AND sl.kind = 'static'`),
    fields: {
        id: f.derived(PlainId, ['sl.id'], ([id]) => String(id), { example: '3' }),
        label: f.text('sl.label', LABEL, 'Label of the saved link. Operators see this label.', {
            writer: 'service',
            example: 'Warranty terms',
        }),
        url: f.text('sl.url', 2048, 'URL that the saved link opens. The scheme is http or https.', {
            writer: 'service',
            example: 'https://larkspur.example/help/warranty',
        }),
    },
});
export const OfferView = f.defineView({
    name: 'Offer',
    table: 'platform.offer',
    alias: 'of',
    id: OfferId,
    fields: {
        id: f.ownId('of', OfferId),
        name: f.text('of.name', LABEL, 'Name of the offer.', { writer: 'service', example: 'Winter warm-up' }),
        type: f.column('of.type', z.enum(['banner', 'popup', 'proactive_chat', 'link', 'other']).describe('Kind of the offer.'), { example: 'popup' }),
        status: f.column('of.status', z.enum(['draft', 'active', 'paused', 'ended']).describe('Status of the offer.')),
        url: f.nullableText('of.url', 2048, 'URL that the offer opens. The scheme is http or https. Null if the offer opens no URL.', { writer: 'service', example: 'https://larkspur.example/winter' }),
        starts_at: f.nullableTime('of.starts_at', 'Time at which the offer starts. Null if no start is set.'),
        ends_at: f.nullableTime('of.ends_at', 'Time at which the offer ends. Null if no end is set.'),
    },
});
export const ChannelView = f.defineView({
    name: 'Channel',
    table: 'platform.channel',
    alias: 'ch',
    id: ChannelId,
    reachable: ({ permits }) => permits('channel_ids', 'ch.id'),
    fields: {
        id: f.ownId('ch', ChannelId),
        name: f.nullableText('ch.name', LABEL, 'Name of the channel. Null if the channel has no name.', {
            writer: 'service',
            example: 'WhatsApp US',
        }),
    },
});
export const TeamView = f.defineView({
    name: 'Team',
    table: 'platform.team',
    alias: 't',
    id: TeamId,
    reachable: ({ permits }) => permits('team_ids', 't.id'),
    fields: {
        id: f.ownId('t', TeamId),
        name: f.nullableText('t.name', LABEL, 'Name of the team. Null if the team has no name.', {
            writer: 'service',
            example: 'Returns and exchanges',
        }),
        enabled: f.column('t.enabled', enabled('team')),
    },
});
/** The canonical form of a language tag (RFC 5646), as in stored responses. Unchanged if the tag has no such form. */
export function canonicalLanguage(tag) {
    try {
        return Intl.getCanonicalLocales(tag)[0] ?? tag;
    }
    catch (error) {
        if (error instanceof RangeError)
            return tag;
        throw error;
    }
}
//# sourceMappingURL=catalogue.js.map
import { z } from 'zod';
import { ChannelId, DispositionId, OfferId, OperatorId, TeamId } from '../core/ids.ts';
import { raw, sql } from '../core/sql.ts';
import * as f from '../core/view.ts';

const LABEL = 240;
const CONTENT = 32_768;
const Enabled = z.boolean().describe('Whether the entry is in use.');

export const PlainId = z
  .string()
  .max(19)
  .regex(/^[1-9][0-9]{0,18}$/)
  .describe('Id of a saved response or link: a positive integer as a string.');

export const OperatorView = f.defineView({
  name: 'Operator',
  table: 'platform.operator',
  alias: 'o',
  id: OperatorId,
  fields: {
    id: f.ownId('o', OperatorId),
    name: f.text('o.name', 120, 'Display name.', { writer: 'outsiders' }),
    email: f.nullableText('o.email', 320, 'E-mail address; null if none is stored.', { writer: 'outsiders' }),
    role: f.column('o.role', z.enum(['owner', 'admin', 'operator', 'bot']).describe('Role of the operator.')),
    enabled: f.column('o.enabled', Enabled),
    team_ids: f.derived(
      z.array(TeamId.schema).describe('Teams of the operator on this website that the credential may see.'),
      [
        ({ permitted }) => {
          const teams = permitted('team_ids');
          return teams
            ? sql`ARRAY(SELECT unnest(o.team_ids) INTERSECT SELECT unnest(${teams}::bigint[]) ORDER BY 1)`
            : raw('o.team_ids');
        },
      ],
      ([ids], { website }) => (Array.isArray(ids) ? ids.map((id) => TeamId.format(website, String(id))) : []),
    ),
  },
});

export const DispositionView = f.defineView({
  name: 'Disposition',
  table: 'platform.disposition',
  alias: 'd',
  id: DispositionId,
  fields: {
    value: f.text('d.value', 200, 'Value that conversation_disposition_set takes.', { writer: 'service' }),
    label: f.text('d.label', LABEL, 'Label that operators see.', { writer: 'service' }),
    group: f.nullableText('d.group_name', 120, 'Group of the disposition; null if it has none.', { writer: 'service' }),
    enabled: f.column('d.enabled', Enabled),
    position: f.column('d.position', z.int().describe('Sort order in the group, lowest first.')),
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
    id: f.derived(PlainId, ['sr.id'], ([id]) => String(id)),
    label: f.text('sr.label', LABEL, 'Label that operators see.', { writer: 'outsiders' }),
    content: f.text(content, CONTENT, 'Text of the saved response.', { writer: 'outsiders' }),
    content_truncated: f.truncated(content, CONTENT),
    category_name: f.text('sr.category_name', LABEL, 'Category of the saved response.', { writer: 'outsiders' }),
    shortcut: f.nullableText('sr.shortcut', 120, 'Shortcut that operators type for it; null if there is none.', {
      writer: 'outsiders',
    }),
    platform_id: f.column(
      'sr.platform_id',
      z
        .int()
        .min(-1)
        .max(2_147_483_647)
        .describe('Platform number: -1 is every platform; config_catalog names the others.'),
    ),
  },
});

export const SavedLinkView = f.defineView({
  name: 'SavedLink',
  table: 'platform.saved_link',
  alias: 'sl',
  id: 'plain',
  visible: raw(`sl.scope = 'global' AND sl.kind = 'static'`),
  fields: {
    id: f.derived(PlainId, ['sl.id'], ([id]) => String(id)),
    label: f.text('sl.label', LABEL, 'Label that operators see.', { writer: 'service' }),
    url: f.text('sl.url', 2048, 'Target of the link, an http or https URL.', { writer: 'service' }),
  },
});

export const OfferView = f.defineView({
  name: 'Offer',
  table: 'platform.offer',
  alias: 'of',
  id: OfferId,
  fields: {
    id: f.ownId('of', OfferId),
    name: f.text('of.name', LABEL, 'Name of the offer.', { writer: 'service' }),
    type: f.column(
      'of.type',
      z.enum(['banner', 'popup', 'proactive_chat', 'link', 'other']).describe('Kind of offer.'),
    ),
    status: f.column('of.status', z.enum(['draft', 'active', 'paused', 'ended']).describe('Status of the offer.')),
    url: f.nullableText('of.url', 2048, 'Target of the offer, an http or https URL; null if there is none.', {
      writer: 'service',
    }),
    starts_at: f.nullableTime('of.starts_at', 'When the offer starts; null if no start is set.'),
    ends_at: f.nullableTime('of.ends_at', 'When the offer ends; null if no end is set.'),
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
    name: f.nullableText('ch.name', LABEL, 'Name of the channel; null if it has none.', { writer: 'service' }),
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
    name: f.nullableText('t.name', LABEL, 'Name of the team; null if it has none.', { writer: 'service' }),
    enabled: f.column('t.enabled', Enabled),
  },
});

/**
 * Returns the canonical form of a language tag (RFC 5646). A tag without a canonical form is returned unchanged. Saved
 * responses are stored with the canonical tag.
 */
export function canonicalLanguage(tag: string): string {
  try {
    return Intl.getCanonicalLocales(tag)[0] ?? tag;
  } catch (error) {
    if (error instanceof RangeError) return tag;
    throw error;
  }
}

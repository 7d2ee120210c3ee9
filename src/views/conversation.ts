import { z } from 'zod';
import { ChannelId, ConversationId, native, OperatorId, SubsiteId, TeamId, VisitorId, WebsiteId } from '../core/ids.ts';
import { both, DIRECTORY, MSG, PII } from '../core/scopes.ts';
import { type Fragment, likeLiteral, sql } from '../core/sql.ts';
import { writtenBy } from '../core/texts.ts';
import * as f from '../core/view.ts';

export const STATUSES = ['unassigned', 'assigned', 'pending', 'snoozed', 'closed', 'missed', 'spam'] as const;
export const PLATFORMS = [
  'chat',
  'email',
  'voice',
  'sms',
  'whatsapp',
  'messenger',
  'instagram',
  'telegram',
  'line',
  'api',
  'unknown',
] as const;

const SUBJECT = 500;
const content = { needs: both(MSG, PII) };
const told = { ...content, writer: 'outsiders' } as const;

export const ConversationView = f.defineView({
  name: 'Conversation',
  table: 'platform.conversation',
  alias: 'c',
  id: ConversationId,
  reachable: ({ allowed }) => allowed('c'),
  within: { Visitor: (id) => sql`c.visitor_id = ${id}` },
  fields: {
    id: f.ownId('c', ConversationId),
    website_id: f.websiteId(WebsiteId),
    status: f.column('c.status', z.enum(STATUSES).describe('Status in the source system, which alone changes it.')),
    platform: f.column('c.platform', z.enum(PLATFORMS).describe('Platform that carries the conversation.')),
    channel_id: f.reference('c.channel_id', ChannelId),
    team_id: f.reference('c.team_id', TeamId),
    subsite_id: f.reference('c.subsite_id', SubsiteId),
    disposition: f.nullableText('c.disposition', 200, 'Value of the disposition; null if none was set.', {
      writer: 'service',
    }),
    language: f.nullableText('c.language', 35, 'Language as a BCP 47 tag; null if unknown.', {
      needs: PII,
      writer: 'service',
    }),
    ai: f.derived(
      z
        .strictObject({
          involved: z.boolean().describe('Whether there is an AI message or an AI result.'),
          escalated: z.boolean().describe('Whether an operator wrote after the first AI evidence.'),
        })
        .describe('Part that AI took in the conversation.'),
      ['c.ai_involved', 'c.ai_escalated'],
      ([involved, escalated]) => ({ involved, escalated }),
    ),
    visitor_id: f.reference('c.visitor_id', VisitorId),
    message_count: f.count('c.message_count', 'Number of public messages.'),
    created_at: f.time('c.created_at', 'When the conversation started.'),
    updated_at: f.time('c.updated_at', 'When the conversation last changed.'),
    first_response_at: f.nullableTime(
      'c.first_response_at',
      'When the visitor got the first reply; null if there is none.',
    ),
    last_message_at: f.nullableTime(
      'c.last_message_at',
      'When the last public message was written; null if there is none.',
    ),
    closed_at: f.nullableTime('c.closed_at', 'When the conversation was closed; null if it was not closed.'),
    rating: f.derived(
      z
        .strictObject({
          label: writtenBy('outsiders', z.string().max(120)).describe('Label of the rating.'),
          score: z.int().nullable().describe('Score of the rating; null if it has only a label.'),
        })
        .nullable()
        .describe('Rating by the visitor; null if there is none.'),
      ['c.rating_label', 'c.rating_score'],
      ([label, score]) => (label === null ? null : { label: f.clip(label, 120), score }),
      { needs: MSG },
    ),
    operator_id: f.reference('c.operator_id', OperatorId, { needs: both(DIRECTORY, PII) }),
    subject: f.nullableText(f.longText('c.subject', SUBJECT), SUBJECT, 'Subject line; null if there is none.', told),
    subject_truncated: f.truncated(f.longText('c.subject', SUBJECT), SUBJECT, content),
    access: f.access({ pii: PII, message_content: MSG }),
  },
});

/** Filters of conversations_list. A conversation must match all filters. The ids are public ids of the website. */
export interface ConversationFilters {
  readonly contact_id?: string | undefined;
  /** One or more statuses of conversations, separated by commas. */
  readonly status?: string | undefined;
  readonly platform?: string | undefined;
  readonly channel_id?: string | undefined;
  readonly team_id?: string | undefined;
  readonly subsite_id?: string | undefined;
  readonly operator_id?: string | undefined;
  readonly created_from?: string | undefined;
  readonly created_to?: string | undefined;
  readonly updated_since?: string | undefined;
}

/** SQL condition: the subject contains the text, in any letter case. No index supports this condition. */
export const bySubject = (part: string): Fragment => sql`c.subject ILIKE ${`%${likeLiteral(part)}%`}`;

export function byConversation(by: ConversationFilters): Fragment[] {
  const given = <T>(value: T | undefined, condition: (value: T) => Fragment): Fragment[] =>
    value === undefined ? [] : [condition(value)];
  return [
    ...given(
      by.contact_id,
      // Use EXISTS and not IN. Before PostgreSQL 17, a correlated IN runs once for every conversation of the website.
      (id) => sql`EXISTS (SELECT 1 FROM platform.conversation_contact k
        JOIN platform.contact ct ON ct.tenant = k.tenant AND ct.site = k.site AND ct.id = k.contact_id AND NOT ct.deleted
        WHERE k.tenant = c.tenant AND k.site = c.site AND k.conversation_id = c.id AND k.contact_id = ${native(id)})`,
    ),
    ...given(by.status, (list) => sql`c.status = ANY(${list.split(',')})`),
    ...given(by.platform, (platform) => sql`c.platform = ${platform}`),
    ...given(by.channel_id, (id) => sql`c.channel_id = ${native(id)}`),
    ...given(by.team_id, (id) => sql`c.team_id = ${native(id)}`),
    ...given(by.subsite_id, (id) => sql`c.subsite_id = ${native(id)}`),
    ...given(by.operator_id, (id) => sql`c.operator_id = ${native(id)}`),
    ...given(by.created_from, (at) => sql`c.created_at >= ${at}::timestamptz`),
    ...given(by.created_to, (at) => sql`c.created_at < ${at}::timestamptz`),
    ...given(by.updated_since, (at) => sql`c.updated_at >= ${at}::timestamptz`),
  ];
}

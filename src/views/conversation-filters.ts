import { z } from 'zod';
import { accepts, commaList, RFC3339_EXPECTED } from '../core/accepted-values.ts';
import { example } from '../core/example.ts';
import { Failure } from '../core/failures.ts';
import { ChannelId, ContactId, NONE, native, OperatorId, orNone, SubsiteId, TeamId } from '../core/ids.ts';
import { shared } from '../core/parameters.ts';
import { Rfc3339Time } from '../core/rfc3339.ts';
import { both, DIRECTORY, PII, type Requirement } from '../core/scopes.ts';
import { type Fragment, likeLiteral, sql } from '../core/sql.ts';
import { Platform, STATUS_WORDS, STATUSES } from './conversation.ts';
import { isDay, zoneOf } from './report-range.ts';
import { fromDay, untilDay, zoneName } from './zone.ts';

const DATE = z.core.regexes.date.source.slice(1, -1);
const TIME = z.core.regexes.datetime({}).source.slice(1 + DATE.length, -1);
const DayOrTime = example(
  '2026-11-30T09:00:00Z',
  accepts(
    z
      .string()
      .max(40)
      .regex(new RegExp(`^${DATE}(?:${TIME})?$`))
      .refine((text) => !text.startsWith('0000')), // PostgreSQL has no year 0
    `${RFC3339_EXPECTED}, or with timezone a local day such as 2026-11-30`,
  ),
);

export const conversationFilters = {
  contact_id: shared(
    'contact_id_of_conversations',
    ContactId.schema.optional().describe('Only with this contact. Absent: with any contact.'),
  ),
  status: example(
    'pending,closed',
    commaList(STATUSES).optional().describe(`Comma-separated: ${STATUS_WORDS}. Absent: every status.`),
  ),
  platform: Platform.optional().describe('Only on this platform. Absent: on every platform.'),
  channel_id: ChannelId.schema.optional().describe('Only of this channel. Absent: of every channel.'),
  team_id: shared(
    'team_id_or_none',
    example(
      'tem_1_1_3',
      orNone(TeamId).optional().describe('Only of this team, or none: without a team. Absent: all.'),
    ),
  ),
  subsite_id: SubsiteId.schema.optional().describe('Only of this subsite. Absent: of every subsite.'),
  operator_id: shared(
    'operator_id_or_none',
    example(
      'opr_1_1_3',
      orNone(OperatorId)
        .optional()
        .describe('Only of this operator, from operators, or none: assigned to nobody. Absent: all.'),
    ),
  ),
  created_from: shared(
    'created_from_time_or_day',
    DayOrTime.optional().describe('Created at or after this time, or with timezone this local day. Absent: no limit.'),
  ),
  created_to: shared(
    'created_to_time_or_day',
    DayOrTime.optional().describe(
      'Created before this time, or with timezone until this local day, included. Absent: no limit.',
    ),
  ),
  updated_since: Rfc3339Time.optional().describe(
    'Changed at or after this time. RFC 3339, UTC. Absent: no earliest time.',
  ),
};

/** The grants that a filter or a group by contact needs. */
export const BY_CONTACT: Requirement = { scopes: ['contact_read', 'contact_read_pii'], dataAccess: [] };
/** The grants that a filter or a group by operator needs. */
export const BY_OPERATOR: Requirement = both(DIRECTORY, PII);

/** A conversation must match all filters. The ids are public ids. */
export type ConversationFilters = Readonly<
  Partial<Record<keyof typeof conversationFilters | 'disposition', string | undefined>>
>;

/** SQL condition: the subject contains the text, in any letter case. No index supports it. */
export const bySubject = (part: string): Fragment => sql`c.subject ILIKE ${`%${likeLiteral(part)}%`}`;

/** The zone of `timezone`. Throws if a filter has a local day without it. */
export function zoneOfDays(
  input: ConversationFilters & { readonly timezone?: string | undefined },
): string | undefined {
  if (input.timezone !== undefined) return zoneOf(input.timezone);
  const days = (['created_from', 'created_to'] as const).filter((name) => isDay(input[name] ?? ''));
  if (days.length === 0) return undefined;
  const expected = `${RFC3339_EXPECTED}, or timezone beside a local day`;
  const errors = days.map((parameter) => ({ parameter, code: 'invalid_parameter' as const, expected }));
  throw new Failure('invalid_parameter', { errors });
}

/** `zone` is the time zone of local days. */
export function byConversation(by: ConversationFilters, zone?: string): Fragment[] {
  const localDay = sql`(c.created_at AT TIME ZONE (SELECT ${zoneName(sql`${zone ?? 'UTC'}::text`)}))::date`;
  const given = <T>(value: T | undefined, condition: (value: T) => Fragment): Fragment[] =>
    value === undefined ? [] : [condition(value)];
  return [
    ...given(
      by.contact_id,
      // EXISTS, not IN: before PostgreSQL 17, a correlated IN runs once for every conversation of the website.
      (id) => sql`EXISTS (SELECT 1 FROM platform.conversation_contact k
        JOIN platform.contact ct ON ct.tenant = k.tenant AND ct.site = k.site AND ct.id = k.contact_id AND NOT ct.deleted
        WHERE k.tenant = c.tenant AND k.site = c.site AND k.conversation_id = c.id AND k.contact_id = ${native(id)})`,
    ),
    ...given(by.status, (list) => sql`c.status = ANY(${list.split(',')})`),
    ...given(by.platform, (platform) => sql`c.platform = ${platform}`),
    ...given(by.channel_id, (id) => sql`c.channel_id = ${native(id)}`),
    ...given(by.team_id, (id) => (id === NONE ? sql`c.team_id IS NULL` : sql`c.team_id = ${native(id)}`)),
    ...given(by.subsite_id, (id) => sql`c.subsite_id = ${native(id)}`),
    ...given(by.operator_id, (id) => (id === NONE ? sql`c.operator_id IS NULL` : sql`c.operator_id = ${native(id)}`)),
    ...given(by.created_from, (at) => (isDay(at) ? fromDay(at, localDay) : sql`c.created_at >= ${at}::timestamptz`)),
    ...given(by.created_to, (at) => (isDay(at) ? untilDay(at, localDay) : sql`c.created_at < ${at}::timestamptz`)),
    ...given(by.disposition, (value) => sql`c.disposition = ${value}`),
    ...given(by.updated_since, (at) => sql`c.updated_at >= ${at}::timestamptz`),
  ];
}

import { z } from 'zod';
import { accepts } from '../core/accepted-values.js';
import { meets } from '../core/authority.js';
import { example } from '../core/example.js';
import { ChannelId, ContactId, native, OperatorId, TeamId, WebsiteId } from '../core/ids.js';
import { named } from '../core/json-schema.js';
import { both, needs, PII } from '../core/scopes.js';
import { raw, sql } from '../core/sql.js';
import { writtenBy } from '../core/texts.js';
import { clip } from '../core/view.js';
import { PARTS } from './brief.js';
import { Status } from './conversation.js';
import { BY_CONTACT, BY_OPERATOR } from './conversation-filters.js';
const GROUPS = [
    'status',
    'disposition',
    'team',
    'operator',
    'channel',
    'language',
    'day',
    'contact',
    'website',
];
/** The grants that some groups need beside those of the operation. */
export const GROUP_NEEDS = [
    { given: 'group_by', has: 'operator', ...BY_OPERATOR },
    { given: 'group_by', has: 'contact', ...BY_CONTACT },
    { given: 'group_by', has: 'language', ...PII },
];
const NAME = `(${GROUPS.join('|')})`;
export const GroupBy = accepts(z
    .string()
    .regex(new RegExp(`^${NAME}(,${NAME})?$`))
    .refine((text) => new Set(text.split(',')).size === text.split(',').length), `one or two of ${GROUPS.join(', ')}, with a comma between two`);
const plain = (member, column) => ({
    member,
    column: raw(column),
    public: (value) => value,
});
const ofKind = (member, column, kind, name) => ({
    ...{ member, column, within: 'website', ...(name && { name }) },
    public: (value, website) => (value === null ? null : kind.format(website, value)),
});
const CONTACT_NAME = { table: 'contact', needs: both(needs('contact_read'), PII) };
/**
 * A conversation with several contacts counts for the one with the lowest id, so that it counts once. Deleted contacts
 * do not count. They are rare, so DISTINCT ON reads the contacts in the order of their index without them. For 100,000
 * conversations, that takes 66 ms of CPU. A GROUP BY of all contacts takes 160 ms (23 November 2026).
 */
const FIRST_CONTACT = {
    ...ofKind('contact_id', raw(`CASE WHEN d.id IS NULL THEN f.contact_id ELSE (
           SELECT min(k.contact_id) FROM platform.conversation_contact k
             JOIN platform.contact l ON l.tenant = k.tenant AND l.site = k.site AND l.id = k.contact_id AND NOT l.deleted
            WHERE k.tenant = c.tenant AND k.site = c.site AND k.conversation_id = c.id) END`), ContactId, CONTACT_NAME),
    join: (within) => sql `LEFT JOIN (
      SELECT DISTINCT ON (k.tenant, k.site, k.conversation_id) k.tenant, k.site, k.conversation_id, k.contact_id
        FROM platform.conversation_contact k WHERE ${within('k')} ORDER BY k.tenant, k.site, k.conversation_id, k.contact_id) f
      ON f.tenant = c.tenant AND f.site = c.site AND f.conversation_id = c.id
    LEFT JOIN platform.contact d ON d.tenant = c.tenant AND d.site = c.site AND d.id = f.contact_id AND d.deleted`,
};
const GROUPINGS = {
    status: plain('status', 'c.status'),
    disposition: plain('disposition', 'c.disposition'),
    team: ofKind('team_id', raw('c.team_id'), TeamId, { table: 'team', needs: PARTS.team }),
    operator: ofKind('operator_id', raw('c.operator_id'), OperatorId, { table: 'operator', needs: PARTS.operator }),
    channel: ofKind('channel_id', raw('c.channel_id'), ChannelId, { table: 'channel', needs: PARTS.channel }),
    language: plain('language', 'c.language'),
    day: { member: 'day', column: 'day', public: (value) => value },
    contact: FIRST_CONTACT,
    website: {
        ...{ member: 'website_id', column: raw('c.site'), within: 'website' },
        name: { table: 'website', needs: needs('website_read') },
        public: (_, website) => website.id,
    },
};
/** The groupings of a list such as `status,team`. With the filter `contact`, this contact is the only group. */
export function groupingsOf(authority, list, contact) {
    return GROUPS.filter((name) => list?.split(',').includes(name)).map((group) => {
        const grouping = group === 'contact' && contact !== undefined
            ? ofKind('contact_id', sql `${native(contact)}::bigint`, ContactId, CONTACT_NAME)
            : GROUPINGS[group];
        const { name, ...unnamed } = grouping;
        return name && meets(authority, name.needs) ? grouping : unnamed;
    });
}
const id = ({ schema }, noun, names) => schema
    .nullable()
    .optional()
    .describe(`Id of the ${noun}. Null for conversations without one. Absent if not grouped. The operation ${names} has the name.`);
const GroupKey = named('ConversationGroupKey', z.strictObject({
    status: Status.optional().describe('Status of the conversations. Absent if not grouped.'),
    disposition: writtenBy('service', z.string())
        .nullable()
        .optional()
        .describe('Disposition of the conversations. Null for conversations without one. Absent if not grouped.'),
    team_id: id(TeamId, 'team', 'teams'),
    operator_id: id(OperatorId, 'assigned operator', 'operators'),
    channel_id: id(ChannelId, 'channel', 'channels'),
    language: writtenBy('service', z.string())
        .nullable()
        .optional()
        .describe('Language as a BCP 47 tag. Null if the language is unknown. Absent if not grouped.'),
    day: z.iso.date().optional().describe('Local day on which the conversations were created. Absent if not grouped.'),
    contact_id: id(ContactId, 'contact', 'contact_get'),
    website_id: WebsiteId.optional().describe('Id of the website. Absent if not grouped.'),
}));
export const CountedGroups = example([{ key: { team_id: 'tem_1_1_2', status: 'closed' }, name: 'Returns and exchanges', count: 30 }], z
    .array(z.strictObject({
    key: GroupKey.describe('Values that the conversations of the group share.'),
    name: writtenBy('outsiders', z.string())
        .nullable()
        .optional()
        .describe('Name of the operator, team, channel, contact or website. Of two, those that exist, with " / " between, in the order of key. Null if none has a name. Absent if not granted or not grouped.'),
    count: z.int().min(1).describe('Number of conversations in the group.'),
}))
    .max(100)
    .describe('At most limit groups, the largest first. With day: the first in the order of days, so the last day can lack groups. A day without conversations has no group. Empty without group_by.'));
const NAME_LENGTH = 240;
/** The name of a group, as answers tell it. */
export const namesText = (names) => names.flatMap((name) => (name === null ? [] : [clip(name, NAME_LENGTH)])).join(' / ') || null;
//# sourceMappingURL=conversation-count.js.map
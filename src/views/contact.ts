import { z } from 'zod';
import { ContactId } from '../core/ids.ts';
import { PII } from '../core/scopes.ts';
import { empty, type Fragment, join, likeLiteral, raw, sql } from '../core/sql.ts';
import * as f from '../core/view.ts';

const pii = { needs: PII };
const told = { needs: PII, writer: 'outsiders' } as const;
const normal = { needs: PII, writer: 'service' } as const;

/** Without access to personal data, a caller gets only `id`, `blocked` and `access`. */
export const ContactView = f.defineView({
  name: 'Contact',
  table: 'platform.contact',
  alias: 'ct',
  id: ContactId,
  visible: raw('NOT ct.deleted'),
  // A restricted caller can see a contact that has a permitted conversation, also through a visitor of the contact.
  reachable: ({ allowed }) => sql`EXISTS (
    SELECT 1 FROM platform.conversation_contact rk JOIN platform.conversation rc
      ON rc.tenant = rk.tenant AND rc.site = rk.site AND rc.id = rk.conversation_id
     WHERE rk.tenant = ct.tenant AND rk.site = ct.site AND rk.contact_id = ct.id AND ${allowed('rc')}
    UNION ALL
    SELECT 1 FROM platform.visitor_contact rv JOIN platform.conversation rc
      ON rc.tenant = rv.tenant AND rc.site = rv.site AND rc.visitor_id = rv.visitor_id
     WHERE rv.tenant = ct.tenant AND rv.site = ct.site AND rv.contact_id = ct.id AND ${allowed('rc')})`,
  within: {
    Conversation: (id) => sql`EXISTS (SELECT 1 FROM platform.conversation_contact k
      WHERE k.tenant = ct.tenant AND k.site = ct.site AND k.contact_id = ct.id AND k.conversation_id = ${id})`,
    Visitor: (id) => sql`EXISTS (SELECT 1 FROM platform.visitor_contact k
      WHERE k.tenant = ct.tenant AND k.site = ct.site AND k.contact_id = ct.id AND k.visitor_id = ${id})`,
  },
  fields: {
    id: f.ownId('ct', ContactId),
    blocked: f.column('ct.blocked', z.boolean().describe('True if an operator has blocked the contact.'), {
      example: false,
    }),
    access: f.access({ pii: PII }),
    name: f.nullableText('ct.name', 240, 'Full name of the contact. Null if no full name is stored.', {
      ...told,
      example: 'Callum Hargrove',
    }),
    first_name: f.nullableText('ct.first_name', 120, 'Given name of the contact. Null if no given name is stored.', {
      ...told,
      example: 'Callum',
    }),
    last_name: f.nullableText('ct.last_name', 120, 'Family name of the contact. Null if no family name is stored.', {
      ...told,
      example: 'Hargrove',
    }),
    email: f.nullableText('ct.email', 320, 'Primary e-mail address of the contact. Null if no address is stored.', {
      ...told,
      example: 'en.us.74@example.org',
    }),
    mobile: f.nullableText(
      'ct.mobile',
      40,
      'Mobile phone number of the contact, as stored. Null if no mobile number is stored.',
      { ...told, example: '(212) 555-0142' },
    ),
    mobile_e164: f.nullableText(
      'ct.mobile_e164',
      16,
      'Mobile phone number in E.164 form. Null if no number is stored, or if the gateway cannot convert the number.',
      { ...normal, example: '+12125550142' },
    ),
    phone: f.nullableText(
      'ct.phone',
      40,
      'Phone number of the contact, as stored. Null if no phone number is stored.',
      { ...told, example: null },
    ),
    phone_e164: f.nullableText(
      'ct.phone_e164',
      16,
      'Phone number in E.164 form. Null if no number is stored, or if the gateway cannot convert the number.',
      { ...normal, example: null },
    ),
    company: f.nullableText('ct.company', 240, 'Company of the contact. Null if no company is stored.', {
      ...told,
      example: 'Alder & Finch Expeditions LLC',
    }),
    language: f.nullableText(
      'ct.language',
      35,
      'Language of the contact, as a BCP 47 tag. Null if the language is unknown.',
      { ...normal, example: 'en' },
    ),
    country: f.nullableText(
      'ct.country',
      2,
      'Country of the contact, as an ISO 3166-1 alpha-2 code. Null if the country is unknown.',
      { ...normal, example: 'US' },
    ),
    time_zone: f.nullableText(
      'ct.time_zone',
      64,
      'Time zone of the contact, as an IANA name. Null if the time zone is unknown.',
      { ...normal, example: 'America/New_York' },
    ),
    created_at: f.nullableTime(
      'ct.created_at',
      'Time at which the contact was created. Null if the time is unknown.',
      pii,
    ),
    updated_at: f.nullableTime(
      'ct.updated_at',
      'Time of the last change of the contact. Null if the time is unknown.',
      pii,
    ),
  },
});

export const SEARCH_FIELDS = ['name', 'email', 'mobile', 'phone'] as const;

/**
 * SQL condition for a search. `%` and `_` have no special meaning. PostgreSQL can look up a LIKE in an index only if it
 * knows the pattern when it plans. After some calls, it can plan for any pattern. So a prefix is also a range, whose
 * operators compare bytes, as the indexes contact_name to contact_phone do. The LIKE stays: it makes PostgreSQL expect
 * few rows. Else PostgreSQL could read the contacts from the newest on until it has a page.
 */
export function searchContacts(
  query: string,
  field: 'all' | (typeof SEARCH_FIELDS)[number],
  match: 'prefix' | 'exact',
): Fragment {
  const fields = field === 'all' ? SEARCH_FIELDS : [field];
  const end = match === 'exact' ? undefined : endOf(query);
  const conditions = fields.map((name) => {
    const column = raw(`ct.${name}`);
    if (match === 'exact') return sql`${column} = ${query}`;
    const before = end === undefined ? empty : sql` AND ${column} ~<~ ${end}`;
    return sql`(${column} ~>=~ ${query}${before} AND ${column} LIKE ${`${likeLiteral(query)}%`})`;
  });
  return sql`(${join(conditions, ' OR ')})`;
}

/** The first text, in the order of code points, after all texts with this prefix. Undefined if there is none. */
function endOf(prefix: string): string | undefined {
  const points = Array.from(prefix, (one) => one.codePointAt(0) ?? 0);
  const at = points.findLastIndex((point) => point < 0x10ffff);
  if (at < 0) return undefined;
  const last = points[at] ?? 0;
  // The code points from U+D800 to U+DFFF are no characters.
  return String.fromCodePoint(...points.slice(0, at), last === 0xd7ff ? 0xe000 : last + 1);
}

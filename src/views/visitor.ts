import { z } from 'zod';
import { ContactId, VisitorId, WebsiteId } from '../core/ids.ts';
import { both, needs, PII } from '../core/scopes.ts';
import { sql } from '../core/sql.ts';
import * as f from '../core/view.ts';

/** The stored identity of a visitor. The database has no enrichment data, tracking data or live state. */
export const VisitorView = f.defineView({
  name: 'Visitor',
  table: 'platform.visitor',
  alias: 'v',
  id: VisitorId,
  reachable: ({ allowed }) => sql`EXISTS (SELECT 1 FROM platform.conversation rc
    WHERE rc.tenant = v.tenant AND rc.site = v.site AND rc.visitor_id = v.id AND ${allowed('rc')})`,
  within: {
    Contact: (id) => sql`EXISTS (SELECT 1 FROM platform.visitor_contact k
      WHERE k.tenant = v.tenant AND k.site = v.site AND k.visitor_id = v.id AND k.contact_id = ${id})`,
  },
  fields: {
    id: f.ownId('v', VisitorId),
    website_id: f.websiteId(WebsiteId),
    created_at: f.nullableTime('v.created_at', 'When the visitor was first seen; null if unknown.'),
    last_seen_at: f.nullableTime('v.last_seen_at', 'When the visitor was last seen; null if unknown.'),
    blocked: f.column('v.blocked', z.boolean().describe('Whether operators blocked the visitor.')),
    conversation_count: f.count(
      (caller) => sql`(SELECT count(*) FROM platform.conversation n
        WHERE n.tenant = v.tenant AND n.site = v.site AND n.visitor_id = v.id AND ${caller.allowed('n')})`,
      'Number of conversations with the visitor that the credential may see.',
    ),
    contact_linked: f.column(
      sql`EXISTS (SELECT 1 FROM platform.visitor_contact k
        JOIN platform.contact ct ON ct.tenant = k.tenant AND ct.site = k.site AND ct.id = k.contact_id
        WHERE k.tenant = v.tenant AND k.site = v.site AND k.visitor_id = v.id AND NOT ct.deleted)`,
      z.boolean().describe('Whether the visitor is linked to a contact that is not deleted.'),
    ),
    contact_ids: f.derived(
      z.array(ContactId.schema).max(10).describe('Ids of the linked contacts, newest first, at most 10.'),
      [
        sql`ARRAY(SELECT k.contact_id FROM platform.visitor_contact k
          JOIN platform.contact ct ON ct.tenant = k.tenant AND ct.site = k.site AND ct.id = k.contact_id
          WHERE k.tenant = v.tenant AND k.site = v.site AND k.visitor_id = v.id AND NOT ct.deleted
          ORDER BY k.contact_id DESC LIMIT 10)`,
      ],
      ([ids], { website }) => (Array.isArray(ids) ? ids.map((id) => ContactId.format(website, String(id))) : []),
      { needs: both(needs('contact_read'), PII) },
    ),
    nickname: f.nullableText('v.nickname', 120, 'Nickname; null if none is stored.', {
      needs: PII,
      writer: 'outsiders',
    }),
    access: f.access({ pii: PII }),
  },
});

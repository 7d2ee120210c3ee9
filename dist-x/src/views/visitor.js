import { z } from 'zod';
import { ContactId, VisitorId, WebsiteId } from '../core/ids.js';
import { both, needs, PII } from '../core/scopes.js';
import { sql } from '../core/sql.js';
import * as f from '../core/view.js';
/** The stored identity of a visitor. The database has no enrichment data, tracking data or live state. */
export const VisitorView = f.defineView({
    name: 'Visitor',
    table: 'platform.visitor',
    alias: 'v',
    id: VisitorId,
    reachable: ({ allowed }) => sql `EXISTS (SELECT 1 FROM platform.conversation rc
    WHERE rc.tenant = v.tenant AND rc.site = v.site AND rc.visitor_id = v.id AND ${allowed('rc')})`,
    within: {
        Contact: (id) => sql `EXISTS (SELECT 1 FROM platform.visitor_contact k
      WHERE k.tenant = v.tenant AND k.site = v.site AND k.visitor_id = v.id AND k.contact_id = ${id})`,
    },
    fields: {
        id: f.ownId('v', VisitorId),
        website_id: f.websiteId(WebsiteId),
        created_at: f.nullableTime('v.created_at', 'Time at which the visitor was first seen. Null if the time is unknown.'),
        last_seen_at: f.nullableTime('v.last_seen_at', 'Time at which the visitor was last seen. Null if the time is unknown.', { example: '2026-11-10T18:14:04.847Z' }),
        blocked: f.column('v.blocked', z.boolean().describe('True if an operator has blocked the visitor.'), {
            example: false,
        }),
        conversation_count: f.count((caller) => sql `(SELECT count(*) FROM platform.conversation n
        WHERE n.tenant = v.tenant AND n.site = v.site AND n.visitor_id = v.id AND ${caller.allowed('n')})`, 'Number of the visitor’s conversations. Conversations that the credential may not see are not counted.', { example: 2 }),
        contact_linked: f.column(sql `EXISTS (SELECT 1 FROM platform.visitor_contact k
        JOIN platform.contact ct ON ct.tenant = k.tenant AND ct.site = k.site AND ct.id = k.contact_id
        WHERE k.tenant = v.tenant AND k.site = v.site AND k.visitor_id = v.id AND NOT ct.deleted)`, z.boolean().describe('True if the visitor is linked to at least one contact. Deleted contacts do not count.')),
        contact_ids: f.derived(z
            .array(ContactId.schema)
            .max(10)
            .describe('Ids of the contacts that are linked to the visitor. The newest contact comes first. The list has at most 10 ids.'), [
            sql `ARRAY(SELECT k.contact_id FROM platform.visitor_contact k
          JOIN platform.contact ct ON ct.tenant = k.tenant AND ct.site = k.site AND ct.id = k.contact_id
          WHERE k.tenant = v.tenant AND k.site = v.site AND k.visitor_id = v.id AND NOT ct.deleted
          ORDER BY k.contact_id DESC LIMIT 10)`,
        ], ([ids], { website }) => (Array.isArray(ids) ? ids.map((id) => ContactId.format(website, String(id))) : []), { needs: both(needs('contact_read'), PII) }),
        nickname: f.nullableText('v.nickname', 120, 'Nickname of the visitor. Null if no nickname is stored.', {
            needs: PII,
            writer: 'outsiders',
            example: 'Callum',
        }),
        access: f.access({ pii: PII }),
    },
});
//# sourceMappingURL=visitor.js.map
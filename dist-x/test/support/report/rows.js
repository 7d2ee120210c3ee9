import { randomUUID } from 'node:crypto';
import { sql } from '../../../src/core/sql.js';
import { generator } from '../random.js';
const SPANS = [
    '2026-02-01/2026-03-02',
    '2026-03-22/2026-04-01',
    '2026-03-29/2026-03-30',
    '2026-09-28/2026-10-02',
    '2026-10-19/2026-11-04',
];
const CHANGES = ['2026-03-08', '2026-03-29', '2026-04-24', '2026-10-25', '2026-11-01'];
function rowsOf(site, random) {
    const pick = (list) => list[Math.floor(random() * list.length)]; // the cast is sound: no list here is empty
    const id = (highest) => (random() < 0.15 ? null : 1 + Math.floor(random() * highest));
    const hundredth = (low) => random() < 0.2 ? null : Math.round((low + random() * (1 - low)) * 100) / 100;
    const conversations = Array.from({ length: 150 }, (_, i) => {
        const [from = '', to = ''] = pick(SPANS).split('/');
        const created = Math.floor(Date.parse(from) + random() * (Date.parse(to) - Date.parse(from)));
        return {
            ...{ site, id: i + 1, created, visitor_id: id(20), channel_id: id(3), team_id: id(3), subsite_id: id(3) },
            ...{ operator_id: id(4), platform: pick(['chat', 'email', 'voice', 'unknown']) },
            ...{ language: pick(['de', 'en', 'pt-BR', null]), rating_label: pick(['good', 'Bad', 'étoile', null]) },
        };
    });
    const messages = conversations.flatMap(({ id, created }) => {
        const moments = Array.from({ length: Math.floor(random() * 6) }, () => created + Math.floor(random() * 900_000));
        return moments.map((moment) => ({
            ...{ site, conversation_id: id, created: moment },
            ...{ author_type: pick(['visitor', 'visitor', 'operator', 'bot', 'system']), ai_generated: random() < 0.3 },
            visibility: random() < 0.8 ? 'public' : 'internal',
        }));
    });
    const results = conversations.flatMap(({ id }) => Array.from({ length: pick([0, 0, 1, 1, 2]) }, () => ({
        ...{
            site,
            conversation_id: id,
            topics: Array.from({ length: pick([0, 1, 3]) }, () => pick(['Billing', 'order', 'Öl', 'hours'])),
        },
        ...{
            sentiment: pick([hundredth(-1), -0.25, 0.25]),
            confidence: hundredth(0),
            outcome: pick(['done', 'left', null]),
        },
        ...{
            resolution: pick(['resolved', 'unresolved', 'Resolved', null]),
            first_contact_resolved: pick([true, false, null]),
        },
    })));
    return { conversations, messages, results };
}
/**
 * Plants an organization with a full credential whose token has this digest. Returns the tenant. Site n has random
 * conversations in the n-th time zone. Three more sites follow. The first has 101 topics today (15 June 2026). The
 * second has an AI conversation every half hour around each change of clocks. The third has an unknown time zone.
 */
export async function seed(db, digest, zones) {
    const random = generator(20_261_121);
    const sets = zones.map((_, i) => rowsOf(i + 1, random));
    const rows = (name) => sql `jsonb_to_recordset(${JSON.stringify(sets.flatMap((set) => set[name]))}::text::jsonb) AS r`;
    const key = randomUUID().replaceAll('-', '');
    const [organization] = await db.query(sql `INSERT INTO platform.organization (external_id, name) VALUES (${key}, 'Org') RETURNING tenant`);
    const tenant = organization?.tenant ?? '';
    const [many, halves, unknown] = [1, 2, 3].map((n) => zones.length + n);
    const parts = `SELECT ${tenant}, s, i, s || '-' || i, 'chat'
    FROM generate_series(1, ${unknown}) s, generate_series(1, 3) i`;
    await db.script(`
    INSERT INTO platform.website (tenant, site, external_id, name, time_zone)
      SELECT ${tenant}, n, 'w' || n, 'Site ' || n, zone
      FROM unnest('{${zones.join()},UTC,UTC,Mars/Base}'::text[]) WITH ORDINALITY AS z (zone, n);
    INSERT INTO platform.subsite (tenant, site, id, external_id, name) ${parts};
    INSERT INTO platform.team (tenant, site, id, external_id, name) ${parts};
    INSERT INTO platform.channel (tenant, site, id, external_id, platform) ${parts};
    INSERT INTO platform.operator (tenant, site, id, external_id, name, role)
      SELECT ${tenant}, s, i, s || '-' || i, CASE WHEN i < 3 THEN 'Ann' ELSE 'Operator ' || i END, 'operator'
        FROM generate_series(1, ${unknown}) s, generate_series(1, 4) i;
    INSERT INTO platform.visitor (tenant, site, id, external_id, created_at)
      SELECT ${tenant}, s, i, s || '-' || i, '2026-01-01'
        FROM generate_series(1, ${unknown}) s, generate_series(1, 20) i;
    INSERT INTO platform.conversation (tenant, site, id, external_id, status, platform, created_at, updated_at)
      SELECT ${tenant}, ${halves}, row_number() OVER (), 'half' || row_number() OVER (), 'closed', 'chat', t, t
        FROM unnest('{${CHANGES.join()}}'::timestamptz[]) day,
             generate_series(day - interval '1 day', day + interval '2 days', '30 minutes') t;
    INSERT INTO platform.conversation (tenant, site, id, external_id, status, platform, created_at, updated_at)
      VALUES (${tenant}, ${many}, 1, 'many', 'closed', 'chat', '2026-06-15 08:00Z', '2026-06-15 08:00Z');
    INSERT INTO platform.ai_result (tenant, site, id, external_id, conversation_id, topics)
      SELECT tenant, site, id, external_id, id, '{}' FROM platform.conversation
       WHERE tenant = ${tenant} AND site = ${halves};
    INSERT INTO platform.ai_result (tenant, site, id, external_id, conversation_id, topics)
      SELECT ${tenant}, ${many}, i, 'many' || i, 1, CASE i WHEN 1 THEN '{topic 000}' ELSE
             (SELECT array_agg('topic ' || lpad(n::text, 3, '0')) FROM generate_series(0, 100) n) END
        FROM generate_series(1, 2) i;
    INSERT INTO gateway.app (id, tenant, name) VALUES ('app_${key}', ${tenant}, 'App');
    INSERT INTO gateway.installation (id, app_id) VALUES ('ins_${key}', 'app_${key}');
    INSERT INTO gateway.credential
        (id, installation_id, environment, secret_digest, sites, scopes, data_access, expires_at)
      VALUES ('crd_${key}', 'ins_${key}', 'test', '', ARRAY(SELECT generate_series(1, ${unknown})),
        '{reports_read,conversation_read,message_content_read,contact_read_pii,directory_read}',
        '{message_content,pii}', '2999-01-01')`);
    await db.query(sql `INSERT INTO gateway.token (digest, credential_id, kind) VALUES (${digest}, ${`crd_${key}`}, 'installation')`);
    const time = sql `'epoch'::timestamptz + r.created * interval '1 millisecond'`;
    await db.query(sql `INSERT INTO platform.conversation (tenant, site, id, external_id, visitor_id, channel_id, team_id,
      subsite_id, operator_id, status, platform, language, rating_label, created_at, updated_at)
    SELECT ${tenant}, r.site, r.id, r.site || '-' || r.id, r.visitor_id, r.channel_id, r.team_id, r.subsite_id,
      r.operator_id, 'closed', r.platform, r.language, r.rating_label, ${time}, ${time}
    FROM ${rows('conversations')} (site bigint, id bigint, created bigint, visitor_id bigint, channel_id bigint,
      team_id bigint, subsite_id bigint, operator_id bigint, platform text, language text, rating_label text)`);
    await db.query(sql `INSERT INTO platform.message (tenant, site, id, external_id, conversation_id, author_type,
      visibility, kind, created_at, ai_generated)
    SELECT ${tenant}, r.site, row_number() OVER (), 'm' || row_number() OVER (), r.conversation_id, r.author_type,
      r.visibility, 'text', ${time}, r.ai_generated
    FROM ${rows('messages')} (site bigint, conversation_id bigint, created bigint, author_type text,
      ai_generated boolean, visibility text)`);
    await db.query(sql `INSERT INTO platform.ai_result (tenant, site, id, external_id, conversation_id, topics, sentiment,
      confidence, resolution, first_contact_resolved, outcome)
    SELECT ${tenant}, r.site, row_number() OVER (), 'r' || row_number() OVER (), r.conversation_id, r.topics,
      r.sentiment, r.confidence, r.resolution, r.first_contact_resolved, r.outcome
    FROM ${rows('results')} (site bigint, conversation_id bigint, topics text[], sentiment float8, confidence float8,
      resolution text, first_contact_resolved boolean, outcome text)`);
    return tenant;
}
//# sourceMappingURL=rows.js.map
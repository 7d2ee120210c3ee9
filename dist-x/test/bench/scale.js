import { issue } from '../support/credentials.js';
import { median } from './report.js';
import { openCalls, openWorld } from './world.js';
const CALLS = 1_000;
const MESSAGES_PER_CONVERSATION = 20;
/**
 * Measures the latency of reads on two websites, one with 40 thousand messages and one with 4 million. One process
 * alternates between the two websites.
 */
export async function scale(store, print) {
    const sizes = [40_000, 4_000_000];
    const worlds = await Promise.all(sizes.map((messages) => world(store, messages)));
    const site = 1;
    const list = (more = {}, tool = 'conversations_list') => () => [tool, { website_id: `web_1_${site}`, ...more }];
    const of = (tool, member, kind) => (pick) => [tool, { [member]: `${kind}_1_${site}_${pick()}` }];
    const reads = [
        ['contact_get', of('contact_get', 'contact_id', 'ctc')],
        ['conversation', of('conversation', 'conversation_id', 'cnv')],
        ['conversations_list', list()],
        ['conversations status', list({ status: 'snoozed' })],
        ['conversations updated', list({ order: 'updated_asc' })],
        ['conversations team', list({ team_id: `tem_1_${site}_1` })],
        ['messages', of('conversation_messages', 'conversation_id', 'cnv')],
        ['contacts prefix', (pick) => list({ query: `Person ${pick()}` }, 'contacts_list')()],
        ['contacts_list', list({}, 'contacts_list')],
        ['visitor', of('visitor', 'visitor_id', 'vis')],
        ['visitor_notes', of('visitor_notes', 'visitor_id', 'vis')],
        ['visitor_conversations', of('visitor_conversations', 'visitor_id', 'vis')],
    ];
    for (const [name, request] of reads) {
        const times = worlds.map(() => []);
        for (let i = 0; i < CALLS; i++) {
            for (const [w, one] of worlds.entries()) {
                // Use only ids that exist on both websites, so that the reads of both websites visit the same number of rows.
                const [tool, input] = request(() => 1 + Math.floor(((i * 7919) % 997) * 1.9));
                const began = performance.now();
                await one.call(tool, input);
                times[w]?.push(performance.now() - began);
            }
        }
        const [small = 0, large = 0] = times.map(median);
        print(`${name.padEnd(24)} ${small.toFixed(2)} ms at 40,000 messages  ${large.toFixed(2)} ms at 4,000,000  ratio ${(large / small).toFixed(2)}`);
    }
    for (const one of worlds)
        await one.close();
}
async function world(store, messages) {
    const { db, sql, close } = await openWorld(store, `scale_${messages}`);
    const conversations = messages / MESSAGES_PER_CONVERSATION;
    await sql.unsafe(`
    ALTER TABLE platform.message DISABLE TRIGGER USER;
    INSERT INTO platform.organization (external_id, name) VALUES ('scale', 'Scale');
    INSERT INTO platform.website VALUES (1, 1, 's', 'Site', 'UTC');
    INSERT INTO platform.team SELECT 1, 1, t, 't' || t, 'Team ' || t FROM generate_series(1, 50) t;
    CREATE TEMP TABLE c AS SELECT 1 AS site, n AS id, n FROM generate_series(1, ${conversations}) n;
    INSERT INTO platform.contact (tenant, site, id, external_id, name, email, created_at)
      SELECT 1, site, id, 'c' || n, 'Person ' || id, 'p' || n || '@mail.example', now() FROM c;
    INSERT INTO platform.visitor (tenant, site, id, external_id, created_at) SELECT 1, site, id, 'v' || n, now() FROM c;
    INSERT INTO platform.conversation (tenant, site, id, external_id, visitor_id, team_id, status, platform, subject, created_at, updated_at)
      SELECT 1, site, id, 'k' || n, id, 1 + id % 50, (ARRAY['unassigned','assigned','pending','snoozed','closed'])[1 + id % 5], 'chat',
             'Subject ' || id, now() - id * interval '1 minute', now() - id * interval '30 seconds' FROM c;
    INSERT INTO platform.note (tenant, site, id, external_id, visitor_id, text, created_at) SELECT 1, site, id, 'n' || n, id, 'A note', now() FROM c;
    INSERT INTO platform.message (tenant, site, id, external_id, conversation_id, author_type, visibility, kind, text, created_at)
      SELECT 1, site, (c.id - 1) * ${MESSAGES_PER_CONVERSATION} + m, n || '-' || m, c.id, 'visitor', 'public', 'text',
             'A message of ordinary length, number ' || m || ', in conversation ' || c.id || '.', now()
        FROM c, generate_series(1, ${MESSAGES_PER_CONVERSATION}) m;
    DROP TABLE c;
    ALTER TABLE platform.message ENABLE TRIGGER USER;`);
    await sql `VACUUM ANALYZE`;
    return { call: await openCalls(db, (await issue(sql, 1)).token), close };
}
//# sourceMappingURL=scale.js.map
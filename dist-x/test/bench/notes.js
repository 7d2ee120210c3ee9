const SITES = 8;
const VISITORS = 25;
/** The website numbers of the bench start here. The demo's own websites have lower numbers. */
const FIRST = 101;
/** Returns the public ids of the visitors, one list for each website. */
export async function websitesForNotes(sql) {
    const sites = Array.from({ length: SITES }, (_, i) => FIRST + i);
    for (const site of sites) {
        const name = `bench-${site}`;
        await sql `INSERT INTO platform.website (tenant, site, external_id, name, time_zone) VALUES (1, ${site}, ${name}, ${name}, 'UTC')`;
        await sql `INSERT INTO platform.operator (tenant, site, id, external_id, name, role) VALUES (1, ${site}, 900001, ${name}, 'Bench', 'operator')`;
        await sql `INSERT INTO platform.visitor (tenant, site, id, external_id, created_at)
      SELECT 1, ${site}, n, ${name} || '-' || n, now() FROM generate_series(1, ${VISITORS}::integer) n`;
        await sql `INSERT INTO platform.conversation (tenant, site, id, external_id, visitor_id, status, platform, created_at, updated_at)
      SELECT 1, ${site}, n, ${name} || '-' || n, n, 'closed', 'chat', now(), now() FROM generate_series(1, ${VISITORS}::integer) n`;
    }
    return sites.map((site) => Array.from({ length: VISITORS }, (_, n) => `vis_1_${site}_${n + 1}`));
}
export const mapAuthors = (sql, credential) => sql `INSERT INTO gateway.native_author (credential_id, tenant, site, operator_id)
      SELECT ${credential}, tenant, site, id FROM platform.operator WHERE tenant = 1 AND id = 900001`;
//# sourceMappingURL=notes.js.map
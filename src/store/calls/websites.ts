import { sql } from '../../core/sql.ts';
import { type Access, guarded, type Proved } from './guard.ts';

/** Reads the granted websites that exist, sorted by their number. */
export async function readWebsites(
  access: Access,
): Promise<Proved<{ website_id: string; name: string; time_zone: string }[]>> {
  const granted = [...access.authority.websites.values()];
  const { proof, rows } = await guarded<{ site: string | null; name: string; time_zone: string }>(
    access,
    sql`w.site, w.name, w.time_zone`,
    sql`LEFT JOIN platform.website w
      ON guard.ok AND w.tenant = ${granted[0]?.tenant ?? '0'} AND w.site = ANY(${granted.map((website) => website.site)}::bigint[])
      ORDER BY w.site`,
  );
  const answer = rows.flatMap(({ site, name, time_zone }) => {
    const website = granted.find((one) => one.site === site);
    return website ? [{ website_id: website.id, name, time_zone }] : [];
  });
  return { proof, answer };
}

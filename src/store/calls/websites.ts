import { sql } from '../../core/sql.ts';
import { guard } from './guard.ts';
import { guarded, type ReadSession } from './read.ts';

/** The granted websites that exist, by number. */
export async function readWebsites(
  session: ReadSession,
): Promise<{ website_id: string; name: string; time_zone: string }[]> {
  const { authority } = session;
  const granted = [...authority.websites.values()];
  const rows = await guarded<{ site: string | null; name: string; time_zone: string }>(
    session,
    sql`w.site, w.name, w.time_zone FROM ${guard(authority)} LEFT JOIN platform.website w
      ON guard.ok AND w.tenant = ${granted[0]?.tenant ?? '0'} AND w.site = ANY(${granted.map((website) => website.site)}::bigint[])
      ORDER BY w.site`,
  );
  return rows.flatMap(({ site, name, time_zone }) => {
    const website = granted.find((one) => one.site === site);
    return website ? [{ website_id: website.id, name, time_zone }] : [];
  });
}

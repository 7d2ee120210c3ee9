import { isRestricted } from '../../core/authority.js';
import { sql } from '../../core/sql.js';
import { guarded } from './guard.js';
export async function readHealth(access) {
    const { authority, website } = access;
    const { proof, rows } = await guarded(access, sql `now() AS now, h.last_at, ARRAY(
        SELECT f.family FROM gateway.family_hold f
         WHERE guard.ok AND f.tenant = ${website.tenant} AND f.site = ${website.site}) AS held,
        (SELECT jsonb_build_object('state', gateway.source_state(s), 'lagSeconds', gateway.source_lag(s)) FROM gateway.source s
          WHERE guard.ok AND s.tenant = ${website.tenant} AND s.site = ${website.site} LIMIT 1) AS source`, sql `LEFT JOIN gateway.journal_head h ON guard.ok AND h.tenant = ${website.tenant} AND h.site = ${website.site}`);
    const [row] = rows;
    const answer = {
        audit: { lost: 0, stuck: false },
        checkedAt: row?.now.getTime() ?? 0,
        // Receipts cover the whole website. So their times would tell a restricted caller about events outside the
        // restrictions.
        lastEventAt: new Map(isRestricted(authority) ? [] : Object.entries(row?.last_at ?? {})),
        held: new Set(row?.held),
        source: row?.source ?? undefined,
    };
    return { proof, answer };
}
//# sourceMappingURL=health.js.map
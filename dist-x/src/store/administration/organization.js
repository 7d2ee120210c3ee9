import { sql } from '../../core/sql.js';
import { readPage, within } from './administrator.js';
/** The public id of the administrator's organization. Undefined while the administrator does not have the role. */
export async function organizationOf(db, by) {
    const own = sql `SELECT o.public_id AS id, o.tenant AS created_at FROM platform.organization o WHERE ${within(by, sql `o.tenant`)}`;
    const { rows } = await readPage(db, by, own, { limit: 1, offset: 0 });
    return rows[0]?.id;
}
//# sourceMappingURL=organization.js.map
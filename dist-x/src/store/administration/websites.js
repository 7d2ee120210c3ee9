import { sql } from '../../core/sql.js';
import { readPage, within } from './administrator.js';
/** The largest number of websites whose names one page of the console shows. */
const WEBSITES = 1_000;
/** The websites of the administrator's organization, with their names. */
export const namesOfWebsites = async (db, by) => {
    const rows = sql `SELECT 'web_' || w.tenant || '_' || w.site AS id, w.name, w.site AS created_at
    FROM platform.website w WHERE ${within(by, sql `w.tenant`)}`;
    const { rows: found } = await readPage(db, by, rows, { limit: WEBSITES, offset: 0 });
    return found;
};
//# sourceMappingURL=websites.js.map
import { LIST_MAX } from '../../store/administration/administrator.js';
import { askComparison, countRows, pageOfRejects, pageOfSources, pauseSource, } from '../../store/administration/sources.js';
/** The sources of one organization. */
export const listSources = (desk, search, slice) => pageOfSources(desk.db, desk.by, search, slice);
export const findSource = async (desk, id) => (await listSources(desk, { id }, { limit: 1, offset: 0 })).rows[0];
export const listRejects = (desk, id, slice) => pageOfRejects(desk.db, desk.by, id, slice);
/** The number of stored records by kind, each counted to LIST_MAX + 1. */
export const countRecords = async ({ db }, { tenant, site }) => (site === null ? {} : countRows(db, tenant, site, LIST_MAX + 1));
/** True if the source was running, or paused, before. */
export const setPaused = ({ db, by }, id, paused) => pauseSource(db, id, paused, by);
/** Asks the gateway that runs the source to compare all its records with the store. */
export const compareSource = ({ db, by }, id) => askComparison(db, id, by);
//# sourceMappingURL=sources.js.map
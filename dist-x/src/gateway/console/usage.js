import { organizationOf } from '../../store/administration/organization.js';
import { readOverview, readReadings, } from '../../store/administration/overview.js';
export { PERIODS, } from '../../store/administration/overview.js';
/** Calls of the organization's apps in a period. Undefined if the administrator has just lost the role. */
export async function overviewOf({ db, by }, period) {
    const organization = await organizationOf(db, by);
    return organization === undefined ? undefined : readOverview(db, organization, period);
}
/** Which apps call which operations. */
export async function readingsOf({ db, by }, period, search) {
    const organization = await organizationOf(db, by);
    return organization === undefined ? undefined : readReadings(db, organization, period, search);
}
//# sourceMappingURL=usage.js.map
import {
  type AppReading,
  type Overview,
  readOverview,
  readReadings,
  type UsagePeriod,
} from '../../store/administration/overview.ts';
import type { AdministratorDesk } from './desk.ts';
import { aboutOrganization } from './organization.ts';

export {
  type AppReading,
  type CallSums,
  type Overview,
  PERIODS,
  type UsagePeriod,
} from '../../store/administration/overview.ts';

/** Calls of the organization's apps in a period. Undefined if the administrator has just lost the role. */
export const overviewOf = (desk: AdministratorDesk, period: UsagePeriod): Promise<Overview | undefined> =>
  aboutOrganization(desk, (organization) => readOverview(desk.db, organization, period));

/** Which apps call which operations. */
export const readingsOf = (
  desk: AdministratorDesk,
  period: UsagePeriod,
  search: Parameters<typeof readReadings>[3],
): Promise<{ readonly rows: readonly AppReading[]; readonly total: number } | undefined> =>
  aboutOrganization(desk, (organization) => readReadings(desk.db, organization, period, search));

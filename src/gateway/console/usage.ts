import { organizationOf } from '../../store/administration/organization.ts';
import {
  type AppReading,
  type Overview,
  readOverview,
  readReadings,
  type UsagePeriod,
} from '../../store/administration/overview.ts';
import type { AdministratorDesk } from './desk.ts';

export {
  type AppReading,
  type CallSums,
  type Overview,
  PERIODS,
  type UsagePeriod,
} from '../../store/administration/overview.ts';

/** Calls of the organization's apps in a period. Undefined if the administrator has just lost the role. */
export async function overviewOf({ db, by }: AdministratorDesk, period: UsagePeriod): Promise<Overview | undefined> {
  const organization = await organizationOf(db, by);
  return organization === undefined ? undefined : readOverview(db, organization, period);
}

/** Which apps call which operations. */
export async function readingsOf(
  { db, by }: AdministratorDesk,
  period: UsagePeriod,
  search: Parameters<typeof readReadings>[3],
): Promise<{ readonly rows: readonly AppReading[]; readonly total: number } | undefined> {
  const organization = await organizationOf(db, by);
  return organization === undefined ? undefined : readReadings(db, organization, period, search);
}

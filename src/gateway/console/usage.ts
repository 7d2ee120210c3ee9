import { organizationOf } from '../../store/administration/organization.ts';
import {
  type Overview,
  type Period,
  type Reading,
  readOverview,
  readReadings,
} from '../../store/administration/overview.ts';
import type { Desk } from './desk.ts';

export {
  type CallSums,
  type Overview,
  PERIODS,
  type Period,
  type Reading,
} from '../../store/administration/overview.ts';

/** Calls of the organization's apps in a period. Undefined if the administrator has just lost the role. */
export async function overviewOf({ db, by }: Desk, period: Period): Promise<Overview | undefined> {
  const organization = await organizationOf(db, by);
  return organization === undefined ? undefined : readOverview(db, organization, period);
}

/** Which apps call which operations. */
export async function readingsOf(
  { db, by }: Desk,
  period: Period,
  search: Parameters<typeof readReadings>[3],
): Promise<{ readonly rows: readonly Reading[]; readonly total: number } | undefined> {
  const organization = await organizationOf(db, by);
  return organization === undefined ? undefined : readReadings(db, organization, period, search);
}

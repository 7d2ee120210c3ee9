import { organizationOf } from '../../store/administration/organization.ts';
import type { AdministratorDesk } from './desk.ts';

/**
 * Reads about the administrator's organization, by its id. Undefined if the administrator has lost the role, also while
 * the read ran: the search of the audit can take ten seconds.
 */
export async function aboutOrganization<Found>(
  { db, by }: AdministratorDesk,
  read: (organization: string) => Promise<Found>,
): Promise<Found | undefined> {
  const organization = await organizationOf(db, by);
  if (organization === undefined) return undefined;
  const found = await read(organization);
  return (await organizationOf(db, by)) === undefined ? undefined : found;
}

import { websiteNames } from './administration.ts';
import type { AdministratorDesk } from './desk.ts';

/** A website of the organization, by its id. Undefined if the organization does not have it. */
export async function findSite(
  desk: AdministratorDesk,
  id: string,
): Promise<{ id: string; tenant: string; site: string } | undefined> {
  const [, , site] = id.split('_');
  if (site === undefined || !(await websiteNames(desk)).has(id)) return undefined;
  return { id, tenant: desk.by.tenant, site };
}

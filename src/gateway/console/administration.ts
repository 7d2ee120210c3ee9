import { revokeCredential } from '../../auth/issue.ts';
import { addPerson } from '../../auth/people.ts';
import { pageOfApps } from '../../store/administration/apps.ts';
import { pageOfConsents, revokeConsent } from '../../store/administration/consents.ts';
import { pageOfCredentials } from '../../store/administration/credentials.ts';
import {
  disablePerson,
  enablePerson,
  type PersonRecord,
  pageOfPeople,
  type Role,
  setRole,
} from '../../store/administration/people.ts';
import { namesOfWebsites } from '../../store/administration/websites.ts';
import type { Registry } from '../registry.ts';
import { switchTools, UnknownOperations } from '../switches.ts';
import { type AdministratorDesk, changing, finding, listing } from './desk.ts';

export { LIST_MAX, type Slice } from '../../store/administration/administrator.ts';
export type { AppSummary } from '../../store/administration/apps.ts';
export type { ConsentRecord } from '../../store/administration/consents.ts';
export type { CredentialRecord } from '../../store/administration/credentials.ts';
export { type PersonSummary, ROLES } from '../../store/administration/people.ts';

/**
 * What the console can do. Each function calls what the command line calls, under the authority of the desk. A change
 * answers undefined when it was not made: the record is not there, or the person may not make this change now.
 */
export const listApps = listing(pageOfApps);
export const listCredentials = listing(pageOfCredentials);
export const listConsents = listing(pageOfConsents);
export const listPeople = listing(pageOfPeople);

export const findApp = finding(listApps);
export const findCredential = finding(listCredentials);
export const findConsent = finding(listConsents);
export const findPerson = finding(listPeople);

/** The names of the organization's websites, by id. */
export const websiteNames = async (desk: AdministratorDesk): Promise<ReadonlyMap<string, string>> =>
  new Map((await namesOfWebsites(desk.db, desk.by)).map(({ id, name }) => [id, name]));

export const endCredential = changing(revokeCredential);
export const endConsent = changing(revokeConsent);
export const disable = changing(disablePerson);
export const enable = changing(enablePerson);

export const invite = (
  desk: AdministratorDesk,
  person: { email: string; role: Role },
): Promise<PersonRecord | undefined> =>
  addPerson(desk.db, { ...person, tenant: desk.by.tenant, password: null }, desk.by);

/** Changes the role `was`, which the form has shown. A person who has another role by now stays as they are. */
export const changeRole = (
  desk: AdministratorDesk,
  id: string,
  role: Role,
  was: string,
): Promise<PersonRecord | undefined> => setRole(desk.db, id, role, desk.by, was);

/** Switches one operation off or on for an app. Returns the operations that are off now. */
export async function switchOperation(
  desk: AdministratorDesk,
  registry: Registry,
  { app, operation, on }: { app: string; operation: string; on: boolean },
): Promise<string[] | undefined> {
  const change = on ? { off: [], on: [operation] } : { off: [operation], on: [] };
  try {
    return await switchTools(desk.db, registry, { id: app, tenant: desk.by.tenant }, change, desk.by);
  } catch (error) {
    if (error instanceof UnknownOperations) return undefined;
    throw error;
  }
}

import { revokeCredential } from '../../auth/issue.ts';
import { addPerson } from '../../auth/people.ts';
import type { ListPage, Slice } from '../../store/administration/administrator.ts';
import { type AppSearch, type AppSummary, pageOfApps } from '../../store/administration/apps.ts';
import {
  type ConsentRecord,
  type ConsentSearch,
  pageOfConsents,
  revokeConsent,
} from '../../store/administration/consents.ts';
import {
  type CredentialRecord,
  type CredentialSearch,
  pageOfCredentials,
} from '../../store/administration/credentials.ts';
import {
  disablePerson,
  enablePerson,
  type PersonRecord,
  type PersonSearch,
  type PersonSummary,
  pageOfPeople,
  type Role,
  setRole,
} from '../../store/administration/people.ts';
import { namesOfWebsites } from '../../store/administration/websites.ts';
import type { Registry } from '../registry.ts';
import { switchTools, UnknownOperations } from '../switches.ts';
import type { AdministratorDesk } from './desk.ts';

export { LIST_MAX, type ListPage, type Slice } from '../../store/administration/administrator.ts';
export type { AppSearch, AppSummary } from '../../store/administration/apps.ts';
export type { ConsentRecord, ConsentSearch } from '../../store/administration/consents.ts';
export type { CredentialRecord, CredentialSearch } from '../../store/administration/credentials.ts';
export { type PersonSummary, ROLES, type Role } from '../../store/administration/people.ts';

/**
 * What the console can do. Each function calls what the command line calls, under the authority of the desk. A change
 * answers undefined when it was not made: the record is not there, or the person may not make this change now.
 */
export const listApps = (desk: AdministratorDesk, search: AppSearch, slice: Slice): Promise<ListPage<AppSummary>> =>
  pageOfApps(desk.db, desk.by, search, slice);

export const listCredentials = (
  desk: AdministratorDesk,
  search: CredentialSearch,
  slice: Slice,
): Promise<ListPage<CredentialRecord>> => pageOfCredentials(desk.db, desk.by, search, slice);

export const listConsents = (
  desk: AdministratorDesk,
  search: ConsentSearch,
  slice: Slice,
): Promise<ListPage<ConsentRecord>> => pageOfConsents(desk.db, desk.by, search, slice);

export const listPeople = (
  desk: AdministratorDesk,
  search: PersonSearch,
  slice: Slice,
): Promise<ListPage<PersonSummary>> => pageOfPeople(desk.db, desk.by, search, slice);

const ONE: Slice = { limit: 1, offset: 0 };

export const findApp = async (desk: AdministratorDesk, id: string): Promise<AppSummary | undefined> =>
  (await listApps(desk, { id }, ONE)).rows[0];

export const findCredential = async (desk: AdministratorDesk, id: string): Promise<CredentialRecord | undefined> =>
  (await listCredentials(desk, { id }, ONE)).rows[0];

export const findConsent = async (desk: AdministratorDesk, id: string): Promise<ConsentRecord | undefined> =>
  (await listConsents(desk, { id }, ONE)).rows[0];

export const findPerson = async (desk: AdministratorDesk, id: string): Promise<PersonSummary | undefined> =>
  (await listPeople(desk, { id }, ONE)).rows[0];

/** The names of the organization's websites, by id. */
export const websiteNames = async (desk: AdministratorDesk): Promise<ReadonlyMap<string, string>> =>
  new Map((await namesOfWebsites(desk.db, desk.by)).map(({ id, name }) => [id, name]));

export const endCredential = (desk: AdministratorDesk, id: string): Promise<CredentialRecord | undefined> =>
  revokeCredential(desk.db, id, desk.by);

export const endConsent = (desk: AdministratorDesk, id: string): Promise<ConsentRecord | undefined> =>
  revokeConsent(desk.db, id, desk.by);

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

export const disable = (desk: AdministratorDesk, id: string): Promise<PersonRecord | undefined> =>
  disablePerson(desk.db, id, desk.by);

export const enable = (desk: AdministratorDesk, id: string): Promise<PersonRecord | undefined> =>
  enablePerson(desk.db, id, desk.by);

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

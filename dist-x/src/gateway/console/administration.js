import { revokeCredential } from '../../auth/issue.js';
import { addPerson } from '../../auth/people.js';
import { pageOfApps } from '../../store/administration/apps.js';
import { pageOfConsents, revokeConsent, } from '../../store/administration/consents.js';
import { pageOfCredentials, } from '../../store/administration/credentials.js';
import { disablePerson, enablePerson, pageOfPeople, setRole, } from '../../store/administration/people.js';
import { namesOfWebsites } from '../../store/administration/websites.js';
import { switchTools, UnknownOperations } from '../switches.js';
export { LIST_MAX } from '../../store/administration/administrator.js';
export { ROLES } from '../../store/administration/people.js';
/**
 * What the console can do. Each function calls what the command line calls, under the authority of the desk. A change
 * answers undefined when it was not made: the record is not there, or the person may not make this change now.
 */
export const listApps = (desk, search, slice) => pageOfApps(desk.db, desk.by, search, slice);
export const listCredentials = (desk, search, slice) => pageOfCredentials(desk.db, desk.by, search, slice);
export const listConsents = (desk, search, slice) => pageOfConsents(desk.db, desk.by, search, slice);
export const listPeople = (desk, search, slice) => pageOfPeople(desk.db, desk.by, search, slice);
const ONE = { limit: 1, offset: 0 };
export const findApp = async (desk, id) => (await listApps(desk, { id }, ONE)).rows[0];
export const findCredential = async (desk, id) => (await listCredentials(desk, { id }, ONE)).rows[0];
export const findConsent = async (desk, id) => (await listConsents(desk, { id }, ONE)).rows[0];
export const findPerson = async (desk, id) => (await listPeople(desk, { id }, ONE)).rows[0];
/** The names of the organization's websites, by id. */
export const websiteNames = async (desk) => new Map((await namesOfWebsites(desk.db, desk.by)).map(({ id, name }) => [id, name]));
export const endCredential = (desk, id) => revokeCredential(desk.db, id, desk.by);
export const endConsent = (desk, id) => revokeConsent(desk.db, id, desk.by);
export const invite = (desk, person) => addPerson(desk.db, { ...person, tenant: desk.by.tenant, password: null }, desk.by);
/** Changes the role `was`, which the form has shown. A person who has another role by now stays as they are. */
export const changeRole = (desk, id, role, was) => setRole(desk.db, id, role, desk.by, was);
export const disable = (desk, id) => disablePerson(desk.db, id, desk.by);
export const enable = (desk, id) => enablePerson(desk.db, id, desk.by);
/** Switches one operation off or on for an app. Returns the operations that are off now. */
export async function switchOperation(desk, registry, { app, operation, on }) {
    const change = on ? { off: [], on: [operation] } : { off: [operation], on: [] };
    try {
        return await switchTools(desk.db, registry, { id: app, tenant: desk.by.tenant }, change, desk.by);
    }
    catch (error) {
        if (error instanceof UnknownOperations)
            return undefined;
        throw error;
    }
}
//# sourceMappingURL=administration.js.map
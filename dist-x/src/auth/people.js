import { insertPerson } from '../store/administration/people.js';
import { newId } from './issue.js';
/**
 * Adds a person to an organization. `password` is a hash, or null for a person who signs in at the identity provider.
 * Returns `undefined` if the organization already has a person with this e-mail address, or if the administrator may not
 * add this person.
 */
export const addPerson = (db, person, by) => insertPerson(db, { id: newId('prs'), ...person }, by);
//# sourceMappingURL=people.js.map
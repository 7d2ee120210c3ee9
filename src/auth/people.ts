import type { Administrator } from '../store/administration/administrator.ts';
import { insertPerson, type PersonRecord, type Role } from '../store/administration/people.ts';
import type { Database } from '../store/driver/postgres.ts';
import { newId } from './issue.ts';

/**
 * Adds a person to an organization. `password` is a hash, or null for a person who signs in at the identity provider.
 * Returns `undefined` if the organization already has a person with this e-mail address, or if the administrator may not
 * add this person.
 */
export const addPerson = (
  db: Database,
  person: { tenant: string; email: string; role: Role; password: string | null },
  by?: Administrator,
): Promise<PersonRecord | undefined> => insertPerson(db, { id: newId('prs'), ...person }, by);

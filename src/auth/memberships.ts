import { createHmac } from 'node:crypto';
import type { Database } from '../store/driver/postgres.ts';
import { endMemberships, readMemberships, takeMembership } from '../store/sign-in/memberships.ts';
import { createSession } from '../store/sign-in/sessions.ts';
import { digestOf, newSecret, sameSecret, wellFormed } from './tokens.ts';

/**
 * A session belongs to one organization. When a sign-in proves that a person belongs to several organizations, the
 * person gets a secret that is not yet a session. For each organization, the store has a row under a digest of the
 * secret and a number. The person chooses one row, which becomes the session, and the other rows are deleted.
 *
 * This is the largest number of organizations among which a person can choose.
 */
export const MEMBERSHIPS_MAX = 20;
/** Seconds in which the person must choose. */
const CHOICE_SECONDS = 600;

/** An organization on the page where a person chooses. `token` is what the button sends. */
export interface Organization {
  readonly id: string;
  readonly name: string;
  readonly token: string;
}

const digestsOf = (secret: string): Buffer[] =>
  Array.from({ length: MEMBERSHIPS_MAX }, (_, n) => digestOf(`${secret} ${n}`));

/** Makes the token of a button from the secret in the browser's cookie. So a form of another site cannot choose. */
const tokenOf = (secret: string, person: string): string =>
  createHmac('sha256', secret).update(person).digest('base64url');

/**
 * Returns the secret with which the person can choose. `password` is the stored hash that the given password has
 * matched.
 */
export async function openMemberships(
  db: Database,
  people: readonly { readonly id: string; readonly password?: string }[],
): Promise<string> {
  const secret = newSecret('session');
  const digests = digestsOf(secret);
  for (const [n, { id: person, ...rest }] of people.entries()) {
    const digest = digests[n];
    if (digest) await createSession(db, { digest, person, seconds: CHOICE_SECONDS, ...rest });
  }
  return secret;
}

/** The organizations among which the holder of the secret can choose. Empty for every other text. */
export async function organizationsOf(db: Database, secret: string | undefined): Promise<Organization[]> {
  if (secret === undefined || !wellFormed(secret)) return [];
  const memberships = await readMemberships(db, digestsOf(secret));
  return memberships.map(({ person, organization: name, organization_id: id }) => {
    return { id, name, token: tokenOf(secret, person) };
  });
}

/** Opens the session of the chosen organization. Returns `undefined` if the choice has ended, or the token is wrong. */
export async function chooseOrganization(
  db: Database,
  { secret, token, seconds }: { secret: string | undefined; token: string; seconds: number },
): Promise<{ session: string; person: string; organization_id: string } | undefined> {
  if (secret === undefined || !wellFormed(secret)) return undefined;
  const all = digestsOf(secret);
  const chosen = (await readMemberships(db, all)).find(({ person }) => sameSecret(tokenOf(secret, person), token));
  if (!chosen) return undefined;
  const session = newSecret('session');
  const taken = await takeMembership(db, { from: chosen.digest, all, to: digestOf(session), seconds });
  return taken ? { session, person: chosen.person, organization_id: chosen.organization_id } : undefined;
}

export const forgetMemberships = (db: Database, secret: string): Promise<void> => endMemberships(db, digestsOf(secret));

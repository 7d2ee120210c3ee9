import type { Database } from '../store/driver/postgres.ts';
import { insertLink, readLink, takeLink } from '../store/sign-in/links.ts';
import { type NamedPerson, type OpenedSession, openSession } from './sign-in.ts';
import { digestOf, newSecret, wellFormed } from './tokens.ts';

const LINK_SECONDS = 900;

/** The path of the page that a link opens. The secret is the value of the parameter `link`. */
export const LINK_PATH = '/console/enter';

/** A link that signs a person in to the console once. */
export interface SignInLink {
  readonly url: string;
  readonly until: Date;
}

/** Makes a link. Returns `undefined` when the console does not let the person in. */
export async function makeSignInLink(
  db: Database,
  { person, baseUrl }: { person: string; baseUrl: string },
): Promise<SignInLink | undefined> {
  const secret = newSecret('link');
  const until = await insertLink(db, { digest: digestOf(secret), person, seconds: LINK_SECONDS });
  return until && { url: `${baseUrl}${LINK_PATH}?link=${secret}`, until };
}

/** Whom the link would sign in. Does not use the link up. */
export const holderOfLink = async (
  db: Database,
  link: string,
): Promise<{ email: string; organization: string } | undefined> =>
  wellFormed(link) ? readLink(db, digestOf(link)) : undefined;

/** Uses a link up, and opens a session of its person. `ended`: whose link it was, if the store still knows that. */
export async function signInByLink(
  db: Database,
  link: string,
): Promise<OpenedSession | { readonly ended: readonly NamedPerson[] }> {
  if (!wellFormed(link)) return { ended: [] };
  const taken = await takeLink(db, digestOf(link));
  const session = taken?.works ? await openSession(db, taken.id) : undefined;
  return session ?? { ended: taken ? [taken] : [] };
}

import { createHash } from 'node:crypto';
import { bindSubject, findBySubject, findForSignIn } from '../store/administration/people.ts';
import type { Database } from '../store/driver/postgres.ts';
import {
  type Attempt,
  beginSignIn,
  createSession,
  endSession,
  forgetAttempt,
  rememberSignIn,
  type SignInLimits,
} from '../store/sign-in/sessions.ts';
import { networkOf } from './network.ts';
import { verifyPassword } from './passwords.ts';
import { digestOf, newSecret } from './tokens.ts';

/** Seconds that a session lasts: long enough to read a consent page, and then to read another one. */
export const SESSION_SECONDS = 3600;

/**
 * What a person may do wrong from one address in a quarter of an hour. It is no matter to whoever is at another one. Over all
 * addresses an account has 50, but for those where the person has signed in before (0022_sign_in_places.sql).
 */
const LIMITS: SignInLimits = { window: 900, perAccount: 5, perSource: 20 };

/** `session` is the secret; `person` the id of whose it is. */
export type SignedIn =
  | { readonly session: string; readonly person: string }
  | { readonly refused: 'credentials' }
  | { readonly refused: 'throttled'; readonly retryAfter: number };

/**
 * Signs a person in by e-mail address and password. An address that nobody has, a wrong password, a disabled person and
 * one who may not consent have the same answer after the same work. Throws `service_unavailable` when too many
 * passwords wait to be checked; such an attempt does not count.
 */
export async function signIn(
  db: Database,
  attempt: { tenant: string; email: string; password: string; source: string },
): Promise<SignedIn> {
  const { tenant, password } = attempt;
  const email = emailOf(attempt.email);
  const source = networkOf(attempt.source);
  const begun = await beginSignIn(db, { source, account: accountOf(tenant, email) }, LIMITS);
  if ('wait' in begun) return { refused: 'throttled', retryAfter: begun.wait };
  const session = await verified(db, { tenant, email, password, source }).catch((error: unknown) =>
    taken(db, begun, error),
  );
  if (session === undefined) return { refused: 'credentials' };
  await rememberSignIn(db, begun);
  return session;
}

/** An attempt that came to nothing by no fault of the person is taken back; the error goes on. */
async function taken(db: Database, begun: Attempt, error: unknown): Promise<never> {
  // Where the store is what failed, the attempt stays: it counts for a quarter of an hour.
  await forgetAttempt(db, begun).catch(() => undefined);
  throw error;
}

async function verified(
  db: Database,
  { tenant, email, password, source }: { tenant: string; email: string; password: string; source: string },
): Promise<Session | undefined> {
  const person = await findForSignIn(db, { tenant, email });
  const stored = person?.password ?? null;
  const right = await verifyPassword(password, stored, source);
  if (!right || stored === null || !person?.may_consent) return undefined;
  return openSession(db, person.id, stored);
}

/** How somebody is known to the identity provider; `email` only where the provider has verified it. */
export interface Identity {
  readonly subject: string;
  readonly email: string | undefined;
}

/**
 * Signs in whom the identity provider has vouched for: the person who is bound to the subject, else the one with the
 * verified e-mail address, who is bound to it from then on.
 */
export async function signInWith(
  db: Database,
  { tenant, subject, email }: Identity & { tenant: string },
): Promise<Session | { refused: 'credentials' }> {
  const known = await findBySubject(db, { tenant, subject });
  const person =
    known ?? (email === undefined ? undefined : await bindSubject(db, { tenant, subject, email: emailOf(email) }));
  const session = person === undefined ? undefined : await openSession(db, person);
  return session ?? { refused: 'credentials' };
}

/** Ends a session and says whose it was; one that is malformed or unknown is no error, and nobody's. */
export const signOut = (db: Database, session: string): Promise<string | undefined> =>
  endSession(db, digestOf(session));

type Session = Extract<SignedIn, { session: string }>;

async function openSession(db: Database, person: string, password?: string): Promise<Session | undefined> {
  const session = newSecret('session');
  const digest = digestOf(session);
  const made = await createSession(db, {
    digest,
    person,
    seconds: SESSION_SECONDS,
    ...(password !== undefined && { password }),
  });
  return made ? { session, person } : undefined;
}

const EMAIL_MAX = 320;

/** An e-mail address as it is stored; the empty one, which nobody has, for what can be no address. */
export function emailOf(given: string): string {
  const email = given.trim().normalize('NFC').toLowerCase();
  return email.length <= EMAIL_MAX && /^[^\s\p{Cc}\p{Cf}@]+@[^\s\p{Cc}\p{Cf}@]+$/u.test(email) && email.isWellFormed()
    ? email
    : '';
}

const accountOf = (tenant: string, email: string): Buffer => createHash('sha256').update(`${tenant} ${email}`).digest();

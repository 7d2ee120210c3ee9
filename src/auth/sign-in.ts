import { createHash } from 'node:crypto';
import { networkOf } from '../flow/network.ts';
import { bindSubject, findBySubject, findCandidates } from '../store/administration/people.ts';
import type { Database } from '../store/driver/postgres.ts';
import {
  type Attempt,
  beginSignIn,
  createSession,
  endSession,
  forgetAttempt,
  forgetFailures,
  rememberSignIn,
  type SignInLimits,
} from '../store/sign-in/sessions.ts';
import { forgetMemberships, openMemberships } from './memberships.ts';
import { patience, verifyPassword } from './passwords.ts';
import { digestOf, newSecret } from './tokens.ts';

/** The lifetime of a session in seconds. In this time, a person can read two consent pages, one after the other. */
export const SESSION_SECONDS = 3600;

/**
 * Limits for failed sign-ins within `window` seconds. `perAccount` counts the failures of one account from one network.
 * `perSource` counts all failures from one network. In addition, an account may have 50 failures from all networks
 * together. This last limit does not apply to a network where the account has signed in before (03_sign_in.sql).
 */
const LIMITS: SignInLimits = { window: 900, perAccount: 5, perSource: 20 };

/** A new session. `session` is its secret. `person` is the id of the signed-in person. */
export interface OpenedSession {
  readonly session: string;
  readonly person: string;
  /** The public id of the person's organization. */
  readonly organization_id: string;
}

/**
 * A person of several organizations must first choose one with the secret `session` (memberships.ts). `person` is then
 * the id of the oldest record.
 */
type Session = OpenedSession | { readonly session: string; readonly person: string; readonly chooses: true };

export type SignedIn =
  | Session
  | { readonly refused: 'credentials' }
  | { readonly refused: 'throttled'; readonly retryAfter: number }
  /** The person is proved, but the organization lives in another cell. `to` is the base URL there. */
  | { readonly refused: 'organization_moved'; readonly to: string };

/** An owner or admin with the e-mail address of a failed sign-in. */
export interface NamedPerson {
  readonly id: string;
  readonly organization_id: string;
}

/** Whom a sign-in form names. */
export interface NamedAs {
  readonly tenant: string | null;
  readonly email: string;
  readonly organization?: string | undefined;
  /** Approvers can be meant, too: the form is that of the console. */
  readonly approvers?: boolean;
}

/**
 * The number of passwords that a sign-in without a known organization verifies. A refusal always takes this number, so
 * the time does not tell whether and in how many organizations an e-mail address is known. The number bounds the cost
 * of an attempt to 0.9 s of a core. A person of more organizations names one.
 */
const VERIFICATIONS = 3;
/** This word stands for all organizations together where an account needs a tenant. No tenant has this name. */
const ANY = 'any';

/**
 * Signs a person in by e-mail address and password. Every refusal gives the same answer and takes the same amount of
 * work. So a caller cannot find out the reason of a refusal. Possible reasons are an unknown address, a wrong password,
 * a disabled person, or a person who may not consent.
 *
 * `tenant` is the organization to which the person must belong. With null, the person can belong to any organization.
 * `organization` is then an id, an external_id or a name, and limits the search. The attempt counts once for the e-mail
 * address, whatever organizations know the address. If the password is right in several organizations, the person
 * chooses among these organizations.
 *
 * Throws `service_unavailable` if too many passwords wait to be checked. Then the attempt counts as a failure only if the
 * password was wrong for one of the people already. Otherwise a busy gateway would allow guesses without limit.
 */
export async function signIn(
  db: Database,
  attempt: NamedAs & {
    password: string;
    source: string;
    /** Gets whom a refused attempt has named, for the audit records. The answer does not tell it. */
    refused?: (named: readonly NamedPerson[]) => void;
  },
): Promise<SignedIn> {
  const { tenant, password } = attempt;
  const source = networkOf(attempt.source);
  const account = accountOf(tenant ?? ANY, emailOf(attempt.email));
  const recorded = await beginSignIn(db, { source, account }, LIMITS);
  if ('wait' in recorded) return { refused: 'throttled', retryAfter: recorded.wait };
  const most = mostOf(tenant);
  const until = patience();
  let named: readonly NamedPerson[] = [];
  let wrong = false;
  const open = async (): Promise<SignInDone> => {
    const candidates = await candidatesOf(db, attempt);
    named = candidates;
    const right: typeof candidates = [];
    for (let n = 0; n < most; n++) {
      const candidate = candidates[n];
      if (!candidate && right.length > 0) break;
      const matches = await verifyPassword(password, candidate?.password ?? null, source, until);
      if (candidate && matches) right.push(candidate);
      wrong = right.length === 0;
    }
    return openFor(db, right);
  };
  const session = await open().catch((error: unknown) => {
    if (!wrong) return withdraw(db, recorded, error);
    attempt.refused?.(named);
    throw error;
  });
  if (session === undefined) {
    attempt.refused?.(named);
    return { refused: 'credentials' };
  }
  if ('refused' in session) {
    await forgetAttempt(db, recorded);
    return session;
  }
  // A person with the password of one organization must not guess the password of another organization without limit.
  await rememberSignIn(db, recorded, { forgetFailures: tenant !== null });
  return session;
}

const mostOf = (tenant: string | null): number => (tenant === null ? VERIFICATIONS : 1);

const candidatesOf = (db: Database, { tenant, email, organization, approvers = false }: NamedAs) =>
  findCandidates(db, { tenant, email: emailOf(email), organization, approvers, most: mostOf(tenant) });

/** The people with this e-mail address and a password who may sign in. For the audit record of a locked account. */
export const peopleNamed: (db: Database, asked: NamedAs) => Promise<readonly NamedPerson[]> = candidatesOf;

/**
 * Deletes the record of a sign-in attempt that failed because of the gateway, not because of the person. Then throws
 * the error again.
 */
async function withdraw(db: Database, recorded: Attempt, error: unknown): Promise<never> {
  // If the store itself fails, the record of the attempt cannot be deleted. The attempt then counts as failed for 15
  // minutes.
  await forgetAttempt(db, recorded).catch(() => undefined);
  throw error;
}

/** `email` is present only if the identity provider has verified the address. */
export interface Identity {
  readonly subject: string;
  readonly email: string | undefined;
}

/**
 * Signs in a person whom the identity provider has identified. First looks for the person who is already bound to the
 * provider's subject. If nobody is bound to the subject, looks for the person with the verified e-mail address, and
 * binds the subject to this person. If `tenant` is null, does so for every organization, and the person chooses among
 * the found organizations.
 */
export async function signInWith(
  db: Database,
  { tenant, subject, email, approvers = false }: Identity & { tenant: string | null; approvers?: boolean },
): Promise<Exclude<SignedIn, { refused: 'throttled' }>> {
  const verified = email === undefined ? null : emailOf(email);
  const known = await findBySubject(db, { tenant, subject, email: verified, approvers });
  const unbound = verified !== null && (tenant === null || known.length === 0);
  const bound = unbound ? await bindSubject(db, { tenant, subject, email: verified, approvers }) : [];
  return (await openFor(db, [...known, ...bound])) ?? { refused: 'credentials' };
}

/** Lets a person sign in again before the limit of failed sign-ins ends. Returns the number of forgotten failures. */
export async function unlock(db: Database, { tenant, email }: { tenant: string; email: string }): Promise<number> {
  const here = await forgetFailures(db, accountOf(tenant, email));
  return here + (await forgetFailures(db, accountOf(ANY, email)));
}

export async function signOut(
  db: Database,
  session: string,
): Promise<Pick<OpenedSession, 'person' | 'organization_id'> | undefined> {
  await forgetMemberships(db, session);
  return endSession(db, digestOf(session));
}

type SignInDone = Session | Extract<SignedIn, { refused: 'organization_moved' }> | undefined;

/**
 * Opens the session of the only person. For several people, opens the choice among their organizations. An organization
 * that has moved to another cell counts only if there is no other. `moved_to` is its base URL there.
 */
async function openFor(
  db: Database,
  people: readonly { readonly id: string; readonly password?: string; readonly moved_to?: string | null }[],
): Promise<SignInDone> {
  const here = people.filter(({ moved_to }) => moved_to == null);
  const [first] = here;
  if (first && here.length > 1) return { session: await openMemberships(db, here), person: first.id, chooses: true };
  const opened = first && (await openSession(db, first.id, first.password));
  const to = people.find(({ moved_to }) => moved_to != null)?.moved_to;
  return opened ?? (to == null ? undefined : { refused: 'organization_moved', to });
}

export async function openSession(db: Database, person: string, password?: string): Promise<OpenedSession | undefined> {
  const session = newSecret('session');
  const digest = digestOf(session);
  const organization_id = await createSession(db, {
    digest,
    person,
    seconds: SESSION_SECONDS,
    ...(password !== undefined && { password }),
  });
  return organization_id === undefined ? undefined : { session, person, organization_id };
}

const EMAIL_MAX = 320;

/**
 * Returns an e-mail address in the form in which the store keeps it. Returns an empty string if the text is not an
 * e-mail address. No person has an empty address. An address with a leading hyphen would be an option in a command line.
 */
export function emailOf(given: string): string {
  const email = given.trim().normalize('NFC').toLowerCase();
  return email.length <= EMAIL_MAX &&
    /^(?!-)[^\s\p{Cc}\p{Cf}@]+@[^\s\p{Cc}\p{Cf}@]+$/u.test(email) &&
    email.isWellFormed()
    ? email
    : '';
}

const accountOf = (tenant: string, email: string): Buffer => createHash('sha256').update(`${tenant} ${email}`).digest();

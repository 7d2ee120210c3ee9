import type { OutgoingHttpHeaders } from 'node:http';
import { chooseOrganization, organizationsOf } from '../../../auth/memberships.ts';
import type { Parameters } from '../../../auth/oauth/parameters.ts';
import { requireSameOrigin } from '../../../auth/oauth/rules/same-origin.ts';
import { requireEmptyForm, requireSignInForm } from '../../../auth/oauth/rules/sign-in-form.ts';
import { type NamedPerson, SESSION_SECONDS, type SignedIn, signIn, signOut } from '../../../auth/sign-in.ts';
import { clearedSession, sessionCookie } from './cookies.ts';
import { tellLocked, tellPassed, tellRefused } from './told.ts';
import { type OrganizationsView, type OwnPage, organizationsPage, type SignInView, signInPage } from './views.ts';
import type { Visit } from './visit.ts';

/** The contents of a sign-in form. After a refusal, the form shows the e-mail address again and says the problem. */
export interface Given {
  readonly email: string;
  readonly problem?: string;
  readonly locked?: boolean;
}

/** A page that asks for a sign-in: the consent page, or the page of a record. */
interface Asking {
  /** The organization that the person must belong to. Null means any organization. */
  readonly tenant: string | null;
  /** Approvers may sign in, too. */
  readonly approvers?: boolean;
  /** The address to which the browser goes after the sign-in. */
  readonly onward: string;
  ask(status: number, given: Given, headers?: OutgoingHttpHeaders): void;
}

/** Answers a sign-in form whose fields the rules have checked. */
export async function tryToSignIn(
  visit: Visit,
  form: Parameters | undefined,
  { tenant, approvers = false, onward, ask }: Asking,
): Promise<void> {
  const [email = ''] = form?.get('email') ?? [];
  const [password = ''] = form?.get('password') ?? [];
  const { services, wire } = visit;
  const enter = (signedIn: Extract<SignedIn, { session: string }>): void => {
    visit.record.audit = { person: signedIn.person };
    if (!('chooses' in signedIn)) tellPassed(visit, signedIn);
    visit.redirect(onward, { 'Set-Cookie': sessionCookie(services.baseUrl, signedIn.session, SESSION_SECONDS) });
  };
  const [token] = form?.get('choose') ?? [];
  if (token !== undefined) {
    const choice = { secret: wire.session, token, seconds: SESSION_SECONDS };
    const chosen = await chooseOrganization(services.db, choice);
    if (chosen) return enter(chosen);
    visit.record.code = 'session_ended';
    ask(403, { email: '', problem: 'Your sign-in has ended. Sign in again.' });
    return;
  }
  const organization = form?.get('organization')?.[0]?.trim() || undefined;
  const refused = (named: readonly NamedPerson[]): void => tellRefused(visit, named, 'credentials');
  const asked = { tenant, organization, email, approvers };
  const done = await signIn(services.db, { ...asked, password, source: wire.source, refused });
  if ('session' in done) return enter(done);
  visit.record.code = done.refused;
  if (done.refused === 'organization_moved' && done.to === services.baseUrl) {
    // A move to this gateway is about to end.
    const problem = 'Your organization is moving to this address. Try again in a minute.';
    ask(503, { email, problem }, { 'Retry-After': '60' });
  } else if (done.refused === 'organization_moved') {
    ask(421, { email, problem: `Your organization has moved. Sign in at ${done.to}.` });
  } else if (done.refused === 'throttled') {
    await tellLocked(visit, asked);
    const minutes = Math.ceil(done.retryAfter / 60);
    const wait = minutes === 1 ? 'a minute' : `${minutes} minutes`;
    const problem = `Too many sign-in attempts have failed. Wait ${wait}, then try again. The operator of this gateway can unlock you at once.`;
    ask(429, { email, problem, locked: true }, { 'Retry-After': String(done.retryAfter) });
  } else {
    const who = approvers ? 'No owner, admin or approver' : 'No owner or admin';
    const problem = `${who}${tenant === null ? '' : ' of this organization'} has this e-mail and password. Check the e-mail and the password, then try again.`;
    ask(403, { email, problem });
  }
}

/** Ends the session of the browser, and redirects the browser to `onward`. */
export async function leave(visit: Visit, onward: string): Promise<void> {
  const { session } = visit.wire;
  const ended = session === undefined ? undefined : await signOut(visit.services.db, session);
  if (ended === undefined) visit.record.does = undefined;
  else {
    visit.record.audit = { person: ended.person };
    tellPassed(visit, ended);
  }
  visit.redirect(onward, { 'Set-Cookie': clearedSession(visit.services.baseUrl) });
}

/** The way into pages of the gateway itself, and out of them. */
export interface OwnDoor {
  readonly own: OwnPage;
  /** The path of the page. The forms of the door have paths below it. */
  readonly base: string;
  /** The path to which the browser goes after the sign-in. */
  readonly onward: string;
  readonly approvers?: boolean;
}

interface DoorView extends Partial<Given>, Pick<SignInView, 'note'> {
  readonly status?: number;
  /** The organizations of a person who has signed in and must choose one. */
  readonly organizations?: OrganizationsView['organizations'];
}

/** Shows the sign-in, or the choice of an organization. */
export function showDoor(
  visit: Visit,
  { own, base, onward }: OwnDoor,
  { status = 200, email = '', organizations = [], ...asked }: DoorView,
  headers = {},
): void {
  const to = onward === base ? '' : `?to=${encodeURIComponent(onward)}`;
  const action = `${base}/sign-in${to}`;
  const { identity: name } = visit.services;
  const identity = name === undefined ? {} : { identity: { action: `${base}/identity${to}`, name } };
  const text =
    organizations.length > 0
      ? organizationsPage({ action, signOut: `${base}/sign-out`, own, organizations })
      : signInPage({ action, own, email, ...asked, ...identity });
  visit.page(status, text, undefined, headers);
}

/** Shows the sign-in. A person of several organizations who has just signed in gets the choice of an organization. */
export async function askAtDoor(visit: Visit, door: OwnDoor): Promise<void> {
  showDoor(visit, door, { organizations: await organizationsOf(visit.services.db, visit.wire.session) });
}

/** Takes the sign-in form of a door, and sends the person on or shows the form again. */
export async function enterDoor(visit: Visit, doorOf: (visit: Visit) => OwnDoor): Promise<void> {
  visit.record.does = 'authentication';
  const form = await visit.form();
  requireSameOrigin(visit.wire, visit.services.baseUrl);
  requireSignInForm(form, true);
  const door = doorOf(visit);
  const ask: Asking['ask'] = (status, given, headers) => showDoor(visit, door, { status, ...given }, headers);
  await tryToSignIn(visit, form, { ...door, tenant: null, ask });
}

/** Takes the sign-out form of a door. */
export async function leaveDoor(visit: Visit, onward: string): Promise<void> {
  visit.record.does = 'revocation';
  const form = await visit.form();
  requireSameOrigin(visit.wire, visit.services.baseUrl);
  requireEmptyForm(form);
  await leave(visit, onward);
}

import type { IdentityProvider } from '../../auth/identity-provider.ts';
import { requireSameOrigin } from '../../auth/oauth/rules/same-origin.ts';
import { requireFields } from '../../auth/oauth/rules/sign-in-form.ts';
import { SESSION_SECONDS } from '../../auth/sign-in.ts';
import { holderOfLink, LINK_PATH, signInByLink } from '../../auth/sign-in-links.ts';
import { isConsolePage } from '../../gateway/console/paths.ts';
import { sessionCookie } from '../http/pages/cookies.ts';
import { beginIdentity } from '../http/pages/identity.ts';
import type { Route } from '../http/pages/routes.ts';
import { enterDoor, leaveDoor, type OwnDoor } from '../http/pages/sign-in.ts';
import { tellPassed, tellRefused } from '../http/pages/told.ts';
import { CONSOLE } from '../http/pages/views.ts';
import type { Visit } from '../http/pages/visit.ts';
import { linkEndedPage, linkPage } from './link.ts';
import { ListQuery } from './query.ts';

type GuardedRoute = (method: Route['method'], operation: string, show: (visit: Visit) => Promise<void>) => Route;

/** The ways into the console and out of it. */
export const doors = (guarded: GuardedRoute, provider: IdentityProvider | undefined): [string, Route][] => [
  ['/console/sign-in', guarded('POST', 'console_sign_in', (visit) => enterDoor(visit, doorAsked))],
  ['/console/sign-out', guarded('POST', 'console_sign_out', (visit) => leaveDoor(visit, '/console'))],
  ...(provider
    ? [
        [
          '/console/identity',
          guarded('GET', 'oauth_identity', (visit) => beginIdentity(visit, provider, doorAsked(visit).onward)),
        ] as [string, Route],
      ]
    : []),
  [LINK_PATH, guarded('GET', 'console_link', showLink)],
  [`${LINK_PATH}/use`, guarded('POST', 'console_link', useLink)],
];

/** The door of the console. The browser goes to the page `to` afterwards. */
export const doorTo = (to = '/console'): OwnDoor => ({
  own: CONSOLE,
  base: '/console',
  onward: isConsolePage(to) ? to : '/console',
  approvers: true,
});

const doorAsked = (visit: Visit): OwnDoor => doorTo(new ListQuery(visit.query).text('to'));

/**
 * Shows the page of a one-time link. Chat programs, mail scanners and browsers fetch an address before anybody clicks,
 * so the GET signs nobody in and does not use the link up. The button does.
 */
async function showLink(visit: Visit): Promise<void> {
  const link = new ListQuery(visit.query).text('link') ?? '';
  const holder = await holderOfLink(visit.services.db, link);
  if (!holder) return showLinkEnded(visit);
  visit.page(200, linkPage({ ...holder, action: `${LINK_PATH}/use`, link }));
}

async function useLink(visit: Visit): Promise<void> {
  visit.record.does = 'authentication';
  const form = await visit.form();
  requireSameOrigin(visit.wire, visit.services.baseUrl);
  requireFields(form, ['link']);
  const signedIn = await signInByLink(visit.services.db, form?.get('link')?.[0] ?? '');
  if ('ended' in signedIn) {
    tellRefused(visit, signedIn.ended, 'credentials');
    return showLinkEnded(visit);
  }
  visit.record.audit = { person: signedIn.person, by: 'link' };
  tellPassed(visit, signedIn);
  visit.redirect('/console', {
    'Set-Cookie': sessionCookie(visit.services.baseUrl, signedIn.session, SESSION_SECONDS),
  });
}

function showLinkEnded(visit: Visit): void {
  visit.record.code = 'credentials';
  visit.page(403, linkEndedPage());
}

import type { IdentityProvider } from '../../auth/identity-provider.ts';
import { isRecordId, openRecordPages } from '../../gateway/record-page.ts';
import type { ClientAddress } from '../http/client-address.ts';
import { exchangeOf } from '../http/exchange.ts';
import { beginIdentity } from '../http/pages/identity.ts';
import { problems } from '../http/pages/problem.ts';
import { pageRoutes, type Route, routesHandler, styleRoute } from '../http/pages/routes.ts';
import { askAtDoor, enterDoor, leaveDoor, type OwnDoor } from '../http/pages/sign-in.ts';
import { RECORD } from '../http/pages/views.ts';
import type { PageServices, Visit } from '../http/pages/visit.ts';
import type { RequestHandler } from '../http/records.ts';
import { missingPage, recordPage, STYLE } from './page.ts';

const { showProblem, showRefusal } = problems(RECORD.advice);

type ReadRecord = ReturnType<typeof openRecordPages>;

const PATH = /^\/c\/([^/]+?)(?:\/(sign-in|sign-out|identity))?$/;

/** The pages of records, at /c/<id>. A signed-in person of the organization that has the record reads the record. */
export function recordSurface(
  { baseUrl, db }: Pick<PageServices, 'baseUrl' | 'db'>,
  source: ClientAddress,
  provider?: IdentityProvider,
): RequestHandler {
  const page = pageRoutes({ baseUrl, db, identity: provider?.name });
  const read = openRecordPages(db);
  const style = styleRoute('record/record.css');
  const missing = page('GET', 'record', showMissing);
  const guarded = (method: Route['method'], operation: string, show: (visit: Visit) => Promise<void>): Route =>
    page(method, operation, (visit) => show(visit).catch((error: unknown) => showRefusal(visit, error)));
  /** Returns the route of a path below `/c/`. A path with a malformed id gets the route of the 404 page. */
  const routeOf = (path: string): Route | undefined => {
    if (path === STYLE) return style;
    const [, id = '', leg] = PATH.exec(path) ?? [];
    if (!isRecordId(id)) return path.startsWith('/c/') ? missing : undefined;
    if (leg === undefined) return guarded('GET', 'record', (visit) => showRecord(visit, id, read));
    if (leg === 'sign-in') return guarded('POST', 'record_sign_in', (visit) => enterDoor(visit, () => doorOf(id)));
    if (leg === 'sign-out') return guarded('POST', 'record_sign_out', (visit) => leaveDoor(visit, `/c/${id}`));
    return provider ? guarded('GET', 'oauth_identity', (visit) => beginIdentity(visit, provider, `/c/${id}`)) : missing;
  };
  return routesHandler('record', routeOf, { baseUrl }, source);
}

const doorOf = (id: string): OwnDoor => ({ own: RECORD, base: `/c/${id}`, onward: `/c/${id}` });

/** Answers a request for an address that no record can have. */
function showMissing(visit: Visit): void {
  visit.record.code = 'not_found';
  visit.page(404, missingPage(undefined));
}

async function showRecord(visit: Visit, id: string, read: ReadRecord): Promise<void> {
  const { record, wire } = visit;
  const page = await read({ id, session: wire.session, source: wire.source });
  if (page.state === 'signed_out') return askAtDoor(visit, doorOf(id));
  const signOut = `/c/${id}/sign-out`;
  const { viewer } = page;
  record.does = 'view';
  record.audit = { person: viewer.authority.personId, ...(page.state === 'shown' && { record: id }) };
  exchangeOf(visit.request)?.report({
    actor: { organizationId: viewer.organizationId, personId: viewer.authority.personId },
    operation: 'record',
    websiteId: viewer.website?.id,
    targets: [id],
    ...{ outcome: 'ok', status: 200, units: 0 }, // the end of the request says more (http/audited.ts)
  });
  if (page.state === 'throttled') {
    record.code = 'quota_exceeded';
    const sentence = 'You have opened too many records in a short time. Wait a minute, then try again.';
    showProblem(visit, 429, { title: 'Too many records', sentence }, page.retryAfter);
  } else if (page.state === 'missing') {
    record.code = 'not_found';
    visit.page(404, missingPage({ viewer, signOut }));
  } else visit.page(200, recordPage({ id, viewer, signOut, record: page.record }));
}

import { createHmac } from 'node:crypto';
import type { IdentityProvider } from '../../auth/identity-provider.ts';
import { LOOPBACK } from '../../auth/oauth/clients/document.ts';
import { OAuthError } from '../../auth/oauth/errors.ts';
import { type Parameters, single } from '../../auth/oauth/parameters.ts';
import { requireSameOrigin } from '../../auth/oauth/rules/same-origin.ts';
import { sameSecret } from '../../auth/tokens.ts';
import type { AuditDraft, Books, CallReport } from '../../core/audit.ts';
import { asFailure } from '../../gateway/call.ts';
import {
  type AdministratorRecord,
  type DeskTools,
  type DraftCall,
  openDesks,
  recordingDesk,
} from '../../gateway/console/desk.ts';
import type { ClientAddress } from '../http/client-address.ts';
import { type Exchange, exchangeOf } from '../http/exchange.ts';
import { html } from '../http/html.ts';
import { problems } from '../http/pages/problem.ts';
import { pageRoutes, type Route, routesHandler, styleRoute } from '../http/pages/routes.ts';
import { askAtDoor, showDoor } from '../http/pages/sign-in.ts';
import { CONSOLE } from '../http/pages/views.ts';
import type { PageServices, Visit } from '../http/pages/visit.ts';
import type { RequestHandler } from '../http/records.ts';
import { send } from '../http/reply.ts';
import { pathOf } from '../http/request.ts';
import { doors, doorTo } from './doors.ts';
import { fileOf } from './export.ts';
import { APPROVALS, framed, missing, STYLE, unchanged } from './frame.ts';
import type { Asked, ChangeDone, ConsoleAct, ConsolePage, Exported, ShownPage } from './page.ts';
import { ACTS, PAGES } from './pages.ts';
import { personCommand } from './parts.ts';
import { ListQuery } from './query.ts';

const { showProblem, showRefusal } = problems(CONSOLE.advice);

interface Enter extends Pick<Asked, 'registry'> {
  /** Undefined in tests without audit records. */
  readonly books: Pick<Books, 'stuck' | 'draft'> | undefined;
  readonly desk: ReturnType<typeof openDesks>;
}

/**
 * The console, at /console. Owners and admins of an organization look after its apps, consents and people. Approvers decide
 * about writes that wait.
 */
export function consoleSurface(
  {
    baseUrl,
    db,
    slow,
    registry,
    tools,
    books,
  }: Pick<PageServices, 'baseUrl' | 'db'> &
    Pick<Asked, 'registry'> &
    Pick<Asked['desk'], 'slow'> & { readonly tools: DeskTools; readonly books?: Enter['books'] },
  source: ClientAddress,
  provider?: IdentityProvider,
): RequestHandler {
  const page = pageRoutes({ baseUrl, db, identity: provider?.name });
  const enter: Enter = { desk: openDesks({ db, slow }, tools), registry, books };
  const guarded = (
    method: Route['method'],
    operation: string,
    show: (visit: Visit) => Promise<void>,
    back = '/console',
  ): Route =>
    page(
      method,
      operation,
      async (visit) => {
        const elsewhere = method === 'GET' ? ownAddress(visit) : undefined;
        if (elsewhere !== undefined) return visit.redirect(elsewhere);
        await show(visit).catch((error: unknown) => showRefusal(visit, error));
      },
      method === 'POST' ? (visit) => showProblem(visit, 405, { ...REOPENED, back }, undefined, ONLY_POST) : undefined,
    );
  const fixed = new Map<string, Route>([[STYLE, styleRoute('console/console.css')], ...doors(guarded, provider)]);
  const routeOf = (path: string): Route | undefined => {
    const own = fixed.get(path);
    if (own) return own;
    for (const one of PAGES) {
      const found = one.path.exec(path);
      if (found) return guarded('GET', one.operation, (visit) => show(visit, enter, { one, path, found }));
    }
    for (const one of ACTS) {
      const found = one.path.exec(path);
      if (!found) continue;
      const back = one.from(found.slice(1));
      return guarded('POST', one.operation, (visit) => change(visit, enter, { one, path, found }), back);
    }
    if (path === '/console/') return guarded('GET', 'console_overview', async (visit) => visit.redirect('/console'));
    if (path !== '/console' && !path.startsWith('/console/')) return undefined;
    const one: ConsolePage = { path: /^/, operation: 'console_missing', show: async () => undefined };
    return guarded('GET', one.operation, (visit) => show(visit, enter, { one, path, found: [] }));
  };
  return routesHandler('console', routeOf, { baseUrl }, source);
}

/** After a page that answered a form, the address in the browser is that of the form. */
const REOPENED = {
  title: 'This address takes a form',
  sentence: 'The browser has opened the address of a form without the form.',
};
const ONLY_POST = { Allow: 'POST' };

/**
 * The same page at the base URL, if the browser came by another loopback name of the same port. Its forms would be
 * refused, because their origin differs. Another port can be that of a proxy that changes the host, so it stays.
 */
function ownAddress({ request, query, services: { baseUrl } }: Visit): string | undefined {
  const [own, host] = [new URL(baseUrl), `http://${request.headers.host ?? ''}`];
  if (!LOOPBACK.includes(own.hostname) || !URL.canParse(host)) return undefined;
  const { hostname, port } = new URL(host);
  if (hostname === own.hostname || port !== own.port || !LOOPBACK.includes(hostname)) return undefined;
  return `${own.origin}${pathOf(request)}${query === '' ? '' : `?${query}`}`;
}

interface Matched<One> {
  readonly one: One;
  readonly path: string;
  /** The match of the path: the whole path, then the groups. */
  readonly found: readonly string[];
}

async function show(visit: Visit, enter: Enter, { one, path, found }: Matched<ConsolePage>): Promise<void> {
  const entered = await enter.desk(visit.wire);
  if (entered.state === 'signed_out') return askAtDoor(visit, doorTo(path));
  if (entered.state === 'throttled') return showThrottled(visit, entered.retryAfter);
  if (entered.person.role === 'operator' && path === '/console') return visit.redirect(APPROVALS);
  const asked = askedOf(visit, { ...entered, registry: enter.registry }, found);
  const call = { operation: one.operation, targets: found.slice(1) };
  const shown = opens(one, entered.person)
    ? await one.show(asked).catch((error: unknown) => tellFailed(visit, entered.person, call, error))
    : undefined;
  tell(visit, entered.person, {
    ...call,
    operation: shown && 'rows' in shown ? `${one.operation}_export` : one.operation,
    outcome: shown ? 'ok' : 'not_found',
  });
  if (shown && 'rows' in shown) return sendFile(visit, entered.person, shown);
  if (!shown) visit.record.code = 'not_found';
  visit.record.audit = { person: entered.person.id };
  answer(visit, path, entered.person, shown ?? missing(), asked.query.text('done'));
}

/**
 * Answers the form of a change. Nothing is changed without the session of an owner or admin who has signed in a short
 * time ago, and without the token of a form that the gateway has shown in this session for this change. The statement
 * of the change proves session, role and time again.
 */
async function change(visit: Visit, enter: Enter, { one, path, found }: Matched<ConsoleAct>): Promise<void> {
  visit.record.does = 'administration';
  const form = await visit.form();
  const from = one.from(found.slice(1));
  const entered = await enter.desk(visit.wire);
  try {
    requireSameOrigin(visit.wire, visit.services.baseUrl);
  } catch (error) {
    if (entered.state !== 'entered') throw error;
    tellFailed(visit, entered.person, { operation: one.operation, targets: found.slice(1) }, error);
  }
  if (entered.state === 'throttled') return showThrottled(visit, entered.retryAfter);
  if (entered.state === 'signed_out') {
    visit.record.code = 'session_ended';
    return showDoor(visit, doorTo(from), { status: 403, note: `${NOTHING} Your sign-in has ended.` });
  }
  const { person } = entered;
  visit.record.audit = { person: person.id };
  const refused = { operation: one.operation, targets: found.slice(1), outcome: 'not_permitted' };
  if (!person.fresh) {
    tell(visit, person, refused);
    visit.record.code = 'session_ended';
    return showDoor(visit, doorTo(from), {
      status: 403,
      note: html`${NOTHING} A change needs a sign-in of the last 15 minutes. Without a password, ask the operator for a
link: <code>${personCommand('sign-in-link', person.id)}</code>`,
    });
  }
  if (enter.books?.stuck) {
    visit.record.code = 'service_unavailable';
    return showProblem(visit, 503, { title: 'The gateway cannot change anything now', sentence: UNRECORDED }, 5);
  }
  let draft: AuditDraft | undefined;
  const draftOf = (
    books: NonNullable<Enter['books']>,
    exchange: Exchange,
    ids: readonly string[],
    more?: DraftCall,
  ): AuditDraft => {
    const targets = found.length > 1 ? found.slice(1) : ids.slice(0, 1);
    const call = { operation: one.operation, targets, outcome: 'ok', status: one.shows ? 200 : 303, ...more };
    draft = books.draft(exchange.origin, reportOf(person, call), exchange.ms);
    return draft;
  };
  const run = async (): Promise<ChangeDone | ShownPage | undefined> => {
    requireForm(form, one, formToken(visit, path));
    if (!opens(one, person)) return undefined;
    const exchange = exchangeOf(visit.request)?.audited;
    const { books, registry } = enter;
    const desk = books && exchange && recordingDesk(entered.desk, (...named) => draftOf(books, exchange, ...named));
    return one.run(askedOf(visit, { desk: desk ?? entered.desk, person, registry }, found), form);
  };
  const done = await run().catch((error: unknown) => tellFailed(visit, person, refused, error));
  if (done && 'target' in done) return answerDone(visit, one, person, done, draft);
  visit.record.code = done ? 'invalid_request' : 'not_permitted';
  tell(visit, person, { ...refused, outcome: visit.record.code });
  // The authority can have ended since it was checked. The person then reads the sign-in, as before the change.
  const still = await enter.desk(visit.wire, false);
  if (still.state === 'signed_out' || (still.state === 'entered' && !still.person.fresh)) {
    visit.record.code = 'session_ended';
    return showDoor(visit, doorTo(from), { status: 403, note: NOTHING });
  }
  answer(visit, from, person, done ?? unchanged());
}

/** The console lets in people with the role operator only as approvers. Their statements prove that again. */
const opens = ({ approvers }: ConsolePage | ConsoleAct, { role }: AdministratorRecord): boolean =>
  approvers === true || role !== 'operator';

const NOTHING = 'Nothing was changed.';
const UNRECORDED = `${NOTHING} The record of the change could not be written. Try again in a moment.`;

type ToldCall = Pick<CallReport, 'operation' | 'targets' | 'outcome' | 'inserted'> &
  Partial<Pick<CallReport, 'status' | 'websiteId' | 'operationId'>>;

/** It has the ids in the address, never a value of a form. */
const reportOf = ({ organization_id, id }: AdministratorRecord, call: ToldCall): CallReport => ({
  actor: { organizationId: organization_id, personId: id },
  ...{ status: 200, units: 0 }, // the end of the request says more (http/audited.ts)
  ...call,
});

/** Appends a record to the books. */
const tell = (visit: Visit, person: AdministratorRecord, call: ToldCall): void =>
  exchangeOf(visit.request)?.report(reportOf(person, call));

/** The books have a page or a change that failed, too. */
function tellFailed(
  visit: Visit,
  person: AdministratorRecord,
  call: Pick<CallReport, 'operation' | 'targets'>,
  error: unknown,
): never {
  const outcome = error instanceof OAuthError && error.status < 500 ? 'invalid_request' : asFailure(error).code;
  tell(visit, person, { ...call, outcome });
  throw error;
}

/** One audit entry for a change, in the log and in the books. `draft`: its record, if its transaction has inserted it. */
function answerDone(
  visit: Visit,
  one: ConsoleAct,
  person: AdministratorRecord,
  done: ChangeDone,
  draft: AuditDraft | undefined,
): void {
  const { to, notice, target, part } = done;
  visit.record.audit = { person: person.id, action: one.operation, target };
  tell(visit, person, {
    operation: one.operation,
    targets: part === undefined ? [target] : [target, part],
    outcome: 'ok',
    inserted: draft?.inserted ? draft.id : undefined,
  });
  if (done.page) answer(visit, to, person, done.page);
  else visit.redirect(`${to}?done=${notice}`);
}

/** A token for the form of one change in one session. The session's secret is in a cookie that no other site can read. */
const formToken = ({ wire }: Visit, action: string): string =>
  createHmac('sha256', wire.session ?? '')
    .update(`console ${action}`)
    .digest('base64url');

function requireForm(form: Parameters | undefined, { fields }: ConsoleAct, token: string): asserts form is Parameters {
  const strange = [...(form ?? [])].some(
    ([name, values]) => values.length > 1 || (name !== 'csrf' && !fields.includes(name)),
  );
  if (!form || strange || !sameSecret(single(form, 'csrf') ?? '', token)) {
    throw new OAuthError('invalid_request', { about: 'form' });
  }
}

const askedOf = (
  visit: Visit,
  { desk, person, registry }: Pick<Asked, 'desk' | 'person' | 'registry'>,
  found: readonly string[],
): Asked => ({
  desk,
  person,
  registry,
  query: new ListQuery(visit.query),
  parameters: found.slice(1),
  identity: visit.services.identity,
  csrf: (action) => formToken(visit, action),
});

const answer = (visit: Visit, path: string, person: AdministratorRecord, shown: ShownPage, notice?: string): void =>
  visit.page(shown.status ?? 200, framed(shown, { path, person, notice }));

function sendFile(visit: Visit, person: AdministratorRecord, file: Exported): void {
  const { type, name, text } = fileOf(file);
  visit.record.does = 'view';
  visit.record.audit = { person: person.id, exported: name };
  send(visit.request, visit.response, 200, type, text, { 'Content-Disposition': `attachment; filename="${name}"` });
}

function showThrottled(visit: Visit, retryAfter: number): void {
  visit.record.code = 'quota_exceeded';
  const sentence = 'You have opened too many pages in a short time. Wait a minute, then try again.';
  showProblem(visit, 429, { title: 'Too many pages', sentence }, retryAfter);
}

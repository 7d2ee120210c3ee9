import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { IdentityProvider } from '../../auth/identity-provider.ts';
import type { Services } from '../../auth/oauth/context.ts';
import { OAuthError } from '../../auth/oauth/errors.ts';
import { isClientUrl } from '../../auth/oauth/hosted/clients.ts';
import { metadataDocuments } from '../../auth/oauth/metadata.ts';
import { signInWith } from '../../auth/sign-in.ts';
import { packageRoot } from '../../config/package.ts';
import { Failure } from '../../core/failures.ts';
import { openRecordPages } from '../../gateway/record-page.ts';
import type { RequestContext, RequestHandler } from '../http/records.ts';
import { send, sendProblem } from '../http/reply.ts';
import { refuseAmbiguous, refuseBody } from '../http/request.ts';
import type { Source } from '../http/source.ts';
import {
  leaveForIdentity,
  receiveConsent,
  receiveSignIn,
  receiveSignOut,
  showAuthorize,
  showError,
} from './authorize.ts';
import { sessionOf } from './cookies.ts';
import { type IdentityHandlers, identityHandlers } from './identity.ts';
import { errorPage } from './pages/views.ts';
import {
  ADVICE,
  leaveForRecord,
  receiveRecordSignIn,
  receiveRecordSignOut,
  recordAt,
  showMissing,
  showRecord,
} from './record.ts';
import { answerToken, asOAuthError, refuse } from './token.ts';
import { type PageServices, Visit } from './visit.ts';

type Wire = ConstructorParameters<typeof Visit>[2];
type Answer = (
  request: IncomingMessage,
  response: ServerResponse,
  context: RequestContext,
  wire: Wire,
) => Promise<void>;

interface Route {
  readonly method: 'GET' | 'POST';
  readonly operation: string;
  readonly answer: Answer;
  readonly kind: 'json' | 'page';
}

export function oauthSurface(services: Services, source: Source, provider?: IdentityProvider): RequestHandler {
  const { baseUrl } = services;
  const pages: PageServices = { ...services, identity: provider?.name, records: openRecordPages(services.db) };
  const style = (name: string): Route => ({
    method: 'GET',
    operation: 'oauth_style',
    kind: 'page',
    answer: text('text/css', readFileSync(new URL(`src/surfaces/oauth/${name}`, packageRoot), 'utf8')),
  });

  const page =
    (show: (visit: Visit) => Promise<void>): Answer =>
    async (request, response, { requestId, record }, wire) => {
      const visit = new Visit(request, response, wire, pages, requestId, record);
      await show(visit).catch((error: unknown) => {
        const refusal = asOAuthError(error);
        record.code = refusal.code;
        record.cause = refusal.details.cause;
        record.audit ??= { source: wire.source };
        showError(visit, refusal);
      });
    };
  const token: Answer = (request, response, { record }, wire) => answerToken(request, response, wire, services, record);
  const text =
    (type: string, body: string): Answer =>
    async (request, response) =>
      send(request, response, 200, type, body, { 'Cache-Control': 'public, max-age=300' });

  const identity = (known: IdentityProvider, leg: keyof IdentityHandlers, record?: string): Route => ({
    method: 'GET',
    operation: 'oauth_identity',
    kind: 'page',
    answer: page(async (visit) => {
      if (leg === 'finish') visit.record.does = 'authentication';
      const handlers = identityHandlers({
        baseUrl,
        provider: known,
        tenantOf: async (client) =>
          isClientUrl(client)
            ? services.hosted.believed(client)
              ? null
              : undefined
            : (await services.clients.fresh(client, visit.wire.source))?.tenant,
        signInWith: async (vouched) => {
          const done = await signInWith(services.db, vouched);
          if ('session' in done) visit.record.audit = { person: done.person };
          return done;
        },
        refuse: (_request, _response, { status, code, title, sentence, cause }, of) => {
          visit.record.code = code;
          visit.record.cause = cause;
          visit.record.audit = { source: visit.wire.source };
          const advice = of === undefined ? undefined : ADVICE;
          visit.page(status, errorPage({ title, sentence, requestId: visit.requestId, ...(advice && { advice }) }));
        },
      });
      const go = (): Promise<void> => handlers[leg](visit.request, visit.response, record);
      if (leg === 'finish') await go();
      else await (record === undefined ? leaveForIdentity(visit, go) : leaveForRecord(visit, go));
    }),
  });

  const routes = new Map<string, Route>([
    ...(provider
      ? ([
          ['/oauth/identity', identity(provider, 'begin')],
          ['/oauth/identity/callback', identity(provider, 'finish')],
        ] as const)
      : []),
    ['/oauth/token', { method: 'POST', operation: 'oauth_token', kind: 'json', answer: token }],
    ['/oauth/revoke', { method: 'POST', operation: 'oauth_revoke', kind: 'json', answer: token }],
    ['/oauth/authorize', { method: 'GET', operation: 'oauth_authorize', kind: 'page', answer: page(showAuthorize) }],
    ['/oauth/sign-in', { method: 'POST', operation: 'oauth_sign_in', kind: 'page', answer: page(receiveSignIn) }],
    ['/oauth/consent', { method: 'POST', operation: 'oauth_consent', kind: 'page', answer: page(receiveConsent) }],
    ['/oauth/sign-out', { method: 'POST', operation: 'oauth_sign_out', kind: 'page', answer: page(receiveSignOut) }],
    ['/oauth/oauth.css', style('oauth.css')],
    ['/oauth/record.css', style('record.css')],
    ...[...metadataDocuments(baseUrl, { skillScopes: services.skillScopes, hosted: services.hosted.offered })].map(
      ([path, document]): [string, Route] => [
        path,
        {
          method: 'GET',
          operation: 'oauth_metadata',
          kind: 'json',
          answer: text('application/json', JSON.stringify(document)),
        },
      ],
    ),
  ]);

  const missing: Route = {
    method: 'GET',
    operation: 'record',
    kind: 'page',
    answer: page(async (visit) => showMissing(visit)),
  };
  /** Returns the route of a path below `/c/`. A path with a malformed id gets the route of the 404 page. */
  const recordRoute = (path: string): Route | undefined => {
    const at = recordAt(path);
    if (at === undefined) return path.startsWith('/c/') ? missing : undefined;
    const { id, leg } = at;
    if (leg === 'identity') return provider ? identity(provider, 'begin', id) : missing;
    const [method, operation, show] = RECORD_LEGS[leg];
    return { method, operation, kind: 'page', answer: page((visit) => show(visit, id)) };
  };

  return (request, response, context) => {
    const url = request.url ?? '';
    const cut = url.indexOf('?');
    const path = cut === -1 ? url : url.slice(0, cut);
    const route = routes.get(path) ?? recordRoute(path);
    if (!route) return false;
    context.record.surface = 'oauth';
    context.record.operation = route.operation;
    const answer = async (): Promise<void> => {
      refuseAmbiguous(request);
      const method = request.method === 'HEAD' ? 'GET' : request.method;
      if (method !== route.method) {
        throw new Failure('method_not_allowed', { allow: route.method === 'GET' ? ['GET', 'HEAD'] : ['POST'] });
      }
      if (method === 'GET') refuseBody(request, response);
      await route.answer(request, response, context, wireOf(request, source(request), baseUrl));
    };
    return answer().catch((error: unknown) => refusal(error, route, request, response, context, baseUrl));
  };
}

const RECORD_LEGS = {
  '': ['GET', 'record', showRecord],
  'sign-in': ['POST', 'record_sign_in', receiveRecordSignIn],
  'sign-out': ['POST', 'record_sign_out', receiveRecordSignOut],
} as const;

const wireOf = (request: IncomingMessage, from: string, baseUrl: string): Wire => {
  const site = request.headers['sec-fetch-site'];
  return {
    authorization: request.headers.authorization,
    origin: request.headers.origin,
    fetchSite: typeof site === 'string' ? site : undefined,
    session: sessionOf(request, baseUrl),
    source: from,
  };
};

function refusal(
  error: unknown,
  { operation, kind }: Route,
  request: IncomingMessage,
  response: ServerResponse,
  { requestId, record }: RequestContext,
  baseUrl: string,
): void {
  const wrongMethod = error instanceof Failure && error.code === 'method_not_allowed';
  if (wrongMethod || kind === 'page' || operation === 'oauth_metadata') {
    const failure = error instanceof Failure ? error : new Failure('internal', { cause: error });
    record.code = failure.code;
    record.cause = failure.details.cause;
    sendProblem(request, response, failure, { baseUrl, requestId, resource: '', tokenSent: false });
  } else refuse(request, response, error instanceof OAuthError ? error : asOAuthError(error), record);
}

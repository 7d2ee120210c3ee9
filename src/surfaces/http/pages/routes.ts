import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { packageRoot } from '../../../config/package.ts';
import type { Surface } from '../../../core/calls.ts';
import { Failure } from '../../../core/failures.ts';
import { networkOf } from '../../../flow/network.ts';
import { inTurnOf } from '../../../gateway/console/desk.ts';
import type { ClientAddress } from '../client-address.ts';
import type { RequestContext, RequestHandler, RequestRecord } from '../records.ts';
import { send, sendProblem } from '../reply.ts';
import { pathOf, refuseAmbiguous, refuseBody } from '../request.ts';
import { type PageServices, type Sender, Visit, wireOf } from './visit.ts';

export interface Route {
  readonly method: 'GET' | 'POST';
  readonly operation: string;
  answer(
    request: IncomingMessage,
    response: ServerResponse,
    context: RequestContext,
    wire: Sender,
  ): Promise<void> | void;
  /**
   * Answers a GET of the address of a form, as a browser sends it again after a page that answered the form. By default a
   * problem document does.
   */
  readonly reopened?: Route['answer'];
  /** Answers an error of the route. By default, an error becomes a problem document. */
  readonly refuse?: (request: IncomingMessage, response: ServerResponse, error: unknown, record: RequestRecord) => void;
}

/** A route whose answer is always the same text. */
export const textRoute = (operation: string, type: string, body: string): Route => ({
  method: 'GET',
  operation,
  answer: (request, response) => send(request, response, 200, type, body, { 'Cache-Control': 'public, max-age=300' }),
});

/** The route of a stylesheet. `path` is its path below src/surfaces/. All stylesheets of pages count as one operation. */
export const styleRoute = (path: string): Route =>
  textRoute('oauth_style', 'text/css', readFileSync(new URL(`src/surfaces/${path}`, packageRoot), 'utf8'));

/**
 * Makes the routes of pages. Each request for a page becomes a visit. Anybody can make up a session or a form, so the
 * statements of a visit take turns as its network.
 */
export const pageRoutes =
  <S extends PageServices>(services: S) =>
  (
    method: Route['method'],
    operation: string,
    show: (visit: Visit<S>) => Promise<void> | void,
    reopen?: (visit: Visit<S>) => void,
  ): Route => {
    const visited =
      (to: (visit: Visit<S>) => Promise<void> | void): Route['answer'] =>
      (request, response, { requestId, record }, wire) => {
        const own = { ...services, db: inTurnOf(networkOf(wire.source), services.db) };
        return to(new Visit(request, response, wire, own, requestId, record));
      };
    return { method, operation, answer: visited(show), ...(reopen && { reopened: visited(reopen) }) };
  };

/** Answers the requests whose path has a route. Every other path belongs to another handler. */
export const routesHandler =
  (
    surface: Surface,
    routeOf: (path: string) => Route | undefined,
    { baseUrl }: Pick<PageServices, 'baseUrl'>,
    source: ClientAddress,
  ): RequestHandler =>
  (request, response, context) => {
    const { requestId, record } = context;
    const route = routeOf(pathOf(request));
    if (!route) return false;
    record.surface = surface;
    record.operation = route.operation;
    const answer = async (): Promise<void> => {
      refuseAmbiguous(request);
      const method = request.method === 'HEAD' ? 'GET' : request.method;
      if (method === 'GET' && route.reopened) {
        refuseBody(request, response);
        record.code = 'method_not_allowed';
        return route.reopened(request, response, context, wireOf(request, source(request), baseUrl));
      }
      if (method !== route.method) {
        throw new Failure('method_not_allowed', { allow: route.method === 'GET' ? ['GET', 'HEAD'] : ['POST'] });
      }
      if (method === 'GET') refuseBody(request, response);
      await route.answer(request, response, context, wireOf(request, source(request), baseUrl));
    };
    return answer().catch((error: unknown) => {
      const wrongMethod = error instanceof Failure && error.code === 'method_not_allowed';
      if (route.refuse && !wrongMethod) return route.refuse(request, response, error, record);
      const failure = error instanceof Failure ? error : new Failure('internal', { cause: error });
      record.code = failure.code;
      record.cause = failure.details.cause;
      sendProblem(request, response, failure, { baseUrl, requestId });
    });
  };

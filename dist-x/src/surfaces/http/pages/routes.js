import { readFileSync } from 'node:fs';
import { packageRoot } from '../../../config/package.js';
import { Failure } from '../../../core/failures.js';
import { send, sendProblem } from '../reply.js';
import { pathOf, refuseAmbiguous, refuseBody } from '../request.js';
import { Visit, wireOf } from './visit.js';
/** A route whose answer is always the same text. */
export const textRoute = (operation, type, body) => ({
    method: 'GET',
    operation,
    answer: (request, response) => send(request, response, 200, type, body, { 'Cache-Control': 'public, max-age=300' }),
});
/** The route of a stylesheet. `path` is its path below src/surfaces/. All stylesheets of pages count as one operation. */
export const styleRoute = (path) => textRoute('oauth_style', 'text/css', readFileSync(new URL(`src/surfaces/${path}`, packageRoot), 'utf8'));
/** Makes the routes of pages. Each request for a page becomes a visit. */
export const pageRoutes = (services) => (method, operation, show) => ({
    method,
    operation,
    answer: (request, response, { requestId, record }, wire) => show(new Visit(request, response, wire, services, requestId, record)),
});
/** Answers the requests whose path has a route. Every other path belongs to another handler. */
export const routesHandler = (surface, routeOf, { baseUrl }, source) => (request, response, context) => {
    const { requestId, record } = context;
    const route = routeOf(pathOf(request));
    if (!route)
        return false;
    record.surface = surface;
    record.operation = route.operation;
    const answer = async () => {
        refuseAmbiguous(request);
        const method = request.method === 'HEAD' ? 'GET' : request.method;
        if (method !== route.method) {
            throw new Failure('method_not_allowed', { allow: route.method === 'GET' ? ['GET', 'HEAD'] : ['POST'] });
        }
        if (method === 'GET')
            refuseBody(request, response);
        await route.answer(request, response, context, wireOf(request, source(request), baseUrl));
    };
    return answer().catch((error) => {
        const wrongMethod = error instanceof Failure && error.code === 'method_not_allowed';
        if (route.refuse && !wrongMethod)
            return route.refuse(request, response, error, record);
        const failure = error instanceof Failure ? error : new Failure('internal', { cause: error });
        record.code = failure.code;
        record.cause = failure.details.cause;
        sendProblem(request, response, failure, { baseUrl, requestId, resource: '', tokenSent: false });
    });
};
//# sourceMappingURL=routes.js.map
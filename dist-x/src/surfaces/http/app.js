import express, {} from 'express';
import { Failure } from '../../core/failures.js';
import { asFailure } from '../../gateway/call.js';
import { DOCUMENT_AGE, document, once, sendDocument } from './document.js';
import { contextOf } from './exchange.js';
import { noteRefusal } from './records.js';
import { begin, send, sendProblem } from './reply.js';
import { pathOf, refuseAmbiguous, refuseBody } from './request.js';
const REFUSED_METRICS = { code: 'not_found', does: 'authorization' };
export function publicApp({ baseUrl, openapi, llms, agentCard, jwks, docs: openDocs, metrics, ready, }) {
    const app = express();
    app.disable('x-powered-by');
    app.disable('etag');
    app.set('query parser', false);
    app.set('case sensitive routing', true);
    app.set('strict routing', true);
    const published = (type, make) => once(async () => document(type, await make(), { maxAge: DOCUMENT_AGE }));
    const docs = openDocs && once(async () => openDocs());
    const texts = llms && once(async () => llms());
    // llmstxt.org names no media type, and browsers download Markdown instead of showing it.
    const text = 'text/plain; charset=utf-8';
    const files = {
        '/api/v1/openapi.json': published('application/json', async () => JSON.stringify(await openapi())),
        ...(agentCard && {
            '/.well-known/agent-card.json': published('application/json', async () => JSON.stringify(await agentCard())),
        }),
        ...(jwks && {
            '/.well-known/jwks.json': published('application/jwk-set+json', async () => JSON.stringify(await jwks())),
        }),
        ...(texts && {
            '/llms.txt': published(text, async () => (await texts()).index),
            '/llms-full.txt': published(text, async () => (await texts()).full),
        }),
    };
    const documents = ['/livez', '/readyz', ...(metrics ? ['/metrics'] : []), ...Object.keys(files)];
    app.all('/metrics', (request, _response, next) => {
        // Without permission, a caller must not learn that the metrics exist.
        const { record } = contextOf(request);
        if (metrics)
            record.operation = 'metrics';
        if (!metrics?.permitted(request)) {
            if (metrics)
                Object.assign(record, REFUSED_METRICS);
            throw new Failure('not_found');
        }
        next();
    });
    app.get(documents, (request, response, next) => {
        refuseAmbiguous(request);
        refuseBody(request, response);
        next();
    });
    app.get('/livez', (request, response) => {
        contextOf(request).record.path = '/livez';
        send(request, response, 200, 'application/json', '{"status":"live"}');
    });
    app.get('/readyz', async (request, response) => {
        contextOf(request).record.path = '/readyz';
        const yes = await ready();
        send(request, response, yes ? 200 : 503, 'application/json', `{"status":"${yes ? 'ready' : 'unready'}"}`, {
            ...(!yes && { 'Retry-After': '1' }),
        });
    });
    if (metrics)
        app.get('/metrics', async (request, response) => {
            send(request, response, 200, metrics.type, await metrics.text());
        });
    for (const [path, made] of Object.entries(files))
        app.get(path, async (request, response) => {
            noteDocument(request, path);
            sendDocument(request, response, await made());
        });
    app.all(documents, () => {
        throw new Failure('method_not_allowed', { allow: ['GET', 'HEAD'] });
    });
    app.get('/', (request, response) => {
        refuseAmbiguous(request);
        noteDocument(request, '/');
        send(request, response, 302, 'text/plain; charset=utf-8', 'The documentation is at /docs.\n', {
            Location: '/docs',
        });
    });
    if (docs)
        app.use(pagesOf(docs));
    app.use(() => {
        throw new Failure('not_found');
    });
    const refuse = async (error, request, response, _next) => {
        const { requestId, record } = contextOf(request);
        // Express throws a 400 for a broken escape in a path. The gateway answers `not_found`.
        const unreadable = !(error instanceof Failure) && statusOf(error) === 400;
        const failure = unreadable ? new Failure('not_found') : asFailure(error);
        // Without the pages, the client gets the problem document.
        const pages = failure.code === 'not_found' ? await docs?.().catch(() => undefined) : undefined;
        if (pages?.missing(request, response))
            return;
        // A status of 500 or more is a fault of the gateway. Its cause goes only to the log.
        if (failure.status >= 500)
            noteRefusal(record, failure);
        sendProblem(request, response, failure, { baseUrl, requestId, resource: '', tokenSent: false });
    };
    app.use(refuse);
    return app;
}
const pagesOf = (docs) => async (request, response, next) => {
    const { documents, redirects } = await docs();
    // Compare the path as it was sent: a path with escaped characters is a different path.
    const path = pathOf(request);
    const made = documents.get(path);
    const target = redirects.get(path);
    if (!made && target === undefined)
        return next();
    noteDocument(request, path);
    if (request.method !== 'GET' && request.method !== 'HEAD') {
        throw new Failure('method_not_allowed', { allow: ['GET', 'HEAD'] });
    }
    refuseAmbiguous(request);
    refuseBody(request, response);
    if (made)
        return sendDocument(request, response, made());
    const headers = { Location: target, 'Cache-Control': `public, max-age=${DOCUMENT_AGE}`, 'Content-Length': 0 };
    begin(request, response, 302, headers).end();
};
const noteDocument = (request, path) => void Object.assign(contextOf(request).record, { operation: 'docs', path });
const statusOf = (error) => (error instanceof Error && 'status' in error ? error.status : undefined);
//# sourceMappingURL=app.js.map
import type { IncomingMessage, ServerResponse } from 'node:http';
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import { Failure } from '../../core/failures.ts';
import { asFailure } from '../../gateway/call.ts';
import { type Document, document, sendDocument } from './document.ts';
import { contextOf } from './exchange.ts';
import { noteRefusal, type RequestRecord } from './records.ts';
import { send, sendProblem } from './reply.ts';
import { refuseAmbiguous, refuseBody } from './request.ts';

export interface AppOptions {
  readonly baseUrl: string;
  readonly openapi: object;
  /** The texts for language models (llmstxt.org): `index` for /llms.txt and `full` for /llms-full.txt. */
  readonly llms?: { readonly index: string; readonly full: string };
  readonly agentCard?: object;
  readonly docs?: RequestHandler & Missing;
  readonly metrics?: MetricsPage;
  /** True when the store answers and no shutdown has started. */
  ready(): Promise<boolean>;
}

export interface Missing {
  /** Answers a browser that asks for an unknown page. Returns false for other clients, which get a problem document. */
  missing(request: IncomingMessage, response: ServerResponse): boolean;
}

export interface MetricsPage {
  readonly type: string;
  readonly permitted: (request: IncomingMessage) => boolean;
  /** Throws `service_unavailable` when the metrics cannot be read. */
  text(): Promise<string>;
}

const REFUSED_METRICS: RequestRecord = { code: 'not_found', does: 'authorization' };

export function publicApp({ baseUrl, openapi, llms, agentCard, docs, metrics, ready }: AppOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  app.set('case sensitive routing', true);
  app.set('strict routing', true);
  // Send the llms texts as plain text. llmstxt.org names no media type, and browsers download Markdown instead of
  // showing it.
  const text = 'text/plain; charset=utf-8';
  const published = (type: string, body: string | object): Document =>
    document(type, typeof body === 'string' ? body : JSON.stringify(body), { maxAge: 300 });
  const texts = new Map([
    ['/api/v1/openapi.json', published('application/json', openapi)],
    ...(agentCard ? [['/.well-known/agent-card.json', published('application/json', agentCard)] as const] : []),
    ...(llms
      ? [['/llms.txt', published(text, llms.index)] as const, ['/llms-full.txt', published(text, llms.full)] as const]
      : []),
  ]);

  const documents = ['/livez', '/readyz', ...(metrics ? ['/metrics'] : []), ...texts.keys()];
  app.all('/metrics', (request, _response, next) => {
    // Answer `not_found`, because a caller without permission must not learn that the metrics exist.
    const { record } = contextOf(request);
    if (metrics) record.operation = 'metrics';
    if (!metrics?.permitted(request)) {
      if (metrics) Object.assign(record, REFUSED_METRICS);
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
  for (const [path, one] of texts)
    app.get(path, (request, response) => {
      noteDocument(contextOf(request).record, path);
      sendDocument(request, response, one);
    });
  app.all(documents, () => {
    throw new Failure('method_not_allowed', { allow: ['GET', 'HEAD'] });
  });
  app.get('/', (request, response) => {
    refuseAmbiguous(request);
    noteDocument(contextOf(request).record, '/');
    send(request, response, 302, 'text/plain; charset=utf-8', 'The documentation is at /docs.\n', {
      Location: '/docs',
    });
  });
  if (docs)
    app.use((request, response, next) => {
      const { record } = contextOf(request);
      noteDocument(record, (request.url ?? '').split('?', 1)[0] ?? '');
      docs(request, response, () => {
        // No document has this path. A path that the client has made up must not reach the log.
        delete record.operation;
        delete record.path;
        next();
      });
    });
  app.use(() => {
    throw new Failure('not_found');
  });
  const refuse: ErrorRequestHandler = (error, request, response, _next) => {
    const { requestId, record } = contextOf(request);
    // For a path with a broken escape, Express throws an error with status 400. The gateway answers `not_found`
    // instead.
    const unreadable = !(error instanceof Failure) && statusOf(error) === 400;
    const failure = unreadable ? new Failure('not_found') : asFailure(error);
    if (failure.code === 'not_found' && docs?.missing(request, response)) return;
    // A status of 500 or more means a fault of the gateway. The cause of the fault goes only to the log.
    if (failure.status >= 500) noteRefusal(record, failure);
    sendProblem(request, response, failure, { baseUrl, requestId, resource: '', tokenSent: false });
  };
  app.use(refuse);
  return app;
}

function noteDocument(record: RequestRecord, path: string): void {
  record.operation = 'docs';
  record.path = path;
}

const statusOf = (error: unknown): unknown => (error instanceof Error && 'status' in error ? error.status : undefined);

import type { IncomingMessage, ServerResponse } from 'node:http';
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import { Failure } from '../../core/failures.ts';
import { once } from '../../flow/once.ts';
import { asFailure } from '../../gateway/call.ts';
import { ANY_HOST, DOCUMENT_AGE, type Document, document, sendDocument } from './document.ts';
import { contextOf } from './exchange.ts';
import { recent } from './recent.ts';
import { noteRefusal, type RequestRecord } from './records.ts';
import { begin, send, sendProblem } from './reply.ts';
import { pathOf, refuseAmbiguous, refuseBody } from './request.ts';

export interface AppOptions {
  /** With the host `ANY_HOST`, the app answers at the hosts of all organizations, each with its own base URL. */
  readonly baseUrl: string;
  /** Each document is made at its first request, and its modules are loaded for it. */
  readonly openapi: () => object | Promise<object>;
  readonly llms?: () => Llms | Promise<Llms>;
  /** The signed card of a base URL. */
  readonly agentCard?: (baseUrl: string) => object | Promise<object>;
  /** The public keys that verify the agent card. */
  readonly jwks?: () => object | Promise<object>;
  readonly docs?: () => Docs | Promise<Docs>;
  readonly metrics?: MetricsPage;
  /** True if the store answers and no shutdown has started. */
  ready(): Promise<boolean>;
}

/** The texts of llmstxt.org: `index` for /llms.txt and `full` for /llms-full.txt. */
export interface Llms {
  readonly index: string;
  readonly full: string;
}

/** The pages for people, by path. */
export interface Docs {
  readonly documents: ReadonlyMap<string, () => Document>;
  /** The address to which each of these paths leads. */
  readonly redirects: ReadonlyMap<string, string>;
  /** Answers a browser that asks for an unknown page. False for other clients, which get a problem document. */
  missing(request: IncomingMessage, response: ServerResponse): boolean;
}

export interface MetricsPage {
  readonly type: string;
  readonly permitted: (request: IncomingMessage) => boolean;
  /** Throws `service_unavailable` if the metrics cannot be read. */
  text(): Promise<string>;
}

/** Agent cards of organizations' hosts that a process keeps, of 20 kB each. Its signature names the host. */
const CARDS = 500;

const REFUSED_METRICS: RequestRecord = { code: 'not_found', does: 'authorization' };

export function publicApp({
  baseUrl,
  openapi,
  llms,
  agentCard,
  jwks,
  docs: openDocs,
  metrics,
  ready,
}: AppOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  app.set('case sensitive routing', true);
  app.set('strict routing', true);
  const published = (type: string, make: () => Promise<string>): (() => Promise<Document>) =>
    once(async () => document(type, await make(), { maxAge: DOCUMENT_AGE }));
  const everywhere = new URL(baseUrl).hostname === ANY_HOST;
  const hostOf = ({ headers: { host = '' } }: IncomingMessage): string | undefined =>
    everywhere ? host.toLowerCase().replace(/:\d+$/, '') : undefined;
  const baseOf = (request: IncomingMessage): string => baseUrl.replace(ANY_HOST, hostOf(request) ?? ANY_HOST);
  const cards = recent(CARDS, async (base) =>
    document('application/json', JSON.stringify(await agentCard?.(base)), { maxAge: DOCUMENT_AGE }),
  );
  const docs = openDocs && once(async () => openDocs());
  const texts = llms && once(async () => llms());
  // llmstxt.org names no media type, and browsers download Markdown instead of showing it.
  const text = 'text/plain; charset=utf-8';
  const files: Readonly<Record<string, (request: IncomingMessage) => Promise<Document>>> = {
    '/api/v1/openapi.json': published('application/json', async () => JSON.stringify(await openapi())),
    ...(agentCard && { '/.well-known/agent-card.json': (request) => cards.of(baseOf(request)) }),
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
  for (const [path, made] of Object.entries(files))
    app.get(path, async (request, response) => {
      noteDocument(request, path);
      sendDocument(request, response, await made(request), hostOf(request));
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
  if (docs) app.use(pagesOf(docs, hostOf));
  app.use(() => {
    throw new Failure('not_found');
  });
  const refuse: ErrorRequestHandler = async (error, request, response, _next) => {
    const { requestId, record } = contextOf(request);
    // Express throws a 400 for a broken escape in a path. The gateway answers `not_found`.
    const unreadable = !(error instanceof Failure) && statusOf(error) === 400;
    const failure = unreadable ? new Failure('not_found') : asFailure(error);
    // Without the pages, the client gets the problem document.
    const pages = failure.code === 'not_found' ? await docs?.().catch(() => undefined) : undefined;
    if (pages?.missing(request, response)) return;
    // A status of 500 or more is a fault of the gateway. Its cause goes only to the log.
    if (failure.status >= 500) noteRefusal(record, failure);
    sendProblem(request, response, failure, { baseUrl: baseOf(request), requestId });
  };
  app.use(refuse);
  return app;
}

const pagesOf =
  (docs: () => Promise<Docs>, hostOf: (request: IncomingMessage) => string | undefined): RequestHandler =>
  async (request, response, next) => {
    const { documents, redirects } = await docs();
    // Compare the path as it was sent: a path with escaped characters is a different path.
    const path = pathOf(request);
    const made = documents.get(path);
    const target = redirects.get(path);
    if (!made && target === undefined) return next();
    noteDocument(request, path);
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw new Failure('method_not_allowed', { allow: ['GET', 'HEAD'] });
    }
    refuseAmbiguous(request);
    refuseBody(request, response);
    if (made) return sendDocument(request, response, made(), hostOf(request));
    const headers = { Location: target, 'Cache-Control': `public, max-age=${DOCUMENT_AGE}`, 'Content-Length': 0 };
    begin(request, response, 302, headers).end();
  };

const noteDocument = (request: IncomingMessage, path: string): void =>
  void Object.assign(contextOf(request).record, { operation: 'docs', path });

const statusOf = (error: unknown): unknown => (error instanceof Error && 'status' in error ? error.status : undefined);

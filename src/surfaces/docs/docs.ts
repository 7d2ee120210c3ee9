import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import accepts from 'accepts';
import { packageRoot } from '../../config/package.ts';
import { FAILURE_CODES, Failure } from '../../core/failures.ts';
import type { GuideName } from '../../core/guides.ts';
import type { Registry } from '../../gateway/registry.ts';
import type { Skills } from '../../gateway/skills.ts';
import type { Missing } from '../http/app.ts';
import { type Document, document, sendDocument } from '../http/document.ts';
import { send } from '../http/reply.ts';
import { refuseAmbiguous, refuseBody } from '../http/request.ts';
import { clientsText } from './clients.ts';
import { errorsBody } from './errors.ts';
import { guideBody } from './guide.ts';
import { missingBody } from './missing.ts';
import { PAGE_CSP, type Page, renderPage, type Site, titleOfGuide } from './page.ts';
import { operationBody } from './reference/operation.ts';
import { operationList, overviewBody, overviewSections } from './reference/overview.ts';
import { addressOf } from './reference/words.ts';
import { SCOPE_SECTIONS, scopesBody } from './scopes.ts';
import { searchIndex } from './search-index.ts';
import { START_SECTIONS, startBody } from './start.ts';

export interface DocsOptions {
  readonly baseUrl: string;
  readonly registry: Registry;
  readonly skills: Skills;
  readonly guides: ReadonlyMap<GuideName, string>;
  readonly version: string;
}

type Handler = (request: IncomingMessage, response: ServerResponse, next: () => void) => void;
export type Docs = Handler & Missing;

const HTML = 'text/html; charset=utf-8';
/** How long a page and an asset may be cached, in seconds. */
const PAGE_AGE = 300;
const ASSET_AGE = 3_600;

export function docsPages(options: DocsOptions): Docs {
  const { documents, missing } = documentsOf(options);
  const redirects = new Map<string, string>([
    ...FAILURE_CODES.map((code) => [`/problems/${code}`, `/docs/errors#${code}`] as const),
    ...[...documents.keys()].map((path) => [`${path}/`, path] as const),
  ]);
  const pages: Handler = (request, response, next) => {
    // Compare the path exactly as the client sent it, because a path with escaped characters is a different path.
    const path = pathOf(request);
    const known = documents.get(path);
    const target = redirects.get(path);
    if (!known && target === undefined) return next();
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw new Failure('method_not_allowed', { allow: ['GET', 'HEAD'] });
    }
    refuseAmbiguous(request);
    refuseBody(request, response);
    if (known) return sendDocument(request, response, known());
    const headers = { Location: target, 'Cache-Control': `public, max-age=${PAGE_AGE}`, 'Content-Length': 0 };
    response.writeHead(302, headers).end();
  };
  return Object.assign(pages, {
    missing: (request: IncomingMessage, response: ServerResponse): boolean => {
      if (!wantsPage(request)) return false;
      send(request, response, 404, HTML, missing(), MISSING_HEADERS);
      return true;
    },
  });
}

const pathOf = ({ url = '' }: IncomingMessage): string => url.split('?', 1)[0] ?? '';

const MISSING_HEADERS = { 'Cache-Control': 'no-store', Vary: 'Accept', 'Content-Security-Policy': PAGE_CSP };

/** Addresses that only programs call. A request to such an address never gets a page, even if it accepts HTML. */
const OF_PROGRAMS = /^\/(?:api|mcp|a2a|oauth|\.well-known|metrics)(?:\/|$)/;

/** True for a browser that asks for an address without a page. Other clients get the problem document not_found. */
const wantsPage = (request: IncomingMessage): boolean =>
  (request.method === 'GET' || request.method === 'HEAD') &&
  !OF_PROGRAMS.test(pathOf(request)) &&
  accepts(request).type(['application/problem+json', 'application/json', 'text/html']) === 'text/html';

/** Returns a function that makes a value at its first call. Most processes never serve most of the pages. */
function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

interface Documents {
  readonly documents: ReadonlyMap<string, () => Document>;
  readonly missing: () => string;
}

function documentsOf(options: DocsOptions): Documents {
  const assets = assetsOf(options);
  const digest = createHash('sha256');
  for (const { content } of assets.values()) digest.update(content);
  const site: Site = { version: options.version, guides: options.guides, build: digest.digest('hex').slice(0, 12) };
  const page = (one: Page): Document => document(HTML, renderPage(site, one), { maxAge: PAGE_AGE, csp: PAGE_CSP });
  return {
    documents: new Map([
      ...[...pagesOf(options)].map(([path, make]) => [path, once(() => page({ path, ...make() }))] as const),
      ...[...assets].map(
        ([name, { type, content }]) =>
          [`/docs/assets/${name}`, once(() => document(type, content, { maxAge: ASSET_AGE }))] as const,
      ),
    ]),
    missing: once(() =>
      renderPage(site, { path: '', title: 'Not found', description: 'The address has no page.', body: missingBody() }),
    ),
  };
}

type Content = Omit<Page, 'path'>;

function pagesOf({ baseUrl, registry, skills, guides }: DocsOptions): Map<string, () => Content> {
  return new Map<string, () => Content>([
    [
      '/docs',
      () => ({
        title: 'Developer documentation',
        description: 'How to call the Installation Gateway over REST, MCP and A2A.',
        body: startBody({ baseUrl, guides, registry, skills }),
        sections: START_SECTIONS,
      }),
    ],
    [
      '/docs/clients',
      () => ({
        title: 'Connect a client',
        description: 'What to click in Claude, ChatGPT, Codex, VS Code and Cursor, from one address to the first call.',
        ...guideBody(clientsText(baseUrl), registry),
      }),
    ],
    [
      '/docs/errors',
      () => ({
        title: 'Errors',
        description: 'Every failure code of the Installation Gateway and what to do about it.',
        body: errorsBody(baseUrl),
        layout: 'wide' as const,
      }),
    ],
    [
      '/docs/scopes',
      () => ({
        title: 'Scopes',
        description: 'Every scope and data-access flag, and the operations that need it.',
        body: scopesBody(registry),
        sections: SCOPE_SECTIONS,
      }),
    ],
    ...[...guides].map(([name, text]): [string, () => Content] => [
      `/docs/guides/${name}`,
      () => ({
        title: titleOfGuide(name),
        description: `Guide: ${titleOfGuide(name)}.`,
        ...guideBody(text, registry),
      }),
    ]),
    [
      '/docs/reference',
      () => ({
        title: 'Reference',
        description: 'Every operation of the gateway with its parameters, answers and failures.',
        body: overviewBody(registry, baseUrl),
        side: operationList(registry, '/docs/reference'),
        sections: overviewSections(registry),
      }),
    ],
    ...registry.operations.map((tool): [string, () => Content] => [
      addressOf(tool),
      () => ({
        title: tool.title,
        description: tool.summary,
        body: operationBody(tool, registry, baseUrl),
        side: operationList(registry, addressOf(tool)),
        layout: 'operation' as const,
      }),
    ]),
  ]);
}

interface Asset {
  readonly type: string;
  readonly content: Buffer;
}

function assetsOf({ baseUrl, registry, guides }: DocsOptions): Map<string, Asset> {
  const script = (name: string): [string, Asset] => [
    name,
    { type: 'text/javascript; charset=utf-8', content: own(name) },
  ];
  const style = Buffer.concat(['base.css', 'frame.css', 'parts.css', 'reference.css', 'try.css'].map(own));
  return new Map([
    ['docs.css', { type: 'text/css; charset=utf-8', content: style }],
    ...['theme.js', 'docs.js', 'search.js', 'try.js'].map(script),
    [
      'search.json',
      {
        type: 'application/json',
        content: Buffer.from(JSON.stringify(searchIndex(registry, guides, clientsText(baseUrl)))),
      },
    ],
    ['text.woff2', { type: 'font/woff2', content: font('geist') }],
    ['mono.woff2', { type: 'font/woff2', content: font('geist-mono') }],
  ]);
}

const own = (name: string): Buffer => readFileSync(new URL(`src/surfaces/docs/${name}`, packageRoot));

const require = createRequire(import.meta.url);
const font = (name: string): Buffer =>
  readFileSync(require.resolve(`@fontsource-variable/${name}/files/${name}-latin-wght-normal.woff2`));

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import accepts from 'accepts';
import { packageRoot } from '../../config/package.ts';
import { FAILURE_CODES } from '../../core/failures.ts';
import { once } from '../../flow/once.ts';
import type { Docs } from '../http/app.ts';
import { DOCUMENT_AGE, type Document, document } from '../http/document.ts';
import { send } from '../http/reply.ts';
import { pathOf } from '../http/request.ts';
import { CHANGELOG, changelogFeed } from './changelog.ts';
import { clientsText } from './clients.ts';
import { errorsBody, missingBody } from './errors.ts';
import { guideBody } from './guide.ts';
import { LIMIT_SECTIONS, limitsBody } from './limits.ts';
import { type DocsPage, type DocsSite, PAGE_CSP, renderPage, titleOfGuide } from './page.ts';
import { operationBody } from './reference/operation.ts';
import { operationList, overviewBody, overviewSections } from './reference/overview.ts';
import { addressOf } from './reference/words.ts';
import { SCOPE_SECTIONS, scopesBody } from './scopes.ts';
import { searchIndex } from './search-index.ts';
import { START_SECTIONS, type StartOptions, startBody } from './start.ts';

export interface DocsOptions extends StartOptions {
  readonly version: string;
}

const HTML = 'text/html; charset=utf-8';
const FEED = 'application/feed+json';
/** Seconds that an asset may be cached. */
const ASSET_AGE = 3_600;
const MISSING_HEADERS = { 'Cache-Control': 'no-store', Vary: 'Accept', 'Content-Security-Policy': PAGE_CSP };

export function docsPages(options: DocsOptions): Docs {
  const { documents, missing } = documentsOf(options);
  return {
    documents,
    redirects: new Map([
      ...FAILURE_CODES.map((code) => [`/problems/${code}`, `/docs/errors#${code}`] as const),
      ...[...documents.keys()].map((path) => [`${path}/`, path] as const),
    ]),
    missing: (request, response) => {
      if (!wantsPage(request)) return false;
      send(request, response, 404, HTML, missing(), MISSING_HEADERS);
      return true;
    },
  };
}

/** Addresses that only programs call. They never get a page, even if the request accepts HTML. */
const OF_PROGRAMS = /^\/(?:api|mcp|a2a|oauth|\.well-known|metrics)(?:\/|$)/;

/** True for a browser that asks for an address without a page. Other clients get the problem document not_found. */
const wantsPage = (request: IncomingMessage): boolean =>
  (request.method === 'GET' || request.method === 'HEAD') &&
  !OF_PROGRAMS.test(pathOf(request)) &&
  accepts(request).type(['application/problem+json', 'application/json', 'text/html']) === 'text/html';

interface Documents {
  readonly documents: ReadonlyMap<string, () => Document>;
  readonly missing: () => string;
}

function documentsOf(options: DocsOptions): Documents {
  const assets = assetsOf(options);
  const digest = createHash('sha256');
  for (const { content } of assets.values()) digest.update(content);
  const site: DocsSite = { version: options.version, guides: options.guides, build: digest.digest('hex').slice(0, 12) };
  const page = (one: DocsPage): Document =>
    document(HTML, renderPage(site, one), { maxAge: DOCUMENT_AGE, csp: PAGE_CSP });
  return {
    documents: new Map([
      [CHANGELOG, once(() => document(FEED, feedOf(options), { maxAge: DOCUMENT_AGE }))],
      ...Object.entries(pagesOf(options)).map(([path, make]) => [path, once(() => page({ path, ...make() }))] as const),
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

type Content = Omit<DocsPage, 'path'>;

const pagesOf = ({ baseUrl, registry, skills, guides }: DocsOptions): Readonly<Record<string, () => Content>> => ({
  '/docs': () => ({
    title: 'Developer documentation',
    description: 'How to call the Installation Gateway over REST, MCP and A2A.',
    body: startBody({ baseUrl, guides, registry, skills }),
    sections: START_SECTIONS,
  }),
  '/docs/clients': () => ({
    title: 'Connect a client',
    description: 'What to click in Claude, ChatGPT, Codex, VS Code and Cursor, from one address to the first call.',
    ...guideBody(clientsText(baseUrl), registry),
  }),
  '/docs/errors': () => ({
    title: 'Errors',
    description: 'Every failure code of the Installation Gateway and what to do about it.',
    body: errorsBody(baseUrl),
    layout: 'wide',
  }),
  '/docs/limits': () => ({
    title: 'Limits',
    description: 'Every limit of the Installation Gateway: quota, requests, writes, events, tasks and OAuth.',
    body: limitsBody(),
    sections: LIMIT_SECTIONS,
  }),
  '/docs/scopes': () => ({
    title: 'Scopes',
    description: 'Every scope and data-access flag, and the operations that need it.',
    body: scopesBody(registry),
    sections: SCOPE_SECTIONS,
  }),
  ...Object.fromEntries(
    [...guides].map(([name, text]) => [
      `/docs/guides/${name}`,
      (): Content => ({
        title: titleOfGuide(name),
        description: `Guide: ${titleOfGuide(name)}.`,
        ...guideBody(text, registry),
      }),
    ]),
  ),
  '/docs/reference': () => ({
    title: 'Reference',
    description: 'Every operation of the gateway with its parameters, answers and failures.',
    body: overviewBody(registry, baseUrl),
    side: operationList(registry, '/docs/reference'),
    sections: overviewSections(registry),
  }),
  ...Object.fromEntries(
    registry.operations.map((tool) => [
      addressOf(tool),
      (): Content => ({
        title: tool.title,
        description: tool.summary,
        body: operationBody(tool, registry, baseUrl),
        side: operationList(registry, addressOf(tool)),
        layout: 'operation',
      }),
    ]),
  ),
});

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

const feedOf = ({ baseUrl }: DocsOptions): string =>
  JSON.stringify(changelogFeed(readFileSync(new URL('CHANGELOG.md', packageRoot), 'utf8'), baseUrl));

const own = (name: string): Buffer => readFileSync(new URL(`src/surfaces/docs/${name}`, packageRoot));

const require = createRequire(import.meta.url);
const font = (name: string): Buffer =>
  readFileSync(require.resolve(`@fontsource-variable/${name}/files/${name}-latin-wght-normal.woff2`));

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { packageRoot } from '../../config/package.ts';
import { FAILURE_CODES, Failure } from '../../core/failures.ts';
import type { GuideName } from '../../core/guides.ts';
import type { Registry } from '../../gateway/registry.ts';
import type { Skills } from '../../gateway/skills.ts';
import { type Document, document, sendDocument } from '../http/document.ts';
import { refuseAmbiguous, refuseBody } from '../http/request.ts';
import { errorsBody } from './errors.ts';
import { guideBody } from './guide.ts';
import { PAGE_CSP, type Page, prosePage, type Site, titleOfGuide } from './page.ts';
import { REFERENCE_CSP, referencePage, renderer } from './reference.ts';
import { START_SECTIONS, startBody } from './start.ts';

export interface DocsOptions {
  readonly baseUrl: string;
  readonly registry: Registry;
  readonly skills: Skills;
  readonly guides: ReadonlyMap<GuideName, string>;
  readonly version: string;
}

export type Docs = (request: IncomingMessage, response: ServerResponse, next: () => void) => void;

const HTML = 'text/html; charset=utf-8';
/** How long a page and an asset may be cached, in seconds. */
const PAGE_AGE = 300;
const ASSET_AGE = 3_600;

export function docsPages(options: DocsOptions): Docs {
  const documents = documentsOf(options);
  const redirects = new Map(FAILURE_CODES.map((code) => [`/problems/${code}`, `/docs/errors#${code}`]));
  return (request, response, next) => {
    // Compare the path exactly as the client sent it, because a path with escaped characters is a different path.
    const path = (request.url ?? '').split('?', 1)[0] ?? '';
    const known = documents.get(path);
    const target = redirects.get(path);
    if (!known && target === undefined) return next();
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw new Failure('method_not_allowed', { allow: ['GET', 'HEAD'] });
    }
    refuseAmbiguous(request);
    refuseBody(request, response);
    if (known) return sendDocument(request, response, known);
    const headers = { Location: target, 'Cache-Control': `public, max-age=${PAGE_AGE}`, 'Content-Length': 0 };
    response.writeHead(302, headers).end();
  };
}

function documentsOf({ baseUrl, registry, skills, guides, version }: DocsOptions): Map<string, Document> {
  const assets = new Map([
    [
      'docs.css',
      document('text/css; charset=utf-8', Buffer.concat([own('prose.css'), own('frame.css')]), { maxAge: ASSET_AGE }),
    ],
    ['reference.css', document('text/css; charset=utf-8', own('reference.css'), { maxAge: ASSET_AGE })],
    ['reference.js', document('text/javascript; charset=utf-8', own('reference.js'), { maxAge: ASSET_AGE })],
    ['openapi-explorer.js', document('text/javascript; charset=utf-8', renderer(), { maxAge: ASSET_AGE })],
  ]);
  const digest = createHash('sha256');
  for (const { codings } of assets.values()) digest.update(codings.identity.etag);
  const site: Site = { version, guides, build: digest.digest('hex').slice(0, 12) };
  const pages: Page[] = [
    {
      path: '/docs',
      title: 'Developer documentation',
      description: 'How to call the Installation Gateway over REST, MCP and A2A.',
      body: startBody({ baseUrl, guides, operations: registry.operations.length, skills }),
      sections: START_SECTIONS,
    },
    {
      path: '/docs/errors',
      title: 'Errors',
      description: 'Every failure code of the Installation Gateway and what to do about it.',
      body: errorsBody(baseUrl),
      sections: [],
    },
    ...[...guides].map(([name, text]) => ({
      path: `/docs/guides/${name}`,
      title: titleOfGuide(name),
      description: `Guide: ${titleOfGuide(name)}.`,
      ...guideBody(text, registry),
    })),
  ];
  return new Map([
    ...pages.map((page): [string, Document] => [
      page.path,
      document(HTML, prosePage(site, page), { maxAge: PAGE_AGE, csp: PAGE_CSP }),
    ]),
    ['/docs/reference', document(HTML, referencePage(site, registry), { maxAge: PAGE_AGE, csp: REFERENCE_CSP })],
    ...[...assets].map(([name, asset]): [string, Document] => [`/docs/assets/${name}`, asset]),
  ]);
}

const own = (name: string): Buffer => readFileSync(new URL(`src/surfaces/docs/${name}`, packageRoot));

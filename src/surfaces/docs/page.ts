import { GUIDE_NAMES, type GuideName } from '../../core/guides.ts';
import { type Html, html } from '../http/html.ts';
import { CHANGELOG } from './changelog.ts';

/** No inline script or style, and no foreign content. The icon is a `data:` URL. Scripts call only this gateway. */
export const PAGE_CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export interface DocsSite {
  readonly version: string;
  /** A hash of all assets, in their URLs, so that a page never loads the styles of another build. */
  readonly build: string;
  readonly guides: ReadonlyMap<GuideName, string>;
}

export interface Section {
  readonly id: string;
  readonly title: string;
}

export interface DocsPage {
  readonly path: string;
  readonly title: string;
  readonly description: string;
  readonly body: Html;
  /** The list of pages beside the text. The default is the list of guides. */
  readonly side?: Html;
  readonly sections?: readonly Section[];
  /** The default is one column of text. */
  readonly layout?: 'wide' | 'operation';
}

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='4' fill='%230b5d6b'/%3E%3Cpath d='M4 12V7a4 4 0 0 1 8 0v5' fill='none' stroke='%23fff' stroke-width='2'/%3E%3C/svg%3E";

const MAIN_LINKS: readonly (readonly [path: string, title: string, under: string])[] = [
  ['/docs', 'Start', '/docs#'],
  ['/docs/clients', 'Clients', '/docs/clients#'],
  ['/docs/reference', 'Reference', '/docs/reference/'],
  ['/docs/guides/overview', 'Guides', '/docs/guides/'],
  ['/docs/scopes', 'Scopes', '/docs/scopes#'],
  ['/docs/errors', 'Errors', '/docs/errors#'],
];

const DOCUMENTS: readonly (readonly [path: string, title: string])[] = [
  ['/llms.txt', 'llms.txt'],
  ['/llms-full.txt', 'llms-full.txt'],
  ['/api/v1/openapi.json', 'openapi.json'],
  [CHANGELOG, 'changelog.json'],
];

export const titleOfGuide = (name: GuideName): string => {
  const words = name.replaceAll('_', ' ');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
};

/** `aria-current` marks the link to the open page. */
export const pageLink = (current: string, path: string, inside: Html | string): Html =>
  path === current
    ? html`<li><a href="${path}" aria-current="page">${inside}</a></li>`
    : html`<li><a href="${path}">${inside}</a></li>`;

const mainLink = (current: string, [path, title, under]: (typeof MAIN_LINKS)[number]): Html =>
  path !== current && current.startsWith(under)
    ? html`<li><a href="${path}" aria-current="true">${title}</a></li>`
    : pageLink(current, path, title);

const mainLinks = (path: string): Html => html`<ul>${MAIN_LINKS.map((one) => mainLink(path, one))}</ul>`;

function guideList({ guides }: DocsSite, path: string): Html {
  const listed = GUIDE_NAMES.filter((name) => guides.has(name));
  return html`
<p>Guides</p>
<ul>${listed.map((name) => pageLink(path, `/docs/guides/${name}`, titleOfGuide(name)))}${pageLink(path, '/docs/limits', 'Limits')}</ul>
<p>As text</p>
<ul>${DOCUMENTS.map(([to, title]) => pageLink(path, to, title))}</ul>`;
}

const icon = (name: string, path: string): Html =>
  html`<svg class="${name}" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"><path d="${path}"/></svg>`;

const SEARCH = 'M7 2a5 5 0 1 0 0 10A5 5 0 0 0 7 2Zm4 9 3.5 3.5';
const MENU = 'M2 4h12M2 8h12M2 12h12';

/** The button that opens the dialog stays hidden until the script runs. */
const SEARCH_DIALOG = html`
<dialog class="search" aria-label="Search">
  <div class="field">
    ${icon('glass', SEARCH)}
    <input type="text" role="combobox" aria-label="Search operations, guides and errors" aria-expanded="false"
      aria-controls="found" aria-autocomplete="list" autocomplete="off" spellcheck="false"
      placeholder="Search operations, guides and errors">
  </div>
  <ul id="found" role="listbox" aria-label="Results"></ul>
  <p class="state" role="status"></p>
</dialog>`;

export function renderPage(site: DocsSite, page: DocsPage): string {
  const { path, title, description, body, layout, sections = [] } = page;
  const asset = (name: string): string => `/docs/assets/${name}?v=${site.build}`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="${description}">
<title>${title} · Installation Gateway</title>
<script src="${asset('theme.js')}"></script>
<link rel="preload" href="/docs/assets/text.woff2" as="font" type="font/woff2" crossorigin>
<link rel="preload" href="/docs/assets/mono.woff2" as="font" type="font/woff2" crossorigin>
<link rel="stylesheet" href="${asset('docs.css')}">
<link rel="icon" href="${ICON}">
<link rel="alternate" type="application/feed+json" title="Changelog" href="${CHANGELOG}">
<link rel="describedby" href="/llms.txt" type="text/plain">
<script type="module" src="${asset('docs.js')}"></script>
<script type="module" src="${asset('search.js')}" data-index="${asset('search.json')}"></script>${
    layout === 'operation' ? html`<script type="module" src="${asset('try.js')}"></script>` : undefined
  }
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="bar">
  <button class="menu" type="button" popovertarget="side" aria-label="Menu">${icon('lines', MENU)}</button>
  <a class="brand" href="/docs">Installation Gateway</a>
  <nav class="tops" aria-label="Main">${mainLinks(path)}</nav>
  <button class="find" type="button" aria-label="Search" hidden>${icon('glass', SEARCH)}<span>Search</span> <kbd aria-hidden="true">/</kbd></button>
  <button class="theme" type="button" hidden></button>
</header>
<div class="frame">
<nav id="side" class="side" popover aria-label="Pages">
<div class="main">${mainLinks(path)}</div>
${page.side ?? guideList(site, path)}
</nav>
<main id="content" class="${layout ?? 'text'}" tabindex="-1">${body}</main>
${
  sections.length > 1
    ? html`<nav class="sections" aria-labelledby="sections-title">
  <p id="sections-title">On this page</p>
  <ul>${sections.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`)}</ul>
</nav>`
    : undefined
}
</div>
<footer class="foot"><p>Installation Gateway ${site.version}</p>
<p>${DOCUMENTS.map(([to, title]) => html`<a href="${to}">${title}</a> `)}</p></footer>
${SEARCH_DIALOG}
</body>
</html>
`.text;
}

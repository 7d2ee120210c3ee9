import { GUIDE_NAMES, type GuideName } from '../../core/guides.ts';
import { type Html, html } from '../http/html.ts';

/**
 * The content security policy of a page. The policy allows no scripts, no inline styles and no foreign content. The
 * icon is a `data:` URL.
 */
export const PAGE_CSP =
  "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export interface Site {
  readonly version: string;
  /** A hash of all assets. Asset URLs contain the hash, so that a page never loads the styles of another build. */
  readonly build: string;
  readonly guides: ReadonlyMap<GuideName, string>;
}

export interface Page {
  readonly path: string;
  readonly title: string;
  readonly description: string;
  readonly body: Html;
  readonly sections: readonly Section[];
}

export interface Section {
  readonly id: string;
  readonly title: string;
}

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='4' fill='%230b5d6b'/%3E%3Cpath d='M4 12V7a4 4 0 0 1 8 0v5' fill='none' stroke='%23fff' stroke-width='2'/%3E%3C/svg%3E";

const MAIN_LINKS: readonly (readonly [path: string, title: string])[] = [
  ['/docs', 'Start'],
  ['/docs/reference', 'Reference'],
  ['/docs/guides/overview', 'Guides'],
  ['/docs/errors', 'Errors'],
  ['/llms-full.txt', 'llms-full.txt'],
];

const DOCUMENTS: readonly (readonly [path: string, title: string])[] = [
  ['/llms.txt', 'llms.txt'],
  ['/llms-full.txt', 'llms-full.txt'],
  ['/api/v1/openapi.json', 'openapi.json'],
];

export const titleOfGuide = (name: GuideName): string => {
  const words = name.replaceAll('_', ' ');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
};

const link = (current: string, path: string, title: string): Html =>
  path === current
    ? html`<li><a href="${path}" aria-current="page">${title}</a></li>`
    : html`<li><a href="${path}">${title}</a></li>`;

const mainLink = (current: string, [path, title]: readonly [string, string]): Html =>
  title === 'Guides' && path !== current && current.startsWith('/docs/guides/')
    ? html`<li><a href="${path}" aria-current="true">${title}</a></li>`
    : link(current, path, title);

export const shell = (
  { build }: Site,
  page: { readonly path: string; readonly title: string; readonly description: string; readonly skip: string },
  { head, body }: { readonly head?: Html; readonly body: Html },
): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="${page.description}">
<title>${page.title} · Installation Gateway</title>
<link rel="icon" href="${ICON}">
<link rel="describedby" href="/llms.txt" type="text/plain">
<link rel="stylesheet" href="/docs/assets/docs.css?v=${build}">${head}
</head>
<body>
<a class="skip" href="#${page.skip}">Skip to the content</a>
<header class="bar">
  <a class="brand" href="/docs">Installation Gateway</a>
  <nav aria-label="Main">
    <ul>${MAIN_LINKS.map((one) => mainLink(page.path, one))}</ul>
  </nav>
</header>
${body}
</body>
</html>
`.text;

export function prosePage(site: Site, page: Page): string {
  const guides = GUIDE_NAMES.filter((name) => site.guides.has(name)).map((name) =>
    link(page.path, `/docs/guides/${name}`, titleOfGuide(name)),
  );
  const all = (label: string, kind: string): Html => html`
<nav class="${kind}" aria-label="${label}">
  <p>Start</p>
  <ul>${[link(page.path, '/docs', 'Start'), link(page.path, '/docs/reference', 'Reference'), link(page.path, '/docs/errors', 'Errors')]}</ul>
  <p>Guides</p>
  <ul>${guides}</ul>
  <p>As text</p>
  <ul>${DOCUMENTS.map(([path, title]) => link(page.path, path, title))}</ul>
</nav>`;
  const body = html`
<div class="frame">
${all('Pages', 'side')}
<main id="content" tabindex="-1">${page.body}</main>
${
  page.sections.length > 1
    ? html`<nav class="sections" aria-labelledby="sections-title">
  <p id="sections-title">On this page</p>
  <ul>${page.sections.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`)}</ul>
</nav>`
    : undefined
}
</div>
<footer class="foot">
${all('All pages', 'map')}
<p class="version">Installation Gateway ${site.version}</p>
</footer>`;
  return shell(site, { ...page, skip: 'content' }, { body });
}

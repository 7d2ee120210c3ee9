import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { TAGS, type Tag, type Tool } from '../../core/tool.ts';
import type { Registry } from '../../gateway/registry.ts';
import { type Html, html } from '../http/html.ts';
import { type Site, shell } from './page.ts';

const require = createRequire(import.meta.url);

/** The renderer as its package brings it: one module for browsers without imports. */
export const renderer = (): Buffer =>
  readFileSync(require.resolve('openapi-explorer/dist/browser/openapi-explorer.min.js'));

/**
 * The renderer puts one style element into its shadow root, whose text depends on its version and attributes alone:
 * this is its hash. It also styles by attributes, some of them computed, which no list of hashes can cover; a style
 * attribute loads nothing here, because images come from this origin only. Scripts come from this origin only.
 */
const THEME = "'sha256-9aqQytT2ZQbdDJhFfTQabM6FIXrmKZIvlqr19fkzwl0='";

export const REFERENCE_CSP = [
  "default-src 'none'",
  "script-src 'self'",
  `style-src-elem 'self' ${THEME}`,
  "style-src-attr 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Where the reference shows an operation: the renderer's own form of an anchor. */
export const addressOf = (tool: Tool): string =>
  `/docs/reference#?route=${tool.method.toLowerCase()}-${tool.path.replace(/[\s#:?&={}-]+/g, '-')}`;

const group = (registry: Registry, tag: Tag): Html => html`
<h2>${tag}</h2>
<p>${TAGS[tag]}</p>
<ul class="operations">${registry.operations
  .filter((tool) => tool.tag === tag)
  .sort((a, b) => (a.path < b.path ? -1 : 1))
  .map(
    (tool) =>
      html`<li><a href="${addressOf(tool).replace('/docs/reference', '')}">${tool.title}</a> <code>${tool.method} ${tool.path}</code></li>`,
  )}</ul>`;

/** The index stands in the page itself: the renderer shows it first, and without scripts it is what one sees. */
export function referencePage(site: Site, registry: Registry): string {
  const tags = [...new Set(registry.operations.map((tool) => tool.tag))].sort();
  const description = 'Every operation of the gateway with its parameters, answers and failures.';
  const body = html`
<main id="content" class="overview" tabindex="-1">
  <h1>Reference</h1>
  <p>All ${registry.operations.length} operations. Each but those of Realtime is also an MCP tool, under the name that
  <a href="/api/v1/openapi.json">openapi.json</a> gives as its <code>operationId</code>. Every request carries
  <code>Authorization: Bearer TOKEN</code>; failures are explained under <a href="/docs/errors">Errors</a>.</p>
  <noscript><p>The details of an operation need scripts. Without them, read <a href="/llms-full.txt">llms-full.txt</a>,
  which holds the same.</p></noscript>
  ${tags.map((tag) => group(registry, tag))}
</main>`;
  const head = html`
<link rel="stylesheet" href="/docs/assets/reference.css?v=${site.build}">
<script type="module" src="/docs/assets/openapi-explorer.js?v=${site.build}"></script>
<script type="module" src="/docs/assets/reference.js?v=${site.build}"></script>`;
  const page = { path: '/docs/reference', title: 'Reference', description, skip: 'content' };
  return shell(site, page, { head, body });
}

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { TAGS, type Tag, type Tool } from '../../core/tool.ts';
import type { Registry } from '../../gateway/registry.ts';
import { type Html, html } from '../http/html.ts';
import { type Site, shell } from './page.ts';

const require = createRequire(import.meta.url);

export const renderer = (): Buffer =>
  readFileSync(require.resolve('openapi-explorer/dist/browser/openapi-explorer.min.js'));

/**
 * The hash of the style element that the renderer adds to its shadow root. The content security policy allows this
 * element by its hash. The hash is fixed, because the text of the style depends only on the version and the attributes
 * of the renderer.
 *
 * The policy allows every style attribute. The renderer computes its style attributes, and no list of hashes can cover
 * computed text. A style attribute cannot load foreign content, because the policy allows images and scripts only from
 * the gateway's origin.
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

/**
 * The API reference. The page itself contains a list of all operations. A browser without scripts shows only this list.
 */
export function referencePage(site: Site, registry: Registry): string {
  const tags = [...new Set(registry.operations.map((tool) => tool.tag))].sort();
  const description = 'Every operation of the gateway with its parameters, answers and failures.';
  const body = html`
<main id="content" class="overview" tabindex="-1">
  <h1>Reference</h1>
  <p>All ${registry.operations.length} operations. Each operation except those of Realtime is also an MCP tool. Its name is
  the <code>operationId</code> in <a href="/api/v1/openapi.json">openapi.json</a>. Every request needs
  <code>Authorization: Bearer TOKEN</code>. <a href="/docs/errors">Errors</a> explains the failures.</p>
  <noscript><p>The details of an operation need scripts. Without scripts, read
  <a href="/llms-full.txt">llms-full.txt</a>, which has the same content.</p></noscript>
  ${tags.map((tag) => group(registry, tag))}
</main>`;
  const head = html`
<link rel="stylesheet" href="/docs/assets/reference.css?v=${site.build}">
<script type="module" src="/docs/assets/openapi-explorer.js?v=${site.build}"></script>
<script type="module" src="/docs/assets/reference.js?v=${site.build}"></script>`;
  const page = { path: '/docs/reference', title: 'Reference', description, skip: 'content' };
  return shell(site, page, { head, body });
}

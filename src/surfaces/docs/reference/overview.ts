import { TAGS, type Tag, type Tool } from '../../../core/tool.ts';
import type { Registry } from '../../../gateway/registry.ts';
import { type Html, html, slug } from '../../http/html.ts';
import { pageLink, type Section } from '../page.ts';
import { addressOf, method } from './words.ts';

// The cast is correct: the keys of TAGS are the tags.
const tagsOf = (registry: Registry): Tag[] =>
  (Object.keys(TAGS) as Tag[]).filter((tag) => registry.operations.some((tool) => tool.tag === tag));

const operationsOf = (registry: Registry, tag: Tag): Tool[] =>
  registry.operations.filter((tool) => tool.tag === tag).sort((a, b) => (a.path < b.path ? -1 : 1));

export const operationList = (registry: Registry, path: string): Html =>
  html`<div class="operations">${tagsOf(registry).map(
    (tag) =>
      html`<p>${tag}</p><ul>${operationsOf(registry, tag).map((tool) =>
        pageLink(path, addressOf(tool), html`${tool.title} ${method(tool)}`),
      )}</ul>`,
  )}</div>`;

export const overviewSections = (registry: Registry): Section[] =>
  tagsOf(registry).map((tag) => ({ id: slug(tag), title: tag }));

export const overviewBody = (registry: Registry, baseUrl: string): Html => html`
<h1>Reference</h1>
<p class="lead">All ${registry.operations.length} operations. Each operation except those of Realtime is also an MCP tool
with the same inputs, answers and permissions.</p>
<dl class="facts">
  <div><dt>Address</dt><dd><code>${baseUrl}</code></dd></div>
  <div><dt>Token</dt><dd><code>Authorization: Bearer TOKEN</code> in every request</dd></div>
  <div><dt>Bodies</dt><dd>JSON in UTF-8. The page of an operation lists the members of its answer.</dd></div>
  <div><dt>Errors</dt><dd><a href="/docs/errors">problem documents</a> with a stable code</dd></div>
  <div><dt>As a file</dt><dd><a href="/api/v1/openapi.json">openapi.json</a>, OpenAPI 3.1</dd></div>
</dl>
${tagsOf(registry).map(
  (tag) => html`
<h2 id="${slug(tag)}"><a class="anchor" href="#${slug(tag)}">${tag}</a></h2>
<p>${TAGS[tag]}</p>
<ul class="catalogue">${operationsOf(registry, tag).map(
    (tool) =>
      html`<li><a href="${addressOf(tool)}">${tool.title}</a> <span>${method(tool)} <code>${tool.path}</code></span></li>`,
  )}</ul>`,
)}`;

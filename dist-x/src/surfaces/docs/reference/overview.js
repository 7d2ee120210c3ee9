import { TAGS } from '../../../core/tool.js';
import { html, slug } from '../../http/html.js';
import { pageLink } from '../page.js';
import { addressOf, method } from './words.js';
// The cast is correct: the keys of TAGS are the tags.
const tagsOf = (registry) => Object.keys(TAGS).filter((tag) => registry.operations.some((tool) => tool.tag === tag));
const operationsOf = (registry, tag) => registry.operations.filter((tool) => tool.tag === tag).sort((a, b) => (a.path < b.path ? -1 : 1));
export const operationList = (registry, path) => html `<div class="operations">${tagsOf(registry).map((tag) => html `<p>${tag}</p><ul>${operationsOf(registry, tag).map((tool) => pageLink(path, addressOf(tool), html `${tool.title} ${method(tool)}`))}</ul>`)}</div>`;
export const overviewSections = (registry) => tagsOf(registry).map((tag) => ({ id: slug(tag), title: tag }));
export const overviewBody = (registry, baseUrl) => html `
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
${tagsOf(registry).map((tag) => html `
<h2 id="${slug(tag)}"><a class="anchor" href="#${slug(tag)}">${tag}</a></h2>
<p>${TAGS[tag]}</p>
<ul class="catalogue">${operationsOf(registry, tag).map((tool) => html `<li><a href="${addressOf(tool)}">${tool.title}</a> <span>${method(tool)} <code>${tool.path}</code></span></li>`)}</ul>`)}`;
//# sourceMappingURL=overview.js.map
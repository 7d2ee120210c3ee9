import { PUBLIC_LIMITS } from '../../core/limits.js';
import { html, slug } from '../http/html.js';
export const LIMIT_SECTIONS = PUBLIC_LIMITS.map(([title]) => ({ id: slug(title), title }));
const row = ([what, limit]) => html `
<tr><th scope="row">${what}</th><td>${limit}</td></tr>`;
export const limitsBody = () => html `
<h1>Limits</h1>
<p class="lead">The limits of the gateway.
<a href="/docs/reference/gateway_context"><code>gateway_context</code></a> (GET /api/v1/context) tells an app its own quota in
<code>limits</code>, and the header <code>RateLimit</code> of each answer tells how many units are left.</p>
${PUBLIC_LIMITS.map(([title, rows]) => html `
<h2 id="${slug(title)}"><a class="anchor" href="#${slug(title)}">${title}</a></h2>
<div class="table" role="region" aria-labelledby="${slug(title)}" tabindex="0">
<table>
  <thead><tr><th scope="col">What</th><th scope="col">Limit</th></tr></thead>
  <tbody>${rows.map(row)}
  </tbody>
</table>
</div>`)}`;
//# sourceMappingURL=limits.js.map
import { PUBLIC_LIMITS } from '../../core/limits.ts';
import { type Html, html, slug } from '../http/html.ts';
import type { Section } from './page.ts';

export const LIMIT_SECTIONS: readonly Section[] = Object.keys(PUBLIC_LIMITS).map((title) => ({
  id: slug(title),
  title,
}));

const row = ([what, limit]: readonly [string, string]): Html => html`
<tr><th scope="row">${what}</th><td>${limit}</td></tr>`;

export const limitsBody = (): Html => html`
<h1>Limits</h1>
<p class="lead">The limits of the gateway.
<a href="/docs/reference/gateway_context"><code>gateway_context</code></a> (GET /api/v1/context) tells an app its own quota in
<code>limits</code>, and the header <code>RateLimit</code> of each answer tells how many units are left.</p>
${Object.entries(PUBLIC_LIMITS).map(
  ([title, rows]) => html`
<h2 id="${slug(title)}"><a class="anchor" href="#${slug(title)}">${title}</a></h2>
<div class="table" role="region" aria-labelledby="${slug(title)}" tabindex="0">
<table>
  <thead><tr><th scope="col">What</th><th scope="col">Limit</th></tr></thead>
  <tbody>${Object.entries(rows).map(row)}
  </tbody>
</table>
</div>`,
)}`;

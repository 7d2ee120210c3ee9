import { type Html, html } from '../http/html.ts';

/** The page for an address that does not exist. The page shows no part of the address. */
export const missingBody = (): Html => html`
<h1>This page does not exist</h1>
<p class="lead">The address has no page. An API client gets the problem
<a href="/docs/errors#not_found"><code>not_found</code></a> here.</p>
<ul class="cards">
  <li><a href="/docs">Start</a><span>make your first call</span></li>
  <li><a href="/docs/reference">Reference</a><span>all operations, with examples</span></li>
  <li><a href="/docs/guides/overview">Guides</a><span>one job each</span></li>
  <li><a href="/docs/errors">Errors</a><span>every code and what to do about it</span></li>
</ul>`;

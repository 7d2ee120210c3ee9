import { html } from '../http/html.js';
import { a2aClients, firstCall, mcpClients } from './clients.js';
import { code } from './highlight.js';
import { titleOfGuide } from './page.js';
import { words } from './reference/words.js';
const PURPOSE = {
    overview: 'first calls, tokens, identifiers, masks, pages, quota',
    investigation: 'find conversations, read messages, fetch files',
    contacts: 'find a person, their visitors and notes',
    reporting: 'the AI conversation summary and its measures',
    configuration: 'AI features and settings',
    agent_tasks: 'A2A skills as tasks',
    event_recovery: 'subscriptions, cursors, webhooks and recovery after a gap',
};
export const START_SECTIONS = [
    { id: 'first-call', title: 'Make your first call' },
    { id: 'mcp', title: 'MCP clients' },
    { id: 'oauth', title: 'OAuth' },
    { id: 'a2a', title: 'A2A' },
    { id: 'guides', title: 'Guides' },
    { id: 'documents', title: 'Documents' },
];
export const startBody = ({ baseUrl, guides, registry, skills }) => html `
<h1>Installation Gateway</h1>
<p class="lead">Apps and AI agents read stored customer-support data through this gateway over REST, MCP and A2A, and
each token sees only what it was granted.</p>

<h2 id="first-call"><a class="anchor" href="#first-call">Make your first call</a></h2>
<p>The operator of the gateway issues your token. A gateway with the demo keeps a token in
<code>demo-token.json</code> in its data folder, such as <code>.data</code>. Ask first what the token may do: the context lists its websites, scopes
and kinds of data.</p>
${firstCall(baseUrl)}
<p>Then list the conversations of a website. The demo has the website <code>web_1_1</code>. In other gateways, take an id
from the context:</p>
${code('Terminal', `curl -s "${baseUrl}/api/v1/conversations?website_id=web_1_1&limit=3" \\
  -H "Authorization: Bearer $TOKEN"`, 'bash')}
<ul class="cards">
  <li><a href="/docs/reference">Reference</a><span>all ${registry.operations.length} operations, with examples to try</span></li>
  <li><a href="/docs/guides/overview">Overview guide</a><span>read this before the first integration</span></li>
  <li><a href="/docs/errors">Errors</a><span>every code and what to do about it</span></li>
  <li><a href="/llms-full.txt">llms-full.txt</a><span>everything in one text, for a model’s context</span></li>
</ul>

<h2 id="mcp"><a class="anchor" href="#mcp">MCP clients</a></h2>
<p>A person needs no token: paste <code>${baseUrl}/mcp</code> into a client, and sign in.
<a href="/docs/clients">Clients</a> shows what to click in Claude, ChatGPT, Codex, VS Code and Cursor.</p>
<p>The endpoint is Streamable HTTP, POST only, with a token in every request. A client
sees only the tools that its token may call. Each operation except the Realtime operations is a tool. In the snippets, replace <code>YOUR_TOKEN</code> with your token, or set the
environment variable <code>TOKEN</code>.</p>
${mcpClients(baseUrl)}

<h2 id="oauth"><a class="anchor" href="#oauth">OAuth</a></h2>
<p>A credential is also an OAuth client. With its id and secret, the client gets tokens that are valid for 15 minutes on
one interface. A token can have fewer permissions than the credential.</p>
${code('Terminal', `curl -s ${baseUrl}/oauth/token -u "$CREDENTIAL_ID:$SECRET" \\
  -d grant_type=client_credentials -d resource=${baseUrl} -d scope=website_read`, 'bash')}
<p>A hosted app that acts for an organization needs the consent of an owner or admin. Send the browser to
<code>${baseUrl}/oauth/authorize</code> (authorization code with PKCE). The owner or admin signs in, reads each
permission and ticks what the app may have. <a href="/llms-full.txt">llms-full.txt</a> describes the parameters. OAuth libraries
read <a href="/.well-known/oauth-authorization-server">the metadata</a> at its standard address.</p>

<h2 id="a2a"><a class="anchor" href="#a2a">A2A</a></h2>
<p>Agents that speak A2A 1.0 or 0.3 find eight skills in the signed public card
<code>${baseUrl}/.well-known/agent-card.json</code>. The endpoint is <code>${baseUrl}/a2a</code>: JSON-RPC over POST, with
the token in every request, and <code>A2A-Version: 1.0</code> for version 1.0. A message starts a task. The task runs one
operation, and the artifact of the task holds the answer of this operation.</p>
<ul class="index-list">${skills.all.map(({ skill }) => html `<li><code>${skill.name}</code>: ${words(skill.description, registry)}</li>`)}</ul>
${a2aClients(baseUrl)}
<p>The guide <a href="/docs/guides/agent_tasks">Agent tasks</a> explains how tasks run.</p>

<h2 id="guides"><a class="anchor" href="#guides">Guides</a></h2>
<p>Each guide covers one job. A credential can also read its guides over the API.</p>
<ul class="index-list">${[...guides.keys()].map((name) => html `<li><a href="/docs/guides/${name}">${titleOfGuide(name)}</a>: ${PURPOSE[name]}</li>`)}</ul>

<h2 id="documents"><a class="anchor" href="#documents">Documents</a></h2>
<ul class="index-list">
  <li><a href="/llms-full.txt">llms-full.txt</a>: rules, errors, all operations with examples and the guides, in one
  text</li>
  <li><a href="/llms.txt">llms.txt</a>: the index of these documents for agents (llmstxt.org)</li>
  <li><a href="/api/v1/openapi.json">openapi.json</a>: the OpenAPI 3.1 document of the REST operations</li>
</ul>`;
//# sourceMappingURL=start.js.map
import { FAILURE_CODES, type FailureCode, statusOf, titleOf } from '../../core/failures.ts';
import { type Html, html } from '../http/html.ts';
import { code } from './highlight.ts';

const ADVICE: Readonly<Record<FailureCode, string>> = {
  invalid_request: 'Send no body with a read, one Host header, and known guide names. The same request fails again.',
  invalid_parameter:
    'Compare each listed parameter with the reference. The answer never holds the value that you sent.',
  duplicate_parameter: 'If a parameter takes several values, separate the values by commas.',
  unsupported_parameter: 'The gateway never ignores an unknown name.',
  invalid_cursor: 'Start again at the first page. Keep all other parameters unchanged from page to page.',
  invalid_json: 'Two members of one object must not have the same name.',
  body_too_large: 'The description of the operation gives the limit.',
  idempotency_key_required: 'Create a key for this write and keep the key. Send the same key when you repeat the call.',
  invalid_idempotency_key: 'A random UUID is a good key.',
  if_match_required: 'The revision is in the header ETag and in the body of the answer.',
  unauthenticated: 'The gateway does not read tokens in a URL.',
  token_expired: 'The operator of the gateway issues new tokens. Keep your cursors.',
  token_revoked: 'Do not retry with this token.',
  authority_changed: 'Read /api/v1/context again with the new token, because the permissions have changed.',
  wrong_resource: 'A token for REST is not valid on MCP or A2A.',
  origin_not_allowed:
    'Call from a program, not from a web page of another site. Use the public address of the gateway.',
  not_found: 'Do not conclude that the record does not exist. The record may be outside your authority.',
  not_permitted:
    'The member `required` names the scopes and the data-access flags that are missing. Both are needed. Without ' +
    '`required`, the owner has switched the operation off for the app.',
  method_not_allowed: 'The reference gives the method of each operation.',
  not_acceptable: 'Send Accept: application/json. For file content you can also send Accept: application/octet-stream.',
  idempotency_conflict: 'A key belongs to the input of its first call.',
  operation_in_progress: 'Wait for the number of seconds in Retry-After before you send the request again.',
  operation_conflict: 'The same call fails again until the data changes.',
  outcome_unknown: 'Keep the key and the input. operation_get returns the status of the write.',
  approval_rejected: 'The page of the approval shows who has decided.',
  approval_lapsed: 'A write waits for at most 24 hours. Each change of the credential ends the wait, too.',
  approval_required: 'Over REST and MCP, the write waits for a person, and operation_get tells the decision.',
  version_conflict: 'Discard the chunks that you have. Start again with the new version.',
  revision_changed: 'Apply your change to the resource that you have read, and send the new revision.',
  concurrent_mutation: 'Another client may be changing the same resource.',
  inventory_limit: 'The guide event_recovery gives the limits.',
  replay_expired: 'The guide event_recovery describes the steps.',
  precondition_failed: 'Discard the bytes that you have. Start again with the new version.',
  unsupported_media_type:
    'Send application/json without a content coding. OAuth endpoints take application/x-www-form-urlencoded.',
  range_not_satisfiable: 'The header Content-Range of the answer gives the size of the file.',
  organization_moved:
    'Keep tokens, cursors and keys: they work there. The member `base_url` replaces the base URL of this gateway.',
  capability_unavailable: 'No scope gives this capability to an application.',
  adapter_not_available:
    'The list of AI features shows in application_execution which features an application can run.',
  human_consent_unsupported: 'The operator of the gateway issues installation tokens.',
  upgrade_required: 'The guide event_recovery names the subprotocols to send.',
  answers_unread: 'Read the answers that were sent, or close their connections. Then send the request again.',
  quota_exceeded: 'The header RateLimit gives the number of units that are left.',
  approval_limit: 'Each credential can have 100 such writes. Each of them waits for at most 24 hours.',
  stream_limit:
    'Each process can have 20 streams of a credential open, 500 of an app, and 1,000 in all. Close a stream that you no longer read.',
  task_limit: 'Tasks expire automatically. Retry-After gives the number of seconds to wait.',
  internal: 'Try once more. Then give the request_id to the operator of the gateway.',
  service_unavailable: 'Wait longer before each further retry.',
  enrollment_unavailable: 'Waiting does not help.',
  native_unavailable: 'Wait longer before each further retry.',
  event_family_paused: 'Your position in the journal has not changed.',
  subscription_corrupt: 'Then read the data again over REST, because receipts can be missing.',
  journal_unavailable: 'Your position in the journal has not changed.',
  authority_unavailable: 'The token can still be valid.',
};

const example = (baseUrl: string): string =>
  `HTTP/1.1 404 Not Found
Content-Type: application/problem+json

{
  "type": "${baseUrl}/problems/not_permitted",
  "title": "${titleOf('not_permitted')}",
  "status": ${statusOf('not_permitted')},
  "code": "not_permitted",
  "request_id": "req_5d2f0b6c9e8a41d7b3c6f0a1e2d3c4b5",
  "required": { "scopes": ["contact_read"], "data_access": [], "unrestricted": true }
}`;

/** A line can break only after an underscore. */
const breakable = (code: string): Html[] =>
  code.split('_').map((word, i) => (i === 0 ? html`${word}` : html`_<wbr>${word}`));

const row = (failure: FailureCode): Html => html`
<tr id="${failure}">
  <th scope="row"><a href="#${failure}"><code>${breakable(failure)}</code></a></th>
  <td class="number">${statusOf(failure)}</td>
  <td>${titleOf(failure)}<p>${ADVICE[failure]}</p></td>
</tr>`;

export const errorsBody = (baseUrl: string): Html => html`
<h1>Errors</h1>
<p class="lead">The gateway answers a refused request with a problem document (RFC 9457). The member <code>code</code>
is stable. The member <code>type</code> links to the entry on this page. A problem document never holds a value that you
sent or that is stored.</p>
<h2 id="form">The form of an error</h2>
${code('Reply', example(baseUrl), 'http')}
<ul>
  <li>Decide by <code>code</code>, not by <code>title</code>, because titles can change.</li>
  <li><code>errors</code> has at most 20 items, one for each refused input. An item names the input in
  <code>parameter</code> (of the path, the query or a header) or in <code>pointer</code> (of the body).
  Its <code>code</code> says what is wrong. Its <code>expected</code> says in words what the gateway accepts.</li>
  <li><code>retry_after</code> and the header <code>Retry-After</code> are whole seconds.</li>
  <li><code>request_id</code> equals the header <code>X-Request-Id</code> of the same reply. Quote it in reports.</li>
  <li>Over MCP, <code>structuredContent.error</code> has the same codes and numbers.</li>
</ul>
<h2 id="codes">All codes</h2>
<div class="table" role="region" aria-labelledby="codes" tabindex="0">
<table>
  <thead><tr><th scope="col">Code</th><th scope="col">Status</th><th scope="col">Meaning and what to do</th></tr></thead>
  <tbody>${[...FAILURE_CODES].sort((a, b) => statusOf(a) - statusOf(b)).map(row)}
  </tbody>
</table>
</div>`;

/** The page for an unknown address. It shows no part of the address. */
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

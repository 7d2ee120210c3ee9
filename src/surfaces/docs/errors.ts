import { FAILURE_CODES, type FailureCode, statusOf, titleOf } from '../../core/failures.ts';
import { code, type Html, html } from '../http/html.ts';

const ADVICE: Readonly<Record<FailureCode, string>> = {
  invalid_request:
    'Correct the request: no body on a read, one Host header, known guide names. Repeating it does not help.',
  invalid_parameter: 'Read errors[], which names each parameter, and compare it with the reference.',
  duplicate_parameter: 'Send each parameter and header once. Separate several values of one parameter by commas.',
  unsupported_parameter: 'Remove the parameter that errors[] names. Unknown names are never ignored.',
  invalid_cursor: 'Start again at the first page. Pass next_cursor unchanged, with the same other parameters.',
  invalid_json: 'Send one JSON object in UTF-8 without duplicate members.',
  body_too_large: 'Send a smaller body. The description of the operation gives the limit.',
  idempotency_key_required: 'Create a key for this effect, keep it, and send the same key when you repeat the call.',
  invalid_idempotency_key: 'Choose a key of 1 to 128 printable ASCII characters without spaces.',
  if_match_required: 'Read the resource, then send its revision in If-Match.',
  unauthenticated: 'Send Authorization: Bearer with your token. The gateway does not read tokens in a URL.',
  token_expired: 'Get a new token from the operator of the gateway. Keep your cursors.',
  token_revoked: 'Ask the operator of the gateway for a new credential. Do not retry.',
  authority_changed: 'Get a new token and read /api/v1/context again, because the permissions have changed.',
  wrong_resource: 'Request a token for this interface. A token for REST is not valid on MCP or A2A.',
  origin_not_allowed:
    'Call from a program, not from a web page of another site. Use the public address of the gateway.',
  not_found:
    'Check the id and the website. Do not conclude that the record does not exist: it may be outside your authority.',
  not_permitted:
    'Read required, which names the scopes and data access that are missing, and ask the operator for them.',
  method_not_allowed: 'Use a method that the Allow header names.',
  not_acceptable: 'Accept application/json, or for file content application/octet-stream.',
  idempotency_conflict: 'Use a new key for a new effect. A key belongs to the input of its first call.',
  operation_in_progress: 'Wait, then repeat the call with the same key and input.',
  operation_conflict: 'Read the resource again and decide again. Repeating the same call does not help.',
  outcome_unknown: 'Keep the key and the input, and check the data itself. Never send the effect with a new key.',
  version_conflict: 'Discard the chunks you have. Read the file’s metadata and start again with its version.',
  revision_changed: 'Read the resource again, apply your change to it, and send the new revision.',
  concurrent_mutation: 'Read the resource, then try again.',
  inventory_limit: 'Delete a resource of this kind that you no longer need.',
  replay_expired: 'Read the data again over REST, then replace the subscription (guide event_recovery).',
  precondition_failed: 'Read the file’s metadata and start again with its version.',
  unsupported_media_type: 'Send application/json without a content coding.',
  range_not_satisfiable: 'Ask for one range of at most 65,536 bytes inside the file.',
  capability_unavailable: 'Do not use it. No scope gives this capability to an application.',
  adapter_not_available: 'Choose an AI feature of a type that applications may run.',
  human_consent_unsupported: 'Use an installation token of your app.',
  upgrade_required: 'Open a WebSocket (version 13) with the subprotocols that the guide event_recovery names.',
  answers_unread: 'Read the answers that were sent, or close their connections. Then send the request again.',
  quota_exceeded: 'Wait Retry-After seconds. The RateLimit header gives the units that are left.',
  task_limit: 'Wait Retry-After seconds. Tasks expire automatically.',
  internal: 'Try once more. If it happens again, give the request_id to the operator of the gateway.',
  service_unavailable: 'Retry after Retry-After seconds. Wait longer before each further retry.',
  enrollment_unavailable: 'Ask the operator of the gateway to map an author to this credential. Waiting does not help.',
  native_unavailable: 'Retry later with the same key and input.',
  event_family_paused: 'Keep the cursor and retry later. The position has not changed.',
  subscription_corrupt: 'Create a new subscription, and read the data again over REST.',
  journal_unavailable: 'Retry later with the same cursor.',
  authority_unavailable: 'Retry after Retry-After seconds. The token may be valid.',
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

/** A failure code as HTML. A line can break after an underscore, and only there. */
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
<p class="lead">The gateway answers a refused request with a problem document (RFC 9457). Its <code>code</code> is
stable. Its <code>type</code> links to the entry on this page. Its texts never hold what you sent or what is stored.</p>
<h2 id="form">The form of an error</h2>
${code('Reply', example(baseUrl))}
<ul>
  <li>Decide by <code>code</code>, not by <code>title</code>, because titles can change.</li>
  <li><code>errors</code> names at most 20 refused parameters. It never holds their values.</li>
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

import { FAILURE_CODES, type FailureCode, statusOf, titleOf } from '../../core/failures.ts';
import { code, type Html, html } from '../http/html.ts';

/** What the caller should do. Every code has a sentence, or this does not compile. */
const ADVICE: Readonly<Record<FailureCode, string>> = {
  invalid_request:
    'Mend the request: no body on a read, one Host header, known guide names. Repeating it does not help.',
  invalid_parameter: 'Read errors[], which names each parameter, and compare it with the reference.',
  duplicate_parameter: 'Send each parameter and header once. Several values of one parameter are separated by commas.',
  unsupported_parameter: 'Remove the parameter that errors[] names. Unknown names are never ignored.',
  invalid_cursor: 'Begin at the first page. Pass next_cursor unchanged, with the same other parameters.',
  invalid_json: 'Send one JSON object in UTF-8 without duplicate members.',
  body_too_large: 'Send less. The limit stands in the description of the operation.',
  idempotency_key_required: 'Make a key for this effect, keep it, and send it again when you repeat the call.',
  invalid_idempotency_key: 'Choose a key of 1 to 128 printable ASCII characters without spaces.',
  if_match_required: 'Read the resource, then send its revision in If-Match.',
  unauthenticated: 'Send Authorization: Bearer with the token you were given. Tokens in a URL are not read.',
  token_expired: 'Get a new token from the operator of the gateway. Keep your cursors.',
  token_revoked: 'Ask the operator of the gateway for a new credential. Do not retry.',
  authority_changed: 'Get a new token and read /api/v1/context again: what it may do has changed.',
  wrong_resource: 'Request a token for this interface. One for REST is not valid on MCP or A2A.',
  origin_not_allowed: 'Call from a program, not from a page of another site, and under the address of the gateway.',
  not_found:
    'Check the id and the website. Do not conclude that the record does not exist: it may lie outside your authority.',
  not_permitted:
    'Read required, which names the scopes and data access that are missing, and ask the operator for them.',
  method_not_allowed: 'Use a method that the Allow header names.',
  not_acceptable: 'Accept application/json, or for file content application/octet-stream.',
  idempotency_conflict: 'Use a new key for a new effect. The old key stays with its first input.',
  operation_in_progress: 'Wait, then repeat the call with the same key and input.',
  operation_conflict: 'Read the resource again and decide anew. Repeating the same call does not help.',
  outcome_unknown: 'Keep key and input and look at the data itself. Never send the effect under a new key.',
  version_conflict: 'Drop the chunks you have, read the file’s metadata and begin again with its version.',
  revision_changed: 'Read the resource, apply your change to what you find, and send the new revision.',
  concurrent_mutation: 'Read the resource, then try again.',
  inventory_limit: 'Delete a resource of this kind that you no longer need.',
  replay_expired: 'Reconcile with REST reads, then replace the subscription (guide event_recovery).',
  precondition_failed: 'Read the file’s metadata and begin again with its version.',
  unsupported_media_type: 'Send application/json without a content coding.',
  range_not_satisfiable: 'Ask for one range of at most 65,536 bytes inside the file.',
  capability_unavailable: 'Do without it. No grant gives this capability to an application.',
  adapter_not_available: 'Choose an AI feature whose type applications may run.',
  human_consent_unsupported: 'Use an installation token of your app.',
  upgrade_required: 'Open it as a WebSocket, version 13, with the subprotocols that the guide event_recovery names.',
  answers_unread: 'Read the answers that were sent, or close their connections. Then send the request again.',
  quota_exceeded: 'Wait Retry-After seconds. The RateLimit header tells how many units are left.',
  task_limit: 'Wait Retry-After seconds: tasks expire by themselves.',
  internal: 'Try once more. If it happens again, give the request_id to the operator of the gateway.',
  service_unavailable: 'Retry after Retry-After seconds, then less and less often.',
  enrollment_unavailable: 'Ask the operator to map an author to this credential. Waiting does not help.',
  native_unavailable: 'Retry later with the same key and input.',
  event_family_paused: 'Keep the cursor and retry later. Nothing was consumed.',
  subscription_corrupt: 'Create a new subscription and reconcile.',
  journal_unavailable: 'Retry later with the same cursor.',
  authority_unavailable: 'Retry after Retry-After seconds. The token may be perfectly valid.',
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

/** A code that may be broken after its underscores, and nowhere else. */
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
<p class="lead">A refused request is answered with a problem document (RFC 9457). Its <code>code</code> is stable, its
<code>type</code> leads to the entry on this page, and its texts never hold anything that you sent or that is stored.</p>
<h2 id="form">The form of an error</h2>
${code('Reply', example(baseUrl))}
<ul>
  <li>Decide by <code>code</code>, not by <code>title</code>: titles may be reworded.</li>
  <li><code>errors</code> names the parameters that were refused, at most 20, and never their values.</li>
  <li><code>retry_after</code> and the header <code>Retry-After</code> are whole seconds.</li>
  <li><code>request_id</code> equals the header <code>X-Request-Id</code> of the same reply. Quote it in reports.</li>
  <li>Over MCP the same codes and numbers stand in <code>structuredContent.error</code>.</li>
</ul>
<h2 id="codes">All codes</h2>
<div class="table" role="region" aria-labelledby="codes" tabindex="0">
<table>
  <thead><tr><th scope="col">Code</th><th scope="col">Status</th><th scope="col">Meaning, and what to do</th></tr></thead>
  <tbody>${[...FAILURE_CODES].sort((a, b) => statusOf(a) - statusOf(b)).map(row)}
  </tbody>
</table>
</div>`;

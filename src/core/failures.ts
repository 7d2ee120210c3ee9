import type { Requirement } from './scopes.ts';

/**
 * The closed table of failures (decisions, section 18): one row a code. `title` is what its reader needs to know and
 * do; it never names a value, a table or a library. A surface renders a failure its own way.
 */
const TABLE = {
  invalid_request: [400, 'The request is not well formed.'],
  invalid_parameter: [400, 'A parameter is missing or has a value that this operation does not accept.'],
  duplicate_parameter: [400, 'A parameter, header or member was sent more than once.'],
  unsupported_parameter: [400, 'This operation does not know a parameter that was sent.'],
  invalid_cursor: [400, 'The cursor is not one that this list returned for this website.'],
  invalid_json: [400, 'The body is not valid JSON in UTF-8.'],
  body_too_large: [400, 'The body is larger than this operation accepts.'],
  idempotency_key_required: [400, 'This write needs an Idempotency-Key header.'],
  invalid_idempotency_key: [400, 'The Idempotency-Key must be 1 to 128 printable ASCII characters without spaces.'],
  if_match_required: [400, 'This write needs the current revision in If-Match.'],
  unauthenticated: [401, 'A valid bearer token is required.'],
  token_expired: [401, 'The token or its credential has expired.'],
  token_revoked: [401, 'The token or its credential has been revoked.'],
  authority_changed: [401, 'The authority of the token has changed since it was given.'],
  wrong_resource: [401, 'The token was given for another resource.'],
  origin_not_allowed: [403, 'Requests from this origin, or under this host name, are not accepted.'],
  not_found: [404, 'There is no such resource, or it lies outside the credential’s authority.'],
  not_permitted: [404, 'This credential does not hold what the operation requires.'],
  method_not_allowed: [405, 'This path does not answer to that method.'],
  not_acceptable: [406, 'None of the media types in Accept can be sent.'],
  idempotency_conflict: [409, 'The key was used with other input, or under another authority.'],
  operation_in_progress: [409, 'The same command is still running.'],
  operation_conflict: [409, 'The present state of the data rejects the operation.'],
  outcome_unknown: [409, 'The outcome is not known or no longer kept. Never repeat the effect under a new key.'],
  version_conflict: [409, 'The file has another version than the one asked for.'],
  revision_changed: [409, 'The revision has changed. Read it again.'],
  concurrent_mutation: [409, 'Another change of the same resource was under way.'],
  inventory_limit: [409, 'The limit on the number of such resources is reached.'],
  replay_expired: [409, 'The history before the cursor is no longer kept.'],
  precondition_failed: [412, 'The file has another version than If-Match names.'],
  unsupported_media_type: [415, 'The body has a media type or encoding that is not accepted.'],
  range_not_satisfiable: [416, 'The range lies outside the file or is longer than 65,536 bytes.'],
  capability_unavailable: [422, 'This capability is not available to application installations.'],
  adapter_not_available: [422, 'This kind of AI feature cannot be executed by an application.'],
  human_consent_unsupported: [422, 'Tokens given by a person’s consent cannot do this.'],
  upgrade_required: [426, 'This address is a WebSocket: connect with version 13 of the protocol.'],
  quota_exceeded: [429, 'The app’s quota is used up. Retry after the time given.'],
  answers_unread: [429, 'Too many bytes of earlier answers wait unread. Read those answers, then call again.'],
  task_limit: [429, 'The installation has as many unexpired tasks as it may have.'],
  internal: [500, 'The gateway failed to answer. The failure has been recorded under the request id.'],
  service_unavailable: [503, 'The service cannot answer now. Retry after the time given.'],
  enrollment_unavailable: [503, 'No enabled author is mapped to this credential on the website.'],
  native_unavailable: [503, 'The native service cannot answer now.'],
  event_family_paused: [503, 'Delivery of an event family is paused. Keep the cursor.'],
  subscription_corrupt: [503, 'The stored subscription cannot be read.'],
  journal_unavailable: [503, 'The event journal cannot be read now.'],
  authority_unavailable: [503, 'Authority cannot be checked now. Retry after the time given.'],
} as const satisfies Record<string, readonly [status: number, title: string]>;

export type FailureCode = keyof typeof TABLE;
export const FAILURE_CODES = Object.keys(TABLE) as FailureCode[]; // Object.keys forgets the literal keys

export const statusOf = (code: FailureCode): number => TABLE[code][0];
export const titleOf = (code: FailureCode): string => TABLE[code][1];

export interface ParameterError {
  /** Name of a query, path or tool argument; `pointer` instead for a place in a JSON body (RFC 6901). */
  readonly parameter?: string;
  readonly pointer?: string;
  readonly code: FailureCode | 'missing';
}

export interface FailureDetails {
  /** A sentence for the caller; holds nothing that anybody sent or stored. */
  readonly detail?: string;
  readonly errors?: readonly ParameterError[];
  /** Seconds. */
  readonly retryAfter?: number;
  readonly required?: Requirement & { readonly unrestricted: boolean };
  readonly allow?: readonly string[];
  /** The whole length that a 416 names in Content-Range. */
  readonly size?: number;
  /** These are for the log only. */
  readonly cause?: unknown;
  /** Whose token it was that is no good. */
  readonly credential?: string;
  /** It lies on a website that the credential does not hold, or on none. */
  readonly outside?: true;
}

/** A refusal with a code of the table. Thrown by handlers and the store, a value wherever a surface sees it. */
export class Failure extends Error {
  override readonly name = 'Failure';

  constructor(
    readonly code: FailureCode,
    readonly details: FailureDetails = {},
  ) {
    super(TABLE[code][1], { cause: details.cause });
  }

  get status(): number {
    return TABLE[this.code][0];
  }
}

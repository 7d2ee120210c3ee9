import type { CallActor } from './audit.ts';
import type { Requirement } from './scopes.ts';

/**
 * Every failure code with its title, by HTTP status. The title says what was wrong and what to do. The title is public,
 * so it must not name a value, a table or a library.
 */
const TITLES = {
  400: {
    invalid_request: 'The request is malformed. Compare the request with the API reference, and correct the request.',
    invalid_parameter:
      'A parameter is missing or has a wrong value. Correct each parameter that is listed in errors[].',
    duplicate_parameter: 'A parameter, header or JSON member appears more than once. Send each name only once.',
    unsupported_parameter: 'The operation does not know a parameter. Remove each parameter that is listed in errors[].',
    invalid_cursor: 'The cursor does not belong to this list and website. Send a next_cursor of this list unchanged.',
    invalid_json: 'The body is not valid JSON in UTF-8. Send one JSON object without duplicate members.',
    body_too_large: 'The body is larger than this operation accepts. Send a smaller body.',
    idempotency_key_required:
      'The Idempotency-Key is missing. Send 1 to 128 printable ASCII characters. A retry with the same key is safe.',
    invalid_idempotency_key:
      'The Idempotency-Key is malformed. Send a key of 1 to 128 printable ASCII characters without spaces.',
    if_match_required:
      'The revision in If-Match is missing. Read the resource, and send its current revision in If-Match.',
  },
  401: {
    unauthenticated:
      'The bearer token is missing or not valid. Send a valid token in the header Authorization: Bearer.',
    token_expired: 'The token or its credential has expired. Get a new token.',
    token_revoked:
      'The token or its credential has been revoked. Ask the operator of the gateway for a new credential.',
    authority_changed: 'The credential has changed since the token was issued. Get a new token.',
    wrong_resource: 'The token was issued for another resource. Request a token for the resource that you call.',
  },
  403: {
    origin_not_allowed:
      'The Origin or Host header is not accepted. Use the address of the gateway and an allowed origin.',
  },
  404: {
    not_found: 'The resource does not exist or is outside the credential’s authority. Check the id and the website.',
    not_permitted:
      'The credential lacks a grant that the operation requires. Ask the operator of the gateway for what access_explain names.',
  },
  405: {
    method_not_allowed: 'This path does not support the HTTP method. Use a method listed in the Allow header.',
  },
  406: {
    not_acceptable: 'The Accept header lists no type that this operation returns. Add a media type of the operation.',
  },
  409: {
    idempotency_conflict:
      'An earlier request used this key with other input or authority. Use a new key for a new write.',
    operation_in_progress:
      'An earlier request with this key is still running. Wait, then send the same request with the same key.',
    operation_conflict:
      'The current state of the data does not allow the write. Read the data again, then decide what to do.',
    outcome_unknown:
      'The result of the write is unknown or no longer stored. Check the data. Never repeat the write under a new key.',
    approval_rejected: 'A person has rejected the write. Ask before you send another one.',
    approval_lapsed: 'Nobody approved the write while it could be approved. Ask, then use a new key.',
    approval_required: 'A person must approve the write first. Call the tool over REST or MCP.',
    version_conflict:
      'The file does not have the requested version. Read the metadata of the file, then download the file again.',
    revision_changed: 'The resource has a new revision. Read the resource again, then use the new revision.',
    concurrent_mutation:
      'Another change of the same resource was in progress. Read the resource again, then repeat your change.',
    inventory_limit: 'The limit on resources of this kind is reached. Delete a resource that you no longer need.',
    replay_expired:
      'The events after this cursor are no longer stored. Read the data again, then replace the subscription.',
  },
  412: {
    precondition_failed:
      'The file does not have the version in If-Match. Read the metadata of the file, then send its version.',
  },
  415: {
    unsupported_media_type:
      'The media type or encoding of the body is not accepted. Send an accepted type and encoding.',
  },
  416: {
    range_not_satisfiable:
      'The range is outside the file or longer than 65,536 bytes. Send one shorter range inside the file.',
  },
  421: {
    organization_moved: 'The organization has moved. Send the request to base_url.',
  },
  422: {
    capability_unavailable: 'App installations cannot use this capability. Continue without the capability.',
    adapter_not_available:
      'Applications cannot run AI features of this type. Choose a feature of the type language_detection.',
    human_consent_unsupported: 'A token from a person’s consent cannot call this operation. Use an installation token.',
  },
  426: {
    upgrade_required: 'This address accepts WebSocket connections only. Connect with version 13 of the protocol.',
  },
  429: {
    quota_exceeded: 'The quota of the app is used up. Retry after the number of seconds in Retry-After.',
    answers_unread: 'Too many bytes of earlier answers are unread. Read those answers, then call again.',
    task_limit: 'The installation has reached its limit of unexpired tasks. Wait until a task expires.',
    approval_limit: 'Too many writes wait for an approval. Wait until a person has decided.',
    stream_limit: 'Too many streams are open. Close one, or retry after the number of seconds in Retry-After.',
  },
  500: {
    internal: 'The gateway failed to answer, and logged the failure. If the failure repeats, report the request id.',
  },
  503: {
    service_unavailable:
      'The service cannot answer now. Retry after the number of seconds in Retry-After. Retry a write with the same key.',
    enrollment_unavailable:
      'The credential has no enabled author on this website. Ask the operator of the gateway to map an author.',
    native_unavailable: 'The native service cannot answer now. Retry later with the same key and input.',
    event_family_paused: 'Delivery of an event family is paused. Keep the cursor and retry later.',
    subscription_corrupt: 'The stored subscription cannot be read. Create a new subscription.',
    journal_unavailable: 'The event journal cannot be read now. Retry later with the same cursor.',
    authority_unavailable: 'The gateway cannot check the token now. Retry after the number of seconds in Retry-After.',
  },
} as const satisfies Record<number, Readonly<Record<string, string>>>;

type Titles = typeof TITLES;
export type FailureCode = { [Status in keyof Titles]: keyof Titles[Status] }[keyof Titles];

// The cast is sound, because the entries are those of TITLES.
const TABLE = Object.fromEntries(
  Object.entries(TITLES).flatMap(([status, titles]) =>
    Object.entries(titles).map(([code, title]) => [code, { status: Number(status), title }]),
  ),
) as Readonly<Record<FailureCode, { readonly status: number; readonly title: string }>>;
export const FAILURE_CODES = Object.keys(TABLE) as FailureCode[]; // Object.keys returns string[]

export const statusOf = (code: FailureCode): number => TABLE[code].status;
export const titleOf = (code: FailureCode): string => TABLE[code].title;

export interface ParameterError {
  /** The wrong query parameter, path parameter, header or tool argument. A wrong body member has `pointer` instead. */
  readonly parameter?: string;
  /** JSON Pointer (RFC 6901) to the wrong member of the body. */
  readonly pointer?: string;
  readonly code: FailureCode | 'missing';
  /** Describes the accepted values. The words come from the schema, never from the request. */
  readonly expected: string;
}

export interface FailureDetails {
  /** A sentence for the caller, without any value from the request or the store. */
  readonly detail?: string;
  readonly errors?: readonly ParameterError[];
  /** Seconds until a retry can succeed. */
  readonly retryAfter?: number;
  /** The base URL of the gateway that has the organization now. */
  readonly baseUrl?: string;
  readonly required?: Requirement & { readonly unrestricted: boolean };
  /** True if no grant helps, and `detail` says why. `required` still names what the credential lacks. */
  readonly ungrantable?: true;
  readonly allow?: readonly string[];
  /** Length of the whole file in bytes, for the Content-Range header of a 416 response. */
  readonly size?: number;
  /** The underlying error, for the log only. */
  readonly cause?: unknown;
  /** Whose token was refused, for the log and the audit records only. */
  readonly actor?: CallActor;
  /** The code for the log, the metrics and the audit records, if the caller must not learn the reason of a refusal. */
  readonly logged?: 'address_refused';
  /** True if the named website does not exist or is not granted. For the log only. */
  readonly outside?: true;
}

/** Seconds after which a caller can try again, for the failures that always say so (check PD-04). */
const RETRY_AFTER: Partial<Record<FailureCode, number>> = { approval_limit: 60, native_unavailable: 5 };

/** A refusal with a code of the table. Handlers and the store throw it. The corridor turns it into a value. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly details: FailureDetails;

  constructor(
    readonly code: FailureCode,
    details: FailureDetails = {},
  ) {
    super(titleOf(code), { cause: details.cause });
    const retryAfter = RETRY_AFTER[code];
    this.details = retryAfter === undefined ? details : { retryAfter, ...details };
  }

  get status(): number {
    return statusOf(this.code);
  }
}

/** True for a failure of the credential itself: no app pays for the call, and a stream ends with its status. */
export const refusesCredential = ({ code, status }: Pick<Failure, 'code' | 'status'>): boolean =>
  status === 401 || code === 'organization_moved';

/** The failure for one wrong parameter. `why` says what is wrong with it, if `code` does not. */
export const wrongParameter = (
  code: FailureCode,
  parameter: string,
  expected: string,
  why: ParameterError['code'] = code,
): Failure => new Failure(code, { errors: [{ parameter, code: why, expected }] });

export const NEXT_CURSOR = 'the next_cursor of the previous page, unchanged';

export const AFTER_EXPECTED = 'the cursor of the subscription, or the last next_cursor, unchanged';

export const invalidCursor = (parameter = 'cursor', expected = NEXT_CURSOR): Failure =>
  wrongParameter('invalid_cursor', parameter, expected);

import type { EndedConsent } from '../../store/sign-in/grants.ts';
import { DOCUMENT_RULES, type DocumentRule } from './clients/document-rules.ts';

/**
 * The errors of the OAuth endpoints (RFC 6749, sections 4.1.2.1 and 5.2; RFC 8707, section 2). Each code has an HTTP
 * status and a text. The client's developer reads the text, or a person reads it on a page. A text never contains a
 * value from the request. Some codes have another text for a client without a secret.
 */
const TABLE = {
  invalid_request: [
    400,
    'A parameter is missing, repeated, unknown or malformed. Correct the request as the API reference describes.',
  ],
  invalid_client: [
    401,
    'The client is unknown, or its authentication is missing or wrong. Send the credential id and secret with HTTP Basic.',
    'The client is unknown, or it authenticates. A client whose client_id is a URL sends this URL in the body, and neither a secret nor an Authorization header. The operator of the gateway decides which hosts are accepted.',
  ],
  invalid_grant: [
    400,
    'The code or refresh token is not valid, has ended, was already used, or belongs to another client. Start a new authorization.',
  ],
  invalid_scope: [
    400,
    'The scope is malformed or not granted. Request only known scopes and websites that the credential and the consent hold.',
  ],
  invalid_target: [
    400,
    'The resource is missing or wrong. Name the interface that the token is for. A refresh names the interface of its authorization again.',
  ],
  unauthorized_client: [
    400,
    'A client without a secret cannot use this grant type. Use authorization_code or refresh_token.',
  ],
  unsupported_grant_type: [
    400,
    'The grant type is not supported. Use client_credentials, authorization_code or refresh_token.',
  ],
  unsupported_response_type: [400, 'The response type is not supported. Use code.'],
  access_denied: [
    400,
    'The person did not consent. Start a new authorization only if the person asks for a new authorization.',
  ],
  organization_moved: [421, 'The organization has moved. Send the request to base_url.'],
  server_error: [
    500,
    'The authorization server failed to answer and logged the failure. Try again once, then tell the operator of the gateway.',
  ],
  temporarily_unavailable: [503, 'The authorization server cannot answer now. Try again in a moment.'],
  too_many_tokens: [
    429,
    'The client received 60 tokens in a minute, for itself or for one consent. Use each token until the token expires. Try again after the number of seconds in Retry-After.',
    'The client refreshed the tokens of one consent 60 times in an hour or a minute. Use each token until the token expires. Try again after the number of seconds in Retry-After.',
  ],
  slow_down: [
    429,
    'Too many authentications from this address failed. Check the credential id and secret, and try again after the number of seconds in Retry-After.',
    'Too many codes and tokens from this address were not valid. Try again after the number of seconds in Retry-After.',
  ],
} as const satisfies Record<string, Texts>;

type Texts = readonly [status: number, sentence: string, withoutSecret?: string];
export type OAuthCode = keyof typeof TABLE;

/**
 * Why the gateway does not accept a client by URL. `host_not_believed`: the operator's list lacks the host.
 * `document_unreachable`: no JSON document came from the URL. `document_refused`: the document breaks a rule.
 */
export type ClientReason = 'host_not_believed' | 'document_unreachable' | 'document_refused';

/**
 * The refusal of an OAuth request. `about` names the wrong parameter, but never its value. `expected` lists the values
 * that the gateway accepts. `form` says in words which form the parameter must have. `sentence` replaces the text of
 * the table. `secret` is false for a client by URL. `reason` is for the log and the error page. `rule` is the rule that
 * a client's document breaks. `ended` is a consent that this refusal has ended. `refused` is the credential of a client
 * at an address outside of its ranges. Only the log shows `ended` and `refused`.
 */
export class OAuthError extends Error {
  override readonly name = 'OAuthError';

  constructor(
    readonly code: OAuthCode,
    readonly details: {
      readonly about?: string;
      readonly expected?: readonly string[];
      readonly form?: string;
      readonly sentence?: string;
      readonly secret?: boolean;
      readonly retryAfter?: number;
      /** Where the organization lives now. */
      readonly baseUrl?: string;
      readonly reason?: ClientReason;
      readonly rule?: DocumentRule;
      readonly cause?: unknown;
      readonly ended?: EndedConsent | undefined;
      readonly refused?: { readonly credential: string; readonly logged: 'address_refused' };
    } = {},
  ) {
    const [, sentence, withoutSecret = sentence]: Texts = TABLE[code];
    super(details.sentence ?? (details.secret === false ? withoutSecret : sentence), { cause: details.cause });
  }

  get status(): number {
    return TABLE[this.code][0];
  }

  /** RFC 6749 permits in `error_description` only printable ASCII without double quotes and backslashes. */
  get description(): string {
    const { about, expected, form, rule } = this.details;
    const text = about === undefined ? this.message : `${about}: ${this.message}`;
    if (rule !== undefined) return `${text} ${DOCUMENT_RULES[rule]}`;
    if (form !== undefined) return `${text} Send ${form}.`;
    return expected === undefined ? text : `${text} Send one of: ${expected.join(', ')}.`;
  }
}

/**
 * The refusal of a client whose organization lives at `to`. If that is this gateway, a move is about to end: the
 * organization is open here in a moment, and the client must not follow the URL in a circle.
 */
export const livesAt = (to: string, { baseUrl }: { readonly baseUrl: string }): OAuthError =>
  to === baseUrl
    ? new OAuthError('temporarily_unavailable', { retryAfter: 1 })
    : new OAuthError('organization_moved', { baseUrl: to });

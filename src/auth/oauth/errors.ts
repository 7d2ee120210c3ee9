import type { EndedConsent } from '../../store/sign-in/oauth.ts';

/**
 * Errors of the OAuth endpoints: one row a code (RFC 6749, sections 4.1.2.1 and 5.2; RFC 8707, section 2). The sentence is
 * for the client's developer, and on a page for a person; it never holds a value that somebody sent.
 */
const TABLE = {
  invalid_request: [
    400,
    'The request lacks a parameter, repeats one, or has one that is not known or not well formed.',
  ],
  invalid_client: [401, 'The client is not known, or its HTTP Basic authentication is missing or wrong.'],
  invalid_grant: [400, 'The code or refresh token is not valid, not this client’s, or was used or ended before.'],
  invalid_scope: [400, 'The scope is malformed, or goes beyond what the credential or the consent holds.'],
  invalid_target: [
    400,
    'The resource is missing, or is not the address of this gateway, of its MCP or of its A2A endpoint.',
  ],
  unsupported_grant_type: [400, 'The grant types are client_credentials, authorization_code and refresh_token.'],
  unsupported_response_type: [400, 'The one response type is code.'],
  access_denied: [400, 'The person did not consent.'],
  server_error: [500, 'The authorization server failed to answer. The failure has been recorded.'],
  temporarily_unavailable: [503, 'The authorization server cannot answer now. Try again in a moment.'],
  too_many_tokens: [
    429,
    'The client was given 60 tokens within a minute, or 60 for one consent. Use a token until it expires. Try again after the seconds in Retry-After.',
  ],
  slow_down: [429, 'Too many failed attempts came from this address. Try again after the time given.'],
} as const satisfies Record<string, readonly [status: number, sentence: string]>;

export type OAuthCode = keyof typeof TABLE;

/** A refusal of an OAuth endpoint. `about` names the parameter at fault, never its value; `ended` is for the log only. */
export class OAuthError extends Error {
  override readonly name = 'OAuthError';

  constructor(
    readonly code: OAuthCode,
    readonly details: {
      readonly about?: string;
      readonly retryAfter?: number;
      readonly cause?: unknown;
      readonly ended?: EndedConsent | undefined;
    } = {},
  ) {
    super(TABLE[code][1], { cause: details.cause });
  }

  get status(): number {
    return TABLE[this.code][0];
  }

  /** `error_description` (RFC 6749: printable ASCII without quotes and backslash). */
  get description(): string {
    const { about } = this.details;
    return (about === undefined ? this.message : `${about}: ${this.message}`).replaceAll('’', "'");
  }
}

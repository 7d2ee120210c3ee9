import type { IncomingMessage, ServerResponse } from 'node:http';
import { ENDPOINTS, type Endpoint, OAuthContext, type OAuthRequest, type Services } from '../../auth/oauth/context.ts';
import { OAuthError } from '../../auth/oauth/errors.ts';
import { GRANTS, revoke } from '../../auth/oauth/grants.ts';
import { HOSTED_GRANTS, revokeHosted } from '../../auth/oauth/hosted/grants.ts';
import { check } from '../../auth/oauth/order.ts';
import { readParameters } from '../../auth/oauth/parameters.ts';
import { proveAgain } from '../../auth/oauth/rules/client-authentication.ts';
import { Failure } from '../../core/failures.ts';
import { asFailure } from '../../gateway/call.ts';
import { readBody } from '../http/body.ts';
import type { RequestRecord } from '../http/records.ts';
import { send } from '../http/reply.ts';

/** Largest form in bytes. This is enough for about 700 website ids in a consent or in a token request. */
export const FORM_LIMIT = 16_384;
const FORM_TYPE = /^application\/x-www-form-urlencoded[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?utf-8"?[ \t]*)?$/i;

type GrantType = keyof typeof GRANTS;
const isGrant = (value: string | undefined): value is GrantType => value !== undefined && Object.hasOwn(GRANTS, value);

export async function readForm(request: IncomingMessage, response: ServerResponse): Promise<string> {
  const { 'content-type': type = '', 'content-encoding': encoding } = request.headers;
  if (!FORM_TYPE.test(type) || encoding !== undefined) {
    const detail = 'Send the body as application/x-www-form-urlencoded in UTF-8, without a content coding.';
    throw new Failure('unsupported_media_type', { detail });
  }
  return (await readBody(request, response, FORM_LIMIT)).toString('latin1');
}

/** POST /oauth/token and /oauth/revoke. Answers are JSON in the form of RFC 6749, with `Cache-Control: no-store`. */
export async function answerToken(
  request: IncomingMessage,
  response: ServerResponse,
  wire: Omit<OAuthRequest, 'parameters'>,
  services: Services,
  record: RequestRecord,
): Promise<void> {
  try {
    if ((request.url ?? '').includes('?')) throw new OAuthError('invalid_request');
    const parameters = readParameters(await readForm(request, response));
    const endpoint = endpointOf(request, parameters?.get('grant_type') ?? []);
    const context = new OAuthContext(endpoint, { ...wire, parameters }, services);
    await checkAnew(context).finally(() => {
      const client = context.known('proof')?.credential;
      if (client !== undefined) record.credential = client;
    });
    if (endpoint === 'revoke') {
      record.does = 'revocation';
      const hosted = context.kind === 'hosted';
      const ended = await (hosted ? revokeHosted(context) : revoke(context)).finally(() => noteHolder(context, record));
      record.audit = { ...record.audit, ended: ended?.what ?? 'nothing' };
      // Anybody can send a hosted client's id, so an unknown token of such a client is no revocation.
      if (hosted && !ended) record.does = undefined;
      if (ended?.consent !== undefined) record.consent = ended.consent;
      send(request, response, 200, 'application/json', '');
    } else if (isGrant(endpoint)) {
      const grants = context.kind === 'hosted' ? { ...GRANTS, ...HOSTED_GRANTS } : GRANTS;
      const answer = await grants[endpoint](context).finally(() => noteHolder(context, record));
      send(request, response, 200, 'application/json', JSON.stringify(answer));
    }
  } catch (error) {
    const refusal = asOAuthError(error);
    const { ended } = refusal.details;
    // When a code or a refresh token is misused, the gateway refuses the request and also ends the consent. One audit
    // entry records both the refusal and the end of the consent.
    if (ended) record.consent = ended.consent;
    record.audit = {
      ...record.audit,
      ...(ended && { ended: 'consent', because: ended.because }),
      source: wire.source,
    };
    refuse(request, response, refusal, record);
  }
}

/** Names the credential and the consent of a hosted client, and the client's host, if its code or token is known. */
function noteHolder(context: OAuthContext, record: RequestRecord): void {
  const { credential, consent } = context.known('holder') ?? {};
  if (credential === undefined) return;
  record.credential = credential;
  if (consent !== undefined) record.consent = consent;
  record.audit = { ...record.audit, client_host: new URL(context.the('publicClient')).hostname };
}

/**
 * Checks a token request. The cached data of a client can lack scopes that were granted in the meantime. So the client
 * is read again from the store before a scope is refused.
 */
async function checkAnew(context: OAuthContext): Promise<void> {
  try {
    await check(context);
  } catch (error) {
    const own = context.endpoint === 'client_credentials' && context.known('proof') !== undefined;
    if (!own || !(error instanceof OAuthError) || error.code !== 'invalid_scope') throw error;
    await proveAgain(context);
    await check(context);
  }
}

function endpointOf(request: IncomingMessage, [grant, ...others]: readonly string[]): Endpoint {
  if (request.url === '/oauth/revoke') return 'revoke';
  return isGrant(grant) && others.length === 0 ? (ENDPOINTS.find((one) => one === grant) ?? 'token') : 'token';
}

export function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  error: OAuthError,
  record: RequestRecord,
): void {
  record.code = error.code;
  record.cause = error.details.cause;
  const { retryAfter } = error.details;
  send(
    request,
    response,
    error.status,
    'application/json',
    JSON.stringify({ error: error.code, error_description: error.description }),
    {
      ...(error.status === 401 && { 'WWW-Authenticate': 'Basic realm="oauth", charset="UTF-8"' }),
      ...(retryAfter !== undefined && { 'Retry-After': String(retryAfter) }),
    },
  );
}

export function asOAuthError(error: unknown): OAuthError {
  if (error instanceof OAuthError) return error;
  const failure = asFailure(error);
  if (failure.status < 500) return new OAuthError('invalid_request', { cause: failure.details.cause });
  return new OAuthError(failure.status === 500 ? 'server_error' : 'temporarily_unavailable', {
    cause: failure.details.cause ?? error,
    retryAfter: failure.details.retryAfter ?? 1,
  });
}

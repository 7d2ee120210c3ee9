import type { IncomingMessage, ServerResponse } from 'node:http';
import { ENDPOINTS, type Endpoint, OAuthContext, type Services } from '../../auth/oauth/context.ts';
import { OAuthError } from '../../auth/oauth/errors.ts';
import { GRANTS, revoke } from '../../auth/oauth/grants.ts';
import { check } from '../../auth/oauth/order.ts';
import { proveAgain } from '../../auth/oauth/rules/client-authentication.ts';
import { readForm } from '../http/pages/form.ts';
import { asOAuthError, type Sender } from '../http/pages/visit.ts';
import type { RequestRecord } from '../http/records.ts';
import { send } from '../http/reply.ts';

type GrantType = keyof typeof GRANTS;
const isGrant = (value: string | undefined): value is GrantType => value !== undefined && Object.hasOwn(GRANTS, value);

/** POST /oauth/token and /oauth/revoke. Answers are JSON in the form of RFC 6749, with `Cache-Control: no-store`. */
export async function answerToken(
  request: IncomingMessage,
  response: ServerResponse,
  wire: Sender,
  services: Services,
  record: RequestRecord,
): Promise<void> {
  try {
    if ((request.url ?? '').includes('?')) throw new OAuthError('invalid_request');
    const parameters = await readForm(request, response);
    const endpoint = endpointOf(request, parameters?.get('grant_type') ?? []);
    const context = new OAuthContext(endpoint, { ...wire, parameters }, services);
    await checkAnew(context).finally(() => {
      const client = context.known('proof')?.credential;
      if (client !== undefined) record.credential = client;
    });
    if (endpoint === 'revoke') {
      record.does = 'revocation';
      const ended = await revoke(context).finally(() => noteHolder(context, record));
      record.audit = { ...record.audit, ended: ended?.what ?? 'nothing' };
      // Anybody can send the id of a client by URL, so an unknown token from such a client gets no audit entry.
      if (context.kind === 'by_url' && !ended) record.does = undefined;
      if (ended?.consent !== undefined) record.consent = ended.consent;
      send(request, response, 200, 'application/json', '');
    } else if (isGrant(endpoint)) {
      const answer = await GRANTS[endpoint](context).finally(() => noteHolder(context, record));
      send(request, response, 200, 'application/json', JSON.stringify(answer));
    }
  } catch (error) {
    const { ended, refused } = asOAuthError(error).details;
    if (refused) record.credential = refused.credential;
    // When a code or a refresh token is misused, the gateway refuses the request and also ends the consent. One audit
    // entry records both the refusal and the end of the consent.
    if (ended) record.consent = ended.consent;
    record.audit = {
      ...record.audit,
      ...(ended && { ended: 'consent', because: ended.because }),
      source: wire.source,
    };
    refuse(request, response, error, record);
  }
}

/** Names the credential, the consent and the host of a client by URL, if its code or token is known. */
function noteHolder(context: OAuthContext, record: RequestRecord): void {
  const { credential, consent } = context.known('holder') ?? {};
  if (credential === undefined) return;
  record.credential = credential;
  if (consent !== undefined) record.consent = consent;
  record.audit = { ...record.audit, client_host: new URL(context.the('clientUrl')).hostname };
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
  error: unknown,
  record: RequestRecord,
): void {
  const { code, description, status, details } = asOAuthError(error);
  record.code = details.refused?.logged ?? code;
  record.cause = details.cause;
  const { retryAfter, baseUrl } = details;
  const moved = baseUrl !== undefined && { base_url: baseUrl };
  const body = JSON.stringify({ error: code, error_description: description, ...moved });
  send(request, response, status, 'application/json', body, {
    ...(status === 401 && { 'WWW-Authenticate': 'Basic realm="oauth", charset="UTF-8"' }),
    ...(retryAfter !== undefined && { 'Retry-After': String(retryAfter) }),
  });
}

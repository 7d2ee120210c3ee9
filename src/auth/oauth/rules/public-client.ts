import type { Rule } from '../context.ts';
import { OAuthError } from '../errors.ts';
import { single } from '../parameters.ts';

/**
 * Requires the client id of a hosted client whose host the operator believes. The rule reads no document, because the
 * code or the refresh token already belongs to one client. When an address has failed too often, its further requests
 * share the limit for unknown clients.
 */
export const publicClient: Rule = (context) => {
  const { request, services } = context;
  const id = request.parameters && single(request.parameters, 'client_id');
  if (id === undefined || !services.hosted.believed(id)) throw new OAuthError('invalid_client');
  const wait = services.failures.wait(request.source);
  if (wait > 0) {
    if (services.strangers.wait() > 0) throw new OAuthError('slow_down', { retryAfter: wait });
    services.strangers.take();
  }
  context.learn('publicClient', id);
};

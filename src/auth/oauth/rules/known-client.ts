import type { Rule } from '../context.ts';
import { OAuthError } from '../errors.ts';
import { single } from '../parameters.ts';

/**
 * Requires the `client_id` of an active credential. An unknown client id gets the same error as a wrong redirect_uri
 * (OA-02).
 */
export const knownClient: Rule = async (context) => {
  const { request, services } = context;
  const id = request.parameters && single(request.parameters, 'client_id');
  const client = id === undefined ? undefined : await services.clients.fresh(id, request.source);
  if (!client) throw new OAuthError('invalid_request', { about: 'client_id or redirect_uri' });
  context.learn('client', client);
};

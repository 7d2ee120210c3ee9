import type { Rule } from '../context.ts';
import { OAuthError } from '../errors.ts';
import { single } from '../parameters.ts';

/**
 * Requires a client id whose host the operator believes and whose metadata document is valid. The host is checked
 * first, so a stranger cannot make the gateway send requests to other hosts.
 */
export const hostedClient: Rule = async (context) => {
  const { request, services } = context;
  const id = request.parameters && single(request.parameters, 'client_id');
  const believed = id !== undefined && services.hosted.believed(id);
  const client = believed ? await services.hosted.find(id, request.source) : undefined;
  if (!client) throw new OAuthError('invalid_request', { about: 'client_id or redirect_uri' });
  context.learn('hosted', client);
};

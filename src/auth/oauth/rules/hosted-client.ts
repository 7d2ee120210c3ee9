import type { Rule } from '../context.ts';
import { OAuthError } from '../errors.ts';
import { brokenBy } from '../hosted/document-rules.ts';
import { single } from '../parameters.ts';

/**
 * Requires a client id whose host the operator believes and whose metadata document is valid. The host is checked
 * first, so a stranger cannot make the gateway send requests to other hosts.
 */
export const hostedClient: Rule = async (context) => {
  const { request, services } = context;
  const id = request.parameters && single(request.parameters, 'client_id');
  if (id === undefined || !URL.canParse(id)) throw new OAuthError('invalid_request', { about: ABOUT });
  const { href, hostname } = new URL(id);
  context.learn('clientHost', hostname.slice(0, HOST_MAX));
  if (!services.hosted.believed(id)) {
    // The host is on the list if another way to write the same URL is believed. Then the client has to correct the URL.
    const listed = services.hosted.believed(href);
    throw new OAuthError('invalid_request', { about: ABOUT, ...(!listed && { reason: 'host_not_believed' }) });
  }
  const client = brokenBy(id) ?? (await services.hosted.find(id, request.source));
  if (typeof client === 'string')
    throw new OAuthError('invalid_request', { about: ABOUT, reason: 'document_refused', rule: client });
  context.learn('hosted', client);
};

const ABOUT = 'client_id or redirect_uri';
/** The longest DNS name, in characters. */
const HOST_MAX = 253;

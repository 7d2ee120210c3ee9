import type { Client } from '../clients/client.ts';
import { brokenBy } from '../clients/document-rules.ts';
import type { OAuthContext, Rule } from '../context.ts';
import { OAuthError } from '../errors.ts';
import { single } from '../parameters.ts';
import { requireHere } from './client-authentication.ts';

/**
 * Requires the `client_id` of an active credential, or the URL of a valid client document. An unknown client id gets the
 * same error as a wrong redirect_uri (OA-02).
 */
export const knownClient: Rule = async (context) => {
  const { request, services, kind } = context;
  const id = request.parameters && single(request.parameters, 'client_id');
  const find = (of: string) => (kind === 'by_url' ? atUrl(context, of) : services.installed.fresh(of, request.source));
  const client = id === undefined ? undefined : await find(id);
  if (!client) throw new OAuthError('invalid_request', { about: ABOUT });
  if (client.kind === 'installed') requireHere(client, services);
  context.learn('client', client);
};

/** Checks the host first, so a stranger cannot make the gateway send requests to hosts that the operator has not named. */
async function atUrl(context: OAuthContext, id: string): Promise<Client | undefined> {
  const { byUrl } = context.services;
  if (!URL.canParse(id)) return undefined;
  const { href, hostname } = new URL(id);
  context.learn('clientHost', hostname.slice(0, HOST_MAX));
  if (!byUrl.believed(id)) {
    // The host is on the list if another way to write the same URL is believed. Then the client has to correct the URL.
    if (byUrl.believed(href)) return undefined;
    throw new OAuthError('invalid_request', { about: ABOUT, reason: 'host_not_believed' });
  }
  const client = brokenBy(id) ?? (await byUrl.find(id, context.request.source));
  if (typeof client === 'object') return client;
  throw new OAuthError('invalid_request', { about: ABOUT, reason: 'document_refused', rule: client });
}

const ABOUT = 'client_id or redirect_uri';
/** The longest DNS name, in characters. */
const HOST_MAX = 253;

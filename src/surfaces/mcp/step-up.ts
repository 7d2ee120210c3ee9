import type { OutgoingHttpHeaders } from 'node:http';
import { SCOPES } from '../../core/scopes.ts';
import type { McpRequest } from './request.ts';
import { MODERN } from './versions.ts';

/**
 * The challenge for a client by URL whose token lacks a scope of the operation (RFC 6750, section 3.1). It names all
 * scopes of the operation, so that the client can ask the person again. Undefined for every other outcome: an
 * installed client cannot get more scopes in this way, and no consent permits an operation for installations only. Only
 * a subscription by webhook is within the consent of a client by URL.
 *
 * In the older versions, the challenge also names the token's own scopes. Such a client asks for exactly the named
 * scopes and would lose the others. A client of MCP 2026-07-28 adds the named scopes to its own.
 */
export function stepUp(
  { authority, failed, called, corridor, version, withinConsent }: McpRequest,
  metadata: string,
): OutgoingHttpHeaders | undefined {
  const lacking = failed?.code === 'not_permitted' ? failed.details.required : undefined;
  const tool = called === undefined ? undefined : corridor.registry.get(called);
  if (!authority?.clientByUrl || !lacking || !tool || lacking.scopes.length === 0) return undefined;
  if (lacking.unrestricted || (tool.consent === 'refused' && !withinConsent)) return undefined;
  const kept = version === MODERN ? [] : [...authority.scopes];
  const named = [...kept, ...tool.required.scopes, ...lacking.scopes];
  const scopes = SCOPES.filter((one) => named.includes(one));
  return {
    'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${scopes.join(' ')}", resource_metadata="${metadata}"`,
  };
}

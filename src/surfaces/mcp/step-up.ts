import type { OutgoingHttpHeaders } from 'node:http';
import { SCOPES } from '../../core/scopes.ts';
import type { McpRequest } from './request.ts';

/**
 * The challenge for a hosted client whose token lacks a scope of the operation (RFC 6750, section 3.1). The challenge
 * names all scopes of the operation, so that the client can ask the person again. `undefined` for every other outcome:
 * an issued credential cannot get more scopes in this way, and no consent permits an operation for installations only.
 */
export function stepUp(
  { authority, failed, called, corridor }: McpRequest,
  metadata: string,
): OutgoingHttpHeaders | undefined {
  const lacking = failed?.code === 'not_permitted' ? failed.details.required : undefined;
  const tool = called === undefined ? undefined : corridor.registry.get(called);
  if (!authority?.hosted || !lacking || !tool || lacking.scopes.length === 0) return undefined;
  if (lacking.unrestricted || tool.consent === 'refused') return undefined;
  const scopes = SCOPES.filter((one) => tool.required.scopes.includes(one) || lacking.scopes.includes(one));
  return {
    'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${scopes.join(' ')}", resource_metadata="${metadata}"`,
  };
}

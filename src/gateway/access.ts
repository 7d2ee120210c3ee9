import { type Authority, isRestricted } from '../core/authority.ts';
import { conditionName } from '../core/conditions.ts';
import type { AccessFacts } from '../core/facts.ts';
import { holds } from '../core/scopes.ts';
import type { Tool } from '../core/tool.ts';
import { lacking, mayCall } from './registry.ts';

/** Says what an authority lacks for an operation. The authors of the credential are not part of the authority. */
export const accessOf = (tool: Tool, authority: Authority): AccessFacts => ({
  operation: tool.name,
  granted: mayCall(tool, authority),
  lacks: lacking(authority, tool.required),
  unrestricted: tool.restrictions === 'refused' && isRestricted(authority),
  consentRefused: tool.consent === 'refused',
  ofConsent: authority.consentId !== null,
  author: tool.author,
  restOnly: !tool.mcp,
  parameters: tool.when
    .filter((condition) => !holds(authority, condition))
    .map((condition) => ({ ...lacking(authority, condition), parameter: conditionName(condition) })),
});

import { type Authority, isRestricted } from '../core/authority.ts';
import type { Condition } from '../core/conditions.ts';
import { Failure } from '../core/failures.ts';
import type { Requirement } from '../core/scopes.ts';
import type { Tool } from '../core/tool.ts';
import { isUnavailable } from '../store/driver/errors.ts';
import { isPresent, lacking, switchedOff } from './registry.ts';

export function notPermitted(tool: Tool, authority: Authority, requirement: Requirement | Condition): Failure {
  // As a path without an operation.
  if (!isPresent(tool, authority)) return new Failure('not_found');
  if (authority.switchedOff.has(tool.name)) return switchedOff();
  const refused = tool.restrictions === 'refused' || ('unrestricted' in requirement && requirement.unrestricted);
  return new Failure('not_permitted', {
    required: {
      ...lacking(authority, requirement),
      unrestricted: refused === true && isRestricted(authority),
    },
    ...(tool.consent === 'refused' &&
      authority.consentId !== null && {
        ungrantable: true,
        detail: 'A token from a person’s consent cannot call this operation. Use an installation token.',
      }),
  });
}

export const isStoreUnavailable = (error: unknown): boolean =>
  isUnavailable(error instanceof Failure ? error.details.cause : error);

export function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  const unavailable = isUnavailable(error);
  return new Failure(unavailable ? 'service_unavailable' : 'internal', {
    cause: error,
    ...(unavailable && { retryAfter: 1 }),
  });
}

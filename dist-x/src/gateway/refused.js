import { isRestricted } from '../core/authority.js';
import { Failure } from '../core/failures.js';
import { isUnavailable } from '../store/driver/errors.js';
import { isPresent, lacking, switchedOff } from './registry.js';
export function notPermitted(tool, authority, requirement) {
    // As a path without an operation.
    if (!isPresent(tool, authority))
        return new Failure('not_found');
    if (authority.switchedOff.has(tool.name))
        return switchedOff();
    const refused = tool.restrictions === 'refused' || ('unrestricted' in requirement && requirement.unrestricted);
    return new Failure('not_permitted', {
        required: {
            ...lacking(authority, requirement),
            unrestricted: refused === true && isRestricted(authority),
        },
        ...(tool.consent === 'refused' &&
            authority.consentId !== null && {
            detail: 'A token from a person’s consent cannot call this operation. Use an installation token.',
        }),
    });
}
export const isStoreUnavailable = (error) => isUnavailable(error instanceof Failure ? error.details.cause : error);
export function asFailure(error) {
    if (error instanceof Failure)
        return error;
    const unavailable = isUnavailable(error);
    return new Failure(unavailable ? 'service_unavailable' : 'internal', {
        cause: error,
        ...(unavailable && { retryAfter: 1 }),
    });
}
//# sourceMappingURL=refused.js.map
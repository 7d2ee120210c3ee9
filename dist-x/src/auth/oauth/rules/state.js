import { OAuthError } from '../errors.js';
import { single } from '../parameters.js';
const FORMS = {
    installed: { pattern: /^[ -~]{16,1024}$/, form: '16 to 1024 printable ASCII characters' },
    by_url: { pattern: /^[ -~]{1,2048}$/, form: '1 to 2048 printable ASCII characters' },
};
/**
 * Reads the `state`. This rule runs early, so that the errors of later rules can return the state (RFC 6749, section
 * 4.1.2.1).
 */
export const state = (context) => {
    const { parameters } = context.request;
    const value = parameters && single(parameters, 'state');
    if (value !== undefined && FORMS[context.kind].pattern.test(value))
        context.learn('state', value);
};
/**
 * Refuses a malformed `state`. An installed client must send one. A client by URL may send none, because PKCE protects
 * it (RFC 9700, section 2.1.1).
 */
export const stateChecked = (context) => {
    const { kind, request } = context;
    const absent = !request.parameters?.get('state')?.[0];
    if (context.known('state') !== undefined || (kind === 'by_url' && absent))
        return;
    throw new OAuthError('invalid_request', { about: 'state', form: FORMS[kind].form });
};
//# sourceMappingURL=state.js.map
import { OAuthError } from '../errors.js';
const FIELDS = ['email', 'password'];
/**
 * The fields of a form for a person of any organization. The person can name the organization in the form. `choose` is
 * the button of an organization on the page that follows.
 */
const FIELDS_ANYWHERE = [...FIELDS, 'organization', 'choose'];
/** The sign-in for an installed client is to its organization. A client by URL belongs to no organization. */
export const signInForm = ({ request, kind }) => requireSignInForm(request.form, kind === 'by_url');
export const emptyForm = ({ request }) => requireEmptyForm(request.form);
export const requireSignInForm = (form, anywhere) => requireFields(form, anywhere ? FIELDS_ANYWHERE : FIELDS);
export const requireEmptyForm = (form) => requireFields(form, []);
export function requireFields(form, names) {
    const strange = [...(form ?? [])].some(([name, values]) => !names.includes(name) || values.length > 1);
    if (!form || strange)
        throw new OAuthError('invalid_request', { about: 'form' });
}
//# sourceMappingURL=sign-in-form.js.map
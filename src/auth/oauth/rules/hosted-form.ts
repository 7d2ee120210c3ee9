import type { Rule } from '../context.ts';
import { only } from './sign-in-form.ts';

/**
 * The sign-in form of a hosted client also asks for the organization, because the client belongs to none. `choose` is
 * the button of an organization on the page that follows.
 */
export const hostedForm: Rule = ({ request }) => only(request, ['email', 'password', 'organization', 'choose']);

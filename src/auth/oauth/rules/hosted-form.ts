import type { Rule } from '../context.ts';
import { only } from './sign-in-form.ts';

/** The sign-in form of a hosted client also asks for the organization, because the client belongs to none. */
export const hostedForm: Rule = ({ request }) => only(request, ['email', 'password', 'organization']);

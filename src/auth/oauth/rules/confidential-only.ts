import type { Rule } from '../context.ts';
import { OAuthError } from '../errors.ts';

/** Refuses a grant that needs a client secret. A client by URL gets tokens only under a person's consent. */
export const confidentialOnly: Rule = () => {
  throw new OAuthError('unauthorized_client');
};

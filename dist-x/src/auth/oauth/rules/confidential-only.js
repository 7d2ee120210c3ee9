import { OAuthError } from '../errors.js';
/** Refuses a grant that needs a client secret. A client by URL gets tokens only under a person's consent. */
export const confidentialOnly = () => {
    throw new OAuthError('unauthorized_client');
};
//# sourceMappingURL=confidential-only.js.map
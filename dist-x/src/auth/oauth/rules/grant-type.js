import { OAuthError } from '../errors.js';
export const grantType = ({ request }) => {
    const [value, ...others] = request.parameters?.get('grant_type') ?? [];
    if (!value || others.length > 0)
        throw new OAuthError('invalid_request', { about: 'grant_type' });
    throw new OAuthError('unsupported_grant_type');
};
//# sourceMappingURL=grant-type.js.map
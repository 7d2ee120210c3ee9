import { RESOURCES } from '../../../core/authority.js';
import { OAuthError } from '../errors.js';
import { resourceUri } from '../metadata.js';
/** Requires a `resource` that equals one of the three resource URIs of the metadata exactly (RFC 8707, section 2). */
export const resource = (context) => {
    const uri = context.request.parameters?.get('resource')?.[0];
    const found = RESOURCES.find((one) => resourceUri(context.services.baseUrl, one) === uri);
    if (!found) {
        const expected = RESOURCES.map((one) => resourceUri(context.services.baseUrl, one));
        throw new OAuthError('invalid_target', { about: 'resource', expected });
    }
    context.learn('resource', found);
};
//# sourceMappingURL=resource.js.map
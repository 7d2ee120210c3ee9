import { OAuthError } from '../errors.js';
/** Requires the response type `code`. Other types would send tokens through the browser (RFC 9700, section 2.1.2). */
export const responseType = ({ request }) => {
    if (request.parameters?.get('response_type')?.[0] !== 'code')
        throw new OAuthError('unsupported_response_type');
};
//# sourceMappingURL=response-type.js.map
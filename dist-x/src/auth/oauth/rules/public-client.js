import { brokenBy } from '../clients/document-rules.js';
import { OAuthError } from '../errors.js';
import { single } from '../parameters.js';
/**
 * Requires a client id that is a URL whose host the operator believes. The rule reads no document, because the code or
 * the token already belongs to one client. The limit for failures follows in present.ts, because only the store knows
 * whether the code or the token is valid.
 */
export const publicClient = (context) => {
    const { request, services } = context;
    const id = request.parameters && single(request.parameters, 'client_id');
    if (id === undefined || !services.byUrl.believed(id))
        throw new OAuthError('invalid_client', { secret: false });
    const rule = brokenBy(id);
    if (rule !== undefined)
        throw new OAuthError('invalid_client', { about: 'client_id', secret: false, reason: 'document_refused', rule });
    context.learn('clientUrl', id);
};
//# sourceMappingURL=public-client.js.map
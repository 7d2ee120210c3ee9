import { ENDPOINTS } from './context.js';
import { clientAuthentication } from './rules/client-authentication.js';
import { codeChallenge } from './rules/code-challenge.js';
import { codeVerifier } from './rules/code-verifier.js';
import { confidentialOnly } from './rules/confidential-only.js';
import { csrf } from './rules/csrf.js';
import { grantType } from './rules/grant-type.js';
import { knownClient } from './rules/known-client.js';
import { offeredMethod } from './rules/offered-method.js';
import { parameters } from './rules/parameters.js';
import { person } from './rules/person.js';
import { publicClient } from './rules/public-client.js';
import { redirectUri } from './rules/redirect-uri.js';
import { resource } from './rules/resource.js';
import { responseType } from './rules/response-type.js';
import { sameOrigin } from './rules/same-origin.js';
import { narrowerScope, scope } from './rules/scope.js';
import { selection } from './rules/selection.js';
import { emptyForm, signInForm } from './rules/sign-in-form.js';
import { state, stateChecked } from './rules/state.js';
import { websites } from './rules/websites.js';
const both = ['installed', 'by_url'];
/** Only for installed clients, which authenticate with a secret. */
const inst = ['installed'];
/** Only for clients by URL. They have no secret: PKCE and the redirect URI bind a code to the client that asked. */
const url_ = ['by_url'];
const ____ = [];
/**
 * The checks of each endpoint, which run from top to bottom. On the pages for people, a refusal by the rules up to
 * `redirectUri` shows an error page. A refusal by a later rule redirects the browser to the client.
 *
 * When all checks have passed, one statement performs the request. This statement verifies client, revision and person
 * again (store/sign-in/grants.ts).
 */
// biome-ignore format: a matrix is read in columns
const ORDER = [
    //                       authorize  sign_in  sign_out  identity  consent  token      client_  authorization_  refresh_  revoke
    //                                                                               credentials            code     token
    [sameOrigin, ____, both, both, ____, both, ____, ____, ____, ____, ____],
    [knownClient, both, both, both, both, both, ____, ____, ____, ____, ____],
    [redirectUri, both, both, both, both, both, ____, ____, ____, ____, ____],
    [state, both, both, both, both, both, ____, ____, ____, ____, ____],
    [parameters, both, both, both, both, both, ____, both, both, both, both],
    [offeredMethod, ____, ____, ____, ____, ____, both, both, both, both, both],
    [clientAuthentication, ____, ____, ____, ____, ____, inst, inst, inst, inst, inst],
    [publicClient, ____, ____, ____, ____, ____, url_, url_, url_, url_, url_],
    [confidentialOnly, ____, ____, ____, ____, ____, ____, url_, ____, ____, ____],
    [grantType, ____, ____, ____, ____, ____, both, ____, ____, ____, ____],
    [responseType, both, both, both, both, both, ____, ____, ____, ____, ____],
    [stateChecked, both, both, both, both, both, ____, ____, ____, ____, ____],
    [codeChallenge, both, both, both, both, both, ____, ____, ____, ____, ____],
    [codeVerifier, ____, ____, ____, ____, ____, ____, ____, both, ____, ____],
    [resource, both, both, both, both, both, ____, inst, both, both, ____],
    [scope, both, both, both, both, both, ____, inst, ____, ____, ____],
    [narrowerScope, ____, ____, ____, ____, ____, ____, ____, ____, both, ____],
    [websites, ____, ____, ____, ____, ____, ____, inst, ____, ____, ____],
    [person, both, ____, ____, ____, both, ____, ____, ____, ____, ____],
    [csrf, ____, ____, ____, ____, both, ____, ____, ____, ____, ____],
    [selection, ____, ____, ____, ____, both, ____, ____, ____, ____, ____],
    [signInForm, ____, both, ____, ____, ____, ____, ____, ____, ____, ____],
    [emptyForm, ____, ____, both, ____, ____, ____, ____, ____, ____, ____],
];
export async function check(context) {
    const column = ENDPOINTS.indexOf(context.endpoint);
    for (const [rule, ...cells] of ORDER)
        if (cells[column]?.includes(context.kind))
            await rule(context);
}
//# sourceMappingURL=order.js.map
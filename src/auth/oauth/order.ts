import { ENDPOINTS, type Endpoint, type OAuthContext, type Rule } from './context.ts';
import { clientAuthentication } from './rules/client-authentication.ts';
import { codeChallenge } from './rules/code-challenge.ts';
import { codeVerifier } from './rules/code-verifier.ts';
import { confidentialOnly } from './rules/confidential-only.ts';
import { csrf } from './rules/csrf.ts';
import { grantType } from './rules/grant-type.ts';
import { hostedClient } from './rules/hosted-client.ts';
import { hostedForm } from './rules/hosted-form.ts';
import { hostedNarrowerScope } from './rules/hosted-narrower-scope.ts';
import { hostedParameters } from './rules/hosted-parameters.ts';
import { hostedPerson } from './rules/hosted-person.ts';
import { hostedRedirectUri } from './rules/hosted-redirect-uri.ts';
import { hostedScope } from './rules/hosted-scope.ts';
import { hostedSelection } from './rules/hosted-selection.ts';
import { hostedState } from './rules/hosted-state.ts';
import { knownClient } from './rules/known-client.ts';
import { offeredMethod } from './rules/offered-method.ts';
import { parameters } from './rules/parameters.ts';
import { person } from './rules/person.ts';
import { publicClient } from './rules/public-client.ts';
import { redirectUri } from './rules/redirect-uri.ts';
import { resource } from './rules/resource.ts';
import { responseType } from './rules/response-type.ts';
import { sameOrigin } from './rules/same-origin.ts';
import { narrowerScope, scope } from './rules/scope.ts';
import { selection } from './rules/selection.ts';
import { emptyForm, signInForm } from './rules/sign-in-form.ts';
import { state, stateRequired } from './rules/state.ts';
import { websites } from './rules/websites.ts';

const yes = true;
const ____ = false;

/**
 * The checks of each endpoint for issued credentials, which run from top to bottom. On the pages for people, a refusal
 * by the rules up to `redirectUri` shows an error page. A refusal by a later rule redirects the browser to the client.
 *
 * When all checks have passed, one statement performs the request. This statement verifies client, revision and person
 * again (store/sign-in/oauth.ts).
 */
// biome-ignore format: a matrix is read in columns
const ORDER: readonly (readonly [rule: Rule, ...cells: boolean[]])[] = [
  //                       authorize  sign_in  sign_out  identity  consent  token      client_  authorization_  refresh_  revoke
  //                                                                               credentials            code     token
  [sameOrigin,                 ____,     yes,      yes,     ____,     yes,  ____,        ____,           ____,     ____,   ____],
  [knownClient,                 yes,     yes,      yes,      yes,     yes,  ____,        ____,           ____,     ____,   ____],
  [redirectUri,                 yes,     yes,      yes,      yes,     yes,  ____,        ____,           ____,     ____,   ____],
  [state,                       yes,     yes,      yes,      yes,     yes,  ____,        ____,           ____,     ____,   ____],
  [parameters,                  yes,     yes,      yes,      yes,     yes,  ____,         yes,            yes,      yes,    yes],
  [offeredMethod,              ____,    ____,     ____,     ____,    ____,   yes,         yes,            yes,      yes,    yes],
  [clientAuthentication,       ____,    ____,     ____,     ____,    ____,   yes,         yes,            yes,      yes,    yes],
  [grantType,                  ____,    ____,     ____,     ____,    ____,   yes,        ____,           ____,     ____,   ____],
  [responseType,                yes,     yes,      yes,      yes,     yes,  ____,        ____,           ____,     ____,   ____],
  [stateRequired,               yes,     yes,      yes,      yes,     yes,  ____,        ____,           ____,     ____,   ____],
  [codeChallenge,               yes,     yes,      yes,      yes,     yes,  ____,        ____,           ____,     ____,   ____],
  [codeVerifier,               ____,    ____,     ____,     ____,    ____,  ____,        ____,            yes,     ____,   ____],
  [resource,                    yes,     yes,      yes,      yes,     yes,  ____,         yes,            yes,      yes,   ____],
  [scope,                       yes,     yes,      yes,      yes,     yes,  ____,         yes,           ____,     ____,   ____],
  [narrowerScope,              ____,    ____,     ____,     ____,    ____,  ____,        ____,           ____,      yes,   ____],
  [websites,                   ____,    ____,     ____,     ____,    ____,  ____,         yes,           ____,     ____,   ____],
  [person,                      yes,    ____,     ____,     ____,     yes,  ____,        ____,           ____,     ____,   ____],
  [csrf,                       ____,    ____,     ____,     ____,     yes,  ____,        ____,           ____,     ____,   ____],
  [selection,                  ____,    ____,     ____,     ____,     yes,  ____,        ____,           ____,     ____,   ____],
  [signInForm,                 ____,     yes,     ____,     ____,    ____,  ____,        ____,           ____,     ____,   ____],
  [emptyForm,                  ____,    ____,      yes,     ____,    ____,  ____,        ____,           ____,     ____,   ____],
];

/**
 * The checks for a hosted client, whose client id is the URL of its metadata document. The client has no secret, so no
 * rule of a token request proves who the client is. PKCE and the redirect URI bind the code to the client that asked.
 */
// biome-ignore format: a matrix is read in columns
const HOSTED_ORDER: typeof ORDER = [
  //                       authorize  sign_in  sign_out  identity  consent  token      client_  authorization_  refresh_  revoke
  //                                                                               credentials            code     token
  [sameOrigin,                 ____,     yes,      yes,     ____,     yes,  ____,        ____,           ____,     ____,   ____],
  [hostedClient,                yes,     yes,      yes,      yes,     yes,  ____,        ____,           ____,     ____,   ____],
  [hostedRedirectUri,           yes,     yes,      yes,      yes,     yes,  ____,        ____,           ____,     ____,   ____],
  [hostedState,                 yes,     yes,      yes,      yes,     yes,  ____,        ____,           ____,     ____,   ____],
  [hostedParameters,            yes,     yes,      yes,      yes,     yes,  ____,         yes,            yes,      yes,    yes],
  [offeredMethod,              ____,    ____,     ____,     ____,    ____,   yes,         yes,            yes,      yes,    yes],
  [publicClient,               ____,    ____,     ____,     ____,    ____,   yes,         yes,            yes,      yes,    yes],
  [grantType,                  ____,    ____,     ____,     ____,    ____,   yes,        ____,           ____,     ____,   ____],
  [confidentialOnly,           ____,    ____,     ____,     ____,    ____,  ____,         yes,           ____,     ____,   ____],
  [responseType,                yes,     yes,      yes,      yes,     yes,  ____,        ____,           ____,     ____,   ____],
  [codeChallenge,               yes,     yes,      yes,      yes,     yes,  ____,        ____,           ____,     ____,   ____],
  [codeVerifier,               ____,    ____,     ____,     ____,    ____,  ____,        ____,            yes,     ____,   ____],
  [resource,                    yes,     yes,      yes,      yes,     yes,  ____,        ____,            yes,      yes,   ____],
  [hostedScope,                 yes,     yes,      yes,      yes,     yes,  ____,        ____,           ____,     ____,   ____],
  [hostedNarrowerScope,        ____,    ____,     ____,     ____,    ____,  ____,        ____,           ____,      yes,   ____],
  [hostedPerson,                yes,    ____,     ____,     ____,     yes,  ____,        ____,           ____,     ____,   ____],
  [csrf,                       ____,    ____,     ____,     ____,     yes,  ____,        ____,           ____,     ____,   ____],
  [hostedSelection,            ____,    ____,     ____,     ____,     yes,  ____,        ____,           ____,     ____,   ____],
  [hostedForm,                 ____,     yes,     ____,     ____,    ____,  ____,        ____,           ____,     ____,   ____],
  [emptyForm,                  ____,    ____,      yes,     ____,    ____,  ____,        ____,           ____,     ____,   ____],
];

/**
 * The checks for the page of a record. The page has no client. One statement finds out who is signed in, and every
 * statement that reads the record proves the session again (store/calls/guard.ts).
 */
// biome-ignore format: a matrix is read in columns
const RECORD_ORDER: typeof ORDER = [
  //                       authorize  sign_in  sign_out  identity  consent  token      client_  authorization_  refresh_  revoke
  //                                                                               credentials            code     token
  [sameOrigin,                 ____,     yes,      yes,     ____,    ____,  ____,        ____,           ____,     ____,   ____],
  [hostedForm,                 ____,     yes,     ____,     ____,    ____,  ____,        ____,           ____,     ____,   ____],
  [emptyForm,                  ____,    ____,      yes,     ____,    ____,  ____,        ____,           ____,     ____,   ____],
];

const ORDERS = { issued: ORDER, hosted: HOSTED_ORDER, record: RECORD_ORDER } as const;

export const rulesOf = (endpoint: Endpoint, kind: OAuthContext['kind'] = 'issued'): Rule[] => {
  const column = ENDPOINTS.indexOf(endpoint);
  return ORDERS[kind].filter(([, ...cells]) => cells[column] === true).map(([rule]) => rule);
};

export async function check(context: OAuthContext): Promise<void> {
  for (const rule of rulesOf(context.endpoint, context.kind)) await rule(context);
}

import type { Client } from './clients/client.ts';
import { ENDPOINTS, type OAuthContext, type Rule } from './context.ts';
import { clientAuthentication } from './rules/client-authentication.ts';
import { codeChallenge } from './rules/code-challenge.ts';
import { codeVerifier } from './rules/code-verifier.ts';
import { confidentialOnly } from './rules/confidential-only.ts';
import { csrf } from './rules/csrf.ts';
import { grantType } from './rules/grant-type.ts';
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
import { state, stateChecked } from './rules/state.ts';
import { websites } from './rules/websites.ts';

type Kinds = readonly Client['kind'][];
const both: Kinds = ['installed', 'by_url'];
/** Only for installed clients, which authenticate with a secret. */
const inst: Kinds = ['installed'];
/** Only for clients by URL. They have no secret: PKCE and the redirect URI bind a code to the client that asked. */
const url_: Kinds = ['by_url'];
const ____: Kinds = [];

/**
 * The checks of each endpoint, which run from top to bottom. On the pages for people, a refusal by the rules up to
 * `redirectUri` shows an error page. A refusal by a later rule redirects the browser to the client.
 *
 * When all checks have passed, one statement performs the request. This statement verifies client, revision and person
 * again (store/sign-in/grants.ts).
 */
// biome-ignore format: a matrix is read in columns
const ORDER: readonly (readonly [rule: Rule, ...cells: Kinds[]])[] = [
  //                       authorize  sign_in  sign_out  identity  consent  token      client_  authorization_  refresh_  revoke
  //                                                                               credentials            code     token
  [sameOrigin,                 ____,    both,     both,     ____,    both,  ____,        ____,           ____,     ____,   ____],
  [knownClient,                both,    both,     both,     both,    both,  ____,        ____,           ____,     ____,   ____],
  [redirectUri,                both,    both,     both,     both,    both,  ____,        ____,           ____,     ____,   ____],
  [state,                      both,    both,     both,     both,    both,  ____,        ____,           ____,     ____,   ____],
  [parameters,                 both,    both,     both,     both,    both,  ____,        both,           both,     both,   both],
  [offeredMethod,              ____,    ____,     ____,     ____,    ____,  both,        both,           both,     both,   both],
  [clientAuthentication,       ____,    ____,     ____,     ____,    ____,  inst,        inst,           inst,     inst,   inst],
  [publicClient,               ____,    ____,     ____,     ____,    ____,  url_,        url_,           url_,     url_,   url_],
  [confidentialOnly,           ____,    ____,     ____,     ____,    ____,  ____,        url_,           ____,     ____,   ____],
  [grantType,                  ____,    ____,     ____,     ____,    ____,  both,        ____,           ____,     ____,   ____],
  [responseType,               both,    both,     both,     both,    both,  ____,        ____,           ____,     ____,   ____],
  [stateChecked,               both,    both,     both,     both,    both,  ____,        ____,           ____,     ____,   ____],
  [codeChallenge,              both,    both,     both,     both,    both,  ____,        ____,           ____,     ____,   ____],
  [codeVerifier,               ____,    ____,     ____,     ____,    ____,  ____,        ____,           both,     ____,   ____],
  [resource,                   both,    both,     both,     both,    both,  ____,        inst,           both,     both,   ____],
  [scope,                      both,    both,     both,     both,    both,  ____,        inst,           ____,     ____,   ____],
  [narrowerScope,              ____,    ____,     ____,     ____,    ____,  ____,        ____,           ____,     both,   ____],
  [websites,                   ____,    ____,     ____,     ____,    ____,  ____,        inst,           ____,     ____,   ____],
  [person,                     both,    ____,     ____,     ____,    both,  ____,        ____,           ____,     ____,   ____],
  [csrf,                       ____,    ____,     ____,     ____,    both,  ____,        ____,           ____,     ____,   ____],
  [selection,                  ____,    ____,     ____,     ____,    both,  ____,        ____,           ____,     ____,   ____],
  [signInForm,                 ____,    both,     ____,     ____,    ____,  ____,        ____,           ____,     ____,   ____],
  [emptyForm,                  ____,    ____,     both,     ____,    ____,  ____,        ____,           ____,     ____,   ____],
];

export async function check(context: OAuthContext): Promise<void> {
  const column = ENDPOINTS.indexOf(context.endpoint);
  for (const [rule, ...cells] of ORDER) if (cells[column]?.includes(context.kind)) await rule(context);
}

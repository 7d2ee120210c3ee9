import { RESOURCES } from '../../core/authority.js';
import { SCOPES } from '../../core/scopes.js';
/**
 * The path of each interface below the base URL. REST has an empty path, so the URL of its metadata has no suffix (RFC
 * 9728, section 3.1).
 */
const PATHS = { rest: '', mcp: '/mcp', a2a: '/a2a' };
const NAMES = { rest: 'REST API', mcp: 'MCP endpoint', a2a: 'A2A endpoint' };
export const resourceUri = (baseUrl, resource) => baseUrl + PATHS[resource];
const WELL_KNOWN = '/.well-known/oauth-protected-resource';
export const AUTHORIZATION_SERVER = '/.well-known/oauth-authorization-server';
/**
 * Returns the URL of an interface's metadata. When the interface answers 401, the answer names this URL (RFC 9728,
 * section 5.1).
 */
export const metadataUri = (baseUrl, resource) => baseUrl + WELL_KNOWN + PATHS[resource];
/**
 * The metadata of the authorization server (RFC 8414, section 2). The metadata names no registration endpoint, because
 * credentials are issued at the command line. A client by URL needs no registration, because its client id is the URL
 * of its description. `byUrl` is false when the operator believes no host.
 */
const authorizationServer = (baseUrl, byUrl) => ({
    issuer: baseUrl,
    authorization_endpoint: `${baseUrl}/oauth/authorize`,
    token_endpoint: `${baseUrl}/oauth/token`,
    revocation_endpoint: `${baseUrl}/oauth/revoke`,
    scopes_supported: SCOPES,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'client_credentials', 'refresh_token'],
    token_endpoint_auth_methods_supported: methods(byUrl),
    revocation_endpoint_auth_methods_supported: methods(byUrl),
    ...(byUrl && { client_id_metadata_document_supported: true }),
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    service_documentation: `${baseUrl}/docs`,
});
/** A client by URL has no secret, so it authenticates by no method. */
const methods = (byUrl) => ['client_secret_basic', ...(byUrl ? ['none'] : [])];
const protectedResource = (baseUrl, resource, scopes) => ({
    resource: resourceUri(baseUrl, resource),
    authorization_servers: [baseUrl],
    scopes_supported: scopes,
    bearer_methods_supported: ['header'],
    resource_name: `Installation Gateway, ${NAMES[resource]}`,
    resource_documentation: `${baseUrl}/docs`,
});
/**
 * The four OAuth metadata documents, each with its path. The document of A2A lists only the scopes that the A2A skills
 * need.
 */
export const metadataDocuments = (baseUrl, { skillScopes, byUrl }) => new Map([
    [AUTHORIZATION_SERVER, authorizationServer(baseUrl, byUrl)],
    ...RESOURCES.map((one) => {
        const scopes = scopesOf(one, skillScopes);
        return [WELL_KNOWN + PATHS[one], protectedResource(baseUrl, one, scopes)];
    }),
]);
/** The scopes that the metadata of an interface names. */
export const scopesOf = (resource, skillScopes) => resource === 'a2a' ? skillScopes : SCOPES;
//# sourceMappingURL=metadata.js.map
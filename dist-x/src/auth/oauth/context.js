import { isClientUrl } from './clients/document.js';
import { single } from './parameters.js';
/**
 * The OAuth endpoints, in the order of the columns of the matrix in order.ts. `token` stands for a token request with
 * an unsupported grant type.
 */
export const ENDPOINTS = [
    'authorize',
    'sign_in',
    'sign_out',
    'identity',
    'consent',
    'token',
    'client_credentials',
    'authorization_code',
    'refresh_token',
    'revoke',
];
/** The endpoints that a person's browser asks for. The other endpoints are for clients. */
export const PAGES = ['authorize', 'sign_in', 'sign_out', 'identity', 'consent'];
export class OAuthContext {
    endpoint;
    request;
    services;
    #facts = {};
    /**
     * `by_url` if the client id is a URL. Such a client has no secret, so a token request with a header Authorization is
     * of the kind `installed`. On the pages for people, the header does not count, because a proxy in front of the
     * gateway can ask for it.
     */
    kind;
    constructor(endpoint, request, services) {
        this.endpoint = endpoint;
        this.request = request;
        this.services = services;
        const { parameters, authorization } = request;
        const id = parameters && single(parameters, 'client_id');
        const bare = authorization === undefined || PAGES.includes(endpoint);
        this.kind = id !== undefined && bare && isClientUrl(id) ? 'by_url' : 'installed';
    }
    learn(name, value) {
        this.#facts[name] = value;
    }
    known(name) {
        return this.#facts[name];
    }
    /**
     * Returns a fact about the request that an earlier rule has established. Throws if the order of the rules is wrong.
     */
    the(name) {
        const value = this.#facts[name];
        if (value === undefined)
            throw new Error(`${this.endpoint} reads ${name} before its rule has run: check order.ts`);
        return value;
    }
    /** The client of a request that only an installed client can make. Throws if the order of the rules is wrong. */
    get installed() {
        const client = this.the('client');
        if (client.kind !== 'installed')
            throw new Error(`${this.endpoint} is for installed clients: check order.ts`);
        return client;
    }
}
//# sourceMappingURL=context.js.map
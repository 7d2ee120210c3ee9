import { createSign, generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer, request as httpRequest, } from 'node:http';
import { Provider } from 'oidc-provider';
const b64 = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
export async function openTestProvider(redirectUris, authMethod = 'client_secret_basic') {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const kid = 'test';
    const asked = [];
    let handle;
    const server = createServer((request, response) => {
        handle(request, response).catch((error) => response.writeHead(500).end(String(error)));
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const origin = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
    const test = {
        issuer: origin,
        origin,
        clientId: 'gateway',
        clientSecret: randomBytes(16).toString('hex'),
        account: undefined,
        forge: undefined,
        distort: undefined,
        asked,
        close: () => new Promise((resolve) => {
            server.close(() => resolve());
            server.closeAllConnections();
        }),
    };
    // The library prints two warnings: it expects a newer Node, and it keeps its state in memory.
    const provider = new Provider(test.issuer, {
        clients: [
            {
                client_id: test.clientId,
                client_secret: test.clientSecret,
                redirect_uris: [...redirectUris],
                token_endpoint_auth_method: authMethod, // the cast is sound, because the library supports each method that a test names
            },
        ],
        clientAuthMethods: [authMethod], // the cast is sound, because the library supports each method that a test names
        jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'RS256' }] },
        claims: { openid: ['sub'], email: ['email', 'email_verified'] },
        cookies: { keys: [randomBytes(16).toString('hex')] },
        features: { devInteractions: { enabled: false } },
        interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
        findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ ...test.account, sub }) }),
        // The provider shows no consent page before it gives the e-mail address to the gateway.
        loadExistingGrant: async (context) => {
            const { client, session, provider: at } = context.oidc;
            const grant = new at.Grant({ accountId: session?.accountId ?? '', clientId: client?.clientId ?? '' });
            grant.addOIDCScope('openid email');
            await grant.save();
            return grant;
        },
        pkce: { required: () => true },
        ttl: { AccessToken: 60, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
    });
    const serve = provider.callback();
    const sign = (claims) => {
        const body = `${b64({ alg: 'RS256', kid })}.${b64(claims)}`;
        return `${body}.${createSign('RSA-SHA256').update(body).sign(privateKey).toString('base64url')}`;
    };
    const forged = (text) => {
        const { forge } = test;
        const body = JSON.parse(text);
        if (!forge || typeof body['id_token'] !== 'string')
            return text;
        const claims = JSON.parse(Buffer.from(body['id_token'].split('.')[1] ?? '', 'base64url').toString());
        return JSON.stringify({ ...body, id_token: sign(forge(claims)) });
    };
    handle = async (request, response) => {
        const path = (request.url ?? '').split('?')[0] ?? '';
        asked.push(`${request.method} ${path}`);
        if (path.startsWith('/interaction/')) {
            const { account } = test;
            const result = account
                ? { login: { accountId: account.sub } }
                : { error: 'access_denied', error_description: 'not today' };
            await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
            return;
        }
        const { distort } = test;
        if (/^\/(token|me|jwks|\.well-known)/.test(path))
            hold(response, (text) => {
                const honest = path === '/token' ? forged(text) : text;
                const told = distort ? distort(path, honest) : honest;
                return typeof told === 'string' ? { status: undefined, body: told } : told;
            });
        await serve(request, response);
    };
    return test;
}
/** Sends the result of `change` instead of the provider's response. */
function hold(response, change) {
    const end = response.end.bind(response);
    response.end = ((chunk) => {
        const { status, body } = change(chunk === undefined ? '' : chunk.toString());
        if (status !== undefined)
            response.statusCode = status;
        response.setHeader('Content-Length', Buffer.byteLength(body));
        return end(body);
    }); // the cast is sound, because the provider calls `end` only in this form
}
/** Keeps the cookies of each origin and follows redirects, unless a test stops it. */
export class Browser {
    #jars = new Map();
    #ports;
    constructor(ports) {
        this.#ports = ports;
    }
    cookies(origin) {
        const jar = this.#jars.get(origin) ?? new Map();
        this.#jars.set(origin, jar);
        return jar;
    }
    /** Follows redirects until a page comes, or stops before an address for which `stop` is true. */
    async go(address, stop) {
        let url = new URL(address);
        for (let hops = 0; hops < 12; hops++) {
            if (stop?.(url))
                return { url: url.href, status: 0, headers: {}, text: '' };
            const page = await this.#get(url);
            const { location } = page.headers;
            if (page.status < 300 || page.status > 399 || typeof location !== 'string')
                return page;
            url = new URL(location, url);
        }
        throw new Error('redirected for ever');
    }
    #get(url) {
        const jar = this.cookies(url.origin);
        return new Promise((resolve, reject) => {
            const request = httpRequest({
                host: '127.0.0.1',
                port: this.#ports.get(url.origin) ?? url.port,
                path: url.pathname + url.search,
                headers: {
                    host: url.host,
                    ...(jar.size > 0 && { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ') }),
                },
            }, (response) => {
                const parts = [];
                response.on('data', (part) => parts.push(part));
                response.on('error', reject);
                response.on('end', () => {
                    for (const cookie of response.headers['set-cookie'] ?? []) {
                        const [pair = '', ...attributes] = cookie.split('; ');
                        const at = pair.indexOf('=');
                        const [name, value] = [pair.slice(0, at), pair.slice(at + 1)];
                        const over = attributes.some((one) => /^max-age=0$|^expires=thu, 01 jan 1970/i.test(one));
                        if (over)
                            jar.delete(name);
                        else
                            jar.set(name, value);
                    }
                    const { statusCode: status = 0, headers } = response;
                    resolve({ url: url.href, status, headers, text: Buffer.concat(parts).toString() });
                });
            });
            request.on('error', reject);
            request.end();
        });
    }
}
//# sourceMappingURL=identity-provider.js.map
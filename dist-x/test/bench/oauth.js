import { digestOf, newSecret } from '../../src/auth/tokens.js';
import { issue } from '../support/credentials.js';
export async function benchClients(sql, count, port) {
    const authorizations = [];
    let app;
    while (authorizations.length < count) {
        const issued = await issue(sql, 1, app === undefined ? {} : { app });
        app = issued.app;
        const secret = newSecret('secret');
        await sql `UPDATE gateway.credential SET secret_digest = ${digestOf(secret)} WHERE id = ${issued.credential}`;
        authorizations.push(`Basic ${Buffer.from(`${issued.credential}:${secret}`).toString('base64')}`);
    }
    const base = `http://127.0.0.1:${port}`;
    const request = {
        body: new URLSearchParams({ grant_type: 'client_credentials', resource: base }).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
    };
    return {
        request,
        authorizations,
        async accessToken() {
            const headers = { ...request.headers, authorization: authorizations[0] ?? '' };
            const response = await fetch(`${base}/oauth/token`, { method: 'POST', body: request.body, headers });
            const { access_token } = (await response.json()); // the gateway's own answer has this shape
            return access_token;
        },
    };
}
//# sourceMappingURL=oauth.js.map
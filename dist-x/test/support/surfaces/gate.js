import { describe, expect, it } from 'vitest';
import { newSecret } from '../../../src/auth/tokens.js';
import { BASE_URL } from '../gateway.js';
import { parse, raw } from './wire.js';
/** Judges a 401. `challenge`: the parameters of WWW-Authenticate behind the error. */
export const unauthorized = (challenge) => (answer, where, code, sent = true) => {
    expect(answer.status, where).toBe(401);
    expect(answer.headers['content-type'], where).toBe('application/problem+json');
    expect(answer.headers['www-authenticate'], where).toBe(sent ? `Bearer error="invalid_token", ${challenge}` : `Bearer ${challenge}`);
    expect(answer.headers['ratelimit'], where).toBeUndefined();
    expect(answer.body, where).toMatchObject({ status: 401, code, type: `${BASE_URL}/problems/${code}` });
    expect(answer.body.request_id, where).toBe(answer.headers['x-request-id']);
};
const ENDINGS = ['token revoked', 'token expired', 'credential revoked', 'credential expired'];
export const codeAfter = (how) => (how.endsWith('revoked') ? 'token_revoked' : 'token_expired');
export async function end({ database: { sql } }, { credential }, how) {
    const column = sql(how.endsWith('revoked') ? 'revoked_at' : 'expires_at');
    const past = sql `now() - interval '1 millisecond'`;
    if (how.startsWith('token'))
        await sql `UPDATE gateway.token SET ${column} = ${past} WHERE credential_id = ${credential}`;
    else
        await sql `UPDATE gateway.credential SET ${column} = ${past} WHERE id = ${credential}`;
}
/** The tests of bad and ended tokens. They are the same for MCP and A2A. */
export function describeGate({ check, path, challenge, post, gateway, bodies, good, broken }) {
    const expectUnauthorized = unauthorized(challenge);
    const unknown = newSecret('installation_test');
    const BAD = [
        ['none', undefined],
        ['empty', ''],
        ['the scheme alone', 'Bearer'],
        ['another scheme', `Basic ${Buffer.from(`a:${unknown}`).toString('base64')}`],
        ['no scheme', unknown],
        ['malformed', 'Bearer igw_test_short'],
        ['bad checksum', `Bearer ${unknown.slice(0, -1)}${unknown.endsWith('0') ? '1' : '0'}`],
        ['unknown', `Bearer ${unknown}`],
        ['a client secret', `Bearer ${newSecret('secret')}`],
        ['a refresh token', `Bearer ${newSecret('refresh_test')}`],
        ['an unknown access token', `Bearer ${newSecret('access_test')}`],
        ['two', `Bearer ${unknown} ${unknown}`],
        ['another format', 'Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.'],
    ];
    const send = (token, body, options) => post(gateway().port, token, body, options);
    const rawStatus = async (...lines) => {
        const head = [`POST ${path} HTTP/1.1`, 'Host: 127.0.0.1', 'Connection: close', ...lines];
        const { text, closed } = await raw(gateway().port, head.join('\r\n'), { patience: 5_000 });
        expect(closed).toBe(true);
        return parse(text).status;
    };
    describe(`${check} no message without a token that is valid now`, () => {
        // The body is not read without a token, and is read before an unknown token is looked up. These two meet every body.
        // Each other token meets every fourth body.
        it.each(BAD)(`${check} token: %s -> 401 with a challenge, whatever the method and body`, async (name, authorization) => {
            const nth = BAD.findIndex(([one]) => one === name);
            const all = ['none', 'unknown'].includes(name);
            for (const [what, body] of bodies.filter((_, i) => all || (nth + i) % 4 === 0)) {
                const answer = await send(undefined, body, { headers: { authorization } });
                expectUnauthorized(answer, what, 'unauthenticated', authorization !== undefined);
            }
        });
        it(`${check} expired and revoked tokens -> 401 for every method and body, remembered here or not`, async () => {
            for (const how of ENDINGS) {
                for (const remembered of [false, true]) {
                    const issued = await gateway().issue();
                    if (remembered)
                        expect((await send(issued.token, good)).status).toBe(200);
                    await end(gateway(), issued, how);
                    for (const [what, body] of bodies.filter((_, i) => !remembered || i % 4 === 0))
                        expectUnauthorized(await send(issued.token, body), `${how} ${what}`, codeAfter(how));
                }
            }
        });
        it(`${check} bad headers and versions do not come before the proof of the token`, async () => {
            const issued = await gateway().issue();
            await end(gateway(), issued, 'token revoked');
            for (const options of broken) {
                const where = JSON.stringify(options);
                expectUnauthorized(await send(undefined, good, options), where, 'unauthenticated', false);
                expectUnauthorized(await send(unknown, good, options), where, 'unauthenticated');
                expectUnauthorized(await send(issued.token, good, options), where, 'token_revoked');
            }
        });
        it(`${check} without a token the body is not waited for`, async () => {
            expect(await rawStatus('Content-Length: 1000', '', '')).toBe(401);
        });
        it(`${check} two Authorization headers are refused, whichever is good`, async () => {
            const { token } = await gateway().issue();
            for (const tokens of [
                [token, unknown],
                [unknown, token],
                [token, token],
            ]) {
                const lines = tokens.map((one) => `Authorization: Bearer ${one}`);
                expect(await rawStatus(...lines, `Content-Length: ${good.length}`, '', good)).toBe(400);
            }
        });
    });
}
//# sourceMappingURL=gate.js.map
import { describe, expect, it } from 'vitest';
import { newSecret } from '../../../src/auth/tokens.ts';
import type { Answer } from '../answer.ts';
import type { Issued } from '../credentials.ts';
import { BASE_URL, type TestGateway } from '../gateway.ts';
import type { endpoint, RpcOptions } from './rpc.ts';
import { parse, raw } from './wire.ts';

/** Judges a 401. `challenge`: the parameters of WWW-Authenticate behind the error. */
export const unauthorized =
  (challenge: string) =>
  (answer: Answer, where: string, code: string, sent = true): void => {
    expect(answer.status, where).toBe(401);
    expect(answer.headers['content-type'], where).toBe('application/problem+json');
    expect(answer.headers['www-authenticate'], where).toBe(
      sent ? `Bearer error="invalid_token", ${challenge}` : `Bearer ${challenge}`,
    );
    expect(answer.headers['ratelimit'], where).toBeUndefined();
    expect(answer.body, where).toMatchObject({ status: 401, code, type: `${BASE_URL}/problems/${code}` });
    expect(answer.body.request_id, where).toBe(answer.headers['x-request-id']);
  };

const ENDINGS = ['token revoked', 'token expired', 'credential revoked', 'credential expired'] as const;
export type Ending = (typeof ENDINGS)[number];
export const codeAfter = (how: Ending): string => (how.endsWith('revoked') ? 'token_revoked' : 'token_expired');

export async function end({ database: { sql } }: TestGateway, { credential }: Issued, how: Ending): Promise<void> {
  const column = sql(how.endsWith('revoked') ? 'revoked_at' : 'expires_at');
  const past = sql`now() - interval '1 millisecond'`;
  if (how.startsWith('token'))
    await sql`UPDATE gateway.token SET ${column} = ${past} WHERE credential_id = ${credential}`;
  else await sql`UPDATE gateway.credential SET ${column} = ${past} WHERE id = ${credential}`;
}

export interface Gate {
  readonly check: string;
  readonly path: string;
  readonly challenge: string;
  readonly post: ReturnType<typeof endpoint>['post'];
  readonly gateway: () => TestGateway;
  readonly bodies: readonly (readonly [what: string, body: string])[];
  /** A body that the endpoint answers with 200. */
  readonly good: string;
  /** Headers and versions that the endpoint refuses for a good token. */
  readonly broken: readonly RpcOptions[];
}

/** The tests of bad and ended tokens. They are the same for MCP and A2A. */
export function describeGate({ check, path, challenge, post, gateway, bodies, good, broken }: Gate): void {
  const expectUnauthorized = unauthorized(challenge);
  const unknown = newSecret('installation_test');
  const BAD: readonly (readonly [what: string, authorization: string | undefined])[] = [
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
  const send = (token: string | undefined, body: string, options?: RpcOptions): Promise<Answer> =>
    post(gateway().port, token, body, options);
  const rawStatus = async (...lines: string[]): Promise<number> => {
    const head = [`POST ${path} HTTP/1.1`, 'Host: 127.0.0.1', 'Connection: close', ...lines];
    const { text, closed } = await raw(gateway().port, head.join('\r\n'), { patience: 5_000 });
    expect(closed).toBe(true);
    return parse(text).status;
  };

  describe(`${check} no message without a token that is valid now`, () => {
    // The body is not read without a token, and is read before an unknown token is looked up. These two meet every body.
    // Each other token meets every fourth body.
    it.each(BAD)(
      `${check} token: %s -> 401 with a challenge, whatever the method and body`,
      async (name, authorization) => {
        const nth = BAD.findIndex(([one]) => one === name);
        const all = ['none', 'unknown'].includes(name);
        for (const [what, body] of bodies.filter((_, i) => all || (nth + i) % 4 === 0)) {
          const answer = await send(undefined, body, { headers: { authorization } });
          const sent = authorization?.startsWith('Bearer') === true;
          expectUnauthorized(answer, what, 'unauthenticated', sent);
        }
      },
    );

    it(`${check} expired and revoked tokens -> 401 for every method and body, remembered here or not`, async () => {
      for (const how of ENDINGS) {
        for (const remembered of [false, true]) {
          const issued = await gateway().issue();
          if (remembered) expect((await send(issued.token, good)).status).toBe(200);
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

import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newSecret } from '../../../src/auth/tokens.ts';
import type { Answer } from '../../support/answer.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import {
  basic,
  consented,
  expectRefused,
  type Fields,
  formOf,
  newClient,
  newSession,
  post,
  RESOURCE,
  type TestClient,
  token,
} from '../../support/oauth/oauth.ts';

let gateway: TestGateway;
let client: TestClient;
let other: TestClient;
let session: string;
beforeAll(async () => {
  gateway = await openTestGateway();
  client = await newClient(gateway);
  other = await newClient(gateway);
  session = await newSession(gateway, client);
});
afterAll(() => gateway.close());

interface Family {
  readonly access: string;
  readonly refresh: string;
}

async function family(): Promise<Family> {
  const { exchange } = await consented(gateway, client, { session, choice: { renewal: 'yes' } });
  const { body } = await token(gateway, client, exchange);
  return { access: body.access_token, refresh: body.refresh_token };
}
const refreshed = (refresh: string, one = client): Promise<Answer> =>
  token(gateway, one, { grant_type: 'refresh_token', refresh_token: refresh, resource: RESOURCE.rest });
const own = async (): Promise<string> =>
  (await token(gateway, client, { grant_type: 'client_credentials', resource: RESOURCE.rest })).body.access_token;

const revoke = (secret: string, one = client, more: Fields = {}): Promise<Answer> =>
  post(gateway, '/oauth/revoke', { token: secret, ...more }, { authorization: basic(one) });
const usable = async (access: string): Promise<number> =>
  (await gateway.ask('/api/v1/websites', { token: access })).status;

function expectDone(answer: Answer, why: string): void {
  expect([answer.status, answer.text], why).toEqual([200, '']);
  expect(answer.headers['cache-control'], why).toBe('no-store');
}

describe('OR-01 revocation', () => {
  it('OR-01 an access token ends alone, again and again, whatever the hint', async () => {
    for (const hint of [undefined, 'access_token', 'refresh_token', 'nonsense', '']) {
      const one = await family();
      const sibling = await refreshed(one.refresh);
      const mine = await own();
      const more: Fields = hint === undefined ? {} : { token_type_hint: hint };
      for (let times = 0; times < 3; times++) expectDone(await revoke(one.access, client, more), String(hint));
      expect(await usable(one.access)).toBe(401);
      expect([await usable(sibling.body.access_token), await usable(mine)]).toEqual([200, 200]);
      expect((await refreshed(sibling.body.refresh_token)).status).toBe(200);
      expectDone(await revoke(mine, client, more), String(hint));
      expect(await usable(mine)).toBe(401);
    }
  });

  it('OR-01 a refresh token ends its consent: all access tokens, all refresh tokens, whatever the hint', async () => {
    for (const hint of [undefined, 'refresh_token', 'access_token', 'nonsense']) {
      const one = await family();
      const next = (await refreshed(one.refresh)).body;
      const another = await family();
      const more: Fields = hint === undefined ? {} : { token_type_hint: hint };
      for (let times = 0; times < 2; times++) expectDone(await revoke(next.refresh_token, client, more), String(hint));
      expect([await usable(one.access), await usable(next.access_token)]).toEqual([401, 401]);
      expectRefused(await refreshed(next.refresh_token), 'invalid_grant', String(hint));
      expect([await usable(another.access), (await refreshed(another.refresh)).status]).toEqual([200, 200]);
    }
    const one = await family();
    const next = (await refreshed(one.refresh)).body;
    expectDone(await revoke(one.refresh), 'rotated');
    expect(await usable(next.access_token)).toBe(401);
  });

  it('OR-01 a token that is unknown, malformed, another client’s or of another kind: 200, and nothing ends', async () => {
    const one = await family();
    const mine = await own();
    const { exchange } = await consented(gateway, client, { session });
    for (const secret of [one.access, one.refresh, mine]) expectDone(await revoke(secret, other), 'another client');
    const unknown = [
      newSecret('access_test'),
      newSecret('refresh_live'),
      newSecret('session'),
      'x',
      'é',
      "' OR 1=1",
      '🔥',
    ];
    const kinds = [client.token, client.secret, exchange['code'] ?? '', client.credential, 'a'.repeat(10_000)];
    for (const secret of [...unknown, ...kinds]) expectDone(await revoke(secret), secret.slice(0, 60));
    expect([await usable(one.access), await usable(mine), await usable(client.token)]).toEqual([200, 200, 200]);
    expect((await refreshed(one.refresh)).status).toBe(200);
    expect((await token(gateway, client, exchange)).status).toBe(200);
  });

  it('OR-01 POST of a form by the authenticated client, and nothing else', async () => {
    const mine = await own();
    const form = formOf({ token: mine });
    const authorization = basic(client);
    for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS']) {
      const answer = await gateway.ask(`/oauth/revoke?${form}`, {
        method,
        unchecked: true,
        headers: { authorization },
      });
      expect([answer.status, answer.headers.allow], method).toEqual([405, 'POST']);
    }
    for (const header of [undefined, 'Basic x', `Bearer ${mine}`, basic({ ...client, secret: newSecret('secret') })]) {
      const answer = await post(gateway, '/oauth/revoke', form, header === undefined ? {} : { authorization: header });
      expectRefused(answer, 'invalid_client', String(header));
    }
    const unknown = basic({ ...client, credential: `crd_${randomBytes(16).toString('hex')}` });
    expectRefused(await post(gateway, '/oauth/revoke', form, { authorization: unknown }), 'invalid_client', 'unknown');
    for (const body of [
      '',
      'token=',
      'token',
      `${form}&${form}`,
      `${form}&client_secret=x`,
      `${form}%00`,
      `${form}%ZZ`,
    ])
      expectRefused(await post(gateway, '/oauth/revoke', body, { authorization }), 'invalid_request', body);
    expectRefused(await post(gateway, `/oauth/revoke?${form}`, form, { authorization }), 'invalid_request', 'query');
    const json = { unchecked: true, body: { token: mine }, headers: { authorization } };
    expectRefused(await gateway.ask('/oauth/revoke', json), 'invalid_request', 'JSON');
    expect(await usable(mine)).toBe(200);
    expectDone(
      await post(gateway, '/oauth/revoke', `${form}&x=y`, { authorization }),
      'the form, with an unknown parameter',
    );
    expect(await usable(mine)).toBe(401);
  });
});

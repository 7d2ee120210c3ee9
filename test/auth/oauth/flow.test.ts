import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { consented, newClient, RESOURCE, type TestClient, token } from './oauth.support.ts';

let gateway: TestGateway;
let client: TestClient;
beforeAll(async () => {
  gateway = await openTestGateway();
  client = await newClient(gateway);
});
afterAll(() => gateway.close());

it('client credentials, a narrowed token, only on its resource', async () => {
  const answer = await token(gateway, client, {
    grant_type: 'client_credentials',
    resource: RESOURCE.rest,
    scope: 'website_read',
    website_id: ['web_1_2'],
  });
  expect(answer.body).toMatchObject({ token_type: 'Bearer', expires_in: 900, scope: 'website_read' });
  const { access_token } = answer.body;
  const websites = await gateway.ask('/api/v1/websites', { token: access_token });
  expect(websites.body.websites.map((one: { website_id: string }) => one.website_id)).toEqual(['web_1_2']);
  expect((await gateway.ask('/api/v1/context', { token: access_token })).body.scopes).toEqual(['website_read']);
});

it('code, token, refresh, reuse', async () => {
  const { exchange } = await consented(gateway, client, { choice: { renewal: 'yes' } });
  const first = await token(gateway, client, exchange);
  expect(first.status, first.text).toBe(200);
  expect((await gateway.ask('/api/v1/websites', { token: first.body.access_token })).status).toBe(200);
  const refresh = { grant_type: 'refresh_token', refresh_token: first.body.refresh_token, resource: RESOURCE.rest };
  const second = await token(gateway, client, refresh);
  expect(second.status, second.text).toBe(200);
  expect((await gateway.ask('/api/v1/websites', { token: second.body.access_token })).status).toBe(200);
  const reused = await token(gateway, client, refresh);
  expect(reused.body).toMatchObject({ error: 'invalid_grant' });
  expect((await gateway.ask('/api/v1/websites', { token: first.body.access_token })).status).toBe(401);
  expect((await gateway.ask('/api/v1/websites', { token: second.body.access_token })).status).toBe(401);
});

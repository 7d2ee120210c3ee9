import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Answer } from '../../support/answer.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { KEYS } from '../../support/keys.ts';
import {
  type DocumentServer,
  documentOf,
  hostedOptions,
  hostedRequest,
  LOOPBACK,
  openDocuments,
} from '../../support/oauth/hosted.ts';
import { csrfOf, expectPage, formOf, newPerson, pkce, post, SAME, signedIn } from '../../support/oauth/oauth.ts';

let gateway: TestGateway;
let documents: DocumentServer;
let person: { id: string; email: string };
let client: string;

beforeAll(async () => {
  documents = await openDocuments();
  gateway = await openTestGateway('demo', undefined, KEYS, {}, hostedOptions(documents));
});
afterAll(async () => {
  await gateway.close();
  await documents.close();
});
beforeEach(async () => {
  person = await newPerson(gateway);
  client = documents.serve(`/${randomUUID()}.json`);
});

const authorize = (query: string, cookie?: string): Promise<Answer> =>
  gateway.ask(`/oauth/authorize?${query}`, { unchecked: true, ...(cookie !== undefined && { headers: { cookie } }) });

/** The log line of a request. */
const lineOf = (answer: Answer): Record<string, unknown> =>
  gateway.log
    .map((line): Record<string, unknown> => (line.startsWith('{') ? JSON.parse(line) : {}))
    .find((line) => line['request_id'] === answer.headers['x-request-id']) ?? {};

describe('a client that is not accepted', () => {
  it('the log names the host and the reason, and the page says what to do', async () => {
    const refused = async (id: string, status: number): Promise<[unknown, unknown, string]> => {
      const answer = await authorize(formOf(hostedRequest(id, pkce())));
      expectPage(answer, id, status);
      const { client_host, reason } = lineOf(answer);
      return [client_host, reason, /<p class="lead">([^<]+)/.exec(answer.text)?.[1] ?? ''];
    };
    expect(await refused('https://EVIL.example/client.json', 400)).toEqual([
      'evil.example',
      'host_not_believed',
      expect.stringMatching(/does not accept clients from this host.*ask the operator/),
    ]);
    const broken = documents.serve(`/${randomUUID()}`, (_request: unknown, response: ServerResponse) =>
      response.writeHead(500).end(),
    );
    expect(await refused(broken, 503)).toEqual([
      '127.0.0.1',
      'document_unreachable',
      expect.stringContaining('try again'),
    ]);
    expect((await refused(`${documents.origin}/nothing.json`, 400))[1]).toBe('document_refused');
    const secret = documents.serve(`/${randomUUID()}`, { token_endpoint_auth_method: 'client_secret_basic' });
    expect(await refused(secret, 400)).toEqual([
      '127.0.0.1',
      'document_refused',
      expect.stringContaining('Tell the developer'),
    ]);
    // The host is believed, so this refusal must not tell the person to ask the operator.
    const [host, reason, sentence] = await refused(client.replace('http:', 'HTTP:'), 400);
    expect([host, reason, sentence]).toEqual(['127.0.0.1', undefined, expect.stringContaining('invalid request')]);
    const long = await authorize(formOf(hostedRequest(`https://${'a'.repeat(5_000)}.example/a`, pkce())));
    expect(String(lineOf(long)['client_host']).length).toBeLessThan(300);
  });

  it('a document that is away is 503 at the first visit, and its last form counts at the approval', async () => {
    const path = `/${randomUUID()}.json`;
    let away = true;
    const url = documents.serve(path, (_request: unknown, response: ServerResponse) =>
      response
        .writeHead(away ? 500 : 200, { 'content-type': 'application/json', 'cache-control': 'max-age=0' })
        .end(JSON.stringify(documentOf(`${documents.origin}${path}`))),
    );
    const query = formOf(hostedRequest(url, pkce()));
    const answer = await authorize(query);
    expectPage(answer, 'away', 503);
    const seconds = Number(answer.headers['retry-after']);
    expect(seconds).toBeLessThanOrEqual(5);
    away = false;
    await new Promise((resolve) => setTimeout(resolve, seconds * 1_000 + 100));
    const cookie = await signedIn(gateway, query, person.email);
    const csrf = csrfOf(await authorize(query, cookie));
    const form = { csrf, decision: 'approve', scope: 'website_read', website_id: 'web_1_1', duration: '8h' };
    away = true;
    expect((await post(gateway, `/oauth/consent?${query}`, form, { ...SAME, cookie })).status).toBe(303);
  });

  it('a name with a control character or half a character is refused before anything is stored', async () => {
    for (const client_name of [
      'Claude\u0000',
      '\u0007Claude',
      'Cla\nude',
      'Claude\u0085',
      '\ud800Claude',
      'Claude\udc00',
    ]) {
      const url = documents.serve(`/${randomUUID()}`, { client_name });
      const answer = await authorize(formOf(hostedRequest(url, pkce())));
      expectPage(answer, JSON.stringify(client_name));
      expect(lineOf(answer)['reason']).toBe('document_refused');
    }
    const url = documents.serve(`/${randomUUID()}`, { client_name: 'Claude \u{1f680} für Ärzte' });
    expect((await authorize(formOf(hostedRequest(url, pkce())))).status).toBe(200);
  });
});

describe('redirect addresses', () => {
  it('a host that would change the policy of the page is never used', async () => {
    for (const redirect_uri of [
      'https://a;sandbox/cb',
      'https://*/cb',
      'https://a,b/cb',
      "https://a'b/cb",
      'https://[2001:db8::1]/cb',
    ]) {
      const url = documents.serve(`/${randomUUID()}`, { redirect_uris: [redirect_uri, 'https://app.example/cb'] });
      expectPage(await authorize(formOf(hostedRequest(url, pkce(), { redirect_uri }))), redirect_uri);
      expect((await authorize(formOf(hostedRequest(url, pkce())))).status).toBe(200);
    }
    for (const redirect_uri of [
      'http://[::1]:4000/cb',
      'https://xn--bcher-kva.example/cb',
      'https://192.0.2.1:444/cb',
    ]) {
      const url = documents.serve(`/${randomUUID()}`, { redirect_uris: [redirect_uri] });
      expect((await authorize(formOf(hostedRequest(url, pkce(), { redirect_uri })))).status, redirect_uri).toBe(200);
    }
  });

  it('the note about the own machine stands there for every request to loopback', async () => {
    const note = 'This app runs on your own machine.';
    const query = (redirect_uri: string): string => formOf(hostedRequest(client, pkce(), { redirect_uri }));
    const cookie = await signedIn(gateway, query(LOOPBACK), person.email);
    expect((await authorize(query('http://127.0.0.1:45678/callback'), cookie)).text).toContain(note);
    expect((await authorize(query('https://app.example/cb'), cookie)).text).not.toContain(note);
  });

  it('nobody is redirected before a person has signed in', async () => {
    const wrong: Readonly<Record<string, object>> = {
      response_type: { response_type: 'token' },
      state: { state: 'ä'.repeat(3) },
      resource: { resource: 'https://other.example' },
      code_challenge: { code_challenge: 'short' },
    };
    const strange = { ...SAME, cookie: `igw_session=igwp_${'a'.repeat(49)}` };
    const cookie = await signedIn(gateway, formOf(hostedRequest(client, pkce())), person.email);
    for (const [why, changes] of Object.entries(wrong)) {
      const query = formOf(hostedRequest(client, pkce(), { ...changes }));
      expectPage(await authorize(query), why);
      expectPage(await authorize(query, strange.cookie), `${why}, a session that never was`);
      for (const path of ['sign-in', 'consent', 'sign-out'])
        expectPage(await post(gateway, `/oauth/${path}?${query}`, {}, SAME), `${why} at ${path}`);
      const { status, headers } = await authorize(query, cookie);
      expect([status, headers.location], why).toEqual([303, expect.stringContaining('https://app.example/cb?error=')]);
    }
    const query = formOf(hostedRequest(client, pkce()));
    const denied = await post(gateway, `/oauth/consent?${query}`, { decision: 'deny' }, SAME);
    expect([denied.status, denied.headers.location], 'a denial without a session').toEqual([200, undefined]);
  });
});

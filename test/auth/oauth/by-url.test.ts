import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hashPassword } from '../../../src/auth/passwords.ts';
import { unlock } from '../../../src/auth/sign-in.ts';
import { digestOf } from '../../../src/auth/tokens.ts';
import type { Answer } from '../../support/answer.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { KEYS } from '../../support/keys.ts';
import {
  answerPage,
  type DocumentServer,
  hostedOptions,
  hostedRequest,
  LOOPBACK,
  lineOf,
  openDocuments,
} from '../../support/oauth/hosted.ts';
import {
  cookieOf,
  csrfOf,
  doorFrom,
  expectPage,
  type Fields,
  formOf,
  newClient,
  newPerson,
  PASSWORD,
  pkce,
  post,
  request,
  SAME,
  signedIn,
} from '../../support/oauth/oauth.ts';
import { CHEAP, replaceScrypt } from '../../support/oauth/scrypt.ts';

/**
 * The pages for clients by URL, which belong to no organization. The hashes of passwords are counted, cost little, and
 * end after `held`. test/auth/people.test.ts judges their cost. hosted.test.ts has the whole flows.
 */
const work = { hashes: 0, held: Promise.resolve() };

replaceScrypt((scrypt) => (password, salt, length, _options, done?: unknown) => {
  work.hashes += 1;
  const answer = done as (error: Error | null, key: Buffer) => void; // the gateway uses the overload with a callback
  scrypt(password, salt, length, CHEAP, (...made) => {
    void work.held.then(() => answer(...made));
  });
});

const OTHER = 'another horse battery staple';
const WRONG = 'incorrect horse battery staple';

let gateway: TestGateway;
let documents: DocumentServer;
let person: { id: string; email: string };
let email: string;
let client: string;
let query: string;
let otherHash: string;
let from = 1;

beforeAll(async () => {
  documents = await openDocuments();
  gateway = await openTestGateway('demo', undefined, KEYS, {}, hostedOptions(documents));
  otherHash = await hashPassword(OTHER);
});
afterAll(async () => {
  await gateway.close();
  await documents.close();
});
beforeEach(async () => {
  person = await newPerson(gateway);
  ({ email } = person);
  client = documents.serve(`/${randomUUID()}.json`);
  query = formOf(hostedRequest(client, pkce()));
  from += 1;
});

const authorize = (asks: string, cookie?: string): Promise<Answer> =>
  gateway.ask(`/oauth/authorize?${asks}`, { unchecked: true, ...(cookie !== undefined && { headers: { cookie } }) });
const shown = (cookie: string): Promise<Answer> => authorize(query, cookie);

describe('a client that is not accepted', () => {
  it('the log names the host and the reason, and the page says what to do', async () => {
    const refused = async (id: string, status: number): Promise<[unknown, unknown, string]> => {
      const answer = await authorize(formOf(hostedRequest(id, pkce())));
      expectPage(answer, id, status);
      const { client_host, reason } = lineOf(gateway, answer);
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
    expect(String(lineOf(gateway, long)['client_host']).length).toBeLessThan(300);
  });

  it('a name with a control character or half a character is refused before anything is stored', async () => {
    for (const client_name of [
      ...['Claude\u0000', '\u0007Claude', 'Cla\nude', 'Claude\u0085', '\ud800Claude', 'Claude\udc00'],
    ]) {
      const url = documents.serve(`/${randomUUID()}`, { client_name });
      const answer = await authorize(formOf(hostedRequest(url, pkce())));
      expectPage(answer, JSON.stringify(client_name));
      expect(lineOf(gateway, answer)['reason']).toBe('document_refused');
    }
    const url = documents.serve(`/${randomUUID()}`, { client_name: 'Claude \u{1f680} für Ärzte' });
    expect((await authorize(formOf(hostedRequest(url, pkce())))).status).toBe(200);
  });
});

describe('redirect addresses', () => {
  it('a host that would change the policy of the page is never used', async () => {
    for (const redirect_uri of [
      ...['https://a;sandbox/cb', 'https://*/cb', 'https://a,b/cb', "https://a'b/cb", 'https://[2001:db8::1]/cb'],
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
    const told: Readonly<Record<string, string>> = {
      response_type: 'The response type is not supported.',
      state: 'state: A parameter is missing,',
      resource: 'resource: The resource is missing or wrong.',
      code_challenge: 'code_challenge: A parameter is missing,',
    };
    const strange = { ...SAME, cookie: `igw_session=igwp_${'a'.repeat(49)}` };
    const cookie = await signedIn(gateway, formOf(hostedRequest(client, pkce())), person.email);
    for (const [why, changes] of Object.entries(wrong)) {
      const query = formOf(hostedRequest(client, pkce(), { ...changes }));
      const page = await authorize(query);
      expectPage(page, why);
      // The page says to the developer what the client would have been told, and no value of the request.
      expect(page.text, why).toContain(`For the developer: ${told[why]}`);
      expect(page.text, why).not.toMatch(/other\.example|ä|short/);
      expectPage(await authorize(query, strange.cookie), `${why}, a session that never was`);
      for (const path of ['sign-in', 'consent', 'sign-out'])
        expectPage(await post(gateway, `/oauth/${path}?${query}`, {}, SAME), `${why} at ${path}`);
      const { status, headers } = await authorize(query, cookie);
      expect([status, headers.location], why).toEqual([303, expect.stringContaining('https://app.example/cb?error=')]);
    }
    const query = formOf(hostedRequest(client, pkce()));
    const unnamed = await authorize(formOf(hostedRequest(client, pkce(), { resource: [] })));
    expect(unnamed.text).toContain('For the developer: resource: The resource is missing or wrong. Name the interface');
    const denied = await post(gateway, `/oauth/consent?${query}`, { decision: 'deny' }, SAME);
    expect([denied.status, denied.headers.location], 'a denial without a session').toEqual([200, undefined]);
  });
});

/** Adds the person to a new organization. Returns the organization's name. */
async function join(password: 'same' | 'other'): Promise<{ name: string; id: string; tenant: string }> {
  const { sql } = gateway.database;
  const name = `Acme Support ${randomUUID()}`;
  const id = `acme-${randomUUID()}`;
  const [made] = await sql<{ tenant: number }[]>`
    INSERT INTO platform.organization (external_id, name) VALUES (${id}, ${name}) RETURNING tenant::integer`;
  const record = await newPerson(gateway, 'owner', made?.tenant);
  await sql`UPDATE gateway.person SET email = ${email} WHERE id = ${record.id}`;
  if (password === 'other') await sql`UPDATE gateway.person SET password = ${otherHash} WHERE id = ${record.id}`;
  return { name, id, tenant: String(made?.tenant) };
}

const send = (fields: Fields, cookie?: string): Promise<Answer> =>
  post(doorFrom(gateway.port, `127.0.0.${from}`), `/oauth/sign-in?${query}`, fields, {
    ...SAME,
    ...(cookie !== undefined && { cookie }),
  });
const signIn = (password: string, organization = ''): Promise<Answer> => send({ email, password, organization });

const organizationOn = ({ text }: Answer): string | undefined =>
  /<dt>Organization<\/dt><dd class="name"><bdi>([^<]+)/.exec(text)?.[1];
const buttons = ({ text }: Answer): (readonly [name: string, token: string])[] =>
  [...text.matchAll(/name="choose" value="([^"]+)"><bdi>([^<]+)/g)].map(([, token = '', name = '']) => [name, token]);

describe('passwords that differ', () => {
  it('the password decides the organization, and a right password leaves no failure behind', async () => {
    const second = await join('other');
    const own = organizationOn(await shown(cookieOf(await signIn(PASSWORD))));
    for (let n = 0; n < 8; n++) {
      const answer = await signIn(OTHER);
      expect(answer.status, `sign-in ${n}`).toBe(303);
      expect(organizationOn(await shown(cookieOf(answer)))).toBe(second.name);
    }
    const elder = await signIn(PASSWORD);
    expect([elder.status, organizationOn(await shown(cookieOf(elder)))]).toEqual([303, own]);
    expect(
      await gateway.database.sql`SELECT 1 FROM gateway.sign_in_failure WHERE source = ${`127.0.0.${from}`}`,
    ).toEqual([]);
  });

  it('a wrong password counts once, and the right password of one organization buys no guess at another', async () => {
    const { tenant } = await join('other');
    for (let n = 0; n < 4; n++) expect((await signIn(WRONG)).status).toBe(403);
    expect((await signIn(PASSWORD)).status).toBe(303);
    expect((await signIn(WRONG)).status).toBe(403);
    expect((await signIn(OTHER)).status).toBe(429);
    expect(await unlock(gateway.database.db, { tenant, email })).toBe(5);
    expect((await signIn(OTHER)).status).toBe(303);
  });

  it('a refusal takes the same work for every number of organizations, and whether one is named or not', async () => {
    const costs: number[] = [];
    const cost = async (fields: Fields): Promise<void> => {
      const before = work.hashes;
      from += 1;
      expect((await send(fields)).status).toBe(403);
      costs.push(work.hashes - before);
    };
    await cost({ email: `${randomUUID()}@example.com`, password: WRONG });
    for (let n = 1; n <= 4; n++) {
      await cost({ email, password: WRONG });
      const { name } = await join('other');
      await cost({ email, password: WRONG, organization: name });
      await cost({ email, password: WRONG, organization: 'nowhere' });
    }
    expect(new Set(costs)).toEqual(new Set([3]));
  });

  it('the name that the pages show chooses the organization, and so do its ids', async () => {
    const second = await join('other');
    for (const organization of [second.name, second.name.toUpperCase(), ` ${second.name} `, second.id]) {
      const answer = await signIn(OTHER, organization);
      expect(answer.status, organization).toBe(303);
      expect(organizationOn(await shown(cookieOf(answer)))).toBe(second.name);
    }
    expect((await signIn(PASSWORD, second.name)).status).toBe(403);
    expect((await signIn(OTHER, 'nowhere')).status).toBe(403);
  });
});

describe('one password for several organizations', () => {
  it('the person chooses by name, once, and is then in this organization only', async () => {
    const second = await join('same');
    const cookie = cookieOf(await signIn(PASSWORD));
    const page = await shown(cookie);
    expect(page.status).toBe(200);
    expect(page.text).not.toContain('name="scope"');
    expect(buttons(page).map(([name]) => name)).toEqual([expect.any(String), second.name]);
    for (const [name, token] of [...buttons(page)].reverse()) {
      const again = cookieOf(await signIn(PASSWORD));
      const [, mine = ''] = buttons(await shown(again)).find(([one]) => one === name) ?? [];
      expect((await send({ choose: token }, again)).status, 'the button of another sign-in').toBe(403);
      const chosen = await send({ choose: mine }, again);
      expect(chosen.status).toBe(303);
      expect(organizationOn(await shown(cookieOf(chosen)))).toBe(name);
      expect((await shown(again)).text, 'the choice is spent').toContain('<h1>Sign in</h1>');
      expect((await send({ choose: mine }, again)).status, 'a second press').toBe(403);
      const approved = await answerPage(gateway, query, cookieOf(chosen), {
        website_id: [],
        decision: 'deny',
      });
      expect(approved.status).toBe(303);
    }
  });

  it('before the choice there is no session: nothing can be approved, and other sites can press nothing', async () => {
    await join('same');
    const cookie = cookieOf(await signIn(PASSWORD));
    const page = await shown(cookie);
    const [[, token] = ['', '']] = buttons(page);
    expect(csrfOf(page)).toBe('');
    const form = { csrf: '1.x', decision: 'approve', scope: 'website_read', website_id: 'web_1_1', duration: '8h' };
    const consent = await post(gateway, `/oauth/consent?${query}`, form, { ...SAME, cookie });
    expect([consent.status, consent.text.includes('Choose an organization')]).toEqual([200, true]);
    const foreign = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example', cookie };
    expectPage(await post(gateway, `/oauth/sign-in?${query}`, { choose: token }, foreign), 'another site');
    expect((await send({ choose: 'x' }, cookie)).status).toBe(403);
    expect((await send({ choose: token })).status, 'no cookie').toBe(403);
    await post(gateway, `/oauth/sign-out?${query}`, {}, { ...SAME, cookie });
    expect((await send({ choose: token }, cookie)).status, 'after signing out').toBe(403);
  });

  it('a person who loses an organization before the choice cannot choose it', async () => {
    const { tenant } = await join('same');
    const cookie = cookieOf(await signIn(PASSWORD));
    const both = buttons(await shown(cookie));
    await gateway.database
      .sql`UPDATE gateway.person SET password = ${otherHash} WHERE tenant = ${tenant} AND email = ${email}`;
    expect(buttons(await shown(cookie)).length).toBe(1);
    expect((await send({ choose: both[1]?.[1] ?? '' }, cookie)).status).toBe(403);
    const secret = cookie.split('=')[1] ?? '';
    const rows = await gateway.database.sql`SELECT 1 FROM gateway.session WHERE digest = ${digestOf(secret)}`;
    expect(rows.length, 'the secret itself is no session').toBe(0);
  });
});

describe('more passwords than can be verified', () => {
  it('503 is told on the page: nobody is thrown out to the app by a gateway that is busy', async () => {
    const asks = formOf(request(await newClient(gateway), pkce()));
    let release = (): void => undefined;
    work.held = new Promise((resolve) => {
      release = resolve;
    });
    const late = setTimeout(release, 20_000);
    // Two passwords are verified, and sixteen wait. Only the attempt for which there is no room has an answer.
    const attempts = Array.from({ length: 19 }, (_, n) =>
      post(
        doorFrom(gateway.port, `127.0.1.${n + 1}`),
        `/oauth/sign-in?${asks}`,
        { email: `nobody-${n}@example.com`, password: PASSWORD },
        SAME,
      ),
    );
    const { status, headers, text } = await Promise.race(attempts);
    clearTimeout(late);
    release();
    expect([status, headers.location]).toEqual([503, undefined]);
    expect(headers['retry-after']).toMatch(/^[1-9][0-9]*$/);
    expect(text).toContain('cannot answer now');
    const others = (await Promise.all(attempts)).filter((answer) => answer.status !== 503);
    expect(others.map((answer) => answer.status)).toEqual(Array(18).fill(403));
  });
});

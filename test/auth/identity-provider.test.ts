import { randomBytes } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import pino from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type IdentityProvider, openIdentityProvider } from '../../src/auth/identity-provider.ts';
import { newId } from '../../src/auth/issue.ts';
import { NotVouchedFor } from '../../src/auth/not-vouched-for.ts';
import { openOAuth } from '../../src/auth/oauth/services.ts';
import { loadTools } from '../../src/gateway/load.ts';
import { insertPerson, type Role } from '../../src/store/administration/people.ts';
import { consoleSurface } from '../../src/surfaces/console/console.ts';
import { openClientAddress } from '../../src/surfaces/http/client-address.ts';
import { type RunningServer, startServer } from '../../src/surfaces/http/server.ts';
import { oauthSurface } from '../../src/surfaces/oauth/oauth.ts';
import { recordSurface } from '../../src/surfaces/record/record.ts';
import { testTools } from '../support/console/tools.ts';
import { issue } from '../support/credentials.ts';
import { freshDatabase, type TestDatabase } from '../support/database.ts';
import { Browser, openTestProvider, type TestProvider } from '../support/oauth/identity-provider.ts';
import { fetchProfile } from '../support/oauth/profiles.ts';

const HTTPS = 'https://gateway.example';
const HTTP = 'http://127.0.0.1:8420';
const CALLBACK = '/oauth/identity/callback';
const APP = 'https://app.example/cb';
const ADA = { sub: 'ada-1', email: 'ada@example.org', email_verified: true };

let database: TestDatabase;
let provider: TestProvider;
let identity: IdentityProvider;
let credential: string;
const servers = new Map<string, RunningServer>();
const log: string[] = [];

beforeAll(async () => {
  database = await freshDatabase('demo');
  provider = await openTestProvider([HTTPS + CALLBACK, HTTP + CALLBACK]);
  identity = openIdentityProvider(provider);
  ({ credential } = await issue(database.sql, 1));
  await database.sql`UPDATE gateway.credential SET callbacks = ${[APP]} WHERE id = ${credential}`;
  for (const baseUrl of [HTTPS, HTTP]) servers.set(baseUrl, await serverAt(baseUrl, identity));
});
afterAll(async () => {
  await Promise.all([...servers.values()].map((server) => server.close()));
  await provider.close();
  await database.close();
});
beforeEach(async () => {
  provider.account = ADA;
  await person();
});
afterEach(async () => {
  Object.assign(provider, { forge: undefined, distort: undefined });
  await database.sql`DELETE FROM gateway.person`;
});

const byUrl = { hosts: ['vscode.dev'], longest: 2_592_000, fetch: fetchProfile };

const serverAt = async (baseUrl: string, at: IdentityProvider): Promise<RunningServer> =>
  startServer({
    host: '127.0.0.1',
    baseUrl: 'http://127.0.0.1:8420',
    port: 0,
    tls: undefined,
    log: pino({ level: 'trace', base: null }, { write: (line: string) => void log.push(line) }),
    handlers: [
      oauthSurface(openOAuth({ baseUrl, db: database.db, skillScopes: [], byUrl }), openClientAddress([]), at),
      recordSurface({ baseUrl, db: database.db }, openClientAddress([]), at),
      consoleSurface(
        { baseUrl, db: database.db, slow: database.db, registry: await loadTools(), tools: testTools(baseUrl) },
        openClientAddress([]),
        at,
      ),
    ],
    otherwise: (_request, response) => void response.writeHead(404).end(),
  });

async function person(email = ADA.email, role: Role = 'admin'): Promise<string> {
  const made = await insertPerson(database.db, { id: newId('prs'), tenant: '1', email, role, password: null });
  if (!made) throw new Error('there already');
  return made.id;
}

const newBrowser = (): Browser => new Browser(new Map([...servers].map(([origin, { port }]) => [origin, port])));

const query = (changes: Readonly<Record<string, string>> = {}): string =>
  new URLSearchParams({
    response_type: 'code',
    client_id: credential,
    redirect_uri: APP,
    resource: changes['base'] ?? HTTPS,
    scope: 'website_read',
    state: randomBytes(16).toString('hex'),
    code_challenge: randomBytes(32).toString('base64url'),
    code_challenge_method: 'S256',
    ...changes,
  }).toString();

const atCallback = (url: URL): boolean => url.pathname === CALLBACK;

const sessions = async (): Promise<number> =>
  (await database.sql`SELECT count(*)::integer AS n FROM gateway.session`)[0]?.['n'];
const subjects = async (): Promise<unknown[]> =>
  (await database.sql`SELECT subject FROM gateway.person ORDER BY email`).map(({ subject }) => subject);

describe('a person signs in at the identity provider', () => {
  it.each([
    [HTTPS, '__Host-igw_session', '__Host-igw_identity', '; Secure'],
    [HTTP, 'igw_session', 'igw_identity', ''],
  ])('over %s, there and back, to the app’s own request', async (base, session, kept, secure) => {
    const asks = query({ resource: base });
    const browser = newBrowser();
    const away = await browser.go(`${base}/oauth/identity?${asks}`, (url) => url.origin === provider.origin);
    const sent = new URL(away.url).searchParams;
    expect(Object.fromEntries(sent)).toEqual({
      client_id: 'gateway',
      redirect_uri: base + CALLBACK,
      response_type: 'code',
      scope: 'openid email',
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    });
    expect([...browser.cookies(base).keys()]).toEqual([kept]);
    const back = await browser.go(away.url, (url) => url.pathname === '/oauth/authorize');
    expect(back.url).toBe(`${base}/oauth/authorize?${asks}`);
    expect([...browser.cookies(base).keys()]).toEqual([session]);
    const page = await browser.go(back.url);
    expect(page.status).toBe(200);
    expect(page.text).toContain(ADA.email);
    expect(page.text).toContain('name="csrf"');
    expect(await subjects()).toEqual([`${provider.issuer} ada-1`]);
    const cookies = await cookiesOf(base);
    expect(cookies).toEqual([
      expect.stringMatching(new RegExp(`^${kept}=[\\w-]+; Path=/; Max-Age=600; HttpOnly; SameSite=Lax${secure}$`)),
      expect.stringMatching(
        new RegExp(`^${session}=igwp_\\w{49}; Path=/; Max-Age=3600; HttpOnly; SameSite=Lax${secure}$`),
      ),
      `${kept}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax${secure}`,
    ]);
  });

  it('for a client that nobody registered, who belongs to no organization', async () => {
    const client_id = 'https://vscode.dev/oauth/client-metadata.json';
    const asks = query({ client_id, redirect_uri: 'http://127.0.0.1:40123/', resource: HTTP });
    const page = await newBrowser().go(`${HTTP}/oauth/identity?${asks}`);
    expect([page.status, page.url]).toEqual([200, `${HTTP}/oauth/authorize?${asks}`]);
    expect(page.text).toContain('Approve access for <bdi class="host">vscode.dev</bdi>?');
    expect(page.text).toContain(ADA.email);
    const strange = query({ client_id: 'https://evil.example/client.json', resource: HTTP });
    expect((await newBrowser().go(`${HTTP}/oauth/identity?${strange}`)).status).toBe(400);
  });

  it('for such a client, a person of several organizations chooses one, also the first time', async () => {
    await database.sql`INSERT INTO platform.organization (tenant, external_id, name) VALUES (8, 'acme', 'Acme Support')
      ON CONFLICT DO NOTHING`;
    const second = newId('prs');
    await insertPerson(database.db, { id: second, tenant: '8', email: ADA.email, role: 'owner', password: null });
    const client_id = 'https://vscode.dev/oauth/client-metadata.json';
    const asks = query({ client_id, redirect_uri: 'http://127.0.0.1:40123/', resource: HTTP });
    for (const time of ['first', 'second']) {
      const browser = newBrowser();
      const page = await browser.go(`${HTTP}/oauth/identity?${asks}`);
      expect([page.status, page.text.includes('name="scope"')], time).toEqual([200, false]);
      const [, token = ''] = /value="([^"]+)"><bdi>Acme Support/.exec(page.text) ?? [];
      const chosen = await fetch(`http://127.0.0.1:${servers.get(HTTP)?.port}/oauth/sign-in?${asks}`, {
        method: 'POST',
        redirect: 'manual',
        headers: {
          cookie: [...browser.cookies(HTTP)].map(([name, value]) => `${name}=${value}`).join('; '),
          'sec-fetch-site': 'same-origin',
          origin: HTTP,
        },
        body: new URLSearchParams({ choose: token }),
      });
      expect(chosen.status, time).toBe(303);
      const [name = '', value = ''] = chosen.headers.getSetCookie()[0]?.split(';')[0]?.split('=') ?? [];
      browser.cookies(HTTP).set(name, value);
      expect((await browser.go(`${HTTP}/oauth/authorize?${asks}`)).text).toContain('<bdi>Acme Support</bdi>');
    }
    expect(await subjects()).toEqual([`${provider.issuer} ada-1`, `${provider.issuer} ada-1`]);
  });

  it('for the page of a record, and comes back to this page', async () => {
    const browser = newBrowser();
    const form = await browser.go(`${HTTP}/c/cnv_1_1_11`);
    expect(form.text).toContain('href="/c/cnv_1_1_11/identity"');
    const page = await browser.go(`${HTTP}/c/cnv_1_1_11/identity`);
    expect([page.status, page.url]).toEqual([200, `${HTTP}/c/cnv_1_1_11`]);
    expect(page.text).toContain('<dd><code>cnv_1_1_11</code></dd>');
    expect([...browser.cookies(HTTP).keys()]).toEqual(['igw_session']);
    await database.sql`UPDATE gateway.person SET role = 'operator'`;
    const refused = await newBrowser().go(`${HTTP}/c/cnv_1_1_11/identity`);
    expect([refused.status, refused.text.includes('No record was shown.')]).toEqual([403, true]);
    expect(refused.text).toContain('<h1>You cannot see this page</h1>');
    expect(refused.text).toContain('you are not an owner or admin of any organization.');
    expect((await newBrowser().go(`${HTTP}/c/cnv_1_1_x/identity`)).status).toBe(404);
  });

  it('for the console, and comes back to the page that was asked for', async () => {
    const browser = newBrowser();
    const form = await browser.go(`${HTTP}/console/people`);
    expect(form.text).toContain('href="/console/identity?to=%2Fconsole%2Fpeople"');
    const page = await browser.go(`${HTTP}/console/identity?to=%2Fconsole%2Fpeople`);
    expect([page.status, page.url, page.text.includes(ADA.email)]).toEqual([200, `${HTTP}/console/people`, true]);
    expect((await browser.go(`${HTTP}/console/people/add`)).text).toContain('The person signs in with');
    await database.sql`UPDATE gateway.person SET role = 'operator'`;
    const refused = await newBrowser().go(`${HTTP}/console/identity?to=https://evil.example`);
    expect([refused.status, refused.text.includes('Nothing was changed.')]).toEqual([403, true]);
    expect(refused.text).toContain('<h1>You cannot see this page</h1>');
    expect(refused.text).toContain('you are not an owner, admin or approver of any organization.');
    const app = await newBrowser().go(`${HTTP}/oauth/identity?${query({ resource: HTTP })}`);
    expect([app.status, app.text.includes('<h1>You cannot approve this request</h1>')]).toEqual([403, true]);
    expect(app.text).toContain('you are not an owner or admin of this organization.');
  });

  it('and, if the organization has moved, reads its new address, known to the gateway already or not', async () => {
    const move = (to: string | null): Promise<unknown> =>
      database.sql`UPDATE platform.organization SET moved_to = ${to} WHERE tenant = 1`;
    const come = () => newBrowser().go(`${HTTP}/console/identity`);
    const bind = (to: string | null): Promise<unknown> => database.sql`UPDATE gateway.person SET subject = ${to}`;
    try {
      for (const subject of [null, `${provider.issuer} ada-1`]) {
        await bind(subject);
        await move('https://b.example');
        const page = await come();
        expect([page.status, page.text.includes('Sign in at https://b.example.')], `${subject}`).toEqual([403, true]);
        await move(HTTP);
        const soon = await come();
        expect([soon.status, soon.headers['retry-after']], `${subject}`).toEqual([503, '60']);
        expect(soon.text).toContain('Your organization is moving to this address');
        expect(await subjects()).toEqual([subject]);
        provider.account = { ...ADA, sub: 'eve-1', email: 'eve@example.org' };
        const stranger = await come();
        expect([stranger.status, stranger.text.includes('moving')]).toEqual([403, false]);
        provider.account = ADA;
      }
      expect(await sessions()).toBe(0);
    } finally {
      await move(null);
    }
    expect((await come()).status).toBe(200);
  });

  it('chooses among the first twenty of more organizations, and reads how to come into another one', async () => {
    await database.sql`INSERT INTO platform.organization (tenant, external_id, name)
      SELECT n, 'twin-' || n, 'Twin' FROM generate_series(101, 120) AS n`;
    const join = (tenant: number): Promise<unknown> =>
      insertPerson(database.db, {
        id: newId('prs'),
        tenant: `${tenant}`,
        email: ADA.email,
        role: 'admin',
        password: null,
      });
    const choice = async (): Promise<{ ids: number; buttons: number; told: boolean }> => {
      const { text } = await newBrowser().go(`${HTTP}/console/identity`);
      const ids = new Set(text.match(/org_[0-9a-f]{32}/g)).size;
      return { ids, buttons: text.split('name="choose"').length - 1, told: text.includes('20 organizations at most') };
    };
    for (let tenant = 101; tenant <= 118; tenant++) await join(tenant);
    expect(await choice()).toEqual({ ids: 19, buttons: 19, told: false });
    for (const tenant of [119, 120]) await join(tenant);
    expect(await choice()).toEqual({ ids: 20, buttons: 20, told: true });
  });

  it('and a forged cookie leads to no other address', async () => {
    for (const page of [
      '//evil.example',
      'x',
      '/c/cnv_1_1_11/../..',
      '',
      '/c/',
      '/console/../x',
      '/console//x',
      '/consoles',
    ]) {
      const kept = { state: 's', nonce: 'n', verifier: 'v', query: '', page };
      const cookie = deflateRawSync(JSON.stringify(kept)).toString('base64url');
      const answer = await fetch(`http://127.0.0.1:${servers.get(HTTP)?.port}${CALLBACK}?code=x&state=s`, {
        redirect: 'manual',
        headers: { cookie: `igw_identity=${cookie}` },
      });
      expect([answer.status, answer.headers.get('location')], page).toEqual([400, null]);
    }
  });

  async function cookiesOf(base: string): Promise<string[]> {
    const browser = newBrowser();
    const raw = async (address: string): Promise<{ cookies: string[]; location: string }> => {
      const url = new URL(address);
      const answer = await fetch(`http://127.0.0.1:${servers.get(base)?.port}${url.pathname}${url.search}`, {
        redirect: 'manual',
        headers: { cookie: [...browser.cookies(base)].map(([name, value]) => `${name}=${value}`).join('; ') },
      });
      expect(answer.status).toBe(303);
      return { cookies: answer.headers.getSetCookie(), location: answer.headers.get('location') ?? '' };
    };
    const begun = await raw(`${base}/oauth/identity?${query({ resource: base })}`);
    const [name = '', value = ''] = begun.cookies[0]?.split(';')[0]?.split('=') ?? [];
    browser.cookies(base).set(name, value);
    const { url } = await browser.go(begun.location, atCallback);
    return [...begun.cookies, ...(await raw(url)).cookies];
  }

  it('with the e-mail address in the ID token, or only at the userinfo endpoint', async () => {
    provider.forge = (claims) => ({ ...claims, email: ADA.email, email_verified: true });
    const before = provider.asked.length;
    await expect(signedIn()).resolves.toBe(true);
    expect(provider.asked.slice(before)).not.toContain('GET /me');
    provider.forge = undefined;
    await database.sql`UPDATE gateway.person SET subject = NULL`;
    await expect(signedIn()).resolves.toBe(true);
    expect(provider.asked).toContain('GET /me');
  });

  it('at a provider that takes the secret in the form only', async () => {
    const other = await openTestProvider([HTTPS + CALLBACK], 'client_secret_post');
    try {
      other.account = ADA;
      const at = openIdentityProvider(other);
      const { url, kept } = await at.begin(HTTPS + CALLBACK);
      const back = await newBrowser().go(url, atCallback);
      expect(await at.finish(new URL(back.url), kept)).toEqual({ subject: `${other.issuer} ada-1`, email: ADA.email });
    } finally {
      await other.close();
    }
  });

  it('asks the issuer nothing before the first sign-in, and for its documents once', async () => {
    const at = openIdentityProvider(provider);
    expect(at.name).toBe(new URL(provider.issuer).host);
    const before = provider.asked.length;
    expect(provider.asked).toHaveLength(before);
    await Promise.all(Array.from({ length: 5 }, () => at.begin(HTTPS + CALLBACK)));
    expect(provider.asked.slice(before)).toEqual(['GET /.well-known/openid-configuration']);
  });
});

async function signedIn(): Promise<boolean> {
  const browser = newBrowser();
  const page = await browser.go(`${HTTPS}/oauth/identity?${query()}`);
  const there = page.status === 200 && page.text.includes('name="csrf"');
  expect(browser.cookies(HTTPS).has('__Host-igw_session')).toBe(there);
  expect(browser.cookies(HTTPS).has('__Host-igw_identity')).toBe(false);
  if (!there) {
    expect(page.status).toBe(403);
    expect(page.text).toContain('<h1>');
    expect(await sessions()).toBe(0);
  }
  return there;
}

describe('whoever the provider does not vouch for is refused', () => {
  const now = (): number => Math.floor(Date.now() / 1000);

  it.each<[string, NonNullable<TestProvider['forge']>, boolean]>([
    ['an ID token as it is, signed anew', (claims) => claims, true],
    ['another nonce', (claims) => ({ ...claims, nonce: 'another' }), false],
    ['no nonce', ({ nonce: _, ...claims }) => claims, false],
    ['another issuer', (claims) => ({ ...claims, iss: 'http://127.0.0.1:1' }), false],
    ['another audience', (claims) => ({ ...claims, aud: 'another' }), false],
    [
      'several audiences without us as the party',
      (claims) => ({ ...claims, aud: ['gateway', 'another'], azp: 'another' }),
      false,
    ],
    ['an hour ago', (claims) => ({ ...claims, iat: now() - 7200, exp: now() - 3600 }), false],
    ['no end', ({ exp: _, ...claims }) => claims, false],
    ['no subject', ({ sub: _, ...claims }) => claims, false],
  ])('an ID token with %s', async (_, forge, may) => {
    provider.forge = forge;
    expect(await signedIn()).toBe(may);
  });

  const idToken = (change: (token: string) => string | undefined) => (path: string, body: string) => {
    if (path !== '/token') return body;
    const told: Record<string, unknown> = JSON.parse(body);
    return JSON.stringify({ ...told, id_token: change(String(told['id_token'])) });
  };
  it.each<[string, NonNullable<TestProvider['distort']>]>([
    ['no ID token', idToken(() => undefined)],
    ['a signature that is not its own', idToken((token) => token.replace(/\.[^.]{8}([^.]+)$/, '.AAAAAAAA$1'))],
    ['no signature', idToken((token) => token.replace(/\.[^.]+$/, '.'))],
    [
      'an algorithm that is none',
      idToken((token) => `${Buffer.from('{"alg":"none"}').toString('base64url')}.${token.split('.')[1]}.`),
    ],
    [
      'claims that were changed',
      idToken((token) => {
        const [head, body = '', signature] = token.split('.');
        const claims = { ...JSON.parse(Buffer.from(body, 'base64url').toString()), sub: 'eve' };
        return `${head}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.${signature}`;
      }),
    ],
    [
      'userinfo of somebody else',
      (path, body) => (path === '/me' ? JSON.stringify({ ...JSON.parse(body), sub: 'eve' }) : body),
    ],
  ])('an answer with %s', async (_, distort) => {
    provider.distort = distort;
    expect(await signedIn()).toBe(false);
    expect(await subjects()).toEqual([null]);
  });

  it.each<[string, object]>([
    ['an unverified e-mail address', { email_verified: false }],
    ['one of which nothing is said', { email_verified: undefined }],
    ['one that is verified in words only', { email_verified: 'true' }],
    ['no e-mail address', { email: undefined }],
    ['another verified one', { email: 'eve@example.org' }],
  ])('%s matches nobody, unless the subject is known', async (_, changed) => {
    provider.account = { ...ADA, ...changed };
    expect(await signedIn()).toBe(false);
    expect(await subjects()).toEqual([null]);
    provider.account = ADA;
    expect(await signedIn()).toBe(true);
    provider.account = { ...ADA, ...changed };
    expect(await signedIn()).toBe(true);
  });

  it('another subject with the address of a bound person', async () => {
    expect(await signedIn()).toBe(true);
    await database.sql`DELETE FROM gateway.session`;
    provider.account = { ...ADA, sub: 'eve-1' };
    expect(await signedIn()).toBe(false);
  });

  it.each([
    ['disabled', 'UPDATE gateway.person SET disabled_at = now()'],
    ['an operator', "UPDATE gateway.person SET role = 'operator'"],
    ['of another organization', 'UPDATE gateway.person SET tenant = 7'],
  ])('a person who is %s', async (_, change) => {
    await database.sql`INSERT INTO platform.organization (tenant, external_id, name) VALUES (7, 'rival', 'Rival')
      ON CONFLICT DO NOTHING`;
    await database.sql.unsafe(change);
    expect(await signedIn()).toBe(false);
    expect(await subjects()).toEqual([null]);
  });

  it('whoever refuses to sign in there', async () => {
    provider.account = undefined;
    expect(await signedIn()).toBe(false);
  });
});

describe('an answer that is not for this browser, or not the first', () => {
  async function away(browser: Browser, base = HTTPS): Promise<string> {
    return (await browser.go(`${base}/oauth/identity?${query()}`, atCallback)).url;
  }
  async function refusedAt(browser: Browser, url: string, status: number): Promise<void> {
    const page = await browser.go(url);
    expect(page.status).toBe(status);
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(browser.cookies(HTTPS).size).toBe(0);
    expect(await sessions()).toBe(0);
  }
  const changed = (url: string, name: string, value: string | undefined): string => {
    const to = new URL(url);
    if (value === undefined) to.searchParams.delete(name);
    else to.searchParams.set(name, value);
    return to.href;
  };

  it('in a browser that began nothing: a stolen or planted answer signs nobody in', async () => {
    const url = await away(newBrowser());
    await refusedAt(newBrowser(), url, 400);
  });

  it('in a browser that began another sign-in', async () => {
    const url = await away(newBrowser());
    const victim = newBrowser();
    await away(victim);
    await refusedAt(victim, url, 403);
  });

  it.each<[string, string, string | undefined]>([
    ['another state', 'state', 'x'.repeat(43)],
    ['no state', 'state', undefined],
    ['another issuer (RFC 9207)', 'iss', 'https://evil.example'],
    ['no issuer where the provider promises it', 'iss', undefined],
    ['another code', 'code', 'x'.repeat(43)],
    ['no code', 'code', undefined],
  ])('%s', async (_, name, value) => {
    const browser = newBrowser();
    await refusedAt(browser, changed(await away(browser), name, value), 403);
  });

  it('a state twice', async () => {
    const browser = newBrowser();
    const url = await away(browser);
    await refusedAt(browser, `${url}&state=${new URL(url).searchParams.get('state')}`, 403);
  });

  it('a second time: what was kept served once, and the code too', async () => {
    const browser = newBrowser();
    const url = await away(browser);
    const kept = browser.cookies(HTTPS).get('__Host-igw_identity') ?? '';
    expect((await browser.go(url)).status).toBe(200);
    await database.sql`DELETE FROM gateway.session`;
    browser.cookies(HTTPS).clear();
    expect((await browser.go(url)).status).toBe(400);
    browser.cookies(HTTPS).set('__Host-igw_identity', kept);
    await refusedAt(browser, url, 403);
  });

  it.each([
    ['no base64', '***'],
    ['nothing deflated', 'AAAA'],
    ['other members', 'q1YqSy0qzszPU7JSUFAA0Vx4AA'],
    ['a bomb', 'bomb'],
  ])('a kept value of %s', async (_, value) => {
    const browser = newBrowser();
    const url = await away(browser);
    const bomb = deflateRawSync(JSON.stringify({ query: 'x'.repeat(1_000_000) })).toString('base64url');
    browser.cookies(HTTPS).set('__Host-igw_identity', value === 'bomb' ? bomb : value);
    await refusedAt(browser, url, 400);
  });

  it('a kept query that is none is not sent on to', async () => {
    const browser = newBrowser();
    const url = await away(browser);
    const jar = browser.cookies(HTTPS);
    const bytes = inflateRawSync(Buffer.from(jar.get('__Host-igw_identity') ?? '', 'base64url'));
    const { query: asks, ...kept } = JSON.parse(bytes.toString());
    const planted = { ...kept, query: `${asks}\r\nSet-Cookie: planted=1` };
    jar.set('__Host-igw_identity', deflateRawSync(JSON.stringify(planted)).toString('base64url'));
    await refusedAt(browser, url, 400);
  });

  it('a verifier, nonce or state that somebody else kept', async () => {
    const one = await identity.begin(HTTPS + CALLBACK);
    const two = await identity.begin(HTTPS + CALLBACK);
    for (const member of ['state', 'nonce', 'verifier'] as const) {
      const { url } = await newBrowser().go(one.url, atCallback);
      const mixed = { ...one.kept, [member]: two.kept[member] };
      await expect(identity.finish(new URL(url), mixed), member).rejects.toThrow(NotVouchedFor);
    }
    const { url } = await newBrowser().go(one.url, atCallback);
    await expect(identity.finish(new URL(url), one.kept)).resolves.toMatchObject({ email: ADA.email });
  });

  it('a Host header of the browser’s own changes nothing', async () => {
    const browser = new Browser(
      new Map([
        [HTTPS, servers.get(HTTPS)?.port ?? 0],
        ['https://evil.example', servers.get(HTTPS)?.port ?? 0],
      ]),
    );
    const page = await browser.go(
      `https://evil.example/oauth/identity?${query()}`,
      (url) => url.origin === provider.origin,
    );
    expect(new URL(page.url).searchParams.get('redirect_uri')).toBe(HTTPS + CALLBACK);
  });
});

describe('a callback that a stranger makes up', () => {
  const kept = { state: 's', nonce: 'n', verifier: 'v'.repeat(43), query: '', page: '/console' };
  const cookie = `igw_identity=${deflateRawSync(JSON.stringify(kept)).toString('base64url')}`;
  async function calling<T>(at: IdentityProvider, work: (call: () => Promise<Response>) => Promise<T>): Promise<T> {
    const server = await serverAt(HTTP, at);
    const told = new URLSearchParams({ code: 'x', state: 's', iss: provider.issuer });
    const url = `http://127.0.0.1:${server.port}${CALLBACK}?${told}`;
    try {
      return await work(() => fetch(url, { redirect: 'manual', headers: { cookie } }));
    } finally {
      await server.close();
    }
  }
  /** A provider that confirms everybody as Ada. */
  const willing = (finish: IdentityProvider['finish']): IdentityProvider => ({ ...identity, finish });

  it('asks the provider 60 times at once and once a second, and then gets 429', async () => {
    const asked = (): number => provider.asked.filter((one) => one === 'POST /token').length;
    const before = asked();
    const answers = await calling(identity, async (call) => {
      const all: Response[] = [];
      for (let n = 0; n < 80; n++) all.push(await call());
      return all;
    });
    const statuses = answers.map(({ status }) => status);
    expect(statuses.slice(0, 60)).toEqual(Array.from({ length: 60 }, () => 403));
    expect(new Set(statuses)).toEqual(new Set([403, 429]));
    expect(asked() - before).toBe(statuses.filter((status) => status === 403).length);
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.headers.get('retry-after')).toBe('1');
    expect(await refused?.text()).toContain('There are too many sign-ins from your network.');
  });

  it('takes nothing from people whom the provider confirms', async () => {
    const confirmed = willing(async () => ({ subject: `${provider.issuer} ada-1`, email: ADA.email }));
    const statuses = await calling(confirmed, async (call) => {
      const all: number[] = [];
      for (let n = 0; n < 70; n++) all.push((await call()).status);
      return all;
    });
    expect(new Set(statuses)).toEqual(new Set([303]));
  });

  it('waits while four of its network ask the provider', async () => {
    let [running, most] = [0, 0];
    const release: (() => void)[] = [];
    const slow = willing(async () => {
      most = Math.max(most, ++running);
      await new Promise<void>((resolve) => release.push(resolve));
      running--;
      throw new NotVouchedFor('slow');
    });
    const answers = await calling(slow, async (call) => {
      const all = Array.from({ length: 12 }, call);
      for (let n = 0; n < 12; n++) {
        await expect.poll(() => release.length).toBeGreaterThan(0);
        release.shift()?.();
      }
      return Promise.all(all);
    });
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([403]));
    expect(most).toBe(4);
  });
});

describe('the app’s request', () => {
  const begun = async (asks: string): Promise<number> =>
    (await newBrowser().go(`${HTTPS}/oauth/identity?${asks}`, (url) => url.origin === provider.origin)).status;

  it('is kept as it came, up to what a cookie holds', async () => {
    const state = randomBytes(512).toString('hex');
    const browser = newBrowser();
    const asks = query({ state });
    const page = await browser.go(`${HTTPS}/oauth/identity?${asks}`, (url) => url.pathname === '/oauth/authorize');
    expect(page.url).toBe(`${HTTPS}/oauth/authorize?${asks}`);
  });

  it.each([
    ['no client', () => query({ client_id: '' })],
    ['an unknown client', () => query({ client_id: newId('crd') })],
    ['two clients', () => `${query()}&client_id=${credential}`],
    ['nothing', () => ''],
    ['another callback than the client’s', () => query({ redirect_uri: 'https://evil.example/cb' })],
  ])('of %s begins nothing', async (_, asks) => {
    const before = provider.asked.length;
    expect(await begun(asks())).toBe(400);
    expect(provider.asked).toHaveLength(before);
  });
});

describe('a provider that is not there', () => {
  it('is 503 with Retry-After, and is asked again the next time', async () => {
    const gone = await openTestProvider([HTTPS + CALLBACK]);
    gone.account = ADA;
    gone.distort = () => ({ status: 502, body: '<html>bad gateway</html>' });
    const server = await serverAt(HTTPS, openIdentityProvider(gone));
    const browser = new Browser(new Map([[HTTPS, server.port]]));
    try {
      const page = await browser.go(`${HTTPS}/oauth/identity?${query()}`);
      expect(page.status).toBe(503);
      expect(page.headers['retry-after']).toBe('5');
      expect(page.text).toContain('<h1>');
      gone.distort = undefined;
      const { url } = await browser.go(`${HTTPS}/oauth/identity?${query()}`, atCallback);
      expect(atCallback(new URL(url))).toBe(true);
      gone.distort = (path, body) => (path === '/token' ? { status: 502, body: '<html>bad gateway</html>' } : body);
      expect((await browser.go(url)).status).toBe(503);
      const late = (await browser.go(`${HTTPS}/oauth/identity?${query()}`, atCallback)).url;
      await gone.close();
      expect((await browser.go(late)).status).toBe(503);
      expect(await sessions()).toBe(0);
    } finally {
      await server.close();
    }
  });

  it('that does not know the gateway is 503 too: its operator has to mend that, and the person cannot', async () => {
    const at = openIdentityProvider({ ...provider, clientSecret: 'wrong' });
    const { url, kept } = await at.begin(HTTPS + CALLBACK);
    const back = await newBrowser().go(url, atCallback);
    await expect(at.finish(new URL(back.url), kept)).rejects.toMatchObject({ code: 'service_unavailable' });
  });

  it.each([
    [401, 'invalid_client'],
    [400, 'unauthorized_client'],
    [500, 'server_error'],
  ])('that answers the code with %i %s is 503; with invalid_grant it is the code', async (status, error) => {
    const { url, kept } = await identity.begin(HTTPS + CALLBACK);
    const back = new URL((await newBrowser().go(url, atCallback)).url);
    const told = (as: number, what: string) => (path: string, body: string) =>
      path === '/token' ? { status: as, body: JSON.stringify({ error: what }) } : body;
    provider.distort = told(status, error);
    await expect(identity.finish(back, kept)).rejects.toMatchObject({ code: 'service_unavailable' });
    provider.distort = told(400, 'invalid_grant');
    await expect(identity.finish(back, kept)).rejects.toThrow(NotVouchedFor);
  });

  it('that names another issuer than it was set up with is none', async () => {
    const at = openIdentityProvider({ ...provider, issuer: provider.issuer.replace('127.0.0.1', 'localhost') });
    await expect(at.begin(HTTPS + CALLBACK)).rejects.toMatchObject({ code: 'service_unavailable' });
  });

  it('over http is let through by the settings for loopback only; one of https is not asked over http', async () => {
    const at = openIdentityProvider({ ...provider, issuer: provider.issuer.replace('http:', 'https:') });
    const before = provider.asked.length;
    await expect(at.begin(HTTPS + CALLBACK)).rejects.toMatchObject({ code: 'service_unavailable' });
    expect(provider.asked).toHaveLength(before);
  });
});

it('LG-02 a sign-in there has a record, who and from where; one that failed, from where', () => {
  const records = log
    .map((line): Readonly<Record<string, unknown>> => JSON.parse(line))
    .filter(({ operation, audit }) => operation === 'oauth_identity' && audit === 'authentication');
  const of = (decision: string) => records.filter((one) => one['decision'] === decision);
  const source = '127.0.0.1';
  expect(of('allowed').length).toBeGreaterThan(0);
  for (const one of of('allowed')) expect(one).toMatchObject({ person: expect.stringMatching(/^prs_/), source });
  expect(of('refused').length).toBeGreaterThan(5);
  const code = expect.stringMatching(/^(identity_|throttled$|organization_moved$)/);
  for (const one of of('refused')) expect(one).toMatchObject({ code, source });
});

it('LG-01 no code, state, nonce, verifier, token, cookie, secret or address of a person is in the log', () => {
  const all = log.join('\n');
  expect(log.length).toBeGreaterThan(60);
  expect(all).toContain('oauth_identity');
  for (const secret of [
    'code=',
    'state',
    'nonce',
    'igwp_',
    'igw_identity',
    'ada@',
    'ada-1',
    'eyJ',
    provider.clientSecret,
  ]) {
    expect(all, secret).not.toContain(secret);
  }
});

import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newSecret } from '../../../src/auth/tokens.ts';
import { SCOPES } from '../../../src/core/scopes.ts';
import type { Answer } from '../../support/answer.ts';
import { counting, freshDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { times } from '../../support/form.ts';
import { BASE_URL, openTestGateway, type TestGateway } from '../../support/gateway.ts';
import {
  CALLBACK,
  complete,
  consented,
  cookieOf,
  csrfOf,
  decide,
  expectCallback,
  expectPage,
  type Fields,
  formOf,
  type Mutation,
  mutated,
  newClient,
  newPerson,
  PASSWORD,
  pkce,
  post,
  RESOURCE,
  rawOf,
  readPairs,
  request,
  SAME,
  seedOf,
  signedIn,
  type TestClient,
  token,
} from '../../support/oauth/oauth.ts';

let gateway: TestGateway;
let client: TestClient;
let owner: string;
let cookie: string;
let statements = 0;

beforeAll(async () => {
  gateway = await openTestGateway(
    'demo',
    counting(await freshDatabase('demo'), () => statements++),
  );
  client = await newClient(gateway);
  owner = (await newPerson(gateway)).email;
  cookie = await signedIn(gateway, formOf(request(client, pkce())), owner);
});
afterAll(() => gateway.close());

const STATE = 'state-of-sixteen';
const asked = (changes: Fields = {}, one = client): Record<string, string | readonly string[]> =>
  request(one, pkce(), { state: STATE, ...changes });
const without = (name: string): Fields => Object.fromEntries(Object.entries(asked()).filter(([one]) => one !== name));

const show = (query: string, headers: Record<string, string> = {}): Promise<Answer> =>
  gateway.ask(`/oauth/authorize?${query}`, { unchecked: true, headers });

/**
 * The four endpoints that read an authorization request. Each function sends a request, with a session cookie where the
 * endpoint needs one, and returns the answer.
 */
const DOORS: Readonly<Record<string, (query: string) => Promise<Answer>>> = {
  'authorize, nobody signed in': (query) => show(query),
  'authorize, signed in': (query) => show(query, { cookie }),
  'sign-in': (query) => post(gateway, `/oauth/sign-in?${query}`, { email: owner, password: PASSWORD }, SAME),
  consent: (query) => post(gateway, `/oauth/consent?${query}`, { decision: 'approve' }, { ...SAME, cookie }),
  'sign-out': (query) => post(gateway, `/oauth/sign-out?${query}`, '', SAME),
};

/**
 * Sends the first request to every door, and each other request to one door. The doors take turns. A rule is the same
 * function at every door (src/auth/oauth/order.ts), so not every value needs every door.
 */
async function everywhere(
  requests: Iterable<Fields | string>,
  look: (answer: Answer, why: string) => void,
): Promise<void> {
  const doors = Object.entries(DOORS);
  for (const [at, fields] of [...requests].entries()) {
    const query = typeof fields === 'string' ? fields : formOf(fields);
    for (const [name, ask] of at === 0 ? doors : doors.filter((_, door) => door === at % doors.length))
      look(await ask(query), `${name}: ${query.slice(0, 400)}`);
  }
}

/** Expects that the client gets this error from every door. */
const refusedEverywhere = (requests: readonly Fields[], error: string, state: string | null = STATE): Promise<void> =>
  everywhere(requests, (answer, why) => expectCallback(answer, error, state, why));

/** The authorization requests with one parameter that takes each of the values. */
const each = (name: string, values: readonly string[], one = client): Fields[] =>
  values.map((value) => asked({ [name]: value }, one));

const face = ({ status, headers, text }: Answer): object => {
  const { date: _date, 'x-request-id': id, ...rest } = headers;
  return { status, headers: rest, text: text.replaceAll(String(id), 'REQUEST') };
};

const consents = async (): Promise<number> => {
  const [row] = await gateway.database.sql<{ count: number }[]>`SELECT count(*)::integer FROM gateway.consent`;
  return row?.count ?? -1;
};

describe('the client and its callback', () => {
  it('OA-01 nothing but the registered callback, character for character, is redirected to', async () => {
    const other = await newClient(gateway);
    await gateway.database.sql`UPDATE gateway.credential
      SET callbacks = ${['https://other.example/cb']} WHERE id = ${other.credential}`;
    const wrong = [
      ...[
        ...['/', '/more', '?x=1', '?', '#f', '#', '%00', '%20', ' ', '\t', '\\', '/..', '/%2e%2e/cb', 'x'],
        ...['@evil.example'],
      ]
        .concat(['.evil.example', ':443', ';x', '&x=1'])
        .map((end) => CALLBACK + end),
      ...['https://app.example/', 'https://app.example', 'https://app.example/c', 'https://app.example/CB'],
      ...['https://App.example/cb', 'HTTPS://app.example/cb', 'https://APP.EXAMPLE/cb', 'https://app.example./cb'],
      ...['https://app.example/%63b', 'https://app.example/x/%2e%2e/cb', 'https://app.example/x/../cb'],
      ...['https://app.example/./cb', 'https://app.example//cb', 'https://app.example/%2Fcb'],
      ...['https://app.example:443/cb', 'https://app.example:444/cb', 'https://app.example:/cb'],
      ...['http://app.example/cb', 'ftp://app.example/cb', 'app.example/cb', '//app.example/cb', '/cb', 'cb'],
      ...['https://user@app.example/cb', 'https://user:pass@app.example/cb', 'https://app.example@evil.example/cb'],
      ...['https://sub.app.example/cb', 'https://xapp.example/cb', 'https://app.example.evil.example/cb'],
      ...[
        ...['https://аpp.example/cb', 'https://xn--pp-7kc.example/cb', 'https://ａpp.example/cb'],
        ...['https://app。example/cb'],
      ],
      ...[
        ...['https:\\\\app.example\\cb', 'https:/app.example/cb', 'https:///app.example/cb'],
        ...['https://evil\\@app.example/cb'],
      ],
      ...[' https://app.example/cb', 'xhttps://app.example/cb', 'javascript:alert(1)', 'data:text/html,x', 'null', '*'],
      ...['urn:ietf:wg:oauth:2.0:oob', 'http://127.0.0.1/cb', 'https://other.example/cb', CALLBACK.slice(1)],
    ];
    expect(new Set(wrong).size).toBeGreaterThan(60);
    const [first] = [await show(formOf(asked({ redirect_uri: 'https://evil.example/cb' })))].map(face);
    await everywhere(each('redirect_uri', wrong), (answer, why) => {
      expectPage(answer, why);
      expect(face(answer), why).toEqual(first);
    });
    expect((await show(formOf(asked({ redirect_uri: 'https://other.example/cb' }, other)))).status).toBe(200);
    expect((await show(formOf(asked()))).status).toBe(200);
  });

  it('OA-01 each of several callbacks is one, and keeps its own query', async () => {
    const several = await newClient(gateway);
    const callbacks = ['https://app.example/cb?tenant=7', 'https://two.example/', 'https://three.example:8443/a%20b'];
    await gateway.database.sql`UPDATE gateway.credential SET callbacks = ${callbacks} WHERE id = ${several.credential}`;
    for (const uri of callbacks) {
      const { headers, status } = await show(formOf(asked({ redirect_uri: uri, response_type: 'token' }, several)));
      expect([status, headers.location?.startsWith(`${uri}${uri.includes('?') ? '&' : '?'}error=`)]).toEqual([
        303,
        true,
      ]);
    }
    expectPage(await show(formOf(asked({ redirect_uri: callbacks.join(' ') }, several))), 'all of them');
  });

  it('OA-02 an unknown client, a dead one and a wrong callback have one answer, after the same work', async () => {
    const revoked = await newClient(gateway);
    const expired = await newClient(gateway);
    await gateway.database.sql`UPDATE gateway.credential SET revoked_at = now() WHERE id = ${revoked.credential}`;
    await gateway.database.sql`UPDATE gateway.credential SET expires_at = now() WHERE id = ${expired.credential}`;
    const wrongCallback = asked({ redirect_uri: 'https://evil.example/cb' });
    const shown = await show(formOf(wrongCallback));
    expect(shown.text).toContain(
      '<p class="small">For the developer: client_id or redirect_uri: A parameter is missing,',
    );
    expect(shown.text).not.toContain('evil.example');
    const expected = face(shown);
    const unknown = `crd_${randomBytes(16).toString('hex')}`;
    const ids = [unknown, revoked.credential, expired.credential, client.installation, client.app].concat(
      ['x', '*', '%', "' OR 1=1", 'null', '0', ' ', client.credential.toUpperCase(), `${client.credential} `],
      [
        client.credential.slice(0, -1),
        `${client.credential}0`,
        'c'.repeat(10_000),
        'crd_ﬀ',
        '<script>alert(1)</script>',
      ],
    );
    for (const redirect_uri of [CALLBACK, 'https://evil.example/cb', ''])
      await everywhere(
        ids.map((client_id) => asked({ client_id, redirect_uri })),
        (answer, why) => {
          expectPage(answer, why);
          expect(face(answer), why).toEqual(expected);
        },
      );
    // The least of three: the gateway's own upkeep can add a statement.
    const cost = async (fields: Fields): Promise<number> => {
      const costs: number[] = [];
      for (let n = 0; n < 3; n++) {
        const before = statements;
        await show(formOf(fields), { cookie });
        costs.push(statements - before);
      }
      return Math.min(...costs);
    };
    expect(await cost(asked({ client_id: unknown }))).toBe(await cost(wrongCallback));
    expect(await cost(wrongCallback)).toBe(1);
  });
});

describe('the parameters', () => {
  it('OA-03 each of the eight missing, empty or repeated: told to the client once it is proved, to nobody before', async () => {
    const names = Object.keys(asked());
    expect(names.length).toBe(8);
    for (const name of names) {
      const value = String(asked()[name]);
      const broken: readonly Fields[] = [
        without(name),
        asked({ [name]: '' }),
        asked({ [name]: [value, value] }),
        asked({ [name]: [value, 'other'] }),
        asked({ [name]: ['other', value] }),
        asked({ [name]: ['', value] }),
      ];
      await everywhere(broken, (answer, why) => {
        if (name === 'client_id' || name === 'redirect_uri') expectPage(answer, why);
        else expectCallback(answer, 'invalid_request', name === 'state' ? null : STATE, why);
      });
    }
    const others = ['x', 'prompt', 'request', 'request_uri', 'client_secret', 'code_challenge[]', '__proto__', 'Scope'];
    const unknown = others.map((name): Fields => ({ [name]: 'zzz' }));
    await everywhere(
      unknown.map((changes) => asked(changes)),
      (answer, why) => {
        expectCallback(answer, 'invalid_request', STATE, why);
        expect(answer.headers.location, why).not.toMatch(/zzz|prompt|__proto__/);
      },
    );
    const strange = unknown.map((changes) => asked({ ...changes, redirect_uri: 'https://evil.example/' }));
    await everywhere(strange, (answer, why) => expectPage(answer, why));
    await everywhere([''], (answer, why) => expectPage(answer, why));
  });

  it('OA-04 no response type but code', async () => {
    const types = ['token', 'id_token', 'code token', 'token code', 'code id_token', 'none', 'Code', 'code '];
    await refusedEverywhere(each('response_type', types), 'unsupported_response_type');
  });

  it('OA-05 the challenge is one of S256', async () => {
    const { challenge } = pkce();
    expect(challenge.length).toBe(43);
    const plain = `${'+/'.repeat(21)}A`;
    const methods = ['plain', 's256', 'S512', 'S256 ', 'none'];
    await refusedEverywhere(each('code_challenge_method', methods), 'invalid_request');
    const short = challenge.slice(0, 42);
    // The challenge that ends with B does not encode 32 bytes, because its last character has unused bits set.
    const broken = [`${short}B`, challenge.slice(1), `${challenge}A`, `${challenge}=`, `${short}=`, plain].concat([
      ...[`${short}é`, `${short}.`, ` ${challenge.slice(1)}`, 'a'.repeat(10_000)],
    ]);
    await refusedEverywhere(each('code_challenge', broken), 'invalid_request');
    await refusedEverywhere(['code_challenge', 'code_challenge_method'].map(without), 'invalid_request');
  });

  it('OA-06 a state of 16 to 1024 printable ASCII characters goes back byte for byte, any other is refused', async () => {
    const printable = Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index)).join('');
    const good = [
      '0123456789abcdef',
      'a'.repeat(1_024),
      printable,
      ' '.repeat(16),
      '%41%42%43%44%45%46',
      '+&=#?/+&=#?/+&=#',
    ];
    for (const state of good) {
      const query = formOf(asked({ state }));
      expect((await show(query)).status, state).toBe(200);
      for (const choice of [{}, { decision: 'deny' }]) {
        const answer = await decide(gateway, query, cookie, choice);
        const told = new URL(answer.headers.location ?? '').searchParams;
        expect(told.get('state'), state).toBe(state);
        expect(told.has('code'), state).toBe(choice.decision === undefined);
      }
      await refusedEverywhere([asked({ state, response_type: 'token' })], 'unsupported_response_type', state);
    }
    const bad = [
      ...['a'.repeat(15), 'a'.repeat(1_025), 'a'.repeat(10_000), 'é'.repeat(16), `${'a'.repeat(16)}\u00a0`],
      ...['🔥'.repeat(8)],
    ];
    await everywhere(each('state', bad), (answer, why) => {
      expectCallback(answer, 'invalid_request', null, why);
      expect(answer.headers.location, why).toContain('+Send+16+to+1024+printable+ASCII+characters.');
    });
    // No valid parameter contains a control character. The gateway therefore trusts no part of such a request, not even
    // the callback.
    const controls = ['\0', '\t', '\n', '\r\n', '\x1b', '\x7f'].map((control) => STATE + control);
    await everywhere(each('state', controls), (answer, why) => expectPage(answer, why));
  });

  it('OA-07 a resource is one of the three, byte for byte', async () => {
    const wrong = [
      ...['https://api.example', `${BASE_URL}/`, `${BASE_URL}/mcp/`, `${BASE_URL}/mcp#x`, `${BASE_URL}#`],
    ].concat(
      [`${BASE_URL}/mcp?x=1`, `${BASE_URL}?`, 'mcp', '/mcp', './mcp', '//127.0.0.1:8420/mcp', `${BASE_URL}/MCP`],
      [
        BASE_URL.toUpperCase(),
        BASE_URL.replace('http', 'HTTP'),
        BASE_URL.replace('http', 'https'),
        `${BASE_URL}/api/v1`,
      ],
      ['http://localhost:8420', 'http://127.0.0.1:8421', 'http://127.0.0.1', 'http://127.1:8420', `${BASE_URL}/%6dcp`],
      [`${BASE_URL}/a2a/../mcp`, `${BASE_URL}//mcp`, `http://x@127.0.0.1:8420`, `${BASE_URL} ${BASE_URL}/mcp`, 'rest'],
      [` ${BASE_URL}`, 'a'.repeat(10_000)],
    );
    await refusedEverywhere(each('resource', wrong), 'invalid_target');
    // RFC 8707 lets a client name several resources. This gateway refuses a request with a second `resource` parameter.
    await refusedEverywhere([asked({ resource: [RESOURCE.rest, RESOURCE.mcp] })], 'invalid_request');
    for (const resource of Object.values(RESOURCE)) {
      const page = await show(formOf(asked({ resource })), { cookie });
      expect([page.status, csrfOf(page)]).toEqual([200, expect.stringMatching(/^[1-9]\d*\..{43}$/)]);
    }
  });

  it('OA-08 a scope is of the credential, known, and named once', async () => {
    const narrow = await newClient(gateway, { scopes: ['website_read', 'conversation_read'] });
    const wrong = [
      ...['contact_read', 'website_read contact_read', 'website_read website_read', 'nonsense', '*', 'all'],
      ...['openid'],
    ]
      .concat([
        ...['website_read openid', 'Website_read', 'website_read,conversation_read', ' ', ' website_read'],
        ...['website_read '],
      ])
      .concat(['website_read  conversation_read', '"website_read"', 'website', '__proto__', 'a'.repeat(10_000)]);
    await refusedEverywhere(each('scope', wrong, narrow), 'invalid_scope');
    await refusedEverywhere([asked({ scope: '' }, narrow)], 'invalid_request');
    for (const scope of ['website_read', 'conversation_read website_read'])
      expect((await show(formOf(asked({ scope }, narrow)), { cookie })).status).toBe(200);
    expect((await show(formOf(asked({ scope: SCOPES.join(' ') })), { cookie })).status).toBe(200);
  });
});

describe('the answer', () => {
  it('OA-09 every callback names the issuer, as the metadata do', async () => {
    const metadata = (await gateway.ask('/.well-known/oauth-authorization-server', { unchecked: true })).body;
    expect(metadata.authorization_response_iss_parameter_supported).toBe(true);
    const answers = [
      await decide(gateway, formOf(asked()), cookie),
      await decide(gateway, formOf(asked()), cookie, { decision: 'deny' }),
      await show(formOf(asked({ scope: 'nonsense' }))),
      await show(formOf(without('state'))),
    ].map(({ headers }) => new URL(headers.location ?? '').searchParams);
    expect(answers.map((told) => told.get('iss'))).toEqual(answers.map(() => metadata.issuer));
    expect(answers.map((told) => told.get('error'))).toEqual([
      null,
      'access_denied',
      'invalid_scope',
      'invalid_request',
    ]);
    expect([...(answers[0]?.keys() ?? [])].sort()).toEqual(['code', 'iss', 'state']);
    expect(answers.slice(1).map((told) => told.has('code'))).toEqual([false, false, false]);
  });

  it('OA-10 what answers a form is a 303, which sends on nothing of it', async () => {
    const query = formOf(asked());
    const answers = [
      await post(gateway, `/oauth/sign-in?${query}`, { email: owner, password: PASSWORD }, SAME),
      await decide(gateway, query, cookie),
      await decide(gateway, formOf(asked()), cookie, { decision: 'deny' }),
      await post(gateway, `/oauth/consent?${formOf(asked({ scope: 'x' }))}`, {}, { ...SAME, cookie }),
      await post(gateway, `/oauth/sign-out?${query}`, '', SAME),
    ];
    for (const { status, text, headers } of answers) {
      expect([status, text]).toEqual([303, '']);
      expect(headers.location).not.toContain(PASSWORD);
    }
  });

  const CODES = times(125, 1_000);
  it(`OA-11 ${CODES} codes: none twice, no order, no character of a place before the others`, async () => {
    const codes: string[] = [];
    for (let at = 0; at < CODES; at++) {
      const answer = await decide(gateway, formOf(asked({ state: `state-number-${at}-0000` })), cookie);
      codes.push(new URL(answer.headers.location ?? '').searchParams.get('code') ?? '');
    }
    expect(new Set(codes).size).toBe(CODES);
    for (const code of codes) expect(code).toMatch(/^igwc_[0-9A-Za-z]{49}$/);
    // In a random sequence, a code is greater than the code before it in about half of the cases. For 1,000 codes, the
    // expected number is 499.5 with a standard deviation of 9.1.
    const rises = codes.filter((code, at) => at > 0 && code > (codes[at - 1] ?? '')).length;
    expect(Math.abs(rises - (CODES - 1) / 2)).toBeLessThan(6 * Math.sqrt((CODES + 1) / 12));
    const bodies = codes.map((code) => code.slice(5, 48));
    for (let place = 0; place < 43; place++) {
      const counts = new Map<string, number>();
      for (const body of bodies) counts.set(body[place] ?? '', (counts.get(body[place] ?? '') ?? 0) + 1);
      // At each position of a code, all 62 characters are equally likely. The expected chi-square value is 61 with a
      // standard deviation of 11.
      const mean = CODES / 62;
      const squares = [...counts.values()].reduce((sum, count) => sum + (count - mean) ** 2 / mean, 0);
      const chi = squares + (62 - counts.size) * mean;
      expect(chi, `place ${place}`).toBeLessThan(61 + 8 * 11);
    }
    expect(43 * Math.log2(62)).toBeGreaterThan(256);
  });

  it('OA-12 nothing of a flow is in the log, and no page or redirect tells a referrer', async () => {
    const state = `state-${randomBytes(12).toString('hex')}`;
    const query = formOf(asked({ state }));
    const page = await show(query, { cookie });
    const answer = await decide(gateway, query, cookie);
    const code = new URL(answer.headers.location ?? '').searchParams.get('code') ?? '';
    const proof = pkce();
    await token(gateway, client, { grant_type: 'authorization_code', code, code_verifier: proof.verifier });
    await gateway.ask(`/oauth/authorize?${query}&code=${code}`, { unchecked: true });
    for (const { headers } of [page, answer, await show(query), await show('x')])
      expect(headers['referrer-policy']).toBe('no-referrer');
    const log = gateway.log.join('\n');
    expect(log).toContain('oauth_authorize');
    expect(log).toContain('oauth_consent');
    expect(code).toMatch(/^igwc_/);
    const session = cookie.split('=')[1] ?? '';
    for (const secret of [
      code,
      state,
      proof.verifier,
      session,
      csrfOf(page),
      PASSWORD,
      client.secret,
      owner,
      'redirect_uri',
    ]) {
      expect(secret.length).toBeGreaterThan(8);
      expect(log.includes(secret), secret).toBe(false);
    }
  });
});

describe('who is signed in', () => {
  beforeAll(async () => {
    await gateway.database
      .sql`INSERT INTO platform.organization (tenant, external_id, name) VALUES (2, 'other', 'Other')`;
  });

  it('nobody but owners and admins of the organization whose app asks, by one whole session cookie', async () => {
    const query = formOf(asked());
    const signIn = /<title>[^<]*Sign in/;
    const forms = { 'sec-fetch-site': 'same-origin', origin: 'null' };
    for (const [role, tenant] of [
      ['operator', 1],
      ['owner', 2],
    ] as const) {
      const { email } = await newPerson(gateway, role, tenant);
      const answer = await post(gateway, `/oauth/sign-in?${query}`, { email, password: PASSWORD }, forms);
      expect([answer.status, answer.headers['set-cookie']], role).toEqual([403, undefined]);
    }
    const admin = await newPerson(gateway, 'admin');
    const own = await signedIn(gateway, query, admin.email);
    expect(csrfOf(await show(query, { cookie: own }))).not.toBe('');
    const [name = '', secret = ''] = own.split('=');
    const wrong = [
      ...[`${own}; ${own}`, `${own}; ${cookie}`, `${name}=`, `${name}=${secret.slice(0, -1)}`, `x${own}`],
    ].concat(
      [`${name}=${newSecret('session')}`, `${name}=${newSecret('access_test')}`, `${name.toUpperCase()}=${secret}`],
      [`${name}="${secret}"`, `${name}=${secret}x`, `${name} =${secret}`, client.token],
    );
    for (const sent of wrong) {
      const answer = await show(query, { cookie: sent });
      expect([answer.status, signIn.test(answer.text), csrfOf(answer)], sent).toEqual([200, true, '']);
      const before = await consents();
      await post(gateway, `/oauth/consent?${query}`, { decision: 'approve' }, { ...SAME, cookie: sent });
      expect(await consents(), sent).toBe(before);
    }
    // A person who is signed in to one organization is not signed in to another organization.
    const foreign = await newClient({ database: gateway.database, issue: (grant) => gateway.issue(grant, 2) });
    const page = await show(formOf(asked({}, foreign)), { cookie: own });
    expect([page.status, signIn.test(page.text), csrfOf(page)]).toEqual([200, true, '']);
  });

  it('the sign-in form with a field missing, empty, repeated or malformed signs nobody in', async () => {
    const query = formOf(asked());
    const { email } = await newPerson(gateway);
    const good = formOf({ email, password: PASSWORD });
    const bodies = [
      '',
      formOf({ email }),
      formOf({ password: PASSWORD }),
      formOf({ email: '', password: PASSWORD }),
    ].concat(
      [formOf({ email, password: '' }), `${good}&password=x`, `${good}&email=${owner}`, `email=${owner}&${good}`],
      [`${good}%00`, `${good}%ZZ`, `${good}&x=%ff`, `${good}&=x`, `${good}&unknown=1`, `${good}&password=${PASSWORD}`],
    );
    for (const body of bodies) {
      const answer = await post(gateway, `/oauth/sign-in?${query}`, body, SAME);
      expect([answer.status, answer.headers['set-cookie'], answer.headers.location], body).toEqual([
        expect.toSatisfy((status) => status === 400 || status === 403),
        undefined,
        undefined,
      ]);
    }
    await gateway.database.sql`DELETE FROM gateway.sign_in_failure`;
    await signedIn(gateway, query, email);
  });
});

const marked = (text: string): string[] => text.match(/<input\b[^>]*\bchecked\b[^>]*>/g) ?? [];
const boxes = (text: string, name: string): string[] =>
  [...text.matchAll(/<input\b[^>]*>/g)]
    .map(([tag]) => tag)
    .filter((tag) => /type="checkbox"/.test(tag) && tag.includes(`name="${name}"`))
    .map((tag) => /value="([^"]*)"/.exec(tag)?.[1] ?? '');

describe('CP-03 the choice', () => {
  it('CP-03 every scope asked for and every website of the credential is offered, none ticked', async () => {
    const narrow = await newClient(gateway, {
      websites: ['web_1_2'],
      scopes: ['website_read', 'contact_read', 'config_read'],
    });
    const { text } = await show(formOf(asked({ scope: 'website_read contact_read' }, narrow)), { cookie });
    expect(boxes(text, 'scope').sort()).toEqual(['contact_read', 'website_read']);
    expect(boxes(text, 'website_id')).toEqual(['web_1_2']);
    expect(boxes(text, 'renewal')).toEqual(['yes']);
    expect(marked(text)).toEqual([]);
  });

  it('CP-03 what was not offered, or twice, or no form of ours, is refused and nobody is sent anywhere', async () => {
    const narrow = await newClient(gateway, { websites: ['web_1_1'] });
    const query = formOf(asked({ scope: 'website_read conversation_read' }, narrow));
    const page = await show(query, { cookie });
    const csrf = csrfOf(page);
    const good = { csrf, scope: ['website_read'], website_id: ['web_1_1'], decision: 'approve' };
    const before = await consents();
    const forms: readonly (Fields | string)[] = [
      { ...good, scope: ['website_read', 'contact_read'] },
      { ...good, scope: ['contact_read'] },
      { ...good, scope: ['nonsense'] },
      { ...good, scope: ['website_read conversation_read'] },
      { ...good, scope: ['website_read', 'website_read'] },
      { ...good, scope: ['website_read', ''] },
      { ...good, website_id: ['web_1_2'] },
      { ...good, website_id: ['web_1_1', 'web_1_2'] },
      { ...good, website_id: ['web_2_1'] },
      { ...good, website_id: ['1'] },
      { ...good, website_id: ['web_1_1', 'web_1_1'] },
      { ...good, renewal: 'no' },
      { ...good, renewal: '' },
      { ...good, renewal: ['yes', 'yes'] },
      { ...good, decision: '' },
      { ...good, decision: 'Approve' },
      { ...good, decision: ['approve', 'deny'] },
      { ...good, decision: ['approve', 'approve'] },
      { ...good, unknown: 'x' },
      { ...good, __proto__x: 'x' },
      { csrf, scope: good.scope, website_id: good.website_id },
      { ...good, csrf: '' },
      { ...good, csrf: [csrf, csrf] },
      { ...good, csrf: `${csrf.slice(0, -1)}${csrf.endsWith('A') ? 'B' : 'A'}` },
      { ...good, csrf: 'a'.repeat(10_000) },
      { scope: good.scope, website_id: good.website_id, decision: 'approve' },
      `${formOf(good)}%00`,
      `${formOf(good)}&scope=%ZZ`,
      `${formOf(good)}&=x`,
      '',
    ];
    for (const form of forms) {
      const answer = await post(gateway, `/oauth/consent?${query}`, form, { ...SAME, cookie });
      expectPage(answer, JSON.stringify(form).slice(0, 300));
    }
    for (const headers of [
      {},
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site', origin: 'null' },
      { 'sec-fetch-site': 'cross-site', origin: BASE_URL },
      { 'sec-fetch-site': 'same-site', origin: 'null' },
      { 'sec-fetch-site': 'none', origin: 'null' },
      { 'sec-fetch-site': 'same-origin', origin: 'https://evil.example' },
    ]) {
      for (const path of ['consent', 'sign-in', 'sign-out']) {
        const form = path === 'consent' ? good : { email: owner, password: PASSWORD };
        const answer = await post(gateway, `/oauth/${path}?${query}`, form, { ...headers, cookie });
        expectPage(answer, `${path} ${JSON.stringify(headers)}`);
      }
    }
    expect(await consents()).toBe(before);
    const other = formOf(asked({ scope: 'website_read conversation_read' }, narrow));
    expectPage(await post(gateway, `/oauth/consent?${other}`, good, { ...SAME, cookie }), 'another request');
    const elsewhere = await signedIn(gateway, query, owner);
    expectPage(await post(gateway, `/oauth/consent?${query}`, good, { ...SAME, cookie: elsewhere }), 'another session');
    expect(await consents()).toBe(before);
    const done = await post(gateway, `/oauth/consent?${query}`, good, { ...SAME, cookie });
    expect(done.headers.location).toContain('code=');
    expect(await consents()).toBe(before + 1);
    const again = await post(gateway, `/oauth/consent?${query}`, good, { ...SAME, cookie });
    expect([again.status, again.headers.location, await consents()]).toEqual([409, undefined, before + 1]);
  });

  it('CP-03 the token holds what was ticked and no more; without renewal there is no refresh token', async () => {
    for (const renewal of [undefined, 'yes'] as const) {
      const choice = { scope: ['website_read'], website_id: ['web_1_2'], ...(renewal && { renewal }) };
      const { exchange } = await consented(gateway, client, { session: cookie, choice });
      const { status, body } = await token(gateway, client, exchange);
      expect([status, body.scope, typeof body.refresh_token]).toEqual([
        200,
        'website_read',
        renewal ? 'string' : 'undefined',
      ]);
      expect(typeof body.refresh_expires_in).toBe(renewal ? 'number' : 'undefined');
      const context = await gateway.ask('/api/v1/context', { token: body.access_token });
      expect(context.body.scopes).toEqual(['website_read']);
      const { websites } = (await gateway.ask('/api/v1/websites', { token: body.access_token })).body;
      expect(websites.map((one: { website_id: string }) => one.website_id)).toEqual(['web_1_2']);
      const beyond = await gateway.ask('/api/v1/conversations?website_id=web_1_2', { token: body.access_token });
      expect(beyond.status).toBe(404);
    }
  });
});

const KINDS = [
  ...['missing', 'empty', 'repeated', 'other value', 'escape', 'control', 'long', 'unknown', 'nameless'],
] as const;

describe('HT-02 broken in any way', () => {
  const seed = seedOf('authorization requests');
  const mutations = (names: readonly string[]): fc.Arbitrary<Mutation[]> =>
    fc.array(fc.record({ name: fc.constantFrom(...names), kind: fc.constantFrom(...KINDS), pick: fc.nat(1_000) }), {
      minLength: 1,
      maxLength: 3,
    });

  it('HT-02 property: no redirect unless client and callback are proved, and then the client is told', async () => {
    const doors = Object.keys(DOORS);
    const before = await consents();
    let [pages, callbacks] = [0, 0];
    await fc.assert(
      fc.asyncProperty(mutations(Object.keys(asked())), fc.constantFrom(...doors), async (broken, door) => {
        const pairs = mutated(asked(), broken);
        const query = rawOf(pairs);
        // Leave out a query that is too long for a request line.
        fc.pre(query.length < 15_000);
        const read = readPairs(pairs);
        const values = (name: string): string[] =>
          (read ?? []).filter(([one]) => one === name).map(([, value]) => value);
        const proved =
          read !== undefined &&
          values('client_id').join() === client.credential &&
          values('redirect_uri').join() === CALLBACK;
        const answer = await DOORS[door]?.(query);
        if (!answer) throw new Error(door);
        const why = `${door}: ${JSON.stringify(broken)}`;
        if (proved) {
          callbacks++;
          const error = !complete(read, asked())
            ? 'invalid_request'
            : /^invalid_(request|scope|target)$|^unsupported_response_type$/;
          expectCallback(answer, error, values('state').join() === STATE ? STATE : null, why);
        } else {
          pages++;
          expectPage(answer, why);
        }
        expect(answer.text + (answer.headers.location ?? ''), why).not.toMatch(/zzz|aaaaaaaa/);
      }),
      { seed, numRuns: 500, verbose: true },
    );
    expect(await consents()).toBe(before);
    expect(Math.min(pages, callbacks)).toBeGreaterThan(100);
  });

  it('HT-02 property: a broken consent form gives nothing, and its page can still be answered', async () => {
    const query = formOf(asked());
    const form = {
      csrf: csrfOf(await show(query, { cookie })),
      scope: 'website_read',
      website_id: 'web_1_1',
      decision: 'approve',
    };
    const before = await consents();
    await fc.assert(
      fc.asyncProperty(mutations(Object.keys(form)), async (broken) => {
        const pairs = mutated(form, broken);
        const read = readPairs(pairs);
        const left = new Map<string, string>(read);
        const whole =
          left.size === read?.length &&
          left.has('csrf') &&
          left.has('decision') &&
          Object.entries(form).every(([name, value]) => (left.get(name) ?? value) === value) &&
          [...left.keys()].every((name) => Object.hasOwn(form, name));
        const answer = await post(gateway, `/oauth/consent?${query}`, rawOf(pairs), { ...SAME, cookie });
        const why = JSON.stringify(broken);
        expect([answer.status, answer.headers.location], why).toEqual([400, undefined]);
        // A consent form without any ticked box is not a forgery, so the gateway shows the form again.
        if (whole) expect(csrfOf(answer), why).toBe(form.csrf);
        else expectPage(answer, why);
        expect(answer.text, why).not.toMatch(/zzz|aaaaaaaa/);
      }),
      { seed, numRuns: 300, verbose: true },
    );
    expect(await consents()).toBe(before);
    const done = await post(gateway, `/oauth/consent?${query}`, form, { ...SAME, cookie });
    expect(done.headers.location).toContain('code=');
  });

  it('HT-02 other methods, bodies and doubled headers', async () => {
    const query = formOf(asked());
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const { status, headers } = await gateway.ask(`/oauth/authorize?${query}`, { method, unchecked: true });
      expect([status, headers.allow], method).toEqual([405, 'GET, HEAD']);
    }
    for (const path of ['sign-in', 'consent', 'sign-out']) {
      for (const method of ['GET', 'HEAD', 'PUT', 'DELETE']) {
        const { status, headers } = await gateway.ask(`/oauth/${path}?${query}`, { method, unchecked: true });
        expect([status, headers.allow], `${method} ${path}`).toEqual([405, 'POST']);
      }
    }
    const body = await gateway.ask(`/oauth/authorize?${query}`, { method: 'GET', raw: 'x', unchecked: true });
    expect(body.status).toBe(400);
    const form = formOf({ email: owner, password: PASSWORD });
    const types = [
      ...['', 'application/json', 'text/plain', 'multipart/form-data; boundary=x'],
      ...['application/x-www-form-urlencoded; charset=latin1'],
    ];
    for (const type of types) {
      const answer = await post(gateway, `/oauth/sign-in?${query}`, form, { ...SAME, 'content-type': type });
      expectPage(answer, type);
    }
    const padded = `${form}&x=${'a'.repeat(20_000)}`;
    expectPage(await post(gateway, `/oauth/sign-in?${query}`, padded, SAME), 'too long');
    const squeezed = await post(gateway, `/oauth/sign-in?${query}`, form, { ...SAME, 'content-encoding': 'gzip' });
    expectPage(squeezed, 'compressed');
    for (const name of ['origin', 'content-type', 'authorization']) {
      const value = name === 'content-type' ? 'application/x-www-form-urlencoded' : 'null';
      const answer = await gateway.ask(`/oauth/sign-in?${query}`, {
        raw: form,
        unchecked: true,
        headers: { ...SAME, 'content-type': 'application/x-www-form-urlencoded', [name]: [value, value] },
      });
      expect([answer.status, cookieOf(answer)], name).toEqual([400, '']);
    }
  });
});

describe('LG-02 who decided', () => {
  const lineOf = (operation: string): Record<string, unknown> =>
    gateway.log
      .map((line): Record<string, unknown> => JSON.parse(line))
      .findLast((line) => line['operation'] === operation) ?? {};

  it('LG-02 a consent names credential, person and consent; a denial and a refusal where they came from', async () => {
    const { id, email } = await newPerson(gateway);
    const query = formOf(asked());
    const own = await signedIn(gateway, query, email);
    expect((await decide(gateway, query, own)).status).toBe(303);
    const [given] = await gateway.database.sql`SELECT id FROM gateway.consent WHERE person_id = ${id}`;
    await eventually(() =>
      expect(lineOf('oauth_consent')).toMatchObject({
        credential: client.credential,
        person: id,
        consent: given?.['id'],
      }),
    );
    const other = formOf(asked());
    expect((await decide(gateway, other, own, { decision: 'deny' })).status).toBe(303);
    expect(await gateway.database.sql`SELECT id FROM gateway.consent WHERE person_id = ${id}`).toEqual([given]);
    await eventually(() =>
      expect(lineOf('oauth_consent')).toMatchObject({ code: 'access_denied', person: id, source: '127.0.0.1' }),
    );
    await post(gateway, '/oauth/token', 'grant_type=client_credentials&x=y', { authorization: 'Basic x' });
    await eventually(() =>
      expect(lineOf('oauth_token')).toMatchObject({ code: 'invalid_client', source: '127.0.0.1' }),
    );
  });
});

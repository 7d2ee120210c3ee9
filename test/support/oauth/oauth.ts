import { createHash, randomBytes, scryptSync } from 'node:crypto';
import { expect } from 'vitest';
import { digestOf, newSecret } from '../../../src/auth/tokens.ts';
import { type Answer, exchange } from '../answer.ts';
import type { Grant, Issued } from '../credentials.ts';
import type { AskOptions } from '../gateway.ts';
import { BASE_URL, type TestGateway } from '../gateway.ts';
import { openOracle } from '../oracle.ts';
import { CHEAP } from './scrypt.ts';

/** A credential that is an OAuth client, with its secret and a registered callback. */
export interface TestClient extends Issued {
  readonly secret: string;
  readonly callback: string;
}

/** The server that gets the requests: a test gateway, or another one with the same endpoints. */
export interface Door {
  ask(path: string, options?: AskOptions): Promise<Answer>;
}

/** Sends requests to `port` from the given loopback address. No oracle checks the answers. */
export const doorFrom = (port: number, localAddress = '127.0.0.1'): Door => ({
  ask: (path, { headers = {}, raw, method = raw === undefined ? 'GET' : 'POST' } = {}) =>
    exchange(
      {
        port,
        path,
        method,
        localAddress,
        headers: { ...(raw !== undefined && { 'content-length': String(Buffer.byteLength(raw)) }), ...headers },
      },
      raw,
    ),
});

export const CALLBACK = 'https://app.example/cb';
export const PASSWORD = 'correct horse battery staple';

export async function newClient(
  gateway: Pick<TestGateway, 'issue' | 'database'>,
  grant: Grant = {},
): Promise<TestClient> {
  const issued = await gateway.issue(grant);
  const secret = newSecret('secret');
  await gateway.database.sql`UPDATE gateway.credential
    SET secret_digest = ${digestOf(secret)}, callbacks = ${[CALLBACK]} WHERE id = ${issued.credential}`;
  return { ...issued, secret, callback: CALLBACK };
}

/**
 * The hash of PASSWORD with the least cost that the gateway reads. A sign-in with the gateway's own cost takes 0.3 s of a
 * core. test/auth/people.test.ts judges this cost.
 */
const HASHED = (() => {
  const salt = randomBytes(16);
  const [text, hash] = [salt, scryptSync(PASSWORD, salt, 32, CHEAP)].map((bytes) =>
    bytes.toString('base64').replaceAll('=', ''),
  );
  return `$scrypt$ln=10,r=1,p=1$${text}$${hash}`;
})();

export async function newPerson(
  gateway: Pick<TestGateway, 'database'>,
  role = 'owner',
  tenant = 1,
): Promise<{ id: string; email: string }> {
  const id = `prs_${randomBytes(16).toString('hex')}`;
  const email = `${randomBytes(6).toString('hex')}@example.com`;
  await gateway.database.sql`INSERT INTO gateway.person (id, tenant, email, role, password)
    VALUES (${id}, ${tenant}, ${email}, ${role}, ${HASHED})`;
  return { id, email };
}

export const basic = ({ credential, secret }: { credential: string; secret: string }): string =>
  `Basic ${Buffer.from(`${encodeURIComponent(credential)}:${encodeURIComponent(secret)}`).toString('base64')}`;

export type Fields = Readonly<Record<string, string | readonly string[]>>;

export const formOf = (fields: Fields): string =>
  new URLSearchParams(
    Object.entries(fields).flatMap(([name, value]) => [value].flat().map((one): [string, string] => [name, one])),
  ).toString();

export const post = (
  gateway: Door,
  path: string,
  fields: Fields | string,
  headers: Record<string, string> = {},
): Promise<Answer> =>
  gateway.ask(path, {
    raw: typeof fields === 'string' ? fields : formOf(fields),
    unchecked: true,
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  });

export const token = (gateway: Door, client: TestClient, fields: Fields): Promise<Answer> =>
  post(gateway, '/oauth/token', fields, { authorization: basic(client) });

export const RESOURCE = { rest: BASE_URL, mcp: `${BASE_URL}/mcp`, a2a: `${BASE_URL}/a2a` } as const;

export interface Pkce {
  readonly verifier: string;
  readonly challenge: string;
}

export function pkce(): Pkce {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}

export const request = (
  client: TestClient,
  proof: Pkce,
  changes: Fields = {},
): Record<string, string | readonly string[]> => ({
  response_type: 'code',
  client_id: client.credential,
  redirect_uri: client.callback,
  resource: RESOURCE.rest,
  scope: 'website_read conversation_read',
  state: randomBytes(16).toString('hex'),
  code_challenge: proof.challenge,
  code_challenge_method: 'S256',
  ...changes,
});

export const cookieOf = (answer: Answer): string => [answer.headers['set-cookie'] ?? []].flat()[0]?.split(';')[0] ?? '';

/** A browser's headers for a form of the gateway's own pages. These send no referrer, so the origin is null. */
export const SAME = { 'sec-fetch-site': 'same-origin', origin: 'null' };

export async function signedIn(gateway: Door, query: string, email: string): Promise<string> {
  const answer = await post(gateway, `/oauth/sign-in?${query}`, { email, password: PASSWORD }, SAME);
  expect(answer.status).toBe(303);
  expect(answer.headers.location).toBe(`/oauth/authorize?${query}`);
  return cookieOf(answer);
}

export const csrfOf = (answer: Answer): string => /name="csrf" value="([^"]+)"/.exec(answer.text)?.[1] ?? '';

export interface Choice {
  readonly scope?: readonly string[];
  readonly website_id?: readonly string[];
  readonly renewal?: string;
  readonly decision?: string;
}

export async function decide(gateway: Door, query: string, cookie: string, choice: Choice = {}): Promise<Answer> {
  const page = await gateway.ask(`/oauth/authorize?${query}`, { unchecked: true, headers: { cookie } });
  expect(page.status).toBe(200);
  const {
    scope = ['website_read', 'conversation_read'],
    website_id = ['web_1_1'],
    decision = 'approve',
    renewal,
  } = choice;
  const fields = { csrf: csrfOf(page), scope, website_id, decision, ...(renewal !== undefined && { renewal }) };
  return post(gateway, `/oauth/consent?${query}`, fields, { ...SAME, cookie });
}

/** All steps of a consent. Returns the code and its PKCE verifier. With a session cookie, no sign-in is needed. */
export async function consented(
  gateway: TestGateway,
  client: TestClient,
  options: { email?: string; session?: string; choice?: Choice; changes?: Fields } = {},
): Promise<{ code: string; proof: Pkce; exchange: Record<string, string>; email: string }> {
  const known = options.session !== undefined || options.email !== undefined;
  const email = known ? (options.email ?? '') : (await newPerson(gateway)).email;
  const proof = pkce();
  const query = formOf(request(client, proof, options.changes));
  const cookie = options.session ?? (await signedIn(gateway, query, email));
  const answer = await decide(gateway, query, cookie, options.choice);
  expect(answer.status).toBe(303);
  const code = new URL(answer.headers.location ?? '').searchParams.get('code') ?? '';
  const exchange = {
    grant_type: 'authorization_code',
    code,
    redirect_uri: client.callback,
    code_verifier: proof.verifier,
    resource: String(options.changes?.['resource'] ?? RESOURCE.rest),
  };
  return { code, proof, exchange, email };
}

/** The seed of a random test. Set FC_SEED to repeat a failed run. */
export function seedOf(about: string): number {
  const seed = Number(process.env['FC_SEED'] ?? Math.floor(Date.now() % 2 ** 31));
  process.stderr.write(`${about}: FC_SEED=${seed}\n`);
  return seed;
}

/** Checks the headers of every answer and forbids internal details. */
const sound = openOracle({ paths: {} });
const API_POLICY = "default-src 'none'; frame-ancestors 'none'";
export const PAGE_POLICY =
  "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/** Expects an error page without anything from the request. No redirect: the client or its callback is not verified. */
export function expectPage(answer: Answer, why: string, status = 400): void {
  expect([answer.status, answer.headers.location], `${why}: ${answer.text.slice(0, 300)}`).toEqual([status, undefined]);
  expect(answer.headers['content-type'], why).toBe('text/html; charset=utf-8');
  expect(answer.headers, why).toMatchObject({
    'content-security-policy': PAGE_POLICY,
    'x-frame-options': 'DENY',
    'cross-origin-opener-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
  });
  expect(answer.headers['set-cookie'], why).toBeUndefined();
  sound('GET', why, { ...answer, headers: { ...answer.headers, 'content-security-policy': API_POLICY } });
}

/** Expects an error at the client's callback, with state and issuer (RFC 6749, 4.1.2.1; RFC 9207). */
export function expectCallback(answer: Answer, error: string | RegExp, state: string | null, why: string): void {
  expect(answer.status, `${why}: ${answer.text.slice(0, 300)}`).toBe(303);
  const url = new URL(answer.headers.location ?? '');
  expect(`${url.origin}${url.pathname}`, why).toBe(CALLBACK);
  const told = Object.fromEntries(url.searchParams);
  expect([...url.searchParams.keys()].sort(), why).toEqual(
    ['error', 'error_description', 'iss', ...(state === null ? [] : ['state'])].sort(),
  );
  expect(told['error'], why).toMatch(typeof error === 'string' ? new RegExp(`^${error}$`) : error);
  expect(told['error_description'], why).toMatch(DESCRIPTION);
  expect([told['state'] ?? null, told['iss']], why).toEqual([state, BASE_URL]);
  expect(answer.headers['referrer-policy'], why).toBe('no-referrer');
}

/** The characters allowed in error_description (RFC 6749, sections 4.1.2.1 and 5.2). */
const DESCRIPTION = /^[ !#-[\]-~]+$/;

/** Expects an error of the token endpoints. It contains no token, and no cache may store it. */
export function expectRefused(answer: Answer, error: string | RegExp, why: string): void {
  expect(answer.body?.error, `${why}: ${answer.status} ${answer.text.slice(0, 300)}`).toMatch(
    typeof error === 'string' ? new RegExp(`^${error}$`) : error,
  );
  expect(answer.body, why).toEqual({
    error: answer.body.error,
    error_description: expect.stringMatching(DESCRIPTION),
  });
  const status = answer.body.error === 'invalid_client' ? 401 : answer.body.error === 'slow_down' ? 429 : 400;
  expect(answer.status, why).toBe(status);
  expect(answer.headers, why).toMatchObject({ 'content-type': 'application/json', 'cache-control': 'no-store' });
  expect(answer.headers['www-authenticate']?.startsWith('Basic '), why).toBe(status === 401 ? true : undefined);
  sound('POST', why, answer);
}

export interface Mutation {
  readonly name: string;
  readonly kind:
    | 'missing'
    | 'empty'
    | 'repeated'
    | 'other value'
    | 'escape'
    | 'control'
    | 'long'
    | 'unknown'
    | 'nameless';
  readonly pick: number;
}
type Pair = readonly [name: string, value: string];

const ESCAPES = ['%', '%2', '%ZZ', '%c3%28', '%ff', '%c0%af', '%ed%a0%80', '%f5%80%80%80'];
const CONTROLS = ['%00', '%01', '%09', '%0a', '%0D%0A', '%1b', '%7F'];
const UNKNOWN = ['nonce', 'prompt', 'client_secret', 'Scope', '__proto__', 'constructor', 'scope[]', 'a[b]', 'x%20'];

/** Percent-encodes the fields of a form and applies the mutations to the raw text. */
export function mutated(fields: Fields, mutations: readonly Mutation[]): readonly Pair[] {
  let pairs: Pair[] = formOf(fields)
    .split('&')
    .map((pair) => {
      const [name = '', value = ''] = pair.split('=');
      return [name, value];
    });
  for (const { name, kind, pick } of mutations) {
    const at = pairs.findIndex(([one]) => one === name);
    const [, value = ''] = pairs[at] ?? [];
    const put = (raw: string): void => {
      pairs = [...pairs.filter(([one]) => one !== name), [name, raw]];
    };
    const add = (one: string, raw: string): void => {
      const place = pick % (pairs.length + 1);
      pairs = [...pairs.slice(0, place), [one, raw], ...pairs.slice(place)];
    };
    const from = (list: readonly string[]): string => list[pick % list.length] ?? '';
    const inside = pick % (value.length + 1);
    if (kind === 'missing') pairs = pairs.filter(([one]) => one !== name);
    else if (kind === 'empty') put('');
    else if (kind === 'repeated') add(name, value);
    else if (kind === 'other value') add(name, 'zzz');
    else if (kind === 'escape') put(`${value}${from(ESCAPES)}`);
    else if (kind === 'control') put(`${value.slice(0, inside)}${from(CONTROLS)}${value.slice(inside)}`);
    else if (kind === 'long') put('a'.repeat(10_000));
    else if (kind === 'unknown') add(from(UNKNOWN), 'zzz');
    else add('', 'zzz');
  }
  return pairs;
}

export const rawOf = (pairs: readonly Pair[]): string => pairs.map(([name, value]) => `${name}=${value}`).join('&');

/** Decodes a form as RFC 6749, appendix B, and WHATWG demand, without the server's code. Undefined if invalid. */
export function readPairs(pairs: readonly Pair[]): readonly Pair[] | undefined {
  const read: Pair[] = [];
  for (const [name, value] of pairs) {
    const texts = [name, value].map((raw) => {
      if (/%(?![0-9A-Fa-f]{2})/.test(raw)) return undefined;
      const bytes = Buffer.from(
        raw.replace(/\+/g, '%20').replace(/%(..)/g, (_, hex) => latin1(hex)),
        'latin1',
      );
      const text = bytes.toString('utf8');
      return text.includes('\ufffd') || [...bytes].some((byte) => byte < 32 || byte === 127) ? undefined : text;
    });
    const [decodedName, decodedValue] = texts;
    if (decodedName === undefined || decodedValue === undefined || decodedName === '') return undefined;
    read.push([decodedName, decodedValue]);
  }
  return read;
}

/** True if the form has each field once, with a value, and nothing else. */
export const complete = (read: readonly Pair[] | undefined, fields: Fields): boolean =>
  read?.length === Object.keys(fields).length &&
  Object.keys(fields).every((name) => read.some(([one, value]) => one === name && value !== ''));

const latin1 = (hex: string): string => String.fromCharCode(Number.parseInt(hex, 16));

/** Signs in a new owner. Returns the session cookie. */
export async function newSession(gateway: TestGateway, client: TestClient): Promise<string> {
  return signedIn(gateway, formOf(request(client, pkce())), (await newPerson(gateway)).email);
}

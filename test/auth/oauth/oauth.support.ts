import { createHash, randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import { hashPassword } from '../../../src/auth/passwords.ts';
import { digestOf, newSecret } from '../../../src/auth/tokens.ts';
import type { Grant, Issued } from '../../support/credentials.ts';
import type { Answer } from '../../support/gateway.ts';
import { BASE_URL, type TestGateway } from '../../support/gateway.ts';

/** A credential that is an OAuth client: with its secret and a registered callback. */
export interface TestClient extends Issued {
  readonly secret: string;
  readonly callback: string;
}

export const CALLBACK = 'https://app.example/cb';
export const PASSWORD = 'correct horse battery staple';

export async function newClient(gateway: TestGateway, grant: Grant = {}): Promise<TestClient> {
  const issued = await gateway.issue(grant);
  const secret = newSecret('secret');
  await gateway.database.sql`UPDATE gateway.credential
    SET secret_digest = ${digestOf(secret)}, callbacks = ${[CALLBACK]} WHERE id = ${issued.credential}`;
  return { ...issued, secret, callback: CALLBACK };
}

let hashed: Promise<string> | undefined;

/** Somebody with PASSWORD. */
export async function newPerson(
  gateway: TestGateway,
  role = 'owner',
  tenant = 1,
): Promise<{ id: string; email: string }> {
  hashed ??= hashPassword(PASSWORD);
  const id = `prs_${randomBytes(16).toString('hex')}`;
  const email = `${randomBytes(6).toString('hex')}@example.com`;
  await gateway.database.sql`INSERT INTO gateway.person (id, tenant, email, role, password)
    VALUES (${id}, ${tenant}, ${email}, ${role}, ${await hashed})`;
  return { id, email };
}

export const basic = ({ credential, secret }: { credential: string; secret: string }): string =>
  `Basic ${Buffer.from(`${encodeURIComponent(credential)}:${encodeURIComponent(secret)}`).toString('base64')}`;

type Fields = Readonly<Record<string, string | readonly string[]>>;

export const formOf = (fields: Fields): string =>
  new URLSearchParams(
    Object.entries(fields).flatMap(([name, value]) => [value].flat().map((one): [string, string] => [name, one])),
  ).toString();

/** A form to a token endpoint, with the client's credentials. */
export const post = (
  gateway: TestGateway,
  path: string,
  fields: Fields | string,
  headers: Record<string, string> = {},
): Promise<Answer> =>
  gateway.ask(path, {
    raw: typeof fields === 'string' ? fields : formOf(fields),
    unchecked: true,
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  });

export const token = (gateway: TestGateway, client: TestClient, fields: Fields): Promise<Answer> =>
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

/** The eight parameters of an authorization request. */
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

const SAME = { 'sec-fetch-site': 'same-origin', origin: 'null' };

/** Signs in by the page's form and returns the cookie. */
export async function signedIn(gateway: TestGateway, query: string, email: string): Promise<string> {
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

/** What the consent form answers to a choice. */
export async function decide(
  gateway: TestGateway,
  query: string,
  cookie: string,
  choice: Choice = {},
): Promise<Answer> {
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

/** A whole consent: the code and the proof to redeem it with. */
export async function consented(
  gateway: TestGateway,
  client: TestClient,
  options: { email?: string; choice?: Choice; changes?: Fields } = {},
): Promise<{ code: string; proof: Pkce; exchange: Record<string, string>; email: string }> {
  const email = options.email ?? (await newPerson(gateway)).email;
  const proof = pkce();
  const query = formOf(request(client, proof, options.changes));
  const cookie = await signedIn(gateway, query, email);
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

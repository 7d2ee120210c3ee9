import { expect } from 'vitest';
import { digestOf, newSecret } from '../../../src/auth/tokens.ts';
import type { Resource } from '../../../src/core/authority.ts';
import { Failure } from '../../../src/core/failures.ts';
import type { Answer } from '../answer.ts';
import { cliDatabase } from '../cli.ts';
import type { TestDatabase } from '../database.ts';
import { BASE_URL, openTestGateway, type TestGateway } from '../gateway.ts';
import { freePort } from '../port.ts';
import { type Replica, type ReplicaOptions, startReplica } from '../replica.ts';
import { post as onWire, rpc } from '../surfaces/mcp.ts';
import { basic, decide, formOf, newPerson, pkce, RESOURCE, request, type TestClient, token } from './oauth.ts';

/** Two gateways on one database, like replicas. Commands find the database in DATABASE_URL. */
export interface Pair {
  readonly database: TestDatabase;
  readonly gateways: readonly [TestGateway, TestGateway];
  close(): Promise<void>;
}

export async function openPair(): Promise<Pair> {
  const database = await cliDatabase('demo');
  const shared = { ...database, close: async () => undefined };
  const gateways = [await openTestGateway('demo', shared), await openTestGateway('demo', shared)] as const;
  return {
    database,
    gateways,
    async close() {
      for (const gateway of gateways) await gateway.close();
      await database.close();
    },
  };
}

/** Creates a session without a sign-in and returns its cookie. */
export async function session(gateway: TestGateway, person: string): Promise<string> {
  const secret = newSecret('session');
  await gateway.database.sql`INSERT INTO gateway.session (digest, person_id, expires_at)
    VALUES (${digestOf(secret)}, ${person}, now() + interval '1 hour')`;
  return `igw_session=${secret}`;
}

export interface Wish {
  readonly person?: string;
  readonly resource?: Resource;
  readonly renewal?: boolean;
  readonly websites?: readonly string[];
}

export interface Pending {
  readonly person: string;
  readonly resource: Resource;
  readonly consent: string;
  readonly exchange: Readonly<Record<string, string>>;
}

/** A consent whose code the client has not redeemed yet. */
export async function pending(gateway: TestGateway, client: TestClient, wish: Wish = {}): Promise<Pending> {
  const { resource = 'rest', renewal = true, websites = ['web_1_1', 'web_1_2'] } = wish;
  const person = wish.person ?? (await newPerson(gateway)).id;
  const proof = pkce();
  const query = formOf(request(client, proof, { resource: RESOURCE[resource] }));
  const cookie = await session(gateway, person);
  const answer = await decide(gateway, query, cookie, { website_id: websites, ...(renewal && { renewal: 'yes' }) });
  expect(answer.status, answer.text).toBe(303);
  const code = codeOf(answer);
  return {
    person,
    resource,
    consent: await consentOf(gateway, code),
    exchange: exchangeOf(client, code, proof, resource),
  };
}

export const codeOf = (answer: Answer): string =>
  new URL(answer.headers.location ?? '').searchParams.get('code') ?? expect.fail('no code');

export const exchangeOf = (
  client: TestClient,
  code: string,
  proof: { verifier: string },
  resource: Resource = 'rest',
): Record<string, string> => ({
  grant_type: 'authorization_code',
  code,
  redirect_uri: client.callback,
  code_verifier: proof.verifier,
  resource: RESOURCE[resource],
});

async function consentOf({ database }: TestGateway, code: string): Promise<string> {
  const [row] = await database.sql<{ id: string }[]>`
    SELECT id FROM gateway.consent WHERE code_digest = ${digestOf(code)}`;
  return row?.id ?? expect.fail('no consent');
}

export interface Family extends Pending {
  readonly access: string;
  readonly refresh: string;
}

export async function family(gateway: TestGateway, client: TestClient, wish: Wish = {}): Promise<Family> {
  const asked = await pending(gateway, client, wish);
  const { status, text, body } = await token(gateway, client, asked.exchange);
  expect(status, text).toBe(200);
  return { ...asked, access: body.access_token, refresh: body.refresh_token ?? '' };
}

export const refreshing = (refresh: string, resource: Resource = 'rest'): Record<string, string> => ({
  grant_type: 'refresh_token',
  refresh_token: refresh,
  resource: RESOURCE[resource],
});

export async function own(gateway: TestGateway, client: TestClient, resource: Resource = 'rest'): Promise<string> {
  const answer = await token(gateway, client, { grant_type: 'client_credentials', resource: RESOURCE[resource] });
  expect(answer.status, answer.text).toBe(200);
  return answer.body.access_token;
}

/** For each interface: a request with a statement that proves the authority, and one without. */
const PROBES: Readonly<Record<Resource, readonly ((gateway: TestGateway, bearer: string) => Promise<number>)[]>> = {
  rest: ['/api/v1/websites', '/api/v1/context'].map(
    (path) => async (gateway, bearer) => (await gateway.ask(path, { token: bearer })).status,
  ),
  mcp: [
    async ({ port }, bearer) =>
      (await rpc(port, bearer, 'tools/call', { name: 'websites_list', arguments: {} })).status,
    async ({ port }, bearer) => (await rpc(port, bearer, 'ping')).status,
  ],
  a2a: [
    async ({ corridor }, bearer) => {
      const tool = corridor.registry.get('websites_list') ?? expect.fail('no websites_list');
      const outcome = await corridor.call({ tool, resource: 'a2a', bearer, input: {} });
      return 'failure' in outcome ? outcome.failure.status : 200;
    },
    ({ corridor }, bearer) =>
      corridor.admit(bearer, 'a2a').then(
        () => 200,
        (error: unknown) => (error instanceof Failure ? error.status : expect.fail(String(error))),
      ),
  ],
};

/** Sends the token to its interface on every gateway. Returns the different statuses. */
export async function worth(
  gateways: readonly TestGateway[],
  bearer: string,
  resource: Resource = 'rest',
): Promise<number[]> {
  const seen = new Set<number>();
  for (const gateway of gateways) for (const probe of PROBES[resource]) seen.add(await probe(gateway, bearer));
  return [...seen];
}

export const refusal = async (gateway: TestGateway, client: TestClient, fields: Record<string, string>) =>
  (await token(gateway, client, fields)).body.error as unknown;

/** Why the consent ended. Null while it is alive. */
export async function because({ database }: TestGateway, consent: string): Promise<string | null | undefined> {
  const [row] = await database.sql<{ why: string | null }[]>`
    SELECT revoked_because AS why FROM gateway.consent WHERE id = ${consent}`;
  return row?.why;
}

export async function liveRefreshTokens({ database }: TestGateway, consent: string): Promise<number> {
  const [row] = await database.sql<{ n: number }[]>`
    SELECT count(*)::integer AS n FROM gateway.refresh_token r JOIN gateway.consent c ON c.id = r.consent_id
     WHERE c.id = ${consent} AND c.revoked_at IS NULL AND c.expires_at > now() AND r.used_at IS NULL AND r.expires_at > now()`;
  return row?.n ?? expect.fail('no count');
}

/** Valid tokens whose consent has ended. There must be none. */
export async function orphans({ sql }: TestDatabase): Promise<object[]> {
  return sql<object[]>`SELECT t.consent_id FROM gateway.token t LEFT JOIN gateway.consent c ON c.id = t.consent_id
    WHERE t.consent_id IS NOT NULL AND t.revoked_at IS NULL AND (c.id IS NULL OR c.revoked_at IS NOT NULL)`;
}

/** A gateway process on its own port. All gateways of these tests have the same base URL. */
export async function startProcess(options: ReplicaOptions): Promise<Replica> {
  const port = await freePort();
  const env = { ...options.env, PORT: String(port), GATEWAY_BASE_URL: BASE_URL };
  return { ...(await startReplica({ ...options, env })), url: `http://127.0.0.1:${port}` };
}

export function tokenAt(url: string, client: TestClient, fields: Record<string, string>): Promise<Answer> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded', authorization: basic(client) };
  return onWire(Number(new URL(url).port), undefined, formOf(fields), { path: '/oauth/token', version: null, headers });
}

export async function readAt(url: string, bearer: string): Promise<number> {
  const answer = await onWire(Number(new URL(url).port), bearer, undefined, {
    path: '/api/v1/websites',
    verb: 'GET',
    version: null,
  });
  return answer.status;
}

import type postgres from 'postgres';
import { digestOf, newSecret } from '../../src/auth/tokens.ts';

/** What an OAuth client of the bench sends. */
export interface BenchClient {
  /** A token request: a POST with this body and these headers. */
  readonly request: { readonly body: string; readonly headers: Readonly<Record<string, string>> };
  /** An access token for the REST interface. */
  accessToken(): Promise<string>;
}

/** Gives a credential a secret and asks for tokens with it at the gateway on a port. */
export async function benchClient(sql: postgres.Sql, credential: string, port: number): Promise<BenchClient> {
  const secret = newSecret('secret');
  await sql`UPDATE gateway.credential SET secret_digest = ${digestOf(secret)} WHERE id = ${credential}`;
  const base = `http://127.0.0.1:${port}`;
  const request = {
    body: new URLSearchParams({ grant_type: 'client_credentials', resource: base }).toString(),
    headers: {
      authorization: `Basic ${Buffer.from(`${credential}:${secret}`).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
  };
  return {
    request,
    async accessToken() {
      const response = await fetch(`${base}/oauth/token`, { method: 'POST', ...request });
      const { access_token } = (await response.json()) as { access_token: string }; // our own answer
      return access_token;
    },
  };
}

import type postgres from 'postgres';
import { digestOf, newSecret } from '../../src/auth/tokens.ts';
import { issue } from '../support/credentials.ts';

export interface BenchClients {
  /** A request for a token, without the Authorization header. */
  readonly request: { readonly body: string; readonly headers: Readonly<Record<string, string>> };
  /**
   * One Authorization header for each client. The requests use the headers in turn, because one credential can get only
   * 60 tokens a minute.
   */
  readonly authorizations: readonly string[];
  accessToken(): Promise<string>;
}

export async function benchClients(sql: postgres.Sql, count: number, port: number): Promise<BenchClients> {
  const authorizations: string[] = [];
  let app: string | undefined;
  while (authorizations.length < count) {
    const issued = await issue(sql, 1, app === undefined ? {} : { app });
    app = issued.app;
    const secret = newSecret('secret');
    await sql`UPDATE gateway.credential SET secret_digest = ${digestOf(secret)} WHERE id = ${issued.credential}`;
    authorizations.push(`Basic ${Buffer.from(`${issued.credential}:${secret}`).toString('base64')}`);
  }
  const base = `http://127.0.0.1:${port}`;
  const request = {
    body: new URLSearchParams({ grant_type: 'client_credentials', resource: base }).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  };
  return {
    request,
    authorizations,
    async accessToken() {
      const headers = { ...request.headers, authorization: authorizations[0] ?? '' };
      const response = await fetch(`${base}/oauth/token`, { method: 'POST', body: request.body, headers });
      const { access_token } = (await response.json()) as { access_token: string }; // the gateway's own answer has this shape
      return access_token;
    },
  };
}

import type { Answer } from '../answer.ts';
import type { Grant, Issued } from '../credentials.ts';
import { openTestGateway, type TestGateway } from '../gateway.ts';
import { type Command, MCP_HEADERS, mcpOf, restOf } from './commands.ts';

export interface Reply {
  readonly status: number;
  readonly code: string | undefined;
  /** The body of a success as text. Over MCP, it lies inside the result. */
  readonly text: string;
  readonly operationId: string | undefined;
  /** True if the answer was stored before. Always false over MCP, because only REST answers show it. */
  readonly replayed: boolean;
  readonly retryAfter: number | undefined;
  readonly raw: string;
}

export const SURFACES = ['REST', 'MCP'] as const;
export type Surface = (typeof SURFACES)[number];

export interface Sender {
  readonly token: string;
  readonly key?: string | undefined;
  readonly gateway?: TestGateway;
}

export interface LedgerWorld {
  readonly gateway: TestGateway;
  write(surface: Surface, command: Command, sender: Sender): Promise<Reply>;
  writer(grant?: Grant): Promise<Issued>;
  /** Changes the credential's policy. A trigger then raises its revision. */
  change(credential: string, set: { scopes?: string[]; dataAccess?: string[]; sites?: number[] }): Promise<void>;
  journal(site?: number): Promise<string[]>;
  notes(text: string): Promise<number>;
  row(operationId: string | undefined): Promise<string | undefined>;
  rows(): Promise<number>;
  age(operationId: string | undefined, interval: string): Promise<void>;
  close(): Promise<void>;
}

export async function openWorld(): Promise<LedgerWorld> {
  const gateway = await openTestGateway('demo');
  const { sql } = gateway.database;
  const count = async (query: PromiseLike<readonly { n: string }[]>): Promise<number> => Number((await query)[0]?.n);
  return {
    gateway,
    async write(surface, command, { token, key, gateway: other = gateway }) {
      if (surface === 'REST') {
        const { path, body } = restOf(command);
        return ofRest(
          await other.ask(path, { token, body, headers: key === undefined ? {} : { 'idempotency-key': key } }),
        );
      }
      return ofMcp(await other.ask('/mcp', { token, body: mcpOf(command, key), headers: MCP_HEADERS }));
    },
    async writer(grant) {
      const issued = await gateway.issue(grant);
      await sql`INSERT INTO gateway.native_author (credential_id, tenant, site, operator_id)
        SELECT ${issued.credential}, 1, site, 1 FROM generate_series(1, 2) AS site`;
      return issued;
    },
    async change(credential, { scopes, dataAccess, sites }) {
      await sql`UPDATE gateway.credential SET updated_at = clock_timestamp(),
          scopes = coalesce(${scopes ?? null}, scopes), data_access = coalesce(${dataAccess ?? null}, data_access),
          sites = coalesce(${sites ? `{${sites.join(',')}}` : null}::bigint[], sites)
        WHERE id = ${credential}`;
    },
    journal: async (site = 1) =>
      (
        await sql<{ event_type: string }[]>`
          SELECT event_type FROM gateway.journal WHERE tenant = 1 AND site = ${site} ORDER BY position`
      ).map(({ event_type }) => event_type),
    notes: (text) => count(sql<{ n: string }[]>`SELECT count(*) AS n FROM platform.note WHERE text = ${text}`),
    row: async (operationId) =>
      (
        await sql<{ row: string }[]>`
          SELECT o::text AS row FROM gateway.operation o WHERE operation_id = ${operationId ?? ''}`
      )[0]?.row,
    rows: () => count(sql<{ n: string }[]>`SELECT count(*) AS n FROM gateway.operation`),
    async age(operationId, interval) {
      await sql`UPDATE gateway.operation SET created_at = created_at - ${interval}::interval
        WHERE operation_id = ${operationId ?? ''}`;
    },
    close: () => gateway.close(),
  };
}

const ofRest = ({ status, body, text, headers }: Answer): Reply => ({
  status,
  code: body?.code,
  text: status < 300 ? text : '',
  operationId: one(headers['x-gateway-operation-id']),
  replayed: headers['idempotency-replayed'] === 'true',
  retryAfter: headers['retry-after'] === undefined ? undefined : Number(headers['retry-after']),
  raw: `${JSON.stringify(headers)}${text}`,
});

export const replyOf = (surface: Surface, answer: Answer): Reply =>
  surface === 'REST' ? ofRest(answer) : ofMcp(answer);

const one = (value: string | string[] | undefined): string | undefined =>
  typeof value === 'string' ? value : undefined;

function ofMcp({ body, text, status }: Answer): Reply {
  const content = body?.result?.structuredContent;
  // Over MCP, invalid params give a JSON-RPC error, and every other answer is a result. A 401 is a plain HTTP answer.
  const fallback = body?.error ? { status: 400, code: String(body.error.code) } : { status, code: body?.code };
  const { error = fallback, operation_id } = content ?? {};
  const done = body?.result?.isError === false;
  return {
    status: done ? 200 : error.status,
    code: done ? undefined : error.code,
    text: done ? JSON.stringify(content.data) : '',
    operationId: operation_id,
    replayed: false,
    retryAfter: error.retry_after,
    raw: text,
  };
}

import { expect } from 'vitest';
import type { Answer } from '../answer.ts';
import type { Grant, Issued } from '../credentials.ts';
import type { TestDatabase } from '../database.ts';
import type { TestGateway } from '../gateway.ts';
import { type Command, restOf, SITE, WRITES } from './commands.ts';

/** What an app sees of a write: the status, the failure code, the id and the answer. */
export interface Sent {
  readonly status: number;
  readonly code: string | undefined;
  readonly id: string;
  readonly replayed: boolean;
  readonly answer: Answer;
}

let keys = 0;
export const freshKey = (): string => `approval-${++keys}`;

/** A credential whose writes a person must approve, all of them by default. */
export async function asker(
  { database, issue }: Pick<TestGateway, 'database' | 'issue'>,
  approve: readonly string[] = WRITES,
  grant: Grant = {},
): Promise<Issued> {
  const issued = await issue({ authors: ['opr_1_1_1'], ...grant });
  await database.sql`UPDATE gateway.credential SET approve = ${[...approve]} WHERE id = ${issued.credential}`;
  return issued;
}

export async function send(
  { ask }: Pick<TestGateway, 'ask'>,
  { token }: Pick<Issued, 'token'>,
  command: Command,
  key = freshKey(),
): Promise<Sent> {
  const { path, body } = restOf(command);
  const answer = await ask(path, { token, body, headers: { 'idempotency-key': key } });
  return {
    status: answer.status,
    code: answer.body?.code,
    id: String(answer.headers['x-gateway-operation-id'] ?? ''),
    replayed: answer.headers['idempotency-replayed'] === 'true',
    answer,
  };
}

/** Sends a write that must wait, and returns its id. */
export async function asked(
  gateway: Pick<TestGateway, 'ask'>,
  by: Issued,
  command: Command,
  key?: string,
): Promise<string> {
  const { status, id } = await send(gateway, by, command, key);
  expect([status, id]).toEqual([202, expect.stringMatching(/^op_[a-f0-9]{64}$/)]);
  return id;
}

/** The status that operation_get tells. */
export async function statusOf({ ask }: Pick<TestGateway, 'ask'>, { token }: Issued, id: string): Promise<string> {
  const { status, body } = await ask(`/api/v1/operations/${id}?website_id=${SITE}`, { token });
  return status === 200 ? body.data.status : String(status);
}

/** How many notes have this text, and how many receipts the journal of the website has. */
export async function effectsOf({ sql }: TestDatabase, text: string): Promise<{ notes: number; receipts: number }> {
  const [row] = await sql<{ notes: number; receipts: number }[]>`
    SELECT (SELECT count(*)::integer FROM platform.note WHERE text = ${text}) AS notes,
           (SELECT count(*)::integer FROM gateway.journal WHERE tenant = 1 AND site = 1) AS receipts`;
  return row ?? { notes: -1, receipts: -1 };
}

/** A visitor with a conversation, other than that of the notes. The tests erase the visitor. */
export async function visitorOf({ sql }: TestDatabase): Promise<string> {
  const [row] = await sql<{ visitor: string }[]>`
    SELECT c.visitor_id AS visitor FROM platform.conversation c
     WHERE (c.tenant, c.site) = (1, 1) AND c.visitor_id <> 4 ORDER BY c.id DESC LIMIT 1`;
  return `vis_1_1_${row?.visitor}`;
}

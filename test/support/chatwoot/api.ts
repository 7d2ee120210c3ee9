import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type postgres from 'postgres';
import { z } from 'zod';

/**
 * What goes wrong with a request. `reset`: the connection breaks before the effect. `lost`: it breaks after the effect.
 * `late`: no answer, and the effect comes after `ms`. `held`: the effect comes at once, and the answer after `ms`. `body`: the bytes of the answer.
 */
export type Fault =
  | { readonly kind: 'hang' | 'reset' | 'lost' | 'text' | 'wrong' | 'huge' }
  | { readonly kind: 'slow' | 'late' | 'held'; readonly ms: number }
  | { readonly kind: 'body'; readonly body: Buffer }
  /** `after`: the effect comes first, as with a proxy that gives up, or with a step that fails after another. */
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly html?: boolean;
      readonly after?: boolean;
      /** Runs between the effect and the answer. */
      readonly then?: () => Promise<unknown>;
    };

/** A stand-in for Chatwoot's REST API: the endpoints that the gateway uses, over Chatwoot's tables. */
export interface ChatwootApi {
  readonly url: string;
  /** Method and path of each request, in order. Those for the account itself are in `accounts`. */
  readonly asked: string[];
  readonly accounts: string[];
  /** Gives the fault to the next request of this method whose path ends with `path`. */
  fail(on: 'GET' | 'POST', path: string, fault: Fault, times?: number): void;
  /** Runs once, after the gateway has read a conversation's attributes and before it writes them. */
  beforeWrite(work: () => Promise<void>): void;
  /** True: this Chatwoot merges attributes. `mixed`: it says so but replaces them, as an older server does. */
  merges(how: boolean | 'mixed'): void;
  /** True: this Chatwoot drops the attributes of a message, as an older one does. */
  drops(how: boolean): void;
  /** The requests that run now, and the largest number so far. Those for the account itself do not count. */
  readonly load: { now: number; most: number };
  heal(): void;
  close(): Promise<void>;
}

export const TOKEN = 'cwtoken-7f3a';

const Body = z.object({
  content: z.string().optional(),
  custom_attributes: z.unknown().optional(),
  merge: z.boolean().optional(),
  message_type: z.string().optional(),
  private: z.boolean().optional(),
  content_attributes: z.record(z.string(), z.unknown()).optional(),
  status: z.string().optional(),
  snoozed_until: z.string().regex(/^\d+$/).optional(),
  assignee_id: z.int().nullish(),
  team_id: z.int().nullish(),
});
/** Chatwoot's words for the numbers in the column `status`. */
const STATUSES = ['open', 'resolved', 'pending', 'snoozed'];

const isAccount = (url: string | undefined): boolean => /\/accounts\/\d+$/.test(url ?? '');

class Status extends Error {
  constructor(readonly status: number) {
    super(`status ${status}`);
  }
}

/** `user` is the Chatwoot user of the token. */
export async function openChatwootStandIn(sql: postgres.Sql, user = 1): Promise<ChatwootApi> {
  const asked: string[] = [];
  const accounts: string[] = [];
  const load = { now: 0, most: 0 };
  let faults: { on: string; path: string; fault: Fault; left: number }[] = [];
  let between: (() => Promise<void>) | undefined;
  let merging: boolean | 'mixed' = true;
  let dropping = false;

  const notes = async (account: string, contact: string, method: string, body: z.output<typeof Body>) => {
    const [found] = await sql`SELECT 1 FROM contacts WHERE id = ${contact} AND account_id = ${account}`;
    if (!found) throw new Status(404);
    const columns = sql`id::integer, content, account_id::integer, contact_id::integer, floor(extract(epoch FROM created_at))::integer AS created_at`;
    if (method === 'GET')
      return sql`SELECT ${columns} FROM notes WHERE contact_id = ${contact} AND account_id = ${account} ORDER BY created_at DESC`;
    if (!body.content) throw new Status(422);
    const [note] = await sql`
      INSERT INTO notes (content, account_id, contact_id, user_id, created_at, updated_at)
      VALUES (${body.content}, ${account}, ${contact}, ${user}, clock_timestamp() AT TIME ZONE 'UTC', clock_timestamp() AT TIME ZONE 'UTC')
      RETURNING ${columns}`;
    return note;
  };
  const attributesOf = async (account: string, number: string) => {
    const [row] = await sql<{ id: number; custom_attributes: Record<string, unknown> | null }[]>`
      SELECT id, custom_attributes FROM conversations WHERE display_id = ${number} AND account_id = ${account}`;
    if (!row) throw new Status(404);
    return { id: row.id, custom_attributes: row.custom_attributes ?? {} };
  };
  const attributes = async (account: string, number: string, end: string, body: z.output<typeof Body>) => {
    const { id, custom_attributes: before } = await attributesOf(account, number);
    if (end === 'destroy_custom_attributes') {
      if (merging === false) throw new Status(404);
      return {};
    }
    const sent = z.record(z.string(), z.unknown()).parse(body.custom_attributes ?? {});
    const after = body.merge === true && merging === true ? { ...before, ...sent } : sent;
    await sql`UPDATE conversations SET custom_attributes = ${sql.json(JSON.parse(JSON.stringify(after)))},
      updated_at = clock_timestamp() AT TIME ZONE 'UTC' WHERE id = ${id}`;
    return { custom_attributes: after };
  };
  const messages = async (account: string, number: string, body: z.output<typeof Body>) => {
    const { id } = await attributesOf(account, number);
    if (!body.content || body.message_type !== 'outgoing') throw new Status(422);
    // Rails keeps these attributes as JSON inside a JSON string. The driver makes the outer one.
    const attributes = JSON.stringify(dropping ? {} : (body.content_attributes ?? {}));
    const [message] = await sql`
      INSERT INTO messages (content, account_id, inbox_id, conversation_id, message_type, private, content_attributes, sender_type, sender_id,
                            created_at, updated_at)
      SELECT ${body.content}, account_id, inbox_id, id, 1, ${body.private ?? false}, ${attributes}::json, 'User', ${user},
             clock_timestamp() AT TIME ZONE 'UTC', clock_timestamp() AT TIME ZONE 'UTC' FROM conversations WHERE id = ${id}
      RETURNING id::integer, content, private, floor(extract(epoch FROM created_at))::integer AS created_at`;
    return { ...message, message_type: 1, sender: { id: user, name: 'Token Robot', type: 'user' } };
  };
  const memberOf = async (account: string, id: number | null | undefined) =>
    (
      await sql<{ id: number; role: number }[]>`SELECT user_id::integer AS id, role FROM account_users
        WHERE account_id = ${account} AND user_id = ${id ?? null}`
    )[0];
  const toggleStatus = async (
    account: string,
    number: string,
    { status = '', snoozed_until }: z.output<typeof Body>,
  ) => {
    const { id } = await attributesOf(account, number);
    const now = STATUSES.indexOf(status);
    if (now < 0) throw new Status(500);
    // Two steps: the status, and for an open conversation the assignment to the user of the token, who is an agent.
    const [stored] = await sql<{ snoozed_until: Date | null }[]>`
      UPDATE conversations SET status = ${now}, updated_at = clock_timestamp() AT TIME ZONE 'UTC',
             snoozed_until = CASE WHEN ${now} = 3 THEN coalesce(to_timestamp(${snoozed_until ?? null}::double precision)
                                                                AT TIME ZONE 'UTC', snoozed_until) END
       WHERE id = ${id} RETURNING snoozed_until`;
    if (now === 0 && (await memberOf(account, user))?.role === 0)
      await sql`UPDATE conversations SET assignee_id = ${user}, assignee_agent_bot_id = NULL,
                       updated_at = clock_timestamp() AT TIME ZONE 'UTC' WHERE id = ${id}`;
    const until = stored?.snoozed_until?.toISOString() ?? null;
    const payload = { success: true, conversation_id: Number(number), current_status: status, snoozed_until: until };
    return { meta: {}, payload };
  };
  const assign = async (account: string, number: string, body: z.output<typeof Body>) => {
    const { id } = await attributesOf(account, number);
    if ('assignee_id' in body) {
      // An unknown id is nobody, so it clears the assignee.
      const agent = await memberOf(account, body.assignee_id);
      await sql`UPDATE conversations SET assignee_id = ${agent?.id ?? null}, assignee_agent_bot_id = NULL,
                       updated_at = clock_timestamp() AT TIME ZONE 'UTC' WHERE id = ${id}`;
      return agent ? { id: agent.id, account_id: Number(account) } : null;
    }
    const [team] = await sql<{ id: number }[]>`
      SELECT id::integer, name FROM teams WHERE account_id = ${account} AND id = ${body.team_id ?? null}`;
    // An assignee who is not in the new team is cleared. Nobody of the team is online, so nobody takes the place.
    await sql`UPDATE conversations SET team_id = ${team?.id ?? null}, updated_at = clock_timestamp() AT TIME ZONE 'UTC',
        assignee_id = CASE WHEN team_id IS NOT DISTINCT FROM ${team?.id ?? null}::bigint OR ${team === undefined} OR EXISTS (
          SELECT FROM team_members m WHERE m.team_id = ${team?.id ?? null} AND m.user_id = assignee_id) THEN assignee_id END
      WHERE id = ${id}`;
    return team ?? null;
  };
  const shown = async (account: string, number: string) => {
    const { id, custom_attributes } = await attributesOf(account, number);
    const [row] = await sql<{ status: number; assignee_id: number | null; team_id: number | null }[]>`
      SELECT status, assignee_id::integer, team_id::integer FROM conversations WHERE id = ${id}`;
    const [assignee, team] = [row?.assignee_id, row?.team_id].map((one) => (one ? { id: one } : undefined));
    const status = STATUSES[row?.status ?? 0];
    return { id: Number(number), account_id: Number(account), status, custom_attributes, meta: { assignee, team } };
  };
  /** Rails writes a time with three decimals, and cuts off the others. */
  const accountOf = async (id: string) => {
    const [row] = await sql<{ id: number; name: string; at: string }[]>`
      SELECT id::integer, name, to_char(created_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at FROM accounts a
       WHERE id = ${id} AND EXISTS (SELECT FROM account_users u WHERE u.account_id = a.id AND u.user_id = ${user})`;
    if (!row) throw new Status(404);
    return { id: row.id, name: row.name, created_at: row.at, features: {}, status: 'active' };
  };
  const perform = async (method: string, path: string, text: string): Promise<unknown> => {
    const [, shownAccount] = /^\/api\/v1\/accounts\/(\d+)$/.exec(path) ?? [];
    if (shownAccount !== undefined && method === 'GET') return accountOf(shownAccount);
    const body = Body.parse(text === '' ? {} : JSON.parse(text));
    const [, account = '', kind = '', id = '', end = ''] =
      /^\/api\/v1\/accounts\/(\d+)\/(contacts|conversations)\/(\d+)(?:\/(\w+))?$/.exec(path) ?? [];
    if (kind === 'contacts' && end === 'notes') return notes(account, id, method, body);
    if (kind === 'conversations' && method === 'GET' && end === '') return shown(account, id);
    if (kind === 'conversations' && method === 'POST' && end === 'toggle_status')
      return toggleStatus(account, id, body);
    if (kind === 'conversations' && method === 'POST' && end === 'assignments') return assign(account, id, body);
    if (kind === 'conversations' && method === 'POST' && end === 'messages') return messages(account, id, body);
    if (kind === 'conversations' && method === 'POST' && /^(destroy_)?custom_attributes$/.test(end))
      return attributes(account, id, end, body);
    throw new Status(404);
  };
  const answer = (response: ServerResponse, status: number, body: unknown): void => {
    response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body));
  };
  const serve = async (request: IncomingMessage, response: ServerResponse, text: string): Promise<void> => {
    const { method = '', url = '' } = request;
    (isAccount(url) ? accounts : asked).push(`${method} ${url}`);
    if (request.headers['api_access_token'] !== TOKEN) return answer(response, 401, { error: 'Invalid Access Token' });
    const planted = faults.find((one) => one.left > 0 && one.on === method && url.endsWith(one.path));
    if (planted) planted.left--;
    const fault = planted?.fault;
    const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
    if (fault?.kind === 'hang') return;
    if (fault?.kind === 'body') return void response.writeHead(200).end(fault.body);
    if (fault?.kind === 'reset') return void response.destroy();
    if (fault?.kind === 'status') {
      if (fault.after === true) await perform(method, url, text);
      await fault.then?.();
      const type = fault.html === true ? 'text/html' : 'application/json';
      response.writeHead(fault.status, { 'content-type': type, location: 'http://127.0.0.1:1/elsewhere' });
      return void response.end(fault.html === true ? '<h1>no</h1>' : '{"error":"planted"}');
    }
    if (fault?.kind === 'slow' || fault?.kind === 'late') await wait(fault.ms);
    const before = between;
    if (before && method === 'POST' && url.endsWith('/custom_attributes')) {
      between = undefined;
      await before();
    }
    const done = await perform(method, url, text);
    if (fault?.kind === 'held') await wait(fault.ms);
    if (fault?.kind === 'late') return;
    if (fault?.kind === 'lost') return void response.destroy();
    if (fault?.kind === 'text') return void response.end('<html>fine</html>');
    if (fault?.kind === 'wrong') return answer(response, 200, { payload: 'of another shape' });
    if (fault?.kind === 'huge') return void response.end(`"${'x'.repeat(20_000_000)}"`);
    answer(response, 200, done);
  };
  const server = createServer((request, response) => {
    // A source that is checked asks for the account, beside the writes.
    if (!isAccount(request.url)) {
      load.now++;
      load.most = Math.max(load.most, load.now);
      let open = true;
      const end = (): void => {
        if (open) load.now--;
        open = false;
      };
      response.once('close', end);
      // If the gateway gives up, this comes before its next request, and the close of the response can come after it.
      request.socket.once('end', end);
    }
    response.on('error', () => undefined);
    let text = '';
    request.on('data', (part: Buffer) => {
      text += part.toString();
    });
    request.on('end', () => {
      serve(request, response, text).catch((error: unknown) =>
        answer(response, error instanceof Status ? error.status : 500, {
          error: error instanceof Status ? 'Resource could not be found' : String(error),
        }),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // the address of a TCP server is an AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    accounts,
    load,
    fail: (on, path, fault, times = 1) => {
      faults.push({ on, path, fault, left: times });
    },
    beforeWrite: (work) => {
      between = work;
    },
    merges: (how) => {
      merging = how;
    },
    drops: (how) => {
      dropping = how;
    },
    heal: () => {
      faults = [];
      between = undefined;
      merging = true;
      dropping = false;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

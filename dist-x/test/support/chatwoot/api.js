import { createServer } from 'node:http';
import { z } from 'zod';
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
class Status extends Error {
    status;
    constructor(status) {
        super(`status ${status}`);
        this.status = status;
    }
}
/** `user` is the Chatwoot user of the token. */
export async function openChatwootStandIn(sql, user = 1) {
    const asked = [];
    const load = { now: 0, most: 0 };
    let faults = [];
    let between;
    let merging = true;
    const notes = async (account, contact, method, body) => {
        const [found] = await sql `SELECT 1 FROM contacts WHERE id = ${contact} AND account_id = ${account}`;
        if (!found)
            throw new Status(404);
        const columns = sql `id::integer, content, account_id::integer, contact_id::integer, floor(extract(epoch FROM created_at))::integer AS created_at`;
        if (method === 'GET')
            return sql `SELECT ${columns} FROM notes WHERE contact_id = ${contact} AND account_id = ${account} ORDER BY created_at DESC`;
        if (!body.content)
            throw new Status(422);
        const [note] = await sql `
      INSERT INTO notes (content, account_id, contact_id, user_id, created_at, updated_at)
      VALUES (${body.content}, ${account}, ${contact}, ${user}, clock_timestamp() AT TIME ZONE 'UTC', clock_timestamp() AT TIME ZONE 'UTC')
      RETURNING ${columns}`;
        return note;
    };
    const attributesOf = async (account, number) => {
        const [row] = await sql `
      SELECT id, custom_attributes FROM conversations WHERE display_id = ${number} AND account_id = ${account}`;
        if (!row)
            throw new Status(404);
        return { id: row.id, custom_attributes: row.custom_attributes ?? {} };
    };
    const attributes = async (account, number, end, body) => {
        const { id, custom_attributes: before } = await attributesOf(account, number);
        if (end === 'destroy_custom_attributes') {
            if (merging === false)
                throw new Status(404);
            return {};
        }
        const sent = z.record(z.string(), z.unknown()).parse(body.custom_attributes ?? {});
        const after = body.merge === true && merging === true ? { ...before, ...sent } : sent;
        await sql `UPDATE conversations SET custom_attributes = ${sql.json(JSON.parse(JSON.stringify(after)))},
      updated_at = clock_timestamp() AT TIME ZONE 'UTC' WHERE id = ${id}`;
        return { custom_attributes: after };
    };
    const messages = async (account, number, body) => {
        const { id } = await attributesOf(account, number);
        if (!body.content || body.message_type !== 'outgoing')
            throw new Status(422);
        // Rails keeps these attributes as JSON inside a JSON string. The driver makes the outer one.
        const attributes = JSON.stringify(body.content_attributes ?? {});
        const [message] = await sql `
      INSERT INTO messages (content, account_id, inbox_id, conversation_id, message_type, private, content_attributes, sender_type, sender_id,
                            created_at, updated_at)
      SELECT ${body.content}, account_id, inbox_id, id, 1, ${body.private ?? false}, ${attributes}::json, 'User', ${user},
             clock_timestamp() AT TIME ZONE 'UTC', clock_timestamp() AT TIME ZONE 'UTC' FROM conversations WHERE id = ${id}
      RETURNING id::integer, content, private, floor(extract(epoch FROM created_at))::integer AS created_at`;
        return { ...message, message_type: 1, sender: { id: user, name: 'Token Robot', type: 'user' } };
    };
    const memberOf = async (account, id) => (await sql `SELECT user_id::integer AS id, role FROM account_users
        WHERE account_id = ${account} AND user_id = ${id ?? null}`)[0];
    const toggleStatus = async (account, number, { status = '', snoozed_until }) => {
        const { id } = await attributesOf(account, number);
        const now = STATUSES.indexOf(status);
        if (now < 0)
            throw new Status(500);
        // Two steps: the status, and for an open conversation the assignment to the user of the token, who is an agent.
        const [stored] = await sql `
      UPDATE conversations SET status = ${now}, updated_at = clock_timestamp() AT TIME ZONE 'UTC',
             snoozed_until = CASE WHEN ${now} = 3 THEN coalesce(to_timestamp(${snoozed_until ?? null}::double precision)
                                                                AT TIME ZONE 'UTC', snoozed_until) END
       WHERE id = ${id} RETURNING snoozed_until`;
        if (now === 0 && (await memberOf(account, user))?.role === 0)
            await sql `UPDATE conversations SET assignee_id = ${user}, assignee_agent_bot_id = NULL,
                       updated_at = clock_timestamp() AT TIME ZONE 'UTC' WHERE id = ${id}`;
        const until = stored?.snoozed_until?.toISOString() ?? null;
        const payload = { success: true, conversation_id: Number(number), current_status: status, snoozed_until: until };
        return { meta: {}, payload };
    };
    const assign = async (account, number, body) => {
        const { id } = await attributesOf(account, number);
        if ('assignee_id' in body) {
            // An unknown id is nobody, so it clears the assignee.
            const agent = await memberOf(account, body.assignee_id);
            await sql `UPDATE conversations SET assignee_id = ${agent?.id ?? null}, assignee_agent_bot_id = NULL,
                       updated_at = clock_timestamp() AT TIME ZONE 'UTC' WHERE id = ${id}`;
            return agent ? { id: agent.id, account_id: Number(account) } : null;
        }
        const [team] = await sql `
      SELECT id::integer, name FROM teams WHERE account_id = ${account} AND id = ${body.team_id ?? null}`;
        // An assignee who is not in the new team is cleared. Nobody of the team is online, so nobody takes the place.
        await sql `UPDATE conversations SET team_id = ${team?.id ?? null}, updated_at = clock_timestamp() AT TIME ZONE 'UTC',
        assignee_id = CASE WHEN team_id IS NOT DISTINCT FROM ${team?.id ?? null}::bigint OR ${team === undefined} OR EXISTS (
          SELECT FROM team_members m WHERE m.team_id = ${team?.id ?? null} AND m.user_id = assignee_id) THEN assignee_id END
      WHERE id = ${id}`;
        return team ?? null;
    };
    const shown = async (account, number) => {
        const { id, custom_attributes } = await attributesOf(account, number);
        const [row] = await sql `
      SELECT status, assignee_id::integer, team_id::integer FROM conversations WHERE id = ${id}`;
        const [assignee, team] = [row?.assignee_id, row?.team_id].map((one) => (one ? { id: one } : undefined));
        const status = STATUSES[row?.status ?? 0];
        return { id: Number(number), account_id: Number(account), status, custom_attributes, meta: { assignee, team } };
    };
    const perform = async (method, path, text) => {
        const body = Body.parse(text === '' ? {} : JSON.parse(text));
        const [, account = '', kind = '', id = '', end = ''] = /^\/api\/v1\/accounts\/(\d+)\/(contacts|conversations)\/(\d+)(?:\/(\w+))?$/.exec(path) ?? [];
        if (kind === 'contacts' && end === 'notes')
            return notes(account, id, method, body);
        if (kind === 'conversations' && method === 'GET' && end === '')
            return shown(account, id);
        if (kind === 'conversations' && method === 'POST' && end === 'toggle_status')
            return toggleStatus(account, id, body);
        if (kind === 'conversations' && method === 'POST' && end === 'assignments')
            return assign(account, id, body);
        if (kind === 'conversations' && method === 'POST' && end === 'messages')
            return messages(account, id, body);
        if (kind === 'conversations' && method === 'POST' && /^(destroy_)?custom_attributes$/.test(end))
            return attributes(account, id, end, body);
        throw new Status(404);
    };
    const answer = (response, status, body) => {
        response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body));
    };
    const serve = async (request, response, text) => {
        const { method = '', url = '' } = request;
        asked.push(`${method} ${url}`);
        if (request.headers['api_access_token'] !== TOKEN)
            return answer(response, 401, { error: 'Invalid Access Token' });
        const planted = faults.find((one) => one.left > 0 && one.on === method && url.endsWith(one.path));
        if (planted)
            planted.left--;
        const fault = planted?.fault;
        const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
        if (fault?.kind === 'hang')
            return;
        if (fault?.kind === 'body')
            return void response.writeHead(200).end(fault.body);
        if (fault?.kind === 'reset')
            return void response.destroy();
        if (fault?.kind === 'status') {
            if (fault.after === true)
                await perform(method, url, text);
            const type = fault.html === true ? 'text/html' : 'application/json';
            response.writeHead(fault.status, { 'content-type': type, location: 'http://127.0.0.1:1/elsewhere' });
            return void response.end(fault.html === true ? '<h1>no</h1>' : '{"error":"planted"}');
        }
        if (fault?.kind === 'slow' || fault?.kind === 'late')
            await wait(fault.ms);
        const before = between;
        if (before && method === 'POST' && url.endsWith('/custom_attributes')) {
            between = undefined;
            await before();
        }
        const done = await perform(method, url, text);
        if (fault?.kind === 'held')
            await wait(fault.ms);
        if (fault?.kind === 'late')
            return;
        if (fault?.kind === 'lost')
            return void response.destroy();
        if (fault?.kind === 'text')
            return void response.end('<html>fine</html>');
        if (fault?.kind === 'wrong')
            return answer(response, 200, { payload: 'of another shape' });
        if (fault?.kind === 'huge')
            return void response.end(`"${'x'.repeat(20_000_000)}"`);
        answer(response, 200, done);
    };
    const server = createServer((request, response) => {
        load.now++;
        load.most = Math.max(load.most, load.now);
        response.once('close', () => {
            load.now--;
        });
        response.on('error', () => undefined);
        let text = '';
        request.on('data', (part) => {
            text += part.toString();
        });
        request.on('end', () => {
            serve(request, response, text).catch((error) => answer(response, error instanceof Status ? error.status : 500, {
                error: error instanceof Status ? 'Resource could not be found' : String(error),
            }));
        });
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address(); // the address of a TCP server is an AddressInfo
    return {
        url: `http://127.0.0.1:${port}`,
        asked,
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
        heal: () => {
            faults = [];
            between = undefined;
            merging = true;
        },
        close: async () => {
            server.closeAllConnections();
            await new Promise((resolve) => server.close(resolve));
        },
    };
}
//# sourceMappingURL=api.js.map
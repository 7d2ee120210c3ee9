import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
/** An organization with one website. Triggers do not run, so this function also writes their rows. */
export async function plant(sql, tenant, conversations) {
    await sql.begin(async (one) => {
        await one.unsafe(`
      SET LOCAL session_replication_role = replica;
      INSERT INTO platform.organization (tenant, external_id, name) VALUES (${tenant}, 'o${tenant}', 'Organization');
      INSERT INTO platform.website (tenant, site, external_id, name, time_zone) VALUES (${tenant}, 1, 's${tenant}', 'Site', 'UTC');
      INSERT INTO platform.conversation (tenant, site, id, external_id, status, platform, language, subject, created_at,
          updated_at, ai_involved, ai_customer_facing, message_count, last_message_at, first_visitor_at, first_reply_at)
        SELECT ${tenant}, 1, n, 'k' || n, 'closed', 'chat', 'en', 'Question about order ' || n,
               now() - n * interval '20 days' / ${conversations}, now() - n * interval '20 days' / ${conversations},
               true, true, 2, now(), now(), now()
          FROM generate_series(1, ${conversations}) n;
      INSERT INTO platform.ai_result (tenant, site, id, external_id, conversation_id, topics, sentiment, confidence, resolution)
        SELECT ${tenant}, 1, n, 'r' || n, n, ARRAY['topic ' || n % 30, 'topic ' || n % 7], 0.5, 0.5, 'resolved'
          FROM generate_series(1, ${conversations}) n;`);
    });
}
/** One conversation of `messages` messages with `bytes` bytes each, and one file of ten chunks. Ids start at `base`. */
export async function plantLong(sql, { tenant, base, messages, bytes }) {
    await sql.begin(async (one) => {
        await one.unsafe(`
      SET LOCAL session_replication_role = replica;
      INSERT INTO platform.conversation (tenant, site, id, external_id, status, platform, created_at, updated_at)
        VALUES (${tenant}, 1, ${base}, 'long${base}', 'closed', 'chat', now() - interval '30 days', now() - interval '30 days');
      INSERT INTO platform.message (tenant, site, id, external_id, conversation_id, author_type, visibility, kind, text, created_at)
        SELECT ${tenant}, 1, ${base} + n, 'long${base}-' || n, ${base}, 'visitor', 'public', 'text',
               (SELECT left(string_agg(md5(n || '-' || g), ''), ${bytes}) FROM generate_series(1, ${bytes} / 32 + 1) g), now()
          FROM generate_series(1, ${messages}) n;
      INSERT INTO platform.file (tenant, site, id, external_id, conversation_id, message_id, name, media_type, size, version, created_at)
        VALUES (${tenant}, 1, ${base}, 'f${base}', ${base}, ${base} + 1, 'a.bin', 'application/octet-stream', 655360, repeat('a', 16), now());
      INSERT INTO platform.file_chunk SELECT ${tenant}, 1, ${base}, n, decode(repeat('00ff', 32768), 'hex') FROM generate_series(0, 9) n;`);
    });
}
export class Clients {
    #url;
    #token;
    #agent = new Agent({ keepAlive: true });
    #under = [];
    #stopped = false;
    constructor(url, token) {
        this.#url = url;
        this.#token = token;
    }
    /** Starts `count` clients that pause `rest` milliseconds between requests. The list collects all answers. */
    start(count, next, rest = 0) {
        const shots = [];
        const run = async () => {
            while (!this.#stopped) {
                shots.push(await this.#ask(next()));
                if (rest > 0)
                    await pause(rest);
            }
        };
        for (let n = 0; n < count; n++)
            this.#under.push(run());
        return shots;
    }
    async stop() {
        this.#stopped = true;
        await Promise.all(this.#under);
        this.#agent.destroy();
    }
    async leave() {
        this.#stopped = true;
        this.#agent.destroy();
        await Promise.all(this.#under);
    }
    #ask({ path, body }) {
        const began = performance.now();
        const headers = {
            authorization: `Bearer ${this.#token}`,
            ...(body !== undefined && {
                'content-type': 'application/json',
                'content-length': String(Buffer.byteLength(body)),
                'a2a-version': '1.0',
            }),
        };
        return new Promise((resolve, reject) => {
            const failed = (error) => (this.#stopped ? resolve({ status: 0, ms: 0 }) : reject(error));
            const sent = request(new URL(path, this.#url), { method: body === undefined ? 'GET' : 'POST', headers, agent: this.#agent }, (response) => {
                response.on('error', failed);
                response.on('end', () => resolve({ status: response.statusCode ?? 0, ms: performance.now() - began }));
                response.resume();
            });
            sent.on('error', failed);
            sent.end(body);
        });
    }
}
/** Milliseconds within which the share `q` (0 to 1) of all requests ended. */
export function quantile(shots, q) {
    const all = shots.map(({ ms }) => ms).sort((a, b) => a - b);
    return all[Math.min(all.length - 1, Math.floor(all.length * q))] ?? 0;
}
export const counted = (shots) => {
    const counts = {};
    for (const { status } of shots)
        counts[status] = (counts[status] ?? 0) + 1;
    return counts;
};
//# sourceMappingURL=fairness.js.map
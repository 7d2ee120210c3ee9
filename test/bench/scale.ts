import postgres from 'postgres';
import { openGateway } from '../../src/gateway/open.ts';
import { openDatabase } from '../../src/store/driver/postgres.ts';
import type { EmbeddedStore } from '../../src/store/embedded/embedded.ts';
import { migrate } from '../../src/store/open/migrate.ts';
import { issue } from '../support/credentials.ts';
import { KEYS } from '../support/keys.ts';

const CALLS = 1_000;
const MESSAGES_PER_CONVERSATION = 20;

/**
 * Measures the latency of reads on two websites, one with 40 thousand messages and one with 4 million. One process
 * alternates between the two websites.
 */
export async function scale(store: EmbeddedStore, print: (line: string) => void): Promise<void> {
  const sizes = [40_000, 4_000_000];
  const worlds = await Promise.all(sizes.map((messages) => world(store, messages)));
  const site = 1;
  const reads: [string, (pick: () => number) => { tool: string; input: Record<string, unknown> }][] = [
    ['contact_get', (pick) => ({ tool: 'contact_get', input: { contact_id: `ctc_1_${site}_${pick()}` } })],
    ['conversation', (pick) => ({ tool: 'conversation', input: { conversation_id: `cnv_1_${site}_${pick()}` } })],
    ['conversations_list', () => ({ tool: 'conversations_list', input: { website_id: `web_1_${site}` } })],
    [
      'conversations status',
      () => ({ tool: 'conversations_list', input: { website_id: `web_1_${site}`, status: 'snoozed' } }),
    ],
    [
      'conversations updated',
      () => ({ tool: 'conversations_list', input: { website_id: `web_1_${site}`, order: 'updated_asc' } }),
    ],
    [
      'conversations team',
      () => ({ tool: 'conversations_list', input: { website_id: `web_1_${site}`, team_id: `tem_1_${site}_1` } }),
    ],
    ['messages', (pick) => ({ tool: 'conversation_messages', input: { conversation_id: `cnv_1_${site}_${pick()}` } })],
    [
      'contacts prefix',
      (pick) => ({ tool: 'contacts_list', input: { website_id: `web_1_${site}`, query: `Person ${pick()}` } }),
    ],
    ['contacts_list', () => ({ tool: 'contacts_list', input: { website_id: `web_1_${site}` } })],
    ['visitor', (pick) => ({ tool: 'visitor', input: { visitor_id: `vis_1_${site}_${pick()}` } })],
    ['visitor_notes', (pick) => ({ tool: 'visitor_notes', input: { visitor_id: `vis_1_${site}_${pick()}` } })],
    [
      'visitor_conversations',
      (pick) => ({ tool: 'visitor_conversations', input: { visitor_id: `vis_1_${site}_${pick()}` } }),
    ],
  ];
  for (const [name, request] of reads) {
    const times = worlds.map((): number[] => []);
    for (let i = 0; i < CALLS; i++) {
      for (const [w, one] of worlds.entries()) {
        // Use only ids that exist on both websites, so that the reads of both websites visit the same number of rows.
        const { tool, input } = request(() => 1 + Math.floor(((i * 7919) % 997) * 1.9));
        const began = performance.now();
        const outcome = await one.call(tool, input);
        times[w]?.push(performance.now() - began);
        if (!('body' in outcome)) throw new Error(`${name}: ${'failure' in outcome ? outcome.failure.code : 'bytes'}`);
      }
    }
    const [small = 0, large = 0] = times.map((all) => [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)]);
    print(
      `${name.padEnd(24)} ${small.toFixed(2)} ms at 40,000 messages  ${large.toFixed(2)} ms at 4,000,000  ratio ${(large / small).toFixed(2)}`,
    );
  }
  for (const one of worlds) await one.close();
}

async function world(store: EmbeddedStore, messages: number) {
  const name = `scale_${messages}`;
  const target = { host: store.host, port: store.port, username: 'postgres' };
  const admin = postgres({ ...target, database: 'postgres', max: 1, onnotice: () => undefined });
  await admin.unsafe(`CREATE DATABASE ${name}`);
  await admin.end();
  const db = openDatabase({ target: { ...target, database: name }, connections: 2, statementTimeout: 600_000, name });
  await migrate(db);
  const sql = postgres({ ...target, database: name, max: 1, onnotice: () => undefined });
  const conversations = messages / MESSAGES_PER_CONVERSATION;
  await sql.unsafe(`
    ALTER TABLE platform.message DISABLE TRIGGER USER;
    INSERT INTO platform.organization (external_id, name) VALUES ('scale', 'Scale');
    INSERT INTO platform.website VALUES (1, 1, 's', 'Site', 'UTC');
    INSERT INTO platform.team SELECT 1, 1, t, 't' || t, 'Team ' || t FROM generate_series(1, 50) t;
    CREATE TEMP TABLE c AS SELECT 1 AS site, n AS id, n FROM generate_series(1, ${conversations}) n;
    INSERT INTO platform.contact (tenant, site, id, external_id, name, email, created_at)
      SELECT 1, site, id, 'c' || n, 'Person ' || id, 'p' || n || '@mail.example', now() FROM c;
    INSERT INTO platform.visitor (tenant, site, id, external_id, created_at) SELECT 1, site, id, 'v' || n, now() FROM c;
    INSERT INTO platform.conversation (tenant, site, id, external_id, visitor_id, team_id, status, platform, subject, created_at, updated_at)
      SELECT 1, site, id, 'k' || n, id, 1 + id % 50, (ARRAY['unassigned','assigned','pending','snoozed','closed'])[1 + id % 5], 'chat',
             'Subject ' || id, now() - id * interval '1 minute', now() - id * interval '30 seconds' FROM c;
    INSERT INTO platform.note (tenant, site, id, external_id, visitor_id, text, created_at) SELECT 1, site, id, 'n' || n, id, 'A note', now() FROM c;
    INSERT INTO platform.message (tenant, site, id, external_id, conversation_id, author_type, visibility, kind, text, created_at)
      SELECT 1, site, (c.id - 1) * ${MESSAGES_PER_CONVERSATION} + m, n || '-' || m, c.id, 'visitor', 'public', 'text',
             'A message of ordinary length, number ' || m || ', in conversation ' || c.id || '.', now()
        FROM c, generate_series(1, ${MESSAGES_PER_CONVERSATION}) m;
    DROP TABLE c;
    ALTER TABLE platform.message ENABLE TRIGGER USER;`);
  await sql`VACUUM ANALYZE`;
  const { token } = await issue(sql, 1);
  const corridor = await openGateway({
    store: { db, slow: db },
    keys: KEYS,
    checkEvery: 1_000_000,
    onDefect: () => undefined,
  });
  return {
    call: (tool: string, input: Record<string, unknown>) => {
      const found = corridor.registry.get(tool);
      if (!found) throw new Error(`no tool ${tool}`);
      return corridor.call({ tool: found, resource: 'rest', bearer: token, input });
    },
    close: async () => {
      await Promise.all([db.close(), sql.end()]);
    },
  };
}

import { afterEach, beforeEach, expect, it } from 'vitest';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';

/**
 * PostgreSQL keeps a prepared statement as long as its connection lives. One credential can cause thousands of
 * different statements. Connections must therefore have a limited lifetime.
 */
let gateway: TestGateway;
let token: string;
beforeEach(async () => {
  gateway = await openTestGateway();
  ({ token } = await gateway.issue());
});
afterEach(() => gateway.close());

/** Asks for every combination of the filters, and checks how many prepared statements the connections have. */
async function combine(filters: readonly string[], always: readonly string[], wanted: number): Promise<void> {
  const backends = new Set<number>();
  let most = 0;
  for (let mask = 0; mask < 2 ** filters.length; mask++) {
    const chosen = filters.filter((_, i) => mask & (1 << i));
    const query = ['website_id=web_1_1', ...always, ...chosen].join('&');
    const { status } = await gateway.ask(`/api/v1/conversations?${query}`, { token, unchecked: true });
    expect(status, query).toBe(wanted);
    if (mask % 16 !== 0) continue;
    const rows = await gateway.database.db.query<{ pid: number; n: number }>({
      texts: ['SELECT pg_backend_pid() AS pid, (SELECT count(*)::integer FROM pg_prepared_statements) AS n'],
      values: [],
    });
    for (const { pid, n } of rows) {
      backends.add(pid);
      most = Math.max(most, n);
    }
  }
  expect(backends.size).toBeGreaterThan(1);
  expect(most).toBeGreaterThan(100);
  expect(most).toBeLessThanOrEqual(302);
}

it('a caller who combines filters without end leaves each connection with few prepared statements', async () => {
  const filters = ['query=a', 'status=closed', 'platform=chat', 'channel_id=chn_1_1_1', 'team_id=tem_1_1_1'];
  const more = [
    'subsite_id=sst_1_1_1',
    'operator_id=opr_1_1_3',
    'created_from=2020-01-01T00:00:00Z',
    'order=updated_asc',
  ];
  await combine([...filters, ...more], [], 200);
});

it('so does a caller whose statements all fail in PostgreSQL, by a time zone that only Node knows', async () => {
  const { sql } = gateway.database;
  // Every combination of the filters finds this conversation. So PostgreSQL has to compute its local day.
  const [one = expect.fail('no conversation has it all')] = await sql<Record<string, string>[]>`
    SELECT c.status, c.platform, c.channel_id::text, c.team_id::text, c.operator_id::text, k.contact_id::text,
           left(c.subject, 20) AS subject, c.created_at::date::text AS day
      FROM platform.conversation c JOIN platform.conversation_contact k ON k.site = c.site AND k.conversation_id = c.id
      JOIN platform.contact p ON p.site = k.site AND p.id = k.contact_id AND NOT p.deleted
     WHERE c.site = 1 AND c.channel_id IS NOT NULL AND c.team_id IS NOT NULL
       AND c.operator_id IS NOT NULL AND c.subject <> ''
     ORDER BY c.id LIMIT 1`;
  const zones = ['US/Pacific-New', 'Canada/East-Saskatchewan', 'America/Coyhaique'];
  const unknown = await sql<{ zone: string }[]>`
    SELECT zone FROM unnest(${zones}::text[]) AS zone WHERE zone NOT IN (SELECT name FROM pg_timezone_names)`;
  const filters = [
    `query=${encodeURIComponent(one['subject'] ?? '')}`,
    `status=${one['status']}`,
    `platform=${one['platform']}`,
    `channel_id=chn_1_1_${one['channel_id']}`,
    `team_id=tem_1_1_${one['team_id']}`,
    `operator_id=opr_1_1_${one['operator_id']}`,
    `contact_id=ctc_1_1_${one['contact_id']}`,
    'order=updated_asc',
    'updated_since=2000-01-01T00:00:00Z',
    'limit=100',
  ];
  const zone = unknown[0]?.zone ?? expect.fail('PostgreSQL knows all zones');
  await combine(
    filters,
    [`created_from=${one['day']}`, `created_to=${one['day']}`, `timezone=${encodeURIComponent(zone)}`],
    400,
  );
});

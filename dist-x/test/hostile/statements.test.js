import { expect, it } from 'vitest';
import { openTestGateway } from '../support/gateway.js';
/**
 * PostgreSQL keeps a prepared statement as long as its connection lives. One credential can cause thousands of
 * different statements. Connections must therefore have a limited lifetime.
 */
it('a caller who combines filters without end leaves each connection with few prepared statements', async () => {
    const gateway = await openTestGateway();
    const { token } = await gateway.issue();
    const filters = ['query=a', 'status=closed', 'platform=chat', 'channel_id=chn_1_1_1', 'team_id=tem_1_1_1'];
    const more = [
        'subsite_id=sst_1_1_1',
        'operator_id=opr_1_1_3',
        'created_from=2020-01-01T00:00:00Z',
        'order=updated_asc',
    ];
    const all = [...filters, ...more];
    const backends = new Set();
    let most = 0;
    for (let mask = 0; mask < 2 ** all.length; mask++) {
        const chosen = all.filter((_, i) => mask & (1 << i));
        const query = ['website_id=web_1_1', ...chosen].join('&');
        const { status } = await gateway.ask(`/api/v1/conversations?${query}`, { token, unchecked: true });
        expect(status, query).toBe(200);
        if (mask % 16 !== 0)
            continue;
        const rows = await gateway.database.db.query({
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
    await gateway.close();
});
//# sourceMappingURL=statements.test.js.map
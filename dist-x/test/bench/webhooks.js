import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { Keyring } from '../../src/auth/keys.js';
import { startWebhooks } from '../../src/events/webhooks/dispatcher.js';
import { senderOptions } from '../../src/outbound/sender.js';
import { newWebhookSecret } from '../../src/outbound/signature.js';
import { insertEndpoint } from '../../src/store/administration/endpoints.js';
import { openLedgerKey } from '../../src/store/calls/ledger.js';
import { claimDeliveries } from '../../src/store/events/deliveries.js';
import { issue } from '../support/credentials.js';
import { median } from './report.js';
import { openWorld } from './world.js';
const EVENTS = 2_000;
const ROUNDS = 3;
/**
 * Measures deliveries per second to receivers on this machine. The sender and the receivers run in one process. The
 * first part delivers a backlog, once to one endpoint and once to eight endpoints. The second part measures the time
 * from a receipt to its delivery while another website has many changes.
 */
export async function webhooks(store, print) {
    const { db, sql, close } = await openWorld(store, 'gateway', 4);
    await sql `INSERT INTO platform.organization (tenant, external_id, name) VALUES (901, 'hooks', 'Bench')`;
    await sql `INSERT INTO platform.website (tenant, site, external_id, name, time_zone)
    SELECT 901, n, 'hooks' || n, 'Bench', 'UTC' FROM generate_series(1, 8) AS n`;
    const { credential } = await issue(sql, 901);
    const keys = new Keyring([{ kid: 'bench', secret: randomBytes(32) }]);
    let taken = 0;
    const latencies = [];
    const receiver = createServer((request, response) => {
        let text = '';
        request.on('data', (part) => {
            text += part.toString();
        });
        request.on('end', () => {
            taken++;
            latencies.push(Date.now() - Number(/"recorded_at":(\d+)/.exec(text)?.[1]));
            response.writeHead(204).end();
        });
    });
    await new Promise((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    const at = receiver.address();
    const origin = `http://127.0.0.1:${typeof at === 'object' && at ? at.port : 0}`;
    const endpoint = (site) => insertEndpoint(db, {
        id: `whk_${randomBytes(16).toString('hex')}`,
        credential,
        tenant: '901',
        site: String(site),
        url: `${origin}/hook`,
        eventTypes: ['visitor.*'],
        description: '',
        secret: keys.seal('webhook secret', newWebhookSecret()),
    });
    const start = () => startWebhooks({
        db,
        eventKey: openLedgerKey(db),
        keys,
        sender: senderOptions(new Set([origin]), 'http://127.0.0.1:8420'),
        schedule: [0, 5],
        onError: (error) => print(String(error)),
    });
    const reached = async (n) => {
        while (taken < n)
            await pause(2);
    };
    const append = (n, sites) => sql `SELECT gateway.append_receipts(901, site, array_agg('visitor.changed'::text))
          FROM (SELECT 1 + i % ${sites}::integer AS site FROM generate_series(1, ${n}::integer) AS i) r GROUP BY site`;
    for (const sites of [1, 8]) {
        await sql `DELETE FROM gateway.webhook_endpoint`;
        for (let site = 1; site <= sites; site++)
            await endpoint(site);
        const rates = [];
        for (let round = 0; round < ROUNDS; round++) {
            taken = 0;
            await append(EVENTS, sites);
            const began = performance.now();
            const running = start();
            await reached(EVENTS);
            rates.push((EVENTS * 1_000) / (performance.now() - began));
            await running.stop();
        }
        print(`webhooks, backlog at ${sites} endpoint${sites === 1 ? ' ' : 's'}: ${Math.round(median(rates))} deliveries/s ` +
            `(${rates.map(Math.round).join(', ')})`);
    }
    const running = start();
    taken = 0;
    await pause(500);
    latencies.length = 0;
    for (let i = 0; i < 500; i++) {
        await append(1, 1);
        await pause(8);
    }
    await reached(500);
    latencies.sort((a, b) => a - b);
    print(`webhooks, from a receipt to its delivery at 100/s: p50 ${latencies[250]} ms, p95 ${latencies[475]} ms, p99 ${latencies[495]} ms`);
    await running.stop();
    while ((await sql `SELECT FROM gateway.webhook_endpoint`).length < 1_000)
        await endpoint(1);
    const eventKey = await openLedgerKey(db)();
    const rounds = [];
    for (let i = 0; i < 50; i++) {
        const began = performance.now();
        await claimDeliveries(db, { eventKey, seats: 1, schedule: [0], mcp: true });
        rounds.push(performance.now() - began);
    }
    print(`webhooks, a round that finds nothing to do at 1,000 endpoints: ${median(rounds).toFixed(1)} ms`);
    await sql `DELETE FROM platform.organization WHERE tenant = 901`;
    await new Promise((resolve) => receiver.close(resolve));
    await close();
}
//# sourceMappingURL=webhooks.js.map
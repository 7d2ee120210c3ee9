import { afterAll, beforeAll, expect, it } from 'vitest';
import { newWebhookSecret } from '../../../src/outbound/signature.js';
import { openReceiver } from '../../support/events/webhooks.js';
import { eventually } from '../../support/eventually.js';
import { openTestGateway } from '../../support/gateway.js';
import { KEYS } from '../../support/keys.js';
import { modern } from '../../support/surfaces/mcp.js';
/** E6: the record of `events/subscribe` and of `events/unsubscribe` is in the transaction of the change. */
let gateway;
let receiver;
beforeAll(async () => {
    gateway = await openTestGateway('demo', undefined, KEYS, {}, undefined, undefined, true);
    receiver = await openReceiver((_, response, { bytes }) => {
        const { challenge } = JSON.parse(bytes.toString());
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ challenge }));
    });
    gateway.receivers.add(receiver.origin);
});
afterAll(async () => {
    await gateway.close();
    await receiver.close();
});
it('without its record a subscription is neither made nor refreshed nor ended', async () => {
    const { token, credential } = await gateway.issue();
    const { sql } = gateway.database;
    const secret = newWebhookSecret();
    const named = { name: 'visitor', arguments: { website_id: 'web_1_1' } };
    const to = { mode: 'webhook', url: receiver.url };
    const make = () => modern(gateway.port, token, 'events/subscribe', { ...named, delivery: { ...to, secret } });
    const end = () => modern(gateway.port, token, 'events/unsubscribe', { ...named, delivery: { url: receiver.url } });
    const rows = async () => JSON.stringify([
        await sql `SELECT * FROM gateway.webhook_endpoint`,
        await sql `SELECT * FROM gateway.mcp_subscription`,
    ]);
    const kept = () => sql `SELECT operation, outcome, targets FROM gateway.audit WHERE credential_id = ${credential}
    AND outcome = 'ok' ORDER BY time, id`;
    for (const [operation, ask] of [
        ['subscription_create', make],
        ['subscription_create', make],
        ['subscription_delete', end],
    ]) {
        await sql `DELETE FROM gateway.audit`;
        const before = await rows();
        await sql `ALTER TABLE gateway.audit ADD CONSTRAINT away CHECK (outcome <> 'ok')`;
        expect((await ask()).status, operation).toBe(503);
        expect(await rows(), operation).toBe(before);
        await sql `ALTER TABLE gateway.audit DROP CONSTRAINT away`;
        expect((await ask()).body.error, operation).toBeUndefined();
        expect(await rows(), operation).not.toBe(before);
        // The record does not wait for a flush of the process.
        expect((await kept()).map(({ operation: one }) => one)).toEqual([operation]);
    }
    await eventually(async () => {
        const [left] = await sql `SELECT count(*)::integer AS n FROM gateway.audit WHERE seq IS NULL`;
        expect(left).toEqual({ n: 0 });
    });
    expect(await kept()).toHaveLength(1);
});
//# sourceMappingURL=event-books.test.js.map
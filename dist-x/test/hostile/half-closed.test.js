import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Client, connected, frame, handshake, holder, newTicket, openSession, plantWebsites, Raw, } from '../support/events/realtime.js';
import { append, create, definition } from '../support/events/subscriptions.js';
import { openTestGateway } from '../support/gateway.js';
let gateway;
beforeAll(async () => {
    gateway = await openTestGateway('empty', undefined, undefined, { check: 100 });
    await plantWebsites(gateway.database.sql, 1);
    for (let i = 0; i < PAGES; i++)
        await append(gateway.database.sql, 'web_1_1', Array(100).fill('visitor.changed'));
});
afterAll(() => gateway.close());
const PAGES = 20;
/**
 * KERNEL is the number of bytes that the kernel buffers for a client that does not read (4 MiB on Linux). OURS is half
 * of the gateway's own buffer.
 */
const KERNEL = 4.1 * 2 ** 20;
const OURS = 0.5 * 2 ** 20;
/**
 * True while the server still holds its end of this connection. The test reads the kernel's table of connections,
 * because the server runs in this process. A connection in use has an inode in this table.
 */
function held(client) {
    const end = (port) => `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
    return readFileSync('/proc/self/net/tcp', 'utf8')
        .split('\n')
        .map((line) => line.trim().split(/\s+/))
        .some(([, from, to, ...rest]) => from?.endsWith(end(gateway.port)) && to?.endsWith(end(client)) && rest[6] !== '0');
}
/** A client for whom pages wait in the gateway. Undefined if this took so long that the gateway has let it go. */
async function stuck() {
    const { token } = await holder(gateway);
    const session = await openSession(gateway, token);
    const raw = new Raw(gateway.port);
    expect(await raw.upgrade(handshake(session))).toBe(101);
    const subscriptions = [];
    for (let i = 0; i < 20; i++)
        subscriptions.push((await create(gateway, token, definition(['web_1_1']))).id);
    // The client acknowledges pages without reading them, until some pages wait in the gateway. The client knows the
    // cursors from a second socket that receives the same pages.
    raw.socket.pause();
    const say = (value) => void raw.socket.write(frame(0x81, Buffer.from(JSON.stringify(value))));
    const twin = await connected(gateway, token);
    for (const subscription_id of subscriptions) {
        say({ type: 'attach', id: 1, subscription_id });
        twin.send({ type: 'attach', id: 1, subscription_id });
    }
    for (let sent = 0;;) {
        const page = await twin.next('page', 15_000);
        sent += JSON.stringify(page).length;
        if (sent > KERNEL + OURS)
            break;
        await pause(10);
        say({ type: 'ack', subscription_id: page.subscription_id, cursor: page.next_cursor });
        twin.ack(page);
    }
    twin.end();
    await expect.poll(() => gateway.realtime.size).toBeLessThan(2);
    if (gateway.realtime.size === 1)
        return { raw, session, token };
    raw.socket.destroy();
    return undefined;
}
it('WS-06 a client that closes its half and does not read is let go, also where another socket takes its place', async () => {
    let found = await stuck();
    for (let tries = 1; !found && tries < 5; tries++)
        found = await stuck();
    const { raw, session, token } = found ?? expect.fail('the machine is too busy: five clients were let go before');
    const { localPort = 0 } = raw.socket;
    raw.socket.end();
    await pause(100);
    const next = new Client(gateway.port, { ...session, ticket: await newTicket(gateway, token, session.session_id) });
    await next.next('ready');
    expect(held(localPort)).toBe(true);
    await expect.poll(() => held(localPort), { timeout: 5_000 }).toBe(false);
    next.end();
    raw.socket.destroy();
});
//# sourceMappingURL=half-closed.test.js.map
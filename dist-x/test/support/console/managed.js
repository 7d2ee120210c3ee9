import { randomBytes } from 'node:crypto';
import { connect, createServer } from 'node:net';
import { chatwootWorld } from '../chatwoot/source-world.js';
import { addEndpoint, openReceiver, tell } from '../events/webhooks.js';
const idOf = (prefix) => `${prefix}_${randomBytes(16).toString('hex')}`;
/** Servers for the webhooks and sources of a console's tests. `plant` adds new ones for each test. */
export async function openManaged(gateway) {
    const { database } = gateway;
    const receiver = await openReceiver();
    gateway.receivers.add(receiver.origin);
    const desk = await chatwootWorld();
    await desk.sql `INSERT INTO accounts (id, name, created_at, updated_at) VALUES (7, 'Typed account', now(), now())`;
    await desk.grant('poll');
    const { port, server } = await relayTo(`${desk.host}/.s.PGSQL.${desk.port}`);
    gateway.sources.hosts.push(`127.0.0.1:${port}`);
    let site = 100;
    return {
        receiver,
        async plant() {
            const { credential } = await gateway.issue({ scopes: ['website_read', 'event_read'] });
            const [webhook, disabled] = [
                await addEndpoint(database, credential, `${receiver.origin}/one`),
                await addEndpoint(database, credential, `${receiver.origin}/two`),
            ];
            await database.sql `UPDATE gateway.webhook_endpoint SET enabled = false, disabled_because = 'owner' WHERE id = ${disabled.id}`;
            await tell(database, 2);
            await database.sql `DELETE FROM gateway.source`;
            await database.sql `INSERT INTO platform.website (tenant, site, external_id, name, time_zone)
        VALUES (1, ${++site}, ${`planted ${site}`}, 'Planted website', 'UTC')`;
            const [source, paused] = [idOf('src'), idOf('src')];
            for (const [n, id] of [source, paused].entries())
                await database.sql `INSERT INTO gateway.source (id, tenant, site, kind, account, mode, period, time_zone, address, paused)
          VALUES (${id}, 1, ${site}, 'chatwoot', ${String(n + 1)}, 'poll', 15, 'UTC', 'sealed by nobody', ${id === paused})`;
            const [row] = await database.sql `
        SELECT updated_at AS at FROM gateway.webhook_endpoint WHERE id = ${webhook.id}`;
            return {
                ...{ credential, webhook: webhook.id, disabled: disabled.id, source, paused },
                changedAt: row?.at.toISOString() ?? '',
                receiver: `${receiver.origin}/typed`,
                helpdesk: `postgres://${desk.role}@127.0.0.1:${port}/${desk.database}`,
            };
        },
        async close() {
            await receiver.close();
            server.close();
            await desk.close();
        },
    };
}
/** A TCP port that leads to a socket of PostgreSQL, because the console allows hosts and no sockets. */
async function relayTo(path) {
    const server = createServer((from) => {
        const to = connect(path);
        for (const [one, other] of [
            [from, to],
            [to, from],
        ])
            one.pipe(other).on('error', () => one.destroy());
    });
    await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
    return { port: server.address().port, server }; // a TCP server has such an address
}
/** A helpdesk that stops to answer: at once, or when it has told `answers` times that it is ready for a query. */
export async function openSilent(helpdesk, answers) {
    let asked = 0;
    const sockets = new Set();
    const server = createServer((from) => {
        asked += 1;
        sockets.add(from);
        from.on('error', () => from.destroy()).on('close', () => sockets.delete(from));
        if (answers === 0)
            return void from.resume();
        const to = connect(Number(new URL(helpdesk).port), '127.0.0.1');
        let ready = 0;
        to.on('error', () => from.destroy()).on('data', (data) => {
            // Z, its length, and I: ready for a query, in no transaction.
            if (ready < answers)
                from.write(data);
            if (data.includes(Buffer.from([0x5a, 0, 0, 0, 5, 0x49])))
                ready += 1;
        });
        from.pipe(to);
    });
    await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
    return {
        port: server.address().port, // a TCP server has such an address
        asked: () => asked,
        open: () => sockets.size,
        close: () => void server.close(),
    };
}
/** The changes whose answer shows a secret once. The others redirect. */
export const SHOW_SECRET = ['webhook_create', 'webhook_rotate'];
export const MANAGED_NAMES = [
    ...['webhook_create', 'webhook_update', 'webhook_rotate', 'webhook_test', 'webhook_replay', 'webhook_enable'],
    ...['webhook_disable', 'webhook_delete'],
    ...['source_add', 'source_pause', 'source_resume', 'source_check', 'source_remove', 'source_delete'],
];
/** Every change of webhooks and sources, with the page that has its form. `seen` is what the form of an edit has shown. */
export function managedActs(of, seen = {}) {
    const webhook = `/console/webhooks/${of.webhook}`;
    const source = `/console/sources/${of.source}`;
    const fields = {
        credential: of.credential,
        website: 'web_1_1',
        url: of.receiver,
        all_visitor: 'yes',
        description: 'typed',
    };
    const on = (page, leg, more = {}) => ({
        page,
        action: `${page}/${leg}`,
        fields: more,
    });
    return {
        webhook_create: { page: '/console/webhooks/new', action: '/console/webhooks/add', fields },
        webhook_update: { page: `${webhook}/edit`, action: `${webhook}/change`, fields: { ...fields, ...seen } },
        webhook_rotate: on(webhook, 'rotate', { overlap: '0s' }),
        webhook_test: on(webhook, 'test'),
        webhook_replay: on(webhook, 'replay', { since: '7d' }),
        webhook_enable: on(`/console/webhooks/${of.disabled}`, 'enable'),
        webhook_disable: on(webhook, 'disable'),
        webhook_delete: on(webhook, 'delete'),
        source_add: {
            page: '/console/sources/new',
            action: '/console/sources/add',
            fields: { url: of.helpdesk, account: '7', mode: 'poll', period: '15', time_zone: 'UTC' },
        },
        source_pause: on(source, 'pause'),
        source_resume: on(`/console/sources/${of.paused}`, 'resume'),
        source_check: on(source, 'check'),
        source_remove: on(source, 'remove'),
        source_delete: on(source, 'delete'),
    };
}
/** Everything that these changes could change. */
export const managedState = async ({ database: { sql } }) => [
    await sql `SELECT id, credential_id, site, url, event_types, description, enabled, secret FROM gateway.webhook_endpoint ORDER BY id`,
    await sql `SELECT endpoint_id, count(*)::integer AS n FROM gateway.webhook_delivery GROUP BY 1 ORDER BY 1`,
    await sql `SELECT id, tenant, account, paused, compare_asked, epoch FROM gateway.source ORDER BY id`,
    await sql `SELECT tenant, site FROM platform.website ORDER BY 1, 2`,
];
//# sourceMappingURL=managed.js.map
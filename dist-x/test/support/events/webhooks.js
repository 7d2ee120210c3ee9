import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { startWebhooks } from '../../../src/events/webhooks/dispatcher.js';
import { senderOptions } from '../../../src/outbound/sender.js';
import { newWebhookSecret } from '../../../src/outbound/signature.js';
import { insertEndpoint } from '../../../src/store/administration/endpoints.js';
import { openLedgerKey } from '../../../src/store/calls/ledger.js';
import { KEYS } from '../keys.js';
export const answer = (status, headers = {}) => (_request, response) => void response.writeHead(status, headers).end('ok');
export async function openReceiver(first = answer(200)) {
    const got = [];
    let [connections, reply] = [0, first];
    const server = createServer((request, response) => {
        const parts = [];
        const at = performance.now();
        request.on('data', (part) => parts.push(part));
        request.on('error', () => undefined); // the sender may cut this request
        request.on('end', () => {
            const { headers, method = '', url: path = '' } = request;
            const one = {
                at,
                path,
                method,
                headers,
                bytes: Buffer.concat(parts),
                id: String(headers['webhook-id']),
                attempt: Number(headers['x-gateway-attempt']),
            };
            got.push(one);
            reply(request, response, one);
        });
    });
    server.on('connection', () => {
        connections++;
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address(); // the cast is sound, because the address of a TCP server is an AddressInfo
    return {
        url: `http://127.0.0.1:${port}/hook`,
        origin: `http://127.0.0.1:${port}`,
        got,
        connections: () => connections,
        reply: (next) => {
            reply = next;
        },
        close: () => {
            server.closeAllConnections();
            return new Promise((resolve) => server.close(() => resolve()));
        },
    };
}
export async function addEndpoint({ db }, credential, url, more = {}) {
    const { secret = newWebhookSecret() } = more;
    const made = await insertEndpoint(db, {
        id: `whk_${randomBytes(16).toString('hex')}`,
        credential,
        tenant: '1',
        site: more.site ?? '1',
        url,
        eventTypes: more.eventTypes ?? ['conversation.*', 'visitor.*'],
        description: '',
        secret: KEYS.seal('webhook secret', secret),
    });
    if (!made)
        throw new Error('the credential may not be told');
    return { id: made.id, secret };
}
export function run({ db }, receivers, more = {}) {
    const errors = [];
    const { sending, ...options } = more;
    const { stop } = startWebhooks({
        db,
        eventKey: openLedgerKey(db),
        keys: KEYS,
        sender: {
            ...senderOptions(new Set(receivers.map(({ origin }) => origin)), 'http://127.0.0.1:8420'),
            ...sending,
        },
        schedule: [0, 0.1, 0.1, 0.1, 0.1],
        onError: (error) => errors.push(error),
        ...options,
    });
    return { errors, stop };
}
/** Appends `n` receipts to the journal of a website of tenant 1, each in its own transaction. */
export async function tell({ sql }, n, type = 'visitor.changed', site = '1') {
    await sql `SELECT count(*) FROM generate_series(1, ${n}::integer) AS i CROSS JOIN LATERAL (SELECT gateway.append_receipts(1, ${site}, ARRAY[${type}]::text[]), i) a`;
}
export async function until(met, milliseconds = 30_000) {
    for (const end = performance.now() + milliseconds; !(await met()); await pause(25)) {
        if (performance.now() > end)
            throw new Error('nothing came of it');
    }
}
export function verified(secret, { bytes, headers }) {
    try {
        new Webhook(secret).verify(bytes, {
            'webhook-id': String(headers['webhook-id']),
            'webhook-timestamp': String(headers['webhook-timestamp']),
            'webhook-signature': String(headers['webhook-signature']),
        });
        return true;
    }
    catch {
        return false; // the verifier throws for a wrong signature
    }
}
/** The deliveries of an endpoint by position. `due_in` is in seconds. */
export const log = ({ sql }, endpoint) => sql `SELECT event_id, status, attempts, response_status, error, extract(epoch FROM due_at - now())::double precision AS due_in
    FROM gateway.webhook_delivery WHERE endpoint_id = ${endpoint} ORDER BY position, created_at`;
export async function queued({ sql }) {
    const [row] = await sql `SELECT count(*)::integer AS n FROM gateway.webhook_delivery WHERE status = 'pending'`;
    return row?.n ?? 0;
}
//# sourceMappingURL=webhooks.js.map
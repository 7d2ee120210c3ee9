import { connect } from 'node:net';
export const WEB = 'web_1_1';
/** Sends raw bytes that no client library would send. With `drip`, one byte every `drip` milliseconds. */
export function raw(port, bytes, { patience = 1_000, drip } = {}) {
    return new Promise((resolve) => {
        const began = performance.now();
        let text = '';
        const buffer = Buffer.from(bytes);
        const socket = connect(port, '127.0.0.1');
        const done = (closed) => {
            clearTimeout(timer);
            clearInterval(dripping);
            socket.destroy();
            resolve({ text, closed, ms: performance.now() - began });
        };
        const timer = setTimeout(() => done(false), patience);
        let sent = 0;
        const dripping = drip === undefined
            ? undefined
            : setInterval(() => {
                if (sent < buffer.length && socket.writable)
                    socket.write(buffer.subarray(sent, ++sent));
            }, drip);
        socket.setEncoding('utf8');
        socket.on('connect', () => drip === undefined && socket.write(buffer));
        socket.on('data', (part) => {
            text += part;
        });
        // A reset also ends the connection. Keep the bytes before it.
        socket.on('error', () => done(true));
        socket.on('close', () => done(true));
    });
}
/** Parses the only HTTP answer in a text. Throws for no answer, or several. */
export function parse(text) {
    const [head = '', ...rest] = text.split('\r\n\r\n');
    const [line = '', ...fields] = head.split('\r\n');
    const status = /^HTTP\/1\.1 ([0-9]{3}) /.exec(line)?.[1];
    const body = rest.join('\r\n\r\n');
    if (status === undefined || body.includes('HTTP/1.1 '))
        throw new Error(`not one answer: ${text}`);
    const headers = new Map(fields.map((field) => [field.slice(0, field.indexOf(':')).toLowerCase(), field.slice(field.indexOf(':') + 2)]));
    return { status: Number(status), headers, body };
}
const OPERATION = `op_${'0'.repeat(64)}`;
const SUBSCRIPTION = `sub_${'0'.repeat(32)}`;
export async function examples({ database: { sql }, corridor }) {
    const [row] = await sql `
    SELECT f.conversation_id AS conversation, f.message_id AS message, f.id AS file,
           (SELECT min(id) FROM platform.contact WHERE tenant = 1 AND site = 1) AS contact,
           (SELECT min(visitor_id) FROM platform.conversation WHERE tenant = 1 AND site = 1) AS visitor,
           (SELECT min(id) FROM platform.ai_feature WHERE tenant = 1 AND site = 1 AND type = 'language_detection') AS feature
      FROM platform.file f JOIN platform.message m ON m.tenant = f.tenant AND m.site = f.site AND m.id = f.message_id
     WHERE f.tenant = 1 AND f.site = 1 AND m.visibility = 'public' AND f.size > 10 ORDER BY f.id LIMIT 1`;
    const [of] = await sql `
    SELECT active_version AS version,
           (SELECT min(value) FROM platform.disposition WHERE tenant = 1 AND site = 1 AND enabled) AS disposition
      FROM platform.ai_feature WHERE tenant = 1 AND site = 1 AND id = ${row?.feature ?? ''}`;
    const path = {
        conversation_id: `cnv_1_1_${row?.conversation}`,
        message_id: `msg_1_1_${row?.message}`,
        file_id: `fil_1_1_${row?.file}`,
        contact_id: `ctc_1_1_${row?.contact}`,
        visitor_id: `vis_1_1_${row?.visitor}`,
        feature_id: `aif_1_1_${row?.feature}`,
        id: `cnv_1_1_${row?.conversation}`,
        guide: 'overview',
        operation_id: OPERATION,
        subscription_id: SUBSCRIPTION,
    };
    const query = {
        ...{ website_id: WEB, path: '/ai/features', query: 'a' },
        ...{ subscription_id: SUBSCRIPTION, after: 'no.cursor' },
    };
    const body = {
        visitor_note_add: { text: 'Asked for an invoice copy by post.' },
        conversation_disposition_set: { disposition: of?.disposition },
        ai_feature_execute: { expected_version: of?.version, context: { type: 'text', text: 'Wo ist mein Paket?' } },
        config_plan: {
            path: `/ai/features/${path['feature_id']}`,
            expected_version: of?.version,
            changes: { enabled: false },
        },
    };
    // Tools with optional parameters of which a call needs one.
    const chosen = {
        customer_find: [['name', 'a']],
    };
    // test/events tests writes of subscriptions, whose methods and headers these examples do not have.
    const reached = corridor.registry.tools.filter((tool) => tool.effect === 'read' || tool.idempotency === 'required');
    return reached.map((tool) => {
        const filled = tool.path.replace(/\{(\w+)\}/g, (_, name) => path[name] ?? '');
        const required = tool.parameters.filter((one) => one.in === 'query' && one.required);
        const given = [...required.map(({ name }) => [name, query[name] ?? '']), ...(chosen[tool.name] ?? [])];
        return { tool, path: filled, query: given, url: urlOf(filled, given), body: body[tool.name] };
    });
}
/** A full credential that can write on each of the demo's websites, in the name of an enabled operator. */
export async function writer(gateway, grant = {}) {
    const rows = await gateway.database.sql `
    SELECT 'opr_1_' || site || '_' || min(id) AS id FROM platform.operator WHERE tenant = 1 AND enabled GROUP BY site`;
    return gateway.issue({ authors: rows.map(({ id }) => id), ...grant });
}
let keys = 0;
export const freshKey = () => `key-${++keys}`;
/** The options with which `ask` sends an example. A write gets its body and a new idempotency key each time. */
export function requestOf({ body }, options = {}) {
    if (body === undefined)
        return options;
    return { body, ...options, headers: { 'idempotency-key': freshKey(), ...options.headers } };
}
/** An example's call as bytes. Extra header fields come last, even if they repeat a name. */
export function bytesOf({ tool, url, body }, ...fields) {
    const content = body === undefined ? '' : JSON.stringify(body);
    const own = [
        'Content-Type: application/json',
        `Content-Length: ${Buffer.byteLength(content)}`,
        `Idempotency-Key: ${freshKey()}`,
    ];
    const lines = [`${tool.method} ${url} HTTP/1.1`, 'Host: 127.0.0.1', ...(body === undefined ? [] : own), ...fields];
    return `${lines.join('\r\n')}\r\n\r\n${content}`;
}
export const urlOf = (path, query) => query.length === 0
    ? path
    : `${path}?${query.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&')}`;
export const withQuery = (url, piece) => `${url}${url.includes('?') ? '&' : '?'}${piece}`;
//# sourceMappingURL=wire.js.map
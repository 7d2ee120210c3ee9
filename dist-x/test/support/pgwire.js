import { connect, createServer } from 'node:net';
const SIDES = ['frontend', 'backend'];
const MOMENTS = ['before', 'after'];
/** Every point of such an exchange at which a test can inject a fault. */
export const everyPoint = (messages) => SIDES.flatMap((side) => [...messages[side]].flatMap((_, i) => MOMENTS.map((when) => ({ side, at: i + 1, when }))));
const KEPT = 10_000;
let linkCount = 0;
let exchangeCount = 0;
const ENCRYPTION = [80_877_103, 80_877_104]; // the codes of SSLRequest and GSSENCRequest
const never = new Promise(() => undefined);
const matches = ({ texts }, match) => texts.some((text) => text.search(match) >= 0);
function keep(list, entry) {
    if (list.push(entry) >= 2 * KEPT)
        list.splice(0, KEPT);
}
function place(link, side, type, text) {
    if (side === 'backend') {
        const [exchange] = link.waiting;
        if (exchange)
            exchange.backend += type;
        if (type !== 'Z')
            return exchange;
        link.waiting.shift();
        if (link.sending === exchange)
            link.sending = undefined; // the start-up exchange has no Sync
        return exchange;
    }
    if (!link.sending) {
        link.sending = { id: ++exchangeCount, texts: [], frontend: '', backend: '' };
        link.waiting.push(link.sending);
    }
    const exchange = link.sending;
    exchange.frontend += type;
    if (text !== undefined)
        exchange.texts.push(text);
    if (type === 'S' || type === 'Q')
        link.sending = undefined;
    return exchange;
}
/** Whether a fault at this point comes before or after the message. Undefined: the message is not at this point. */
function moment(at, { direction, type }, exchange) {
    if (typeof at === 'object') {
        return at.side === direction && at.at === exchange[direction].length ? at.when : undefined;
    }
    if (at === 'after-sync')
        return direction === 'backend' && type === 'Z' ? 'before' : undefined;
    if (direction === 'backend')
        return undefined;
    if (at === 'before-execute')
        return type === 'B' || type === 'Q' ? 'before' : undefined;
    return type === 'S' || type === 'Q' ? 'after' : undefined;
}
/** Splits the stream into protocol messages. Only a client's first messages have no type byte. */
async function* messagesFrom(socket, untyped) {
    let rest = Buffer.alloc(0);
    let head = untyped ? 0 : 1;
    // A client that has sent everything can still read, so the end of one direction must not close the socket.
    for await (const part of socket.iterator({ destroyOnReturn: false })) {
        rest = Buffer.concat([rest, part]);
        while (rest.length >= head + 4) {
            const size = head + rest.readUInt32BE(head);
            if (rest.length < size)
                break;
            const bytes = rest.subarray(0, size);
            rest = rest.subarray(size);
            const code = head === 0 ? bytes.readUInt32BE(4) : 0;
            if (ENCRYPTION.includes(code)) {
                socket.write('N');
                continue;
            }
            yield { type: head === 0 ? 'startup' : String.fromCharCode(bytes[0] ?? 0), bytes };
            head = 1;
        }
    }
}
function textOf({ statements }, { type, bytes }) {
    if (!/^[QPB]$/.test(type))
        return undefined;
    const end = bytes.indexOf(0, 5);
    const first = bytes.toString('utf8', 5, end);
    if (type === 'Q')
        return first;
    const second = bytes.toString('utf8', end + 1, bytes.indexOf(0, end + 1));
    if (type === 'P')
        statements.set(first, second);
    return type === 'P' ? second : statements.get(second);
}
function drop(link, reset = false) {
    link.state = 'dropped';
    link.server.destroy(); // a Unix socket cannot be reset
    if (reset)
        link.client.resetAndDestroy();
    else
        link.client.destroy();
}
async function strike({ plan, taken, struck, done, failed }, link, seen) {
    taken.add(seen.exchange);
    struck.add(seen.exchange);
    try {
        await plan.run?.(seen);
    }
    catch (error) {
        drop(link);
        return failed(error);
    }
    if (plan.action === 'blackhole')
        link.state = 'silent';
    else if (plan.action !== 'forward')
        drop(link, plan.action === 'reset');
    done();
}
export async function openProxy(target) {
    const links = new Set();
    const clients = new Set();
    const log = [];
    const finished = [];
    const traps = [];
    let gate = Promise.resolve();
    const open = (link) => (link.state === 'silent' ? never : gate);
    async function pass(link, side, message, to) {
        const { type, bytes } = message;
        const text = side === 'frontend' ? textOf(link, message) : undefined;
        const exchange = place(link, side, type, text);
        const id = exchange?.id ?? 0;
        const seen = { connection: link.id, exchange: id, direction: side, type, text, forwarded: false };
        keep(log, seen);
        if (exchange && side === 'backend' && type === 'Z')
            keep(finished, exchange);
        const struck = { before: [], after: [] };
        let lost = false;
        for (const trap of traps) {
            const { plan, taken } = trap;
            if (!exchange || trap.struck.has(id) || !matches(exchange, plan.match))
                continue;
            if (!taken.has(id) && taken.size >= (plan.times ?? 1))
                continue;
            const when = moment(plan.at, seen, exchange);
            if (when)
                struck[when].push(trap);
            if (plan.at !== 'after-sync' || plan.action === 'forward' || side === 'frontend')
                continue;
            if (!/[BQ]/.test(exchange.frontend))
                continue;
            // The client loses the whole answer. Another plan can still inject a fault into the same exchange.
            taken.add(id);
            lost = true;
        }
        for (const trap of struck.before)
            await strike(trap, link, seen);
        await open(link);
        if (lost || link.state === 'dropped')
            return;
        // The kernel has the bytes, or the receiving socket has closed. So a later cut does not lose them.
        await new Promise((resolve) => to.write(bytes, () => resolve()));
        seen.forwarded = true;
        for (const trap of struck.after)
            await strike(trap, link, seen);
    }
    async function pump(link, side, from, to) {
        try {
            for await (const message of messagesFrom(from, side === 'frontend')) {
                await open(link);
                await pass(link, side, message, to);
            }
            await open(link);
            to.end();
        }
        catch {
            await open(link);
            drop(link); // one end was reset or destroyed, so drop the other end too
        }
    }
    const listener = createServer({ noDelay: true, allowHalfOpen: true }, async (client) => {
        clients.add(client);
        client.once('close', () => clients.delete(client));
        client.on('error', () => undefined); // the loop that forwards this socket's messages notices its end
        await gate;
        const { host, port } = target;
        const server = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect({ host, port, noDelay: true });
        server.on('error', () => undefined);
        const state = { statements: new Map(), waiting: [], sending: undefined, state: 'open' };
        const link = { id: ++linkCount, client, server, ...state };
        links.add(link);
        await Promise.all([pump(link, 'frontend', client, server), pump(link, 'backend', server, client)]);
        links.delete(link);
    });
    await new Promise((resolve) => listener.listen(0, '127.0.0.1', resolve));
    const { port } = listener.address(); // the cast is sound, because the address of a TCP server is an AddressInfo
    return {
        host: '127.0.0.1',
        port,
        url: (database) => `postgres://postgres@127.0.0.1:${port}/${database}`,
        connections: () => clients.size,
        arm(plan) {
            const struck = new Set();
            const fired = new Promise((done, failed) => {
                traps.push({ plan, taken: new Set(), struck, done, failed });
            });
            fired.catch(() => undefined); // a test can ignore this promise, because it also notices the cut connection
            return { hits: () => struck.size, fired };
        },
        disarm: () => void traps.splice(0),
        blackhole() {
            let heal = () => undefined;
            gate = new Promise((resolve) => {
                heal = resolve;
            });
            return () => heal();
        },
        log: () => log,
        messagesOf(match) {
            const last = finished.findLast((exchange) => matches(exchange, match));
            if (!last)
                throw new Error(`no finished exchange matches ${match}`);
            return { frontend: last.frontend, backend: last.backend };
        },
        async close() {
            for (const client of clients)
                client.destroy();
            for (const link of links)
                drop(link);
            await new Promise((resolve) => listener.close(resolve));
        },
    };
}
//# sourceMappingURL=pgwire.js.map
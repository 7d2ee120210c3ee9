import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import { TLSSocket } from 'node:tls';
import { generator, pickFrom } from '../random.js';
/**
 * What the server sends in each stage. `ssl`: the answer to the request for TLS. `early`: before the client's first
 * message, inside TLS if there is TLS. `row`: the columns. `rows`: the data.
 */
export const STAGES = ['ssl', 'early', 'auth', 'first', 'final', 'settings', 'row', 'rows', 'simple', 'idle'];
export const PASSWORD = 'correct-horse';
const int32 = (n) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(n >>> 0);
    return bytes;
};
const int16 = (n) => int32(n).subarray(2);
const text = (value) => Buffer.from(`${value}\0`);
export const message = (type, ...parts) => {
    const body = Buffer.concat(parts.map((part) => Buffer.from(part)));
    return Buffer.concat([Buffer.from(type), int32(body.length + 4), body]);
};
const READY = message('Z', 'I');
export const columns = (...names) => message('T', int16(names.length), ...names.flatMap((name) => [text(name), int32(0), int16(0), int32(25), int16(0xffff), int32(0), int16(0)]));
export const row = (...values) => message('D', int16(values.length), ...values.flatMap((value) => (value === null ? [int32(-1)] : [int32(Buffer.byteLength(value)), value])));
const complete = (words) => message('C', text(words));
const ROWS = [row('1', 'one'), row('2', null), row('3', 'drei')];
export const noticeOf = (type, code) => message(type, 'S', text('ERROR'), 'V', text('ERROR'), 'C', text(code), 'M', text('planted'), Buffer.alloc(1));
const hmac = (key, data) => createHmac('sha256', key).update(data).digest();
/** What an honest server sends in each stage. */
class Honest {
    #auth;
    #first = '';
    #bare = '';
    #salted = Buffer.alloc(0);
    constructor(auth) {
        this.#auth = auth;
    }
    auth() {
        if (this.#auth === 'trust')
            return [message('R', int32(0)), ...this.settings()];
        if (this.#auth === 'md5')
            return [message('R', int32(5), Buffer.from('salt'))];
        if (this.#auth === 'password')
            return [message('R', int32(3))];
        return [message('R', int32(10), text('SCRAM-SHA-256'), Buffer.alloc(1))];
    }
    /** The answer to a message with a password or of SCRAM. The last answer also has the settings. */
    answer(password) {
        const said = password.toString('latin1');
        const [, bare = ''] = /n,,(n=[^,]*,r=[^,]+)$/.exec(said) ?? [];
        if (bare !== '') {
            const salt = randomBytes(16);
            this.#bare = bare;
            this.#salted = pbkdf2Sync(PASSWORD, salt, 4_096, 32, 'sha256');
            this.#first = `r=${bare.slice(bare.indexOf('r=') + 2)}abcdef,s=${salt.toString('base64')},i=4096`;
            return { stage: 'first', messages: [message('R', int32(11), this.#first)] };
        }
        const settings = [message('R', int32(0)), ...this.settings()];
        if (this.#auth !== 'scram')
            return { stage: 'final', messages: settings };
        const [, final = ''] = /(c=biws,r=[^,]+),p=/.exec(said) ?? [];
        const signature = hmac(hmac(this.#salted, 'Server Key'), `${this.#bare},${this.#first},${final}`);
        return { stage: 'final', messages: [message('R', int32(12), `v=${signature.toString('base64')}`), ...settings] };
    }
    settings() {
        const status = Object.entries({ server_version: '18.4', client_encoding: 'UTF8', TimeZone: 'UTC' });
        return [
            ...status.map(([name, value]) => message('S', text(name), text(value))),
            message('K', int32(7), int32(9)),
            READY,
        ];
    }
}
const described = ({ parameters, columns: names } = { parameters: 1, columns: ['a', 'b'] }) => [
    message('1'),
    message('t', int16(parameters), ...Array.from({ length: parameters }, () => int32(23))),
    columns(...names),
];
const executed = () => [message('2'), ...ROWS, complete('SELECT 3'), READY];
const simple = () => [columns('a', 'b'), ...ROWS, complete('SELECT 3'), READY];
/** With `tls`, the server accepts the request for TLS, and all its cases use TLS. */
export async function hostileServer(caseOf, tls) {
    const sockets = new Set();
    const seen = new Map();
    const serve = async (socket) => {
        let one;
        let name = '';
        let honest = new Honest('trust');
        let done = false;
        const random = () => generator(Number.parseInt(createHash('md5').update(name).digest('hex'), 16));
        const send = async (stage, messages) => {
            if (!one || done || stage !== one.stage) {
                socket.write(Buffer.concat(messages));
                return;
            }
            done = true;
            await deliver(socket, one.change(messages, random()));
        };
        // A case is known only after the client's first message. So all cases of a server begin alike.
        one = caseOf('ssl');
        if (!tls || socket instanceof TLSSocket)
            await send('early', []);
        for await (const part of clientMessages(socket)) {
            if (part.type === 'ssl') {
                await send('ssl', [Buffer.from(tls ? 'S' : 'N')]);
                if (tls && !done) {
                    const secure = new TLSSocket(socket, { isServer: true, ...tls });
                    secure.on('error', () => undefined);
                    return serve(secure);
                }
            }
            else if (part.type === 'startup') {
                name = /\0database\0([^\0]+)/.exec(part.bytes.toString('latin1'))?.[1] ?? '';
                seen.set(name, (seen.get(name) ?? 0) + 1);
                one = caseOf(name);
                honest = new Honest(one.auth);
                const messages = honest.auth();
                await send(one.auth === 'trust' && one.stage === 'settings' ? 'settings' : 'auth', messages);
            }
            else if (part.type === 'p') {
                const { stage, messages } = honest.answer(part.bytes.subarray(5));
                await send(stage === 'final' && one?.stage === 'settings' ? 'settings' : stage, messages);
            }
            else if (part.type === 'H')
                await send('row', described(one?.statement));
            else if (part.type === 'S')
                await send('rows', executed());
            else if (part.type === 'Q')
                await send('simple', simple());
            else if (part.type === 'X')
                socket.end();
            if ((part.type === 'S' || part.type === 'Q') && one?.stage === 'idle')
                await send('idle', []);
        }
    };
    const listener = createServer({ noDelay: true }, (socket) => {
        sockets.add(socket);
        socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
        serve(socket).catch(() => socket.destroy());
    });
    await new Promise((resolve) => listener.listen(0, '127.0.0.1', resolve));
    const { port } = listener.address(); // the cast is sound, because the address of a TCP server is an AddressInfo
    return {
        port,
        connections: (of) => seen.get(of) ?? 0,
        close: async () => {
            for (const socket of sockets)
                socket.destroy();
            await new Promise((resolve) => listener.close(resolve));
        },
    };
}
async function* clientMessages(socket) {
    let rest = Buffer.alloc(0);
    let head = 0;
    for await (const part of socket.iterator({ destroyOnReturn: false })) {
        rest = Buffer.concat([rest, part]);
        while (rest.length >= head + 4) {
            const size = head + rest.readUInt32BE(head);
            if (rest.length < size)
                break;
            const bytes = rest.subarray(0, size);
            rest = rest.subarray(size);
            if (head === 0 && bytes.readUInt32BE(4) === 80_877_103)
                yield { type: 'ssl', bytes };
            else {
                yield { type: head === 0 ? 'startup' : String.fromCharCode(bytes[0] ?? 0), bytes };
                head = 1;
            }
        }
    }
}
const written = (socket, bytes) => new Promise((resolve) => {
    if (socket.destroyed)
        resolve();
    else
        socket.write(bytes, () => resolve());
});
async function deliver(socket, { bytes, pace, endless = false, after = 'go on' }) {
    do {
        if (pace === undefined)
            await written(socket, bytes);
        else
            for (let at = 0; at < bytes.length && !socket.destroyed; at++) {
                await written(socket, bytes.subarray(at, at + 1));
                if (pace > 0)
                    await new Promise((resolve) => setTimeout(resolve, pace));
            }
    } while (endless && !socket.destroyed);
    if (after === 'close')
        socket.end();
    else if (after === 'reset')
        socket.resetAndDestroy();
    else if (after === 'silence')
        await new Promise(() => undefined);
}
const TYPES = 'RSKANEZCtTD12nIsGHWdcVv3X';
/** Changes at random what the honest server would send. */
export function mutate(honest, random) {
    const list = [...honest];
    const at = (length) => Math.floor(random() * length);
    const bytes = Buffer.concat(list);
    const changed = (change) => {
        const copy = Buffer.from(bytes);
        if (copy.length > 0)
            change(copy);
        return copy;
    };
    const any = () => message(pickFrom([...TYPES], random), randomBytes(at(40)));
    const after = pickFrom(['close', 'reset', 'go on', 'go on', 'go on'], random);
    const [one = any()] = list.slice(at(list.length));
    const choices = [
        () => ({ bytes: bytes.subarray(0, at(bytes.length + 1)), after: pickFrom(['close', 'reset'], random) }),
        () => ({ bytes: bytes.subarray(0, at(bytes.length + 1)), after: random() < 0.1 ? 'silence' : 'close' }),
        () => ({ bytes: changed((copy) => copy.writeUInt8(at(256), at(copy.length))), after }),
        () => ({
            bytes: changed((copy) => {
                for (let i = at(8); i >= 0; i--)
                    copy.writeUInt8(at(256), at(copy.length));
            }),
            after,
        }),
        // The length of one message is wrong.
        () => {
            const false_ = Buffer.from(one);
            if (false_.length >= 5)
                false_.writeUInt32BE(pickFrom([0, 1, 3, 5, 0x7fffffff, 0xffffffff, at(300)], random), 1);
            return { bytes: Buffer.concat(list.map((kept) => (kept === one ? false_ : kept))), after };
        },
        () => ({ bytes: Buffer.concat(list.filter((kept) => kept !== one)), after: random() < 0.1 ? 'silence' : 'close' }),
        () => ({ bytes: Buffer.concat([...list, one, ...list]), after }),
        () => ({ bytes: Buffer.concat(list.toReversed()), after }),
        () => ({
            bytes: Buffer.concat([...list.slice(0, at(list.length + 1)), any(), ...list.slice(at(list.length + 1))]),
            after,
        }),
        () => ({ bytes: Buffer.concat([any(), ...list]), after }),
        () => ({ bytes: randomBytes(1 + at(2_000)), after }),
        () => ({ bytes, pace: 0 }),
        ...(random() < 0.2 ? [() => ({ bytes, pace: 40 })] : []),
        ...(random() < 0.3 ? [() => ({ bytes: Buffer.concat([one, one, one]), endless: true })] : []),
        ...(random() < 0.3 ? [() => ({ bytes: any(), endless: true })] : []),
        () => ({
            bytes: Buffer.concat([
                noticeOf(random() < 0.5 ? 'E' : 'N', pickFrom(['28P01', '57P03', '53300', 'x'], random)),
                ...list,
            ]),
            after,
        }),
    ];
    return pickFrom(choices, random)();
}
//# sourceMappingURL=postgres-server.js.map
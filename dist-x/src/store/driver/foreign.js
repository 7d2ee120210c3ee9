import { once } from 'node:events';
import { connect as connectTcp, isIP } from 'node:net';
import { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { KEEP_ALIVE } from './attempts.js';
import { ForeignServerRefused } from './errors.js';
import { isLocal, modeOf } from './tls.js';
import { ServerMessages } from './wire.js';
const NO_TLS = 'The database server of the helpdesk offers no TLS. Turn TLS on there, or add the source again with --insecure.';
const UNSAID = 'The address of the helpdesk’s database has no sslmode, and its server is not on this machine. Add the source again with sslmode=verify-full in the address, or with --insecure.';
/** How long (ms) a server may take to close the connection after the driver has sent Terminate. */
const CLOSING = 2_000;
/** How long (ms) messages are processed before other work of this process gets a turn. */
const SLICE = 10;
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);
/**
 * If a server closes a starting connection without an error, the driver reconnects for ever. So each end is an error.
 */
const closed = () => Object.assign(new Error('the server closed the connection'), { code: 'CONNECTION_CLOSED' });
/** Asks a server for TLS, and returns the encrypted connection. */
async function encrypted(socket, host, mode) {
    socket.write(SSL_REQUEST);
    const [answer] = await once(socket, 'data');
    socket.pause();
    // Bytes after the answer can come from an attacker between the two sides, who wants them to count as encrypted.
    if (answer?.length !== 1)
        throw new ForeignServerRefused(NO_TLS);
    if (answer[0] !== 'S'.charCodeAt(0)) {
        if (mode === 'either' && answer[0] === 'N'.charCodeAt(0))
            return socket;
        throw new ForeignServerRefused(NO_TLS);
    }
    const secure = connectTls({
        socket,
        host,
        ...(isIP(host) === 0 && { servername: host }),
        rejectUnauthorized: mode === 'verified',
    });
    await once(secure, 'secureConnect');
    return secure;
}
/**
 * A connection to a foreign server, for the driver's option `socket`. The driver reads only messages that wire.ts has
 * checked. The driver would put its own TLS socket behind this check, so TLS is added here.
 */
class ForeignConnection extends Duplex {
    #raw;
    #messages;
    #waiting;
    #worked = 0;
    #failed = false;
    constructor(leads, address) {
        super({ allowHalfOpen: false });
        this.#open(leads, modeOf(address)).catch((error) => this.#fail(error));
    }
    /** The driver sends Terminate only on a connection that is open. */
    get readyState() {
        return this.destroyed ? 'closed' : 'open';
    }
    async #open({ host: [host = ''], port: [port = 5432], path }, mode) {
        const local = path !== false || isLocal(host);
        if (mode === 'unsaid' && !local)
            throw new ForeignServerRefused(UNSAID);
        const socket = path === false ? connectTcp({ host, port, noDelay: true }) : connectTcp(path);
        this.#raw = socket;
        this.#watch(socket);
        await once(socket, 'connect');
        const plain = path !== false || mode === 'unsaid' || mode === 'none';
        this.#use(plain ? socket : await encrypted(socket, host, mode), local || mode === 'verified');
    }
    #use(socket, cleartext) {
        const plain = this.#raw;
        this.#raw = socket;
        if (this.destroyed) {
            socket.destroy();
            return;
        }
        const messages = new ServerMessages({ cleartext });
        this.#messages = messages;
        socket.setKeepAlive(true, KEEP_ALIVE);
        if (socket !== plain)
            this.#watch(socket);
        socket.on('data', (chunk) => {
            if (this.#failed)
                return;
            const began = performance.now();
            try {
                const checked = messages.take(chunk);
                if (checked.length > 0)
                    this.push(checked);
            }
            catch (error) {
                this.#fail(error);
            }
            this.#worked += performance.now() - began;
            if (this.#worked > SLICE)
                this.#rest(socket);
        });
        socket.resume();
        this.#waiting?.();
    }
    #watch(socket) {
        for (const event of ['end', 'close', 'error'])
            socket.on(event, (error) => this.#fail(error instanceof Error ? error : closed()));
    }
    #rest(socket) {
        this.#worked = 0;
        socket.pause();
        setImmediate(() => socket.resume());
    }
    /** Reads nothing more, and ends the connection. */
    #fail(error) {
        this.#failed = true;
        this.destroy(error instanceof Error ? error : closed());
    }
    _write(chunk, _, done) {
        const write = () => {
            this.#messages?.sent(chunk);
            this.#raw?.write(chunk, done);
        };
        if (this.#messages)
            write();
        else
            this.#waiting = write;
    }
    _read() {
        // Nothing to do: the driver always reads. `#rest` lets other work run.
    }
    /** Destroys the connection after CLOSING, if the server does not close it. */
    end(last) {
        if (!this.#messages)
            return this.destroy();
        setTimeout(() => this.destroy(), CLOSING).unref();
        return super.end(last);
    }
    _final(done) {
        this.#raw?.end(done);
    }
    /**
     * Reports the end one turn of the event loop later. Several messages can come in one turn, and the driver answers an
     * earlier one in a microtask. Without the delay, it would write to a destroyed socket, and nobody could catch the
     * error. The driver itself can also end the connection in such a turn.
     */
    _destroy(error, done) {
        this.#raw?.destroy();
        setImmediate(() => done(error));
    }
}
/** The driver's options for a foreign server. */
export const foreign = (address) => ({
    ssl: false,
    socket: (leads) => new ForeignConnection(leads, address),
});
//# sourceMappingURL=foreign.js.map
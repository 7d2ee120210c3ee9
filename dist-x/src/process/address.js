import { createSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Refused } from '../cli/output.js';
/**
 * How long (ms) the check waits for a connection to the port. After that, only `listen` finds a process on the port.
 */
const TAKEN = 1_000;
/**
 * Throws if this process cannot use the port. The check does not listen on the port. Otherwise a client of a restarting
 * replica could connect to the check, and would lose the connection when the check ends (F-18).
 */
export async function checkAddress({ host, port }) {
    try {
        if (port === 0)
            await chosenPort(host);
        else {
            const own = await lookup(host);
            await mayBind(own.address, own.family, port);
            if (await isTaken(own.address, port))
                throw Object.assign(new Error('taken'), { code: 'EADDRINUSE' });
        }
    }
    catch (error) {
        throw refusedPort(error, host, port) ?? error;
    }
}
/** Returns the port to listen on and the base URL. With PORT=0, the system chooses a free port for both. */
export async function address({ host, port, baseUrl }) {
    if (port !== 0)
        return { port, baseUrl };
    const chosen = await chosenPort(host);
    return { port: chosen, baseUrl: baseUrl.replace(/:0$/, `:${chosen}`) };
}
export function refusedPort(error, host, port) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EADDRINUSE')
        return new Refused(`Port ${port} on ${host} is in use. Choose another with PORT.`);
    if (code === 'EACCES')
        return new Refused(`This user may not open port ${port}. Choose another with PORT.`);
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN' || code === 'EAFNOSUPPORT')
        return new Refused(`HOST ${host} is not an address of this machine. Choose one that is, or 0.0.0.0 for all of them.`);
    return undefined;
}
async function chosenPort(host) {
    const probe = createServer();
    probe.listen(0, host);
    await once(probe, 'listening');
    const free = probe.address();
    await new Promise((resolve) => probe.close(resolve));
    return typeof free === 'object' && free ? free.port : 0;
}
/** Errors of the UDP socket that also hold for TCP. The check ignores other errors, because `listen` reports them. */
const FOREIGN = ['EADDRNOTAVAIL', 'EAFNOSUPPORT'];
const PRIVILEGED = 1_024;
/**
 * Rejects if the address is not of this machine, or if the port is forbidden to this user. Uses a UDP socket, to which
 * no TCP client can connect by mistake.
 */
async function mayBind(host, family, port) {
    const probe = createSocket(family === 6 ? 'udp6' : 'udp4');
    try {
        probe.bind({ port, address: host, exclusive: true });
        await once(probe, 'listening');
    }
    catch (error) {
        const code = error instanceof Error && 'code' in error ? error.code : undefined;
        if (FOREIGN.includes(code) || (code === 'EACCES' && port < PRIVILEGED))
            throw error;
    }
    finally {
        probe.close();
    }
}
/** True if a process accepts connections on this port. For `0.0.0.0` and `::`, checks only the loopback address. */
async function isTaken(host, port) {
    const probe = connect({ host, port });
    try {
        await Promise.race([once(probe, 'connect'), pause(TAKEN, undefined, { ref: false })]);
        // The system can give this connection the checked port as its local port. It then connects to itself.
        return !probe.connecting && probe.localPort !== port;
    }
    catch {
        return false;
    }
    finally {
        probe.destroy();
    }
}
//# sourceMappingURL=address.js.map
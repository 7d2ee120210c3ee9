import { Agent as PlainAgent } from 'node:http';
import { Agent as SecureAgent } from 'node:https';
/** The most bytes that the gateway reads from a collector on one connection. An answer has a few hundred bytes. */
const BYTES_MAX = 65_536;
/**
 * Returns the agent of the exporter of traces. The SDK limits only idle time, so a slow collector could hold a
 * connection for each export. Here a connection serves one export and ends after `lasts` milliseconds or 64 KiB.
 */
export const collectorAgent = (lasts) => (protocol) => {
    const agent = protocol === 'https:' ? new SecureAgent() : new PlainAgent();
    const connect = agent.createConnection.bind(agent);
    agent.createConnection = (options, done) => bounded(connect(options, done), lasts);
    return agent;
};
function bounded(socket, lasts) {
    if (!socket)
        return socket;
    const timer = setTimeout(() => socket.destroy(), lasts).unref();
    socket.once('close', () => clearTimeout(timer));
    let read = 0;
    socket.on('data', (part) => {
        read += part.length;
        if (read > BYTES_MAX)
            socket.destroy();
    });
    return socket;
}
//# sourceMappingURL=collector-agent.js.map
import { loadDeclarations } from '../gateway/load.js';
import { endStrangeHosts } from '../store/sign-in/upkeep.js';
import { address } from './address.js';
import { startBackground } from './background.js';
import { openServedGateway } from './open-gateway.js';
import { openServer } from './open-server.js';
import { aborted } from './workers.js';
/** Loads the surfaces and the declarations. The returned function serves in this process until `stop` aborts. */
export async function loadServing() {
    const declarations = await loadDeclarations();
    return (serving) => serveHere(serving, declarations);
}
async function serveHere(serving, declarations) {
    const { config, store, stop, ready } = serving;
    const at = await address(config);
    const gateway = await openServedGateway(serving, at.baseUrl, declarations);
    const clientHosts = config.clientsByUrl.hosts.includes('*') ? undefined : config.clientsByUrl.hosts;
    // Before the first call, end the access of clients whose host is no longer on the list.
    if (clientHosts)
        await endStrangeHosts(store.db, clientHosts);
    const { server, loop } = await openServer(serving, gateway, at);
    const { corridor, trail, tasks, realtime, remote } = gateway;
    const background = startBackground({
        ...serving,
        registry: corridor.registry,
        clientHosts,
        baseUrl: at.baseUrl,
        remote,
    });
    ready(at.baseUrl);
    await aborted(stop);
    await server.leave();
    // Stop these together: the server stays open while a call waits for a task, or while a socket is open.
    await Promise.all([server.close(), tasks.stop(), realtime.stop(), background.leave()]);
    // The last calls and writes have ended, so their records are the last ones.
    await Promise.all([background.stop(), trail.stop()]);
    await remote.close();
    loop.stop();
}
//# sourceMappingURL=serve-here.js.map
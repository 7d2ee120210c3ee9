import { openOAuth } from '../auth/oauth/services.js';
import { packageVersion } from '../config/package.js';
import { sql } from '../core/sql.js';
import { joinGroup } from '../observe/group.js';
import { watchLoop } from '../observe/loop.js';
import { METRICS_TYPE, openMetrics } from '../observe/metrics.js';
import { sharing } from '../observe/sharing.js';
import { openStoreGauges } from '../observe/store-gauges.js';
import { documentFetcher } from '../outbound/documents.js';
import { userAgent } from '../outbound/sender.js';
import { consoleSurface } from '../surfaces/console/console.js';
import { publicApp } from '../surfaces/http/app.js';
import { openAllowed, openClientAddress } from '../surfaces/http/client-address.js';
import { loadedAt } from '../surfaces/http/loaded.js';
import { startServer } from '../surfaces/http/server.js';
import { mcpSurface } from '../surfaces/mcp/mcp.js';
import { oauthSurface } from '../surfaces/oauth/oauth.js';
import { realtimeSurface } from '../surfaces/realtime/realtime.js';
import { recordSurface } from '../surfaces/record/record.js';
import { restSurface } from '../surfaces/rest/rest.js';
import { refusedPort } from './address.js';
import { consoleTools } from './console-tools.js';
import { uncollected } from './log.js';
import { isWorker } from './workers.js';
/** Opens the surfaces and the HTTP server. `loop` watches the event loop from then on. */
export async function openServer({ config, keys, store, log, tracing, stop }, { corridor, trail, guides, resources, prompts, skills, skillFiles, tasks, realtime, events, remote }, { port, baseUrl }) {
    const { registry } = corridor;
    let running;
    let loop;
    const metrics = openMetrics({
        version: packageVersion,
        pools: store.pools,
        sockets: () => realtime.size,
        streams: () => tasks.followed,
        held: () => running?.held() ?? { connections: 0, requests: 0, waiting: 0, unread: 0 },
        replica: store.replica?.current,
        quotaRefusals: () => corridor.quotaRefusals,
        audit: trail,
        loopHeld: () => loop?.seconds ?? 0,
    });
    // The number 0 means that a worker keeps no answer of the supervisor. The supervisor keeps the metrics of all workers
    // for one second, so that every worker gives the same answer during this second.
    const ofProcesses = isWorker() ? sharing(joinGroup(metrics, uncollected(log)), 0) : sharing(metrics.text);
    const ofStore = openStoreGauges(store.db);
    // What only some processes need, or only their later requests, is loaded when it is first needed
    // (docs/decisions/processes.md).
    const provider = config.identity && (await import('../auth/identity-provider.js')).openIdentityProvider(config.identity);
    const answering = answers(store);
    const source = openClientAddress(config.trustedProxies);
    const published = publicApp({
        baseUrl,
        openapi: async () => (await import('../surfaces/openapi/openapi.js')).openapi(registry, baseUrl),
        llms: async () => (await import('../surfaces/llms/llms.js')).llms({ registry, guides, baseUrl, resources, prompts, skills }),
        agentCard: async () => {
            const { signedCard, cardKeys } = await loadCard();
            return signedCard({ skills, baseUrl }, cardKeys(keys));
        },
        jwks: async () => {
            const { publicKeys, cardKeys } = await loadCard();
            return publicKeys(cardKeys(keys));
        },
        docs: async () => (await import('../surfaces/docs/docs.js')).docsPages({
            baseUrl,
            registry,
            skills,
            guides,
            version: packageVersion,
        }),
        metrics: {
            type: METRICS_TYPE,
            permitted: openAllowed(config.metricsAllowed, config.trustedProxies),
            text: async () => (await Promise.all([ofProcesses(), ofStore()])).join(''),
        },
        ready: async () => !stop.aborted && (await answering()) && !stop.aborted,
    });
    running = await startServer({
        host: config.host,
        port,
        baseUrl,
        tls: config.tls,
        log,
        handlers: [
            mcpSurface(corridor, { baseUrl, version: packageVersion, resources, prompts, skillFiles, events }),
            loadedAt('/a2a', async () => (await import('../surfaces/a2a/a2a.js')).a2aSurface(corridor, { baseUrl, tasks, skills })),
            restSurface(corridor, baseUrl),
            oauthSurface(openOAuth({
                baseUrl,
                db: store.db,
                skillScopes: skills.scopes,
                byUrl: {
                    hosts: config.clientsByUrl.hosts,
                    longest: config.clientsByUrl.longest,
                    fetch: documentFetcher({ allowed: config.clientsByUrl.allowed, userAgent: userAgent(baseUrl) }),
                },
            }), source, provider),
            recordSurface({ baseUrl, db: store.db }, source, provider),
            consoleSurface({
                baseUrl,
                db: store.db,
                slow: store.slow,
                registry,
                tools: { ...consoleTools({ config, keys }, baseUrl), remote },
                books: trail,
            }, source, provider),
        ],
        upgrade: realtimeSurface(realtime),
        books: trail,
        observer: { ended: metrics.ended, trace: tracing?.trace },
        trustedProxies: config.trustedProxies,
        otherwise: published,
    }).catch((error) => {
        throw refusedPort(error, config.host, config.port) ?? error;
    });
    loop = watchLoop((milliseconds) => log.warn({ milliseconds }, 'the event loop was held'));
    return { server: running, loop };
}
const loadCard = async () => ({
    ...(await import('../auth/card-keys.js')),
    ...(await import('../surfaces/a2a/signed-card.js')),
});
/**
 * Returns a function that checks whether the store answers. /readyz is public, so the store is asked at most four times
 * a second.
 */
const answers = ({ db }) => sharing(() => db.query(sql `SELECT 1`).then(() => true, () => false), 250);
//# sourceMappingURL=open-server.js.map
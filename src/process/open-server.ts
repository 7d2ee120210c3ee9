import { openOAuth } from '../auth/oauth/services.ts';
import { packageVersion } from '../config/package.ts';
import { sql } from '../core/sql.ts';
import { once } from '../flow/once.ts';
import { joinGroup } from '../observe/group.ts';
import { type LoopWatch, watchLoop } from '../observe/loop.ts';
import { METRICS_TYPE, openMetrics } from '../observe/metrics.ts';
import { sharing } from '../observe/sharing.ts';
import { openStoreGauges } from '../observe/store-gauges.ts';
import { documentFetcher } from '../outbound/documents.ts';
import { userAgent } from '../outbound/sender.ts';
import { registeredOrigins } from '../store/events/realtime-sessions.ts';
import type { Store } from '../store/open/open.ts';
import { consoleSurface } from '../surfaces/console/console.ts';
import { publicApp } from '../surfaces/http/app.ts';
import { openAllowed, openClientAddress } from '../surfaces/http/client-address.ts';
import { ANY_HOST } from '../surfaces/http/document.ts';
import { loadedAt } from '../surfaces/http/loaded.ts';
import type { RequestHandler } from '../surfaces/http/records.ts';
import { type RunningServer, type ServedSite, startServer } from '../surfaces/http/server.ts';
import { mcpSurface } from '../surfaces/mcp/mcp.ts';
import { oauthSurface } from '../surfaces/oauth/oauth.ts';
import { realtimeSurface } from '../surfaces/realtime/realtime.ts';
import { recordSurface } from '../surfaces/record/record.ts';
import { restSurface } from '../surfaces/rest/rest.ts';
import { refusedPort } from './address.ts';
import { consoleTools } from './console-tools.ts';
import { openHosts } from './hosts.ts';
import { uncollected } from './log.ts';
import type { ServedGateway } from './open-gateway.ts';
import type { ServeContext } from './serve.ts';
import { isWorker } from './workers.ts';

/** Opens the surfaces and the HTTP server. `loop` watches the event loop from then on. */
export async function openServer(
  { config, keys, store, log, tracing, stop }: ServeContext,
  { corridor, trail, guides, resources, prompts, skills, skillFiles, tasks, realtime, events, remote }: ServedGateway,
  { port, baseUrl }: { readonly port: number; readonly baseUrl: string },
): Promise<{ readonly server: RunningServer; readonly loop: LoopWatch }> {
  const { registry } = corridor;
  let running: RunningServer | undefined;
  let loop: LoopWatch | undefined;
  const metrics = openMetrics({
    version: packageVersion,
    pools: store.pools,
    sockets: () => realtime.size,
    streams: () => tasks.followed,
    held: () => running?.held() ?? { connections: 0, requests: 0, waiting: 0, unread: 0, refused: 0, untrusted: 0 },
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
  const provider =
    config.identity && (await import('../auth/identity-provider.ts')).openIdentityProvider(config.identity);
  const answering = answers(store);
  const source = openClientAddress(config.trustedProxies);
  // All hosts share what limits hostile clients.
  const oauth = openOAuth({
    baseUrl,
    db: store.db,
    skillScopes: skills.scopes,
    byUrl: {
      hosts: config.clientsByUrl.hosts,
      longest: config.clientsByUrl.longest,
      fetch: documentFetcher({ allowed: config.clientsByUrl.allowed, userAgent: userAgent(baseUrl) }),
    },
  });
  const origins = lastKnown(sharing(() => registeredOrigins(store.db)));
  const streams = once(async () => new (await import('../surfaces/a2a/streams.ts')).Streams(corridor));
  const handlersAt = (baseUrl: string): readonly RequestHandler[] => [
    mcpSurface(corridor, { baseUrl, version: packageVersion, resources, prompts, skillFiles, events }),
    loadedAt('/a2a', async () =>
      (await import('../surfaces/a2a/a2a.ts')).a2aSurface(corridor, {
        baseUrl,
        tasks,
        skills,
        streams: await streams(),
      }),
    ),
    restSurface(corridor, baseUrl, origins),
    oauthSurface({ ...oauth, baseUrl }, source, provider),
    recordSurface({ baseUrl, db: store.db }, source, provider),
    consoleSurface(
      {
        baseUrl,
        db: store.db,
        slow: store.slow,
        registry,
        tools: { ...consoleTools({ config, keys }, baseUrl), remote },
        books: trail,
      },
      source,
      provider,
    ),
  ];
  const appAt = (baseUrl: string): ServedSite['otherwise'] =>
    publicApp({
      baseUrl,
      openapi: async () => (await import('../surfaces/openapi/openapi.ts')).openapi(registry, baseUrl),
      llms: async () =>
        (await import('../surfaces/llms/llms.ts')).llms({ registry, guides, baseUrl, resources, prompts, skills }),
      agentCard: async (baseUrl) => {
        const { signedCard, cardKeys } = await loadCard();
        return signedCard({ skills, baseUrl }, cardKeys(keys));
      },
      jwks: async () => {
        const { publicKeys, cardKeys } = await loadCard();
        return publicKeys(cardKeys(keys));
      },
      docs: async () =>
        (await import('../surfaces/docs/docs.ts')).docsPages({
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
  const everywhere = once(() => appAt(baseUrl.replace(new URL(baseUrl).hostname, ANY_HOST)));
  running = await startServer({
    host: config.host,
    port,
    baseUrl,
    tls: config.tls,
    log,
    handlers: handlersAt(baseUrl),
    otherwise: appAt(baseUrl),
    siteOf: openHosts({
      db: store.upkeep,
      baseUrl,
      siteAt: (at) => ({ handlers: handlersAt(at), otherwise: everywhere() }),
      stop,
      onError: (error) =>
        log.warn({ err: error }, 'the hosts of organizations could not be read; they are read again soon'),
    }),
    upgrade: realtimeSurface(realtime),
    books: trail,
    observer: { ended: metrics.ended, trace: tracing?.trace },
    trustedProxies: config.trustedProxies,
  }).catch((error: unknown) => {
    throw refusedPort(error, config.host, config.port) ?? error;
  });
  loop = watchLoop((milliseconds) => log.warn({ milliseconds }, 'the event loop was held'));
  return { server: running, loop };
}

/** While the store does not answer, the origins that it named last. The call itself then says that the store is away. */
function lastKnown(read: () => Promise<ReadonlySet<string>>): () => Promise<ReadonlySet<string>> {
  let known: ReadonlySet<string> = new Set();
  return () =>
    read().then(
      (origins) => (known = origins),
      () => known,
    );
}

const loadCard = async () => ({
  ...(await import('../auth/card-keys.ts')),
  ...(await import('../surfaces/a2a/signed-card.ts')),
});

/**
 * Returns a function that checks whether the store answers. /readyz is public, so the store is asked at most four times
 * a second.
 */
const answers = ({ db }: Store): (() => Promise<boolean>) =>
  sharing(
    () =>
      db.query(sql`SELECT 1`).then(
        () => true,
        () => false,
      ),
    250,
  );

import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import type { Logger } from 'pino';
import { openIdentityProvider } from '../auth/identity-provider.ts';
import type { Keyring } from '../auth/keys.ts';
import { openOAuth } from '../auth/oauth/services.ts';
import type { CommandContext } from '../cli/context.ts';
import { isEmpty, loadDemo } from '../cli/demo.ts';
import type { Config } from '../config/config.ts';
import { openKeys } from '../config/keys.ts';
import { packageVersion } from '../config/package.ts';
import { sql } from '../core/sql.ts';
import { documentFetcher } from '../events/documents.ts';
import { openRealtime } from '../events/realtime/realtime.ts';
import { userAgent } from '../events/webhooks/sender.ts';
import { readGuides } from '../gateway/guides.ts';
import { loadPrompts, loadResources, loadSkills } from '../gateway/load.ts';
import { openGateway } from '../gateway/open.ts';
import { streaming } from '../gateway/streaming.ts';
import { joinGroup, superviseGroup } from '../observe/group.ts';
import { type LoopWatch, watchLoop } from '../observe/loop.ts';
import { METRICS_TYPE, openMetrics } from '../observe/metrics.ts';
import { tellRunCall } from '../observe/run-calls.ts';
import { sharing } from '../observe/sharing.ts';
import { openStoreGauges } from '../observe/store-gauges.ts';
import type { Tracing } from '../observe/tracing.ts';
import { openWriteBack } from '../sources/write-back.ts';
import { openLedgerKey } from '../store/calls/ledger.ts';
import { openStore, type Store } from '../store/open/open.ts';
import { endStrangeHosts } from '../store/sign-in/hosted.ts';
import { a2aSurface } from '../surfaces/a2a/a2a.ts';
import { agentCard } from '../surfaces/a2a/card.ts';
import { docsPages } from '../surfaces/docs/docs.ts';
import { publicApp } from '../surfaces/http/app.ts';
import { type RunningServer, startServer } from '../surfaces/http/server.ts';
import { openAllowed, openSource } from '../surfaces/http/source.ts';
import { llms } from '../surfaces/llms/llms.ts';
import { mcpSurface } from '../surfaces/mcp/mcp.ts';
import { oauthSurface } from '../surfaces/oauth/oauth.ts';
import { openapi } from '../surfaces/openapi/openapi.ts';
import { realtimeSurface } from '../surfaces/realtime/realtime.ts';
import { restSurface } from '../surfaces/rest/rest.ts';
import { openTasks } from '../tasks/tasks.ts';
import { address, checkAddress, refusedPort } from './address.ts';
import { startBackground } from './background.ts';
import { buildInBackground } from './builds.ts';
import { openLog } from './log.ts';
import { endInOrder, handleUncaught } from './uncaught.ts';
import { addresses, type DemoAccess, welcome } from './welcome.ts';
import { aborted, isWorker, leave, stopSignal, superviseWorkers } from './workers.ts';

/** The gateway checks one answer in 256 against its schema. Tests check every answer. */
const CHECK_EVERY = 256;

/**
 * Limits how much the heap's old generation grows between two garbage collections, in per cent of the live heap. V8's
 * default is about twice as high and returns little memory. In two minutes of load, resident memory varies by 20 MB
 * with the default, and by 6 MB with this limit.
 */
const HEAP_GROWTH = '--heap-growing-percent=30';

export async function serve(context: CommandContext, options: { demo: boolean; workers: number }): Promise<void> {
  if (!process.execArgv.some((flag) => flag.startsWith('--heap-growing-percent'))) setFlagsFromString(HEAP_GROWTH);
  const { config, out } = context;
  const worker = isWorker();
  const { log, flush } = openLog({ level: config.logLevel, format: config.logFormat });
  const supervises = options.workers > 1 && !worker;
  // Refuse a wrong address before the store is opened.
  if (!worker) await checkAddress(config);
  const told = {
    log: (message: string): void => log.info(message),
    warn: worker ? undefined : (message: string): void => log.warn(message),
  };
  const keys = await openKeys(config, told);
  const tracing = supervises ? undefined : await openTracing(config, log);
  const stop = stopSignal(config.npm);
  surviveTerminal();
  handleUncaught(endInOrder(log, flush, stop));
  let opened = false;
  stop.addEventListener('abort', () => setTimeout(() => opened || process.exit(1), OPENING).unref(), { once: true });
  const store = await openStore({
    databaseUrl: config.databaseUrl,
    directUrl: config.directUrl,
    replicaUrl: supervises ? undefined : config.replicaUrl,
    dataDir: config.dataDir,
    connections: supervises ? 1 : config.dbConnections,
    onStatement: tracing?.onStatement,
    ...told,
  });
  opened = true;
  let building = false;
  try {
    if (stop.aborted) return;
    const demo = options.demo && store.embedded && !worker ? await prepareDemo(store, config.dataDir) : undefined;
    const ready = (baseUrl: string): void => {
      if (worker) return;
      out.note(`gateway ready on ${baseUrl}`);
      out.note(demo ? welcome(baseUrl, demo) : addresses(baseUrl, keptToken(config.dataDir)));
      stop.addEventListener('abort', () => out.note('gateway stopping'), { once: true });
    };
    const services = { config, keys, store, log, tracing, stop, ready };
    const builds = worker ? undefined : buildInBackground(store, log, stop);
    await (supervises ? serveByWorkers(services, options.workers) : serveHere(services));
    building = (await builds?.stop()) ?? false;
  } finally {
    flush();
    const [, sent] = await Promise.all([store.close(), tracing?.stop()]);
    flush();
    leave(stop);
    // An unfinished export of traces has timers and a socket, which would keep the process alive for several seconds. The
    // connection of a build would keep the process alive until the index is built.
    if (sent === false || building) setImmediate(() => process.exit());
  }
}

/** Keeps the process alive when its terminal has closed. Each later write to the terminal fails with EIO. */
function surviveTerminal(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => stream.destroy());
}

/** Milliseconds that the store may still take to open after a signal. Then the process ends without the store. */
const OPENING = 8_000;

interface Serving {
  readonly config: Config;
  readonly keys: Keyring;
  readonly store: Store;
  readonly log: Logger;
  readonly tracing: Tracing | undefined;
  readonly stop: AbortSignal;
  readonly ready: (baseUrl: string) => void;
}

/**
 * Serves with several workers. The supervisor chooses the port before the workers start. With PORT=0, each worker would
 * otherwise choose a different port.
 */
async function serveByWorkers({ config, log, stop, ready }: Serving, count: number): Promise<void> {
  const { port, baseUrl } = await address(config);
  await superviseWorkers({
    count,
    env: { PORT: `${port}`, GATEWAY_BASE_URL: baseUrl },
    stop,
    log,
    onReady: () => ready(baseUrl),
    onWorker: superviseGroup(uncollected(log)),
  });
}

const uncollected =
  (log: Logger) =>
  (error: unknown): void =>
    log.error({ err: error }, 'metrics could not be collected');

async function openTracing({ tracing }: Config, log: Logger): Promise<Tracing | undefined> {
  if (!tracing) return undefined;
  const { startTracing } = await import('../observe/tracing.ts');
  return startTracing({
    ...tracing,
    version: packageVersion,
    onError: (spans) => log.warn({ spans }, 'traces could not be exported'),
    onComplaint: () => log.warn('OpenTelemetry logged a warning: it cannot use a setting, or it dropped spans'),
  });
}

async function serveHere({ config, keys, store, log, tracing, stop, ready }: Serving): Promise<void> {
  const { port, baseUrl } = await address(config);
  const remote = openWriteBack({
    db: store.db,
    keys,
    onError: (error, source) => log.warn({ err: error, source }, 'a write did not reach the helpdesk of a source'),
  });
  const corridor = await openGateway({
    store,
    keys,
    baseUrl,
    checkEvery: CHECK_EVERY,
    remote,
    onDefect: (tool, error) => log.error({ operation: tool.name, err: error }, 'an answer does not match its schema'),
  });
  const { registry } = corridor;
  const guides = readGuides();
  const [resources, prompts, skills] = await Promise.all([loadResources(), loadPrompts(), loadSkills(registry)]);
  const tasks = openTasks({
    db: store.db,
    batches: store.tasks,
    corridor,
    onError: (error) => log.warn({ err: error }, 'upkeep of the tasks failed; it runs again soon'),
    onCall: tellRunCall(log),
  });
  const realtime = openRealtime({
    db: store.db,
    keys,
    eventKey: openLedgerKey(store.db),
    ...streaming(corridor),
    onError: (error) => log.warn({ err: error }, 'reading for a realtime stream failed; it is retried'),
  });
  let running: RunningServer | undefined;
  let loop: LoopWatch | undefined;
  const metrics = openMetrics({
    version: packageVersion,
    pools: store.pools,
    sockets: () => realtime.size,
    held: () => running?.held() ?? { connections: 0, requests: 0, waiting: 0, unread: 0 },
    replica: store.replica?.current,
    quotaRefusals: () => corridor.quotaRefusals,
    loopHeld: () => loop?.seconds ?? 0,
  });
  // The number 0 means that a worker keeps no answer of the supervisor. The supervisor keeps the metrics of all workers
  // for one second, so that every worker gives the same answer during this second.
  const ofProcesses = isWorker() ? sharing(joinGroup(metrics, uncollected(log)), 0) : sharing(metrics.text);
  const ofStore = openStoreGauges(store.db);
  const provider = config.identity && openIdentityProvider(config.identity);
  const clientHosts = config.hosted.hosts.includes('*') ? undefined : config.hosted.hosts;
  // No call may be answered for a client whose host was taken off the list.
  if (clientHosts) await endStrangeHosts(store.db, clientHosts);
  const answering = answers(store);
  const server = await startServer({
    host: config.host,
    port,
    baseUrl,
    tls: config.tls,
    log,
    handlers: [
      mcpSurface(corridor, { baseUrl, version: packageVersion, resources, prompts }),
      a2aSurface(corridor, { baseUrl, tasks, skills }),
      restSurface(corridor, baseUrl),
      oauthSurface(
        openOAuth({
          baseUrl,
          db: store.db,
          skillScopes: skills.scopes,
          hosted: {
            hosts: config.hosted.hosts,
            longest: config.hosted.longest,
            fetch: documentFetcher({ allowed: config.hosted.allowed, userAgent: userAgent(baseUrl) }),
          },
        }),
        openSource(config.trustedProxies),
        provider,
      ),
    ],
    upgrade: realtimeSurface(realtime),
    observer: { ended: metrics.ended, trace: tracing?.trace },
    trustedProxies: config.trustedProxies,
    otherwise: publicApp({
      baseUrl,
      openapi: openapi(registry, baseUrl),
      llms: llms({ registry, guides, baseUrl, resources, prompts, skills }),
      agentCard: agentCard({ skills, baseUrl }),
      docs: docsPages({ baseUrl, registry, skills, guides, version: packageVersion }),
      metrics: {
        type: METRICS_TYPE,
        permitted: openAllowed(config.metricsAllowed, config.trustedProxies),
        text: async () => (await Promise.all([ofProcesses(), ofStore()])).join(''),
      },
      ready: async () => !stop.aborted && (await answering()) && !stop.aborted,
    }),
  }).catch((error: unknown) => {
    throw refusedPort(error, config.host, config.port) ?? error;
  });
  running = server;
  // Building the documents and the schemas takes half a second (24 November 2026). Nobody waits before the server listens.
  loop = watchLoop((milliseconds) => log.warn({ milliseconds }, 'the event loop was held'));
  const background = startBackground({ config, keys, store, registry, clientHosts, baseUrl, log, remote });
  ready(baseUrl);
  await aborted(stop);
  await server.leave();
  // Stop the server, tasks, sockets, webhooks and sources together. The server stays open while a call waits for a task,
  // or while a socket is open.
  await Promise.all([server.close(), tasks.stop(), realtime.stop(), background.leave()]);
  await background.stop();
  await remote.close();
  loop.stop();
}

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

const tokenFile = (dataDir: string): string => join(dataDir, 'demo-token.json');

const keptToken = (dataDir: string): string | undefined =>
  existsSync(tokenFile(dataDir)) ? tokenFile(dataDir) : undefined;

/**
 * Loads the demo into an empty store. Writes the demo's token beside the data, to a file that only its owner can read.
 */
async function prepareDemo(store: Store, dataDir: string): Promise<DemoAccess | undefined> {
  const file = tokenFile(dataDir);
  if (!(await isEmpty(store.db))) return undefined;
  const demo = await loadDemo(store, {});
  const access = { token: demo.full.token, website: demo.website_ids[0] ?? '' };
  // Delete an existing file first. Other users could be able to read the existing file, or the existing file could be a
  // link.
  await rm(file, { force: true });
  await writeFile(file, `${JSON.stringify(access)}\n`, { mode: 0o600, flag: 'wx' });
  return access;
}

import type { RemoteWriter } from '../core/writes.ts';
import { startJournals } from '../events/journals.ts';
import { startWebhooks } from '../events/webhooks/dispatcher.ts';
import { startUpkeep } from '../gateway/upkeep.ts';
import { senderOptions } from '../outbound/sender.ts';
import { sourceDigest } from '../privacy/digests.ts';
import { startRetention } from '../privacy/retention.ts';
import { explainSource } from '../sources/follow/explain.ts';
import { startSources } from '../sources/follow/runner.ts';
import { openStoredReader } from '../sources/reader/reader.ts';
import { openLedgerKey } from '../store/calls/ledger.ts';
import type { ServeContext } from './serve.ts';

interface BackgroundOptions extends Pick<ServeContext, 'config' | 'keys' | 'store' | 'log'> {
  readonly registry: Parameters<typeof startUpkeep>[0]['registry'];
  readonly clientHosts: readonly string[] | undefined;
  readonly baseUrl: string;
  readonly remote: RemoteWriter;
}

/** Starts the work that no request asks for: upkeep, deliveries of webhooks, and live sources. */
export function startBackground(options: BackgroundOptions): {
  /** Stops webhooks and sources, which use other systems. */
  leave(): Promise<void>;
  stop(): Promise<void>;
} {
  const { config, keys, store, registry, clientHosts, baseUrl, log, remote } = options;
  const upkeep = startUpkeep({
    db: store.upkeep,
    registry,
    remote,
    clientHosts,
    onError: (error) => log.warn({ err: error }, 'upkeep of the ledger failed; it runs again soon'),
  });
  const journals = startJournals(store.upkeep, (error) =>
    log.warn({ err: error }, 'upkeep of the journals failed; it runs again soon'),
  );
  const retention = startRetention(store.upkeep, (error) =>
    log.warn({ err: error }, 'clearing old messages failed; it runs again soon'),
  );
  const webhooks = startWebhooks({
    db: store.db,
    eventKey: openLedgerKey(store.db),
    keys,
    sender: senderOptions(config.webhooks.allowed, baseUrl),
    schedule: config.webhooks.schedule,
    mcp: config.mcpEvents && { ...config.mcpEvents, keys },
    onError: (error) => log.warn({ err: error }, 'delivery of webhooks failed; it is retried'),
  });
  const sources = startSources({
    db: store.db,
    writer: store.sources,
    open: (row) => openStoredReader(keys, row),
    digest: () => sourceDigest(store.db, keys),
    explain: explainSource,
    onError: (error, source) => log.warn({ err: error, source }, 'a source could not be read; it is tried again'),
  });
  return {
    leave: async () => {
      await Promise.all([webhooks.stop(), sources.stop()]);
    },
    stop: async () => {
      await Promise.all([upkeep.stop(), journals.stop(), retention.stop()]);
    },
  };
}

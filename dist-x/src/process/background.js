import { startJournals } from '../events/journals.js';
import { startWebhooks } from '../events/webhooks/dispatcher.js';
import { startUpkeep } from '../gateway/upkeep.js';
import { senderOptions } from '../outbound/sender.js';
import { sourceDigest } from '../privacy/digests.js';
import { startRetention } from '../privacy/retention.js';
import { explainSource } from '../sources/follow/explain.js';
import { startSources } from '../sources/follow/runner.js';
import { openStoredReader } from '../sources/reader/reader.js';
import { openLedgerKey } from '../store/calls/ledger.js';
/** Starts the work that no request asks for: upkeep, deliveries of webhooks, and live sources. */
export function startBackground(options) {
    const { config, keys, store, registry, clientHosts, baseUrl, log, remote } = options;
    const upkeep = startUpkeep({
        db: store.upkeep,
        registry,
        remote,
        clientHosts,
        onError: (error) => log.warn({ err: error }, 'upkeep of the ledger failed; it runs again soon'),
    });
    const journals = startJournals(store.upkeep, (error) => log.warn({ err: error }, 'upkeep of the journals failed; it runs again soon'));
    const retention = startRetention(store.upkeep, (error) => log.warn({ err: error }, 'clearing old messages failed; it runs again soon'));
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
//# sourceMappingURL=background.js.map
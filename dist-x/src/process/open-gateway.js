import { Trail } from '../audit/trail.js';
import { openMcpEvents } from '../events/mcp/mcp-events.js';
import { openRealtime } from '../events/realtime/realtime.js';
import { readGuides } from '../gateway/guides.js';
import { openGateway } from '../gateway/open.js';
import { streaming } from '../gateway/streaming.js';
import { tellRunCall } from '../observe/run-calls.js';
import { senderOptions } from '../outbound/sender.js';
import { openWriteBack } from '../sources/write-back.js';
import { openLedgerKey } from '../store/calls/ledger.js';
import { openTasks } from '../tasks/tasks.js';
/** The gateway checks one answer in 256 against its schema. Tests check every answer. */
const CHECK_EVERY = 256;
/** Opens what answers calls: the corridor with its declarations, the tasks, and the realtime streams. */
export async function openServedGateway({ config, keys, store, log }, baseUrl, declarations) {
    const remote = openWriteBack({
        db: store.db,
        keys,
        onError: (error, source) => log.warn({ err: error, source }, 'a write did not reach the helpdesk of a source'),
    });
    const trail = new Trail({
        db: store.audit,
        upkeep: store.upkeep,
        keys,
        ...config.audit,
        onError: (error) => log.warn({ err: error }, 'audit records could not be written; they wait'),
    });
    await trail.start();
    const corridor = await openGateway({
        store,
        keys,
        baseUrl,
        checkEvery: CHECK_EVERY,
        remote,
        declarations,
        books: trail,
        onDefect: (tool, error) => log.error({ operation: tool.name, err: error }, 'an answer does not match its schema'),
    });
    const guides = readGuides();
    const { resources, prompts, skills, skillFiles } = declarations;
    const tasks = openTasks({
        db: store.db,
        batches: store.tasks,
        corridor,
        onError: (error) => log.warn({ err: error }, 'upkeep of the tasks failed; it runs again soon'),
        onCall: tellRunCall(log),
        books: trail,
    });
    const realtime = openRealtime({
        db: store.db,
        keys,
        eventKey: openLedgerKey(store.db),
        ...streaming(corridor),
        onError: (error) => log.warn({ err: error }, 'reading for a realtime stream failed; it is retried'),
    });
    const events = config.mcpEvents &&
        openMcpEvents({
            text: config.mcpEvents.text,
            db: store.db,
            keys,
            eventKey: openLedgerKey(store.db),
            sender: senderOptions(config.webhooks.allowed, baseUrl),
        });
    return { corridor, trail, guides, resources, prompts, skills, skillFiles, tasks, realtime, events, remote };
}
//# sourceMappingURL=open-gateway.js.map
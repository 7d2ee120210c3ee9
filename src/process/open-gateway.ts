import { Trail } from '../audit/trail.ts';
import { type McpEvents, openMcpEvents } from '../events/mcp/mcp-events.ts';
import { openRealtime, type Realtime } from '../events/realtime/realtime.ts';
import type { Corridor } from '../gateway/call.ts';
import { readGuides } from '../gateway/guides.ts';
import type { Declarations } from '../gateway/load.ts';
import { openGateway } from '../gateway/open.ts';
import { streaming } from '../gateway/streaming.ts';
import { tellRunCall } from '../observe/run-calls.ts';
import { senderOptions } from '../outbound/sender.ts';
import { openWriteBack, type WriteBack } from '../sources/write-back.ts';
import { openLedgerKey } from '../store/calls/ledger.ts';
import { openTasks, type Tasks } from '../tasks/tasks.ts';
import type { ServeContext } from './serve.ts';

/** The gateway checks one answer in 256 against its schema. Tests check every answer. */
const CHECK_EVERY = 256;

export interface ServedGateway extends Omit<Declarations, 'registry'> {
  readonly corridor: Corridor;
  readonly trail: Trail;
  readonly guides: ReturnType<typeof readGuides>;
  readonly tasks: Tasks;
  readonly realtime: Realtime;
  /** Undefined: the operator has turned events over MCP off. */
  readonly events: McpEvents | undefined;
  /** Writes to the helpdesks of sources. It closes last, because calls and upkeep use it. */
  readonly remote: WriteBack;
}

/** Opens what answers calls: the corridor with its declarations, the tasks, and the realtime streams. */
export async function openServedGateway(
  { config, keys, store, log }: ServeContext,
  baseUrl: string,
  declarations: Declarations,
): Promise<ServedGateway> {
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
  const events =
    config.mcpEvents &&
    openMcpEvents({
      text: config.mcpEvents.text,
      db: store.db,
      keys,
      eventKey: openLedgerKey(store.db),
      sender: senderOptions(config.webhooks.allowed, baseUrl),
    });
  return { corridor, trail, guides, resources, prompts, skills, skillFiles, tasks, realtime, events, remote };
}

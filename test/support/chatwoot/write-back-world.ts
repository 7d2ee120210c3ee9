import type { RemoteWriter } from '../../../src/core/writes.ts';
import { upkeep } from '../../../src/gateway/upkeep.ts';
import { openWriteBack, type WriteBack, type WriteBackOptions } from '../../../src/sources/write-back.ts';
import type { Issued } from '../credentials.ts';
import { freshDatabase, type TestDatabase } from '../database.ts';
import { openTestGateway, type TestGateway } from '../gateway.ts';
import { KEYS } from '../keys.ts';
import { type Command, MCP_HEADERS, mcpOf, restOf } from '../ledger/commands.ts';
import { type Reply, replyOf, type Surface } from '../ledger/world.ts';
import { type AddedSource, addSource, keys, runSources } from '../sources.ts';
import { type ChatwootApi, openChatwootStandIn, TOKEN } from './api.ts';
import { conversation, put, seed } from './source-rows.ts';
import { type ChatwootWorld, chatwootWorld } from './source-world.ts';

/** Timeout (ms) for a write in the helpdesk in these tests. */
export const SENDING = 1_500;

/** Milliseconds between two checks of the source. A check asks the API for its account, so none comes within a test. */
const CHECK = 3_600_000;

/** The threads of the writes. */
export type WriterGiven = Pick<WriteBackOptions, 'writer' | 'most'>;

export interface WriteBackWorld {
  readonly store: TestDatabase;
  readonly desk: ChatwootWorld;
  readonly api: ChatwootApi;
  readonly gateway: TestGateway;
  readonly source: AddedSource;
  readonly writer: Issued;
  /** Ids of the website: visitors 1 and 2, who are one contact, and conversations 1 and 2. */
  readonly website: string;
  readonly visitor: (chatwootId: number) => Promise<string>;
  readonly conversation: (chatwootId: number) => Promise<string>;
  readonly logged: unknown[];
  /** The writer to the helpdesk that is open now. */
  readonly remote: WriteBack;
  /** Closes the writer to the helpdesk, and opens another one. Heals Chatwoot and empties `logged` and `api.asked`. */
  reopen(options?: WriterGiven): Promise<void>;
  write(surface: Surface, command: Command, key: string, by?: { token: string; gateway?: TestGateway }): Promise<Reply>;
  status(operationId: string | undefined): Promise<string>;
  /** Asks now how this operation ended, as the upkeep of a gateway does later. */
  reconcile(operationId: string | undefined): Promise<void>;
  receipts(): Promise<string[]>;
  replica(remote: RemoteWriter): Promise<TestGateway>;
  settled(): Promise<void>;
  /** Runs `work` while the source reads nothing. */
  withoutSource<T>(work: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** `address`: the database of Chatwoot. */
export async function writeBackWorld(
  options: { readonly address?: (desk: ChatwootWorld) => Promise<string> } = {},
): Promise<WriteBackWorld> {
  // The store also has the demo's organization, whose websites have no source.
  const store = await freshDatabase('demo');
  const desk = await chatwootWorld();
  // A conversation's number differs from its id.
  await seed(desk.sql);
  await desk.sql`UPDATE accounts SET created_at = created_at + interval '0.987654 seconds'`;
  await put(desk.sql, 'contact_inboxes', { id: 2, contact_id: 1, inbox_id: 1, source_id: 's2' });
  await desk.sql`UPDATE conversations SET display_id = 41`;
  await conversation(desk.sql, 2, { contact_inbox_id: 2 });
  await desk.sql`UPDATE conversations SET display_id = 42 WHERE id = 2`;
  await put(desk.sql, 'users', { id: 2, name: 'Token Robot', email: 'robot@example.org', uid: 'robot' });
  await put(desk.sql, 'account_users', { account_id: 1, user_id: 2, role: 0 });
  await desk.grant('live');
  const own = desk.connect();
  const api = await openChatwootStandIn(own, 2);
  const source = await addSource(store, {
    address: (await options.address?.(desk)) ?? desk.address(),
    mode: 'live',
    api: { url: api.url, token: TOKEN },
  });
  let running = runSources(store, CHECK);
  const { sql } = store;
  const logged: unknown[] = [];
  const onError = (error: unknown): void => void logged.push(error);
  const open = (given: WriterGiven = {}): WriteBack =>
    openWriteBack({ db: store.db, keys, onError, sending: SENDING, ...given });
  let remote = open();
  const gateway = await openTestGateway('empty', store, KEYS, {}, undefined, {
    onlySources: true,
    perform: (work, signal) => remote.perform(work, signal),
    find: (operationId, website) => remote.find(operationId, website),
  });
  const settled = async (): Promise<void> => {
    for (;;) {
      const { state, behind } = await source.state();
      const [waiting] = await desk.sql`SELECT 1 FROM gateway_outbox.change LIMIT 1`;
      if (state === 'following' && behind === 0 && !waiting) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  for (let rows = 0; rows < 2; ) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    rows = (await sql`SELECT 1 FROM platform.conversation WHERE tenant = ${source.tenant}`).length;
  }
  const site = String(
    (await sql<{ site: string }[]>`SELECT site FROM platform.website WHERE tenant = ${source.tenant}`)[0]?.site,
  );
  const place = `${source.tenant}_${site}`;
  await sql`INSERT INTO platform.disposition (tenant, site, id, external_id, value, label)
    SELECT ${source.tenant}, ${site}, n, v, v, v FROM unnest(ARRAY['solved', 'refund', 'spam']) WITH ORDINALITY AS t (v, n)`;
  const idOf = async (table: 'visitor' | 'conversation' | 'operator', prefix: string, id: number): Promise<string> => {
    const [row] = await sql<{ id: string }[]>`
      SELECT id FROM platform.${sql(table)} WHERE external_id = ${`cw:1:${table}:${id}`}`;
    return `${prefix}_${place}_${row?.id}`;
  };
  const ada = await idOf('operator', 'opr', 1);
  const writer = await gateway.issue({ authors: [ada] }, source.tenant);
  return {
    store,
    desk,
    api,
    gateway,
    source,
    writer,
    website: `web_${place}`,
    visitor: (id) => idOf('visitor', 'vis', id),
    conversation: (id) => idOf('conversation', 'cnv', id),
    logged,
    get remote() {
      return remote;
    },
    reopen: async (given) => {
      await remote.close();
      remote = open(given);
      api.heal();
      logged.length = 0;
      api.asked.length = 0;
    },
    write: async (surface, command, key, { token, gateway: at = gateway } = { token: writer.token }) => {
      const { path, body } = restOf(command);
      return replyOf(
        surface,
        surface === 'REST'
          ? await at.ask(path, { token, body, headers: { 'idempotency-key': key } })
          : await at.ask('/mcp', { token, body: mcpOf(command, key), headers: MCP_HEADERS }),
      );
    },
    status: async (id) =>
      (await sql<{ status: string }[]>`SELECT status FROM gateway.operation WHERE operation_id = ${id ?? ''}`)[0]
        ?.status ?? 'none',
    reconcile: async (id) => {
      await sql`UPDATE gateway.operation SET lease_until = now() - interval '1 second' WHERE operation_id = ${id ?? ''}`;
      await upkeep({ db: store.db, registry: gateway.corridor.registry, remote });
    },
    receipts: async () =>
      (
        await sql<{ event_type: string }[]>`SELECT event_type FROM gateway.journal
        WHERE tenant = ${source.tenant} ORDER BY position`
      ).map(({ event_type }) => event_type),
    replica: (other) =>
      openTestGateway('empty', { ...store, close: async () => undefined }, KEYS, {}, undefined, other),
    settled,
    withoutSource: async (work) => {
      await running.stop();
      return work().finally(() => {
        running = runSources(store, CHECK);
      });
    },
    close: async () => {
      await running.stop();
      await remote.close();
      await api.close();
      await gateway.close();
      await desk.close();
    },
  };
}

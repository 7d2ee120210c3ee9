import { setTimeout as pause } from 'node:timers/promises';
import type postgres from 'postgres';
import { chatwootGrants } from '../../../src/sources/chatwoot/grants.ts';
import type { Database } from '../../../src/store/driver/postgres.ts';
import { difference } from '../chatwoot/difference.ts';
import { expected } from '../chatwoot/oracle.ts';
import { createChatwoot, openChatwoot, populate } from '../chatwoot/populate.ts';
import { cw, run } from '../chatwoot/script.ts';
import { simulate } from '../chatwoot/simulator.ts';
import { stored } from '../chatwoot/stored.ts';
import { type Cluster, openCluster } from '../cluster.ts';
import { eventually } from '../eventually.ts';
import { type AddedSource, addSource } from '../sources.ts';
import { MARK_TEXTS } from './source-audit.ts';

/** A numbered message. `at`: when Chatwoot committed it, or when a gateway told it first, as `performance.now()`. */
interface Numbered {
  readonly n: number;
  readonly at: number;
}

/** Asks a gateway for the newest message. Undefined if it gave no answer. */
type Newest = () => Promise<string | undefined>;

const [CHATWOOT, ROLE] = ['chatwoot', 'gateway_reader'];
/** The simulator changes the first account. In the second one, a visitor writes numbered messages. */
const [CHANGED, TALKED] = [1, 2];
/** Milliseconds between two numbered messages, and between two calls that ask for the newest one. */
const EVERY = 250;
/** Actions of the simulator in a second, and in a round. A round begins with one action of each kind. */
const [RATE, ROUND] = [8, 60];

/** A Chatwoot that two live sources of a store follow, while its people change it without a pause. */
export class Helpdesk {
  readonly said: Numbered[] = [];
  readonly heard: Numbered[] = [];
  changes = 0;
  readonly #cluster: Cluster;
  readonly #rails: postgres.Sql;
  readonly #sources: ReadonlyMap<number, AddedSource>;
  readonly #conversation: number;
  #going = true;
  #running: Promise<unknown> = Promise.resolve();

  static async open(db: Database): Promise<Helpdesk> {
    const cluster = await openCluster();
    await cluster.sql('postgres').unsafe(`CREATE DATABASE ${CHATWOOT}`);
    const target = { host: '127.0.0.1', port: cluster.port, database: CHATWOOT, username: 'postgres' };
    const rails = openChatwoot({ ...target, fetch_types: false });
    await createChatwoot(rails);
    await rails.unsafe(MARK_TEXTS).simple();
    await rails.unsafe(chatwootGrants({ role: ROLE, mode: 'live' })).simple();
    await populate(rails, { conversations: 100, messages: 500, seed: 1 });
    const address = `postgres://${ROLE}@127.0.0.1:${cluster.port}/${CHATWOOT}`;
    const sources = new Map<number, AddedSource>();
    for (const account of [CHANGED, TALKED])
      sources.set(account, await addSource({ db }, { address, mode: 'live', account }));
    const [first] = await run<{ id: number }>(
      rails,
      cw`SELECT min(id)::integer AS id FROM conversations WHERE account_id = ${TALKED}`,
    );
    return new Helpdesk(cluster, rails, sources, first?.id ?? 0);
  }

  private constructor(
    cluster: Cluster,
    rails: postgres.Sql,
    sources: ReadonlyMap<number, AddedSource>,
    conversation: number,
  ) {
    this.#cluster = cluster;
    this.#rails = rails;
    this.#sources = sources;
    this.#conversation = conversation;
  }

  get tenants(): readonly number[] {
    return [...this.#sources.values()].map(({ tenant }) => tenant);
  }

  /** The organization of the account with the numbered messages. */
  get talked(): number {
    return this.#sources.get(TALKED)?.tenant ?? 0;
  }

  /** The public id of the conversation with the numbered messages. Undefined until the first load has written it. */
  async conversation(sql: postgres.Sql): Promise<string | undefined> {
    const [row] = await sql<{ id: string }[]>`
      SELECT format('cnv_%s_%s_%s', tenant, site, id) AS id FROM platform.conversation
       WHERE tenant = ${this.talked} AND external_id = ${`cw:${TALKED}:conversation:${this.#conversation}`}`;
    return row?.id;
  }

  start(newest: Newest): void {
    this.#running = Promise.all([this.#talk(), this.#change(), this.#listen(newest)]);
    this.#running.catch(() => undefined); // `stop` throws it
  }

  /** Waits until a gateway tells a message that was committed after `from`. Returns that moment. */
  back(from: number): Promise<number> {
    const found = (): number => {
      const first = this.heard.find(({ n }) => (this.said[n]?.at ?? 0) >= from);
      if (!first) throw new Error('no gateway tells a later message');
      return first.at;
    };
    return eventually(found, 90_000);
  }

  /** The longest time since `from` in which no gateway told a newer message, in milliseconds. */
  silence(from: number): number {
    const told = this.heard.map(({ at }) => at);
    const within = [...told.filter((at) => at < from).slice(-1), ...told.filter((at) => at >= from), performance.now()];
    return Math.max(...within.slice(1).map((at, i) => at - (within[i] ?? at)));
  }

  /** Ends the changes. No transaction is open and no job waits afterwards. */
  async stop(): Promise<void> {
    this.#going = false;
    await this.#running;
  }

  /** What the store lacks, has twice, or has differently, by kind. Empty if it equals Chatwoot row for row. */
  async differences(sql: postgres.Sql): Promise<readonly string[]> {
    const found: string[] = [];
    for (const [account, { tenant }] of this.#sources) {
      const wanted = await expected(this.#rails, { account });
      const { count, kinds, list } = difference(wanted, await stored(sql, tenant), 2);
      if (count > 0) found.push(`account ${account}: ${JSON.stringify({ kinds, list })}`);
    }
    return found;
  }

  async close(): Promise<void> {
    this.#going = false;
    await this.#running.catch(() => undefined); // after a failure of the test
    await this.#rails.end({ timeout: 1 });
    await this.#cluster.close();
  }

  async #talk(): Promise<void> {
    for (let n = 0; this.#going; n++) {
      const now = cw`now() AT TIME ZONE 'UTC'`;
      await run(
        this.#rails,
        `${cw`INSERT INTO messages (content, account_id, inbox_id, conversation_id, message_type, sender_type, sender_id, created_at, updated_at)
         SELECT ${`said-${n}-`}, account_id, inbox_id, id, 0, 'Contact', contact_id, `}${now}, ${now}${cw` FROM conversations WHERE id = ${this.#conversation}`}`,
      );
      this.said.push({ n, at: performance.now() });
      await pause(EVERY);
    }
  }

  async #listen(newest: Newest): Promise<void> {
    while (this.#going) {
      const [, n] = /said-(\d+)-/.exec((await newest()) ?? '') ?? [];
      if (n !== undefined && Number(n) > (this.heard.at(-1)?.n ?? -1))
        this.heard.push({ n: Number(n), at: performance.now() });
      await pause(EVERY);
    }
  }

  async #change(): Promise<void> {
    for (let seed = 1; this.#going; seed++) {
      const round = { seed, seconds: ROUND / RATE, rate: RATE, accounts: [CHANGED], writers: 2 };
      const { transactions } = await simulate(this.#rails, round);
      this.changes += transactions;
    }
  }
}

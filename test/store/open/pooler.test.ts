import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { sql } from '../../../src/core/sql.ts';
import { openDatabase } from '../../../src/store/driver/postgres.ts';
import { openStore } from '../../../src/store/open/open.ts';
import { lookAt, requirePooler } from '../../../src/store/open/server.ts';
import { gateway } from '../../support/cli.ts';
import { type Issued, issue } from '../../support/credentials.ts';
import { freshDatabase, type TestDatabase } from '../../support/database.ts';
import { connected, type Door, doorOf, ORIGIN } from '../../support/events/realtime.ts';
import { definition } from '../../support/events/subscriptions.ts';
import { addEndpoint, openReceiver, type Receiver, tell, until, verified } from '../../support/events/webhooks.ts';
import { openProxy, type WireProxy } from '../../support/pgwire.ts';
import { hasPgbouncer, openPooler, type Pooler } from '../../support/pooler.ts';
import { type Replica, startReplica } from '../../support/replica.ts';

/**
 * A real gateway whose DATABASE_URL points to a pooler in transaction mode, so every statement can run on another
 * connection. When pgbouncer is not on PATH, the tests go directly to the server, without prepared statements and
 * settings.
 */
const SESSIONS = 3;
const WRITES = 40;
const IGNORING =
  'ignore_startup_parameters = statement_timeout, lock_timeout, idle_in_transaction_session_timeout, default_transaction_isolation, jit, tcp_keepalives_idle, tcp_keepalives_interval, tcp_keepalives_count, plan_cache_mode, enable_seqscan';

let database: TestDatabase;
let proxy: WireProxy;
let pooler: Pooler;
let receiver: Receiver;
let replica: Replica;
let door: Door;
let caller: Issued;
const direct = (name = database.name): string =>
  `postgres://postgres@${encodeURIComponent(database.host)}:${database.port}/${name}`;

beforeAll(async () => {
  database = await freshDatabase('demo');
  // The user that runs pgbouncer may not enter the folder of the server's socket. A proxy therefore connects pgbouncer
  // with the server.
  proxy = await openProxy({ host: database.host, port: database.port });
  pooler = hasPgbouncer
    ? await openPooler(proxy, SESSIONS)
    : { url: (name) => proxy.url(name), close: async () => undefined };
  receiver = await openReceiver();
  caller = await issue(database.sql, 1, { origins: [ORIGIN], authors: ['opr_1_1_1'] });
});
afterAll(async () => {
  await replica.end();
  await receiver.close();
  await pooler.close();
  await proxy.close();
  await database.close();
});

const open = (databaseUrl: string, directUrl?: string) =>
  openStore({ databaseUrl, directUrl, dataDir: '/nowhere', connections: 1, log: () => undefined });

describe(hasPgbouncer ? 'behind pgbouncer' : 'as behind a pooler: pgbouncer is not on PATH', () => {
  it('is refused while its sessions have no limits, or where the direct address leads elsewhere', async () => {
    const reset = () => database.sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = ${database.name} AND pid <> pg_backend_pid()`;
    const set = async (name: string, value: string): Promise<void> => {
      await database.sql.unsafe(`ALTER DATABASE ${database.name} SET ${name} = '${value}'`);
      await reset();
    };
    const lacking = (names: string, mend: string): RegExp =>
      new RegExp(
        `^The connections of the pooler in DATABASE_URL lack the ${names} that .* As the server's owner, run: ${mend} Then`,
      );
    await expect(open(pooler.url(database.name), direct())).rejects.toThrow(
      lacking(
        'statement_timeout, lock_timeout',
        "ALTER ROLE postgres SET statement_timeout = '15s'; ALTER ROLE postgres SET lock_timeout = '15s';",
      ),
    );
    await set('statement_timeout', '15s');
    for (const [name, wrong, right] of [
      ['lock_timeout', '1ms', '15s'],
      ['statement_timeout', '2h', '15s'],
      ['statement_timeout', '5s', '15s'],
      ['default_transaction_isolation', 'repeatable read', 'read committed'],
      ['default_transaction_isolation', 'serializable', 'read committed'],
    ] as const) {
      await set(name, wrong);
      if (name !== 'lock_timeout') await set('lock_timeout', '15s');
      const mend = `ALTER ROLE postgres SET ${name} = '${right}';`;
      await expect(open(pooler.url(database.name), direct()), `${name} ${wrong}`).rejects.toThrow(lacking(name, mend));
      await set(name, right);
    }
    await expect(open(pooler.url(database.name), direct('postgres'))).rejects.toThrow(
      /^DATABASE_DIRECT_URL must lead to the same database as DATABASE_URL/,
    );
    await expect(open(pooler.url(database.name), 'postgres://127.0.0.1:1/x')).rejects.toThrow(
      /^DATABASE_DIRECT_URL cannot be reached \(127\.0\.0\.1:1\/x\)/,
    );
    if (hasPgbouncer) {
      await expect(open(pooler.url(database.name), pooler.url(database.name))).rejects.toThrow(
        /^DATABASE_DIRECT_URL leads to a pooler \(127\.0\.0\.1:\d+\/t_\w+\): name the server itself\.$/,
      );
      await expect(open(pooler.url(database.name))).rejects.toThrow(
        /^DATABASE_URL leads to a pooler \(127\.0\.0\.1:\d+\/t_\w+\): name the server behind it in DATABASE_DIRECT_URL\.$/,
      );
      const lax = await openPooler(proxy, SESSIONS, IGNORING);
      await expect(open(lax.url(database.name))).rejects.toThrow(
        /^DATABASE_URL leads to a pooler, which ignores the settings that the gateway sends: name the server/,
      );
      await expect(open(pooler.url(database.name), lax.url(database.name))).rejects.toThrow(
        /^DATABASE_DIRECT_URL leads to a pooler, which ignores the settings that the gateway sends: name the server itself\.$/,
      );
      for (const replicaUrl of [lax.url(database.name), pooler.url(database.name)])
        await expect(
          openStore({ databaseUrl: direct(), replicaUrl, dataDir: '/nowhere', connections: 1, log: () => undefined }),
        ).rejects.toThrow(/^DATABASE_REPLICA_URL leads to a pooler.*: name the server itself\.$/);
      await lax.close();
    }
  });

  it('is refused where it has another style or zone, which pgbouncer itself takes from the gateway', async () => {
    const place = await lookAt(database.db);
    const pooled = { ...place, statementTimeout: 15_000, lockTimeout: 15_000 };
    expect(() => requirePooler(pooled, place)).not.toThrow();
    expect(() => requirePooler({ ...pooled, dateStyle: 'German, DMY' }, place)).toThrow(/ lack the DateStyle that /);
    expect(() => requirePooler({ ...pooled, timeZone: 'Asia/Tokyo' }, place)).toThrow(
      /^The connections .* ALTER ROLE postgres SET TimeZone = 'UTC'; Then reconnect the pooler\.$/,
    );
  });

  it('is refused where an address sets what every session relies on, whether a pooler is there or not', async () => {
    for (const [parameter, name] of [
      ['statement_timeout=0', 'statement_timeout'],
      ['lock_timeout=1min', 'lock_timeout'],
      ['default_transaction_isolation=serializable', 'default_transaction_isolation'],
      ['datestyle=German', 'DateStyle'],
      ['timezone=Asia/Tokyo', 'TimeZone'],
      ['statement_timeout=0&lock_timeout=0', 'statement_timeout, lock_timeout'],
    ] as const) {
      const refused = ` must not set ${name}, because the gateway does. Remove it from the address.`;
      const address = `${direct()}?${parameter}`;
      await expect(open(address)).rejects.toThrow(`DATABASE_URL${refused}`);
      await expect(open(pooler.url(database.name), address)).rejects.toThrow(`DATABASE_DIRECT_URL${refused}`);
    }
    const others = await open(`${direct()}?work_mem=8MB&TimeZone=Etc/UTC`);
    await others.close();
  });

  it('prepares nothing, unless the address says that it may', async () => {
    const messages: string[] = [];
    for (const more of ['', '?prepare=true']) {
      const target = `${proxy.url(database.name)}${more}`;
      const db = openDatabase({ target, direct: direct(), connections: 1, statementTimeout: 1_000, name: 'pooled' });
      for (const n of [1, 2]) await db.query(sql`SELECT ${n}::integer AS counted`);
      messages.push(proxy.messagesOf(/AS counted/).frontend);
      await db.close();
    }
    expect(messages).toEqual(['PDHBES', 'BES']);
  });

  it('starts, and reads from few sessions with many connections', async () => {
    replica = await startReplica({
      databaseUrl: pooler.url(database.name),
      env: {
        DATABASE_DIRECT_URL: direct(),
        GATEWAY_KEYS: `test:${Buffer.alloc(32, 7).toString('base64')}`,
        GATEWAY_WEBHOOK_ALLOW: receiver.origin,
      },
    });
    door = doorOf(replica);
    const paths = ['context', 'contacts?website_id=web_1_1', 'conversations?website_id=web_1_1', 'contacts/ctc_1_1_1'];
    const report = 'analytics/ai-conversations/summary?website_id=web_1_1&range=last-7-days';
    const { token } = caller;
    // On a machine with other work the first ones can be refused with 503, because all of them start the new process at once.
    const answered = async (path: string): Promise<Awaited<ReturnType<typeof door.ask>>> => {
      const answer = await door.ask(`/api/v1/${path}`, { token });
      if (answer.status !== 503) return answer;
      await pause(1_000);
      return answered(path);
    };
    const answers = await Promise.all(Array.from({ length: 10 }, () => [...paths, report].map(answered)).flat());
    expect(answers.map(({ status, text }) => (status === 200 ? 200 : text))).toEqual(answers.map(() => 200));
    const [sessions] = await database.sql<{ all: number; listening: number }[]>`
      SELECT count(*)::integer AS all, (count(*) FILTER (WHERE query LIKE 'LISTEN%'))::integer AS listening
        FROM pg_stat_activity WHERE datname = ${database.name} AND application_name LIKE 'gateway%'`;
    expect(sessions?.listening).toBe(1);
    if (hasPgbouncer) expect(sessions?.all).toBeLessThanOrEqual(SESSIONS + 1);
  });

  it('the command line goes to the server itself', async () => {
    vi.stubEnv('DATABASE_URL', 'postgres://127.0.0.1:1/nowhere');
    vi.stubEnv('DATABASE_DIRECT_URL', direct());
    const { code, stdout } = await gateway('migrate', '--json');
    vi.stubEnv('DATABASE_DIRECT_URL', 'postgres://127.0.0.1:1/x');
    const lost = await gateway('migrate', '--json');
    vi.unstubAllEnvs();
    expect([lost.code, lost.stderr]).toEqual([
      1,
      expect.stringMatching(/^gateway: DATABASE_DIRECT_URL cannot be reached \(127/),
    ]);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^\{"version":\d+\}\n$/)]);
  });

  it('a write whose session is ended is made once, however often it is sent', async () => {
    const [before = expect.fail('no journal')] = await database.sql<{ head: number }[]>`
      SELECT coalesce(max(position), 0)::integer AS head FROM gateway.journal WHERE tenant = 1 AND site = 1`;
    const cuts = (['before-execute', 'sync-then-cut', 'after-sync'] as const).map((at) =>
      proxy.arm({ match: /gateway\.write_batch/, at, action: 'cut', times: 4 }),
    );
    let attempts = 0;
    const add = async (n: number): Promise<void> => {
      for (const end = performance.now() + 20_000; performance.now() < end; await pause(20)) {
        attempts++;
        const answer = await door.ask('/api/v1/visitors/vis_1_1_1/notes', {
          token: caller.token,
          headers: { 'idempotency-key': `pooled-${n}` },
          body: { text: `pooled ${n}` },
        });
        if (answer.status === 200) return;
        expect([409, 503], answer.text).toContain(answer.status);
      }
      expect.fail(`write ${n} was never made`);
    };
    for (let n = 0; n < WRITES; n += 2) await Promise.all([add(n), add(n + 1)]);
    proxy.disarm();
    const hits = cuts.map((cut) => cut.hits());
    const [made] = await database.sql<{ notes: number; texts: number; receipts: number }[]>`
      SELECT count(*)::integer AS notes, count(DISTINCT text)::integer AS texts,
             (SELECT count(*) FROM gateway.journal
               WHERE tenant = 1 AND site = 1 AND event_type = 'visitor.changed' AND position > ${before.head})::integer AS receipts
        FROM platform.note WHERE text LIKE 'pooled %'`;
    console.info(`${WRITES} writes, ${attempts} attempts, sessions cut ${hits.join(' + ')}`);
    expect(hits).toEqual([4, 4, 4]);
    expect(made).toEqual({ notes: WRITES, texts: WRITES, receipts: WRITES });
  });

  it('a task runs, a page comes over the socket, a webhook is delivered', async () => {
    const { token } = caller;
    const task = await door.ask('/a2a', {
      token,
      headers: { 'a2a-version': '1.0' },
      body: {
        jsonrpc: '2.0',
        id: 1,
        method: 'SendMessage',
        params: {
          message: {
            messageId: 'pooled-1',
            role: 'ROLE_USER',
            parts: [
              {
                mediaType: 'application/json',
                data: { skill: 'contact_inspection', arguments: { contact_id: 'ctc_1_1_1' } },
              },
            ],
          },
        },
      },
    });
    expect(task.body.result.task.status.state, task.text).toBe('TASK_STATE_COMPLETED');

    const made = await door.ask('/api/v1/subscriptions', {
      token,
      body: definition(['web_1_1'], { start: 'retained' }),
    });
    const { secret } = await addEndpoint(database, caller.credential, receiver.url);
    const client = await connected(door, token);
    await client.attach(made.body.subscription.subscription_id);
    await pause(300); // both replicas listen now and have no receipts left to read
    const told = performance.now();
    await tell(database, 3);
    let events = 0;
    while (events < 3) {
      const page = await client.next('page');
      events += page.events.length;
      client.ack(page);
    }
    const took = performance.now() - told;
    client.end();
    await until(() => receiver.got.filter((got) => verified(secret, got)).length >= 3);
    console.info(`page after ${took.toFixed(0)} ms, ${receiver.got.length} deliveries`);
    expect(took).toBeLessThan(1_000);
  });
});

import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { marked, markOf } from '../../src/sources/chatwoot/mark.ts';
import { type WriteBackWorld, writeBackWorld } from '../support/chatwoot/write-back-world.ts';
import { watchProcess } from '../support/hostile/http-servers.ts';
import { type Case, type HostileServer, hostileServer, message, row } from '../support/hostile/postgres-server.ts';
import { disposition, note } from '../support/ledger/commands.ts';
import type { Reply } from '../support/ledger/world.ts';

/**
 * The servers of a helpdesk are hostile while the gateway writes to it. The write gets a documented answer, another
 * organization is served meanwhile, the source is read further, and the next write to an honest server succeeds.
 */
let world: WriteBackWorld;
let database: HostileServer;
let proxy: Server;
const sockets = new Set<Socket>();
/** The connections that lead to the hostile database server. */
const foul = new Set<Socket>();
/** What the database server sends to the connection of the writes. Undefined: the connection goes to Chatwoot. */
let planted: Case | undefined;
let count = 0;
const fresh = (): string => `key-${++count}`;

beforeAll(async () => {
  database = await hostileServer(() => planted ?? { stage: 'idle', auth: 'trust', change: () => ({ bytes: NONE }) });
  world = await writeBackWorld({
    address: async ({ host, port, role, database: name }) => {
      const real = host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port };
      proxy = createServer((client) => {
        client.once('data', (first) => {
          const hostile = planted !== undefined && first.includes('gateway-write-back');
          const server = connect(hostile ? { host: '127.0.0.1', port: database.port } : real);
          if (hostile) foul.add(server);
          for (const socket of [client, server]) {
            sockets.add(socket);
            socket.on('error', () => undefined);
          }
          server.write(first);
          client.pipe(server).on('close', () => client.destroy());
          server.pipe(client).on('close', () => server.destroy());
        });
        client.on('error', () => undefined);
      });
      await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
      const address = proxy.address();
      return `postgres://${role}@127.0.0.1:${typeof address === 'object' ? address?.port : ''}/${name}`;
    },
  });
});
afterEach(async () => {
  planted = undefined;
  for (const socket of foul) socket.destroy();
  world.api.heal();
  await world.store.sql`UPDATE gateway.write_back SET busy_until = NULL`;
});
afterAll(async () => {
  await world?.close();
  for (const socket of sockets) socket.destroy();
  proxy?.close();
  await database?.close();
});

const NONE = Buffer.alloc(0);
const int32 = (n: number): Buffer => Buffer.from([n >> 24, n >> 16, n >> 8, n]);
/** Milliseconds that a neighbour waits at most, and the milliseconds in which the ledger answers each write. */
const NEIGHBOUR = 250;
const ANSWERED = 8_500;
/** The members of a JSON object. A list of notes may have 4 MiB, and 350,000 members are 3.4 MB. Attributes of 700,000 are 7 MB. */
const names = (n: number): string => Array.from({ length: n }, (_, i) => `"${i.toString(36)}a":1`).join(',');
const MANY = names(700_000);
const NESTED = row('41', null, `{"a":${'['.repeat(500_000)}${']'.repeat(500_000)}}`);
const ATTRIBUTES = row('41', null, `{${MANY}}`);

/** Runs `work` beside requests of another organization, which must not wait. Returns its result and what it took. */
async function beside<T>(work: () => Promise<T>): Promise<{ done: T; took: number }> {
  const { token } = await world.gateway.issue({ authors: ['opr_1_1_1'] }, 1);
  const ask = async (): Promise<number> => {
    const began = performance.now();
    expect((await world.gateway.ask('/api/v1/context', { token })).status).toBe(200);
    return performance.now() - began;
  };
  // What a request takes on this machine now, without the hostile server.
  let alone = 0;
  for (let i = 0; i < 10; i++) alone = Math.max(alone, await ask());
  let [ended, slowest, asked] = [false, 0, 0];
  const began = performance.now();
  const watched = watchProcess();
  const running = work().finally(() => {
    ended = true;
  });
  while (!ended) {
    slowest = Math.max(slowest, await ask());
    asked++;
    await pause(10);
  }
  const took = performance.now() - began;
  const done = await running;
  // A neighbour that asks in the meantime would wait as long as the event loop was held. Its next turn tells.
  await pause(20);
  const { held } = watched();
  console.info(`neighbour: slowest ${slowest.toFixed(0)} ms of ${asked}; held ${held} ms; took ${took.toFixed(0)} ms`);
  expect(asked).toBeGreaterThan(0);
  expect(slowest, 'milliseconds of the slowest request').toBeLessThan(NEIGHBOUR + alone);
  expect(held, 'milliseconds of the event loop').toBeLessThan(NEIGHBOUR);
  return { done, took };
}

/** The source still brings what happens in Chatwoot, and a write to the honest helpdesk succeeds. */
async function worksAfterwards(): Promise<void> {
  planted = undefined;
  for (const socket of foul) socket.destroy();
  world.api.heal();
  await world.store.sql`UPDATE gateway.write_back SET busy_until = NULL`;
  const text = `Of an agent ${fresh()}`;
  await world.desk.sql`INSERT INTO notes (content, account_id, contact_id, user_id, created_at, updated_at)
    VALUES (${text}, 1, 1, 1, now() AT TIME ZONE 'UTC', now() AT TIME ZONE 'UTC')`;
  const seen = async () => (await world.store.sql`SELECT 1 FROM platform.note WHERE text = ${text}`).length;
  await expect.poll(seen, { timeout: 15_000 }).toBeGreaterThan(0);
  expect((await add(`Afterwards ${fresh()}`)).status).toBe(200);
  expect((await set('refund')).status).toBe(200);
}

const add = async (text: string): Promise<Reply> => world.write('REST', note(text, await world.visitor(1)), fresh());
const set = async (value: string): Promise<Reply> =>
  world.write('REST', disposition(value, await world.conversation(1)), fresh());

describe('an API of a helpdesk', () => {
  it.each([350_000, 45_000])('that lists %i names holds nobody while the gateway looks for a note', async (n) => {
    const body = Buffer.from(`[{${names(n)}}]`);
    world.api.fail('POST', '/notes', { kind: 'lost' });
    const unknown = await add('Looked for');
    expect(unknown.code).toBe('outcome_unknown');
    world.api.fail('GET', '/notes', { kind: 'body', body });
    await beside(() => world.reconcile(unknown.operationId));
    expect(await world.status(unknown.operationId)).toBe('outcome_unknown');
    // Such an answer is not parsed at all.
    if (n === 350_000) expect(String(world.logged.at(-1))).toContain('not JSON or is too long');
    world.api.heal();
    const settled = async () => {
      await world.reconcile(unknown.operationId);
      return world.status(unknown.operationId);
    };
    await expect.poll(settled).toBe('acknowledged');
    await worksAfterwards();
  });

  it.each(['note', 'disposition'] as const)('that answers a %s with 48,000 names holds nobody', async (what) => {
    const body = Buffer.from(`{"custom_attributes":{${names(48_000)}}}`);
    expect(body.length).toBeGreaterThan(400_000);
    world.api.fail('POST', what === 'note' ? '/notes' : '/custom_attributes', { kind: 'body', body });
    const { done, took } = await beside(() => (what === 'note' ? add('Names') : set('solved')));
    expect(done.code).toBe('outcome_unknown');
    expect(took).toBeLessThan(ANSWERED);
    await worksAfterwards();
  });

  it('that lists the note with a text of 4 MB stores nothing of it', async () => {
    world.api.fail('POST', '/notes', { kind: 'lost' });
    const unknown = await add('Grown');
    expect(unknown.code).toBe('outcome_unknown');
    const content = marked('x'.repeat(4_000_000), 'Ada', markOf(unknown.operationId ?? ''));
    const body = Buffer.from(JSON.stringify([{ id: 999_999, content, created_at: 1_700_000_000 }]));
    world.api.fail('GET', '/notes', { kind: 'body', body });
    await beside(() => world.reconcile(unknown.operationId));
    expect(await world.status(unknown.operationId)).toBe('outcome_unknown');
    const [stored] = await world.store.sql`SELECT max(length(text)) AS longest FROM platform.note`;
    expect(stored?.['longest']).toBeLessThan(200_000);
    await worksAfterwards();
  });

  it('that never answers gets no more than the time of a write', async () => {
    world.api.fail('POST', '/notes', { kind: 'hang' });
    const { done, took } = await beside(() => add('Never answered'));
    expect(done.code).toBe('outcome_unknown');
    expect(took).toBeLessThan(ANSWERED);
    await worksAfterwards();
  });
});

const READ = { parameters: 3, columns: ['display_id', 'standby', 'attributes'] };
/** A case whose database server answers this number of the conversation. */
const numbered = (number: string): Case => ({
  ...{ stage: 'rows', auth: 'trust', statement: READ },
  change: () => ({
    bytes: Buffer.concat([message('2'), row(number, null, '{}'), message('C', 'SELECT 1\0'), message('Z', 'I')]),
  }),
});
const DATABASES: Readonly<Record<string, Case>> = {
  'sends 7 MB of attributes': {
    ...{ stage: 'rows', auth: 'trust', statement: READ },
    change: () => ({
      bytes: Buffer.concat([...[message('2'), ATTRIBUTES, message('C', 'SELECT 1\0'), message('Z', 'I')]]),
    }),
  },
  'sends attributes that are not JSON': {
    ...{ stage: 'rows', auth: 'trust', statement: READ },
    change: () => ({
      bytes: Buffer.concat([message('2'), row('41', null, '{'), message('C', 'SELECT 1\0'), message('Z', 'I')]),
    }),
  },
  'names another endpoint in place of a conversation': numbered('../agents?x='),
  'names another account in place of a conversation': numbered('../../2/conversations/41'),
  'names no conversation': numbered('0'),
  'sends attributes of 500,000 nested arrays': {
    ...{ stage: 'rows', auth: 'trust', statement: READ },
    change: () => ({ bytes: Buffer.concat([message('2'), NESTED, message('C', 'SELECT 1\0'), message('Z', 'I')]) }),
  },
  'asks for 100,000 iterations': {
    ...{ stage: 'first', auth: 'scram' },
    change: ([honest = NONE]) => ({
      bytes: message('R', int32(11), honest.toString('latin1', 9).replace('i=4096', 'i=100000')),
    }),
  },
  'breaks a message': { stage: 'row', auth: 'trust', change: () => ({ bytes: message('T', Buffer.from([255, 255])) }) },
  'sends rows for ever': {
    ...{ stage: 'rows', auth: 'trust' },
    change: () => ({ bytes: Buffer.concat(Array.from({ length: 2_000 }, () => row('1', null))), endless: true }),
  },
  'is silent': { stage: 'auth', auth: 'trust', change: () => ({ bytes: NONE, after: 'silence' }) },
};

describe('a database server of a helpdesk', () => {
  it.each(Object.keys(DATABASES))('that %s holds nobody, and nothing is written', async (name) => {
    // The connection of an earlier write stands at the honest server.
    await world.desk
      .sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'gateway-write-back'`;
    await pause(100);
    planted = DATABASES[name];
    const posts = world.api.asked.length;
    const { done, took } = await beside(() => set('spam'));
    expect(world.api.asked.slice(posts).filter((one) => one.startsWith('POST'))).toEqual([]);
    expect([done.status, done.code]).toEqual([503, 'native_unavailable']);
    expect(took).toBeLessThan(ANSWERED);
    await worksAfterwards();
  });
});

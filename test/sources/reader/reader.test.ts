import { createServer, type Server, type Socket } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { packageRoot } from '../../../src/config/package.ts';
import { explainSource, SourceRefused } from '../../../src/sources/follow/explain.ts';
import { startSources } from '../../../src/sources/follow/runner.ts';
import type { SourceSettings } from '../../../src/sources/kinds.ts';
import { PositionLost } from '../../../src/sources/lost.ts';
import { openReader, openStoredReader } from '../../../src/sources/reader/reader.ts';
import type { Page, Source } from '../../../src/sources/source.ts';
import { message, seed } from '../../support/chatwoot/source-rows.ts';
import { type ChatwootWorld, chatwootWorld } from '../../support/chatwoot/source-world.ts';
import { freshDatabase, type TestDatabase } from '../../support/database.ts';
import { built } from '../../support/replica.ts';
import { addSource, keys } from '../../support/sources.ts';

let store: TestDatabase;
let desk: ChatwootWorld;
const opened: { close(): Promise<unknown> | unknown }[] = [];
beforeAll(built, 120_000);
beforeEach(async () => {
  store = await freshDatabase();
  desk = await chatwootWorld();
});
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
  await store.close();
  await desk.close();
});
const servers: Server[] = [];
afterAll(() => servers.forEach((server) => void server.close()));

const PASSWORD = 'canary-Xq7';
const ENCODED = 'p%40ss-canary';
const planted = new URL('dist/test/support/reader/planted.js', packageRoot);
const remembering = new URL('dist/test/support/reader/remembering.js', packageRoot);
const settings = (more: Partial<SourceSettings> = {}): SourceSettings => ({
  ...{ address: `postgres://u:${PASSWORD}@127.0.0.1:1/x`, account: '1', mode: 'poll', period: 1 },
  ...{ timeZone: 'UTC', storage: null, reader: 'src_planted' },
  ...more,
});
function open(more: Partial<SourceSettings> = {}, options: Parameters<typeof openReader>[2] = {}): Source {
  const source = openReader('chatwoot', settings(more), options);
  opened.push(source);
  return source;
}
/** Milliseconds within which this thread answers. Beside other tests it took 28 to 137 ms (2026-11-24). */
const ANSWERS = 1_000;
/** The longest time for which this thread did not answer, in milliseconds. */
async function delay(work: () => Promise<unknown>): Promise<number> {
  const histogram = monitorEventLoopDelay({ resolution: 10 });
  histogram.enable();
  await work();
  histogram.disable();
  return histogram.max / 1e6;
}
const failure = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );
const soon = { timeout: 25_000, interval: 200 };

test.each(['poll', 'live'] as const)(
  'a source in mode %s is loaded, followed and compared by a thread of its own',
  async (mode) => {
    await desk.grant(mode);
    await seed(desk.sql);
    await message(desk.sql, 1, { content: '<p>one</p>', content_type: 8 });
    await addSource(store, { address: desk.address(), mode });
    const errors: unknown[] = [];
    const running = startSources({
      ...{ db: store.db, writer: store.db, explain: explainSource },
      open: (row) => openStoredReader(keys, row),
      onError: (error) => errors.push(error),
    });
    opened.push({ close: () => running.stop() });
    const texts = async () => (await store.sql`SELECT text FROM platform.message ORDER BY id`).map(({ text }) => text);
    await expect.poll(texts, soon).toEqual(['one']);
    await message(desk.sql, 2, { content: 'two', updated_at: new Date().toISOString() });
    await expect.poll(texts, soon).toEqual(['one', 'two']);
    expect(errors).toEqual([]);
  },
  60_000,
);

/** Writes ten of the longest mails. Each element becomes an object of the parser, and each character takes two bytes. */
async function longestMails(): Promise<void> {
  const mail = '<b>の</b>'.repeat(90_000);
  for (let id = 1; id <= 10; id++)
    await message(desk.sql, id, { content: mail, content_type: 8, updated_at: new Date().toISOString() });
}

test('a page of 8 MiB of the longest mails, and its comparison, fit into the memory of a reader', async () => {
  await desk.grant('poll');
  await seed(desk.sql);
  await longestMails();
  const source = open({ address: desk.address() });
  const read: string[] = [];
  const take = ({ changes, after }: Page): Page['after'] => {
    read.push(...changes.map(({ from }) => from).filter((from) => from.startsWith('messages/')));
    return after;
  };
  const begun = await source.begin();
  for (let after = take(await source.load(null)); after !== null; after = take(await source.load(after)));
  expect(new Set(read).size).toBe(10);
  take(await source.changes(begun));
  const all = Array.from({ length: 10 }, (_, i) => `messages/${i + 1}`);
  for await (const changes of source.reread(all)) take({ changes, after: null, more: false });
  expect(read.length).toBeGreaterThanOrEqual(20);
}, 120_000);

test('a page of the longest mails fits into the memory of a reader whose memories of told rows are full', async () => {
  await desk.grant('poll');
  await seed(desk.sql);
  const source = open({ address: desk.address() }, { entry: remembering });
  const begun = await source.begin();
  await longestMails();
  let filled = 0;
  for (let after: Page['after'] = { round: 1, from: 0 }; after !== null && after['round'] !== 3; ) {
    const page: Page = await source.changes(after);
    filled += page.changes.length;
    ({ after } = page);
  }
  expect([filled, await source.unmapped()]).toEqual([400_000, { known: 1 }]);
  const read = new Set<string>();
  for (let after: Page['after'] = begun, more = true; more && after !== null; ) {
    const page: Page = await source.changes(after);
    for (const { from } of page.changes) if (from.startsWith('messages/')) read.add(from);
    ({ after, more } = page);
  }
  expect(read.size).toBe(10);
}, 120_000);

test('errors keep their class and code, and a password does not cross', async () => {
  const source = open({ address: desk.address() });
  await desk.grant('poll');
  expect(await failure(source.changes({ no: 'place' }))).toBeInstanceOf(PositionLost);
  const away = open({}, {});
  expect(explainSource(await failure(away.begin()))).toBe(
    'The database of the helpdesk cannot be reached. The gateway tries again.',
  );
  const error = await failure(open({}, { entry: planted }).behind({}));
  expect(error).toMatchObject({ code: '28P01', message: expect.not.stringContaining(PASSWORD) });
});

test('no error of a call tells a password, neither as the address writes it nor as the server gets it', async () => {
  const address = `postgres://u:${ENCODED}@127.0.0.1:1/x`;
  const [one, other] = [open({ address }, { entry: planted }), open({ address }, { entry: planted })];
  for (const error of await Promise.all([failure(one.behind({})), failure(other.changes({}))])) {
    // With its cause and the stacks.
    const told = inspect(error, { depth: null });
    expect(told).toMatch(/(refused for|a message with) postgres:/);
    for (const secret of [ENCODED, decodeURIComponent(ENCODED)]) expect(told).not.toContain(secret);
  }
});

test('a row on which a reader hangs is named and left out by the next reader, and the other rows are written', async () => {
  const hung = await failure(open({ reader: 'src_hang' }, { entry: planted, silent: 3 }).load(null));
  expect(hung).toBeInstanceOf(SourceRefused);
  const { changes } = await open({ reader: 'src_hang' }, { entry: planted, silent: 3 }).load(null);
  expect(changes).toMatchObject([
    { from: 'contacts/1', prepared: { row: { external_id: 'a' } } },
    { from: 'contacts/2', prepared: { refused: [{ pointer: '', code: 'unreadable' }] } },
    { from: 'contacts/3', prepared: { row: { external_id: 'c' } } },
  ]);
  // Another source has rows of the same names.
  expect(await failure(open({ reader: 'src_other' }, { entry: planted, silent: 2 }).load(null))).toBeInstanceOf(
    SourceRefused,
  );
}, 60_000);

test('a page of more than 200,000 changes is refused before the reader looks at one of them', async () => {
  expect(await failure(open({}, { entry: planted }).changes({ many: true }))).toMatchObject({
    name: 'ForeignServerRefused',
    message: expect.stringContaining('more rows than the gateway asked for'),
  });
});

test('an uncaught error and a full memory end the reader only, and this thread answers meanwhile', async () => {
  const thrown = open({}, { entry: planted });
  expect(await failure(thrown.changes({}))).toMatchObject({
    name: 'SourceRefused',
    message: expect.stringContaining('ended unexpectedly'),
  });
  expect(await failure(thrown.begin())).toBeInstanceOf(SourceRefused);
  const full = open({}, { entry: planted });
  let error: unknown;
  const longest = await delay(async () => {
    error = await failure(full.missing('contact', []));
  });
  console.info(`the longest delay while a reader filled its memory: ${longest.toFixed(0)} ms`);
  expect(error).toMatchObject({ message: expect.stringContaining('ended unexpectedly') });
  expect(longest).toBeLessThan(ANSWERS);
}, 60_000);

/** A server that answers the first message of each connection with these bytes. */
async function hostile(answer: Buffer): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('data', () => socket.write(answer));
  });
  servers.push(server);
  opened.push({ close: () => sockets.forEach((socket) => void socket.destroy()) });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return `postgres://u:${PASSWORD}@127.0.0.1:${typeof address === 'object' ? address?.port : 0}/x`;
}

function packet(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}
const OK = packet('R', Buffer.alloc(4));
const READY = packet('Z', Buffer.from('I'));
/** A column whose name has no end. */
const COLUMN = packet('T', Buffer.concat([Buffer.from([0, 1]), Buffer.alloc(40, 0x61)]));
const SASL = packet('R', Buffer.concat([Buffer.from([0, 0, 0, 10]), Buffer.from('SCRAM-SHA-256\0\0')]));
const CONTINUE = packet('R', Buffer.concat([Buffer.from([0, 0, 0, 11]), Buffer.from('r=x,s=AAAA,i=0')]));

test.each([
  ['a column name without an end', Buffer.concat([OK, READY, COLUMN])],
  ['SCRAM with no iterations', Buffer.concat([SASL, CONTINUE])],
])(
  'a server that sends %s ends its own reader only',
  async (_, answer) => {
    const source = open({ address: await hostile(answer) });
    let error: unknown;
    const longest = await delay(async () => {
      error = await failure(source.begin());
    });
    console.info(`${String(error)}; the longest delay of this thread: ${longest.toFixed(0)} ms`);
    expect(error).toMatchObject({ name: 'ForeignServerRefused' });
    expect(longest).toBeLessThan(ANSWERS);
  },
  60_000,
);

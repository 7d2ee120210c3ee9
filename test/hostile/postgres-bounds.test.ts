import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Asked, askHostile } from '../support/hostile/postgres-client.ts';
import {
  type Case,
  columns,
  type HostileServer,
  hostileServer,
  message,
  noticeOf,
  row,
} from '../support/hostile/postgres-server.ts';

/** A hostile database server keeps to the form of each message, and sends as much as it can. */
const MIB = 2 ** 20;
const LONGEST = 8 * MIB;
const int32 = (n: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(n);
  return bytes;
};
const READY = message('Z', 'I');
const DONE = message('C', 'SELECT 1\0');
const FIVE = Array.from({ length: 5 }, () => LONGEST);
/** One letter that is not Latin makes the text of a value take two bytes for each of its characters. */
const text = (bytes: number): string => `の${'a'.repeat(bytes - 3)}`;
const repeated = (count: number, one: Buffer): Buffer => Buffer.concat(Array.from({ length: count }, () => one));
const answer =
  (...rows: readonly Buffer[]): Case['change'] =>
  () => ({ bytes: Buffer.concat([message('2'), ...rows, DONE, READY]) });
const notification = message('A', int32(1), 'channel\0x\0');
const notice = noticeOf('N', '00000');
const settings = Buffer.concat(Array.from({ length: 200_000 }, (_, i) => message('S', `p${i}\0\0`)));
/** The driver keeps a result for each command that is complete, and the columns of each. */
const ENDED = message('C', 'X\0');
const results = Buffer.concat([columns(), ENDED]);
const wide = Buffer.concat([columns(...Array.from({ length: 1_664 }, () => '')), ENDED]);
const before =
  (bytes: Buffer): Case['change'] =>
  (honest) => ({ bytes: Buffer.concat([bytes, ...honest]) });
const endless =
  (one: Buffer): Case['change'] =>
  () => ({ bytes: repeated(2_000, one), endless: true });
const rows = (...lengths: readonly number[]): Case['change'] =>
  answer(...lengths.map((length) => row(text(length), null)));

type Named = readonly [stage: Case['stage'], way: Asked['way'], change: Case['change'], said: string, rows: number];
const TOO_LONG = 'an answer is longer than 50331648 bytes';
const SETTINGS = 'tells more than 100 settings';
/** What the server sends, and what the gateway says of it. Rows: how many the caller gets at least. */
const NAMED: Readonly<Record<string, Named>> = {
  'a value of 8 MiB': ['rows', 'query', rows(LONGEST), '', 1],
  'a value of 8 MiB and a byte': ['rows', 'query', rows(LONGEST + 1), 'a value is longer than 8388608 bytes', 0],
  'values of 8 MiB up to 48 MiB': ['rows', 'query', rows(...FIVE, LONGEST - 4_096), '', 6],
  'values of 8 MiB beyond 48 MiB': ['rows', 'query', rows(...FIVE, LONGEST), TOO_LONG, 0],
  '200,000 rows where 3 are expected': ['rows', 'query', answer(repeated(200_000, row('1', null))), '', 200_000],
  '1,000,000 rows where 3 are expected': ['rows', 'query', answer(repeated(1_000_000, row('1', null))), TOO_LONG, 0],
  '100,000 notifications at once': ['idle', 'listen', before(repeated(100_000, notification)), '', 2],
  '100,000 notifications in a query': ['rows', 'query', before(repeated(100_000, notification)), '', 3],
  'endless notices in a query': ['rows', 'query', endless(notice), TOO_LONG, 0],
  'endless notices while idle': ['idle', 'twice', endless(notice), TOO_LONG, 0],
  'endless settings in a query': ['rows', 'query', endless(message('S', 'a\0b\0')), SETTINGS, 0],
  'endless settings while idle': ['idle', 'twice', endless(message('S', 'a\0b\0')), SETTINGS, 0],
  'settings of 200,000 names': ['rows', 'query', before(settings), SETTINGS, 0],
  'endless results': ['simple', 'script', endless(results), TOO_LONG, 0],
  'endless columns': ['simple', 'script', () => ({ bytes: repeated(10, wide), endless: true }), TOO_LONG, 0],
};

let server: HostileServer;
beforeAll(async () => {
  const cases = Object.values(NAMED);
  server = await hostileServer((name) => {
    const [stage = 'idle', , change] = cases[Number(name)] ?? [];
    return { stage, auth: 'trust', change: change ?? ((honest) => ({ bytes: Buffer.concat(honest) })) };
  });
});
afterAll(() => server.close());

test.each(Object.entries(NAMED))(
  '%s cost neither memory nor turns, and end in time',
  async (name, [, way, , said, least]) => {
    const asked = [{ name: String(Object.keys(NAMED).indexOf(name)), way }];
    const told = (await askHostile(server.port, asked, { patience: 20_000, limit: 40_000 })) ?? expect.fail('no end');
    const [one] = told.found;
    console.info(
      `${name}: ${one?.took.toFixed(0)} ms, event loop ${told.longest.toFixed(0)} ms, memory ${told.peak.toFixed(0)} MiB`,
    );
    expect(one?.said).toContain(said);
    if (said === '') expect(one?.said).toBe('');
    expect(one?.rows).toBeGreaterThanOrEqual(least);
    expect(told.uncaught).toEqual([]);
    expect(told.longest, 'milliseconds of the event loop').toBeLessThan(250);
    // A process without any answer takes 50 MiB.
    expect(told.peak, 'MiB of memory').toBeLessThan(250);
  },
);

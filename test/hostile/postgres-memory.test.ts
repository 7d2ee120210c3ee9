import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkout } from '../support/command.ts';
import { type HostileServer, hostileServer, message, row } from '../support/hostile/postgres-server.ts';
import { READER } from '../support/reader/memory.ts';

/**
 * A source whose thread is full ends alone. V8 ends the whole process if a full thread has no room for one very large
 * value, so the longest value must never do so.
 */
const LONGEST = 8 * 2 ** 20;
const values = Array.from({ length: 5 }, () => row(`の${'a'.repeat(LONGEST - 3)}`, null));
const answer = Buffer.concat([message('2'), ...values, message('C', 'SELECT 5\0'), message('Z', 'I')]);

interface Told {
  readonly said: readonly string[];
  /** Milliseconds of the neighbour's slowest request, and how many it made. */
  readonly slowest: number;
  readonly requests: number;
  /** MiB of the process before the readers, at most, and a second after their first answers. */
  readonly before: number;
  readonly peak: number;
  readonly after: number;
}

let server: HostileServer;
beforeAll(async () => {
  server = await hostileServer(() => ({ stage: 'rows', auth: 'trust', change: () => ({ bytes: answer }) }));
});
afterAll(() => server.close());

/** Resolves to undefined when the process ends by itself. */
function readers(count: number, entry = ''): Promise<Told | undefined> {
  const script = join(checkout, 'test/support/hostile/readers.mjs');
  const address = `postgres://reader:x@127.0.0.1:${server.port}/longest`;
  const child = spawn(process.execPath, [script, join(checkout, 'dist'), address, String(count), entry], {
    env: { PATH: process.env['PATH'], LOG_LEVEL: 'silent' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let written = '';
  child.stdout.on('data', (part: Buffer) => (written += part.toString()));
  return new Promise(
    (resolve) => child.once('close', (code) => resolve(code === 0 ? (JSON.parse(written) as Told) : undefined)), // the script has written this document
  );
}

/** What V8's own choice of a moment to collect adds to a figure. */
const SLACK = 1.25;

test('readers whose memory is full of the longest values end alone, and a neighbour is answered meanwhile', async () => {
  const told =
    (await readers(2, join(checkout, 'dist/test/support/reader/filled.js'))) ?? expect.fail('the process has ended');
  const each = (told.peak - told.before) / 2;
  console.info(`a full reader: ${each.toFixed(0)} MiB; the neighbour's slowest request: ${told.slowest.toFixed(0)} ms`);
  const ended = 'The reader of the source ended unexpectedly. The gateway tries again.';
  expect(told.said).toEqual([ended, ended]);
  expect(each).toBeLessThan(READER.full * SLACK);
  expect(told.requests).toBeGreaterThan(20);
  expect(told.slowest).toBeLessThan(250);
});

test('eight readers that wait take little memory', async () => {
  const told = (await readers(8)) ?? expect.fail('the process has ended');
  const each = (told.after - told.before) / 8;
  console.info(`a reader that waits: ${each.toFixed(0)} MiB`);
  expect(told.said.length).toBe(8);
  expect(each).toBeGreaterThan(5);
  expect(each).toBeLessThan(READER.waiting * SLACK);
});

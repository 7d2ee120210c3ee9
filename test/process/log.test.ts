import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, expect } from 'vitest';
import { prettyLine } from '../../src/process/pretty.ts';
import { checkout, main, shellEnvironment, urlOf } from '../support/command.ts';
import { freshDatabase, type TestDatabase } from '../support/database.ts';
import { itOnce as it, itInFull } from '../support/form.ts';
import { freePort } from '../support/port.ts';
import { startReplica } from '../support/replica.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase('demo');
});
afterAll(() => database.close());

const ask = async (url: string, path: string): Promise<void> => {
  await (await fetch(url + path, { headers: { connection: 'close' }, redirect: 'manual' })).text();
};

it('on a pipe the log is JSON: requests of documents are logged as docs with their path, a made-up path is not', async () => {
  const replica = await startReplica({ databaseUrl: urlOf(database), env: { LOG_LEVEL: 'info' } });
  const paths = ['/docs', '/docs/guides/overview', '/problems/not_found', '/llms.txt', '/api/v1/openapi.json', '/'];
  for (const path of paths) await ask(replica.url, `${path}?secret=1`.replace('/?secret=1', '/'));
  for (const path of ['/docs/made-up', '/made-up', '/livez', '/readyz', '/LIVEZ/']) await ask(replica.url, path);
  await replica.end();
  expect(replica.log()).toMatch(/^\{"level":"info"[^\n]*"path":"\/docs"/m);
  const requests = replica
    .log()
    .split('\n')
    .filter((line) => line.includes('"msg":"request"'))
    .map((line) => JSON.parse(line) as { operation: string; path?: string }); // written by the gateway
  expect(requests.map(({ operation, path }) => [operation, path])).toEqual([
    ...paths.map((path) => ['docs', path]),
    ['none', undefined],
    ['none', undefined],
    ['none', '/livez'],
    ['none', '/readyz'],
    ['none', undefined],
  ]);
  expect(replica.log()).not.toMatch(/secret|made-up/);
});

itInFull('the log is readable on a pipe with LOG_FORMAT=pretty', async () => {
  const replica = await startReplica({
    databaseUrl: urlOf(database),
    env: { LOG_LEVEL: 'info', LOG_FORMAT: 'pretty' },
  });
  await ask(replica.url, '/docs');
  await replica.end();
  expect(replica.log()).toMatch(/^\d\d:\d\d:\d\d {2}200 GET \/docs docs {2}[\d.]+ ms {2}req_\w+$/m);
});

it('the log is readable on a terminal', () => onTerminal({}, /^\S*\d\d:\d\d:\d\d\S* {2}200 GET \/docs docs/m));
itInFull('the log is JSON on a terminal with LOG_FORMAT=json', () =>
  onTerminal({ LOG_FORMAT: 'json' }, /^\{"level":"info"[^\n]*"path":"\/docs"/m),
);

async function onTerminal(env: Readonly<Record<string, string>>, expected: RegExp): Promise<void> {
  const port = await freePort();
  const child = spawn('script', ['-qefc', `'${process.execPath}' '${main}' serve`, '/dev/null'], {
    cwd: checkout,
    env: shellEnvironment({
      DATABASE_URL: urlOf(database),
      GATEWAY_KEYS: `1:${'A'.repeat(43)}=`,
      PORT: `${port}`,
      TERM: 'xterm',
      ...env,
    }),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let shown = '';
  child.stdout.on('data', (part: Buffer) => {
    shown += part.toString();
  });
  const ended = once(child, 'close');
  await expect.poll(() => shown).toContain('gateway ready on');
  await ask(`http://127.0.0.1:${port}`, '/docs');
  await expect.poll(() => shown).toMatch(expected);
  child.stdin.write('\u0003'); // Ctrl+C
  await ended;
  expect(shown).toContain('gateway stopping');
}

it('a readable line has every member, keeps errors and gives a terminal no control characters', () => {
  const time = '2026-11-22T10:00:00.000Z';
  const line = (entry: object): string => prettyLine(JSON.stringify({ time, ...entry }), false).replace(/^\S+ {2}/, '');
  expect(line({ level: 'info', msg: 'schema at version 13' })).toBe('schema at version 13');
  expect(line({ level: 'warn', worker: 7, signal: 'SIGKILL', msg: 'a worker ended' })).toBe(
    'warn  a worker ended  worker=7 signal=SIGKILL',
  );
  expect(
    line({
      level: 'info',
      method: 'GET',
      operation: 'none',
      status: 404,
      ms: 1.5,
      request_id: 'req_1',
      msg: 'request',
    }),
  ).toBe('404 GET unknown path  1.5 ms  req_1');
  const unreadable = { operation: 'none', status: 400, code: 'invalid_request', request_id: 'req_1', msg: 'request' };
  expect(line({ level: 'info', ...unreadable })).toBe('400 no readable request  code=invalid_request  req_1');
  expect(
    line({ level: 'error', err: { kind: 'TypeError', code: 'E1', stack: ['    at a', '    at b'] }, msg: 'failed' }),
  ).toBe('error  failed\n    TypeError E1\n    at a\n    at b');
  expect(line({ level: 'info', msg: 'x', name: '\u001b[2J\u202e' })).toBe('x  name=\ufffd[2J\ufffd');
});

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isAlive } from '../support/alive.ts';
import { gateway } from '../support/cli.ts';
import { issue } from '../support/credentials.ts';
import { freshDatabase, type TestDatabase } from '../support/database.ts';
import { definition } from '../support/events/subscriptions.ts';
import { eventually } from '../support/eventually.ts';
import { readScrape, type Series, sumOf } from '../support/observe.ts';
import { type Replica, startReplica } from '../support/replica.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase('demo');
});
afterAll(() => database.close());

const WORKERS = 2;
const start = (env: Readonly<Record<string, string>> = {}): Promise<Replica> => {
  const { host, port, name } = database;
  const databaseUrl = `postgres://postgres@${encodeURIComponent(host)}:${port}/${name}`;
  return startReplica({ databaseUrl, args: ['--workers', `${WORKERS}`], env });
};

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);

const scrape = async (url: string): Promise<Series[]> => {
  // A request needs a timeout here: node:cluster can give a connection to a worker that was just killed, and then
  // nobody answers.
  const answer = await fetch(`${url}/metrics`, {
    headers: { connection: 'close' },
    signal: AbortSignal.timeout(2_500),
  });
  expect(answer.status).toBe(200);
  return readScrape(await answer.text());
};
const placesOf = (series: readonly Series[], metric: string): (string | undefined)[] =>
  series.filter(({ name }) => name === metric).map(({ labels }) => labels['worker']);
const served = (series: readonly Series[], worker?: string): number | undefined =>
  sumOf(series, 'gateway_requests_total', { operation: 'gateway_context', ...(worker !== undefined && { worker }) });

/**
 * After eight requests, each worker must report the metrics of both workers. Each worker has its own series. The store
 * has a single series for all workers.
 */
async function toldByEach(url: string): Promise<(number | undefined)[]> {
  let series = await scrape(url);
  const counts = [served(series, '1'), served(series, '2')];
  expect(counts).not.toContain(undefined);
  for (let i = 0; i < 2 * WORKERS; i++) {
    series = await scrape(url);
    expect([served(series, '1'), served(series, '2'), served(series)]).toEqual([...counts, 8]);
  }
  expect(sumOf(series, 'gateway_workers')).toBe(WORKERS);
  expect(sumOf(series, 'gateway_workers_told')).toBe(WORKERS);
  expect(placesOf(series, 'gateway_store_up')).toEqual([undefined]);
  expect(new Set(placesOf(series, 'process_start_time_seconds'))).toEqual(new Set(['1', '2', 'supervisor']));
  return counts;
}

/**
 * Checks the metrics while one of the two workers is missing. The series of the living worker must stay unchanged. No
 * other series may replace the series of the missing worker.
 */
async function toldByTheRest(url: string, counts: readonly (number | undefined)[]): Promise<void> {
  await eventually(async () => {
    const series = await scrape(url);
    expect(sumOf(series, 'gateway_workers_told')).toBe(1);
    const left = [served(series, '1'), served(series, '2')];
    expect([
      [counts[0], undefined],
      [undefined, counts[1]],
    ]).toContainEqual(left);
  });
}

it('share the port; one that is killed is replaced, and the others serve meanwhile', async () => {
  const replica = await start();
  const workers = childrenOf(replica.pid);
  expect(workers).toHaveLength(WORKERS);
  const { token } = await issue(database.sql, 1);
  const ask = (): Promise<number> =>
    fetch(`${replica.url}/api/v1/context`, { headers: { authorization: `Bearer ${token}`, connection: 'close' } }).then(
      ({ status }) => status,
    );
  expect(new Set(await Promise.all(Array.from({ length: 8 }, ask)))).toEqual(new Set([200]));
  const counts = await toldByEach(replica.url);
  const [first = 0] = workers;
  process.kill(first, 'SIGKILL');
  await eventually(() => expect(isAlive(first)).toBe(false));
  await toldByTheRest(replica.url, counts);
  for (let i = 0; i < 8; i++) expect(await ask()).toBe(200);
  await eventually(() => expect(childrenOf(replica.pid)).toHaveLength(WORKERS));
  await pause(500);
  const now = childrenOf(replica.pid);
  expect(now.filter((pid) => !workers.includes(pid))).toHaveLength(1);
  await eventually(async () => expect(sumOf(await scrape(replica.url), 'gateway_workers_told')).toBe(WORKERS));
  const after = await scrape(replica.url);
  expect(new Set(placesOf(after, 'process_start_time_seconds'))).toEqual(new Set(['1', '2', 'supervisor']));
  // A service manager sends SIGTERM to the supervisor and to its workers. The supervisor also sends SIGTERM to its
  // workers, so the workers get SIGTERM twice.
  const answer = await underWay(replica.url, token);
  for (const pid of [...now, replica.pid]) process.kill(pid, 'SIGTERM');
  await eventually(() => expect(replica.stderr()).toContain('gateway stopping'));
  await pause(200);
  expect(await answer()).toBe(201);
  expect(await replica.exited).toEqual({ code: 0, signal: null });
  expect(now.filter(isAlive)).toEqual([]);
});

/**
 * Starts a request without its body, so that the request stays open. The returned function sends the body and returns
 * the status of the answer.
 */
async function underWay(url: string, token: string): Promise<() => Promise<number | undefined>> {
  const body = JSON.stringify(definition(['web_1_1']));
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', expect: '100-continue' };
  const asked = request(`${url}/api/v1/subscriptions`, {
    method: 'POST',
    headers: { ...headers, 'content-length': body.length },
  });
  const answered = once(asked, 'response');
  answered.catch(() => undefined); // the caller of `underWay` gets this error
  asked.flushHeaders();
  await once(asked, 'continue');
  return async () => {
    asked.end(body);
    const [response]: IncomingMessage[] = await answered;
    response?.resume();
    return response?.statusCode;
  };
}

it('end with the process that supervises them, however it ends', async () => {
  const replica = await start();
  const workers = childrenOf(replica.pid);
  await replica.kill9();
  await eventually(() => expect(workers.filter(isAlive)).toEqual([]), 12_000);
});

it('a port in use is refused once, before any of them starts', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const address = taken.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const refusal = await start({ PORT: `${port}` }).catch((error: unknown) => String(error));
  taken.close();
  expect(refusal).toBe(
    `Error: replica ended with 1: gateway: Port ${port} on 127.0.0.1 is in use. Choose another with PORT.\n`,
  );
});

it.each(['0', '65', '-1', 'two', '1.5', ''])('--workers %j is wrong usage', async (count) => {
  expect((await gateway('serve', '--workers', count)).code).toBe(2);
});

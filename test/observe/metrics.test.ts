import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../src/config/package.ts';
import type { CallTrace } from '../../src/core/calls.ts';
import { FAILURE_CODES, statusOf } from '../../src/core/failures.ts';
import { loadSkills, loadTools } from '../../src/gateway/load.ts';
import { labelled } from '../../src/observe/group.ts';
import { openMetrics, type Snapshot } from '../../src/observe/metrics.ts';
import { sharing } from '../../src/observe/sharing.ts';
import { openStoreGauges } from '../../src/observe/store-gauges.ts';
import { startTracing } from '../../src/observe/tracing.ts';
import { COUNTED, readGauges } from '../../src/store/doctor/gauges.ts';
import { openAllowed } from '../../src/surfaces/http/client-address.ts';
import { startServer } from '../../src/surfaces/http/server.ts';
import { type Issued, issue } from '../support/credentials.ts';
import { freshDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { LONG, times } from '../support/form.ts';
import { type Collector, openCollector, readScrape, type Series, sumOf } from '../support/observe.ts';
import { openProxy, type WireProxy } from '../support/pgwire.ts';
import { type Replica, startReplica } from '../support/replica.ts';
import { rpc as a2a, work } from '../support/surfaces/a2a.ts';
import { ENVELOPE, MODERN, rpc as mcp, modern } from '../support/surfaces/mcp.ts';

const MARK = 'zqx7canary';

let database: TestDatabase;
let proxy: WireProxy;
let collector: Collector;
let replica: Replica;
let port: number;
let own: Issued;

beforeAll(async () => {
  database = await freshDatabase('demo');
  proxy = await openProxy(database);
  collector = await openCollector();
  own = await issue(database.sql, 1, { perMinute: 60, burst: 12 });
  replica = await startReplica({
    databaseUrl: proxy.url(database.name),
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_SERVICE_NAME: 'under-test',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=proof',
      OTEL_BSP_SCHEDULE_DELAY: '50',
      GATEWAY_TRUSTED_PROXIES: 'loopback',
      GATEWAY_METRICS_ALLOW: '192.0.2.0/24',
      // The SDK of OpenTelemetry logs a complaint about this unknown compression.
      OTEL_EXPORTER_OTLP_COMPRESSION: MARK,
      LOG_LEVEL: 'warn',
    },
  });
  port = Number(new URL(replica.url).port);
});
afterAll(async () => {
  await replica.end();
  await Promise.all([collector.close(), proxy.close()]);
  await database.close();
});

const scrape = async (url = replica.url): Promise<Series[]> => {
  // node:cluster can give a connection to a worker that was just killed. Nothing answers on such a connection, so the
  // request needs a timeout.
  const answer = await fetch(`${url}/metrics`, {
    headers: { connection: 'close' },
    signal: AbortSignal.timeout(2_500),
  });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  return readScrape(await answer.text());
};
const get = (path: string, token?: string, headers: Record<string, string> = {}) =>
  fetch(`${replica.url}${path}`, {
    headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...headers },
  });

describe('/metrics', () => {
  it('counts requests by surface, operation and outcome, and nothing that somebody sent becomes a label', async () => {
    const rich = await issue(database.sql, 1);
    await get(`/api/v1/websites?${MARK}=${MARK}`, rich.token);
    await get('/api/v1/websites', rich.token, { 'user-agent': MARK, cookie: MARK });
    await get('/api/v1/websites', MARK);
    await get(`/${MARK}`);
    await get(`/api/v1/contacts/${MARK}`, rich.token);
    await mcp(port, rich.token, 'tools/call', { name: MARK, arguments: { [MARK]: MARK } });
    await mcp(port, rich.token, MARK);
    await mcp(port, rich.token, 'tools/call', { name: 'websites_list', arguments: {} });
    await a2a(port, rich.token, 'SendMessage', work(MARK, { [MARK]: MARK }));
    await a2a(port, rich.token, 'SendMessage', work('contact_inspection', { contact_id: MARK }));
    await fetch(`${replica.url}/oauth/token?${MARK}`, { method: 'POST', body: `grant_type=${MARK}&client_id=${MARK}` });
    await get(`/oauth/authorize?client_id=${MARK}`);
    for (let i = 0; i < 14; i++) await get('/api/v1/context', own.token);
    const series = await scrape();
    const count = (surface: string, operation: string, outcome: string) =>
      sumOf(series, 'gateway_requests_total', { surface, operation, outcome });
    expect(count('rest', 'websites_list', 'ok')).toBe(1);
    expect(count('rest', 'websites_list', 'unsupported_parameter')).toBe(1);
    expect(count('rest', 'websites_list', 'unauthenticated')).toBe(1);
    expect(count('public', 'none', 'http_404')).toBe(1);
    expect(count('mcp', 'websites_list', 'ok')).toBe(1);
    expect(count('mcp', 'mcp', '-32602')).toBe(1);
    expect(count('a2a', 'contact_inspection', '-32602')).toBe(1);
    const refused = count('rest', 'gateway_context', 'quota_exceeded') ?? 0;
    expect(refused).toBeGreaterThan(0);
    expect(sumOf(series, 'gateway_quota_refusals_total')).toBe(refused);
    const registry = await loadTools();
    const skills = await loadSkills(registry);
    const known = {
      surface: /^(rest|mcp|a2a|oauth|record|realtime|public)$/,
      operation: new RegExp(
        `^(none|mcp|a2a|realtime_socket|oauth_\\w+|${[...registry.operations.map(({ name }) => name), ...skills.all.map(({ skill }) => skill.name)].join('|')})$`,
      ),
      outcome: new RegExp(
        `^(ok|unfinished|http_\\d{3}|-32\\d{3}|${FAILURE_CODES.join('|')}|invalid_client|invalid_request)$`,
      ),
      pool: /^(reads|slow|upkeep|audit|sources|writes|tasks|ends|replica)$/,
    };
    const ours = series.filter(({ name }) => name.startsWith('gateway_'));
    expect(ours.length).toBeGreaterThan(100);
    for (const { labels } of ours)
      for (const [label, value] of Object.entries(labels))
        if (label in known)
          expect(value).toMatch(known[label as keyof typeof known]); // the label is a key of `known`
        else expect([label, 'le', 'version']).toContain(label);
    expect(JSON.stringify(series)).not.toMatch(new RegExp(`${MARK}|_1_1|crd_|req_|web_|127\\.0\\.0\\.1`));
  });

  it('has durations, pools, sockets, the store’s queues and the process', async () => {
    const series = await scrape();
    const labels = { surface: 'rest', operation: 'websites_list' };
    expect(sumOf(series, 'gateway_request_duration_seconds_count', labels)).toBe(3);
    expect(sumOf(series, 'gateway_request_duration_seconds_bucket', { ...labels, le: '+Inf' })).toBe(3);
    expect(sumOf(series, 'gateway_request_duration_seconds_sum', labels)).toBeLessThan(3);
    for (const [name, value] of [
      ['gateway_realtime_sockets', 0],
      ['gateway_a2a_streams', 0],
      ['gateway_http_requests_waiting', 0],
      ['gateway_http_unread_bytes', 0],
      ['gateway_http_connections_refused_total', 0],
      ['gateway_store_up', 1],
      ['gateway_operations_unsettled', 0],
      ['gateway_journal_receipts_owed', 0],
      ['gateway_webhook_deliveries_pending', 0],
      ['gateway_webhook_oldest_due_seconds', 0],
      ['gateway_tasks_open', 0],
      ['gateway_info', 1],
      ['gateway_pool_waiting', 0],
    ] as const)
      expect(sumOf(series, name), name).toBe(value);
    expect(sumOf(series, 'gateway_pool_connections', { pool: 'reads' })).toBe(8);
    expect(sumOf(series, 'gateway_pool_connections', { pool: 'writes' })).toBe(4);
    for (const name of [
      'process_cpu_seconds_total',
      'process_resident_memory_bytes',
      'nodejs_eventloop_lag_p99_seconds',
    ])
      expect(sumOf(series, name), name).toBeGreaterThan(0);
  });

  it('is not there for whoever is neither on this machine nor allowed', async () => {
    const from = async (headers: Record<string, string>, method = 'GET') => {
      const answer = await fetch(`${replica.url}/metrics`, { method, headers });
      const { status, headers: told } = answer;
      return { status, text: await answer.text(), allow: told.get('allow') };
    };
    expect((await from({ 'x-forwarded-for': '192.0.2.9' })).status).toBe(200);
    expect((await from({}, 'POST')).status).toBe(405);
    for (const headers of [
      { 'x-forwarded-for': '198.51.100.1' },
      { 'x-forwarded-for': '127.0.0.1, 198.51.100.1' },
      { 'x-forwarded-for': 'unknown' },
      { forwarded: 'for=127.0.0.1' },
      { via: '1.1 proxy' },
    ])
      for (const method of ['GET', 'POST', 'HEAD']) {
        const { status, text, allow } = await from(headers, method);
        expect([status, allow], `${method} ${JSON.stringify(headers)}`).toEqual([404, null]);
        expect(text).not.toContain('gateway_');
      }
    // LG-02: each refusal has an audit record at every log level.
    const refused = () => replica.log().match(/"operation":"metrics".*"audit":"authorization","decision":"refused"/g);
    await eventually(() => expect(refused()).toHaveLength(15));
    const told = /"operation":"metrics".*"code":"not_found","source":"198\.51\.100\.1","audit":"authorization"/;
    expect(replica.log()).toMatch(told);
  });

  it('believes addresses and proxies as far as they are set', () => {
    const asked = (address: string, headers: Record<string, string> = {}) => {
      const socket = new Socket();
      Object.defineProperty(socket, 'remoteAddress', { value: address });
      return Object.assign(new IncomingMessage(socket), { headers: { host: 'localhost:8420', ...headers } });
    };
    const alone = openAllowed([], []);
    expect(['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'].filter((one) => !alone(asked(one)))).toEqual([]);
    expect(['10.0.0.1', '192.0.2.1', '::ffff:10.0.0.1', 'fe80::1'].filter((one) => alone(asked(one)))).toEqual([]);
    // An untrusted proxy on this machine can pass on requests from anybody. The gateway therefore refuses requests with
    // these headers.
    const PASSED = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip', 'via'];
    expect(PASSED.filter((name) => alone(asked('127.0.0.1', { [name]: '127.0.0.1' })))).toEqual([]);
    // A foreign Host header can come from a proxy, or from a web page that has rebound its DNS name to this machine.
    // The gateway refuses such requests.
    const NAMES = ['gateway.example', 'localhost.evil.example:8420', '127.0.0.1.evil.example', '192.0.2.1', ''];
    expect(NAMES.filter((host) => alone(asked('127.0.0.1', { host })))).toEqual([]);
    expect(['[::1]:8420', 'LOCALHOST', '127.0.0.1:1'].filter((host) => !alone(asked('::1', { host })))).toEqual([]);
    const wide = openAllowed(['10.1.0.0/16', 'fd00::/8'], ['10.0.0.1']);
    expect(['10.1.2.3', 'fd00::1', '127.0.0.1'].filter((one) => !wide(asked(one)))).toEqual([]);
    expect(wide(asked('10.0.0.1', { 'x-forwarded-for': '10.1.2.3', host: 'gateway.example' }))).toBe(true);
    expect(wide(asked('10.0.0.1', { 'x-forwarded-for': '10.1.2.3:51234, 10.0.0.1:443' }))).toBe(true);
    expect(wide(asked('10.0.0.1', { 'x-forwarded-for': '198.51.100.1' }))).toBe(false);
    expect(wide(asked('10.1.2.3', { 'x-forwarded-for': '127.0.0.1' }))).toBe(false);
    // Only the address of the connection shows that a caller is on this machine. A remote proxy cannot claim this.
    const range = openAllowed([], ['10.0.0.0/8']);
    for (const claimed of ['127.0.0.1', '127.0.0.1:80', '::1', '[::1]:80', '::ffff:127.0.0.1'])
      expect(range(asked('10.0.0.9', { 'x-forwarded-for': claimed })), claimed).toBe(false);
    expect(openAllowed([], ['loopback'])(asked('127.0.0.1', { 'x-forwarded-for': '127.0.0.1' }))).toBe(true);
  });

  it('a store that is silent or away costs the scrape the store’s gauges and a second', async () => {
    await eventually(async () => expect(sumOf(await scrape(), 'gateway_store_up')).toBe(1));
    const resume = proxy.blackhole();
    // The gateway keeps the store's metrics for five seconds, so wait longer.
    await pause(5_100);
    const began = performance.now();
    const series = await scrape();
    expect(performance.now() - began).toBeLessThan(2_000);
    expect(sumOf(series, 'gateway_store_up')).toBe(0);
    expect(sumOf(series, 'gateway_operations_unsettled')).toBeUndefined();
    expect(sumOf(series, 'gateway_requests_total')).toBeGreaterThan(0);
    resume();
    await eventually(async () => expect(sumOf(await scrape(), 'gateway_store_up')).toBe(1));
  });
});

it('docs/operations.md wakes somebody for every outcome that is a failure of ours', () => {
  const text = readFileSync(new URL('docs/operations.md', packageRoot), 'utf8');
  const [, outcomes = ''] = /gateway_requests_total\{outcome=~"([^"]+)"/.exec(text) ?? [];
  // Leave out failures that only an operator's setting causes, and failures that no operation of this gateway returns.
  const NOT = ['enrollment_unavailable', 'event_family_paused', 'native_unavailable'];
  const ours = FAILURE_CODES.filter((code) => statusOf(code) >= 500 && !NOT.includes(code));
  const others = ['server_error', 'temporarily_unavailable', '-32603'];
  expect(outcomes.split('|').toSorted()).toEqual([...ours, ...others].toSorted());
});

it('those who scrape at once share one answer, and one that failed is not kept', async () => {
  let asked = 0;
  let failing = true;
  const text = sharing(async () => {
    asked++;
    if (failing) throw new Error(MARK);
    return `${asked}`;
  });
  expect(new Set((await Promise.allSettled([text(), text()])).map(({ status }) => status))).toEqual(
    new Set(['rejected']),
  );
  expect(asked).toBe(1);
  failing = false;
  expect(await Promise.all([text(), text(), text()])).toEqual(['2', '2', '2']);
  expect(await text()).toBe('2');
  await pause(1_050);
  expect(await text()).toBe('3');
});

it('tells whether reports are read from the replica, where there is one', async () => {
  const held = { connections: 0, requests: 0, waiting: 0, unread: 0, refused: 0, untrusted: 0 };
  const sources = {
    version: '1',
    pools: [],
    sockets: () => 0,
    streams: () => 0,
    held: () => held,
    quotaRefusals: () => 0,
    audit: { lostTotal: 0, queued: 0 },
    loopHeld: () => 0,
  };
  expect(await openMetrics(sources).text()).not.toContain('gateway_replica_current');
  let current = true;
  const metrics = openMetrics({ ...sources, replica: () => current });
  const told = async () => sumOf(readScrape(await metrics.text()), 'gateway_replica_current');
  expect(await told()).toBe(1);
  current = false;
  expect(await told()).toBe(0);
});

it('what is no number is null on its way from a worker, and not told', () => {
  const none = { value: Number.NaN, labels: { kind: 'a' } };
  // The library declares the type of a metric as an enum that does not exist at run time. The values of the enum are
  // these words.
  const type = 'gauge' as unknown as Snapshot[number]['type'];
  const metric = { name: 'n', help: 'h', type, aggregator: 'omit', collect: () => undefined } as const;
  const sent: Snapshot = JSON.parse(JSON.stringify([{ ...metric, values: [none, { ...none, value: 1 }] }]));
  expect(labelled(sent, '2')).toMatchObject([
    { aggregator: 'sum', values: [{ value: 1, labels: { kind: 'a', worker: '2' } }] },
  ]);
  expect(labelled(sent, '2')[0]?.values).toHaveLength(1);
});

describe('the store’s gauges', () => {
  it('tell what is there, in one statement that does not grow with the ledger', async () => {
    // Use a separate database, because the background work of the replica would change the planted rows.
    const apart = await freshDatabase('demo');
    const { sql, db } = apart;
    const owner = await issue(sql, 1);
    await sql`INSERT INTO gateway.operation (operation_id, credential_id, revision, tenant, site, operation, status, fingerprint, lease_until)
      SELECT 'op_' || lpad(i::text, 64, '0'), ${owner.credential}, 1, 1, 1, 'visitor_note_add',
             CASE WHEN i <= 3 THEN 'pending' ELSE 'acknowledged' END, decode(repeat('00', 32), 'hex'), CASE WHEN i <= 3 THEN now() END
        FROM generate_series(1, 20000) i`;
    await sql`INSERT INTO gateway.import_owed (slot, tenant, site, event_type) VALUES (1, 1, 1, 'website.snapshot')`;
    await sql`INSERT INTO gateway.webhook_endpoint (id, credential_id, tenant, site, url, event_types, secret, position)
      VALUES ('whk_' || repeat('a', 32), ${owner.credential}, 1, 1, 'https://a.example', '{website.changed}', 'x', 0)`;
    await sql`INSERT INTO gateway.webhook_delivery (endpoint_id, event_id, tenant, site, position, event_type, occurred_at, recorded_at, due_at, status)
      SELECT 'whk_' || repeat('a', 32), 'evt_' || md5(i::text) || md5(i::text), 1, 1, i, 'website.changed', now(), now(), now() - i * interval '1 second', 'pending'
        FROM generate_series(1, 60) i`;
    await sql`ANALYZE gateway.operation, gateway.webhook_delivery`;
    const [head] = await sql<
      { position: string }[]
    >`SELECT position FROM gateway.journal_head WHERE tenant = 1 AND site = 1`;
    const gauges = await readGauges(db);
    expect(gauges).toMatchObject({
      operationsUnsettled: 3,
      operationsKept: 20_000,
      receiptsOwed: 1,
      deliveriesPending: 60,
      receiptsBehind: Number(head?.position),
      endpointsEnabled: 1,
      tasksOpen: 0,
    });
    expect(gauges?.deliveriesLate).toBeGreaterThan(59);
    expect(gauges?.deliveriesLate).toBeLessThan(90);
    let text = '';
    const values: unknown[] = [];
    await readGauges({
      ...db,
      query: async (statement) => {
        text = statement.texts.reduce((all, next, i) => `${all}$${i}${next}`);
        values.push(...statement.values);
        return [];
      },
    });
    expect(values.every((value) => value === COUNTED)).toBe(true);
    const plan = await sql.unsafe(`EXPLAIN ${text.replace(/\$\d+/g, `${COUNTED}`)}`);
    expect(plan.map((row) => row['QUERY PLAN']).join('\n')).not.toMatch(/Seq Scan on operation/);
    await apart.close();
  });

  it('are asked for once in five seconds, however many ask', async () => {
    let asked = 0;
    const text = openStoreGauges({
      ...database.db,
      query: async (statement) => {
        asked++;
        return database.db.query(statement);
      },
    });
    const texts = await Promise.all(Array.from({ length: 20 }, text));
    expect(new Set([...texts, await text()]).size).toBe(1);
    expect(asked).toBe(1);
    const away = openStoreGauges({ ...database.db, query: () => Promise.reject(new Error(MARK)) });
    expect(readScrape(await away())).toEqual([{ name: 'gateway_store_up', labels: {}, value: 0 }]);
  });
});

describe('OpenTelemetry', () => {
  it('is imported by one file, which is imported only where an endpoint is set', () => {
    const root = fileURLToPath(packageRoot);
    const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter((file) =>
      file.endsWith('.ts'),
    );
    const imports = (what: RegExp): string[] =>
      files.filter((file) => what.test(readFileSync(join(root, 'src', file), 'utf8')));
    expect(imports(/@opentelemetry\//)).toEqual(['observe/tracing.ts']);
    expect(imports(/^import (?!type ).*observe\/tracing\.ts/m)).toEqual([]);
    expect(imports(/await import\('\.\.\/observe\/tracing\.ts'\)/)).toEqual(['process/open-tracing.ts']);
  });

  if (LONG)
    it('none of its SDK is loaded where no endpoint is set', async () => {
      const coverage = mkdtempSync(join(tmpdir(), 'gateway-loaded-'));
      const one = await startReplica({ databaseUrl: proxy.url(database.name), env: { NODE_V8_COVERAGE: coverage } });
      expect((await scrape(one.url)).length).toBeGreaterThan(50);
      await one.end();
      const loaded = readdirSync(coverage).flatMap((file): string[] =>
        JSON.parse(readFileSync(join(coverage, file), 'utf8')).result.map(({ url }: { url: string }) => url),
      );
      // prom-client loads the OpenTelemetry API, which does nothing without an SDK.
      expect(loaded.filter((url) => url.includes('/prom-client/')).length).toBeGreaterThan(10);
      expect(loaded.filter((url) => /@opentelemetry\/(?!api\/)|observe\/tracing/.test(url))).toEqual([]);
      rmSync(coverage, { recursive: true });
    });
});

describe('traces', () => {
  it('complain of a setting without its words, once', () => {
    const complained = replica
      .log()
      .split('\n')
      .filter((line) => line.includes('OpenTelemetry logged a warning'));
    expect(complained).toHaveLength(1);
    expect(replica.log() + replica.stderr()).not.toContain(MARK);
  });

  it('nobody but a trusted proxy says in whose trace a call stands', async () => {
    const seen: (string | undefined)[] = [];
    const call: CallTrace = { id: undefined, run: (work) => work(), follow: () => undefined, end: () => undefined };
    const traceparent = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`;
    for (const trustedProxies of [undefined, ['10.0.0.0/8'], ['127.0.0.1']]) {
      const server = await startServer({
        host: '127.0.0.1',
        baseUrl: 'http://127.0.0.1:8420',
        port: 0,
        tls: undefined,
        log: pino({ level: 'silent' }),
        handlers: [],
        otherwise: (_request, response) => void response.end(),
        observer: {
          ended: () => undefined,
          trace: (parent) => {
            seen.push(parent);
            return call;
          },
        },
        ...(trustedProxies && { trustedProxies }),
      });
      await fetch(`http://127.0.0.1:${server.port}/`, { headers: { traceparent, connection: 'close' } });
      await server.close();
    }
    expect(seen).toEqual([undefined, undefined, traceparent]);
  });

  it('a server span a call and a span for its read, in the caller’s trace, without content', async () => {
    const { token } = await issue(database.sql, 1);
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const answer = await get('/api/v1/websites', token, {
      traceparent: `00-${traceId}-b7ad6b7169203331-01`,
      'user-agent': MARK,
    });
    const requestId = answer.headers.get('x-request-id');
    const find = () => collector.spans.find(({ attributes }) => attributes['gateway.request_id'] === requestId);
    await eventually(() => expect(find()).toBeDefined());
    const span = find();
    expect(span).toMatchObject({ traceId, parentSpanId: 'b7ad6b7169203331', name: 'rest websites_list', kind: 2 });
    expect(span?.attributes).toEqual({
      'service.name': 'under-test',
      'service.version': expect.any(String),
      'deployment.environment.name': 'proof',
      'gateway.surface': 'rest',
      'gateway.operation': 'websites_list',
      'gateway.outcome': 'ok',
      'gateway.request_id': requestId,
      'http.response.status_code': 200,
    });
    const reads = collector.spans.filter(({ parentSpanId }) => parentSpanId === span?.spanId);
    expect(reads.length).toBeGreaterThan(0);
    for (const read of reads)
      expect(read).toMatchObject({ traceId, kind: 3, name: expect.stringMatching(/^store (reads|slow)$/) });
    const unsampled = await get('/api/v1/websites', token, {
      traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-00`,
    });
    const broken = await get('/api/v1/websites', undefined, { traceparent: `00-${traceId}-${'0'.repeat(16)}-01` });
    await eventually(() =>
      expect(
        collector.spans.find(
          ({ attributes }) => attributes['gateway.request_id'] === broken.headers.get('x-request-id'),
        ),
      ).toMatchObject({ attributes: { 'gateway.outcome': 'unauthenticated' } }),
    );
    const all = collector.bodies.join('');
    expect(all).not.toContain(unsampled.headers.get('x-request-id'));
    expect(
      collector.spans.filter((one) => one.traceId === traceId).every((one) => one.parentSpanId !== '0'.repeat(16)),
    ).toBe(true);
    expect(collector.bodies.every((body) => body.startsWith('POST /v1/traces '))).toBe(true);
    expect(all).not.toMatch(new RegExp(`${MARK}|${token}|crd_|web_1|127\\.0\\.0\\.1|SELECT`));
  });

  it('a call over MCP 2026-07-28 stands in the trace of its _meta, sampled as we decide; a proxy goes first', async () => {
    const { token } = await issue(database.sql, 1);
    const named = 'c0ffee00000000000000000000000001';
    const call = async (traceparent: unknown, headers: Readonly<Record<string, string>> = {}, version = MODERN) => {
      const params = {
        name: 'websites_list',
        arguments: {},
        _meta: { ...ENVELOPE, 'io.modelcontextprotocol/protocolVersion': version, traceparent },
      };
      const answer = await modern(port, token, 'tools/call', params, { version, headers });
      expect(answer.body.result.isError).toBe(false);
      const requestId = answer.headers['x-request-id'];
      const find = () => collector.spans.find(({ attributes }) => attributes['gateway.request_id'] === requestId);
      await eventually(() => expect(find()).toBeDefined());
      return find();
    };
    for (const flags of ['00', '01']) {
      const span = await call(`00-${named}-00000000000000a${flags[1]}-${flags}`);
      expect(span).toMatchObject({ traceId: named, parentSpanId: `00000000000000a${flags[1]}`, kind: 2 });
      const reads = collector.spans.filter(({ parentSpanId }) => parentSpanId === span?.spanId);
      expect(reads.map(({ traceId }) => traceId)).toContain(named);
    }
    const proxy = `00-${'d'.repeat(32)}-${'e'.repeat(16)}-01`;
    expect(await call(`00-${named}-${'b'.repeat(16)}-01`, { traceparent: proxy })).toMatchObject({
      traceId: 'd'.repeat(32),
    });
    for (const ignored of [
      await call('nonsense'),
      await call(7),
      await call(`00-${named}-${'0'.repeat(16)}-01`),
      await call(`00-${named}-${'b'.repeat(16)}-01`, {}, '2025-11-25'),
    ])
      expect(ignored?.traceId).not.toBe(named);
  });

  it('the sampler decides before the call moves, whatever id the client has chosen', async () => {
    const { token } = await issue(database.sql, 1);
    // A ratio just below 1 samples almost every id, but never this id.
    const hidden = `ffffffff${'0'.repeat(24)}`;
    const one = await startReplica({
      databaseUrl: proxy.url(database.name),
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_BSP_SCHEDULE_DELAY: '50',
        OTEL_TRACES_SAMPLER: 'traceidratio',
        OTEL_TRACES_SAMPLER_ARG: '0.99999',
      },
    });
    try {
      const params = {
        name: 'websites_list',
        arguments: {},
        _meta: { ...ENVELOPE, traceparent: `00-${hidden}-${'a'.repeat(16)}-00` },
      };
      const answer = await modern(Number(new URL(one.url).port), token, 'tools/call', params, {});
      const find = () =>
        collector.spans.find(({ attributes }) => attributes['gateway.request_id'] === answer.headers['x-request-id']);
      await eventually(() => expect(find()).toMatchObject({ traceId: hidden }));
      const reads = collector.spans.filter(({ parentSpanId }) => parentSpanId === find()?.spanId);
      expect(reads.map(({ traceId }) => traceId)).toContain(hidden);
    } finally {
      await one.end();
    }
  });

  it('a collector that is away or silent costs a line in the log', async () => {
    const call = {
      surface: 'rest',
      operation: 'x',
      outcome: 'ok',
      status: 200,
      seconds: 1,
      requestId: 'req_x',
    } as const;
    const gone = await openCollector();
    await gone.close();
    const silent = await openCollector(false);
    for (const { url } of [gone, silent]) {
      const complaints: unknown[][] = [];
      const told: number[] = [];
      const tracing = startTracing({
        url: `${url}/v1/traces`,
        service: 'x',
        version: '1',
        timeout: 200,
        onError: (spans) => told.push(spans),
        onComplaint: (...words: unknown[]) => complaints.push(words),
      });
      const began = performance.now();
      for (let i = 0; i < times(500, 5_000); i++) {
        const span = tracing.trace(undefined);
        span.run(() => tracing.onStatement('reads')(false));
        span.end(call);
      }
      expect(performance.now() - began).toBeLessThan(1_000);
      await eventually(() => expect(told).toHaveLength(1));
      const stopping = performance.now();
      const sent = await tracing.stop();
      expect(performance.now() - stopping).toBeLessThan(1_500);
      expect(sent).toBe(false);
      // The SDK can complain many times, but the log has only one line. This line never contains the SDK's own words.
      expect(complaints).toEqual([[]]);
      expect(told).toHaveLength(1);
    }
    await silent.close();
    const fine = startTracing({
      url: `${collector.url}/v1/traces`,
      service: 'x',
      version: '1',
      onError: () => expect.fail(),
      onComplaint: () => expect.fail(),
    });
    fine.trace(undefined).end(call);
    expect(await fine.stop()).toBe(true);
  });

  if (LONG)
    it('F-18 a collector that is away or silent does not hold a process that is to end', async () => {
      const gone = await openCollector();
      await gone.close();
      const silent = await openCollector(false);
      for (const { url } of [gone, silent]) {
        const one = await startReplica({
          databaseUrl: proxy.url(database.name),
          env: { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_BSP_SCHEDULE_DELAY: '50' },
        });
        for (let i = 0; i < 20; i++) await fetch(`${one.url}/livez`, { headers: { connection: 'close' } });
        await pause(200);
        const began = performance.now();
        expect(await one.end()).toEqual({ code: 0, signal: null });
        // The limit includes 1 s in which clients can still send requests.
        expect(performance.now() - began).toBeLessThan(3_500);
      }
      await silent.close();
    });
});

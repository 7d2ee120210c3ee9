import pino from 'pino';
import { expect } from 'vitest';
import { Trail } from '../../src/audit/trail.ts';
import { cardKeys } from '../../src/auth/card-keys.ts';
import type { ClientsByUrlOptions } from '../../src/auth/oauth/clients/by-url.ts';
import { openOAuth } from '../../src/auth/oauth/services.ts';
import type { RemoteWriter } from '../../src/core/writes.ts';
import { openMcpEvents } from '../../src/events/mcp/mcp-events.ts';
import { openRealtime, type Realtime } from '../../src/events/realtime/realtime.ts';
import type { Timings } from '../../src/events/realtime/wire.ts';
import type { Corridor } from '../../src/gateway/call.ts';
import { readGuides } from '../../src/gateway/guides.ts';
import { loadPrompts, loadResources, loadSkillFiles, loadSkills } from '../../src/gateway/load.ts';
import { openGateway } from '../../src/gateway/open.ts';
import type { Registry } from '../../src/gateway/registry.ts';
import { streaming } from '../../src/gateway/streaming.ts';
import { tellRunCall } from '../../src/observe/run-calls.ts';
import { senderOptions } from '../../src/outbound/sender.ts';
import { openLedgerKey } from '../../src/store/calls/ledger.ts';
import { StoreUnreachable } from '../../src/store/driver/errors.ts';
import { registeredOrigins } from '../../src/store/events/realtime-sessions.ts';
import { a2aSurface } from '../../src/surfaces/a2a/a2a.ts';
import { publicKeys, signedCard } from '../../src/surfaces/a2a/signed-card.ts';
import { Streams } from '../../src/surfaces/a2a/streams.ts';
import { consoleSurface } from '../../src/surfaces/console/console.ts';
import { docsPages } from '../../src/surfaces/docs/docs.ts';
import { publicApp } from '../../src/surfaces/http/app.ts';
import { openClientAddress } from '../../src/surfaces/http/client-address.ts';
import { startServer } from '../../src/surfaces/http/server.ts';
import { llms } from '../../src/surfaces/llms/llms.ts';
import { mcpSurface } from '../../src/surfaces/mcp/mcp.ts';
import { oauthSurface } from '../../src/surfaces/oauth/oauth.ts';
import { openapi } from '../../src/surfaces/openapi/openapi.ts';
import { realtimeSurface } from '../../src/surfaces/realtime/realtime.ts';
import { recordSurface } from '../../src/surfaces/record/record.ts';
import { restSurface } from '../../src/surfaces/rest/rest.ts';
import { openTasks } from '../../src/tasks/tasks.ts';
import { type Answer, exchange } from './answer.ts';
import { type TestSources, testSources, testTools } from './console/tools.ts';
import { type Grant, type Issued, issue } from './credentials.ts';
import { freshDatabase, type TestDatabase } from './database.ts';
import { KEYS } from './keys.ts';
import { type Oracle, openOracle } from './oracle.ts';

export const BASE_URL = 'http://127.0.0.1:8420';

export interface AskOptions {
  readonly token?: string | undefined;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** Sent as JSON with Content-Type and Content-Length. With a body, the default method is POST. */
  readonly body?: unknown;
  /** Raw bytes, for bodies that JSON cannot express. The test then sets the headers itself. */
  readonly raw?: string | Uint8Array;
  /** For requests that break the protocol on purpose: the OpenAPI oracle does not check their answers. */
  readonly unchecked?: boolean;
}

/** A gateway in this process, with its own database and real sockets. The OpenAPI oracle checks every answer. */
export interface TestGateway {
  readonly database: TestDatabase;
  readonly corridor: Corridor;
  readonly realtime: Realtime;
  /** Undefined: calls leave no audit records. */
  readonly trail: Trail | undefined;
  readonly port: number;
  readonly log: string[];
  /** Origins of receivers on loopback to which MCP clients may subscribe. A test adds its own. */
  readonly receivers: Set<string>;
  readonly sources: TestSources;
  ask(path: string, options?: AskOptions): Promise<Answer>;
  /** The number of open A2A streams. */
  readonly streams: () => number;
  /** Checks an answer that does not come from `ask` against the served OpenAPI document. */
  readonly check: (method: string, path: string, answer: Answer) => void;
  issue(grant?: Grant, tenant?: number): Promise<Issued>;
  close(): Promise<void>;
}

export async function openTestGateway(
  template: 'empty' | 'demo' = 'demo',
  database?: TestDatabase,
  keys = KEYS,
  timings: Partial<Timings> = {},
  byUrl?: ClientsByUrlOptions,
  remote?: RemoteWriter,
  audits = false,
  trustedProxies: readonly string[] = [],
): Promise<TestGateway> {
  const own = database ?? (await freshDatabase(template));
  const log: string[] = [];
  const lines = pino({ level: 'trace', base: null }, { write: (line: string) => void log.push(line) });
  const trail = audits
    ? new Trail({
        db: own.db,
        upkeep: own.db,
        keys,
        fullAddresses: false,
        days: 90,
        onError: (error) => log.push(`AUDIT ${String(error)}`),
      })
    : undefined;
  await trail?.start();
  const corridor = await openGateway({
    store: { db: own.db, slow: own.db },
    keys,
    checkEvery: 1,
    onDefect: (tool, error) => log.push(`DEFECT ${tool.name} ${String(error)}`),
    ...(remote && { remote }),
    books: trail,
  });
  const { registry } = corridor;
  const guides = readGuides();
  const [resources, prompts, skills, skillFiles] = await Promise.all([
    loadResources(),
    loadPrompts(),
    loadSkills(registry),
    loadSkillFiles(),
  ]);
  const tasks = openTasks({
    db: own.db,
    corridor,
    // Some tests stop the store on purpose, so an unreachable store is not a defect. The next round tries again.
    onError: (error) => error instanceof StoreUnreachable || log.push(`DEFECT tasks ${String(error)}`),
    onCall: tellRunCall(lines),
    books: trail,
  });
  const realtime = openRealtime({
    db: own.db,
    keys,
    eventKey: openLedgerKey(own.db),
    ...streaming(corridor),
    onError: (error) => error instanceof StoreUnreachable || log.push(`DEFECT realtime ${String(error)}`),
    timings,
  });
  const receivers = new Set<string>();
  const sources = testSources();
  const events = openMcpEvents({
    text: 'current',
    db: own.db,
    keys,
    eventKey: openLedgerKey(own.db),
    sender: senderOptions(receivers, BASE_URL),
  });
  const server = await startServer({
    host: '127.0.0.1',
    baseUrl: BASE_URL,
    port: 0,
    tls: undefined,
    log: lines,
    trustedProxies,
    books: trail,
    handlers: [
      mcpSurface(corridor, { baseUrl: BASE_URL, version: '0.0.0', resources, prompts, skillFiles, events }),
      a2aSurface(corridor, { baseUrl: BASE_URL, tasks, skills, streams: new Streams(corridor) }),
      restSurface(corridor, BASE_URL, () => registeredOrigins(own.db)),
      oauthSurface(
        openOAuth({ baseUrl: BASE_URL, db: own.db, skillScopes: skills.scopes, ...(byUrl && { byUrl }) }),
        openClientAddress(trustedProxies),
      ),
      recordSurface({ baseUrl: BASE_URL, db: own.db }, openClientAddress(trustedProxies)),
      consoleSurface(
        {
          baseUrl: BASE_URL,
          db: own.db,
          slow: own.db,
          registry,
          tools: { ...testTools(BASE_URL, receivers, sources), remote },
          books: trail,
        },
        openClientAddress(trustedProxies),
      ),
    ],
    upgrade: realtimeSurface(realtime),
    otherwise: publicApp({
      baseUrl: BASE_URL,
      openapi: () => documentOf(registry),
      llms: () => llms({ registry, guides, baseUrl: BASE_URL, resources, prompts, skills }),
      agentCard: () => signedCard({ skills, baseUrl: BASE_URL }, cardKeys(keys)),
      jwks: () => publicKeys(cardKeys(keys)),
      docs: () => docsPages({ baseUrl: BASE_URL, registry, skills, guides, version: '0.0.0' }),
      ready: async () => true,
    }),
  });
  const check: Oracle = (...answered) => openOracle(judgeOf(registry))(...answered);
  const ask = async (path: string, options: AskOptions = {}): Promise<Answer> => {
    const sent = wire(options);
    const answer = await exchange({ port: server.port, path, method: sent.method, headers: sent.headers }, sent.bytes);
    if (options.unchecked !== true) check(sent.method, path, answer);
    return answer;
  };
  return {
    streams: () => tasks.followed,
    database: own,
    corridor,
    realtime,
    trail,
    port: server.port,
    log,
    receivers,
    sources,
    ask,
    check,
    issue: (grant, tenant = 1) => issue(own.sql, tenant, grant),
    close: async () => {
      await Promise.all([server.close(), tasks.stop(), realtime.stop()]);
      await trail?.stop();
      await own.close();
      expect(log.filter((line) => line.startsWith('DEFECT'))).toEqual([]);
    },
  };
}

let document: object | undefined;

/** All gateways of a test file serve the same tools, so the file makes the document only once. */
function documentOf(registry: Registry): object {
  document ??= openapi(registry, BASE_URL);
  return document;
}

let judge: object | undefined;

/** Describes the operations by policy too, which the served document leaves out. */
function judgeOf(registry: Registry): object {
  judge ??= openapi({ operations: registry.all }, BASE_URL);
  return judge;
}

interface Wire {
  readonly method: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly bytes: Buffer | undefined;
}

function wire({ token, body, raw, method, headers = {} }: AskOptions): Wire {
  const content = raw ?? (body === undefined ? undefined : JSON.stringify(body));
  const bytes = content === undefined ? undefined : Buffer.from(content);
  return {
    method: method ?? (bytes ? 'POST' : 'GET'),
    bytes,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      // If a test sets Content-Length or Transfer-Encoding itself, add no length.
      ...(bytes && !framed(headers) && { 'content-length': String(bytes.length) }),
      ...headers,
    },
  };
}

const framed = (headers: AskOptions['headers']): boolean =>
  Object.keys(headers ?? {}).some((name) => /^(content-length|transfer-encoding)$/i.test(name));

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request as httpRequest } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pino from 'pino';
import { expect, it } from 'vitest';
import { loadPrompts, loadResources } from '../../src/gateway/load.ts';
import { openGateway } from '../../src/gateway/open.ts';
import type { RequestHandler } from '../../src/surfaces/http/records.ts';
import { startServer } from '../../src/surfaces/http/server.ts';
import { mcpSurface } from '../../src/surfaces/mcp/mcp.ts';
import { issue } from '../support/credentials.ts';
import { freshDatabase } from '../support/database.ts';
import { KEYS } from '../support/keys.ts';
import { type Ended, onlyLoopback, run } from '../support/loopback.ts';
import { withFixtures } from '../support/surfaces/conformance.ts';

/**
 * The public conformance suite against the MCP endpoint: the scenarios that each revision requires of a server. The suite
 * reports an error when a scenario of EXCLUDED passes, or when any other scenario fails.
 */
const EXCLUDED: Readonly<Record<'2025-11-25' | '2026-07-28', readonly string[]>> = {
  '2025-11-25': [
    // These need a stream on which the server sends messages of its own.
    ...['tools-call-with-progress', 'tools-call-with-logging', 'tools-call-sampling', 'tools-call-elicitation'],
    'server-sse-multiple-streams',
    ...['elicitation-sep1034-defaults', 'elicitation-sep1330-enums'],
    // The contract names all methods. These are not among them.
    ...['logging-set-level', 'completion-complete', 'resources-subscribe', 'resources-unsubscribe'],
  ],
  '2026-07-28': ['tools-call-with-progress', 'completion-complete'],
};
const SCENARIOS = { '2025-11-25': 30, '2026-07-28': 37 };

/** The suite needs Node 22. A package brings a newer Node for the older ones. */
function newerNode(): string {
  if (Number.parseInt(process.versions.node, 10) >= 22) return process.execPath;
  const manifest = createRequire(import.meta.url).resolve(`node-linux-${process.arch}/package.json`);
  return join(dirname(manifest), 'bin', 'node');
}

async function conform(revision: keyof typeof EXCLUDED): Promise<Ended> {
  const database = await freshDatabase('demo');
  const { token } = await issue(database.sql, 1);
  const corridor = await openGateway({
    store: { db: database.db, slow: database.db },
    keys: KEYS,
    checkEvery: 1,
    onDefect: (tool, error) => expect.fail(`${tool.name} ${String(error)}`),
  });
  // The suite cannot send an Authorization header, so a proxy adds this header. The gateway's base URL is the origin of
  // the proxy.
  const handlers: RequestHandler[] = [];
  const server = await startServer({
    host: '127.0.0.1',
    baseUrl: 'http://127.0.0.1:8420',
    port: 0,
    tls: undefined,
    log: pino({ level: 'silent' }),
    handlers,
    otherwise: (_, response) => response.writeHead(404).end(),
  });
  const proxy = createServer((incoming, outgoing) => {
    const { method, url, headers } = incoming;
    const authorized = { ...headers, authorization: `Bearer ${token}` };
    const onward = httpRequest(
      { host: '127.0.0.1', port: server.port, path: url, method, headers: authorized },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      },
    );
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  // A listening TCP server always has an address with a port.
  const baseUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const [resources, prompts] = await Promise.all([loadResources(), loadPrompts()]);
  handlers.push(mcpSurface(corridor, { version: '1.2.3', resources, prompts, baseUrl }, withFixtures));
  const folder = mkdtempSync(join(tmpdir(), 'conformance-'));
  try {
    const baseline = join(folder, 'baseline.yml');
    writeFileSync(baseline, `server:\n${EXCLUDED[revision].map((name) => `  - ${name}\n`).join('')}`);
    return await run(
      '@modelcontextprotocol/conformance',
      [
        ...['server', '--url', `${baseUrl}/mcp`, '--requirements', revision],
        ...['--expected-failures', baseline, '--output-dir', folder],
      ],
      import.meta.url,
      { node: newerNode(), patience: 120_000 },
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
    await server.close();
    proxy.closeAllConnections();
    await new Promise((resolve) => proxy.close(resolve));
    await database.close();
  }
}

it.each(['2025-11-25', '2026-07-28'] as const)(
  'the server scenarios of %s',
  async (revision) => {
    const ended = await conform(revision);
    const summary = ended.stdout.slice(ended.stdout.indexOf('=== SUMMARY ==='));
    console.info(`conformance ${revision}: exit ${ended.code}, ${ended.ms} ms\n${summary}`);
    expect(ended.code, summary + ended.stderr).toBe(0);
    expect(summary).toContain('Baseline check passed: all failures are expected.');
    // The suite names the scenarios that count first.
    const counted = [...summary.matchAll(/^[✓✗] ([\w-]+): (\d+) passed, (\d+) failed$/gm)].slice(
      0,
      SCENARIOS[revision],
    );
    const passed = counted.filter(
      ([, name = '', good, bad]) => !EXCLUDED[revision].includes(name) && good !== '0' && bad === '0',
    );
    expect(passed.length).toBe(SCENARIOS[revision] - EXCLUDED[revision].length);
    onlyLoopback(ended);
  },
  180_000,
);

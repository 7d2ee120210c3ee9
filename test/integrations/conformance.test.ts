import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request as httpRequest } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pino from 'pino';
import { expect, it } from 'vitest';
import { loadPrompts, loadResources, loadSkillFiles } from '../../src/gateway/load.ts';
import { openGateway } from '../../src/gateway/open.ts';
import type { RequestHandler } from '../../src/surfaces/http/records.ts';
import { startServer } from '../../src/surfaces/http/server.ts';
import { mcpSurface } from '../../src/surfaces/mcp/mcp.ts';
import { issue } from '../support/credentials.ts';
import { freshDatabase } from '../support/database.ts';
import { serve } from '../support/hostile/served.ts';
import { KEYS } from '../support/keys.ts';
import { type Ended, onlyLoopback, run } from '../support/loopback.ts';
import { approve } from '../support/oauth/approve.ts';
import { openDocuments } from '../support/oauth/hosted.ts';
import { newPerson } from '../support/oauth/oauth.ts';
import { freePort } from '../support/port.ts';
import { openBrowser } from '../support/surfaces/browser.ts';
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
/** A warning or a skipped check does not count as passed. */
const AUTHORIZATION = [
  '✓ authorization-server-metadata-endpoint: 2 passed, 0 failed',
  '✓ authorization-code-grant: 1 passed, 0 failed',
];

/** The suite needs Node 22. A package brings a newer Node for the older ones. */
function newerNode(): string {
  if (Number.parseInt(process.versions.node, 10) >= 22) return process.execPath;
  const manifest = createRequire(import.meta.url).resolve(`node-linux-${process.arch}/package.json`);
  return join(dirname(manifest), 'bin', 'node');
}

/** The scenarios of extensions are run by name. `resources/directory/read` is optional, and the gateway has none. */
const SKILLS = [
  ['2025-11-25', 'sep-2640-skills-enumeration', 30],
  ['2025-11-25', 'sep-2640-skills-manifest', 6],
  ['2026-07-28', 'sep-2640-skills-enumeration', 32],
  ['2026-07-28', 'sep-2640-skills-manifest', 6],
] as const;

/** Runs the suite against a gateway. `args`: the scenarios, and what is expected of them. */
async function conform(args: (folder: string) => readonly string[]): Promise<Ended> {
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
  const [resources, prompts, skillFiles] = await Promise.all([loadResources(), loadPrompts(), loadSkillFiles()]);
  handlers.push(mcpSurface(corridor, { version: '1.2.3', resources, prompts, skillFiles, baseUrl }, withFixtures));
  const folder = mkdtempSync(join(tmpdir(), 'conformance-'));
  try {
    return await run(
      '@modelcontextprotocol/conformance',
      ['server', '--url', `${baseUrl}/mcp`, '--output-dir', folder, ...args(folder)],
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
    const ended = await conform((folder) => {
      const baseline = join(folder, 'baseline.yml');
      writeFileSync(baseline, `server:\n${EXCLUDED[revision].map((name) => `  - ${name}\n`).join('')}`);
      return ['--requirements', revision, '--expected-failures', baseline];
    });
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

it.each(SKILLS)(
  'the extension for skills in %s: %s',
  async (revision, scenario, checks) => {
    const ended = await conform(() => ['--scenario', scenario, '--spec-version', revision, '--force']);
    console.info(`conformance ${scenario} ${revision}: exit ${ended.code}, ${ended.ms} ms`);
    expect(ended.code, ended.stdout + ended.stderr).toBe(0);
    expect(ended.stdout).toContain(`Passed: ${checks}/${checks}, 0 failed, 0 warnings`);
    onlyLoopback(ended);
  },
  60_000,
);

/**
 * Runs the scenarios for authorization servers against a gateway process. The client of the suite is a hosted client.
 * The suite cannot be an issued credential, because its callback is on http, and the callbacks of credentials are on
 * https.
 */
it('the authorization server scenarios: metadata, and a code through the consent of a person', async () => {
  const documents = await openDocuments();
  const [served, browser, port] = await Promise.all([
    serve({ GATEWAY_CLIENT_HOSTS: '127.0.0.1', GATEWAY_CLIENT_ALLOW: documents.origin }),
    openBrowser(),
    freePort(),
  ]);
  try {
    const { email } = await newPerson(served);
    const redirect = `http://127.0.0.1:${port}/callback`;
    let approved: Promise<URLSearchParams> | undefined;
    const heard = (stdout: string): void => {
      const [, url] = /^(http:\S+\/oauth\/authorize\?\S+)\n/m.exec(stdout) ?? [];
      if (url === undefined || approved) return;
      approved = browser
        .newContext()
        .then((context) => approve(context, url, email, { host: '127.0.0.1', redirect, scopes: ['website_read'] }));
      approved.catch(() => undefined); // the test reports the error after the suite has ended
    };
    const ended = await run(
      '@modelcontextprotocol/conformance',
      [
        ...['authorization', '--url', served.url, '--resource', `${served.url}/mcp`],
        ...['--client-id', documents.serve('/client.json'), '--port', String(port)],
      ],
      import.meta.url,
      { node: newerNode(), patience: 60_000, heard },
    );
    const summary = ended.stdout.slice(ended.stdout.indexOf('=== SUMMARY ==='));
    console.info(`conformance authorization: exit ${ended.code}, ${ended.ms} ms\n${summary}`);
    await approved;
    expect(ended.code, ended.stdout + ended.stderr).toBe(0);
    expect(summary.match(/^[✓✗] .*$/gm)).toEqual(AUTHORIZATION);
    onlyLoopback(ended);
  } finally {
    await Promise.all([browser.close(), served.close(), documents.close()]);
  }
}, 120_000);

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { gateway as cli, cliDatabase, document } from '../support/cli.ts';
import type { TestDatabase } from '../support/database.ts';
import { itOnce as it, itInFull } from '../support/form.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { KEYS } from '../support/keys.ts';
import { startProcess } from '../support/oauth/ends.ts';
import { connect, type DocumentServer, hostedOptions, openDocuments } from '../support/oauth/hosted.ts';
import { newPerson } from '../support/oauth/oauth.ts';
import { rpc } from '../support/surfaces/mcp.ts';

let database: TestDatabase;
let gateway: TestGateway;
let documents: DocumentServer;

beforeAll(async () => {
  documents = await openDocuments();
  database = await cliDatabase('demo');
  gateway = await openTestGateway(
    'demo',
    { ...database, close: async () => undefined },
    KEYS,
    {},
    hostedOptions(documents),
  );
});
afterAll(async () => {
  await gateway.close();
  await database.close();
  await documents.close();
});

it('shows hosted clients by host, and ends them', async () => {
  const person = await newPerson(gateway);
  const url = documents.serve(`/${randomUUID()}.json`, { client_name: 'Totally \u202eClaude' });
  const family = await connect(gateway, url, person.email, { wishes: { duration: '30d' } });
  const { consents } = await document('consent', 'list', '--person', person.id);
  expect(consents).toMatchObject([
    { client_host: '127.0.0.1', client_id: url, email: person.email, renewable: true, state: 'active' },
  ]);
  const [{ consent_id, credential_id }] = consents as [{ consent_id: string; credential_id: string }]; // the assertion above checks the shape
  expect((await cli('consent', 'list')).stdout).toContain('127.0.0.1 (Totally \ufffdClaude)');
  expect((await cli('app', 'list')).stdout).toContain('127.0.0.1 (Totally \ufffdClaude)');
  const { apps } = await document('app', 'list');
  expect(apps).toContainEqual(expect.objectContaining({ client_host: '127.0.0.1' }));
  const rotated = await cli('credential', 'rotate', credential_id);
  expect([rotated.code, rotated.stderr]).toEqual([1, expect.stringContaining('which has no secret')]);
  const bound = await cli('credential', 'update', credential_id, '--allow-ip', '127.0.0.1');
  expect([bound.code, bound.stderr]).toEqual([1, expect.stringContaining('whose addresses the gateway cannot know')]);
  await expect(
    database.sql`UPDATE gateway.credential SET allow_ip = '{127.0.0.1}' WHERE id = ${credential_id}`,
  ).rejects.toThrow('credential_allow_ip_check');
  expect((await rpc(gateway.port, family.access, 'tools/list')).status).toBe(200);
  await document('consent', 'revoke', consent_id, '--yes');
  expect((await rpc(gateway.port, family.access, 'tools/list')).status).toBe(401);
});

it('reads the settings: unset is the well-known hosts, empty is none', () => {
  const { hosts, longest, allowed } = readConfig({}).clientsByUrl;
  expect(hosts).toContain('claude.ai');
  expect([longest, allowed.size]).toEqual([2_592_000, 0]);
  expect(readConfig({ GATEWAY_CLIENT_HOSTS: '' }).clientsByUrl.hosts).toEqual([]);
  expect(readConfig({ GATEWAY_CLIENT_HOSTS: '*' }).clientsByUrl.hosts).toEqual(['*']);
  const given = {
    GATEWAY_CLIENT_HOSTS: 'Claude.ai, 127.0.0.1',
    GATEWAY_CLIENT_ALLOW: 'http://127.0.0.1:9000',
    GATEWAY_HOSTED_CONSENT_MAX: '90d',
  };
  expect(readConfig(given).clientsByUrl).toEqual({
    hosts: ['claude.ai', '127.0.0.1'],
    allowed: new Set(['http://127.0.0.1:9000']),
    longest: 7_776_000,
  });
});

it('a gateway that starts without a host ends its consents before the first call', async () => {
  const person = await newPerson(gateway);
  const family = await connect(gateway, documents.serve(`/${randomUUID()}.json`), person.email);
  expect(await startedWith('', family.access)).toEqual({ status: 401 });
  const { consents } = await document('consent', 'list', '--person', person.id);
  expect(consents).toMatchObject([{ state: 'revoked', because: 'host' }]);
});

itInFull('a gateway that starts with the host keeps its consents', async () => {
  const family = await connect(gateway, documents.serve(`/${randomUUID()}.json`), (await newPerson(gateway)).email);
  expect(await startedWith('claude.ai,127.0.0.1', family.access)).toEqual({
    status: 200,
    client_id_metadata_document_supported: true,
  });
});

/** What a gateway in a process of its own answers to a token, and what its metadata say of clients by URL. */
async function startedWith(hosts: string, token: string): Promise<object> {
  const { DATABASE_URL: databaseUrl = '', PGHOST = '', PGPORT = '', PGUSER = '' } = process.env;
  const started = await startProcess({ databaseUrl, env: { PGHOST, PGPORT, PGUSER, GATEWAY_CLIENT_HOSTS: hosts } });
  const { status } = await rpc(Number(new URL(started.url).port), token, 'tools/list');
  const metadata = await fetch(`${started.url}/.well-known/oauth-authorization-server`).then((answer) => answer.json());
  await started.end();
  return { status, ...pick(metadata, 'client_id_metadata_document_supported') };
}

const pick = (from: object, name: string): object =>
  Object.fromEntries(Object.entries(from).filter(([one]) => one === name));

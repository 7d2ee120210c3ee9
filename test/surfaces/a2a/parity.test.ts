import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AgentCard, SendMessageRequest, TaskState } from '@a2a-js/sdk';
import { type Client, ClientFactory } from '@a2a-js/sdk/client';
import { TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError } from '@a2a-js/sdk/errors';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cardKeys } from '../../../src/auth/card-keys.ts';
import { packageRoot } from '../../../src/config/package.ts';
import { DATA_ACCESS, SCOPES } from '../../../src/core/scopes.ts';
import { loadSkills } from '../../../src/gateway/load.ts';
import { a2aSurface } from '../../../src/surfaces/a2a/a2a.ts';
import { signedCard } from '../../../src/surfaces/a2a/signed-card.ts';
import { Streams } from '../../../src/surfaces/a2a/streams.ts';
import { a2aClients } from '../../../src/surfaces/docs/clients.ts';
import { publicApp } from '../../../src/surfaces/http/app.ts';
import type { RequestHandler } from '../../../src/surfaces/http/records.ts';
import { type RunningServer, startServer } from '../../../src/surfaces/http/server.ts';
import { openTasks, type Tasks } from '../../../src/tasks/tasks.ts';
import type { Answer } from '../../support/answer.ts';
import { ASIDE, CANARY, DAY, ECHO, PHONE, World, webId } from '../../support/authority/world.ts';
import { CONTRACT_SKILLS } from '../../support/contract.ts';
import type { Grant } from '../../support/credentials.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { KEYS } from '../../support/keys.ts';
import { rpc, work } from '../../support/surfaces/a2a.ts';
import { textOf } from '../../support/surfaces/pages.ts';
import { freshKey } from '../../support/surfaces/wire.ts';

/**
 * The artifact of a skill must equal the body of the REST answer. The SDK's own client must be able to use every
 * method.
 */
let gateway: TestGateway;

beforeAll(async () => {
  gateway = await openTestGateway('empty');
  await new World(gateway.database.sql).whole();
});
afterAll(() => gateway.close());

const WEB = webId(1, 1);
const FEATURE = 'aif_1_1_1';
const TEXT = 'Wo bleibt meine Bestellung? Ich warte schon seit zwei Wochen darauf.';

/**
 * The input of a skill, and the REST request that must give the same result. The input and the request are written by
 * hand.
 */
interface Twin {
  readonly skill: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly path: string;
  readonly body?: object;
}

const report = (input: Readonly<Record<string, string>>): Twin => ({
  skill: 'support_insights',
  input: { website_id: WEB, ...input },
  path: `/api/v1/analytics/ai-conversations/summary?${new URLSearchParams({ website_id: WEB, ...input })}`,
});
const evidence = (conversation: string, input: Readonly<Record<string, string | number>> = {}): Twin => ({
  skill: 'conversation_evidence',
  input: { conversation_id: conversation, ...input },
  path: `/api/v1/conversations/${conversation}/messages?${new URLSearchParams({ limit: '50', ...strings(input) })}`,
});
const settings = (path: string, input: Readonly<Record<string, string | number>> = {}): Twin => ({
  skill: 'configuration_inspection',
  input: { website_id: WEB, path, ...input },
  path: `/api/v1/settings/item?${new URLSearchParams({ website_id: WEB, path, ...strings(input) })}`,
});
const inspection = (contact: string): Twin => ({
  skill: 'contact_inspection',
  input: { contact_id: contact },
  path: `/api/v1/contacts/${contact}`,
});
const detection = (feature: string, version: number, context: object): Twin => ({
  skill: 'offline_language_detection',
  input: { feature_id: feature, expected_version: version, context },
  path: `/api/v1/ai/features/${feature}/execute`,
  body: { expected_version: version, context },
});
const lookup = (input: Readonly<Record<string, string>>): Twin => ({
  skill: 'customer_lookup',
  input,
  path: `/api/v1/customers?${new URLSearchParams(input)}`,
});
const searched = (input: Readonly<Record<string, string | number>>): Twin => ({
  skill: 'conversation_search',
  input,
  path: `/api/v1/search?${new URLSearchParams(strings(input))}`,
});
const handover = (conversation: string): Twin => ({
  skill: 'conversation_handover',
  input: { conversation_id: conversation },
  path: `/api/v1/conversations/${conversation}/brief`,
});
const strings = (values: Readonly<Record<string, string | number>>): Record<string, string> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]));

let version: number;
const twins = (): readonly Twin[] => [
  report({ range: 'date', start: DAY, end: DAY }),
  report({ range: 'date', start: '2026-11-01', end: '2026-11-30', timezone: 'America/New_York' }),
  report({ range: 'last-month' }),
  report({ range: 'date', start: DAY }),
  evidence('cnv_1_1_1'),
  evidence('cnv_1_1_2'),
  evidence('cnv_1_1_1', { limit: 1 }),
  evidence('cnv_1_1_1', { cursor: 'msg_1_1_3' }),
  evidence('cnv_1_2_1'),
  evidence('cnv_2_1_1'),
  evidence('cnv_1_1_999'),
  settings('/ai/features'),
  settings('/ai/features', { limit: 1 }),
  settings('/ai/features', { limit: 2, cursor: 'aif_1_1_1' }),
  settings('/ai/features', { cursor: 'aif_1_2_1' }),
  settings(`/ai/features/${FEATURE}`),
  settings('/ai/features/aif_1_1_999'),
  settings('/ai/features/aif_1_2_1'),
  inspection('ctc_1_1_1'),
  inspection('ctc_1_1_2'),
  inspection('ctc_1_2_1'),
  inspection('ctc_2_1_1'),
  inspection('ctc_1_1_999'),
  detection(FEATURE, version, { type: 'text', text: TEXT }),
  detection(FEATURE, version, { type: 'text', text: '…', default_language: 'en' }),
  detection(FEATURE, version + 1, { type: 'text', text: TEXT }),
  detection('aif_1_2_1', version, { type: 'text', text: TEXT }),
  detection('aif_1_1_999', 1, { type: 'text', text: TEXT }),
  ...found(),
  ...impossible(),
];

/** The skills that find things: what is granted, what is not, and what does not exist. */
const found = (): readonly Twin[] => [
  lookup({ name: 'Zq' }),
  lookup({ phone: PHONE }),
  lookup({ email: 'nobody@example.org' }),
  lookup({ external_id: 'nobody' }),
  searched({ query: ECHO }),
  searched({ query: `${ECHO} -${ASIDE}`, limit: 2 }),
  searched({ query: `"${ASIDE}"`, website_id: WEB }),
  searched({ query: ECHO, website_id: WEB, limit: 50 }),
  searched({ query: ECHO, website_id: webId(1, 2) }),
  searched({ query: ECHO, website_id: webId(2, 1) }),
  searched({ query: ECHO, website_id: webId(1, 9) }),
  handover('cnv_1_1_1'),
  handover('cnv_1_1_2'),
  handover('cnv_1_2_1'),
  handover('cnv_2_1_1'),
  handover('cnv_1_1_999'),
];

/** What nobody can look up, whatever the caller was granted: no number, no key, and keys that contradict each other. */
const impossible = (): readonly Twin[] => [
  lookup({ phone: 'none' }),
  lookup({}),
  lookup({ external_id: 'nobody', name: 'Zq' }),
];

const settled = (text: string): string => text.replace(/"generated_at":"[^"]+"/, '"generated_at":"…"');

async function compare(twin: Twin, token: string): Promise<string> {
  const { skill, input, path, body } = twin;
  const where = `${skill} ${JSON.stringify(input)}`;
  const headers = body ? { 'idempotency-key': freshKey() } : {};
  const rest = await gateway.ask(path, { token, headers, ...(body && { body }) });
  const answer = await rpc(gateway.port, token, 'SendMessage', work(skill, input));
  if (rest.status === 200) {
    expect(answer.body.result?.task.status.state, `${where} ${answer.text}`).toBe('TASK_STATE_COMPLETED');
    expect(answer.body.result.task.artifacts.length).toBe(1);
    expect(settled(answer.text), where).toContain(
      `"parts":[{"data":${settled(rest.text)},"mediaType":"application/json"}]`,
    );
    return 'completed';
  }
  const { code, required, errors } = rest.body;
  if (code === 'not_permitted') {
    expect([answer.status, answer.body.code, answer.body.required], where).toEqual([404, code, required]);
    return code;
  }
  if (answer.body.error) {
    expect(answer.body.error.code, `${where} ${rest.text}`).toBe(-32_602);
    expect(answer.body.error.data[0].reason).toBe(code);
    expect(answer.body.error.data[1].fieldViolations.length).toBe(errors.length);
    return 'invalid';
  }
  const { status, artifacts } = answer.body.result.task;
  expect(status.state, where).toBe('TASK_STATE_FAILED');
  expect(artifacts).toBeUndefined();
  expect(status.message.parts[0].data, where).toEqual({ code, title: rest.body.title });
  expect(answer.text.match(CANARY)).toBeNull();
  expect(answer.text).not.toContain(TEXT.slice(0, 10));
  return code;
}

const NEEDED = SCOPES.filter((scope) =>
  Object.values(CONTRACT_SKILLS).some(({ scopes, more = '', oneOf = [] }) =>
    [scopes, more, ...oneOf].some((text) => text.split(' ').includes(scope)),
  ),
);

describe('artifacts', () => {
  beforeAll(async () => {
    const { token } = await gateway.issue();
    version = (await gateway.ask(`/api/v1/ai/features/${FEATURE}`, { token })).body.data.feature.version;
  });

  it('are the REST body of the same call, byte for byte; failures carry its code', async () => {
    const { token } = await gateway.issue();
    const ends = new Map<string, number>();
    for (const twin of twins()) {
      const end = await compare(twin, token);
      ends.set(end, (ends.get(end) ?? 0) + 1);
    }
    expect(Object.fromEntries(ends)).toEqual({
      completed: 30,
      not_found: 11,
      invalid_cursor: 1,
      invalid_parameter: 1,
      operation_conflict: 1,
      invalid: 3,
    });
    expect(new Set(twins().map(({ skill }) => skill))).toEqual(new Set(Object.keys(CONTRACT_SKILLS)));
  });

  it('follow the grants: masks, restrictions and refusals are those of REST', async () => {
    const grants: readonly Grant[] = [
      ...NEEDED.map((scope) => ({ scopes: SCOPES.filter((one) => one !== scope) })),
      ...DATA_ACCESS.map((flag) => ({ dataAccess: DATA_ACCESS.filter((one) => one !== flag) })),
      { dataAccess: [] },
      { websites: [WEB] },
      { websites: [webId(1, 2)] },
      { channels: ['chn_1_1_1'] },
      { channels: ['chn_1_1_2'] },
      { channels: [] },
      { teams: ['tem_1_1_1'] },
      { teams: ['tem_1_1_2'] },
      { subsites: ['sst_1_1_1'] },
      { channels: ['chn_1_1_1'], teams: ['tem_1_1_2'] },
    ];
    const ends = new Set<string>();
    let [compared, refused] = [0, 0];
    for (const grant of grants) {
      const { token } = await gateway.issue(grant);
      // Use only some of the cases. The other cases are about dates and pages, which do not depend on the caller.
      const some = twins().filter((_, i) => [0, 4, 5, 11, 15, 18, 23].includes(i));
      for (const twin of [...some, ...found()]) {
        ends.add(`${twin.skill} ${await compare(twin, token)}`);
        compared++;
      }
      // Who may look nobody up hears that first: for want of a scope, of a flag, and because of a restriction.
      if (
        grant.scopes?.includes('contact_read') !== false &&
        grant.dataAccess?.length !== 0 &&
        grant.channels?.length !== 0
      )
        continue;
      for (const twin of impossible()) {
        expect(await compare(twin, token)).toBe('not_permitted');
        refused++;
      }
    }
    expect([NEEDED.length, compared, refused]).toEqual([11, grants.length * (7 + found().length), 3 * 3]);
    for (const skill of Object.keys(CONTRACT_SKILLS)) {
      expect(ends).toContain(`${skill} completed`);
      expect(ends).toContain(`${skill} not_permitted`);
      // A customer who is not there is an empty list.
      if (skill !== 'customer_lookup') expect(ends).toContain(`${skill} not_found`);
    }
  });

  it('conversation_handover has fewer messages if they do not fit into an artifact', async () => {
    const demo = await openTestGateway('demo');
    const { token } = await demo.issue();
    const { sql } = demo.database;
    const [longest] = await sql<{ id: string }[]>`
      SELECT 'cnv_1_1_' || conversation_id AS id FROM platform.message
       WHERE tenant = 1 AND site = 1 GROUP BY conversation_id ORDER BY count(*) DESC LIMIT 1`;
    const id = longest?.id ?? expect.fail('no message');
    const number = id.split('_').at(-1) ?? '';
    await sql`
      UPDATE platform.message SET text = repeat('x', 20000)
       WHERE tenant = 1 AND site = 1 AND conversation_id = ${number}::bigint`;
    const rest = await demo.ask(`/api/v1/conversations/${id}/brief`, { token });
    expect(rest.bytes.length).toBeGreaterThan(131_072);
    const { task } = (
      await rpc(demo.port, token, 'SendMessage', work('conversation_handover', { conversation_id: id }))
    ).body.result;
    expect(task.status.state).toBe('TASK_STATE_COMPLETED');
    const { messages } = task.artifacts[0].parts[0].data.data;
    expect(messages).toEqual(rest.body.data.messages.slice(-messages.length));
    expect([3, 10]).toContain(messages.length);
    // Three messages of 98 KB are too large, and one is not.
    await sql`
      UPDATE platform.message SET text = repeat('漢', 32768)
       WHERE tenant = 1 AND site = 1 AND conversation_id = ${number}::bigint`;
    const one = (await rpc(demo.port, token, 'SendMessage', work('conversation_handover', { conversation_id: id })))
      .body.result.task;
    expect(one.artifacts[0].parts[0].data.data.messages).toHaveLength(1);
    await demo.close();
  });

  it('conversation_handover leaves out the oldest notes if they do not fit into an artifact, and says so', async () => {
    const demo = await openTestGateway('demo');
    const { token } = await demo.issue();
    const { sql } = demo.database;
    const at = '2026-11-01T00:00:00Z';
    await sql`INSERT INTO platform.visitor (tenant, site, id, external_id, created_at) VALUES (1, 1, 740001, 'notes', ${at})`;
    await sql`INSERT INTO platform.conversation (tenant, site, id, external_id, visitor_id, status, platform, created_at, updated_at)
      VALUES (1, 1, 740001, 'notes', 740001, 'closed', 'chat', ${at}, ${at})`;
    await sql`INSERT INTO platform.message (tenant, site, id, external_id, conversation_id, author_type, visibility, kind, text, created_at)
      SELECT 1, 1, 7400000 + i, 'notes' || i, 740001, 'visitor', 'public', 'text', 'short', ${at} FROM generate_series(1, 5) i`;
    await sql`INSERT INTO platform.note (tenant, site, id, external_id, visitor_id, text, created_at)
      SELECT 1, 1, 740000 + i, 'notes' || i, 740001, repeat('n', 32768), ${at} FROM generate_series(1, 20) i`;
    const brief = async () => {
      const { task } = (
        await rpc(demo.port, token, 'SendMessage', work('conversation_handover', { conversation_id: 'cnv_1_1_740001' }))
      ).body.result;
      expect(task.status.state).toBe('TASK_STATE_COMPLETED');
      const { data } = task.artifacts[0].parts[0].data;
      return [data.messages.length, data.notes.map(({ id }: { id: string }) => id), data.left_out];
    };
    const newest = ['740020', '740019', '740018'];
    expect(await brief()).toEqual([5, newest, ['notes']]);
    // The last message and a note are larger than an artifact.
    await sql`UPDATE platform.message SET text = repeat('漢', 32768) WHERE conversation_id = 740001`;
    await sql`UPDATE platform.note SET text = repeat('漢', 32768) WHERE visitor_id = 740001`;
    expect(await brief()).toEqual([1, [], ['notes']]);
    await demo.close();
  });

  it('offline_language_detection runs once for a message, also after its task is gone, and twice for two messages', async () => {
    const issued = await gateway.issue();
    const { sql } = gateway.database;
    const runs = async (): Promise<number> => {
      const [row] = await sql<{ count: number }[]>`
        SELECT count(*)::int AS count FROM gateway.operation WHERE credential_id = ${issued.credential}`;
      return row?.count ?? -1;
    };
    const { skill, input } = detection(FEATURE, version, { type: 'text', text: TEXT });
    const params = work(skill, input);
    const send = async (): Promise<Answer> => rpc(gateway.port, issued.token, 'SendMessage', params);
    const first = (await send()).body.result.task;
    expect((await send()).body.result.task).toEqual(first);
    expect(await runs()).toBe(1);
    await sql`DELETE FROM gateway.task WHERE id = ${first.id}`;
    const second = (await send()).body.result.task;
    expect(second.id).not.toBe(first.id);
    expect(second.artifacts).toEqual(first.artifacts);
    expect(await runs()).toBe(1);
    await rpc(gateway.port, issued.token, 'SendMessage', work(skill, input));
    expect(await runs()).toBe(2);
  });
});

describe('the SDK’s own client', () => {
  let server: RunningServer;
  let tasks: Tasks;
  let client: Client;
  let origin: string;
  let token: string;

  beforeAll(async () => {
    const handlers: RequestHandler[] = [];
    const skills = await loadSkills(gateway.corridor.registry);
    const { db } = gateway.database;
    tasks = openTasks({
      db,
      corridor: gateway.corridor,
      onError: (error) => gateway.log.push(`DEFECT ${error}`),
    });
    let app: ReturnType<typeof publicApp> | undefined;
    server = await startServer({
      host: '127.0.0.1',
      baseUrl: 'http://127.0.0.1:8420',
      port: 0,
      tls: undefined,
      log: pino({ level: 'silent' }),
      handlers,
      otherwise: (request, response) => app?.(request, response),
    });
    origin = `http://127.0.0.1:${server.port}`;
    handlers.push(
      a2aSurface(gateway.corridor, { baseUrl: origin, tasks, skills, streams: new Streams(gateway.corridor) }),
    );
    app = publicApp({
      baseUrl: origin,
      openapi: () => ({}),
      agentCard: () => signedCard({ skills, baseUrl: origin }, cardKeys(KEYS)),
      ready: async () => true,
    });
    ({ token } = await gateway.issue());
    client = await new ClientFactory().createFromUrl(origin);
  });
  afterAll(() => Promise.all([server.close(), tasks.stop()]));

  const options = () => ({ serviceParameters: { Authorization: `Bearer ${token}` } });
  const request = (skill: string, input: object, configuration: object = {}) =>
    SendMessageRequest.fromJSON({ ...work(skill, input), configuration });

  it('reads the card: every skill, every scheme', async () => {
    const card = await client.getAgentCard();
    expect(card.skills.map(({ id }) => id)).toEqual(Object.keys(CONTRACT_SKILLS).sort());
    expect(card.supportedInterfaces).toEqual([
      { url: `${origin}/a2a`, protocolBinding: 'JSONRPC', tenant: '', protocolVersion: '1.0' },
      { url: `${origin}/a2a`, protocolBinding: 'JSONRPC', tenant: '', protocolVersion: '0.3' },
    ]);
    const kinds = Object.values(card.securitySchemes).map(({ scheme }) => scheme?.$case);
    expect(kinds).toEqual(['httpAuthSecurityScheme', 'oauth2SecurityScheme', 'oauth2SecurityScheme']);
    const text = await (await fetch(`${origin}/.well-known/agent-card.json`)).text();
    // Members that only readers of version 0.3 know.
    const { url, preferredTransport, protocolVersion, ...ofV10 } = JSON.parse(text);
    expect([url, preferredTransport, protocolVersion]).toEqual([`${origin}/a2a`, 'JSONRPC', '0.3.0']);
    expect(AgentCard.toJSON(AgentCard.fromJSON(JSON.parse(text)))).toEqual(ofV10);
  });

  it('runs all skills from the card’s address, with the examples’ own names', async () => {
    const works: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
      support_insights: report({ range: 'date', start: DAY, end: DAY }).input,
      conversation_evidence: evidence('cnv_1_1_1').input,
      configuration_inspection: settings('/ai/features').input,
      contact_inspection: inspection('ctc_1_1_1').input,
      offline_language_detection: detection(FEATURE, version, { type: 'text', text: TEXT }).input,
      customer_lookup: lookup({ name: 'Zq' }).input,
      conversation_search: searched({ query: ECHO }).input,
      conversation_handover: handover('cnv_1_1_1').input,
    };
    expect(Object.keys(works)).toEqual(Object.keys(CONTRACT_SKILLS));
    for (const [skill, input] of Object.entries(works)) {
      const task = await client.sendMessage(request(skill, input), options());
      if ('messageId' in task) throw new Error('a message was answered');
      expect(task.status?.state, skill).toBe(TaskState.TASK_STATE_COMPLETED);
      const [artifact] = task.artifacts;
      expect([artifact?.artifactId, artifact?.name, artifact?.parts.length]).toEqual(['result', skill, 1]);
      const body = skill === 'conversation_search' ? 'results' : 'data';
      expect(artifact?.parts[0]?.content).toMatchObject({ $case: 'data', value: { [body]: expect.anything() } });
      expect((await client.getTask({ tenant: '', id: task.id, historyLength: 0 }, options())).artifacts).toEqual(
        task.artifacts,
      );
    }
    const listed = await client.listTasks(
      { tenant: '', contextId: '', status: 0, pageSize: 3, pageToken: '' } as Parameters<Client['listTasks']>[0], // the protocol permits a request without the other members
      options(),
    );
    expect([listed.tasks.length, listed.pageSize, listed.totalSize]).toEqual([3, 3, 8]);
    expect(listed.nextPageToken).not.toBe('');
  });

  it('gets the protocol’s errors as its own classes', async () => {
    const task = await client.sendMessage(request('contact_inspection', { contact_id: 'ctc_1_1_1' }), options());
    if ('messageId' in task) throw new Error('a message was answered');
    const { id } = task;
    await expect(client.cancelTask({ tenant: '', id, metadata: {} }, options())).rejects.toBeInstanceOf(
      TaskNotCancelableError,
    );
    await expect(client.getTask({ tenant: '', id: 'x' }, options())).rejects.toBeInstanceOf(TaskNotFoundError);
    await expect(client.getTask({ tenant: '', id })).rejects.toThrow('401');
    const streamed = client.resubscribeTask({ tenant: '', id }, options()).next();
    await expect(streamed).rejects.toBeInstanceOf(UnsupportedOperationError);
    await expect(client.sendMessage(request('nothing', {}), options())).rejects.toMatchObject({
      message: expect.stringContaining('message.parts.0.data.skill'),
    });
  });

  it('the snippets of the documentation page work as they stand', async () => {
    const snippets = [...a2aClients(origin).text.matchAll(/<pre[^>]*><code>([\s\S]*?)<\/code><\/pre>/g)].map(
      ([, text = '']) => textOf(text),
    );
    const [curl = '', script = '', ...rest] = snippets;
    expect(rest).toEqual([]);
    const [, body = ''] = /-d '(.*)'$/s.exec(curl) ?? [];
    const byHand = await rpc(server.port, token, 'SendMessage', JSON.parse(body).params);
    expect(byHand.body.result.task.status.state).toBe('TASK_STATE_COMPLETED');
    for (const said of [`${origin}/a2a`, 'Authorization: Bearer $TOKEN', 'A2A-Version: 1.0'])
      expect(curl).toContain(said);
    const folder = mkdtempSync(join(tmpdir(), 'gateway-a2a-'));
    symlinkSync(fileURLToPath(new URL('node_modules', packageRoot)), join(folder, 'node_modules'));
    writeFileSync(join(folder, 'agent.mjs'), script);
    const child = spawn(process.execPath, [join(folder, 'agent.mjs')], { env: { ...process.env, TOKEN: token } });
    const printed: Buffer[] = [];
    child.stdout.on('data', (part: Buffer) => printed.push(part));
    child.stderr.on('data', (part: Buffer) => printed.push(part));
    const [code] = await once(child, 'close');
    rmSync(folder, { recursive: true });
    const text = Buffer.concat(printed).toString();
    expect(code, text).toBe(0);
    expect(text).toContain(byHand.body.result.task.id);
  });
});

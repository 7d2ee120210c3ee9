import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../../support/answer.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { messageId, rpc, work } from '../../support/surfaces/a2a.ts';
import { WEB } from '../../support/surfaces/wire.ts';

let gateway: TestGateway;
let token: string;
let stranger: string;
let twin: string;
let contact: string;
let conversation: string;

beforeAll(async () => {
  gateway = await openTestGateway();
  const issued = await gateway.issue();
  ({ token } = issued);
  ({ token: twin } = await gateway.issue({ app: issued.app }));
  ({ token: stranger } = await gateway.issue());
  const first = async (path: string): Promise<Answer> => gateway.ask(`/api/v1/${path}?website_id=${WEB}`, { token });
  contact = (await first('contacts')).body.data.data[0].id;
  conversation = (await first('conversations')).body.data.conversations[0].id;
});
afterAll(() => gateway.close());

const call = (method: string, params?: unknown, by = token): Promise<Answer> => rpc(gateway.port, by, method, params);
const send = (params: unknown, by = token): Promise<Answer> => call('SendMessage', params, by);
const inspect = (message: object = {}): ReturnType<typeof work> =>
  work('contact_inspection', { contact_id: contact }, message);

async function whileContactsWait<T>(work: () => Promise<T>): Promise<T> {
  const lock = await gateway.database.sql.reserve();
  await lock`BEGIN`;
  try {
    await lock`LOCK TABLE platform.contact IN ACCESS EXCLUSIVE MODE`;
    return await work();
  } finally {
    await lock`ROLLBACK`;
    lock.release();
  }
}

const UNKNOWN = 'task_0123456789abcdef0123456789abcdef';
const ID = /^task_[0-9a-f]{32}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

function expectRpcError(answer: Answer, code: number, where: string): void {
  expect(answer.status, where).toBe(200);
  expect(answer.body, `${where} ${answer.text}`).toMatchObject({ jsonrpc: '2.0', id: 1, error: { code } });
  // Every error that A2A defines has details. Of the errors that JSON-RPC defines, only "invalid params" has details.
  const { data } = answer.body.error;
  expect(Array.isArray(data) && data[0]['@type'], where).toBe('type.googleapis.com/google.rpc.ErrorInfo');
  expect(data[0].domain).toBe('a2a-protocol.org');
  expect(data[0].reason, where).toMatch(/^[A-Za-z_]+$/);
  expect(data[0].metadata, where).toEqual({});
}
const expectInvalid = (answer: Answer, field: string, where: string): void => {
  expectRpcError(answer, -32_602, where);
  const [, detail] = answer.body.error.data;
  expect(detail?.['@type'], where).toBe('type.googleapis.com/google.rpc.BadRequest');
  expect(
    detail.fieldViolations.map((one: { field: string }) => one.field),
    where,
  ).toContain(field);
};

describe('SendMessage', () => {
  it('answers with the whole task and its one artifact, and nothing that was sent', async () => {
    const { body } = await send(inspect({ contextId: 'a context of mine' }));
    expect(Object.keys(body)).toEqual(['jsonrpc', 'id', 'result']);
    expect(Object.keys(body.result)).toEqual(['task']);
    const { task } = body.result;
    expect(Object.keys(task).sort()).toEqual(['artifacts', 'contextId', 'id', 'metadata', 'status']);
    expect(task.id).toMatch(ID);
    expect(task.contextId).toBe('a context of mine');
    expect(task.status).toEqual({ state: 'TASK_STATE_COMPLETED', timestamp: expect.stringMatching(TIME) });
    expect(task.metadata).toEqual({
      skill: 'contact_inspection',
      website_id: WEB,
      expires_at: expect.stringMatching(TIME),
    });
    const lives = Date.parse(task.metadata.expires_at) - Date.parse(task.status.timestamp);
    expect(lives).toBeGreaterThan(14 * 60_000);
    expect(lives).toBeLessThanOrEqual(15 * 60_000);
    expect(task.artifacts).toEqual([
      {
        artifactId: 'result',
        name: 'contact_inspection',
        parts: [
          { data: { data: { contact: expect.objectContaining({ id: contact }) } }, mediaType: 'application/json' },
        ],
      },
    ]);
    expect((await call('GetTask', { id: task.id })).body.result).toEqual(task);
  });

  it('keeps a context as given, and makes one where none is', async () => {
    const own = new Set<string>();
    for (const contextId of [undefined, '', null]) {
      const { task } = (await send(inspect({ contextId }))).body.result;
      expect(task.contextId).toMatch(/^.{8,128}$/);
      own.add(task.contextId);
    }
    expect(own.size).toBe(3);
    for (const contextId of [' ', '~', 'x'.repeat(128), UNKNOWN])
      expect((await send(inspect({ contextId }))).body.result.task.contextId).toBe(contextId);
  });

  it('returnImmediately answers TASK_STATE_SUBMITTED at once, and GetTask tells the end', async () => {
    const { task } = (await send({ ...inspect(), configuration: { returnImmediately: true } })).body.result;
    expect(task.status.state).toBe('TASK_STATE_SUBMITTED');
    expect(task.artifacts).toBeUndefined();
    for (let i = 0; i < 100; i++) {
      const { result } = (await call('GetTask', { id: task.id })).body;
      if (result.status.state === 'TASK_STATE_COMPLETED') {
        expect(result.artifacts.length).toBe(1);
        return;
      }
      expect(['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING']).toContain(result.status.state);
      await pause(50);
    }
    expect.unreachable('the task did not end');
  });

  it('A2-05 the same message again is the same task; with other work it is a conflict', async () => {
    const params = inspect();
    const first = (await send(params)).body.result.task;
    const again = (await send(params)).body.result.task;
    expect(again).toEqual(first);
    // A message with a known id is a repetition when it describes the same work. The order of the members is not
    // important. Members that do not describe the work are not important.
    const { message } = params as { message: { messageId: string } };
    const reordered = {
      message: {
        parts: [{ data: { arguments: { contact_id: contact }, skill: 'contact_inspection' } }],
        role: 'ROLE_USER',
        messageId: message.messageId,
        metadata: { any: 'thing' },
      },
      metadata: {},
    };
    expect((await send(reordered)).body.result.task.id).toBe(first.id);
    const others = [
      work('contact_inspection', { contact_id: 'ctc_1_1_1' }, { messageId: message.messageId }),
      work('support_insights', { website_id: WEB, range: 'today' }, { messageId: message.messageId }),
      work('contact_inspection', { contact_id: contact }, { messageId: message.messageId, contextId: 'another' }),
    ];
    const { contextId } = first;
    const inContext = work('contact_inspection', { contact_id: contact }, { messageId: message.messageId, contextId });
    expect((await send(inContext)).body.result.task.id).toBe(first.id);
    for (const other of others) {
      const answer = await send(other);
      expectRpcError(answer, -32_602, 'conflict');
      expect(answer.body.error.data[0].reason).toBe('message_id_conflict');
    }
    const theirs = (await send(params, stranger)).body.result.task;
    expect(theirs.id).not.toBe(first.id);
  });

  it('a resource that is not there and one that is not granted fail the task alike', async () => {
    const here = await gateway.issue({ websites: [WEB] });
    const reasons = new Set<string>();
    const cases: readonly (readonly [string, object])[] = [
      ['contact_inspection', { contact_id: 'ctc_1_1_999999' }],
      ['contact_inspection', { contact_id: 'ctc_1_2_1' }],
      ['contact_inspection', { contact_id: 'ctc_9_9_1' }],
      ['contact_inspection', { contact_id: 'ctc_1_1_9223372036854775808' }],
      ['conversation_evidence', { conversation_id: 'cnv_1_2_1' }],
      ['configuration_inspection', { website_id: 'web_1_2', path: '/ai/features' }],
      ['support_insights', { website_id: 'web_7_7', range: 'today' }],
    ];
    for (const [skill, input] of cases) {
      const { task } = (await send(work(skill, input), here.token)).body.result;
      expect(task.status.state, skill).toBe('TASK_STATE_FAILED');
      expect(task.artifacts).toBeUndefined();
      const { role, parts } = task.status.message;
      expect(role).toBe('ROLE_AGENT');
      reasons.add(JSON.stringify(parts));
    }
    expect([...reasons].map((one) => JSON.parse(one))).toEqual([
      [
        {
          data: {
            code: 'not_found',
            title:
              'The resource does not exist or is outside the credential’s authority. Check the id and the website.',
          },
          mediaType: 'application/json',
        },
      ],
    ]);
  });

  it('what a credential may not run any more is asked anew, whatever is remembered of it', async () => {
    const { sql } = gateway.database;
    const narrowed = await gateway.issue();
    expect((await send(inspect(), narrowed.token)).status).toBe(200);
    await sql`UPDATE gateway.credential SET scopes = array_remove(scopes, 'contact_read') WHERE id = ${narrowed.credential}`;
    const answer = await send(inspect(), narrowed.token);
    expect([answer.status, answer.body.code]).toEqual([404, 'not_permitted']);
    const [{ n } = { n: '' }] = await sql<{ n: string }[]>`SELECT count(*) AS n FROM gateway.task
      WHERE credential_id = ${narrowed.credential}`;
    expect(n).toBe('1');
    await sql`UPDATE gateway.credential SET scopes = scopes || '{contact_read}' WHERE id = ${narrowed.credential}`;
    expect((await send(inspect(), narrowed.token)).status).toBe(200);
  });

  it('A2-08 a result of other grants is withheld, and the task says so; a list without artifacts does not', async () => {
    const { sql } = gateway.database;
    const grown = await gateway.issue({ scopes: ['contact_read'], dataAccess: [] });
    const { task } = (await send(inspect(), grown.token)).body.result;
    expect([task.artifacts.length, task.status.message]).toEqual([1, undefined]);
    await sql`UPDATE gateway.credential SET scopes = scopes || '{conversation_read}' WHERE id = ${grown.credential}`;
    const seen = (await call('GetTask', { id: task.id }, grown.token)).body.result;
    expect([seen.status.state, seen.artifacts]).toEqual(['TASK_STATE_COMPLETED', undefined]);
    expect(seen.status.message.parts[0].data).toEqual({
      code: 'result_withheld',
      title:
        'The result was made under other grants than those of your token. Send a read again with a new messageId. Never repeat a write.',
    });
    const listed = async (includeArtifacts: boolean): Promise<unknown> =>
      (await call('ListTasks', { includeArtifacts }, grown.token)).body.result.tasks[0].status.message?.parts[0].data
        .code;
    expect([await listed(true), await listed(false)]).toEqual(['result_withheld', undefined]);
  });

  it('what a credential may not run is HTTP 404 not_permitted with what is lacking, and no task', async () => {
    const poor = await gateway.issue({ scopes: ['conversation_read'], dataAccess: [] });
    const answer = await send(work('conversation_evidence', { conversation_id: conversation }), poor.token);
    expect([answer.status, answer.body.code]).toEqual([404, 'not_permitted']);
    expect(answer.body.required).toEqual({
      scopes: ['message_content_read', 'contact_read_pii'],
      data_access: ['message_content', 'pii'],
      unrestricted: false,
    });
    const narrow = await gateway.issue({ teams: ['tem_1_1_1'] });
    const restricted = await send(inspect(), narrow.token);
    expect([restricted.status, restricted.body.code]).toEqual([404, 'not_permitted']);
    expect(restricted.body.required).toEqual({ scopes: [], data_access: [], unrestricted: true });
    // When a caller may not use a skill, the gateway refuses the call before it looks at the arguments. A skill that
    // does not exist is unknown for every caller.
    const blind = await send(work('conversation_evidence', { nothing: 1 }), poor.token);
    expect(blind.status).toBe(404);
    for (const by of [poor.token, narrow.token])
      expect((await call('ListTasks', {}, by)).body.result.tasks).toEqual([]);
  });
});

describe('bad input: its own code, never -32603', () => {
  const message = (change: object): object => ({ message: { ...inspect().message, ...change } });
  const part = (change: object): object => message({ parts: [change] });
  const data = () => ({ skill: 'contact_inspection', arguments: { contact_id: contact } });

  it('A2-04 the message: parts, roles, ids', async () => {
    const long = 'x'.repeat(129);
    const cases: readonly (readonly [what: string, field: string, params: () => unknown])[] = [
      ['no params', 'message', () => undefined],
      ['no message', 'message', () => ({})],
      ['a message that is none', 'message', () => ({ message: 'x' })],
      ['null', 'message', () => ({ message: null })],
      ['no parts', 'message.parts', () => message({ parts: undefined })],
      ['zero parts', 'message.parts', () => message({ parts: [] })],
      ['two parts', 'message.parts', () => message({ parts: [{ data: data() }, { data: data() }] })],
      ['parts that are none', 'message.parts', () => message({ parts: { data: data() } })],
      ['a text of a number', 'message.parts.0.text', () => part({ text: 5 })],
      ['a part that is none', 'message.parts.0', () => message({ parts: ['x'] })],
      ['a part with nothing', 'message.parts.0.data', () => part({})],
      ['a part of data null', 'message.parts.0.data', () => part({ data: null })],
      ['a part of data text', 'message.parts.0.data', () => part({ data: 'x' })],
      ['a part of data list', 'message.parts.0.data', () => part({ data: [data()] })],
      ['the older form of a part', 'message.parts.0.data', () => part({ kind: 'text', data: 5 })],
      ['a media type of a number', 'message.parts.0.mediaType', () => part({ data: data(), mediaType: 5 })],
      ['a file name of a number', 'message.parts.0.filename', () => part({ data: data(), filename: 5 })],
      ['metadata of a part in a list', 'message.parts.0.metadata', () => part({ data: data(), metadata: [] })],
      ['no skill', 'message.parts.0.data.skill', () => part({ data: { arguments: {} } })],
      ['a skill of a number', 'message.parts.0.data.skill', () => part({ data: { skill: 1, arguments: {} } })],
      ['an unknown skill', 'message.parts.0.data.skill', () => part({ data: { skill: 'x', arguments: {} } })],
      ['a skill of Object', 'message.parts.0.data.skill', () => part({ data: { skill: 'toString', arguments: {} } })],
      ['no arguments', 'message.parts.0.data.arguments', () => part({ data: { skill: 'contact_inspection' } })],
      [
        'arguments as a list',
        'message.parts.0.data.arguments',
        () => part({ data: { skill: 'contact_inspection', arguments: [] } }),
      ],
      ['a member more', 'message.parts.0.data.extra', () => part({ data: { ...data(), extra: 1 } })],
      ['no role', 'message.role', () => message({ role: undefined })],
      ['the agent’s role', 'message.role', () => message({ role: 'ROLE_AGENT' })],
      ['a role of the older protocol', 'message.role', () => message({ role: 'user' })],
      ['a role by number', 'message.role', () => message({ role: 1 })],
      ['no messageId', 'message.messageId', () => message({ messageId: undefined })],
      ['an empty messageId', 'message.messageId', () => message({ messageId: '' })],
      ['a long messageId', 'message.messageId', () => message({ messageId: long })],
      ['a messageId of a number', 'message.messageId', () => message({ messageId: 5 })],
      ['a messageId with a line feed', 'message.messageId', () => message({ messageId: 'a\nb' })],
      ['a messageId beyond ASCII', 'message.messageId', () => message({ messageId: 'é' })],
      ['a long contextId', 'message.contextId', () => message({ contextId: long })],
      ['a contextId with NUL', 'message.contextId', () => message({ contextId: 'a\u0000' })],
      ['a contextId of a number', 'message.contextId', () => message({ contextId: 5 })],
      ['a taskId of a number', 'message.taskId', () => message({ taskId: 5 })],
      ['metadata of a text', 'message.metadata', () => message({ metadata: 'x' })],
      ['extensions of a text', 'message.extensions', () => message({ extensions: 'x' })],
      ['references of numbers', 'message.referenceTaskIds.0', () => message({ referenceTaskIds: [1] })],
      ['configuration of a text', 'configuration', () => ({ ...inspect(), configuration: 'x' })],
      [
        'returnImmediately of a text',
        'configuration.returnImmediately',
        () => ({ ...inspect(), configuration: { returnImmediately: 'true' } }),
      ],
      [
        'a negative historyLength',
        'configuration.historyLength',
        () => ({ ...inspect(), configuration: { historyLength: -1 } }),
      ],
      ['a tenant', 'tenant', () => ({ ...inspect(), tenant: 'x' })],
    ];
    for (const [what, field, params] of cases) expectInvalid(await send(params()), field, what);
  });

  it('A2-04 the arguments: unknown, missing, of another type or format, named by name and never by value', async () => {
    const cases: readonly (readonly [skill: string, input: object, field: string, code: string])[] = [
      ['contact_inspection', {}, 'contact_id', 'missing'],
      ['contact_inspection', { contact_id: 5 }, 'contact_id', 'invalid_parameter'],
      ['contact_inspection', { contact_id: null }, 'contact_id', 'invalid_parameter'],
      ['contact_inspection', { contact_id: 'secret-value' }, 'contact_id', 'invalid_parameter'],
      ['contact_inspection', { contact_id: 'ctc_1_1_1\u0000' }, 'contact_id', 'invalid_parameter'],
      ['contact_inspection', { contact_id: 'ctc_1_1_1', website_id: WEB }, 'website_id', 'unsupported_parameter'],
      ['contact_inspection', { contact_id: 'ctc_1_1_1', 'secret value': 1 }, '(unprintable)', 'unsupported_parameter'],
      ['conversation_evidence', { conversation_id: conversation, limit: '5' }, 'limit', 'invalid_parameter'],
      ['conversation_evidence', { conversation_id: conversation, limit: 0 }, 'limit', 'invalid_parameter'],
      ['conversation_evidence', { conversation_id: conversation, limit: 101 }, 'limit', 'invalid_parameter'],
      ['conversation_evidence', { conversation_id: conversation, limit: 1.5 }, 'limit', 'invalid_parameter'],
      ['conversation_evidence', { conversation_id: conversation, cursor: 'x' }, 'cursor', 'invalid_cursor'],
      [
        'conversation_evidence',
        { conversation_id: conversation, include_internal: true },
        'include_internal',
        'unsupported_parameter',
      ],
      ['configuration_inspection', { website_id: WEB, path: '/ai' }, 'path', 'invalid_parameter'],
      [
        'configuration_inspection',
        { website_id: WEB, path: '/ai/features/aif_1_1_1', cursor: 'aif_1_1_1' },
        'cursor',
        'invalid_cursor',
      ],
      ['support_insights', { website_id: WEB }, 'range', 'missing'],
      ['support_insights', { website_id: WEB, range: 'yesterday' }, 'range', 'invalid_parameter'],
      ['support_insights', { website_id: WEB, range: 'date' }, 'start', 'missing'],
      ['support_insights', { website_id: WEB, range: 'date', start: '2026-01-01' }, 'end', 'missing'],
      ['support_insights', { website_id: WEB, range: 'today', start: '2026-01-01' }, 'start', 'invalid_parameter'],
      [
        'support_insights',
        { website_id: WEB, range: 'date', start: '2026-01-01', end: '2026-02-01' },
        'end',
        'invalid_parameter',
      ],
      [
        'support_insights',
        { website_id: WEB, range: 'date', start: '2026-02-30', end: '2026-03-01' },
        'start',
        'invalid_parameter',
      ],
      ['support_insights', { website_id: WEB, range: 'today', timezone: 'Mars/Base' }, 'timezone', 'invalid_parameter'],
      [
        'offline_language_detection',
        { feature_id: 'aif_1_1_1', expected_version: '1', context: { type: 'text', text: 'x' } },
        'expected_version',
        'invalid_parameter',
      ],
      [
        'offline_language_detection',
        { feature_id: 'aif_1_1_1', expected_version: 1, context: { type: 'text', text: '' } },
        'context.text',
        'invalid_parameter',
      ],
      [
        'offline_language_detection',
        { feature_id: 'aif_1_1_1', expected_version: 1, context: { type: 'html', text: 'x' } },
        'context.type',
        'invalid_parameter',
      ],
      [
        'offline_language_detection',
        { feature_id: 'aif_1_1_1', expected_version: 1, context: { type: 'text', text: 'x\u0000' } },
        'context.text',
        'invalid_parameter',
      ],
      [
        'offline_language_detection',
        { feature_id: 'aif_1_1_1', expected_version: 1, context: { type: 'text', text: 'x', more: 1 } },
        'context.more',
        'unsupported_parameter',
      ],
    ];
    for (const [skill, input, field, code] of cases) {
      const where = `${skill} ${JSON.stringify(input)}`;
      const answer = await send(work(skill, input));
      expectInvalid(answer, `message.parts.0.data.arguments.${field}`, where);
      expect(answer.body.error.data[1].fieldViolations[0].description, where).toBe(code);
      expect(answer.text).not.toMatch(/secret|Mars|yesterday/);
    }
  });

  it('__proto__ and its like are members like any other', async () => {
    const raw = `{"skill":"contact_inspection","arguments":{"contact_id":"${contact}","__proto__":{"x":1}}}`;
    expectInvalid(await send(part({ data: JSON.parse(raw) })), 'message.parts.0.data.arguments.__proto__', 'arguments');
    const outer = `{"skill":"contact_inspection","arguments":{"contact_id":"${contact}"},"__proto__":{}}`;
    expectInvalid(await send(part({ data: JSON.parse(outer) })), 'message.parts.0.data.__proto__', 'data');
  });

  it('A2-04 other content than JSON and text is -32005', async () => {
    const cases: readonly (readonly [what: string, params: unknown])[] = [
      ['a raw part', part({ raw: 'AAAA' })],
      ['a part by address', part({ url: 'https://example.com/x' })],
      ['text beside data in a part', part({ text: 'x', data: data() })],
      ['a file beside a data part', message({ parts: [{ raw: 'AAAA' }, { data: data() }] })],
      ['a file beside a text part', message({ parts: [{ text: 'x' }, { url: 'https://example.com/x' }] })],
      ['a text that is an image', part({ text: 'x', mediaType: 'image/svg+xml' })],
      ['data of another media type', part({ data: data(), mediaType: 'text/plain' })],
      ['data of a suffix', part({ data: data(), mediaType: 'application/ld+json' })],
      ['data of two types', part({ data: data(), mediaType: 'application/json, text/plain' })],
      ['nothing that we can answer', { ...inspect(), configuration: { acceptedOutputModes: ['image/png'] } }],
    ];
    for (const [what, params] of cases) expectRpcError(await send(params), -32_005, what);
  });

  it('A2-04 push notifications within SendMessage are -32003, and no task is made', async () => {
    const lonely = await gateway.issue();
    for (const taskPushNotificationConfig of [{}, { url: 'https://example.com/hook' }, 5])
      expectRpcError(
        await send({ ...inspect(), configuration: { taskPushNotificationConfig } }, lonely.token),
        -32_003,
        'push',
      );
    expect((await call('ListTasks', {}, lonely.token)).body.result.totalSize).toBe(0);
  });

  it('what the protocol allows is taken', async () => {
    const cases: readonly (readonly [what: string, params: unknown])[] = [
      ['no media type', part({ data: data() })],
      ['an empty media type', part({ data: data(), mediaType: '' })],
      [
        'an unknown member that the codec would read',
        part({ data: data(), media_type: 'text/plain', file: { bytes: 'x' } }),
      ],
      ['a media type with its charset', part({ data: data(), mediaType: 'Application/JSON; charset=utf-8' })],
      ['a file name and metadata', part({ data: data(), filename: 'x.json', metadata: { a: 1 } })],
      ['absent members as null', message({ contextId: null, taskId: null, metadata: null, extensions: null })],
      ['lists', message({ extensions: ['urn:x'], referenceTaskIds: [UNKNOWN], metadata: { a: [1] } })],
      ['modes', { ...inspect(), configuration: { acceptedOutputModes: ['text/plain', 'application/json'] } }],
      ['any mode', { ...inspect(), configuration: { acceptedOutputModes: ['*/*'], historyLength: 5 } }],
      ['members of a later version', { ...message({ later: { a: 1 } }), later: true }],
      ['members of the codec’s other names', { ...message({ context_id: 5, reference_task_ids: 5 }), tenant: '' }],
    ];
    for (const [what, params] of cases) {
      const { body, text } = await send(params);
      expect(body.result?.task.status.state, `${what} ${text}`).toBe('TASK_STATE_COMPLETED');
      expect(body.result.task.contextId).toMatch(/^ctx_/);
    }
  });

  it('a task that has ended takes no message: an unknown taskId is -32001, a known one -32004, another’s -32001', async () => {
    const { task } = (await send(inspect())).body.result;
    expectRpcError(await send(inspect({ taskId: UNKNOWN })), -32_001, 'unknown');
    expectRpcError(await send(inspect({ taskId: 'x' })), -32_001, 'malformed');
    expectRpcError(await send(inspect({ taskId: task.id })), -32_004, 'known');
    for (const other of [stranger, twin]) {
      const answer = await send(inspect({ taskId: task.id }), other);
      expectRpcError(answer, -32_001, 'another’s');
      expect(answer.text).toBe((await send(inspect({ taskId: UNKNOWN }), other)).text);
    }
  });
});

describe('A2-02 the tasks of others', () => {
  it('A2-02 GetTask and CancelTask answer byte for byte as for an id that was never given', async () => {
    const done = (await send(inspect())).body.result.task;
    for (const other of [stranger, twin]) {
      for (const method of ['GetTask', 'CancelTask']) {
        const never = await call(method, { id: UNKNOWN }, other);
        expectRpcError(never, -32_001, method);
        expect(never.body.error).toEqual({
          code: -32_001,
          message:
            'This credential has no such task, or the task has expired. Check the id, or send the same message again.',
          data: [
            {
              '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
              reason: 'TASK_NOT_FOUND',
              domain: 'a2a-protocol.org',
              metadata: {},
            },
          ],
        });
        const varying = new Set(['date', 'x-request-id', 'ratelimit']);
        const fixed = ({ headers }: Answer): object =>
          Object.fromEntries(Object.entries(headers).filter(([name]) => !varying.has(name)));
        const ids = [done.id, done.id.toUpperCase(), 'x', 'task_', `${done.id} `, 'é', 'x'.repeat(10_000), '\u0000'];
        for (const id of ids) {
          const answer = await call(method, { id }, other);
          expect(answer.status).toBe(never.status);
          expect(answer.text, `${method} ${id.slice(0, 50)}`).toBe(never.text);
          expect(fixed(answer)).toEqual(fixed(never));
        }
      }
    }
    expect((await call('GetTask', { id: done.id })).body.result.id).toBe(done.id);
  });

  it('A2-02 answers for a stranger’s task take no longer or shorter than for one that never was', async () => {
    const { task } = (await send(inspect())).body.result;
    const times = { theirs: [] as number[], never: [] as number[] };
    for (let i = 0; i < 120; i++) {
      for (const kind of ['theirs', 'never'] as const) {
        const began = performance.now();
        await call('GetTask', { id: kind === 'theirs' ? task.id : UNKNOWN }, stranger);
        times[kind].push(performance.now() - began);
      }
    }
    const median = (all: number[]): number => all.sort((a, b) => a - b)[all.length >> 1] ?? 0;
    // The gateway runs the same statement for a foreign task and for a task that never existed. The times may therefore
    // differ only by chance.
    expect(median(times.theirs)).toBeLessThan(median(times.never) * 2 + 1);
    expect(median(times.never)).toBeLessThan(median(times.theirs) * 2 + 1);
  });

  it('A2-02 ListTasks shows one’s own alone, also under another’s context', async () => {
    const contextId = `shared ${messageId()}`;
    const mine = (await send(inspect({ contextId }))).body.result.task;
    const lonely = await gateway.issue();
    for (const params of [
      {},
      { contextId },
      { contextId, includeArtifacts: true },
      { status: 'TASK_STATE_COMPLETED' },
    ]) {
      const answer = await call('ListTasks', params, lonely.token);
      expect(answer.body.result).toEqual({ tasks: [], nextPageToken: '', pageSize: 50, totalSize: 0 });
    }
    const { task } = (await send(inspect({ contextId }), lonely.token)).body.result;
    const listed = async (by: string): Promise<string[]> =>
      (await call('ListTasks', { contextId }, by)).body.result.tasks.map((one: { id: string }) => one.id);
    expect(await listed(lonely.token)).toEqual([task.id]);
    expect(await listed(token)).toEqual([mine.id]);
  });

  it('A2-02 an expired task is like one that never was', async () => {
    const lonely = await gateway.issue();
    const { task } = (await send(inspect(), lonely.token)).body.result;
    const { sql } = gateway.database;
    await sql`ALTER TABLE gateway.task DISABLE TRIGGER USER`;
    await sql`UPDATE gateway.task SET expires_at = now() - interval '1 ms' WHERE id = ${task.id}`;
    await sql`ALTER TABLE gateway.task ENABLE TRIGGER USER`;
    for (const method of ['GetTask', 'CancelTask']) {
      const answer = await call(method, { id: task.id }, lonely.token);
      expect(answer.text).toBe((await call(method, { id: UNKNOWN }, lonely.token)).text);
    }
    expect((await call('ListTasks', {}, lonely.token)).body.result.totalSize).toBe(0);
  });
});

describe('GetTask and CancelTask', () => {
  it('ids of other types are -32602, any other text -32001', async () => {
    for (const method of ['GetTask', 'CancelTask']) {
      for (const id of [5, null, {}, [], true, undefined, '']) expectInvalid(await call(method, { id }), 'id', `${id}`);
      expectInvalid(await call(method), 'id', 'no params');
      expectInvalid(await call(method, { name: UNKNOWN }), 'id', 'another name');
    }
    expectInvalid(await call('GetTask', { id: UNKNOWN, historyLength: -1 }), 'historyLength', 'negative');
    expectInvalid(await call('GetTask', { id: UNKNOWN, historyLength: '1' }), 'historyLength', 'a text');
    expectInvalid(await call('CancelTask', { id: UNKNOWN, metadata: [] }), 'metadata', 'a list');
    expectInvalid(await call('GetTask', { id: UNKNOWN, tenant: 'x' }), 'tenant', 'a tenant');
  });

  it('an ended task cannot be cancelled: -32002, and it stays as it was', async () => {
    const { task } = (await send(inspect())).body.result;
    expectRpcError(await call('CancelTask', { id: task.id }), -32_002, 'completed');
    expect((await call('GetTask', { id: task.id, historyLength: 10 })).body.result).toEqual(task);
  });

  it('a running task is cancelled, has no artifact then, and its sender hears of it', async () => {
    const params = inspect();
    const canceled = await whileContactsWait(async () => {
      const { task } = (await send({ ...params, configuration: { returnImmediately: true } })).body.result;
      const waiting = send(params);
      await pause(100);
      const { result } = (await call('CancelTask', { id: task.id })).body;
      expect(result).toMatchObject({ id: task.id, status: { state: 'TASK_STATE_CANCELED' } });
      expect(result.artifacts).toBeUndefined();
      expect((await waiting).body.result.task).toEqual(result);
      return result;
    });
    expectRpcError(await call('CancelTask', { id: canceled.id }), -32_002, 'again');
    await pause(300);
    expect((await call('GetTask', { id: canceled.id })).body.result).toEqual(canceled);
  });
});

describe('A2-09 ListTasks', () => {
  it('A2-09 newest first, artifacts only where asked for, all four members always there', async () => {
    const { token: own } = await gateway.issue();
    expect((await call('ListTasks', undefined, own)).body.result).toEqual({
      tasks: [],
      nextPageToken: '',
      pageSize: 50,
      totalSize: 0,
    });
    const sent: string[] = [];
    for (let i = 0; i < 7; i++)
      sent.unshift((await send(inspect({ contextId: `c${i % 2}` }), own)).body.result.task.id);
    const all = (await call('ListTasks', {}, own)).body.result;
    expect(all.tasks.map((one: { id: string }) => one.id)).toEqual(sent);
    expect({ ...all, tasks: all.tasks.length }).toEqual({ tasks: 7, nextPageToken: '', pageSize: 50, totalSize: 7 });
    for (const task of all.tasks) expect(Object.keys(task).sort()).toEqual(['contextId', 'id', 'metadata', 'status']);
    const whole = (await call('ListTasks', { includeArtifacts: true }, own)).body.result;
    for (const task of whole.tasks) expect(task).toEqual((await call('GetTask', { id: task.id }, own)).body.result);
  });

  it('A2-09 pages: the whole list once, whatever its filters', async () => {
    const { token: own } = await gateway.issue();
    const sent: string[] = [];
    for (let i = 0; i < 7; i++)
      sent.unshift((await send(inspect({ contextId: `c${i % 2}` }), own)).body.result.task.id);
    const walk = async (params: object): Promise<{ ids: string[]; pages: number; totals: Set<number> }> => {
      const ids: string[] = [];
      const totals = new Set<number>();
      for (let pages = 1, pageToken = ''; ; pages++) {
        const { result } = (await call('ListTasks', { ...params, pageToken }, own)).body;
        ids.push(...result.tasks.map((one: { id: string }) => one.id));
        totals.add(result.totalSize);
        pageToken = result.nextPageToken;
        if (pageToken === '') return { ids, pages, totals };
        expect(pageToken).toMatch(/^[\w.~-]{1,1000}$/);
        expect(pages).toBeLessThan(10);
      }
    };
    expect(await walk({ pageSize: 3 })).toEqual({ ids: sent, pages: 3, totals: new Set([7]) });
    expect(await walk({ pageSize: 7 })).toEqual({ ids: sent, pages: 1, totals: new Set([7]) });
    expect(await walk({ pageSize: 1, contextId: 'c0' })).toEqual({
      ids: sent.filter((_, i) => i % 2 === 0),
      pages: 4,
      totals: new Set([4]),
    });
    for (const status of ['TASK_STATE_COMPLETED', 'TASK_STATE_UNSPECIFIED'])
      expect((await walk({ status, pageSize: 100 })).ids, status).toEqual(sent);
    const NEVER = ['FAILED', 'WORKING', 'SUBMITTED', 'CANCELED', 'REJECTED', 'INPUT_REQUIRED', 'AUTH_REQUIRED'];
    for (const state of NEVER) expect((await walk({ status: `TASK_STATE_${state}` })).ids, state).toEqual([]);
    const [third] = (await call('ListTasks', { pageSize: 3 }, own)).body.result.tasks.slice(2);
    const since = await walk({ statusTimestampAfter: third.status.timestamp });
    expect(since.ids).toEqual(sent.slice(0, 3));
    const offset = third.status.timestamp.replace('Z', '+00:00');
    expect((await walk({ statusTimestampAfter: offset })).ids).toEqual(sent.slice(0, 3));
    expect((await walk({ statusTimestampAfter: '2999-01-01T00:00:00Z' })).ids).toEqual([]);
  });

  it('A2-09 page tokens that are not ours, or not of this list, are -32602', async () => {
    const { token: own } = await gateway.issue();
    const { token: other } = await gateway.issue();
    for (let i = 0; i < 3; i++) for (const by of [own, other]) await send(inspect(), by);
    const page = async (by: string, params: object = {}): Promise<string> =>
      (await call('ListTasks', { pageSize: 1, ...params }, by)).body.result.nextPageToken;
    const good = await page(own);
    expect(good).not.toBe('');
    const flipped = [...good].map((one, i) => (i === 5 ? (one === 'A' ? 'B' : 'A') : one)).join('');
    const bad = [
      flipped,
      good.slice(1),
      good.slice(0, -1),
      `${good}A`,
      'x',
      '..',
      ' ',
      '\u0000',
      'é',
      'x'.repeat(5_000),
    ];
    for (const pageToken of [...bad, await page(other)])
      expectInvalid(await call('ListTasks', { pageSize: 1, pageToken }, own), 'pageToken', pageToken.slice(0, 30));
    expect((await call('ListTasks', { pageSize: 1, pageToken: good }, own)).body.result.tasks.length).toBe(1);
  });

  it('A2-09 bad filters are -32602', async () => {
    const cases: readonly (readonly [string, object])[] = [
      ['pageSize', { pageSize: 0 }],
      ['pageSize', { pageSize: 101 }],
      ['pageSize', { pageSize: '5' }],
      ['pageSize', { pageSize: 1.5 }],
      ['status', { status: 'completed' }],
      ['status', { status: 3 }],
      ['status', { status: 'UNRECOGNIZED' }],
      ['contextId', { contextId: 5 }],
      ['contextId', { contextId: 'x'.repeat(129) }],
      ['pageToken', { pageToken: 5 }],
      ['historyLength', { historyLength: -1 }],
      ['includeArtifacts', { includeArtifacts: 'true' }],
      ['statusTimestampAfter', { statusTimestampAfter: 'yesterday' }],
      ['statusTimestampAfter', { statusTimestampAfter: 5 }],
      ['statusTimestampAfter', { statusTimestampAfter: '2026-02-30T00:00:00Z' }],
      ['tenant', { tenant: 'x' }],
    ];
    for (const [field, params] of cases)
      expectInvalid(await call('ListTasks', params), field, JSON.stringify(params).slice(0, 60));
    for (const statusTimestampAfter of [
      '0000-01-01T00:00:00Z',
      '9999-12-31T23:59:59Z',
      '0001-01-01T00:00:00+14:00',
      '9999-12-31T23:59:59-12:00',
      '9999-12-31T23:59:59.9999999-00:01',
    ])
      expect((await call('ListTasks', { statusTimestampAfter })).status, statusTimestampAfter).toBe(200);
  });
});

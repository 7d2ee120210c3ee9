import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digestOf, newSecret } from '../../../src/auth/tokens.ts';
import type { Answer } from '../../support/answer.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { messageId, rpc, work } from '../../support/surfaces/a2a.ts';
import { WEB } from '../../support/surfaces/wire.ts';

let gateway: TestGateway;
let token: string;
let contact: string;

beforeAll(async () => {
  gateway = await openTestGateway();
  ({ token } = await gateway.issue());
  contact = (await gateway.ask(`/api/v1/contacts?website_id=${WEB}`, { token })).body.data.data[0].id;
});
afterAll(() => gateway.close());

const call = (method: string, params?: unknown, by = token): Promise<Answer> => rpc(gateway.port, by, method, params);
const send = (params: unknown, by = token): Promise<Answer> => call('SendMessage', params, by);
const said = (parts: readonly unknown[], more: object = {}, configuration?: object): object => ({
  message: { messageId: messageId(), role: 'ROLE_USER', parts, ...more },
  ...(configuration && { configuration }),
});
const text = (value: string, more: object = {}): object => said([{ text: value }], more);
const order = (id = contact): object => ({ skill: 'contact_inspection', arguments: { contact_id: id } });
const taskOf = ({ body, text: sent }: Answer) => body.result?.task ?? expect.fail(sent);
const textsOf = (task: { history?: { parts: { text: string }[] }[] }): string[] =>
  (task.history ?? []).map(({ parts }) => parts.map((one) => one.text).join());

function expectInvalid(answer: Answer, field: string, where: string): void {
  expect(answer.status, where).toBe(200);
  expect(answer.body.error?.code, `${where} ${answer.text}`).toBe(-32_602);
  expect(
    answer.body.error.data[1].fieldViolations.map((one: { field: string }) => one.field),
    where,
  ).toContain(field);
}

describe('a text', () => {
  it('that is JSON with skill and arguments counts as the data part, and is not kept', async () => {
    for (const written of [JSON.stringify(order()), ` \n${JSON.stringify(order(), undefined, 2)}\n`]) {
      const task = taskOf(await send(text(written)));
      expect(task.status.state).toBe('TASK_STATE_COMPLETED');
      expect(task.artifacts[0].parts[0].data.data.contact.id).toBe(contact);
      expect(task.history).toBeUndefined();
      expect(task.metadata).toMatchObject({ skill: 'contact_inspection', website_id: WEB });
    }
    // The parts of a text are one text, joined by line feeds.
    const [first, rest] = [JSON.stringify(order()).slice(0, 30), JSON.stringify(order()).slice(30)];
    const halves = [first.slice(0, first.indexOf(':') + 1), first.slice(first.indexOf(':') + 1) + rest];
    const joined = taskOf(await send(said(halves.map((one) => ({ text: one, mediaType: 'text/plain' })))));
    expect(joined.status.state).toBe('TASK_STATE_COMPLETED');
  });

  it('beside skill and arguments in the metadata of its message does what they say, and is kept', async () => {
    const metadata = { ...order(), trace: 'anything' };
    const task = taskOf(await send(text('Who is this?', { metadata })));
    expect(task.status.state).toBe('TASK_STATE_COMPLETED');
    expect(textsOf(task)).toEqual(['Who is this?']);
    expect(JSON.stringify(task.history)).not.toContain(contact);
    const only = taskOf(await send(text('Who?', { metadata: { skill: 'contact_inspection' } })));
    expect(only.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
  });

  it('beside a data part is kept, in any order, and the data never; a JSON text beside one is not kept', async () => {
    const data = { data: order() };
    const words = [{ text: 'Who is' }, { text: 'this?', mediaType: 'text/plain' }];
    for (const parts of [
      [...words, data],
      [data, ...words],
      [words[0], data, words[1]],
    ]) {
      const task = taskOf(await send(said(parts)));
      expect(task.status.state).toBe('TASK_STATE_COMPLETED');
      expect(textsOf(task)).toEqual(['Who is\nthis?']);
      expect(JSON.stringify(task.history)).not.toContain(contact);
    }
    // The data part counts, not the text.
    const other = {
      text: JSON.stringify({ skill: 'contact_inspection', arguments: { contact_id: 'ctc_1_1_999999' } }),
    };
    const both = taskOf(await send(said([other, data])));
    expect([both.status.state, both.history]).toEqual(['TASK_STATE_COMPLETED', undefined]);
    for (const wrong of [5, null, [], 'x', {}, { skill: 'contact_inspection' }])
      expect((await send(said([...words, { data: wrong }]))).body.error?.code, JSON.stringify(wrong)).toBe(-32_602);
    for (const file of [{ raw: 'AAAA' }, { url: 'https://example.com/x' }])
      expect((await send(said([...words, data, file]))).body.error?.code).toBe(-32_005);
  });

  it('names the wrong field where the client wrote it', async () => {
    const cases: readonly (readonly [field: string, params: object])[] = [
      ['message.parts.0.text.skill', text('{"skill":"nothing","arguments":{}}')],
      ['message.parts.0.text.skill', text('{"skill":5,"arguments":{}}')],
      ['message.parts.0.text.arguments', text('{"skill":"contact_inspection","arguments":[]}')],
      ['message.parts.0.text.more', text(JSON.stringify({ ...order(), more: 1 }))],
      ['message.parts.0.text.arguments.contact_id', text('{"skill":"contact_inspection","arguments":{}}')],
      ['message.metadata.skill', text('x', { metadata: { skill: 'nothing', arguments: {} } })],
      [
        'message.metadata.arguments.contact_id',
        text('x', { metadata: { skill: 'contact_inspection', arguments: {} } }),
      ],
      ['message.parts.1.data.skill', said([{ text: 'x' }, { data: { skill: 'nothing', arguments: {} } }])],
      ['message.parts', said([{ text: 'x' }, { data: order() }, { data: order() }])],
      ['message.parts.1.data', said([{ text: 'x' }, {}])],
    ];
    for (const [field, params] of cases) expectInvalid(await send(params), field, field);
    const poor = await gateway.issue({ scopes: ['config_read'], dataAccess: [] });
    expect((await send(text(JSON.stringify(order())), poor.token)).body.code).toBe('not_permitted');
  });

  it('of any other kind makes a task that asks for a skill, with the skills that this token may use', async () => {
    const deep = `{"skill":"contact_inspection","arguments":${'{"a":'.repeat(40)}1${'}'.repeat(40)}}`;
    const twice = '{"skill":"contact_inspection","skill":"contact_inspection","arguments":{}}';
    const texts = [
      'Who is Ada?',
      '',
      '{',
      'null',
      '[1]',
      '{"skill":"contact_inspection"}',
      deep,
      twice,
      'a\u0000\ud83d\ude00',
    ];
    for (const one of texts) {
      const task = taskOf(await send(text(one)));
      expect(task.status.state, one).toBe('TASK_STATE_INPUT_REQUIRED');
      expect(task.artifacts).toBeUndefined();
      expect(task.metadata).toEqual({ expires_at: expect.any(String) });
      // Data that cannot be read names persons as other data does, so it is not kept.
      expect(textsOf(task)).toEqual([[deep, twice].includes(one) ? '' : one]);
      const { role, parts, taskId, contextId } = task.status.message;
      expect([role, taskId, contextId]).toEqual(['ROLE_AGENT', task.id, task.contextId]);
      expect(parts).toHaveLength(2);
      expect(parts[0].text.split('\n')).toHaveLength(5);
      const names = parts[1].data.skills.map((skill: { id: string }) => skill.id);
      expect(names).toContain('contact_inspection');
      for (const skill of parts[1].data.skills) {
        expect(Object.keys(skill)).toEqual(['id', 'description', 'arguments', 'example']);
        expect(skill.arguments.type).toBe('object');
        expect(Object.keys(skill.example)).toEqual(['skill', 'arguments']);
        expect(skill.example.skill).toBe(skill.id);
      }
      expect((await call('GetTask', { id: task.id })).body.result).toEqual(task);
    }
    const poor = await gateway.issue({ scopes: ['config_read'], dataAccess: [] });
    const told = taskOf(await send(text('Who?'), poor.token)).status.message.parts[1].data.skills;
    expect(told.map((skill: { id: string }) => skill.id)).toEqual(['configuration_inspection']);
    const none = await gateway.issue({ scopes: ['website_read'], dataAccess: [] });
    const { parts } = taskOf(await send(text('Who?'), none.token)).status.message;
    expect(parts[1].data.skills).toEqual([]);
    expect(parts[0].text).toContain('Choose a skill of the data part: none that this token may use. ');
  });

  it('larger than a body may be is refused, and one of the largest size is kept', async () => {
    const large = await send(text('x'.repeat(1_000_000)));
    expect([large.status, large.body.error.code]).toEqual([200, -32_700]);
    const fits = 'x'.repeat(65_000);
    const task = taskOf(await send(text(fits)));
    expect(textsOf(task)).toEqual([fits]);
    const more = taskOf(await send(text('y'.repeat(65_000), { taskId: task.id })));
    expect(textsOf(more).map((one) => one[0])).toEqual(['y']);
  });
});

describe('a task that asks for a skill', () => {
  const ask = async (value = 'Who is Ada?', by = token) => taskOf(await send(text(value), by));

  it('does its work under the same id, and a repeated message changes nothing', async () => {
    const first = text('Who is Ada?');
    const asked = taskOf(await send(first));
    const answer = said([{ data: order() }], { taskId: asked.id, contextId: asked.contextId });
    const done = taskOf(await send(answer));
    expect(done).toMatchObject({ id: asked.id, contextId: asked.contextId, status: { state: 'TASK_STATE_COMPLETED' } });
    expect(done.artifacts[0].parts[0].data.data.contact.id).toBe(contact);
    expect(done.metadata.expires_at).toBe(asked.metadata.expires_at);
    expect(textsOf(done)).toEqual(['Who is Ada?']);
    for (const again of [answer, first]) expect(taskOf(await send(again))).toEqual(done);
    expect((await call('GetTask', { id: asked.id })).body.result).toEqual(done);
    const late = await send(text('more', { taskId: asked.id }));
    expect(late.body.error.code).toBe(-32_004);
    const { messageId: used } = (answer as { message: { messageId: string } }).message;
    const other = await send(said([{ data: order('ctc_1_1_1') }], { taskId: asked.id, messageId: used }));
    expect(other.body.error.data[0].reason).toBe('message_id_conflict');
  });

  it('takes JSON as text and metadata, too, also with returnImmediately', async () => {
    for (const parts of [[{ text: JSON.stringify(order()) }], [{ text: 'this one' }, { data: order() }]]) {
      const { id } = await ask();
      expect(taskOf(await send(said(parts, { taskId: id }))).status.state).toBe('TASK_STATE_COMPLETED');
    }
    const { id } = await ask();
    const now = taskOf(await send(said([{ data: order() }], { taskId: id }, { returnImmediately: true })));
    expect([now.id, now.status.state]).toEqual([id, 'TASK_STATE_SUBMITTED']);
    await expect
      .poll(async () => (await call('GetTask', { id })).body.result.status.state)
      .toBe('TASK_STATE_COMPLETED');
  });

  it('stays so after another text, and keeps the newest twenty', async () => {
    const { id, status } = await ask('text 0');
    let last = text('text 1', { taskId: id });
    const second = taskOf(await send(last));
    expect(second.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    expect(Date.parse(second.status.timestamp)).toBeGreaterThanOrEqual(Date.parse(status.timestamp));
    expect(textsOf(second)).toEqual(['text 0', 'text 1']);
    expect(taskOf(await send(last))).toEqual(second);
    for (let i = 2; i < 30; i++) {
      last = text(`text ${i}`, { taskId: id });
      await send(last);
    }
    const whole = (await call('GetTask', { id })).body.result;
    expect(textsOf(whole)).toEqual(Array.from({ length: 20 }, (_, i) => `text ${i + 10}`));
    expect(taskOf(await send(last))).toEqual(whole);
    for (const [historyLength, n] of [
      [0, 0],
      [1, 1],
      [19, 19],
      [50, 20],
    ] as const) {
      const told = (await call('GetTask', { id, historyLength })).body.result;
      expect(textsOf(told), `${historyLength}`).toEqual(textsOf(whole).slice(20 - n));
      expect('history' in told).toBe(n > 0);
    }
    expect(taskOf(await send({ ...last, configuration: { historyLength: 2 } })).history).toHaveLength(2);
  });

  it('is told only under the grants of its sender', async () => {
    const grown = await gateway.issue();
    const { id } = taskOf(await send(text('Ada wrote from en.us.74@example.org', {}), grown.token));
    const told = async () => (await call('GetTask', { id }, grown.token)).body.result;
    expect(textsOf(await told())).toEqual(['Ada wrote from en.us.74@example.org']);
    await gateway.database
      .sql`UPDATE gateway.credential SET scopes = array_remove(scopes, 'contact_read_pii') WHERE id = ${grown.credential}`;
    expect([(await told()).status.state, (await told()).history]).toEqual(['TASK_STATE_INPUT_REQUIRED', undefined]);
  });

  it('is refused by another context, another credential, and an unknown id', async () => {
    const { id } = await ask();
    expectInvalid(await send(text('x', { taskId: id, contextId: 'another' })), 'message.contextId', 'context');
    const { token: stranger } = await gateway.issue();
    const theirs = await send(text('x', { taskId: id }), stranger);
    const never = await send(text('x', { taskId: 'task_0123456789abcdef0123456789abcdef' }), stranger);
    expect(never.body.error.code).toBe(-32_001);
    expect(theirs.text).toBe(never.text);
    expectInvalid(
      await send(said([{ data: { skill: 'x', arguments: {} } }], { taskId: id })),
      'message.parts.0.data.skill',
      'skill',
    );
    expect((await call('GetTask', { id })).body.result.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
  });

  it('is listed by its state, without its texts, and can be canceled', async () => {
    const { token: own } = await gateway.issue();
    const { id } = await ask('secret words', own);
    const { text: listed, body } = await call('ListTasks', { status: 'TASK_STATE_INPUT_REQUIRED' }, own);
    expect(body.result.tasks.map((one: { id: string }) => one.id)).toEqual([id]);
    expect(listed).not.toContain('secret words');
    expect((await call('CancelTask', { id }, own)).body.result.status.state).toBe('TASK_STATE_CANCELED');
    expect((await call('ListTasks', { status: 'TASK_STATE_INPUT_REQUIRED' }, own)).body.result.tasks).toEqual([]);
    expect((await send(said([{ data: order() }], { taskId: id }), own)).body.error.code).toBe(-32_004);
  });

  it('has a short text in a list, and its schemas only where it is read', async () => {
    const { token: own, installation } = await gateway.issue();
    const { id } = await ask('x', own);
    const { sql } = gateway.database;
    await sql`INSERT INTO gateway.task (id, installation_id, credential_id, message, fingerprint, grants, context_id, state,
        state_at, owner, lost_as, created_at, expires_at)
      SELECT 'task_' || md5(n::text || ${installation}), installation_id, credential_id, sha256((n::text || ${installation})::bytea),
             fingerprint, grants, context_id, 'input_required', now(), owner, 'interrupted', now(), expires_at
        FROM gateway.task, generate_series(1, 99) n WHERE id = ${id}`;
    for (const more of [{}, { includeArtifacts: true }, { historyLength: 5 }]) {
      const listed = await call('ListTasks', { pageSize: 100, ...more }, own);
      expect(listed.body.result.tasks).toHaveLength(100);
      expect(listed.text.length).toBeLessThan(100_000);
      for (const { id: of, status } of listed.body.result.tasks) {
        expect(status.message).toMatchObject({ messageId: `${of}-reminder`, role: 'ROLE_AGENT', taskId: of });
        expect(status.message.parts).toHaveLength(1);
        expect(status.message.parts[0].text).toMatch(/contact_inspection.*conversation_search.*GetTask/);
      }
    }
    const { status } = (await call('GetTask', { id }, own)).body.result;
    expect(status.message.messageId).toBe(`${id}-question`);
    expect(status.message.parts[1].data.skills[0].arguments.type).toBe('object');
  });

  it('lives fifteen minutes from its first message, whatever the tokens of its senders', async () => {
    const { sql } = gateway.database;
    const issued = await gateway.issue();
    const access = async (minutes: number): Promise<string> => {
      const secret = newSecret('access_test');
      await sql`INSERT INTO gateway.token (digest, credential_id, kind, audience, scopes, sites, expires_at)
        SELECT ${digestOf(secret)}, id, 'access', 'a2a', scopes, sites, now() + ${minutes} * interval '1 minute'
          FROM gateway.credential WHERE id = ${issued.credential}`;
      return secret;
    };
    const lives = (task: { metadata: { expires_at: string } }, since: string): number =>
      Math.round((Date.parse(task.metadata.expires_at) - Date.parse(since)) / 6_000) / 10;
    const [two, five] = [await access(2), await access(5)];
    const asked = await ask('x', two);
    const since: string = asked.status.timestamp;
    expect(lives(asked, since)).toBe(15);
    const longer = taskOf(await send(text('y', { taskId: asked.id }), issued.token));
    expect(lives(longer, since)).toBe(15);
    const done = taskOf(await send(said([{ data: order() }], { taskId: asked.id }), five));
    expect(done.status.state).toBe('TASK_STATE_COMPLETED');
    expect(lives(done, since)).toBe(15);
    // The result outlives the token of its sender: a new token with the same grants reads it.
    await sql`UPDATE gateway.token SET expires_at = now() WHERE digest = ${digestOf(five)}`;
    expect((await call('GetTask', { id: asked.id }, five)).status).toBe(401);
    const { result } = (await call('GetTask', { id: asked.id }, await access(10))).body;
    expect([lives(result, since), result.artifacts]).toEqual([15, done.artifacts]);
  });

  it('works once for two messages that come at the same time', async () => {
    for (let i = 0; i < 10; i++) {
      const { id } = await ask();
      const answers = await Promise.all(
        ['ctc_1_1_1', contact, contact].map((one) => send(said([{ data: order(one) }], { taskId: id }))),
      );
      const won = answers.filter(({ body }) => body.result);
      expect(won.map((one) => taskOf(one).status.state)).toEqual(['TASK_STATE_COMPLETED']);
      for (const { body } of answers) if (!body.result) expect(body.error.code).toBe(-32_004);
      const same = said([{ data: order() }], { taskId: (await ask()).id });
      const twice = await Promise.all([send(same), send(same), send(same)]);
      for (const one of twice) expect(taskOf(one)).toEqual(taskOf(twice[0] ?? one));
    }
  });

  it('costs one unit, and the message that sets it to work one more; it is one of the hundred, not of the five', async () => {
    const { token: own, installation } = await gateway.issue({ perMinute: 1, burst: 100 });
    const left = ({ headers }: Answer): number => Number(/r=(\d+)/.exec(String(headers['ratelimit']))?.[1]);
    const before = left(await call('ListTasks', {}, own));
    const asked = await send(text('x'), own);
    expect(before - left(asked)).toBe(1);
    const worked = await send(said([{ data: order() }], { taskId: taskOf(asked).id }), own);
    expect(left(asked) - left(worked)).toBe(2);
    const { sql } = gateway.database;
    for (let i = 0; i < 8; i++) await send(text('x'), own);
    expect(taskOf(await send(work('contact_inspection', { contact_id: contact }), own)).status.state).toBe(
      'TASK_STATE_COMPLETED',
    );
    await sql`INSERT INTO gateway.task (id, installation_id, credential_id, message, fingerprint, grants, context_id, state,
        state_at, owner, lost_as, created_at, expires_at)
      SELECT 'task_' || md5(n::text || ${installation}), installation_id, credential_id, sha256((n::text || ${installation})::bytea),
             fingerprint, grants, context_id, 'input_required', now(), owner, 'interrupted', now(), expires_at
        FROM gateway.task, generate_series(1, 90) n WHERE id = ${taskOf(asked).id}`;
    const full = await send(text('x'), own);
    expect([full.status, full.body.code]).toEqual([429, 'task_limit']);
    expect(Number(full.headers['retry-after'])).toBeGreaterThan(0);
  });

  it('is gone with its texts after fifteen minutes, and with its token', async () => {
    const { sql } = gateway.database;
    const issued = await gateway.issue();
    const { id, metadata, status } = await ask('x', issued.token);
    expect(Date.parse(metadata.expires_at) - Date.parse(status.timestamp)).toBe(15 * 60_000);
    await sql`UPDATE gateway.task SET expires_at = now() - interval '1 ms' WHERE id = ${id}`;
    expect((await call('GetTask', { id }, issued.token)).body.error.code).toBe(-32_001);
    expect((await send(said([{ data: order() }], { taskId: id }), issued.token)).body.error.code).toBe(-32_001);
    await expect
      .poll(async () => (await sql`SELECT FROM gateway.task WHERE id = ${id}`).length, { timeout: 8_000 })
      .toBe(0);
  });
});

describe('who accepts only text/plain', () => {
  it('gets the artifact as one text with the same JSON', async () => {
    const data = said([{ data: order() }]);
    const [part] = taskOf(await send(data)).artifacts[0].parts;
    for (const acceptedOutputModes of [['text/plain'], ['text/*'], ['text/plain; charset=utf-8', 'image/png']]) {
      const told = taskOf(await send(said([{ data: order() }], {}, { acceptedOutputModes }))).artifacts[0].parts;
      expect(told).toEqual([{ text: JSON.stringify(part.data), mediaType: 'text/plain' }]);
    }
    const both = said([{ data: order() }], {}, { acceptedOutputModes: ['text/plain', 'application/json'] });
    expect(taskOf(await send(both)).artifacts[0].parts[0].data).toEqual(part.data);
  });

  it('gets the text of a task later by the same message, because GetTask names no modes', async () => {
    const later = said([{ data: order() }], {}, { acceptedOutputModes: ['text/plain'], returnImmediately: true });
    const { id } = taskOf(await send(later));
    const read = async () => (await call('GetTask', { id })).body.result;
    await expect.poll(async () => (await read()).status.state).toBe('TASK_STATE_COMPLETED');
    const { data } = (await read()).artifacts[0].parts[0];
    const again = taskOf(await send(later));
    expect([again.id, again.artifacts[0].parts]).toEqual([
      id,
      [{ text: JSON.stringify(data), mediaType: 'text/plain' }],
    ]);
  });
});

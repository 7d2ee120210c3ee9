import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Registry } from '../../../src/gateway/registry.ts';
import type { Answer } from '../../support/answer.ts';
import type { Grant } from '../../support/credentials.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { rpc as a2a } from '../../support/surfaces/a2a.ts';
import { argumentsOf, ENVELOPE, modern, rpc } from '../../support/surfaces/mcp.ts';
import { examples, freshKey, WEB, writer } from '../../support/surfaces/wire.ts';

/**
 * Ten complaints of users of other MCP servers (October 2026). Each has the request of the client that complained, and
 * what this gateway answers.
 */
let gateway: TestGateway;
let token: string;

beforeAll(async () => {
  gateway = await openTestGateway();
  ({ token } = await writer(gateway));
});
afterAll(() => gateway.close());

type Input = Readonly<Record<string, unknown>>;
const call = (name: string, input?: Input, by = token): Promise<Answer> =>
  rpc(gateway.port, by, 'tools/call', { name, ...(input && { arguments: input }) });
const dataOf = async (name: string, input?: Input, by = token) => {
  const { body, text } = await call(name, input, by);
  expect(body.result?.isError, `${name} ${JSON.stringify(input)} ${text.slice(0, 400)}`).toBe(false);
  const { data } = body.result.structuredContent;
  return data.data ?? data;
};
const NOTE = { text: 'Asked for an invoice copy by post.' };
const visitor = async (): Promise<string> => {
  const found = (await examples(gateway)).find(({ tool }) => tool.name === 'visitor_note_add');
  return found ? String(argumentsOf(found.tool, found.url)['visitor_id']) : expect.fail('no example of a note');
};

describe('complaints about other servers', () => {
  it('1 reads work and writes get 403: the context tells what the token can do now', async () => {
    const granted: Grant = { scopes: ['website_read', 'conversation_read', 'conversation_update'] };
    const { token: narrow, credential } = await writer(gateway, granted);
    const before = await dataOf('gateway_context', {}, narrow);
    expect(before.scope_effective.scopes).toContain('conversation_update');
    expect(before.scope_effective.expires_at).toBe(before.authority_expires_at);
    await gateway.database.sql`UPDATE gateway.credential
      SET scopes = '{website_read,conversation_read}', revision = revision + 1 WHERE id = ${credential}`;
    const after = await dataOf('gateway_context', {}, narrow);
    expect(after.scope_effective).toEqual({
      ...before.scope_effective,
      scopes: ['website_read', 'conversation_read'],
      data_access: after.data_access,
    });
    await gateway.database.sql`UPDATE gateway.credential SET expires_at = now() WHERE id = ${credential}`;
    for (const name of ['gateway_context', 'conversation_disposition_set'])
      expect((await call(name, {}, narrow)).status, name).toBe(401);
  });

  it('2 there is no way without a browser: an installation token in the header is enough', async () => {
    const { token: headless } = await gateway.issue();
    expect((await dataOf('websites_list', {}, headless)).websites.length).toBeGreaterThan(0);
  });

  it('3 limits are in no documentation: they are on one page and in the context', async () => {
    const { token: small } = await gateway.issue({ perMinute: 300, burst: 70 });
    const { limits } = await dataOf('gateway_context', {}, small);
    expect(limits).toEqual({
      ...{ units_per_minute: 300, burst: 70, answer_bytes_per_unit: 131_072, body_bytes: 65_536 },
      ...{ page_records: 100, tokens_per_minute: 60 },
    });
    const page = await fetch(`http://127.0.0.1:${gateway.port}/docs/limits`);
    const text = await page.text();
    expect(page.status).toBe(200);
    for (const said of ['600 a minute', '128 KiB', '64 KiB', '60 a minute', '1 to 100']) expect(text).toContain(said);
  });

  it('4 a large body or answer is shown as another error: each says its size', async () => {
    const { body } = await call('search', { query: 'x'.repeat(70_000) });
    expect(body.error.message).toContain('65536 bytes');
    const page = await dataOf('conversation_messages', { conversation_id: 'cnv_1_1_1', limit: 100 });
    expect(page).toHaveProperty('next_cursor');
  });

  it('5 the payload comes twice: once for a client that reads structuredContent', async () => {
    const params = { name: 'conversations_list', arguments: { website_id: WEB, limit: 50 } };
    const both = await modern(gateway.port, token, 'tools/call', params);
    const reads = {
      ...ENVELOPE,
      'io.modelcontextprotocol/clientCapabilities': { structuredContent: {} },
    };
    const once = await modern(gateway.port, token, 'tools/call', { ...params, _meta: reads });
    expect(once.body.result.structuredContent).toEqual(both.body.result.structuredContent);
    expect(both.body.result.content[0].text).toBe(JSON.stringify(both.body.result.structuredContent.data));
    expect(once.body.result.content).toEqual([{ type: 'text', text: 'The answer is in structuredContent.' }]);
    expect(once.text.length).toBeLessThan(both.text.length * 0.55);
    // Nothing else that a client declares changes an answer.
    for (const value of [true, 'yes', null]) {
      const odd = { ...ENVELOPE, 'io.modelcontextprotocol/clientCapabilities': { structuredContent: value } };
      expect((await modern(gateway.port, token, 'tools/call', { ...params, _meta: odd })).text).toBe(both.text);
    }
  });

  it('6 null, an empty text or no arguments are refused: they mean that a parameter is not given', async () => {
    let nulls = 0;
    let empty = 0;
    for (const { tool, url, body } of await examples(gateway)) {
      if (tool.effect === 'write') continue;
      const input = argumentsOf(tool, url);
      const plain = await call(tool.name, input);
      const same = (answer: Answer, what: string): void =>
        expect(masked(answer.text), `${tool.name} ${what} ${answer.text.slice(0, 300)}`).toBe(masked(plain.text));
      const absent = tool.parameters.filter(({ name, required }) => !required && input[name] === undefined);
      expect(body).toBeUndefined();
      same(await call(tool.name, { ...input, ...Object.fromEntries(absent.map(({ name }) => [name, null])) }), 'null');
      nulls += absent.length;
      for (const { name, type, schema } of absent) {
        const answer = await call(tool.name, { ...input, [name]: '' });
        const isFilter = type === 'string' && name !== 'cursor' && !schema.safeParse(undefined).data;
        if (isFilter) same(answer, `${name} empty`);
        else expect(answer.body.error?.data.errors, `${tool.name} ${name}`).toHaveLength(1);
        empty += isFilter ? 1 : 0;
      }
      for (const { name, required } of tool.parameters)
        if (required) expect((await call(tool.name, { ...input, [name]: null })).body.error?.code, name).toBe(-32602);
    }
    expect(nulls).toBeGreaterThan(100);
    expect(empty).toBeGreaterThan(50);
    expect((await dataOf('websites_list')).websites.length).toBeGreaterThan(0);
  });

  it('6 over REST a query stays exact', async () => {
    const ask = (path: string) => gateway.ask(`/api/v1${path}`, { token });
    for (const query of ['status=', 'platform=', 'cursor=']) {
      const { status, body } = await ask(`/conversations?website_id=${WEB}&${query}`);
      expect([status, body.errors.length], query).toEqual([400, 1]);
    }
  });

  it('6 A2A takes null for what is optional', async () => {
    const sent = (more: Input) => ({
      message: {
        messageId: freshKey(),
        role: 'ROLE_USER',
        parts: [
          {
            data: { skill: 'conversation_evidence', arguments: { conversation_id: 'cnv_1_1_1', ...more } },
            mediaType: 'application/json',
          },
        ],
      },
    });
    const artifactOf = ({ body, text }: Answer) => body.result?.task?.artifacts ?? expect.fail(text);
    const plain = artifactOf(await a2a(gateway.port, token, 'SendMessage', sent({ limit: 5 })));
    const nulls = artifactOf(await a2a(gateway.port, token, 'SendMessage', sent({ limit: 5, cursor: null })));
    expect(nulls[0].parts).toEqual(plain[0].parts);
  });

  it('7 a tool is listed but cannot be called: every listed tool is called, and an alias stays callable', async () => {
    const { body } = await rpc(gateway.port, token, 'tools/list');
    for (const { name } of body.result.tools) {
      const answer = await call(name, {});
      const said = answer.body.error ?? answer.body.result;
      expect(said, name).toBeDefined();
      expect(answer.body.error?.data.code, name).not.toBe('not_permitted');
    }
    const { registry } = gateway.corridor;
    const [one, two] = registry.tools;
    if (!one || !two) expect.fail('no tools');
    const renamed = { ...one, aliases: ['old_name'] };
    const both = new Registry([renamed, two]);
    expect([both.get('old_name')?.name, both.get(one.name)?.name]).toEqual([one.name, one.name]);
    expect(both.tools.map(({ name }) => name)).not.toContain('old_name');
    expect(() => new Registry([{ ...one, aliases: [two.name] }, two])).toThrow('same name or alias');
  });

  it('8 two accounts at once: each request is its own token’s', async () => {
    const { token: other } = await gateway.issue({ websites: ['web_1_2'] });
    const answers = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => {
        const by = n % 2 === 0 ? token : other;
        const { website_ids } = await dataOf('gateway_context', {}, by);
        return [by === other, website_ids.includes('web_1_1')];
      }),
    );
    for (const [isOther, seesFirst] of answers) expect(seesFirst).toBe(!isOther);
  });

  it('9 behaviour by the name of the client: every name gets the same bytes', async () => {
    const params = { name: 'websites_list', arguments: {} };
    const texts = new Set<string>();
    for (const name of ['claude-ai', 'ChatGPT', 'cursor-vscode', 'mcp-inspector', 'x']) {
      const _meta = { ...ENVELOPE, 'io.modelcontextprotocol/clientInfo': { name, version: '9.9.9' } };
      texts.add((await modern(gateway.port, token, 'tools/call', { ...params, _meta })).text);
    }
    expect(texts.size).toBe(1);
  });

  it('10 a search exhausts the quota and varies: it costs 2 units, and twice the same is the same', async () => {
    const { token: paying } = await gateway.issue({ perMinute: 1, burst: 100 });
    const left = ({ headers }: Answer): number => Number(/r=(\d+)/.exec(String(headers['ratelimit']))?.[1]);
    const first = await call('search', { query: 'tent' }, paying);
    const second = await call('search', { query: 'tent' }, paying);
    expect(left(first) - left(second)).toBe(2);
    expect(second.text).toBe(first.text);
  });
});

describe('what a write tells', () => {
  it('the value that it set and the time of the change, again for a repeated key', async () => {
    const key = freshKey();
    const note = { visitor_id: await visitor(), ...NOTE, idempotency_key: key };
    const written = await dataOf('visitor_note_add', note);
    expect(written.updated_at).toBe(written.note.created_at);
    expect(await dataOf('visitor_note_add', note)).toEqual(written);
    const { dispositions } = await dataOf('dispositions', { website_id: WEB });
    const { value } = dispositions.find(({ enabled }: { enabled: boolean }) => enabled);
    const { conversations } = await dataOf('conversations_list', { website_id: WEB, limit: 1 });
    const set = { conversation_id: conversations[0].id, disposition: ` ${value} `, idempotency_key: freshKey() };
    const answer = await dataOf('conversation_disposition_set', set);
    expect(answer).toMatchObject({ success: true, disposition: value });
    const { conversation } = await dataOf('conversation', { conversation_id: conversations[0].id });
    expect(conversation).toMatchObject({ disposition: value, updated_at: answer.updated_at });
    expect(await dataOf('conversation_disposition_set', set)).toEqual(answer);
  });

  it('a subscription that starts now has no receipt of before', async () => {
    const create = (start: string) =>
      dataOf('subscription_create', {
        website_ids: [WEB],
        event_types: ['visitor.*'],
        payload_mode: 'thin',
        delivery: { mode: 'pull' },
        start,
        idempotency_key: freshKey(),
      });
    const of = async (start: string) => {
      const { subscription, cursor } = await create(start);
      const { events } = await dataOf('events_pull', { subscription_id: subscription.subscription_id, after: cursor });
      return [subscription.start, events.length > 0];
    };
    await dataOf('visitor_note_add', { visitor_id: await visitor(), ...NOTE, idempotency_key: freshKey() });
    expect(await of('retained')).toEqual(['retained', true]);
    expect(await of('now')).toEqual(['now', false]);
    const { subscription, cursor } = await create('now');
    await dataOf('visitor_note_add', { visitor_id: await visitor(), ...NOTE, idempotency_key: freshKey() });
    const { events } = await dataOf('events_pull', { subscription_id: subscription.subscription_id, after: cursor });
    expect(events.length).toBe(1);
  });
});

describe('what the context and access_explain tell', () => {
  it('the time of each website in its zone, and null without website_read', async () => {
    const { websites } = await dataOf('gateway_context');
    expect(websites.map(({ time_zone }: { time_zone: string }) => time_zone)).toEqual([
      'America/New_York',
      'Europe/Berlin',
    ]);
    for (const { now, time_zone } of websites) {
      expect(now).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$/);
      expect(Math.abs(Date.parse(now) - Date.now())).toBeLessThan(5_000);
      const hour = new Intl.DateTimeFormat('en', { timeZone: time_zone, hour: '2-digit', hourCycle: 'h23' });
      expect(now.slice(11, 13)).toBe(hour.format(new Date(now)).padStart(2, '0'));
    }
    const { token: bare } = await gateway.issue({ scopes: ['conversation_read'] });
    expect((await dataOf('gateway_context', {}, bare)).websites).toBeNull();
  });

  it('several operations at once, and a foreign website in the words of one that does not exist', async () => {
    const { operations } = await dataOf('access_explain', { operations: 'search,operators' });
    expect(operations.map(({ operation }: { operation: string }) => operation)).toEqual(['operators', 'search']);
    for (const [input, parameter] of [
      [{ operations: 'search,nonsense' }, 'operations'],
      [{ operation: 'nonsense' }, 'operation'],
    ] as const)
      expect((await call('access_explain', input)).body.error.data.errors[0].parameter).toBe(parameter);
    const { token: narrow } = await gateway.issue({ websites: ['web_1_2'] });
    const of = async (website_id: string) => (await dataOf('access_explain', { website_id }, narrow)).website;
    const foreign = await of('web_1_1');
    expect(await of('web_1_2')).toMatchObject({ website_id: 'web_1_2', granted: true });
    expect(foreign).toMatchObject({ website_id: 'web_1_1', granted: false });
    expect((await of('web_1_999')).sentence).toBe(foreign.sentence);
  });
});

const masked = (text: string): string =>
  text
    .replace(/<<<(data|end) [a-f0-9]{16}>>>/g, '$1')
    .replace(/req_[a-f0-9]{32}/g, 'req')
    .replace(/\\?"(generated_at|checked_at|now)\\?":(\\?"[^"]*"|\d+)/g, '$1');

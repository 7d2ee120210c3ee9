import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import configurationPreview from '../../prompts/configuration-preview.ts';
import performanceSummary from '../../prompts/performance-summary.ts';
import type { Tool } from '../../src/core/tool.ts';
import { Registry } from '../../src/gateway/registry.ts';
import { Exchange } from '../../src/surfaces/mcp/exchange.ts';
import { mcpPrompts } from '../../src/surfaces/mcp/prompts.ts';
import {
  ALL_FLAGS,
  ALL_SCOPES,
  DIMENSIONS,
  FULL,
  type Grants,
  givesGuide,
  holdsAll,
  type Need,
  nameOf,
  OPERATIONS,
  pathOf,
  type Restricted,
  refusalOf,
} from '../auth/expected.ts';
import { plantReceipt, receiptId, World, webId } from '../auth/world.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { initializeParams, rpc } from './mcp.support.ts';

/** Check MC-10 and what the lists say: tools, resources and prompts are listed for exactly those who can use them. */
let gateway: TestGateway;
const WEB = webId(1, 1);
const VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26'] as const;

beforeAll(async () => {
  gateway = await openTestGateway('empty');
  await new World(gateway.database.sql).whole();
});
afterAll(() => gateway.close());

const PREFIX = { channel_ids: 'chn', team_ids: 'tem', subsite_ids: 'sst' } as const;
const GRANT = { channel_ids: 'channels', team_ids: 'teams', subsite_ids: 'subsites' } as const;

async function hold({ scopes, flags }: Grants, restricted?: Restricted, websites?: readonly string[]) {
  const issued = await gateway.issue({
    scopes,
    dataAccess: flags,
    ...(websites && { websites }),
    ...(restricted && {
      [GRANT[restricted.dimension]]: restricted.ids.map((id) => `${PREFIX[restricted.dimension]}_1_1_${id}`),
    }),
  });
  await plantReceipt(gateway.database.sql, issued.credential);
  return issued;
}

const ask = async (token: string, method: string, params: object = {}, version: string = VERSIONS[0]) => {
  const { status, body, text } = await rpc(gateway.port, token, method, params, { version });
  expect(status, text).toBe(200);
  return body;
};
const names = (list: { name: string }[]): string[] => list.map(({ name }) => name);

/** Arguments of a tool from the path that a case of the hand-written table has. */
function argumentsOf({ path, parameters }: Tool, url: string): Record<string, unknown> {
  const { pathname, searchParams } = new URL(url, 'http://gateway');
  const variables = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const values = new RegExp(`^${path.replace(/\{\w+\}/g, '([^/]+)')}$`).exec(pathname)?.slice(1) ?? [];
  return Object.fromEntries([
    ...variables.map((name, index) => [name, values[index]] as const),
    ...[...searchParams].map(
      ([name, value]) =>
        [name, parameters.find((one) => one.name === name)?.type === 'boolean' ? value === 'true' : value] as const,
    ),
  ]);
}

const toolOf = (name: string): Tool => {
  const tool = gateway.corridor.registry.get(name);
  if (!tool) throw new Error(`no tool ${name}`);
  return tool;
};

/** Addresses that a credential can read, by hand from decisions, section 19, and the contract's scopes. */
function readable(grants: Grants, restricted: boolean, websites: readonly string[]): string[] {
  const given = (scopes: readonly Need[], ...uris: string[]): string[] => (holdsAll(grants, scopes) ? uris : []);
  const guides = [
    'overview',
    'investigation',
    'contacts',
    'reporting',
    'configuration',
    'agent_tasks',
    'event_recovery',
  ];
  return [
    'gateway://context',
    ...guides.filter((name) => givesGuide(name, grants)).map((name) => `gateway://guides/${name}`),
    ...websites.flatMap((website) => [
      `gateway://capabilities/${website}`,
      ...given(
        ['reports_read', 'conversation_read'],
        ...['today', 'last-7-days', 'last-month'].map(
          (range) => `gateway://reports/ai-conversations/${website}/${range}`,
        ),
      ),
      ...given(['config_read'], `gateway://config/${website}/catalog`, `gateway://config/${website}/schema`),
      ...(restricted ? [] : given(['config_read'], `gateway://config/${website}/ai/features`)),
    ]),
  ].sort();
}

describe('MC-10 lists are what can be used', () => {
  const some = <T>(all: readonly T[]): fc.Arbitrary<T[]> =>
    fc.oneof(
      fc.subarray([...all]),
      fc.subarray([...all], { maxLength: 4 }).map((lacking) => all.filter((one) => !lacking.includes(one))),
    );
  const credentials = fc.record({
    scopes: some(ALL_SCOPES),
    flags: fc.oneof(fc.constant([...ALL_FLAGS]), fc.subarray([...ALL_FLAGS])),
    restricted: fc.option(fc.record({ dimension: fc.constantFrom(...DIMENSIONS), ids: fc.subarray([1, 2, 9]) }), {
      nil: undefined,
      freq: 2,
    }),
    websites: fc.subarray([WEB, webId(1, 2)], { minLength: 1 }),
  });
  const drawn = fc.sample(credentials, { numRuns: 24, seed: 20_261_121 });

  it('MC-10 tools: for random credentials listed is callable, and unlisted is -32602', async () => {
    const listedOnce = new Set<string>();
    const refusedOnce = new Set<string>();
    for (const { scopes, flags, restricted, websites } of drawn) {
      const { token, credential } = await hold({ scopes, flags }, restricted, websites);
      const listed = names((await ask(token, 'tools/list')).result.tools);
      const where = JSON.stringify({ scopes, flags, restricted, websites });
      for (const website of websites) {
        const context = await ask(token, 'tools/call', {
          name: 'capabilities_list',
          arguments: { website_id: website },
        });
        const { operations } = context.result.structuredContent.data.data;
        expect(
          operations.map(({ operation }: { operation: string }) => operation),
          where,
        ).toEqual(listed);
        const callable = new Set<string>();
        for (const operation of OPERATIONS.filter(({ given }) => given === undefined)) {
          const input = argumentsOf(toolOf(operation.tool), pathOf(operation, website, receiptId(credential)));
          const { error, result } = await ask(token, 'tools/call', { name: operation.tool, arguments: input });
          const of = `${nameOf(operation)} ${where} ${JSON.stringify(error ?? result.structuredContent.error)}`;
          if (error) expect([error.code, error.data.code], of).toEqual([-32602, 'not_permitted']);
          else {
            callable.add(operation.tool);
            if (result.isError) expect(result.structuredContent.error.code, of).toBe('not_found');
          }
          // The list and the call may err alike: the contract decides.
          const refused = refusalOf(operation, { scopes, flags }, restricted)?.code === 'not_permitted';
          expect(error !== undefined, of).toBe(refused);
          if (refused) refusedOnce.add(operation.tool);
        }
        expect([...callable].sort(), where).toEqual(listed);
      }
      for (const tool of listed) listedOnce.add(tool);
    }
    expect(listedOnce.size).toBe(gateway.corridor.registry.tools.length);
    expect(refusedOnce.size).toBe(
      new Set(OPERATIONS.filter((one) => one.scopes.length > 0).map((one) => one.tool)).size,
    );
  }, 60_000);

  it('MC-10 resources and prompts: for random credentials listed is readable, and unlisted is -32602', async () => {
    const everything = readable(FULL, false, [WEB, webId(1, 2)]);
    let [read, denied] = [0, 0];
    for (const { scopes, flags, restricted, websites } of drawn) {
      const { token } = await hold({ scopes, flags }, restricted, websites);
      const where = JSON.stringify({ scopes, restricted, websites });
      const { resources } = (await ask(token, 'resources/list')).result;
      const uris: string[] = resources.map(({ uri }: { uri: string }) => uri);
      expect([...uris].sort(), where).toEqual(readable({ scopes, flags }, restricted !== undefined, websites));
      for (const uri of everything) {
        const { result, error } = await ask(token, 'resources/read', { uri });
        expect(error === undefined, `${uri} ${where}`).toBe(uris.includes(uri));
        if (error)
          expect([error.code, error.data.code], uri).toEqual([
            -32602,
            expect.stringMatching(/^not_(found|permitted)$/),
          ]);
        else expect(result.contents[0].uri).toBe(uri);
        if (error) denied++;
        else read++;
      }
      const templates: string[] = (await ask(token, 'resources/templates/list')).result.resourceTemplates.map(
        ({ uriTemplate }: { uriTemplate: string }) => uriTemplate,
      );
      const config = scopes.includes('config_read');
      const free = config && restricted === undefined;
      const report = holdsAll({ scopes, flags }, ['reports_read', 'conversation_read']);
      expect([...templates].sort(), where).toEqual(
        [
          'gateway://guides/{guide}',
          'gateway://capabilities/{website_id}',
          ...(report ? ['gateway://reports/ai-conversations/{website_id}/{range}'] : []),
          ...(config ? ['gateway://config/{website_id}/catalog', 'gateway://config/{website_id}/schema'] : []),
          ...(free ? ['gateway://config/{website_id}/ai/features', 'gateway://config/ai/features/{feature_id}'] : []),
        ].sort(),
      );
      const feature = { uri: `gateway://config/ai/features/aif_${websites[0]?.slice(4)}_1` };
      expect((await ask(token, 'resources/read', feature)).error === undefined, where).toBe(free);
      const { prompts } = (await ask(token, 'prompts/list')).result;
      expect(names(prompts), where).toEqual(report ? ['performance_summary'] : []);
      const asked = { name: 'performance_summary', arguments: { website_id: websites[0], range: 'today' } };
      const { error } = await ask(token, 'prompts/get', asked);
      expect(error?.data.code, where).toBe(report ? undefined : 'not_permitted');
    }
    expect(Math.min(read, denied)).toBeGreaterThan(100);
  }, 60_000);
});

interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

/** Members of a value that its schema does not name. JSON Schemas inside an answer are free by their nature. */
function* unnamed(schema: Schema | undefined, value: unknown, at: string): Generator<string> {
  if (/\/(schema|plan_schema)$/.test(at)) return;
  const branches = [schema, ...(schema?.anyOf ?? []), ...(schema?.oneOf ?? [])];
  if (Array.isArray(value)) {
    for (const one of value) yield* unnamed(branches.find((branch) => branch?.items)?.items, one, `${at}/*`);
  } else if (value !== null && typeof value === 'object') {
    for (const [name, one] of Object.entries(value)) {
      const member = branches.find((branch) => branch?.properties?.[name] !== undefined)?.properties?.[name];
      if (member === undefined) yield `${at}/${name}`;
      else yield* unnamed(member, one, `${at}/${name}`);
    }
  }
}

describe('descriptors', () => {
  // Decisions, section 19. Reads are all there is so far; a write that comes has to say what it is.
  const READ = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

  it('every tool has a title, a description, honest hints and described parameters, in every version', async () => {
    const { token } = await gateway.issue();
    for (const version of VERSIONS) {
      const { tools } = (await ask(token, 'tools/list', {}, version)).result;
      expect(names(tools)).toEqual(names([...gateway.corridor.registry.tools]));
      expect(tools.length).toBeGreaterThan(34);
      for (const { name, title, description, inputSchema, outputSchema, annotations, ...rest } of tools) {
        const where = `${name} ${version}`;
        const { parameters } = toolOf(name);
        expect([rest, title.length > 4, description.length > 20], where).toEqual([{}, true, true]);
        expect(annotations, where).toEqual(version === '2025-03-26' ? { title, ...READ } : READ);
        expect([inputSchema.type, inputSchema.additionalProperties], where).toEqual(['object', false]);
        expect(Object.keys(inputSchema.properties).sort(), where).toEqual(names([...parameters]).sort());
        const required = parameters.filter((one) => one.required);
        expect([...(inputSchema.required ?? [])].sort(), where).toEqual(names(required).sort());
        for (const [parameter, schema] of Object.entries<Schema>(inputSchema.properties)) {
          expect(schema.description?.length ?? 0, `${where} ${parameter}`).toBeGreaterThan(8);
          expect(schema.type, `${where} ${parameter}`).toMatch(/^(string|integer|boolean)$/);
        }
        expect(outputSchema?.type, where).toBe(version === '2025-03-26' ? undefined : 'object');
        // The dialect's own rules: a keyword or format that clients do not know would not be a rule for them.
        const strict = new Ajv2020({ strict: true, strictTypes: false });
        addFormats.default(strict);
        strict.compile(inputSchema);
      }
    }
  });

  it('output schemas admit every answer and every failure, and name every member of them', async () => {
    const full = await hold(FULL);
    const { tools } = (await ask(full.token, 'tools/list')).result;
    const schemas = new Map<string, Schema>(
      tools.map((one: { name: string; outputSchema: Schema }) => [one.name, one.outputSchema]),
    );
    const ajv = new Ajv2020({ strict: false, allErrors: true });
    const missing = new Set<string>();
    const seen = new Map<string, number>();
    const poor = await gateway.issue({ perMinute: 1, burst: 1 });
    const masked: Grants[] = [
      FULL,
      { scopes: ALL_SCOPES, flags: [] },
      { ...FULL, scopes: ALL_SCOPES.filter((one) => one !== 'contact_read_pii') },
    ];
    const holders = [
      ...(await Promise.all(masked.map((grants) => hold(grants)))),
      await hold(FULL, { dimension: 'team_ids', ids: [9] }),
      poor,
    ];
    for (const { token, credential } of holders) {
      for (const operation of OPERATIONS) {
        const input = argumentsOf(toolOf(operation.tool), pathOf(operation, WEB, receiptId(credential)));
        const { result } = await ask(token, 'tools/call', { name: operation.tool, arguments: input });
        if (!result) continue;
        const schema = schemas.get(operation.tool) ?? {};
        expect(ajv.validate(schema, result.structuredContent), `${nameOf(operation)} ${ajv.errorsText()}`).toBe(true);
        for (const pointer of unnamed(schema, result.structuredContent, ''))
          missing.add(`${operation.tool} ${pointer}`);
        const kind = `${operation.tool} ${result.isError ? 'failure' : 'success'}`;
        seen.set(kind, (seen.get(kind) ?? 0) + 1);
      }
    }
    expect(seen.size).toBe(gateway.corridor.registry.tools.length * 2);
    expect([...schemas.values()].map((schema) => schema.additionalProperties)).toEqual([...schemas].map(() => false));
    expect([...missing].filter((one) => !one.includes(' /error')).sort()).toEqual([]);
  });

  it('output schemas name the members of a failure', async () => {
    const { token } = await hold(FULL);
    const { tools } = (await ask(token, 'tools/list')).result;
    const error = { code: 'not_found', status: 404, request_id: `req_${'0'.repeat(32)}`, retry_after: 1 };
    // Decisions, section 19: error is {code, status, request_id, retry_after?}.
    for (const { name, outputSchema } of tools) {
      expect([...unnamed(outputSchema, { error }, '')], name).toEqual([]);
    }
  });

  it('tools/list for a full credential stays within 12,000 tokens (o200k), with room for the tools to come', async () => {
    const { token } = await gateway.issue();
    const { tools } = (await ask(token, 'tools/list')).result;
    const total = countTokens(JSON.stringify({ tools }));
    const each = tools
      .map((tool: { name: string }) => [tool.name, countTokens(JSON.stringify(tool))] as const)
      .sort((a: readonly [string, number], b: readonly [string, number]) => b[1] - a[1]);
    const share = (member: string): number =>
      countTokens(JSON.stringify(tools.map((tool: Record<string, unknown>) => tool[member])));
    const mean = total / tools.length;
    console.info(
      `tools/list: ${total} tokens, ${tools.length} tools, ${mean.toFixed(0)} a tool, 45 would take ${(mean * 45).toFixed(0)}`,
    );
    console.info(
      ['description', 'inputSchema', 'outputSchema', 'annotations'].map((one) => `${one} ${share(one)}`).join(', '),
    );
    console.info(each.map(([name, tokens]: readonly [string, number]) => `${name} ${tokens}`).join(', '));
    expect(total).toBeLessThanOrEqual(12_000);
    expect(total).toBeGreaterThan(4_000);
    // Were the tools that are still missing as lean as the leanest there are, they would have to fit in too.
    const coming = each
      .slice(tools.length - 45)
      .reduce((sum: number, [, tokens]: readonly [string, number]) => sum + tokens, 0);
    console.info(
      `room for ${45 - tools.length} more tools: ${12_000 - total}; as lean as the leanest they take ${coming}`,
    );
    expect(total + coming).toBeLessThanOrEqual(12_000);
  });

  it('instructions are within 2,048 bytes and name what decisions ask for', async () => {
    const { token } = await gateway.issue();
    for (const version of VERSIONS) {
      const { result } = await ask(token, 'initialize', initializeParams(version), version);
      const size = Buffer.byteLength(result.instructions);
      console.info(`instructions: ${size} bytes`);
      expect(size).toBeLessThanOrEqual(2_048);
      for (const word of ['gateway_context', 'not granted', 'data', 'untrusted_fields'])
        expect(result.instructions).toContain(word);
      expect([result.protocolVersion, result.capabilities]).toEqual([
        version,
        { tools: {}, resources: {}, prompts: {} },
      ]);
    }
  });
});

describe('resources', () => {
  const still = (text: string): string => text.replace(/"generated_at":"[^"]*"/, '');

  it('each reads as the REST body of its operation, or as its guide’s markdown', async () => {
    const { token } = await gateway.issue({ websites: [WEB] });
    const q = `website_id=${WEB}`;
    const bodies: Record<string, string> = {
      'gateway://context': '/context',
      [`gateway://capabilities/${WEB}`]: `/capabilities?${q}`,
      ...Object.fromEntries(
        ['today', 'last-7-days', 'last-month'].map((range) => [
          `gateway://reports/ai-conversations/${WEB}/${range}`,
          `/analytics/ai-conversations/summary?${q}&range=${range}`,
        ]),
      ),
      [`gateway://config/${WEB}/catalog`]: `/settings/catalog?${q}`,
      [`gateway://config/${WEB}/schema`]: `/settings/schema?${q}&path=/ai/features`,
      [`gateway://config/${WEB}/ai/features`]: `/settings/item?${q}&path=/ai/features&limit=100`,
      'gateway://config/ai/features/aif_1_1_1': `/settings/item?${q}&path=/ai/features/aif_1_1_1`,
    };
    const { resources } = (await ask(token, 'resources/list')).result;
    const listed: string[] = resources.map(({ uri }: { uri: string }) => uri);
    const uris = [...new Set([...listed, ...Object.keys(bodies)])];
    expect(uris).toHaveLength(Object.keys(bodies).length + 7);
    for (const uri of uris) {
      const { contents } = (await ask(token, 'resources/read', { uri })).result;
      const guide = /^gateway:\/\/guides\/(.*)$/.exec(uri)?.[1];
      const rest = await gateway.ask(`/api/v1${guide ? `/guides/${guide}` : bodies[uri]}`, { token });
      expect(rest.status, uri).toBe(200);
      const mimeType = guide ? 'text/markdown' : 'application/json';
      expect(contents, uri).toEqual([{ uri, mimeType, text: contents[0].text }]);
      expect(still(contents[0].text), uri).toBe(guide ? rest.body.content : still(rest.text));
      const shown = resources.find((one: { uri: string }) => one.uri === uri);
      if (shown)
        expect([shown.mimeType, shown.title.length > 4, shown.description.length > 20], uri).toEqual([
          mimeType,
          true,
          true,
        ]);
    }
    expect(new Set(names(resources)).size).toBe(resources.length);
  });

  it('what is unknown, foreign, not given or asked for in another way: -32602, and nothing of it repeated', async () => {
    const { token } = await gateway.issue({
      websites: [WEB],
      scopes: ALL_SCOPES.filter((one) => one !== 'event_read'),
    });
    const uris: [uri: string, code: string][] = [
      ['', 'not_found'],
      ['gateway://', 'not_found'],
      ['gateway://context/', 'not_found'],
      ['GATEWAY://context', 'not_found'],
      ['gateway://context?x=1', 'not_found'],
      ['gateway://context\n', 'not_found'],
      ['gateway://nonsense/zzSENTINELzz', 'not_found'],
      ['file:///etc/passwd', 'not_found'],
      ['https://127.0.0.1/', 'not_found'],
      ['gateway://guides/event_recovery', 'not_found'],
      ['gateway://guides/zzSENTINELzz', 'invalid_parameter'],
      ['gateway://guides/%6fverview', 'not_found'],
      ['gateway://guides/../context', 'not_found'],
      ['gateway://guides/__proto__', 'invalid_parameter'],
      ['gateway://capabilities/zzSENTINELzz', 'invalid_parameter'],
      ['gateway://capabilities/{website_id}', 'not_found'],
      ...[webId(1, 2), webId(2, 1), webId(1, 9)].flatMap((website): [string, string][] => [
        [`gateway://capabilities/${website}`, 'not_found'],
        [`gateway://reports/ai-conversations/${website}/today`, 'not_found'],
        [`gateway://config/${website}/catalog`, 'not_found'],
        [`gateway://config/${website}/schema`, 'not_found'],
        [`gateway://config/${website}/ai/features`, 'not_found'],
        [`gateway://config/ai/features/aif${website.slice(3)}_1`, 'not_found'],
      ]),
      [`gateway://reports/ai-conversations/${WEB}/date`, 'invalid_parameter'],
      [`gateway://reports/ai-conversations/${WEB}/zzSENTINELzz`, 'invalid_parameter'],
      ['gateway://config/ai/features/aif_1_1_77', 'not_found'],
      ['gateway://config/ai/features/zzSENTINELzz', 'invalid_parameter'],
    ];
    for (const [uri, code] of uris) {
      const { error, result } = await ask(token, 'resources/read', { uri });
      expect(result, uri).toBeUndefined();
      expect([error.code, error.data.code], uri).toEqual([-32602, code]);
      expect(JSON.stringify(error), uri).not.toContain('SENTINEL');
    }
  });

  it('51 websites: 50 are listed, and the template reaches the last one', async () => {
    const { sql } = gateway.database;
    await sql`INSERT INTO platform.organization (tenant, external_id, name) VALUES (3, 'many', 'Many websites')`;
    const sites = Array.from({ length: 51 }, (_, index) => index + 1);
    await sql`INSERT INTO platform.website ${sql(
      sites.map((site) => ({ tenant: 3, site, external_id: `w${site}`, name: `Website ${site}`, time_zone: 'UTC' })),
    )}`;
    const { token } = await gateway.issue({}, 3);
    const { resources } = (await ask(token, 'resources/list')).result;
    const uris: string[] = resources.map(({ uri }: { uri: string }) => uri);
    const listed = new Set(uris.flatMap((uri) => /web_\d+_\d+/.exec(uri)?.[0] ?? []));
    expect([listed.size, uris.length, new Set(uris).size]).toEqual([50, 8 + 50 * 7, 8 + 50 * 7]);
    const left = sites.map((site) => webId(3, site)).filter((website) => !listed.has(website));
    expect(left).toHaveLength(1);
    const { result } = await ask(token, 'resources/read', { uri: `gateway://capabilities/${left[0]}` });
    expect(JSON.parse(result.contents[0].text).data.website_id).toBe(left[0]);
  });
});

describe('prompts', () => {
  const text = (result: { messages: { role: string; content: { type: string; text: string } }[] }): string => {
    expect(result.messages).toHaveLength(1);
    expect(result.messages[0]).toMatchObject({ role: 'user', content: { type: 'text' } });
    return result.messages[0]?.content.text ?? '';
  };

  it('performance_summary renders exactly what was given', async () => {
    const { token } = await gateway.issue();
    const { prompts } = (await ask(token, 'prompts/list')).result;
    expect(
      prompts.map((prompt: { arguments: { name: string; required: boolean }[] }) =>
        prompt.arguments.map((one) => [one.name, one.required]),
      ),
    ).toEqual([
      [
        ['website_id', true],
        ['range', true],
        ['start', false],
        ['end', false],
        ['timezone', false],
      ],
    ]);
    for (const { description } of prompts[0].arguments) expect(description.length).toBeGreaterThan(10);
    for (const values of [
      { website_id: WEB, range: 'last-7-days' },
      { website_id: webId(1, 2), range: 'date', start: '2026-11-01', end: '2026-11-10', timezone: 'Europe/Berlin' },
    ]) {
      const said = text((await ask(token, 'prompts/get', { name: 'performance_summary', arguments: values })).result);
      const line = said.split('\n').find((one) => one.startsWith('{')) ?? '';
      expect(JSON.parse(line)).toEqual(values);
      for (const word of ['ai_conversation_summary', 'withheld', 'Quote no']) expect(said).toContain(word);
      // What the prompt tells the model to call is a call that succeeds.
      const { result } = await ask(token, 'tools/call', { name: 'ai_conversation_summary', arguments: values });
      expect(result.isError).toBe(false);
    }
  });

  it('arguments that are missing, unknown, malformed or foreign: -32602 that names them, not their values', async () => {
    const { token } = await gateway.issue({ websites: [WEB] });
    const good = { website_id: WEB, range: 'today' };
    const cases: [
      values: Record<string, unknown>,
      errors: [parameter: string, code: string][] | undefined,
      code: string,
    ][] = [
      [{ range: 'today' }, [['website_id', 'missing']], 'invalid_parameter'],
      [
        {},
        [
          ['range', 'missing'],
          ['website_id', 'missing'],
        ],
        'invalid_parameter',
      ],
      [{ ...good, range: 'SENTINEL' }, [['range', 'invalid_parameter']], 'invalid_parameter'],
      [{ ...good, start: 'SENTINEL' }, [['start', 'invalid_parameter']], 'invalid_parameter'],
      [{ ...good, timezone: 'SENTINEL now' }, [['timezone', 'invalid_parameter']], 'invalid_parameter'],
      [{ ...good, website_id: 'web_SENTINEL' }, [['website_id', 'invalid_parameter']], 'invalid_parameter'],
      ...[webId(1, 2), webId(2, 1), webId(9, 9)].map((website_id): [Record<string, unknown>, undefined, string] => [
        { ...good, website_id },
        undefined,
        'not_found',
      ]),
    ];
    for (const [values, errors, code] of cases) {
      const { error } = await ask(token, 'prompts/get', { name: 'performance_summary', arguments: values });
      const where = JSON.stringify([values, error]);
      expect([error.code, error.data.code], where).toEqual([-32602, code]);
      const got = error.data.errors
        ?.map((one: { parameter: string; code: string }) => [one.parameter, one.code])
        .sort();
      expect(got, where).toEqual(errors);
      for (const [parameter] of errors ?? []) expect(error.message, where).toContain(parameter);
      expect(JSON.stringify(error)).not.toContain('SENTINEL');
    }
    // A value that is no text is refused before the prompt sees it.
    const { error } = await ask(token, 'prompts/get', {
      name: 'performance_summary',
      arguments: { ...good, range: 7 },
    });
    expect(error.code).toBe(-32602);
    for (const name of ['nonsense', '__proto__', 'configuration_preview']) {
      expect((await ask(token, 'prompts/get', { name })).error).toMatchObject({
        code: -32602,
        data: { code: 'not_permitted' },
      });
    }
  });

  it('configuration_preview: rendered from what it was given, and listed as soon as config_plan is served', async () => {
    const { input, render } = configurationPreview;
    const given = { feature_id: 'aif_1_1_3', name: 'A "new"\nname', enabled: 'false' };
    const said = render(input.parse(given));
    const objects = said.split('\n').flatMap((line) => /\{.*\}/.exec(line)?.[0] ?? []);
    expect(objects.map((one) => JSON.parse(one))).toEqual([
      { website_id: WEB, path: '/ai/features/aif_1_1_3' },
      { name: given.name, enabled: false },
    ]);
    for (const word of ['config_get', 'config_plan', 'expected_version', 'preview only', 'nothing was applied'])
      expect(said).toContain(word);
    expect(render(input.parse({ feature_id: 'aif_1_1_3' }))).toContain('\n{}\n');
    for (const bad of [
      {},
      { feature_id: 'x' },
      { ...given, enabled: 'yes' },
      { ...given, more: '1' },
      { ...given, name: '' },
    ]) {
      expect(input.safeParse(bad).success, JSON.stringify(bad)).toBe(false);
    }
    expect(configurationPreview.arguments.map(({ name, required }) => [name, required])).toEqual([
      ['feature_id', true],
      ['name', false],
      ['enabled', false],
    ]);

    const plan: Tool = {
      ...toolOf('config_get'),
      name: 'config_plan',
      required: { scopes: ['config_read', 'config_plan'], dataAccess: [] },
    };
    const { corridor } = gateway;
    const registry = new Registry([...corridor.registry.tools, plan]);
    const prompts = mcpPrompts([configurationPreview, performanceSummary], registry);
    for (const [grants, restricted, listed] of [
      [FULL, undefined, true],
      [{ ...FULL, scopes: ALL_SCOPES.filter((scope) => scope !== 'config_plan') }, undefined, false],
      [FULL, { dimension: 'team_ids', ids: [1] }, false],
    ] as const) {
      const { token } = await hold(grants, restricted, [WEB]);
      const exchange = new Exchange(corridor, token, 'req', '2025-11-25');
      expect(names((await prompts.list(exchange)).prompts).includes('configuration_preview')).toBe(listed);
      const got = prompts.get(exchange, 'configuration_preview', given);
      if (!listed) await expect(got).rejects.toMatchObject({ code: -32602, data: { code: 'not_permitted' } });
      else {
        expect(text(await got)).toBe(said);
        for (const feature_id of ['aif_1_2_1', 'aif_2_1_1', `aif_1_1_${'9'.repeat(19)}`]) {
          await expect(prompts.get(exchange, 'configuration_preview', { feature_id })).rejects.toMatchObject({
            data: { code: 'not_found' },
          });
        }
      }
    }
  });

  it('an argument that the prompt does not know has the code that a tool’s has', async () => {
    const { token } = await gateway.issue();
    for (const [sent, parameter] of [
      ['zz', 'zz'],
      ['<b>', '(unprintable)'],
    ] as const) {
      const values = { website_id: WEB, range: 'today', [sent]: 'SENTINEL' };
      const { error } = await ask(token, 'prompts/get', { name: 'performance_summary', arguments: values });
      const tool = await ask(token, 'tools/call', { name: 'ai_conversation_summary', arguments: values });
      expect(error.data).toEqual(tool.error.data);
      expect(error.data).toEqual({
        code: 'unsupported_parameter',
        errors: [{ parameter, code: 'unsupported_parameter' }],
      });
    }
  });

  it('a new name of a feature that looks like an id is no website that was asked for', async () => {
    const plan: Tool = { ...toolOf('config_get'), name: 'config_plan' };
    const prompts = mcpPrompts([configurationPreview], new Registry([...gateway.corridor.registry.tools, plan]));
    const { token } = await gateway.issue();
    const exchange = new Exchange(gateway.corridor, token, 'req', '2025-11-25');
    const given = { feature_id: 'aif_1_1_3', name: 'web_2_1' };
    expect(text(await prompts.get(exchange, 'configuration_preview', given))).toContain('web_2_1');
  });
});

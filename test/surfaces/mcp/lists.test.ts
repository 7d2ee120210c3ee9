import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import configurationPreview from '../../../prompts/configuration-preview.ts';
import performanceSummary from '../../../prompts/performance-summary.ts';
import { ALL_TOOLS } from '../../../src/core/toolsets.ts';
import { Registry } from '../../../src/gateway/registry.ts';
import { mcpPrompts } from '../../../src/surfaces/mcp/prompts.ts';
import { McpRequest } from '../../../src/surfaces/mcp/request.ts';
import { drawnCredentials } from '../../support/authority/drawn.ts';
import {
  ALL_SCOPES,
  FULL,
  type Grants,
  holdsAll,
  limitsOf,
  type Need,
  type Restricted,
} from '../../support/authority/grants.ts';
import {
  nameOf,
  OPERATIONS,
  type Operation,
  pathOf,
  refusalOf,
  SUBSCRIPTION_WRITES,
  type SubscriptionWrite,
  WRITES,
} from '../../support/authority/operations.ts';
import { plantReceipt, receiptId, World, webId } from '../../support/authority/world.ts';
import { addDispositions } from '../../support/authority/writes.ts';
import { CONTRACT } from '../../support/contract.ts';
import { times } from '../../support/form.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { argumentsOf, initializeParams, OFFERED, rpc, toolOf } from '../../support/surfaces/mcp.ts';
import { freshKey } from '../../support/surfaces/wire.ts';

/**
 * Check MC-10, and the content of the lists. A caller sees a tool, resource or prompt in a list only when the caller
 * can use it.
 */
let gateway: TestGateway;
const WEB = webId(1, 1);
const VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26'] as const;

beforeAll(async () => {
  gateway = await openTestGateway('empty');
  await new World(gateway.database.sql).whole();
  await addDispositions(gateway.database.sql);
});
afterAll(() => gateway.close());

const AUTHORS = ['opr_1_1_1', 'opr_1_2_1'];
const OPERATION_ID = /^op_[a-f0-9]{64}$/;

const ALL: readonly (Operation & Partial<Pick<SubscriptionWrite, 'body' | 'revision' | 'method'>>)[] = [
  ...OPERATIONS,
  ...WRITES,
  ...SUBSCRIPTION_WRITES,
];
const isKeyed = (tool: string): boolean => WRITES.some((write) => write.tool === tool);
const ofSubscription = (tool: string) => SUBSCRIPTION_WRITES.find((write) => write.tool === tool);
const isWrite = (tool: string): boolean => isKeyed(tool) || ofSubscription(tool) !== undefined;

async function hold({ scopes, flags }: Grants, restricted?: Restricted, websites?: readonly string[]) {
  const issued = await gateway.issue({
    scopes,
    dataAccess: flags,
    authors: AUTHORS,
    ...(websites && { websites }),
    ...limitsOf(restricted),
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
/** The resources that read an operation. skills.test.ts judges the others, which are skills. */
const gatewayUris = (list: { uri: string }[]): string[] =>
  list.map(({ uri }) => uri).filter((uri) => !uri.startsWith('skill://'));

const inputOf = (operation: (typeof ALL)[number], website: string, credential: string): Record<string, unknown> => ({
  ...argumentsOf(toolOf(gateway, operation.tool), pathOf(operation, website, receiptId(credential))),
  ...operation.body?.(website),
  ...(isKeyed(operation.tool) && { idempotency_key: freshKey() }),
  // The test replaces the planted subscription at revision 1, and deletes it at revision 2.
  ...(operation.revision && { if_match: operation.method === 'PATCH' ? 1 : 2 }),
});

/** Written by hand from the contract: the resources that a credential with these scopes can read. */
function readable(grants: Grants, restricted: boolean, websites: readonly string[]): string[] {
  const given = (scopes: readonly Need[], ...uris: string[]): string[] => (holdsAll(grants, scopes) ? uris : []);
  const guides = OPERATIONS.filter((one) => one.tool === 'guide_read' && !refusalOf(one, grants, undefined));
  return [
    'gateway://context',
    ...guides.map(({ variant }) => `gateway://guides/${variant}`),
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
  const drawn = drawnCredentials(times(12, 24));

  it('MC-10 tools: for random credentials listed is callable, and unlisted is -32602', async () => {
    const listedOnce = new Set<string>();
    const refusedOnce = new Set<string>();
    const done = new Map<string, number>();
    const entered = async (): Promise<Record<string, number>> => {
      const rows = await gateway.database.sql<{ operation: string; n: number }[]>`
        SELECT operation, count(*)::integer AS n FROM gateway.operation WHERE outcome IS NOT NULL GROUP BY operation`;
      return Object.fromEntries(rows.map(({ operation, n }) => [operation, n]));
    };
    expect(await entered()).toEqual({});
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
        for (const operation of ALL.filter(({ given }) => given === undefined)) {
          const input = inputOf(operation, website, credential);
          const { error, result } = await ask(token, 'tools/call', { name: operation.tool, arguments: input });
          const of = `${nameOf(operation)} ${where} ${JSON.stringify(error ?? result.structuredContent.error)}`;
          // A tool with several kinds of ids is listed for one kind, so the refusal of another kind is a result.
          const ofKind = operation.kind !== undefined && result?.structuredContent.error?.code === 'not_permitted';
          if (error) expect([error.code, error.data.code], of).toEqual([-32602, 'not_permitted']);
          else if (!ofKind) {
            callable.add(operation.tool);
            if (result.isError) expect(result.structuredContent.error.code, of).toBe('not_found');
          }
          // The list and the call could share a mistake, so compare both with the contract.
          const refusal = refusalOf(operation, { scopes, flags }, restricted)?.code;
          const refused = refusal === 'not_permitted';
          expect(error !== undefined || ofKind, of).toBe(refused);
          if (isKeyed(operation.tool) && result) {
            // This caller may see only conversations of the first website.
            const absent = operation.ofConversation && restricted && (website !== WEB || refusal !== undefined);
            expect([result.isError, result.structuredContent.operation_id], of).toEqual(
              absent ? [true, undefined] : [false, expect.stringMatching(OPERATION_ID)],
            );
            if (!result.isError) done.set(operation.tool, (done.get(operation.tool) ?? 0) + 1);
          }
          if (refused) refusedOnce.add(operation.tool);
        }
        expect([...callable].sort(), where).toEqual(listed);
      }
      for (const tool of listed) listedOnce.add(tool);
    }
    expect(listedOnce.size).toBe(gateway.corridor.registry.tools.length);
    expect(refusedOnce.size).toBe(new Set(ALL.filter((one) => one.scopes.length > 0).map((one) => one.tool)).size);
    expect([...done.keys()].sort()).toEqual(WRITES.map(({ tool }) => tool).sort());
    expect(await entered()).toEqual(Object.fromEntries(done));
  });

  it('MC-10 resources and prompts: for random credentials listed is readable, and unlisted is -32602', async () => {
    const everything = readable(FULL, false, [WEB, webId(1, 2)]);
    let [read, denied] = [0, 0];
    const previews = new Set<boolean>();
    for (const { scopes, flags, restricted, websites } of drawn) {
      const { token } = await hold({ scopes, flags }, restricted, websites);
      const where = JSON.stringify({ scopes, restricted, websites });
      const { resources } = (await ask(token, 'resources/list')).result;
      const uris = gatewayUris(resources);
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
      const plan = free && scopes.includes('config_plan');
      previews.add(plan);
      const usable: [name: string, given: boolean, values: object][] = [
        ['configuration_preview', plan, { feature_id: `aif_${websites[0]?.slice(4)}_1`, enabled: 'false' }],
        ['performance_summary', report, { website_id: websites[0], range: 'today' }],
      ];
      expect(names(prompts), where).toEqual(usable.flatMap(([name, given]) => (given ? [name] : [])));
      for (const [name, given, values] of usable) {
        const { error, result } = await ask(token, 'prompts/get', { name, arguments: values });
        expect([error?.code, error?.data.code], `${name} ${where}`).toEqual(
          given ? [undefined, undefined] : [-32602, 'not_permitted'],
        );
        expect(result?.messages.length, `${name} ${where}`).toBe(given ? 1 : undefined);
      }
    }
    expect(previews.size).toBe(2);
    expect(Math.min(read, denied)).toBeGreaterThan(100);
  });
});

interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

/** Output schemas name `data` and the members of two levels in it. An array is no level. */
const NAMED = 3;

/** Finds the members of a value that its schema must name, and does not name. A test of its own checks failures. */
function* unnamed(schema: Schema | undefined, value: unknown, at: string): Generator<string> {
  if (at === '/error' || at.replaceAll('/*', '').split('/').length > NAMED) return;
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

function* placesOf(schema: Schema, at: string): Generator<[at: string, schema: Schema]> {
  for (const [name, one] of Object.entries(schema.properties ?? {})) {
    yield [`${at}/${name}`, one];
    yield* placesOf(one, `${at}/${name}`);
  }
}

describe('descriptors', () => {
  // WRITE is for tools with an idempotency key that only add data. Such a tool is idempotent, because a repeated call
  // has no second effect. Such a tool destroys nothing.
  const READ = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
  const WRITE = { ...READ, readOnlyHint: false };
  /**
   * Tools whose hints differ from WRITE. Two calls that create a subscription make two subscriptions. A call that
   * replaces or deletes a subscription destroys data.
   */
  const HINTS: Readonly<Record<string, typeof WRITE>> = {
    subscription_create: { ...WRITE, idempotentHint: false },
    subscription_replace: { ...WRITE, destructiveHint: true },
    subscription_delete: { ...WRITE, destructiveHint: true },
  };
  const OBJECTS: Readonly<Record<string, readonly string[]>> = {
    'ai_feature_execute /context': ['default_language', 'text', 'type'],
    'config_plan /changes': ['enabled', 'name'],
    'subscription_create /delivery': ['mode'],
    'subscription_replace /delivery': ['mode'],
  };

  it('every tool has a title, a description, honest hints and described parameters, in every version', async () => {
    const { token, credential } = await gateway.issue();
    const inputs = new Map<string, object>();
    for (const version of VERSIONS) {
      const objects: Record<string, string[]> = {};
      const { tools } = (await ask(token, 'tools/list', {}, version)).result;
      expect(names(tools).sort()).toEqual(Object.keys(CONTRACT).sort());
      expect(names(tools).filter(isWrite).sort()).toEqual(
        [...WRITES, ...SUBSCRIPTION_WRITES].map(({ tool }) => tool).sort(),
      );
      for (const { name, title, description, inputSchema, outputSchema, annotations, ...rest } of tools) {
        const where = `${name} ${version}`;
        const { parameters } = toolOf(gateway, name);
        expect([rest, title.length > 4, description.length > 20], where).toEqual([{}, true, true]);
        const hints = HINTS[name] ?? (isWrite(name) ? WRITE : READ);
        expect(annotations, where).toEqual(version === '2025-03-26' ? { title, ...hints } : hints);
        expect([inputSchema.type, inputSchema.additionalProperties], where).toEqual(['object', false]);
        const revision = ofSubscription(name)?.revision ? ['if_match'] : [];
        expect(Object.keys(inputSchema.properties).sort(), where).toEqual(
          [...names([...parameters]), ...(isWrite(name) ? ['idempotency_key'] : []), ...revision].sort(),
        );
        const key = isKeyed(name) ? ['idempotency_key'] : [];
        const required = [...names(parameters.filter((one) => one.required)), ...key, ...revision];
        expect([...(inputSchema.required ?? [])].sort(), where).toEqual(required.sort());
        for (const [at, schema] of placesOf(inputSchema, '')) {
          expect(schema.description?.length ?? 0, `${where} ${at}`).toBeGreaterThan(8);
          // A description is one sentence. It does not explain the form of an id, because the API reference has these
          // details.
          expect(schema.description, `${where} ${at}`).not.toMatch(/\. \S|, in the form/);
          if (schema.type === 'object') {
            expect(schema.additionalProperties, `${where} ${at}`).toBe(false);
            objects[`${name} ${at}`] = Object.keys(schema.properties ?? {}).sort();
          } else expect(schema.type, `${where} ${at}`).toMatch(/^(string|integer|boolean|array)$/);
        }
        if (isWrite(name)) expect(inputSchema.properties.idempotency_key.description, where).toMatch(/128.*retries/);
        expect(outputSchema?.type, where).toBe(version === '2025-03-26' ? undefined : 'object');
        expect(Object.keys(outputSchema?.properties ?? {}).sort(), where).toEqual(
          version === '2025-03-26' ? [] : ['data', 'error', ...(isWrite(name) ? ['operation_id'] : [])],
        );
        // The arguments are the same in all versions.
        const known = inputs.get(name);
        if (known) {
          expect(inputSchema, where).toEqual(known);
          continue;
        }
        inputs.set(name, inputSchema);
        // In strict mode, Ajv refuses unknown keywords and formats. A client would silently ignore unknown keywords and
        // formats.
        const strict = new Ajv2020({ strict: true, strictTypes: false });
        addFormats.default(strict);
        const admits = strict.compile(inputSchema);
        const cases = ALL.filter(({ tool }) => tool === name);
        expect(cases.length, where).toBeGreaterThan(0);
        for (const operation of cases) {
          const input = inputOf(operation, WEB, credential);
          expect(admits(input), `${where} ${nameOf(operation)} ${strict.errorsText(admits.errors)}`).toBe(true);
          for (const gone of inputSchema.required ?? [])
            expect(admits({ ...input, [gone]: undefined }), `${where} without ${gone}`).toBe(false);
        }
      }
      expect(objects, version).toEqual(OBJECTS);
    }
  });

  it('every argument that a write of a subscription requires is missed, by its name', async () => {
    const { token, credential } = await hold(FULL);
    const { tools } = (await ask(token, 'tools/list')).result;
    const before = await gateway.database.sql`SELECT count(*) FROM gateway.subscription`;
    // The other tools have this test in parity.test.ts.
    for (const operation of SUBSCRIPTION_WRITES) {
      const { inputSchema } = tools.find(({ name }: { name: string }) => name === operation.tool);
      const input = inputOf(operation, WEB, credential);
      for (const gone of inputSchema.required ?? []) {
        const { [gone]: _, ...rest } = input;
        const { error } = await ask(token, 'tools/call', { name: operation.tool, arguments: rest });
        const code = gone === 'if_match' ? 'if_match_required' : 'invalid_parameter';
        const errors = [{ parameter: gone, code: 'missing', expected: expect.any(String) }];
        expect([error?.code, error?.data], `${operation.tool} without ${gone}`).toEqual([-32602, { code, errors }]);
      }
    }
    expect(await gateway.database.sql`SELECT count(*) FROM gateway.subscription`).toEqual(before);
  });

  it('output schemas admit every answer and every failure, and name the members of two levels of an answer', async () => {
    const full = await hold(FULL);
    const { tools } = (await ask(full.token, 'tools/list')).result;
    const schemas = new Map<string, Schema>(
      tools.map((one: { name: string; outputSchema: Schema }) => [one.name, one.outputSchema]),
    );
    const ajv = new Ajv2020({ strict: false, allErrors: true });
    const missing = new Set<string>();
    const seen = new Map<string, number>();
    const poor = await gateway.issue({ perMinute: 1, burst: 1 });
    // This call uses up the quota, so that every later call of this credential fails.
    await ask(poor.token, 'tools/call', { name: 'gateway_context', arguments: {} });
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
      for (const operation of ALL) {
        const input = inputOf(operation, WEB, credential);
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
    expect([...missing].sort()).toEqual([]);
  });

  it('output schemas of writes admit and name every ending: done, replayed, rejected, refused, unknown', async () => {
    const { sql } = gateway.database;
    const holder = await hold(FULL);
    const unmapped = await gateway.issue();
    const { tools } = (await ask(holder.token, 'tools/list')).result;
    const ajv = new Ajv2020({ strict: false, allErrors: true });
    const endings: Record<string, string[]> = {};
    for (const write of WRITES) {
      const { outputSchema } = tools.find(({ name }: { name: string }) => name === write.tool);
      const told: string[] = [];
      const call = async (input: object, token = holder.token): Promise<Record<string, unknown>> => {
        const { result, error } = await ask(token, 'tools/call', { name: write.tool, arguments: input });
        expect(error, write.tool).toBeUndefined();
        const { structuredContent: said } = result;
        const where = `${write.tool} ${JSON.stringify(said)}`;
        expect(ajv.validate(outputSchema, said), `${where} ${ajv.errorsText()}`).toBe(true);
        expect([...unnamed(outputSchema, said, '')], where).toEqual([]);
        expect(said.operation_id, where).toEqual(
          said.operation_id === undefined ? undefined : expect.stringMatching(OPERATION_ID),
        );
        expect(result.isError, where).toBe('error' in said);
        told.push(`${said.error?.code ?? 'done'}${said.operation_id === undefined ? '' : ' of an operation'}`);
        return said;
      };
      const input = inputOf(write, WEB, holder.credential);
      const again = (changed: object): object => ({ ...input, idempotency_key: freshKey(), ...changed });
      const done = await call(input);
      expect(Object.keys(done).sort()).toEqual(['data', 'operation_id']);
      expect(await call(input)).toEqual(done);
      const other: Readonly<Record<string, object>> = {
        visitor_note_add: { text: 'Another.' },
        conversation_disposition_set: { disposition: 'another' },
        ai_feature_execute: { expected_version: 7 },
        config_plan: { expected_version: 7 },
      };
      const conflict = { ...input, ...other[write.tool] };
      expect((await call(conflict))['operation_id']).toBe(done['operation_id']);
      // The gateway refuses this input because of the stored state. A replay gets the same refusal.
      if (write.tool !== 'visitor_note_add') {
        const rejected = again({ ...other[write.tool] });
        const { operation_id } = await call(rejected);
        expect((await call(rejected))['operation_id']).toBe(operation_id);
      }
      const absent = write.subject
        ? { [write.subject[0]]: `${write.subject[1]}_1_1_77` }
        : { path: '/ai/features/aif_1_1_77' };
      await call(again(absent));
      if (write.tool === 'ai_feature_execute') await call(again({ feature_id: 'aif_1_1_3', expected_version: 1 }));
      if (write.author) await call(again({}), unmapped.token);
      // The states `pending` and `outcome_unknown` occur only when another system performs the write, so the test
      // plants them.
      for (const status of ['pending', 'outcome_unknown']) {
        await sql`UPDATE gateway.operation SET status = ${status}, outcome = NULL
          WHERE operation_id = ${String(done['operation_id'])}`;
        expect((await call(input))['operation_id']).toBe(done['operation_id']);
      }
      for (const bad of [{ ...done, more: 1 }, { ...done, is_error: true }, null, []])
        expect(ajv.validate(outputSchema, bad), write.tool).toBe(false);
      endings[write.tool] = told;
    }
    const always = ['done', 'done', 'idempotency_conflict'].map((one) => `${one} of an operation`);
    const rejected = ['operation_conflict of an operation', 'operation_conflict of an operation'];
    const open = ['operation_in_progress of an operation', 'outcome_unknown of an operation'];
    expect(endings).toEqual({
      visitor_note_add: [...always, 'not_found', 'enrollment_unavailable', ...open],
      conversation_disposition_set: [...always, ...rejected, 'not_found', 'enrollment_unavailable', ...open],
      ai_feature_execute: [...always, ...rejected, 'not_found', 'adapter_not_available', ...open],
      config_plan: [...always, ...rejected, 'not_found', ...open],
    });
  });

  it('output schemas require the members of a failure, and leave them open', async () => {
    const { token } = await hold(FULL);
    const { tools } = (await ask(token, 'tools/list')).result;
    const required = { code: 'not_found', status: 404, request_id: `req_${'0'.repeat(32)}` };
    const error = { ...required, retry_after: 1, errors: [] };
    const ajv = new Ajv2020({ strict: false });
    for (const { name, outputSchema } of tools) {
      expect(outputSchema.required, name).toBeUndefined();
      expect(ajv.validate(outputSchema, { error }), name).toBe(true);
      for (const gone of Object.keys(required))
        expect(ajv.validate(outputSchema, { error: { ...error, [gone]: undefined } }), `${name} ${gone}`).toBe(false);
      expect(ajv.validate(outputSchema, { error, operation_id: `op_${'0'.repeat(64)}` }), name).toBe(isWrite(name));
    }
  });

  it.each([
    ['/mcp', 12_000, 50],
    ['/mcp/only/find,writes', 4_000, 15],
  ])('tools/list of %s for a full credential stays within %i tokens (o200k)', async (path, budget, least) => {
    const { token } = await gateway.issue();
    const { tools } = (await rpc(gateway.port, token, 'tools/list', {}, { path })).body.result;
    const total = countTokens(JSON.stringify({ tools }));
    const each = tools
      .map((tool: { name: string }) => [tool.name, countTokens(JSON.stringify(tool))] as const)
      .sort((a: readonly [string, number], b: readonly [string, number]) => b[1] - a[1]);
    const share = (member: string): number =>
      countTokens(JSON.stringify(tools.map((tool: Record<string, unknown>) => tool[member])));
    const mean = total / tools.length;
    console.info(`tools/list of ${path}: ${total} tokens, ${tools.length} tools, ${mean.toFixed(0)} a tool`);
    console.info(
      ['description', 'inputSchema', 'outputSchema', 'annotations'].map((one) => `${one} ${share(one)}`).join(', '),
    );
    console.info(each.map(([name, tokens]: readonly [string, number]) => `${name} ${tokens}`).join(', '));
    expect(total, `shorten descriptions: the list has a budget of ${budget} tokens`).toBeLessThanOrEqual(budget);
    expect(tools.length).toBeGreaterThanOrEqual(least);
  });

  it('says in the list what a model must know before it searches', async () => {
    const { token } = await gateway.issue();
    const { tools } = (await ask(token, 'tools/list')).result;
    const entry = (tool: string) => tools.find(({ name }: { name: string }) => name === tool);
    expect(entry('search').description).toContain('A page with a next_cursor can be empty.');
    expect(entry('search').inputSchema.properties.order.description).toMatch(/best \(.+\) or newest \(.+\)/);
    expect(entry('customer_find').inputSchema.properties.phone.description).toContain('seven digits are enough');
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
      expect([result.protocolVersion, result.capabilities]).toEqual([version, OFFERED]);
    }
  });
});

describe('resources', () => {
  const still = (text: string): string => text.replace(/"(?:generated_at|now)":"[^"]*"/g, '');

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
    const listed = gatewayUris(resources);
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
      ['gateway://config/ai/features/zzSENTINELzz', 'not_found'],
      ['gateway://config/ai/features/aif_1_1_0', 'not_found'],
      ['gateway://config/ai/features/web_1_1', 'not_found'],
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
    const uris = gatewayUris(resources);
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
        ['feature_id', true],
        ['name', false],
        ['enabled', false],
      ],
      [
        ['website_id', true],
        ['range', true],
        ['start', false],
        ['end', false],
        ['timezone', false],
      ],
    ]);
    expect(names(prompts)).toEqual(['configuration_preview', 'performance_summary']);
    for (const prompt of prompts) {
      expect([prompt.title.length > 4, prompt.description.length > 20], prompt.name).toEqual([true, true]);
      for (const { name, description } of prompt.arguments)
        expect(description.length, `${prompt.name} ${name}`).toBeGreaterThan(8);
    }
    for (const values of [
      { website_id: WEB, range: 'last-7-days' },
      { website_id: webId(1, 2), range: 'date', start: '2026-11-01', end: '2026-11-10', timezone: 'Europe/Berlin' },
    ]) {
      const said = text((await ask(token, 'prompts/get', { name: 'performance_summary', arguments: values })).result);
      const line = said.split('\n').find((one) => one.startsWith('{')) ?? '';
      expect(JSON.parse(line)).toEqual(values);
      for (const word of ['ai_conversation_summary', 'withheld', 'Quote no']) expect(said).toContain(word);
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
      // start and end are required only when range=date.
      [
        { ...good, range: 'date' },
        [
          ['end', 'missing'],
          ['start', 'missing'],
        ],
        'invalid_parameter',
      ],
      [{ ...good, range: 'date', start: '2026-11-01' }, [['end', 'missing']], 'invalid_parameter'],
      [{ ...good, range: 'date', end: '2026-11-10' }, [['start', 'missing']], 'invalid_parameter'],
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
      if (values['range'] !== 'date') continue;
      const tool = await ask(token, 'tools/call', { name: 'ai_conversation_summary', arguments: values });
      expect([tool.error?.code, tool.error?.data.code], where).toEqual([-32602, 'invalid_parameter']);
    }
    // The value is no text. The gateway refuses the value before the prompt runs.
    const { error } = await ask(token, 'prompts/get', {
      name: 'performance_summary',
      arguments: { ...good, range: 7 },
    });
    expect(error.code).toBe(-32602);
    const planless = await gateway.issue({ scopes: ALL_SCOPES.filter((scope) => scope !== 'config_plan') });
    for (const [bearer, name, code] of [
      [token, 'nonsense', 'not_permitted'],
      [token, '__proto__', 'not_permitted'],
      // A caller that may not use a prompt does not learn which arguments are missing.
      [planless.token, 'configuration_preview', 'not_permitted'],
      [token, 'configuration_preview', 'invalid_parameter'],
    ] as const) {
      const { error } = await ask(bearer, 'prompts/get', { name });
      const errors =
        code === 'invalid_parameter'
          ? [{ parameter: 'feature_id', code: 'missing', expected: 'an id such as aif_1_1_42' }]
          : undefined;
      expect([error.code, error.data], name).toEqual([-32602, errors ? { code, errors } : { code }]);
    }
  });

  it('configuration_preview: rendered from what it was given, and listed for who can call config_plan', async () => {
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

    const { corridor } = gateway;
    const asked = { name: 'configuration_preview', arguments: given };
    for (const [grants, restricted, listed] of [
      [FULL, undefined, true],
      [{ scopes: ['config_read', 'config_plan'], flags: [] }, undefined, true],
      [{ ...FULL, scopes: ALL_SCOPES.filter((scope) => scope !== 'config_plan') }, undefined, false],
      [{ ...FULL, scopes: ALL_SCOPES.filter((scope) => scope !== 'config_read') }, undefined, false],
      [FULL, { dimension: 'team_ids', ids: [1] }, false],
    ] as const) {
      const { token } = await hold(grants, restricted, [WEB]);
      const { prompts } = (await ask(token, 'prompts/list')).result;
      expect(names(prompts).includes('configuration_preview')).toBe(listed);
      const { result, error } = await ask(token, 'prompts/get', asked);
      if (!listed) {
        expect([error.code, error.data]).toEqual([-32602, { code: 'not_permitted' }]);
        continue;
      }
      expect(text(result)).toBe(said);
      for (const feature_id of ['aif_1_2_1', 'aif_2_1_1', `aif_1_${'9'.repeat(19)}_1`]) {
        const foreign = await ask(token, 'prompts/get', { ...asked, arguments: { feature_id } });
        expect([foreign.error.code, foreign.error.data], feature_id).toEqual([-32602, { code: 'not_found' }]);
      }
    }

    const without = new Registry(corridor.registry.tools.filter(({ name }) => name !== 'config_plan'));
    const prompts = mcpPrompts([configurationPreview, performanceSummary], without);
    const { token } = await gateway.issue();
    const exchange = new McpRequest(corridor, token, 'req', '2025-11-25', undefined, ALL_TOOLS);
    expect(names((await prompts.list(exchange)).prompts)).toEqual(['performance_summary']);
    await expect(prompts.get(exchange, 'configuration_preview', given)).rejects.toMatchObject({
      code: -32602,
      data: { code: 'not_permitted' },
    });
  });

  it('configuration_preview: what it tells the model to call are calls that succeed, and that change nothing', async () => {
    const { token } = await hold(FULL, undefined, [WEB]);
    const values = { feature_id: 'aif_1_1_1', name: 'A "new"\nname', enabled: 'false' };
    const said = text((await ask(token, 'prompts/get', { name: 'configuration_preview', arguments: values })).result);
    const [where, changes] = said.split('\n').flatMap((line) => {
      const object = /\{.*\}/.exec(line)?.[0];
      return object === undefined ? [] : [JSON.parse(object)];
    });
    const get = async () => {
      const { result } = await ask(token, 'tools/call', { name: 'config_get', arguments: where });
      expect(result.isError).toBe(false);
      return result.structuredContent.data.data.item;
    };
    const item = await get();
    const plan = { ...where, expected_version: item.version, changes, idempotency_key: freshKey() };
    const { result } = await ask(token, 'tools/call', { name: 'config_plan', arguments: plan });
    expect(result.structuredContent.data.data.preview).toEqual({
      path: where.path,
      version: item.version,
      changes: [
        { field: 'name', from: item.name, to: values.name },
        { field: 'enabled', from: true, to: false },
      ],
      approval_required: true,
      apply_available: false,
      status: 'preview_only',
    });
    expect(await get()).toEqual(item);
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
        errors: [
          {
            parameter,
            code: 'unsupported_parameter',
            expected: 'one of the names website_id, range, start, end, timezone',
          },
        ],
      });
    }
  });

  it('a new name of a feature that looks like an id is no website that was asked for', async () => {
    const { token } = await gateway.issue({ websites: [WEB] });
    for (const name of [webId(2, 1), 'aif_2_1_1']) {
      const given = { feature_id: 'aif_1_1_3', name };
      const { result } = await ask(token, 'prompts/get', { name: 'configuration_preview', arguments: given });
      expect(text(result)).toContain(JSON.stringify({ name }));
    }
  });
});

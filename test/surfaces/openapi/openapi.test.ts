import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { z } from 'zod';
import { packageRoot } from '../../../src/config/package.ts';
import { FAILURE_CODES, statusOf } from '../../../src/core/failures.ts';
import { named } from '../../../src/core/json-schema.ts';
import { parameter } from '../../../src/core/parameters.ts';
import type { Tool } from '../../../src/core/tool.ts';
import { Registry } from '../../../src/gateway/registry.ts';
import { openapi } from '../../../src/surfaces/openapi/openapi.ts';
import { REALTIME } from '../../support/authority/operations.ts';
import { CONTRACT, CONTRACT_REALTIME } from '../../support/contract.ts';
import { itOnce as it, itInFull } from '../../support/form.ts';
import { BASE_URL, openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { referencesIn, referred, resolved } from '../../support/openapi.ts';
import { compileAnswers } from '../../support/oracle.ts';

interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly additionalProperties?: unknown;
  readonly maxItems?: number;
  readonly required?: readonly string[];
  readonly $ref?: string;
}
type Content = Readonly<Record<string, { readonly schema: Schema }>>;
interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly description?: string;
  readonly schema: Schema;
}
interface Response {
  readonly description: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly content: Content;
}
interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly 'x-required-scopes': readonly string[];
  readonly 'x-required-data-access': readonly string[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, Response>>;
}
/** Written by hand from the contract: the error codes about idempotency keys and revisions. */
const KEYED = ['idempotency_conflict', 'outcome_unknown'];
const OF_REVISION = ['concurrent_mutation', ...KEYED, 'revision_changed'];
const CODES: Readonly<Record<string, readonly string[]>> = {
  subscription_create: ['idempotency_conflict', 'inventory_limit', 'outcome_unknown'],
  subscription_replace: OF_REVISION,
  subscription_delete: OF_REVISION,
};

interface Document {
  readonly openapi: string;
  readonly security: readonly object[];
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** The members of the bodies of the reviewed writes. All members are required. */
const WRITES: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.entries(CONTRACT).flatMap(([name, { key, body }]) => (key === 'required' ? [[name, body]] : [])),
);
/** The method and status of an operation by the contract. The one read with a second path is like all reads. */
const servedAs = ({ operationId }: Operation): { readonly method: string; readonly status: number } =>
  CONTRACT[operationId] ?? CONTRACT_REALTIME[operationId] ?? { method: 'GET', status: 200 };

let gateway: TestGateway;
let document: Document;
/** The document as served, with references. `document` has the same without references. */
let served: object;
let text: string;
let operations: { path: string; method: string; operation: Operation }[];

beforeAll(async () => {
  gateway = await openTestGateway();
  const answer = await gateway.ask('/api/v1/openapi.json');
  served = answer.body;
  document = resolved<Document>(answer.body);
  text = answer.text;
  operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
});
afterAll(() => gateway.close());

/**
 * Runs Redocly's linter with its recommended rules. The linter runs in an empty folder, so that it finds no
 * configuration, and without network or telemetry.
 */
function lint(content: string): { status: number | null; output: string } {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-openapi-'));
  writeFileSync(join(folder, 'openapi.json'), content);
  const bin = fileURLToPath(new URL('node_modules/@redocly/cli/bin/cli.js', packageRoot));
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [bin, 'lint', 'openapi.json', '--extends=recommended', '--format=json', '--max-problems=50'],
    {
      cwd: folder,
      encoding: 'utf8',
      env: {
        PATH: process.env['PATH'],
        HOME: folder,
        REDOCLY_TELEMETRY: 'off',
        REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
      },
    },
  );
  rmSync(folder, { recursive: true });
  return { status, output: `${stdout}${stderr}` };
}

describe('the served OpenAPI document', () => {
  itInFull('is accepted by redocly lint without a warning, and a document with a fault is not', () => {
    const good = lint(text);
    expect(good.status, good.output).toBe(0);
    expect(JSON.parse(good.output.slice(good.output.indexOf('{'), good.output.lastIndexOf('}') + 1)).totals).toEqual({
      errors: 0,
      warnings: 0,
      ignored: 0,
    });
    const [first] = operations;
    const faulty = lint(text.replaceAll(`"operationId":"${first?.operation.operationId}"`, '"operationId":7'));
    expect(faulty.status).not.toBe(0);
  });

  it('is public and cacheable, the same each time, and has no credential or inner name in it', async () => {
    const { status, headers, body } = await gateway.ask('/api/v1/openapi.json');
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('application/json');
    expect(headers['cache-control']).toMatch(/^public, max-age=[1-9][0-9]*$/);
    expect(body).toEqual(served);
    const { token } = await gateway.issue();
    expect((await gateway.ask('/api/v1/openapi.json', { token })).text === text).toBe(true);
    expect((await gateway.ask('/api/v1/openapi.json', { token: 'rubbish' })).text === text).toBe(true);
    const inside = /igws?_(live|test)_|platform\.[a-z]|gateway\.(token|credential)|ZodError|\[object /;
    expect(inside.exec(text)?.[0]).toBeUndefined();
  });

  it('is OpenAPI 3.1 for this address and asks for a bearer everywhere', () => {
    expect(document.openapi).toMatch(/^3\.1\./);
    expect(document.servers.map(({ url }) => url)).toEqual([BASE_URL]);
    expect(document.security).toEqual([{ bearer: [] }, { oauth: [] }]);
    expect(text.includes('"security":[]')).toBe(false);
  });

  it('has exactly the operations of the registry, each described', () => {
    expect(operations.map(({ operation }) => operation.operationId).sort()).toEqual(
      [...Object.keys({ ...CONTRACT, ...CONTRACT_REALTIME }), 'operation_get_without_id'].sort(),
    );
    for (const { path, method, operation } of operations) {
      // operation_get has a second path, for callers that know only the key of a write.
      const second = operation.operationId === 'operation_get_without_id';
      const named = second ? 'operation_get' : operation.operationId;
      const tool = gateway.corridor.registry.operations.find(({ name }) => name === named);
      const own = second ? '/api/v1/operations' : tool?.path;
      expect([own, tool?.method.toLowerCase()]).toEqual([path, method]);
      expect(operation.summary.length).toBeGreaterThan(5);
      expect(operation.description.length).toBeGreaterThan(20);
      expect(operation.tags).toHaveLength(1);
      expect(operation['x-required-scopes']).toEqual(tool?.required.scopes);
      expect(operation['x-required-data-access']).toEqual(tool?.required.dataAccess);
    }
  });

  it('describes every parameter and types it, path parameters required and in the path', () => {
    let parameters = 0;
    for (const { path, operation } of operations) {
      for (const { name, description, schema, required, in: place } of operation.parameters) {
        const where = `${operation.operationId} ${name}`;
        expect(description?.length ?? 0, where).toBeGreaterThan(10);
        expect(schema.type ?? (schema.enum || schema.const), where).toBeTruthy();
        if (place === 'path') expect(required && path.includes(`{${name}}`), where).toBe(true);
        parameters++;
      }
      const placed = operation.parameters.filter((one) => one.in === 'path').map(({ name }) => `{${name}}`);
      expect(placed.sort()).toEqual((path.match(/\{\w+\}/g) ?? []).sort());
    }
    expect(parameters).toBeGreaterThan(90);
  });

  it('has every status an operation may give, with its codes and headers', () => {
    for (const { operation } of operations) {
      const tool = gateway.corridor.registry.operations.find(({ name }) => name === operation.operationId);
      const { method, status: success } = servedAs(operation);
      // Every operation can be switched off, so every operation can answer 404.
      const wanted = [
        success,
        '400',
        '401',
        '404',
        '406',
        '421',
        '429',
        '500',
        '503',
        ...(tool?.errors ?? []).map(statusOf),
      ];
      if (method === 'GET' && success === 200 && !tool?.bytes && !tool?.revision) wanted.push('304');
      if (tool?.bytes) wanted.push('206', '412', '416');
      // 202: a person must approve the write first (E6).
      if (operation.operationId in WRITES) wanted.push('202', '409', '415');
      if (operation.operationId in CODES) wanted.push('409');
      if (success === 101) wanted.push('default');
      if (method === 'POST' || method === 'PATCH') wanted.push('415');
      expect(Object.keys(operation.responses).sort(), operation.operationId).toEqual(
        [...new Set(wanted.map(String))].sort(),
      );
      for (const [status, { description, headers, content }] of Object.entries(operation.responses)) {
        const where = `${operation.operationId} ${status}`;
        expect(description.length, where).toBeGreaterThan(5);
        expect(Object.keys(headers)).toContain('X-Request-Id');
        if (operation.operationId in WRITES) {
          const told = Object.keys(headers);
          expect(told.includes('X-Gateway-Operation-Id'), where).toBe(['200', '202', '409'].includes(status));
          expect(told.includes('Location'), where).toBe(status === '202');
          expect(told.includes('Idempotency-Replayed'), where).toBe(['200', '202', '409'].includes(status));
        }
        if (status === '401') expect(Object.keys(headers)).toContain('WWW-Authenticate');
        if (status === '429' || status === '503') expect(Object.keys(headers)).toContain('Retry-After');
        if (!(Number(status) >= 400)) continue;
        expect(Object.keys(content), where).toEqual(['application/problem+json']);
        const codes = content['application/problem+json']?.schema.allOf?.[1]?.properties?.['code']?.enum ?? [];
        expect(codes.length, where).toBeGreaterThan(0);
        for (const code of FAILURE_CODES.filter((one) => codes.includes(one)))
          expect(statusOf(code), `${where} ${code}`).toBe(Number(status));
      }
    }
  });

  it('takes on the writes of subscriptions what the contract gives them: body, optional key, If-Match; answers 201 and 204', () => {
    const members = ['delivery', 'event_types', 'payload_mode', 'start', 'website_ids'];
    let looked = 0;
    for (const { method, operation } of operations) {
      const codes = CODES[operation.operationId];
      if (!codes) continue;
      const write = servedAs(operation);
      looked++;
      const header = (name: string) => operation.parameters.find((one) => one.name === name && one.in === 'header');
      expect([method, header('Idempotency-Key')?.required], operation.operationId).toEqual([
        write.method.toLowerCase(),
        false,
      ]);
      expect(header('If-Match')?.required, operation.operationId).toBe(write.method === 'POST' ? undefined : true);
      const schema = operation.requestBody?.content['application/json']?.schema;
      expect(schema && [...(schema.required ?? [])].sort(), operation.operationId).toEqual(
        write.method === 'DELETE' ? undefined : members,
      );
      const { headers, content } = operation.responses[write.status] ?? {};
      expect([
        Object.keys(headers ?? {}).filter((name) => /^(ETag|Location)$/.test(name)),
        content === undefined,
      ]).toEqual(
        write.method === 'POST'
          ? [['ETag', 'Location'], false]
          : write.method === 'PATCH'
            ? [['ETag'], false]
            : [[], true],
      );
      const conflicts = operation.responses['409']?.content['application/problem+json']?.schema.allOf?.[1]?.properties;
      expect([...(conflicts?.['code']?.enum ?? [])].sort(), operation.operationId).toEqual(codes);
    }
    expect(looked).toBe(3);
  });

  it('takes a JSON body and a key on the writes, and on nothing else', () => {
    for (const { method, operation } of operations) {
      if (operation.operationId in CODES) continue;
      const members = WRITES[operation.operationId];
      const key = operation.parameters.find(({ name }) => name === 'Idempotency-Key');
      const realtime = REALTIME[operation.operationId];
      if (realtime) {
        const sent = operation.requestBody?.content['application/json']?.schema;
        const origin = operation.parameters.find(({ name }) => name === 'Origin');
        expect([method, key, origin?.required], operation.operationId).toEqual([
          realtime.method.toLowerCase(),
          undefined,
          true,
        ]);
        expect(sent && Object.keys(sent.properties ?? {}), operation.operationId).toEqual(realtime.body);
        expect(sent?.additionalProperties, operation.operationId).toBe(realtime.body && false);
        continue;
      }
      expect(method, operation.operationId).toBe(members ? 'post' : 'get');
      if (!members) {
        expect([operation.requestBody, key], operation.operationId).toEqual([undefined, undefined]);
        continue;
      }
      expect(key).toMatchObject({ in: 'header', required: true, schema: { pattern: '^[!-~]{1,128}$' } });
      const { required, content } = operation.requestBody ?? {};
      expect([required, Object.keys(content ?? {})]).toEqual([true, ['application/json']]);
      const schema = content?.['application/json']?.schema ?? {};
      expect(Object.keys(schema.properties ?? {}).sort(), operation.operationId).toEqual(members);
      expect([...(schema.required ?? [])].sort(), operation.operationId).toEqual(members);
      expect(schema.additionalProperties).toBe(false);
      for (const [name, member] of Object.entries(schema.properties ?? {}))
        expect(member.description?.length ?? 0, `${operation.operationId} ${name}`).toBeGreaterThan(10);
    }
  });

  it('names for each write the codes of 409, and of its own, that the contract gives it', () => {
    const ledger = ['idempotency_conflict', 'operation_in_progress', 'outcome_unknown'];
    const codesOf = ({ responses }: Operation, status: string) =>
      responses[status]?.content['application/problem+json']?.schema.allOf?.[1]?.properties?.['code']?.enum ?? [];
    for (const { operation } of operations.filter((one) => one.operation.operationId in WRITES)) {
      const name = operation.operationId;
      // The contract gives operation_conflict to all writes but the note. A helpdesk behind a live source can refuse a note.
      const conflicts = [...ledger, 'operation_conflict', 'approval_lapsed', 'approval_rejected'];
      expect([...codesOf(operation, '429')].sort(), name).toEqual(['approval_limit', 'quota_exceeded']);
      expect([...codesOf(operation, '409')].sort(), name).toEqual([...conflicts].sort());
      expect(codesOf(operation, '422'), name).toEqual(name === 'ai_feature_execute' ? ['adapter_not_available'] : []);
      const authored = name === 'visitor_note_add' || name === 'conversation_disposition_set';
      expect(codesOf(operation, '503').includes('enrollment_unavailable'), name).toBe(authored);
      for (const code of ['idempotency_key_required', 'invalid_idempotency_key', 'invalid_json', 'body_too_large'])
        expect(codesOf(operation, '400'), name).toContain(code);
    }
  });

  it('has a schema that a validator takes for every answer with a body', () => {
    const bodies = operations.flatMap(({ operation: { responses } }) =>
      Object.values(responses).flatMap(({ content }) => Object.keys(content ?? {})),
    );
    expect(compileAnswers(served)).toBe(bodies.length);
  });

  it('is what every test holds an answer to: one that is otherwise does not pass', async () => {
    const answer = await gateway.ask('/api/v1/websites', { token: (await gateway.issue()).token });
    const check = (changed: object) => (): void => gateway.check('GET', '/api/v1/websites', { ...answer, ...changed });
    expect(check({})).not.toThrow();
    expect(check({ body: { ...answer.body, more: 1 } })).toThrow('does not conform');
    expect(check({ body: {} })).toThrow('does not conform');
    // The member is in the component Website, not in the answer itself.
    const [website] = answer.body.websites;
    expect(check({ body: { websites: [{ ...website, planted: 1 }] } })).toThrow('does not conform');
    expect(check({ status: 418 })).toThrow('is not documented');
  });

  it('has closed objects, bounded lists and no empty schema in any answer', () => {
    let nodes = 0;
    const walk = (schema: Schema, where: string): void => {
      nodes++;
      const says = ['type', 'const', 'enum', 'allOf', 'anyOf', 'oneOf', '$ref'].some((key) => key in schema);
      expect(says, where).toBe(true);
      if (schema.type === 'object' && schema.properties) expect(schema.additionalProperties, where).toBe(false);
      if (schema.type === 'array') expect(schema.items ?? ('prefixItems' in schema || undefined), where).toBeDefined();
      for (const [name, child] of Object.entries(schema.properties ?? {})) walk(child, `${where}.${name}`);
      if (schema.items) walk(schema.items, `${where}[]`);
      for (const part of [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]) walk(part, where);
    };
    for (const { operation } of operations) {
      const { status } = servedAs(operation);
      if (status !== 204 && status !== 101)
        walk(operation.responses[status]?.content['application/json']?.schema ?? {}, operation.operationId);
    }
    expect(nodes).toBeGreaterThan(500);
  });
});

describe('the components of the OpenAPI document', () => {
  // 57 operations name the 421 of a moved organization in 3,500 bytes.
  const LARGEST = 253_000;
  const NAMES = [
    ...['AiFeature', 'Channel', 'Contact', 'Conversation', 'Customer', 'Disposition', 'EventReceipt', 'File'],
    ...[
      'Message',
      'Note',
      'Offer',
      'Operator',
      'Problem',
      'Report',
      'SearchHit',
      'Subscription',
      'Team',
      'Visitor',
      'Website',
    ],
    ...['ContactId', 'ConversationStatus', 'FailureCode', 'WebsiteId'],
    ...['ContactGetAnswer', 'ConversationsListAnswer', 'VisitorNoteAddBody'],
  ];

  const componentsOf = ({ components }: { readonly components?: Readonly<Record<string, object>> }): string[] =>
    ['schemas', 'responses', 'parameters', 'headers'].flatMap((kind) =>
      Object.keys(components?.[kind] ?? {}).map((name) => `#/components/${kind}/${name}`),
    );
  const unused = (one: object): string[] => {
    const used = referencesIn(one);
    return componentsOf(one).filter((component) => !used.has(component));
  };

  it('have the names of the records, and the document is small, as served and as committed', async () => {
    const names = componentsOf(served);
    for (const name of NAMES) expect(names).toContain(`#/components/schemas/${name}`);
    for (const name of ['limit', 'website_id', 'contact_id', 'Idempotency-Key'])
      expect(names).toContain(`#/components/parameters/${name}`);
    for (const name of ['Unauthorized', 'NotAcceptable', 'TooManyRequests', 'InternalServerError'])
      expect(names).toContain(`#/components/responses/${name}`);
    const advice = 'name what the document repeats (src/core/json-schema.ts), or raise the limit with a reason';
    expect(Buffer.byteLength(text), advice).toBeLessThanOrEqual(LARGEST);
    const committed = await readFile(new URL('llms/openapi.json', packageRoot), 'utf8');
    expect(Buffer.byteLength(committed), advice).toBeLessThanOrEqual(LARGEST);
    expect(JSON.parse(committed.replaceAll('http://127.0.0.1:8420', BASE_URL))).toEqual(served);
  });

  it('are all used, every reference leads to one, and an answer of the document is the named record', () => {
    const references = referencesIn(served);
    expect(references.size).toBeGreaterThan(120);
    expect(() => resolved(served)).not.toThrow();
    expect(() => resolved({ ...served, planted: { $ref: '#/components/schemas/Planted' } })).toThrow('leads nowhere');
    expect(unused(served)).toEqual([]);
    expect(unused({ components: { schemas: { Planted: {} } } })).toEqual(['#/components/schemas/Planted']);
    const { properties } = referred(served, '#/components/schemas/ContactGetAnswer/properties/data') as Schema; // the answer has this member
    expect(properties?.['contact']).toEqual({ $ref: '#/components/schemas/Contact', description: 'The contact.' });
  });

  const planted = (change: Partial<Tool>, name = 'contact_get'): (() => object) => {
    const { operations: all } = gateway.corridor.registry;
    const tools = ['planted_one', 'planted_two'].map((own): Tool => {
      const tool = all.find((one) => one.name === name) ?? expect.fail(name);
      return { ...tool, name: own, path: `/api/v1/${own}`, ...change };
    });
    return () => openapi(new Registry([...all, ...tools]), BASE_URL);
  };

  it('have different names if they are different', () => {
    const other = z.strictObject({ planted: z.boolean() });
    expect(planted({})).not.toThrow();
    expect(planted({ output: named('Contact', other) })).toThrow('Duplicate schema id "Contact"');
    expect(planted({ output: z.strictObject({ data: named('PlantedOneAnswer', other) }) })).toThrow(
      'two different schemas have the name PlantedOneAnswer',
    );
    const parameters = planted({ parameters: [parameter('limit', 'query', z.int().describe('Another limit.'))] });
    expect(parameters).toThrow('two different parameters have the name limit');
    // A parameter of one operation is no component, so its name can be the name of another one.
    const { operations: all } = gateway.corridor.registry;
    expect(all.filter((tool) => tool.parameters.some((one) => one.name === 'query')).length).toBeGreaterThan(3);
  });
});

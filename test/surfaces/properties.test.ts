import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Failure } from '../../src/core/failures.ts';
import { bearerOf, refuseAmbiguous } from '../../src/surfaces/http/request.ts';
import { readConditions } from '../../src/surfaces/rest/bytes.ts';
import { readInput } from '../../src/surfaces/rest/input.ts';
import { routesOf } from '../../src/surfaces/rest/routes.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { type Example, examples, freshKey, writer } from './wire.support.ts';

/** FC_SEED repeats a run that failed. */
const seed = Number(process.env['FC_SEED'] ?? Math.floor(Date.now() % 2 ** 31));
process.stderr.write(`properties of the REST surface: FC_SEED=${seed}\n`);

let gateway: TestGateway;
let token: string;
let calls: Map<string, Example>;
let operations: Operation[];

beforeAll(async () => {
  gateway = await openTestGateway();
  ({ token } = await writer(gateway));
  calls = new Map((await examples(gateway)).map((call) => [call.tool.name, call]));
  const { body } = await gateway.ask('/api/v1/openapi.json');
  operations = readOperations(body).filter(({ name }) => calls.has(name));
  expect(operations.length).toBeGreaterThanOrEqual(42);
});
afterAll(() => gateway.close());

interface Schema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly const?: string;
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly minProperties?: number;
}
interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly schema: Schema;
}
interface Operation {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  /** Of the body that a write takes. */
  readonly body: Schema | undefined;
}

interface Document {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          {
            readonly operationId: string;
            readonly parameters: readonly Parameter[];
            readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Schema } } };
          }
        >
      >
    >
  >;
}

/** Beside the parameters, so that a counterexample stays short. */
const validators = new WeakMap<Parameter, ValidateFunction>();

function readOperations(document: Document): Operation[] {
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, parameters, requestBody }]) => ({
      path,
      method: method.toUpperCase(),
      name: operationId,
      body: requestBody?.content['application/json'].schema,
      parameters: parameters
        .filter((one) => one.in !== 'header')
        .map((one) => {
          validators.set(one, ajv.compile(one.schema));
          return one;
        }),
    })),
  );
}

/** Whether the document's schema takes this text, as the type it stands for. */
function takes(parameter: Parameter, text: string): boolean {
  const { type } = parameter.schema;
  if (type === 'integer' && !/^-?[0-9]+$/.test(text)) return false;
  if (type === 'boolean' && text !== 'true' && text !== 'false') return false;
  const value = type === 'integer' ? Number(text) : type === 'boolean' ? text === 'true' : text;
  return validators.get(parameter)?.(value) === true;
}

/** Texts that the schema of the served document takes. */
function valid(parameter: Parameter, example: string | undefined): fc.Arbitrary<string> {
  const { schema } = parameter;
  const { minLength = 0, maxLength = 40 } = schema;
  const text =
    schema.enum !== undefined
      ? fc.constantFrom(...schema.enum)
      : schema.const !== undefined
        ? fc.constant(schema.const)
        : schema.type === 'integer'
          ? fc.integer({ min: schema.minimum ?? 0, max: schema.maximum ?? 1_000 }).map(String)
          : schema.type === 'boolean'
            ? fc.boolean().map(String)
            : schema.format === 'date-time'
              ? fc
                  .date({ min: new Date('1980-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })
                  .map((date) => date.toISOString())
              : schema.pattern !== undefined
                ? fc.stringMatching(new RegExp(schema.pattern))
                : fc.string({ unit: 'grapheme', minLength, maxLength: Math.min(maxLength, 60) });
  const good = text.filter((one) => takes(parameter, one) && !one.includes('\0'));
  return example === undefined ? good : fc.oneof({ weight: 3, arbitrary: fc.constant(example) }, good);
}

type Given = readonly (readonly [parameter: Parameter, value: string])[];

/** Every required parameter and at most two of the others: more of them would seldom find anything. */
function request(operation: Operation): fc.Arbitrary<Given> {
  const call = calls.get(operation.name);
  const segments = call?.path.split('/') ?? [];
  const at = operation.path.split('/');
  const exampleOf = ({ name, in: place }: Parameter): string | undefined =>
    place === 'path'
      ? segments[at.indexOf(`{${name}}`)]
      : (call?.query.find(([one]) => one === name)?.[1] ?? (name === 'website_id' ? 'web_1_1' : undefined));
  const optional = operation.parameters.filter((one) => !one.required);
  return fc
    .subarray(optional, { maxLength: Math.min(2, optional.length) })
    .map((chosen) => operation.parameters.filter((one) => one.required || chosen.includes(one)))
    .chain((chosen) =>
      fc.tuple(...chosen.map((one) => valid(one, exampleOf(one)).map((text) => [one, text] as const))),
    );
}

type Body = Readonly<Record<string, unknown>>;

/** Values that the schema of a body takes; of text without NUL, and not blank, which no schema tells. */
function value(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.properties) {
    const { properties, required = [], minProperties = 0 } = schema;
    const optional = Object.keys(properties).filter((name) => !required.includes(name));
    return fc
      .subarray(optional, { minLength: Math.max(0, minProperties - required.length) })
      .chain((chosen) =>
        fc.record(
          Object.fromEntries([...required, ...chosen].map((name) => [name, value(properties[name] ?? {})] as const)),
        ),
      );
  }
  if (schema.type === 'integer') return fc.integer({ min: schema.minimum ?? 0, max: schema.maximum ?? 1_000 });
  if (schema.type === 'boolean') return fc.boolean();
  if (schema.pattern !== undefined) return fc.stringMatching(new RegExp(schema.pattern));
  const { minLength = 0, maxLength = 40 } = schema;
  return fc
    .string({ unit: 'grapheme', minLength, maxLength: Math.min(maxLength, 60) })
    .filter(
      (text) => !text.includes('\0') && text.replaceAll(/\p{White_Space}/gu, '') !== '' && text.length <= maxLength,
    );
}

/** Often the example's members, so that some calls succeed. */
function bodyOf(operation: Operation): fc.Arbitrary<Body | undefined> {
  const { body: schema } = operation;
  if (!schema) return fc.constant(undefined);
  const example = calls.get(operation.name)?.body ?? {};
  const kept = fc.constantFrom(true, true, true, false);
  return fc
    .tuple(value(schema), ...Object.keys(example).map((name) => kept.map((keep) => [name, keep] as const)))
    .map(([drawn, ...keeps]) => ({
      ...Object(drawn),
      ...Object.fromEntries(keeps.filter(([, keep]) => keep).map(([name]) => [name, example[name]])),
    }));
}

/** One thing wrong with a body that was right (blank is no matter of the schema, see bodies.test.ts), and the pointer that the answer must have. */
function mutatedBody(schema: Schema, body: Body): fc.Arbitrary<{ body: unknown; names: string }> {
  const { properties = {}, required = [] } = schema;
  const wrongFor = (one: Schema): fc.Arbitrary<unknown> =>
    fc.oneof(
      fc.constantFrom<unknown>(null, [], ['x'], {}, '', '\0', 'a\0b', 1.5, -1, 2 ** 31, 1e300),
      one.type === 'string' || one.const !== undefined
        ? fc.constantFrom<unknown>(1, true)
        : fc.constantFrom<unknown>('1', 'true'),
      fc.constant(one.maxLength === undefined ? null : 'x'.repeat(one.maxLength + 1)),
    );
  const members = Object.entries(properties).flatMap(
    ([name, one]): fc.Arbitrary<{ body: unknown; names: string }>[] => {
      const here: fc.Arbitrary<{ body: unknown; names: string }>[] = [
        wrongFor(one).map((bad) => ({ body: { ...body, [name]: bad }, names: `/${name}` })),
      ];
      if (required.includes(name)) {
        const { [name]: _, ...without } = body;
        here.push(fc.constant({ body: without, names: `/${name}` }));
      }
      const inner = body[name];
      if (one.properties && typeof inner === 'object' && inner !== null)
        here.push(
          mutatedBody(one, { ...inner }).map(({ body: bad, names }) => ({
            body: { ...body, [name]: bad },
            names: `/${name}${names}`,
          })),
        );
      return here;
    },
  );
  const unknown = fc
    .constantFrom('x', 'website_id', 'visitor_id', 'constructor', 'toString', 'idempotency_key')
    .filter((name) => !Object.hasOwn(properties, name))
    .map((name) => ({ body: { ...body, [name]: 1 }, names: `/${name}` }));
  return fc.oneof(unknown, ...members);
}

/** What `ask` needs beside the address. */
const sending = ({ method }: Operation, body: unknown) =>
  method === 'GET' ? {} : { body, headers: { 'idempotency-key': freshKey() } };

const pair = (name: string, value: string): string => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`;

function pathOf(operation: Operation, given: Given): string {
  return given.reduce(
    (path, [{ name, in: place }, value]) => (place === 'path' ? path.replace(`{${name}}`, value) : path),
    operation.path,
  );
}

const pairsOf = (given: Given): string[] =>
  given.filter(([one]) => one.in === 'query').map(([{ name }, value]) => pair(name, value));

const urlOf = (path: string, pairs: readonly string[]): string =>
  pairs.length > 0 ? `${path}?${pairs.join('&')}` : path;

/** One thing wrong with a request that was right; `names` is what the answer must name. */
function mutated(operation: Operation, given: Given): fc.Arbitrary<{ url: string; names: string | undefined }> {
  const path = pathOf(operation, given);
  const pairs = pairsOf(given);
  const queries = operation.parameters.filter((one) => one.in === 'query');
  const without = (name: string): string[] => pairs.filter((one) => !one.startsWith(`${name}=`));
  const extra = fc
    .constantFrom('x=1', '=', '=1', '__proto__=1', 'limit[]=1', 'toString=1', '%ZZ=1', '%80=1', '')
    .chain((piece) => fc.nat(pairs.length).map((i) => [...pairs.slice(0, i), piece, ...pairs.slice(i)]))
    .filter((all) => all.length > 1 || all[0] !== '')
    .map((all) => ({ url: urlOf(path, all), names: undefined }));
  const options: fc.Arbitrary<{ url: string; names: string | undefined }>[] = [extra];
  for (const { name } of queries.filter((one) => one.required))
    options.push(fc.constant({ url: urlOf(path, without(name)), names: name }));
  for (const [{ name, in: place }, value] of given) {
    if (place === 'query') options.push(fc.constant({ url: urlOf(path, [...pairs, pair(name, value)]), names: name }));
  }
  for (const parameter of queries) {
    const { name } = parameter;
    options.push(
      fc
        .constantFrom('%', '%A', '%GG', '%C0%AF', '%ED%A0%80', '%00', 'a%00', '%F5%80%80%80')
        .map((bad) => ({ url: urlOf(path, [...without(name), `${name}=${bad}`]), names: name })),
    );
    const wrong = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom('', ' ', '-1', '0', '1e3', '99999999999999999999', 'null', 'x'.repeat(300), "' OR 1=1 --"),
      valid(parameter, undefined).chain((good) =>
        fc.nat(good.length).map((i) => `${good.slice(0, i)}~${good.slice(i)}`),
      ),
    );
    // A text without pattern takes anything of its length: then only lengths are wrong.
    options.push(
      wrong
        .map((text) => (takes(parameter, text) ? 'x'.repeat((parameter.schema.maxLength ?? 399) + 1) : text))
        .filter((text) => !takes(parameter, text))
        .map((text) => ({ url: urlOf(path, [...without(name), pair(name, text)]), names: name })),
    );
  }
  for (const [parameter, value] of given.filter(([one]) => one.in === 'path')) {
    options.push(
      fc
        .stringMatching(/^[A-Za-z0-9_-]{1,40}$/)
        .filter((text) => !takes(parameter, text))
        .map((text) => ({ url: urlOf(path.replace(value, text), pairs), names: parameter.name })),
    );
  }
  return fc.oneof(...options);
}

const RUNS = 22;
const PATIENCE = 120_000;

describe('generated from the served document', () => {
  it('every operation: what the document allows is answered as documented, never a 401, 405 or 5xx', {
    timeout: PATIENCE,
  }, async () => {
    let [asked, succeeded] = [0, 0];
    for (const operation of operations) {
      let mine = 0;
      await fc.assert(
        fc.asyncProperty(request(operation), bodyOf(operation), async (given, body) => {
          const answer = await gateway.ask(urlOf(pathOf(operation, given), pairsOf(given)), {
            ...sending(operation, body),
            token,
          });
          asked++;
          if (answer.status === 200) mine++;
          // Rules between parameters, which a schema does not tell: cursors of another list, dates without a range.
          else if (answer.status === 400) {
            expect(answer.body.code, `${operation.name} ${answer.text}`).toMatch(/^invalid_(cursor|parameter)$/);
            for (const { parameter, pointer } of answer.body.errors ?? [])
              expect(
                given.some(([{ name }]) => name === parameter) ||
                  operation.name === 'ai_conversation_summary' ||
                  (operation.name === 'config_plan' && pointer === '/path' && body?.['path'] === '/ai/features'),
                `${operation.name} ${parameter} ${pointer}`,
              ).toBe(true);
          } else if (answer.status === 409 && body) expect(answer.body.code).toBe('operation_conflict');
          else if (answer.status === 409) expect(given.some(([{ name }]) => name === 'version')).toBe(true);
          else if (answer.status === 422) expect(operation.name).toBe('ai_feature_execute');
          else expect(answer.status, `${operation.name} ${answer.text}`).toBe(404);
        }),
        { seed, numRuns: RUNS },
      );
      // Ids and cursors that nobody draws: a receipt's is an HMAC, a subscription's is random.
      if (!['operation_get', 'subscription_get', 'events_pull'].includes(operation.name))
        expect(mine, operation.name).toBeGreaterThan(0);
      succeeded += mine;
    }
    expect(asked).toBeGreaterThanOrEqual(RUNS * 42);
    expect(succeeded).toBeGreaterThan(asked / 4);
  });

  it('every operation: one thing wrong is 400 under the name of what is wrong', { timeout: PATIENCE }, async () => {
    let asked = 0;
    for (const operation of operations) {
      await fc.assert(
        fc.asyncProperty(
          fc.tuple(request(operation), bodyOf(operation)).chain(([given, body]) => {
            const { body: schema } = operation;
            const asked = mutated(operation, given).map((one) => ({ ...one, body: body as unknown })); // as below
            if (!schema || !body) return asked;
            const url = urlOf(pathOf(operation, given), pairsOf(given));
            return fc.oneof(
              asked,
              mutatedBody(schema, body).map((one) => ({ ...one, url })),
            );
          }),
          async ({ url, names, body }) => {
            const sent = sending(operation, body);
            const answer = await gateway.ask(url, { ...sent, token });
            asked++;
            const where = `${operation.name} ${url} ${JSON.stringify(body)} ${answer.text}`;
            expect(answer.status, where).toBe(400);
            const named = answer.body.errors.map(
              ({ parameter, pointer }: { parameter?: string; pointer?: string }) => parameter ?? pointer,
            );
            // Of an object without its members the members are named.
            const told = named.some((one: string) => one === names || one.startsWith(`${names}/`));
            if (names !== undefined) expect(told, where).toBe(true);
            expect((await gateway.ask(url, sent)).status).toBe(401);
          },
        ),
        { seed, numRuns: RUNS },
      );
    }
    expect(asked).toBeGreaterThanOrEqual(RUNS * 42);
  });
});

/** A request as Node would have parsed it. */
function incoming(headers: Record<string, string>, rawHeaders: string[] = []): IncomingMessage {
  const message = new IncomingMessage(new Socket());
  Object.assign(message.headers, headers);
  message.rawHeaders.push(...rawHeaders);
  return message;
}

const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: fc.constantFrom('%', '&', '=', '+', '[', ']', 'a', '0', 'F', '\0', '\ud800', '/', '.', ';') }),
);

describe('parsers', () => {
  it('the query parser never throws and gives declared parameters only', () => {
    const { tools } = gateway.corridor.registry;
    const piece = fc.tuple(fc.oneof(anyText, fc.constantFrom('limit', 'website_id', 'cursor', 'query')), anyText);
    const query = fc.oneof(
      anyText,
      fc.array(piece).map((all) => all.map(([name, value]) => `${name}=${value}`).join('&')),
    );
    fc.assert(
      fc.property(fc.constantFrom(...tools), query, (tool, text) => {
        const { input, problems } = readInput(tool, {}, text);
        expect(Object.getPrototypeOf(input)).toBe(Object.prototype);
        for (const name of Object.keys(input))
          expect(tool.parameters.some((one) => one.in === 'query' && one.name === name)).toBe(true);
        const pieces = text === '' ? 0 : text.split('&').length;
        expect(Object.keys(input).length + problems.length).toBe(pieces);
      }),
      { seed, numRuns: 3_000 },
    );
  });

  it('the path matcher never throws and finds a path only under its own spelling', () => {
    const { registry } = gateway.corridor;
    const find = routesOf(registry);
    const near = fc.constantFrom(...registry.tools).chain(({ path }) =>
      fc.tuple(fc.nat(path.length), anyText, fc.boolean()).map(([at, text, instead]) => {
        const filled = path.replace(/\{\w+\}/g, 'x_1');
        return filled.slice(0, at) + text + filled.slice(instead ? at + text.length : at);
      }),
    );
    fc.assert(
      fc.property(fc.oneof(anyText, near), (path) => {
        const match = find(path);
        if (!match) return;
        const [tool] = [...match.methods.values()];
        const spelled = Object.entries(match.path).reduce((text, [name, value]) => {
          expect(value).toMatch(/^[A-Za-z0-9_-]+$/);
          return text.replace(`{${name}}`, value);
        }, tool?.path ?? '');
        expect(spelled).toBe(path);
      }),
      { seed, numRuns: 5_000 },
    );
    for (const { path, method, name } of registry.tools)
      expect(find(path.replace(/\{\w+\}/g, 'x'))?.methods.get(method)?.name).toBe(name);
  });

  it('Range, If-Match and Authorization are read or refused, never thrown over', () => {
    const range = fc.oneof(anyText, fc.stringMatching(/^(bytes|items)?=?[0-9,\- ]{0,30}$/));
    const match = fc.oneof(anyText, fc.stringMatching(/^(W\/)?"[a-f0-9*",]{0,70}"?$/));
    const authorization = fc.oneof(anyText, fc.stringMatching(/^[Bb]earer [ -~]{0,60}$/));
    fc.assert(
      fc.property(range, match, authorization, (one, two, three) => {
        const request = incoming({ range: one, 'if-match': two, authorization: three });
        const { bytes, problems } = readConditions(request, true, {});
        expect(Number('range' in bytes) + Number('ifMatch' in bytes) + problems.length).toBe(2);
        for (const value of Object.values(bytes.range ?? {}))
          expect(value === undefined || (Number.isInteger(value) && value >= 0)).toBe(true);
        const bearer = bearerOf(request);
        if (bearer !== undefined) expect(three.slice(7)).toBe(bearer);
      }),
      { seed, numRuns: 3_000 },
    );
  });

  it('repeated headers are a Failure of 400 or nothing', () => {
    const name = fc.constantFrom('Host', 'HOST', 'range', 'Authorization', 'accept', 'x', '__proto__', 'constructor');
    fc.assert(
      fc.property(fc.array(fc.tuple(name, anyText), { maxLength: 8 }), (pairs) => {
        const names = pairs.map(([one]) => one.toLowerCase());
        const single = names.filter((one) => ['host', 'range', 'authorization'].includes(one));
        const repeated = new Set(single).size < single.length;
        let refused: unknown;
        try {
          refuseAmbiguous(incoming({ host: 'a' }, pairs.flat()));
        } catch (error) {
          refused = error;
        }
        expect(refused instanceof Failure && refused.code === 'duplicate_parameter').toBe(repeated);
        expect(refused === undefined).toBe(!repeated);
      }),
      { seed, numRuns: 1_000 },
    );
  });

  it('whatever stands in Range, If-Match, Accept and Authorization, the answer is a documented one', async () => {
    const url = calls.get('file_content')?.url ?? '';
    const sendable = fc
      .oneof(anyText, fc.stringMatching(/^[ -~]{0,40}$/))
      .map((text) => text.replace(/[^\t\x20-\x7e\x80-\xff]/g, ''));
    const accept = fc.oneof(
      sendable,
      fc.constantFrom(
        'application/octet-stream',
        '*/*',
        'application/octet-stream;q=0.5, application/json;q=0.4',
        'a/b;q=x',
      ),
    );
    const range = fc.oneof(sendable, fc.stringMatching(/^bytes=[0-9]{0,6}-[0-9]{0,6}$/));
    await fc.assert(
      fc.asyncProperty(
        fc.record({ accept, range, 'if-match': sendable, authorization: sendable }, { requiredKeys: [] }),
        async (headers) => {
          const answer = await gateway.ask(url, { token, headers });
          expect([200, 206, 400, 401, 406, 412, 416]).toContain(answer.status);
        },
      ),
      { seed, numRuns: 300 },
    );
  });
});

import { z } from 'zod';
import { conditionName } from '../../core/conditions.ts';
import { type FailureCode, statusOf, titleOf } from '../../core/failures.ts';
import { jsonSchema } from '../../core/json-schema.ts';
import { pathsOf } from '../../core/paths.ts';
import { SCOPE_TEXTS } from '../../core/scope-texts.ts';
import { SCOPES } from '../../core/scopes.ts';
import { type Parameter, TAGS, type Tool } from '../../core/tool.ts';
import { failuresOf, headersOf } from '../../gateway/operation-wire.ts';
import type { Registry } from '../../gateway/registry.ts';
import { HEADERS, PROBLEM } from './components.ts';

export function openapi(registry: Registry, serverUrl: string): object {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const tool of registry.operations) {
    for (const path of pathsOf(tool))
      paths[path] = { ...paths[path], [tool.method.toLowerCase()]: operation(tool, path) };
  }
  const scopes = Object.fromEntries(SCOPES.map((scope) => [scope, SCOPE_TEXTS[scope].sentence]));
  return {
    openapi: '3.1.1',
    info: {
      title: 'Installation Gateway',
      version: '1.0.0', // the version of the REST interface; the package has a version of its own
      summary: 'Stored customer-support data for installed applications and agents.',
      description:
        'Most operations read stored data: conversations, visitors, contacts, catalogues, reports and AI feature ' +
        'metadata. A few operations write. A write with an Idempotency-Key takes effect only once. The gateway checks ' +
        'the authority of the credential on every request. An answer leaves out the fields that are not granted.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: serverUrl, description: 'Address of this gateway.' }],
    security: [{ bearer: [] }, { oauth: [] }],
    tags: [...new Set(registry.operations.map((tool) => tool.tag))]
      .sort()
      .map((name) => ({ name, description: TAGS[name] })),
    paths: Object.fromEntries(Object.entries(paths).sort(([a], [b]) => (a < b ? -1 : 1))),
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: `An installation token in the header Authorization: Bearer. The credential of the token can have these scopes: ${SCOPES.join(', ')}.`,
        },
        oauth: {
          type: 'oauth2',
          description: `An OAuth access token for the resource ${serverUrl}. The OAuth client is a credential, and authenticates with HTTP Basic.`,
          flows: {
            clientCredentials: { tokenUrl: `${serverUrl}/oauth/token`, scopes },
            authorizationCode: {
              authorizationUrl: `${serverUrl}/oauth/authorize`,
              tokenUrl: `${serverUrl}/oauth/token`,
              refreshUrl: `${serverUrl}/oauth/token`,
              scopes,
            },
          },
        },
      },
      schemas: { Problem: PROBLEM },
      headers: HEADERS,
    },
  };
}

function operation(tool: Tool, path: string): object {
  const whole = path === tool.path;
  const inPath = tool.parameters.filter((one) => whole || one.in !== 'path' || path.includes(`{${one.name}}`));
  const { scopes, dataAccess } = tool.required;
  return {
    operationId: whole ? tool.name : `${tool.name}_without_id`,
    summary: tool.title,
    description: describe(tool),
    tags: [tool.tag],
    parameters: [...inPath.flatMap((one) => (one.in === 'body' ? [] : [parameter(one)])), ...headersOf(tool)],
    ...(tool.body && { requestBody: requestBody(tool) }),
    responses: responses(tool),
    'x-required-scopes': scopes,
    'x-required-data-access': dataAccess,
    'x-unrestricted-required': tool.restrictions === 'refused',
    'x-quota-cost': tool.cost,
  };
}

function describe(tool: Tool): string {
  const { scopes, dataAccess } = tool.required;
  const lines = [tool.summary];
  if (scopes.length > 0) lines.push(`Required scopes: ${scopes.join(', ')}.`);
  if (dataAccess.length > 0) lines.push(`Required data access: ${dataAccess.join(', ')}.`);
  for (const condition of tool.when) {
    const { scopes: more, dataAccess: flags, unrestricted } = condition;
    const needed = [...more.map((one) => `the scope ${one}`), ...flags.map((one) => `the data access ${one}`)];
    if (unrestricted) needed.push('a credential without restrictions');
    const name = conditionName(condition);
    lines.push(
      condition.leftOut
        ? `The answer leaves out ${name} without ${needed.join(' and ')}.`
        : `With ${name}, a call also needs ${needed.join(' and ')}.`,
    );
  }
  if (tool.costWith) lines.push(`With ${tool.costWith.given}, a call costs ${tool.costWith.units} quota units.`);
  if (tool.restrictions === 'refused')
    lines.push('Credentials with channel, team or subsite restrictions cannot call this operation.');
  if (tool.consent === 'refused') lines.push('Tokens from a person’s consent cannot call this operation.');
  return lines.join(' ');
}

function parameter({ name, in: place, schema, required }: Parameter): object {
  const { description, ...rest } = jsonSchema(schema, 'input');
  return {
    name,
    in: place,
    required: required || place === 'path',
    ...(description !== undefined && { description }),
    schema: rest,
  };
}

function requestBody(tool: Tool): object {
  const members = tool.parameters.filter((one) => one.in === 'body').map(({ name, schema }) => [name, schema]);
  const schema = jsonSchema(z.strictObject(Object.fromEntries(members)), 'input');
  return { required: true, content: { 'application/json': { schema } } };
}

function responses(tool: Tool): object {
  const codes = failuresOf(tool);
  const statuses = [...new Set(codes.map(statusOf))].sort();
  const failures = statuses.map((status): [string, object] => [
    String(status),
    failure(codes.filter((code) => statusOf(code) === status)),
  ]);
  return Object.fromEntries([
    [String(tool.status), success(tool)],
    ...(tool.bytes ? [['206', BYTES_RESPONSE] as const] : []),
    ...failures,
    ...(tool.status === 101 ? [['default', DEFAULT] as const] : []),
  ]);
}

/**
 * The default response of an operation that answers success with status 101. Such an operation has no 2xx response, but
 * some OpenAPI tools expect a 2xx response or a default response.
 */
const DEFAULT = {
  description: 'Any other refusal of the WebSocket handshake.',
  headers: { 'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' } },
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
};

const COMMON_HEADERS = {
  'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' },
  RateLimit: { $ref: '#/components/headers/RateLimit' },
  'RateLimit-Policy': { $ref: '#/components/headers/RateLimit-Policy' },
};

const SUCCESS: Readonly<Record<Tool['status'], string>> = {
  101: 'The connection is now a WebSocket.',
  200: 'The operation succeeded. The body is the answer.',
  201: 'The operation created a resource. The body is the answer.',
  204: 'The operation succeeded. The response has no body.',
};

const success = (tool: Tool): object => ({
  description: SUCCESS[tool.status],
  headers: {
    ...COMMON_HEADERS,
    ...(tool.idempotency !== 'none' && {
      'X-Gateway-Operation-Id': { $ref: '#/components/headers/X-Gateway-Operation-Id' },
      'Idempotency-Replayed': { $ref: '#/components/headers/Idempotency-Replayed' },
    }),
    ...(tool.revision && { ETag: { $ref: '#/components/headers/ETag' } }),
    ...(tool.location && { Location: { $ref: '#/components/headers/Location' } }),
  },
  ...(tool.status !== 204 && tool.status !== 101 && { content: contentOf(tool) }),
});

const contentOf = (tool: Tool): object => ({
  'application/json': { schema: jsonSchema(tool.output, 'output') },
  ...(tool.bytes && { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } }),
});

const BYTES_RESPONSE = {
  description: 'Bytes of the requested range. Without a Range header: bytes of the requested chunk.',
  headers: {
    ...COMMON_HEADERS,
    ETag: { description: 'Version of the file, as an entity tag.', schema: { type: 'string' } },
    'Content-Range': {
      description: 'Range of the returned bytes, and size of the whole file in bytes.',
      schema: { type: 'string' },
    },
    'Content-Digest': {
      description: 'SHA-256 of the returned bytes, in the form of RFC 9530.',
      schema: { type: 'string' },
    },
    'X-Gateway-File-Version': { description: 'Version of the file, without quotes.', schema: { type: 'string' } },
  },
  content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } },
};

function failure(codes: readonly FailureCode[]): object {
  const sorted = [...new Set(codes)].sort();
  const status = statusOf(sorted[0] ?? 'internal');
  return {
    description: sorted.map((code) => `- \`${code}\`: ${titleOf(code)}`).join('\n'),
    headers: {
      'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' },
      ...(status === 401 && { 'WWW-Authenticate': { $ref: '#/components/headers/WWW-Authenticate' } }),
      ...(status === 409 && {
        'X-Gateway-Operation-Id': { $ref: '#/components/headers/X-Gateway-Operation-Id' },
        'Idempotency-Replayed': { $ref: '#/components/headers/Idempotency-Replayed' },
      }),
      ...((status === 429 || status === 503 || codes.includes('operation_in_progress')) && {
        'Retry-After': { $ref: '#/components/headers/Retry-After' },
      }),
    },
    content: {
      'application/problem+json': {
        schema: {
          allOf: [
            { $ref: '#/components/schemas/Problem' },
            { type: 'object', properties: { code: { enum: sorted }, status: { const: status } } },
          ],
        },
      },
    },
  };
}

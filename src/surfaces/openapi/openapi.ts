import { z } from 'zod';
import { type FailureCode, statusOf, titleOf } from '../../core/failures.ts';
import { jsonSchema } from '../../core/json-schema.ts';
import { SCOPE_TEXTS } from '../../core/scope-texts.ts';
import { SCOPES } from '../../core/scopes.ts';
import { type Parameter, TAGS, type Tool } from '../../core/tool.ts';
import type { Registry } from '../../gateway/registry.ts';
import { HEADERS, PROBLEM } from './components.ts';

const COMMON: readonly FailureCode[] = [
  'unauthenticated',
  'token_expired',
  'token_revoked',
  'wrong_resource',
  'quota_exceeded',
  'internal',
  'service_unavailable',
  'authority_unavailable',
];

export function openapi(registry: Registry, serverUrl: string): object {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const tool of registry.operations) {
    paths[tool.path] = { ...paths[tool.path], [tool.method.toLowerCase()]: operation(tool) };
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

function operation(tool: Tool): object {
  const { scopes, dataAccess } = tool.required;
  return {
    operationId: tool.name,
    summary: tool.title,
    description: describe(tool),
    tags: [tool.tag],
    parameters: [
      ...tool.parameters.flatMap((one) => (one.in === 'body' ? [] : [parameter(one)])),
      ...(tool.bytes ? BYTES_PARAMETERS : []),
      ...(tool.idempotency === 'none' ? [] : [{ ...IDEMPOTENCY_KEY, required: tool.idempotency === 'required' }]),
      ...(tool.ifMatch ? [IF_MATCH] : []),
      ...(tool.origin ? [ORIGIN] : []),
    ],
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
  for (const { given, is, scopes: more, dataAccess: flags } of tool.when) {
    const needed = [...more.map((one) => `the scope ${one}`), ...flags.map((one) => `the data access ${one}`)];
    lines.push(`With ${given}${is === undefined ? '' : `=${is}`}, a call also needs ${needed.join(' and ')}.`);
  }
  if (tool.restrictions === 'refused')
    lines.push('Credentials with channel, team or subsite restrictions cannot call this operation.');
  if (tool.consent === 'refused') lines.push('Tokens from a person’s consent cannot call this operation.');
  return lines.join(' ');
}

function parameter({ name, in: place, schema, required }: Parameter): object {
  const { description, ...rest } = jsonSchema(schema, 'input');
  return { name, in: place, required, ...(description !== undefined && { description }), schema: rest };
}

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'Your own key for this write: 1 to 128 printable ASCII characters without spaces. Keep the key for retries. A write ' +
    'that is sent again with the same key and input does not take effect again.',
  schema: { type: 'string', pattern: '^[!-~]{1,128}$' },
};

const IF_MATCH = {
  name: 'If-Match',
  in: 'header',
  required: true,
  description:
    'Current revision of the subscription. Send the value of ETag, or the revision as a number without quotes.',
  schema: { type: 'string', pattern: '^(?:"[1-9][0-9]{0,9}"|[1-9][0-9]{0,9})$' },
};

const ORIGIN = {
  name: 'Origin',
  in: 'header',
  required: true,
  description:
    'Origin of the web page. The origin must be registered on the credential. Browsers send this header automatically.',
  schema: { type: 'string' },
};

function requestBody(tool: Tool): object {
  const members = tool.parameters.filter((one) => one.in === 'body').map(({ name, schema }) => [name, schema]);
  const schema = jsonSchema(z.strictObject(Object.fromEntries(members)), 'input');
  return { required: true, content: { 'application/json': { schema } } };
}

const BYTES_PARAMETERS = [
  {
    name: 'Range',
    in: 'header',
    required: false,
    description:
      'One range of at most 65,536 bytes of the file. The request also needs Accept: application/octet-stream. Absent: the chunk that the parameter chunk names.',
    schema: { type: 'string', pattern: '^bytes=[0-9]*-[0-9]*$' },
  },
  {
    name: 'If-Match',
    in: 'header',
    required: false,
    description:
      'Version of the file that you expect, as an entity tag. If the file has another version, the request fails with status 412.',
    schema: { type: 'string', pattern: '^"[a-f0-9]{16,64}"$' },
  },
];

function responses(tool: Tool): object {
  const codes = [...COMMON, ...tool.errors];
  const named = (name: string): boolean => tool.parameters.some((one) => one.name === name);
  const hasInput = tool.parameters.length > 0;
  codes.push('invalid_request', 'unsupported_parameter', 'duplicate_parameter', 'not_acceptable');
  if (hasInput) codes.push('invalid_parameter', 'not_found');
  if (named('cursor')) codes.push('invalid_cursor');
  if (refusable(tool)) codes.push('not_permitted');
  if (tool.bytes) codes.push('precondition_failed', 'range_not_satisfiable');
  if (tool.body) codes.push('invalid_json', 'body_too_large', 'unsupported_media_type');
  if (tool.idempotency !== 'none') codes.push(...LEDGER);
  if (tool.idempotency === 'required') codes.push('idempotency_key_required', 'operation_in_progress');
  if (tool.ifMatch) codes.push('if_match_required', 'invalid_parameter', 'revision_changed', 'concurrent_mutation');
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

const LEDGER: readonly FailureCode[] = ['invalid_idempotency_key', 'idempotency_conflict', 'outcome_unknown'];

const refusable = ({ required, restrictions, consent, when }: Tool): boolean =>
  required.scopes.length + required.dataAccess.length + when.length > 0 ||
  restrictions === 'refused' ||
  consent === 'refused';

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

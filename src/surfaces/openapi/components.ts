import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { FAILURE_CODES, titleOf } from '../../core/failures.ts';
import { named } from '../../core/json-schema.ts';

export interface Reference {
  readonly $ref: string;
}

type ComponentKind = 'schemas' | 'responses' | 'parameters' | 'headers';

/** The components of one document. An operation refers to a component, so the document has each component only once. */
export class Components {
  readonly #parts: Readonly<Record<ComponentKind, Map<string, object>>> = {
    schemas: new Map(),
    responses: new Map(),
    parameters: new Map(),
    headers: new Map(),
  };

  /** Adds a component, and returns the reference to it. Throws if a different component has the name. */
  add(kind: ComponentKind, name: string, part: object): Reference {
    const known = this.#parts[kind].get(name) ?? part;
    if (!isDeepStrictEqual(known, part))
      throw new Error(`OpenAPI: two different ${kind} have the name ${name}: rename one of them`);
    this.#parts[kind].set(name, known);
    return { $ref: `#/components/${kind}/${name}` };
  }

  headers(...names: readonly (keyof typeof HEADERS)[]): Readonly<Record<string, Reference>> {
    return Object.fromEntries(names.map((name) => [name, this.add('headers', name, HEADERS[name])]));
  }

  /** All components, sorted by name. */
  all(): Readonly<Record<ComponentKind, object>> {
    const sorted = (kind: ComponentKind): object =>
      Object.fromEntries([...this.#parts[kind]].sort(([a], [b]) => (a < b ? -1 : 1)));
    return {
      schemas: sorted('schemas'),
      responses: sorted('responses'),
      parameters: sorted('parameters'),
      headers: sorted('headers'),
    };
  }
}

const HEADERS = {
  'X-Request-Id': {
    description: 'Id of this request. Quote the id when you report a problem. The log of the gateway has the same id.',
    schema: { type: 'string', pattern: '^req_[a-f0-9]{32}$' },
  },
  RateLimit: {
    description:
      'Quota of the app now. r is the number of units that are left. t is the number of seconds until the next unit, or 0 if the quota is full.',
    schema: { type: 'string' },
  },
  'RateLimit-Policy': {
    description:
      'Quota policy of the app. q is the number of units in a window. w is the length of the window in seconds.',
    schema: { type: 'string' },
  },
  'Retry-After': { description: 'Number of seconds to wait before a retry.', schema: { type: 'integer', minimum: 1 } },
  'X-Gateway-Operation-Id': {
    description: 'Id of the write. Send this id to operation_get to read the status of the write.',
    schema: { type: 'string', pattern: '^op_[a-f0-9]{64}$' },
  },
  ETag: {
    description:
      'Current revision of the subscription. Send this value in If-Match when you replace or delete the subscription.',
    schema: { type: 'string', pattern: '^"[1-9][0-9]{0,9}"$' },
  },
  Location: { description: 'Path of the resource that was created.', schema: { type: 'string' } },
  'Idempotency-Replayed': {
    description:
      'The value true means that the gateway repeats the result of an earlier request with the same key. Absent in all other answers.',
    schema: { const: 'true' },
  },
  'WWW-Authenticate': {
    description: 'Bearer challenge (RFC 6750) with the URL of the protected resource metadata (RFC 9728).',
    schema: { type: 'string' },
  },
};

export const Problem = named(
  'Problem',
  z
    .strictObject({
      type: z.string().describe('URL of the page that documents the code.'),
      title: z.string(),
      status: z.int().min(400).max(599),
      code: named(
        'FailureCode',
        // The first sentence of a title says what is wrong. The page of the code says what to do.
        z
          .enum(FAILURE_CODES)
          .describe(FAILURE_CODES.map((code) => `- \`${code}\`: ${titleOf(code).split('. ')[0]}`).join('\n')),
      ),
      request_id: z.string(),
      detail: z.string().optional(),
      errors: z
        .array(
          z.strictObject({
            parameter: z.string().optional().describe('Name of the wrong query parameter, path parameter or header.'),
            pointer: z.string().optional().describe('JSON Pointer (RFC 6901) to the wrong member of the body.'),
            code: z.string().describe('What is wrong: a code of this API, or `missing`.'),
            expected: z
              .string()
              .describe('What the gateway accepts here, in words. A program must not parse the words.'),
          }),
        )
        .max(20)
        .optional()
        .describe('The wrong parameters, at most 20. Each error names a parameter or a pointer.'),
      retry_after: z.int().min(1).optional().describe('Number of seconds to wait before a retry.'),
      base_url: z.string().optional().describe('Base URL to use from now on, after `organization_moved`.'),
      required: z
        .strictObject({ scopes: z.array(z.string()), data_access: z.array(z.string()), unrestricted: z.boolean() })
        .optional()
        .describe('Grants that the operation requires and that the credential lacks.'),
    })
    .describe('Failure of a request, as problem details (RFC 9457).'),
);

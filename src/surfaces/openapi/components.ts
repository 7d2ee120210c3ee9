import { z } from 'zod';
import { FAILURE_CODES } from '../../core/failures.ts';
import { type JsonSchema, jsonSchema } from '../../core/json-schema.ts';

export const HEADERS = {
  'X-Request-Id': {
    description: 'Id of this request. Quote it in reports; the log has it.',
    schema: { type: 'string', pattern: '^req_[a-f0-9]{32}$' },
  },
  RateLimit: {
    description: 'The app’s quota: r is the units left, t the seconds until the next unit (0 if the quota is full).',
    schema: { type: 'string' },
  },
  'RateLimit-Policy': {
    description: 'The app’s quota: q is the units in a window, w the window in seconds.',
    schema: { type: 'string' },
  },
  'Retry-After': { description: 'Seconds to wait before a retry.', schema: { type: 'integer', minimum: 1 } },
  'X-Gateway-Operation-Id': {
    description: 'Id of the write. operation_get returns its status.',
    schema: { type: 'string', pattern: '^op_[a-f0-9]{64}$' },
  },
  ETag: {
    description: 'The current revision. Send it in If-Match.',
    schema: { type: 'string', pattern: '^"[1-9][0-9]{0,9}"$' },
  },
  Location: { description: 'Path of the created resource.', schema: { type: 'string' } },
  'Idempotency-Replayed': {
    description: 'true if this is the answer to an earlier request with the same key. Otherwise absent.',
    schema: { const: 'true' },
  },
  'WWW-Authenticate': {
    description: 'Bearer challenge with the URL of the resource metadata.',
    schema: { type: 'string' },
  },
};

export const PROBLEM: JsonSchema = jsonSchema(
  z
    .strictObject({
      type: z.string().describe('URL of the documentation of the code.'),
      title: z.string(),
      status: z.int().min(400).max(599),
      code: z.enum(FAILURE_CODES),
      request_id: z.string(),
      detail: z.string().optional(),
      errors: z
        .array(z.strictObject({ parameter: z.string().optional(), pointer: z.string().optional(), code: z.string() }))
        .max(20)
        .optional(),
      retry_after: z.int().min(1).optional().describe('Seconds to wait before a retry.'),
      required: z
        .strictObject({ scopes: z.array(z.string()), data_access: z.array(z.string()), unrestricted: z.boolean() })
        .optional()
        .describe('What the credential lacks.'),
    })
    .describe('Problem details (RFC 9457).'),
  'output',
);

import type { FailureCode } from '../core/failures.ts';
import type { JsonSchema } from '../core/json-schema.ts';
import type { Tool } from '../core/tool.ts';

/** A request header that an operation reads, as OpenAPI describes a parameter. */
export interface HeaderParameter {
  readonly name: string;
  readonly in: 'header';
  readonly required: boolean;
  readonly description: string;
  readonly schema: JsonSchema;
}

/** The request headers of an operation, without Authorization. */
export const headersOf = (tool: Tool): HeaderParameter[] => [
  ...(tool.bytes ? BYTES_PARAMETERS : []),
  ...(tool.idempotency === 'none' ? [] : [{ ...IDEMPOTENCY_KEY, required: tool.idempotency === 'required' }]),
  ...(tool.ifMatch ? [IF_MATCH] : []),
  ...(tool.origin ? [ORIGIN] : []),
];

const IDEMPOTENCY_KEY: Omit<HeaderParameter, 'required'> = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'Your own key for this write: 1 to 128 printable ASCII characters without spaces. Keep the key for retries. A write ' +
    'that is sent again with the same key and input does not take effect again.',
  schema: { type: 'string', pattern: '^[!-~]{1,128}$' },
};

const IF_MATCH: HeaderParameter = {
  name: 'If-Match',
  in: 'header',
  required: true,
  description:
    'Current revision of the subscription. Send the value of ETag, or the revision as a number without quotes.',
  schema: { type: 'string', pattern: '^(?:"[1-9][0-9]{0,9}"|[1-9][0-9]{0,9})$' },
};

const ORIGIN: HeaderParameter = {
  name: 'Origin',
  in: 'header',
  required: true,
  description:
    'Origin of the web page. The origin must be registered on the credential. Browsers send this header automatically.',
  schema: { type: 'string' },
};

const BYTES_PARAMETERS: readonly HeaderParameter[] = [
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

/** Every failure code that an operation can answer. A code can be in the list twice. */
export function failuresOf(tool: Tool): FailureCode[] {
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
  return codes;
}

const LEDGER: readonly FailureCode[] = ['invalid_idempotency_key', 'idempotency_conflict', 'outcome_unknown'];

const refusable = ({ required, restrictions, consent, when }: Tool): boolean =>
  required.scopes.length + required.dataAccess.length + when.length > 0 ||
  restrictions === 'refused' ||
  consent === 'refused';

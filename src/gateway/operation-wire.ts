import type { FailureCode } from '../core/failures.ts';
import type { JsonSchema } from '../core/json-schema.ts';
import type { Tool } from '../core/tool.ts';

/** A request header, as OpenAPI describes a parameter. */
export interface HeaderParameter {
  readonly name: string;
  readonly in: 'header';
  readonly required: boolean;
  readonly description: string;
  readonly schema: JsonSchema;
}

/** The request headers of an operation, except Authorization. */
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
    'Origin of the web page. The origin must be registered on the credential. Browsers send this header automatically, and let a page of a registered origin read the answer (CORS).',
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
    name: 'If-Range',
    in: 'header',
    required: false,
    description: 'Version of the file as an entity tag. If the file has another version, Range does not count.',
    schema: { type: 'string', pattern: '^[ -~]+$' },
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

/**
 * True if the answer of the operation has an entity tag of its bytes, and If-None-Match can make it a 304. The entity
 * tag of a subscription is its revision, and the entity tag of a file's content is its version.
 */
export const isConditional = ({ effect, status, revision, bytes }: Tool): boolean =>
  effect === 'read' && status === 200 && !revision && !bytes;

/** Failure codes that come together. OpenAPI names its responses after the groups. */
export interface FailureGroup {
  readonly name: string;
  readonly codes: readonly FailureCode[];
}

const EVERY: FailureGroup = {
  name: '',
  codes: [
    'unauthenticated',
    'token_expired',
    'token_revoked',
    'wrong_resource',
    'organization_moved',
    // An owner can switch every operation off.
    'not_permitted',
    'quota_exceeded',
    'internal',
    'service_unavailable',
    'authority_unavailable',
    'invalid_request',
    'unsupported_parameter',
    'duplicate_parameter',
    'not_acceptable',
  ],
};
/** The codes of operations with one property. */
export const GROUPS = {
  input: ['invalid_parameter', 'not_found'],
  cursor: ['invalid_cursor'],
  bytes: ['precondition_failed', 'range_not_satisfiable'],
  body: ['invalid_json', 'body_too_large', 'unsupported_media_type'],
  key: ['invalid_idempotency_key', 'idempotency_conflict', 'outcome_unknown'],
  required: ['idempotency_key_required', 'operation_in_progress'],
  /** Of the writes that a credential can be made to wait with. */
  approval: ['approval_lapsed', 'approval_limit', 'approval_rejected'],
  revision: ['if_match_required', 'revision_changed', 'concurrent_mutation'],
} as const satisfies Readonly<Record<string, readonly FailureCode[]>>;

/** Every failure code that an operation can answer, in groups. A code can be in two groups. */
export function failureGroups(tool: Tool): FailureGroup[] {
  const has: Readonly<Record<keyof typeof GROUPS, boolean>> = {
    input: tool.parameters.length > 0,
    cursor: tool.parameters.some(({ name }) => name === 'cursor'),
    bytes: tool.bytes !== undefined,
    body: tool.body,
    key: tool.idempotency !== 'none',
    required: tool.idempotency === 'required',
    approval: tool.performs !== undefined,
    revision: tool.ifMatch,
  };
  const names = (Object.keys(GROUPS) as (keyof typeof GROUPS)[]).filter((name) => has[name]); // Object.keys returns string[]
  return [
    EVERY,
    ...[...tool.errors].sort().map((code) => ({ name: code, codes: [code] })),
    ...names.map((name) => ({ name, codes: GROUPS[name] })),
  ];
}

/** Every failure code that an operation can answer. A code can be in the list twice. */
export const failuresOf = (tool: Tool): FailureCode[] => failureGroups(tool).flatMap(({ codes }) => codes);

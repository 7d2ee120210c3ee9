import { A2A_ERROR_DOMAIN, type A2AError, ERROR_INFO_TYPE, toJsonRpcError } from '@a2a-js/sdk/errors';
import { type Failure, titleOf } from '../../core/failures.ts';
import { INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, RpcError } from '../jsonrpc/envelope.ts';

export interface RpcFault {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** One entry of the details of an error. The details are an array of google.rpc messages (A2A, section 9.5). */
const info = (reason: string): object => ({
  '@type': ERROR_INFO_TYPE,
  reason,
  domain: A2A_ERROR_DOMAIN,
  metadata: {},
});

/** The JSON-RPC error for wrong params. The error names fields and codes, but never a value from the client. */
export function invalidParams(failure: Failure, prefix = ''): RpcError {
  const violations = (failure.details.errors ?? []).map(({ parameter, pointer = '', code }) => ({
    field: prefix + (parameter ?? pointer.slice(1).replaceAll('/', '.')),
    description: code,
  }));
  const named = violations.map(({ field, description }) => `${field} (${description})`).join(', ');
  return new RpcError(INVALID_PARAMS, named ? `Invalid parameters: ${named}.` : titleOf(failure.code), [
    info(failure.code),
    ...(violations.length > 0
      ? [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: violations }]
      : []),
  ]);
}

export const messageIdConflict = (): RpcError =>
  new RpcError(
    INVALID_PARAMS,
    'The messageId was already used with another skill or other arguments. Send a new messageId.',
    [info('message_id_conflict')],
  );

/** Converts an error to the JSON-RPC error object that the client gets. */
export function faultOf(error: RpcError | A2AError): RpcFault {
  if (error instanceof RpcError) {
    const { code, message, data } = error;
    return { code, message, ...(data !== undefined && { data }) };
  }
  return complete(toJsonRpcError(error));
}

/** The codes that an A2A error can have: A2A 1.0 codes (section 5.4) and JSON-RPC codes for a bad request. */
const KNOWN: ReadonlySet<number> = new Set([
  ...Array.from({ length: 9 }, (_, i) => -32_001 - i),
  PARSE_ERROR,
  INVALID_REQUEST,
  METHOD_NOT_FOUND,
  INVALID_PARAMS,
]);

/**
 * Adds empty metadata to the details of an SDK error, because the SDK omits empty metadata. Throws for an unknown code,
 * because such a code shows a defect of the gateway.
 */
export function complete({ data, ...rest }: RpcFault): RpcFault {
  if (!KNOWN.has(rest.code)) throw new Error(`the SDK answered ${rest.code}`);
  return { ...rest, ...(Array.isArray(data) && { data: data.map((one: object) => ({ ...one, metadata: {} })) }) };
}

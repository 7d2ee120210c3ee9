import { A2A_ERROR_DOMAIN, type A2AError, ERROR_INFO_TYPE, toJsonRpcError } from '@a2a-js/sdk/errors';
import { type Failure, titleOf } from '../../core/failures.ts';
import { INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, RpcError } from '../jsonrpc/envelope.ts';

export interface RpcFault {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** Details of an error of the protocol: an array of messages of google.rpc (A2A, section 9.5). */
const info = (reason: string): object => ({
  '@type': ERROR_INFO_TYPE,
  reason,
  domain: A2A_ERROR_DOMAIN,
  metadata: {},
});

/** A refusal of what was asked for: fields by name and code, never by value. */
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
  new RpcError(INVALID_PARAMS, 'The messageId was used with another skill or other arguments.', [
    info('message_id_conflict'),
  ]);

/** An error of the protocol as it goes onto the wire. */
export function faultOf(error: RpcError | A2AError): RpcFault {
  if (error instanceof RpcError) {
    const { code, message, data } = error;
    return { code, message, ...(data !== undefined && { data }) };
  }
  return complete(toJsonRpcError(error));
}

/** Codes of A2A 1.0 (section 5.4) and those of JSON-RPC that say what is wrong with a request. */
const KNOWN: ReadonlySet<number> = new Set([
  ...Array.from({ length: 9 }, (_, i) => -32_001 - i),
  PARSE_ERROR,
  INVALID_REQUEST,
  METHOD_NOT_FOUND,
  INVALID_PARAMS,
]);

/** An error of the SDK: it leaves empty metadata out. Any other code says that something of ours is broken, and is thrown. */
export function complete({ data, ...rest }: RpcFault): RpcFault {
  if (!KNOWN.has(rest.code)) throw new Error(`the SDK answered ${rest.code}`);
  return { ...rest, ...(Array.isArray(data) && { data: data.map((one: object) => ({ ...one, metadata: {} })) }) };
}

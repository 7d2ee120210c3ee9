import { A2A_ERROR_DOMAIN, type A2AError, ERROR_INFO_TYPE, toJsonRpcError } from '@a2a-js/sdk/errors';
import { type Failure, titleOf } from '../../core/failures.ts';
import { INVALID_PARAMS, RpcError } from '../jsonrpc/envelope.ts';

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

/** The SDK leaves empty metadata out. */
export const complete = ({ data, ...rest }: RpcFault): RpcFault => ({
  ...rest,
  ...(Array.isArray(data) && { data: data.map((one: object) => ({ ...one, metadata: {} })) }),
});

import { A2A_ERROR_DOMAIN, type A2AError, ERROR_INFO_TYPE, toJsonRpcError } from '@a2a-js/sdk/errors';
import { type Failure, titleOf } from '../../core/failures.ts';
import {
  INVALID_PARAMS,
  INVALID_REQUEST,
  invalidText,
  METHOD_NOT_FOUND,
  PARSE_ERROR,
  RpcError,
} from '../jsonrpc/envelope.ts';

export interface RpcFault {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

const info = (reason: string): object => ({
  '@type': ERROR_INFO_TYPE,
  reason,
  domain: A2A_ERROR_DOMAIN,
  metadata: {},
});

/** The JSON-RPC error for wrong params. It names fields and codes, never a value from the client. */
export function invalidParams(failure: Failure, prefix = ''): RpcError {
  const errors = (failure.details.errors ?? []).map(({ parameter, pointer = '', code, expected }) => ({
    parameter: prefix + (parameter ?? pointer.slice(1).replaceAll('/', '.')),
    code,
    expected,
  }));
  const violations = errors.map(({ parameter, code }) => ({ field: parameter, description: code }));
  return new RpcError(INVALID_PARAMS, errors.length > 0 ? invalidText(errors) : titleOf(failure.code), [
    info(failure.code),
    ...(violations.length > 0
      ? [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: violations }]
      : []),
  ]);
}

export const messageIdConflict = (): RpcError =>
  new RpcError(
    INVALID_PARAMS,
    'The messageId was already used with another skill, other arguments or another contextId. Send a new messageId.',
    [info('message_id_conflict')],
  );

/** The last event of a stream whose authority has lapsed. JSON-RPC leaves this code to servers. */
export const LAPSED: RpcFault = {
  code: -32_000,
  message: 'The authority of the stream has lapsed. Get a new token, then read the task with GetTask.',
  data: [info('AUTHORITY_LAPSED')],
};

export function faultOf(error: RpcError | A2AError): RpcFault {
  if (error instanceof RpcError) {
    const { code, message, data } = error;
    return { code, message, ...(data !== undefined && { data }) };
  }
  return complete(toJsonRpcError(error));
}

/** All codes that an error can have: those of A2A 1.0 (section 5.4), and those of JSON-RPC for a wrong request. */
const KNOWN: ReadonlySet<number> = new Set([
  ...Array.from({ length: 9 }, (_, i) => -32_001 - i),
  PARSE_ERROR,
  INVALID_REQUEST,
  METHOD_NOT_FOUND,
  INVALID_PARAMS,
]);

/**
 * Adds `metadata` to an SDK error's details, because the SDK leaves it out when it is empty. Throws for an unknown
 * code, because only a defect of the gateway causes one.
 */
export function complete({ data, ...rest }: RpcFault): RpcFault {
  if (!KNOWN.has(rest.code)) throw new Error(`the SDK answered ${rest.code}`);
  return { ...rest, ...(Array.isArray(data) && { data: data.map((one: object) => ({ ...one, metadata: {} })) }) };
}

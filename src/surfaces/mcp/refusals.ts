import { type Failure, titleOf } from '../../core/failures.ts';
import { INVALID_PARAMS, RpcError } from '../jsonrpc/envelope.ts';

/** The JSON-RPC error for wrong params. It names parameters and codes, but never contains a value from the client. */
export function invalidParams(failure: Failure): RpcError {
  const { required } = failure.details;
  const errors = failure.details.errors?.map(({ parameter, pointer = '', code }) => ({
    parameter: parameter === undefined ? pointer.slice(1).replaceAll('/', '.') : argumentOf(parameter),
    code,
  }));
  const named = errors?.map(({ parameter, code }) => `${parameter} (${code})`).join(', ');
  return new RpcError(INVALID_PARAMS, named ? `Invalid parameters: ${named}.` : titleOf(failure.code), {
    code: failure.code,
    ...(errors && { errors }),
    ...(required && {
      required: { scopes: required.scopes, data_access: required.dataAccess, unrestricted: required.unrestricted },
    }),
  });
}

/** For each REST header, the MCP tool argument that carries its value. */
const ARGUMENTS: ReadonlyMap<string, string> = new Map([
  ['Idempotency-Key', 'idempotency_key'],
  ['If-Match', 'if_match'],
]);
const argumentOf = (name: string): string => ARGUMENTS.get(name) ?? name;

export const unusable = (noun: 'tool' | 'prompt'): RpcError =>
  new RpcError(INVALID_PARAMS, `This credential can use no ${noun} with that name.`, {
    code: 'not_permitted',
  });

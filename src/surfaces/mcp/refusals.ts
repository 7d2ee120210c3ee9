import { type Failure, titleOf } from '../../core/failures.ts';
import { INVALID_PARAMS, RpcError } from '../jsonrpc/envelope.ts';

/** A refusal of the params as a JSON-RPC error. It names parameters and codes, never values. */
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

/** REST headers are tool arguments over MCP. */
const ARGUMENTS: ReadonlyMap<string, string> = new Map([
  ['Idempotency-Key', 'idempotency_key'],
  ['If-Match', 'if_match'],
]);
const argumentOf = (name: string): string => ARGUMENTS.get(name) ?? name;

/** The named tool or prompt does not exist, or this credential may not use it. */
export const unusable = (noun: 'tool' | 'prompt'): RpcError =>
  new RpcError(INVALID_PARAMS, `This credential can use no ${noun} with that name.`, {
    code: 'not_permitted',
  });

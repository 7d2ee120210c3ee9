import { type Failure, titleOf } from '../../core/failures.ts';
import { INVALID_PARAMS, RpcError } from '../jsonrpc/envelope.ts';

/** A refusal of what was asked for, as JSON-RPC knows it: parameters by name and code, never by value. */
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

/** Headers of REST are arguments here. */
const ARGUMENTS: ReadonlyMap<string, string> = new Map([
  ['Idempotency-Key', 'idempotency_key'],
  ['If-Match', 'if_match'],
]);
const argumentOf = (name: string): string => ARGUMENTS.get(name) ?? name;

/** Something named that does not exist, or that this credential may not use. */
export const unusable = (noun: 'tool' | 'prompt'): RpcError =>
  new RpcError(INVALID_PARAMS, `There is no ${noun} of that name that this credential can use.`, {
    code: 'not_permitted',
  });

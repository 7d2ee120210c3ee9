import type { Authority } from '../../core/authority.ts';
import { type Failure, titleOf } from '../../core/failures.ts';
import { grantsText } from '../../core/scopes.ts';
import { INVALID_PARAMS, invalidText, RpcError } from '../jsonrpc/envelope.ts';

/**
 * The JSON-RPC error for wrong params: parameters, codes and expected values, never a value from the client. Many
 * clients give the model only the message, so it must suffice to correct the call.
 */
export function invalidParams(failure: Failure, authority?: Authority): RpcError {
  const { required } = failure.details;
  const errors = argumentErrors(failure);
  return new RpcError(INVALID_PARAMS, refusalText(failure, authority), {
    code: failure.code,
    ...(errors && { errors }),
    ...(required && {
      required: { scopes: required.scopes, data_access: required.dataAccess, unrestricted: required.unrestricted },
    }),
  });
}

/** What a model reads: the wrong arguments, or the title and the missing grants. If no grant helps, only the reason. */
export function refusalText(failure: Failure, authority: Authority | undefined): string {
  const errors = argumentErrors(failure);
  const { detail, required, retryAfter, ungrantable } = failure.details;
  if (ungrantable && detail !== undefined) return detail;
  return [
    errors?.length ? invalidText(errors) : titleFor(failure, authority),
    ...(detail === undefined ? [] : [detail]),
    ...(required && required.scopes.length + required.dataAccess.length > 0
      ? [`The credential lacks ${grantsText(required)}.`]
      : []),
    ...(required?.dataAccess.length ? ['Scopes and data access are both needed.'] : []),
    ...(required?.unrestricted ? ['The operation refuses a credential with restrictions.'] : []),
    ...(retryAfter === undefined ? [] : [`Retry after ${retryAfter} s.`]),
  ].join(' ');
}

/** The title of a failure. A client by URL must ask the person who approved the client, and not the operator. */
function titleFor({ code, details: { required } }: Failure, authority: Authority | undefined): string {
  const grantable = authority?.clientByUrl === true && code === 'not_permitted' && required?.unrestricted === false;
  return grantable ? ASK_PERSON : titleOf(code);
}

const ASK_PERSON =
  'The operation requires a permission that the person has not approved for this app. Ask the person to connect the app again and to tick the permission.';

/** The wrong arguments of a call, by their names in the tool's input schema. */
export const argumentErrors = (failure: Failure) =>
  failure.details.errors?.map(({ parameter, pointer = '', code, expected }) => ({
    parameter: parameter === undefined ? pointer.slice(1).replaceAll('/', '.') : argumentOf(parameter),
    code,
    expected,
  }));

/** For each REST header, the MCP argument that carries its value. */
const ARGUMENTS: ReadonlyMap<string, string> = new Map([
  ['Idempotency-Key', 'idempotency_key'],
  ['If-Match', 'if_match'],
]);
const argumentOf = (name: string): string => ARGUMENTS.get(name) ?? name;

export const unusable = (noun: 'tool' | 'prompt'): RpcError =>
  new RpcError(INVALID_PARAMS, `This credential can use no ${noun} with that name.`, {
    code: 'not_permitted',
  });

/** The credential can use the tool or prompt, but the address of the request does not list it. */
export const unlisted = (noun: 'tool' | 'prompt'): RpcError =>
  new RpcError(INVALID_PARAMS, `This address lists no ${noun} with that name. The address /mcp lists every ${noun}.`, {
    code: 'not_permitted',
  });

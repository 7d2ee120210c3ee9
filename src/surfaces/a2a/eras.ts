import { VersionNotSupportedError } from '@a2a-js/sdk/errors';
import { type A2ARequestHandler, JsonRpcTransportHandler, ServerCallContext } from '@a2a-js/sdk/server';
import type { Params, RequestId } from '../jsonrpc/envelope.ts';
import { checkedParams } from './params.ts';
import { V03 } from './v03/v03.ts';

export interface RpcRequest extends Record<string, unknown> {
  readonly jsonrpc: '2.0';
  readonly id: RequestId;
  readonly method: string;
  readonly params: Params;
}

/** An answer in the wire form of a version, or a stream of such answers. */
type RpcOutcome = { readonly jsonrpc: string; readonly result?: unknown; readonly error?: unknown };

/** A version of the protocol. All versions run the same handler, so they share the logic and the tasks. */
export interface A2aEra {
  /** The name that the method has in 1.0. Throws for a name of another version. */
  nameOf(method: string): string;
  checkedParams(method: string, params: Params): Params;
  handle(request: RpcRequest, handler: A2ARequestHandler): Promise<RpcOutcome | AsyncGenerator<unknown>>;
  /** True if an error of the method comes as the only event of a stream. */
  errorsInStream(method: string): boolean;
}

const V10: A2aEra = {
  // The SDK refuses a name that it does not know.
  nameOf: (method) => method,
  checkedParams,
  handle: (request, handler) => new JsonRpcTransportHandler(handler).handle(request, new ServerCallContext()),
  errorsInStream: () => false,
};

/**
 * The era of a version. A patch number is ignored (A2A, section 3.6). A client of version 0.3 sends no version
 * (section 3.6.2). Throws for any other version.
 */
export function eraOf(version: string | undefined): A2aEra {
  if (version !== undefined && /^1\.0(\.[0-9]{1,9})?$/.test(version)) return V10;
  if (version === undefined || version === '' || /^0\.3(\.[0-9]{1,9})?$/.test(version)) return V03;
  throw new VersionNotSupportedError('The versions 1.0 and 0.3 are served here.');
}

import type { Authority, Resource } from '../core/authority.ts';
import type { Failure, ParameterError } from '../core/failures.ts';
import type { FileBytes } from '../core/reads.ts';
import type { BytesRequest, Tool } from '../core/tool.ts';
import type { OperationState } from './outcomes.ts';
import type { QuotaState } from './quota.ts';

/** The request that carries a call. */
export interface Source {
  /** Network address of the caller. */
  readonly from: string;
  /** Throws if the app has too many unread answers. The corridor asks before the call costs or changes anything. */
  room(app: string): void;
}

/** One call, as the surface has read it from the wire. */
export interface Call {
  readonly tool: Tool;
  /** The interface that the caller uses. The corridor refuses a token that is bound to another interface. */
  readonly resource: Resource;
  readonly bearer: string | undefined;
  readonly source?: Source | undefined;
  /** Parameters of path, query and body, by name. The surface has already converted the values to their JSON types. */
  readonly input: Readonly<Record<string, unknown>>;
  /** Problems that the surface found in the input. The corridor checks the authority before it reports problems. */
  readonly problems?: readonly ParameterError[];
  /** Idempotency-Key of a write. The effect of the write happens once for each key. */
  readonly idempotencyKey?: string | undefined;
  /** Quota units of this call, in place of the cost of the tool. A read within a task costs one unit. */
  readonly cost?: number;
  /** The If-Match header as sent, for operations that require it. */
  readonly ifMatch?: string | undefined;
  /** The Origin header, for operations that require it. */
  readonly origin?: string | undefined;
  /** Present if the caller wants raw bytes. A tool that has no raw bytes ignores this request. */
  readonly bytes?: BytesRequest;
}

export type Outcome = {
  readonly authority?: Authority;
  readonly quota?: QuotaState | undefined;
  /** The state of the command that a write entered into the ledger. */
  readonly operation?: OperationState;
} & ({ readonly body: unknown } | { readonly bytes: FileBytes } | { readonly failure: Failure });

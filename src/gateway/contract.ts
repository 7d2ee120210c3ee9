import type { Authority, Resource } from '../core/authority.ts';
import type { Failure, ParameterError } from '../core/failures.ts';
import type { FileBytes } from '../core/reads.ts';
import type { BytesRequest, Tool } from '../core/tool.ts';
import type { OperationState } from './outcomes.ts';
import type { QuotaState } from './quota.ts';

/** The request that carries a call. */
export interface Source {
  /** Address of the caller. */
  readonly from: string;
  /** Throws if the app has too many unread answers. It runs before the call costs or does anything. */
  room(app: string): void;
}

/** One call, as the surface has read it from the wire. */
export interface Call {
  readonly tool: Tool;
  /** The called interface. A token that is bound to another one is refused. */
  readonly resource: Resource;
  readonly bearer: string | undefined;
  readonly source?: Source | undefined;
  /** Parameters of path, query and body by name, already converted to their JSON types. */
  readonly input: Readonly<Record<string, unknown>>;
  /** Problems that the surface found in the input. They are reported only after the authority is checked. */
  readonly problems?: readonly ParameterError[];
  /** Idempotency-Key of a write: the effect happens once for each key. */
  readonly idempotencyKey?: string | undefined;
  /** Quota units that replace the cost of the tool. A read within a task costs one unit. */
  readonly cost?: number;
  /** If-Match as sent, for operations that require it. */
  readonly ifMatch?: string | undefined;
  /** Header Origin, for operations that require it. */
  readonly origin?: string | undefined;
  /** Present if the caller asks for raw bytes. Tools without bytes ignore it. */
  readonly bytes?: BytesRequest;
}

export type Outcome = {
  readonly authority?: Authority;
  readonly quota?: QuotaState | undefined;
  /** The command that a write entered into the ledger. */
  readonly operation?: OperationState;
} & ({ readonly body: unknown } | { readonly bytes: FileBytes } | { readonly failure: Failure });

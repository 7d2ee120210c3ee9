import type { CallOrigin, CallReport } from '../core/audit.ts';
import type { Authority, Resource } from '../core/authority.ts';
import type { Failure, ParameterError } from '../core/failures.ts';
import type { FileBytes } from '../core/reads.ts';
import type { BytesRequest, Tool } from '../core/tool.ts';
import type { OperationState } from './outcomes.ts';

export interface CallSource {
  readonly from: string;
  /** Throws if too many answers to the app are unread. Runs before the call costs or changes anything. */
  room(app: string): void;
  /** Undefined: the calls of this request leave no audit records. */
  readonly audited?: AuditedSource | undefined;
}

/** The source of calls that leave audit records. */
export interface AuditedSource {
  readonly origin: CallOrigin;
  /** Milliseconds since the request began. */
  readonly ms: number;
  /** Takes the report on a call, whose record is made when the request has ended. */
  report(report: CallReport): void;
  /** Adds units to the last report. */
  owe(units: number): void;
}

export interface Call {
  readonly tool: Tool;
  /** The interface of the request. A token for another interface is refused. */
  readonly resource: Resource;
  readonly bearer: string | undefined;
  readonly source?: CallSource | undefined;
  /** Parameters of path, query and body, by name. The surface has already converted text to numbers and booleans. */
  readonly input: Readonly<Record<string, unknown>>;
  /** Problems that the surface found. The corridor checks the authority before it reports them. */
  readonly problems?: readonly ParameterError[];
  readonly idempotencyKey?: string | undefined;
  /** Quota units, instead of the tool's own cost. A read within a task costs one unit. */
  readonly cost?: number;
  readonly ifMatch?: string | undefined;
  readonly origin?: string | undefined;
  readonly bytes?: BytesRequest;
}

/**
 * How a call ended. `awaits`: a person must approve the write first, on the page with this path. The body is then its
 * receipt.
 */
export type RunResult = { readonly operation?: OperationState } & (
  | { readonly body: unknown; readonly awaits?: string }
  | { readonly bytes: FileBytes }
  | { readonly failure: Failure }
);

export type Outcome = RunResult & { readonly authority?: Authority };

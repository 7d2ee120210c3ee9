import type { Authority } from '../../core/authority.ts';
import type { Failure } from '../../core/failures.ts';
import type { Corridor, Source } from '../../gateway/call.ts';
import type { OperationState } from '../../gateway/outcomes.ts';
import type { QuotaState } from '../../gateway/quota.ts';
import type { Version } from './versions.ts';

/** The outcome of a call. An HTTP status is thrown instead. */
export type Called = { readonly operation: OperationState | undefined } & (
  | { readonly body: unknown }
  | { readonly failure: Failure }
);

/** Inputs that are headers over REST. */
export interface Headers {
  readonly idempotencyKey?: string;
  readonly ifMatch?: string;
}

/** One HTTP request to `/mcp`. */
export class McpRequest {
  /** The quota for the RateLimit headers of the reply. */
  quota: QuotaState | undefined;
  /** The caller, for the log. */
  authority: Authority | undefined;
  /** The name of the called tool, for the log. */
  called: string | undefined;
  writes = false;
  /** The ledger entry of a write. */
  operation: OperationState | undefined;
  /** Why the call failed, for the log. On the wire a failed call has status 200. */
  failed: Failure | undefined;
  #bytes = 0;

  constructor(
    readonly corridor: Corridor,
    readonly bearer: string | undefined,
    readonly requestId: string,
    readonly version: Version,
    readonly source: Source | undefined,
  ) {}

  /**
   * Checks the bearer and charges one quota unit, once for each request. An answer that does not come from a call
   * through the corridor must call this first. Throws the Failure.
   */
  async admit(): Promise<Authority> {
    if (this.authority) return this.authority;
    const { authority, quota } = await this.corridor.admit(this.bearer, 'mcp', this.source);
    this.quota = quota;
    this.authority = authority;
    return authority;
  }

  /** Serializes the body of an answer, and counts its bytes for `pay`. */
  text(body: unknown): string {
    const text = JSON.stringify(body);
    this.#bytes += Buffer.byteLength(text);
    return text;
  }

  /** Charges the bytes of the body once, as over REST, even though an MCP result repeats the body. */
  async pay(): Promise<void> {
    if (!this.authority || this.#bytes === 0) return;
    await this.corridor.payFor(this.authority, this.#bytes);
    this.quota = this.corridor.quotaOf(this.authority);
  }

  /** Calls an operation. Throws for an invalid bearer, because that must be an HTTP status. */
  async call(name: string, input: Readonly<Record<string, unknown>>, headers: Headers = {}): Promise<Called> {
    const tool = this.corridor.registry.get(name);
    if (!tool) throw new Error(`the registry has no tool ${name}`);
    this.called = name;
    this.writes = tool.effect === 'write';
    const outcome = await this.corridor.call({
      tool,
      resource: 'mcp',
      bearer: this.bearer,
      source: this.source,
      input,
      ...headers,
    });
    this.quota = outcome.quota;
    this.authority = outcome.authority;
    this.operation = outcome.operation;
    if ('failure' in outcome) {
      if (outcome.failure.status === 401) throw outcome.failure;
      this.failed = outcome.failure;
      return { failure: outcome.failure, operation: outcome.operation };
    }
    if ('bytes' in outcome) throw new Error(`${name} returned bytes to a call for JSON`);
    return { body: outcome.body, operation: outcome.operation };
  }
}

import type { Authority } from '../../core/authority.ts';
import type { Failure } from '../../core/failures.ts';
import type { Corridor, Source } from '../../gateway/call.ts';
import type { OperationState } from '../../gateway/outcomes.ts';
import type { QuotaState } from '../../gateway/quota.ts';
import type { Version } from './versions.ts';

/** The outcome of a call. A failure with status 401 is thrown and is not part of the outcome. */
export type Called = { readonly operation: OperationState | undefined } & (
  | { readonly body: unknown }
  | { readonly failure: Failure }
);

/** Input values that REST reads from headers. */
export interface Headers {
  readonly idempotencyKey?: string;
  readonly ifMatch?: string;
}

/** One HTTP request to `/mcp`. */
export class McpRequest {
  /** The state of the app's quota, for the RateLimit headers of the reply. */
  quota: QuotaState | undefined;
  /** The authority of the caller. `undefined` until the bearer token is checked. */
  authority: Authority | undefined;
  /** The name of the called tool, for the log. */
  called: string | undefined;
  writes = false;
  /** The entry of a write in the ledger of writes. `undefined` for a read. */
  operation: OperationState | undefined;
  /** The failure of the call, for the log. The HTTP reply of a failed tool call has status 200. */
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
   * Checks the bearer token and charges one quota unit, once for each request. Code that answers without a call through
   * the corridor must call this method first. Throws a Failure to refuse the request.
   */
  async admit(): Promise<Authority> {
    if (this.authority) return this.authority;
    const { authority, quota } = await this.corridor.admit(this.bearer, 'mcp', this.source);
    this.quota = quota;
    this.authority = authority;
    return authority;
  }

  /** Converts the body of an answer to JSON text, and counts the bytes of the text for `pay`. */
  text(body: unknown): string {
    const text = JSON.stringify(body);
    this.#bytes += Buffer.byteLength(text);
    return text;
  }

  /** Charges the bytes of the body once, as REST does, although an MCP result contains the body twice. */
  async pay(): Promise<void> {
    if (!this.authority || this.#bytes === 0) return;
    await this.corridor.payFor(this.authority, this.#bytes);
    this.quota = this.corridor.quotaOf(this.authority);
  }

  /** Calls an operation. Throws a failure with status 401, so that the HTTP reply has that status. */
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

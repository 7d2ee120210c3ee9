import type { Authority } from '../../core/authority.ts';
import type { Failure } from '../../core/failures.ts';
import type { Corridor, Source } from '../../gateway/call.ts';
import type { QuotaState } from '../../gateway/quota.ts';
import type { OperationState } from '../../gateway/writes.ts';
import type { Version } from './versions.ts';

/** How a call ended, as far as it is not an HTTP status. */
export type Called = { readonly operation: OperationState | undefined } & (
  | { readonly body: unknown }
  | { readonly failure: Failure }
);

/** What an operation has in headers over REST. */
export interface Headers {
  readonly idempotencyKey?: string;
  readonly ifMatch?: string;
}

/** One HTTP request to `/mcp`, as its handler sees it. */
export class Exchange {
  /** What the RateLimit headers of the reply say. */
  quota: QuotaState | undefined;
  /** Who called, for the log, and what was called. */
  authority: Authority | undefined;
  called: string | undefined;
  writes = false;
  /** The command that a write has entered into the ledger. */
  operation: OperationState | undefined;
  /** Why it failed, for the log: a call that failed is an answer like any other on the wire. */
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
   * Proves the bearer and charges one unit, once a request. Every answer that does not come out of a call through the
   * corridor stands behind this. Throws the Failure.
   */
  async admit(): Promise<Authority> {
    if (this.authority) return this.authority;
    const { authority, quota } = await this.corridor.admit(this.bearer, 'mcp', this.source);
    this.quota = quota;
    this.authority = authority;
    return authority;
  }

  /** The JSON of an answer's body, which `pay` charges for. */
  text(body: unknown): string {
    const text = JSON.stringify(body);
    this.#bytes += Buffer.byteLength(text);
    return text;
  }

  /** Charges the bytes of the body once, as over REST, however often the reply repeats them. */
  async pay(): Promise<void> {
    if (!this.authority || this.#bytes === 0) return;
    await this.corridor.payFor(this.authority, this.#bytes);
    this.quota = this.corridor.quotaOf(this.authority);
  }

  /** Calls an operation; throws what has to be an HTTP status: a bearer that is no good. */
  async call(name: string, input: Readonly<Record<string, unknown>>, headers: Headers = {}): Promise<Called> {
    const tool = this.corridor.registry.get(name);
    if (!tool) throw new Error(`no tool ${name}`);
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
    if ('bytes' in outcome) throw new Error(`${name} answered bytes to a call that asked for JSON`);
    return { body: outcome.body, operation: outcome.operation };
  }
}

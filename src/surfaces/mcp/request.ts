import type { AuditDraft, CallActor } from '../../core/audit.ts';
import type { Authority } from '../../core/authority.ts';
import { Failure, refusesCredential } from '../../core/failures.ts';
import type { Tool } from '../../core/tool.ts';
import type { Selection } from '../../core/toolsets.ts';
import { asFailure, type Caller, type CallSource, type Corridor } from '../../gateway/call.ts';
import { reportOf } from '../../gateway/call-report.ts';
import type { OperationState } from '../../gateway/outcomes.ts';
import type { QuotaState } from '../../gateway/quota.ts';
import { RpcError } from '../jsonrpc/envelope.ts';
import type { Version } from './versions.ts';

/** The outcome of a call: a body or a failure. Never a 401, which `call` throws. */
export type Called = { readonly operation: OperationState | undefined } & (
  | { readonly body: unknown; readonly awaits: string | undefined }
  | { readonly failure: Failure }
);

/** Values that REST reads from headers, and MCP from arguments. */
export interface Headers {
  readonly idempotencyKey?: string;
  readonly ifMatch?: string;
}

export class McpRequest {
  authority: Authority | undefined;
  called: string | undefined;
  writes = false;
  /** True if a client by URL may do this within its consent, although the operation refuses tokens of consents. */
  withinConsent = false;
  operation: OperationState | undefined;
  /** For the log. The HTTP status of a failed tool call is 200, so it does not show the failure. */
  failed: Failure | undefined;
  /** The `structuredContent` of the result as JSON text, so that one serialization serves both forms of the body. */
  structured: string | undefined;
  /** True if the client reads `structuredContent`, so that the text need not repeat it. */
  readsStructured = false;
  /** True if the client can show a page to the person, and this request does not follow such a page. */
  showsPage = false;
  #bytes = 0;

  constructor(
    readonly corridor: Corridor,
    readonly bearer: string | undefined,
    readonly requestId: string,
    /** The version is known when the body has been read. */
    public version: Version,
    readonly source: CallSource | undefined,
    readonly selection: Selection,
  ) {}

  get quota(): QuotaState | undefined {
    return this.authority && this.corridor.quotaOf(this.authority);
  }

  /**
   * Checks the bearer token and charges one unit of quota, once for each request. Throws a Failure to refuse it. A
   * method that calls no operation must call `admit` before it answers. `refused`: a tool that the surface refuses.
   */
  async admit(refused?: Tool): Promise<Authority> {
    if (this.authority) return this.authority;
    const problem = refused && { tool: refused, problem: new Failure('not_permitted') };
    this.authority = await this.corridor.admit(this.bearer, 'mcp', this.source, problem);
    return this.authority;
  }

  /**
   * Charges one unit and runs `work` under the token's authority, which a statement of `work` proves. For a method that
   * reads or writes without a call of a tool. Its audit record has the name of the tool that does the same. A write asks
   * for the draft of its record, and another record is made after the call. A 401 leaves no authority, so that its reply
   * has no quota headers.
   */
  async run<T>(
    name: string,
    input: Readonly<Record<string, unknown>>,
    work: (caller: Caller, draft: () => AuditDraft | undefined) => Promise<T>,
  ): Promise<T> {
    let [actor, units]: [CallActor | undefined, number] = [undefined, 0];
    let draft: AuditDraft | undefined;
    const report = (ended: { readonly body?: unknown; readonly failure?: Failure }): void => {
      const tool = this.corridor.registry.get(name);
      const by = ended.failure?.details.actor ?? actor;
      const inserted = draft?.inserted ? draft.id : undefined;
      if (tool && by) this.source?.audited?.report(reportOf(tool, { actor: by, input, units, inserted, ...ended }));
    };
    try {
      const body = await this.corridor.run(
        this.bearer,
        'mcp',
        (caller) => {
          this.authority = caller.authority;
          units = 1;
          const tool = this.corridor.registry.get(name);
          return work(caller, () => {
            draft =
              tool && this.corridor.draftOf(this.source, reportOf(tool, { actor: caller.authority, input, units }));
            return draft;
          });
        },
        this.source,
        (authority) => {
          actor = authority;
        },
      );
      report({ body });
      return body;
    } catch (error) {
      const unauthorized = error instanceof Failure && refusesCredential(error);
      if (unauthorized) [this.authority, units] = [undefined, 0];
      // A refusal of the protocol has a code of its own, which is none of the failures.
      const refused = error instanceof RpcError ? (this.failed ?? new Failure('invalid_request')) : asFailure(error);
      report({ failure: refused });
      throw error;
    }
  }

  text(body: unknown): string {
    const text = JSON.stringify(body);
    this.#bytes += Buffer.byteLength(text);
    return text;
  }

  /** Charges the bytes of the body. An MCP result contains the body twice, but is charged once, as in REST. */
  async pay(): Promise<void> {
    if (!this.authority || this.#bytes === 0) return;
    await this.corridor.payFor(this.authority, this.#bytes, this.source);
  }

  /** Calls an operation. Throws a refusal of the credential, so that the HTTP reply has this status too. */
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
    this.authority = outcome.authority;
    this.operation = outcome.operation;
    if ('failure' in outcome) {
      if (refusesCredential(outcome.failure)) throw outcome.failure;
      this.failed = outcome.failure;
      return { failure: outcome.failure, operation: outcome.operation };
    }
    if ('bytes' in outcome) throw new Error(`${name} returned bytes to a call for JSON`);
    return { body: outcome.body, awaits: outcome.awaits, operation: outcome.operation };
  }
}

import type { Failure } from '../../core/failures.ts';
import type { Tool } from '../../core/tool.ts';
import { selects } from '../../core/toolsets.ts';
import { once } from '../../flow/once.ts';
import type { OperationState } from '../../gateway/outcomes.ts';
import { isPresent, mayCall, type Registry } from '../../gateway/registry.ts';
import { type Descriptor, describe, describedFirst } from './descriptors.ts';
import { argumentErrors, invalidParams, refusalText, unlisted, unusable } from './refusals.ts';
import type { Called, Headers, McpRequest } from './request.ts';
import { MODERN } from './versions.ts';

export interface ToolResult {
  readonly content: readonly { readonly type: 'text'; readonly text: string }[];
  /** A success has its structured content as text, in `McpRequest.structured`. */
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
  readonly _meta?: Readonly<Record<string, unknown>>;
  readonly [member: string]: unknown;
}

/** `list` returns exactly the tools that the credential can call now. */
export function mcpTools(registry: Registry, baseUrl: string) {
  // Made for the first list: 80 ms of processor time.
  const now = once(() => new Map([...registry.tools, ...registry.byPolicy].map((tool) => [tool.name, describe(tool)])));
  const first = once(() => new Map([...now()].map(([name, descriptor]) => [name, describedFirst(descriptor)])));
  return {
    async list(mcpRequest: McpRequest): Promise<{ tools: Descriptor[] }> {
      const authority = await mcpRequest.admit();
      const known = mcpRequest.version === '2025-03-26' ? first() : now();
      const tools = registry.callableBy(authority).filter((tool) => selects(mcpRequest.selection, tool));
      return { tools: tools.flatMap(({ name }) => known.get(name) ?? []) };
    },

    async call(
      mcpRequest: McpRequest,
      name: string,
      input: Readonly<Record<string, unknown>>,
    ): Promise<ToolResult | InputRequired> {
      const tool = registry.get(name);
      if (!tool || !selects(mcpRequest.selection, tool)) {
        const authority = await mcpRequest.admit(tool);
        throw tool && mayCall(tool, authority) ? unlisted('tool') : unusable('tool');
      }
      const outcome = await mcpRequest.call(tool.name, ...argumentsOf(tool, input));
      if ('body' in outcome) {
        const page = outcome.awaits === undefined ? undefined : `${baseUrl}${outcome.awaits}`;
        if (page !== undefined && mcpRequest.showsPage) return pageFirst(tool, page);
        return success(tool, mcpRequest, outcome, page);
      }
      const { failure, operation } = outcome;
      // In the words for a tool that the gateway does not have.
      if (tool.byPolicy && !isPresent(tool, await mcpRequest.admit())) throw unusable('tool');
      // Protocol errors: a call of a tool that is not in the credential's list, and, in the older versions, a call with
      // invalid input. MCP 2026-07-28 wants a result for invalid input.
      if (failure.status === 400 && mcpRequest.version !== MODERN) throw invalidParams(failure);
      if (failure.code === 'not_permitted' && !mayCall(tool, await mcpRequest.admit())) {
        throw invalidParams(failure, mcpRequest.authority);
      }
      return refused(failure, mcpRequest, operation);
    },
  };
}

/** Separates the operation's input from the values that REST reads from headers: idempotency key and revision. */
function argumentsOf(
  tool: Tool,
  values: Readonly<Record<string, unknown>>,
): [Readonly<Record<string, unknown>>, Headers] {
  const { idempotency_key: sent, if_match: revision, ...rest } = values;
  // Null for an optional argument means that it is not given.
  const key = sent === null && tool.idempotency === 'optional' ? undefined : sent;
  return [
    {
      ...rest,
      ...(tool.idempotency === 'none' && key !== undefined && { idempotency_key: key }),
      ...(!tool.ifMatch && revision !== undefined && { if_match: revision }),
    },
    {
      ...(tool.idempotency !== 'none' && key !== undefined && { idempotencyKey: textOf(key) }),
      ...(tool.ifMatch &&
        revision !== undefined && { ifMatch: typeof revision === 'number' ? String(revision) : textOf(revision) }),
    },
  ];
}

const IN_STRUCTURED = 'The answer is in structuredContent.';
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** `page`: the page on which a person must approve the write first. */
function success(
  tool: Tool,
  mcpRequest: McpRequest,
  { body, operation }: Extract<Called, { readonly body: unknown }>,
  page: string | undefined,
): ToolResult {
  const text = mcpRequest.text(body);
  mcpRequest.structured = `{"data":${text}${operation ? `,"operation_id":${JSON.stringify(operation.id)}` : ''}}`;
  return {
    content: [
      { type: 'text', text: mcpRequest.readsStructured ? IN_STRUCTURED : text },
      ...(page === undefined ? [] : [{ type: 'text' as const, text: waitsText(page) }]),
    ],
    isError: false,
    // The gateway itself writes a receipt.
    ...metaOf(page === undefined ? tool.untrusted : [], operation),
  };
}

const waitsText = (page: string): string =>
  `Nothing has changed yet. An owner, admin or approver must approve the write first, on ${page} Only that counts as approval. ` +
  'operation_get tells the decision. After an approval, the same call with the same idempotency_key returns the result.';

/** A result of MCP 2026-07-28 that asks the client to show a page and then to send the same request again. */
interface InputRequired {
  readonly resultType: 'input_required';
  readonly inputRequests: Readonly<Record<string, object>>;
}

/** Whatever the client answers decides nothing: the page has a sign-in of its own. */
const pageFirst = (tool: Tool, url: string): InputRequired => ({
  resultType: 'input_required',
  inputRequests: {
    approval: {
      method: 'elicitation/create',
      params: {
        mode: 'url',
        message: `An owner, admin or approver must approve this write first: ${tool.title}.`,
        url,
      },
    },
  },
});

/** The texts of outsiders, and a write's operation. `gateway/replayed`: an earlier call has performed the write. */
function metaOf(untrusted: Tool['untrusted'], operation: OperationState | undefined): Pick<ToolResult, '_meta'> {
  const meta = {
    ...(untrusted.length > 0 && { 'gateway/untrusted_fields': untrusted }),
    ...(operation && { 'gateway/operation_id': operation.id, 'gateway/replayed': operation.replayed }),
  };
  return Object.keys(meta).length > 0 ? { _meta: meta } : {};
}

/** The result of a valid call that failed. Its first text is for programs, the second for the model. */
function refused(
  failure: Failure,
  { authority, requestId }: McpRequest,
  operation: OperationState | undefined,
): ToolResult {
  const { retryAfter } = failure.details;
  const errors = argumentErrors(failure);
  const error = {
    code: failure.code,
    status: failure.status,
    request_id: requestId,
    ...(retryAfter !== undefined && { retry_after: retryAfter }),
    ...(errors && { errors }),
  };
  const structuredContent = { error, ...(operation && { operation_id: operation.id }) };
  return {
    content: [
      { type: 'text', text: JSON.stringify(structuredContent) },
      { type: 'text', text: refusalText(failure, authority) },
    ],
    structuredContent,
    isError: true,
    // The gateway itself writes the texts of a failure.
    ...metaOf([], operation),
  };
}

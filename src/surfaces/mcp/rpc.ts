import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CallToolRequestSchema,
  GetPromptRequestSchema,
  type JSONRPCMessage,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { Failure } from '../../core/failures.ts';
import type { Prompt } from '../../core/prompt.ts';
import type { Resource } from '../../core/resource.ts';
import { asFailure } from '../../gateway/call.ts';
import { inputErrors } from '../../gateway/input-errors.ts';
import type { Registry } from '../../gateway/registry.ts';
import { INVALID_REQUEST, type Params, RpcError } from './envelope.ts';
import type { Exchange } from './exchange.ts';
import { INSTRUCTIONS } from './instructions.ts';
import { mcpPrompts } from './prompts.ts';
import { invalidParams } from './refusals.ts';
import { mcpResources } from './resources.ts';
import { mcpTools } from './tools.ts';
import { VERSIONS, versionOf } from './versions.ts';

export interface RpcOptions {
  readonly registry: Registry;
  readonly resources: readonly Resource[];
  readonly prompts: readonly Prompt[];
  readonly version: string;
  readonly baseUrl: string;
}

export type Answer =
  | { readonly result: Readonly<Record<string, unknown>> }
  | { readonly error: { readonly code: number; readonly message: string; readonly data?: unknown } };

/**
 * What a method's params must be, checked before the SDK sees them: its own checks of `tools/call` and `initialize`
 * put a dump of the library's error on the wire. Only the members named here are passed on; `_meta` and `task` would
 * reach parts of the SDK that keep state between the requests of different clients.
 */
const Page = z.object({ cursor: z.undefined().optional() });
const PARAMS: Readonly<Record<string, z.ZodObject>> = {
  initialize: z.object({
    protocolVersion: z.string(),
    capabilities: z.record(z.string(), z.unknown()),
    clientInfo: z.object({ name: z.string(), version: z.string() }),
  }),
  ping: z.object({}),
  'tools/list': Page,
  'tools/call': z.object({ name: z.string(), arguments: z.record(z.string(), z.unknown()).default({}) }),
  'resources/list': Page,
  'resources/templates/list': Page,
  'resources/read': z.object({ uri: z.string() }),
  'prompts/list': Page,
  'prompts/get': z.object({ name: z.string(), arguments: z.record(z.string(), z.string()).default({}) }),
};

/** Methods whose answer comes out of a call through the corridor, which proves the bearer itself. */
const CALLS: ReadonlySet<string> = new Set(['tools/call', 'resources/read']);

/**
 * The SDK's dispatch behind one shared server. A server and a transport of its own for every request, as the SDK
 * documents for servers without sessions, serve about a quarter of the calls. What makes sharing safe: every request
 * gets an id of our own, notifications are never passed on, and nothing is ever sent to a client unasked.
 */
export function openRpc(options: RpcOptions): (method: string, params: Params, exchange: Exchange) => Promise<Answer> {
  const { registry, version, baseUrl } = options;
  const tools = mcpTools(registry);
  const resources = mcpResources(options.resources, registry);
  const prompts = mcpPrompts(options.prompts, registry);
  const server = new Server(
    { name: 'installation-gateway', title: 'Installation Gateway', version, websiteUrl: `${baseUrl}/docs` },
    { capabilities: { tools: {}, resources: {}, prompts: {} }, instructions: INSTRUCTIONS },
  );
  const exchanges = new Map<number, Exchange>();
  const waiting = new Map<number, (answer: Answer) => void>();
  let last = 0;

  const handled =
    <P, R>(handler: (exchange: Exchange, params: P) => Promise<R>) =>
    async ({ params }: { params?: P | undefined }, { requestId }: { requestId: string | number }): Promise<R> => {
      const exchange = exchanges.get(Number(requestId));
      if (!exchange) throw new Error('a request that was not dispatched here');
      try {
        // Every method handled here that reads its params has been given them by PARAMS.
        return await handler(exchange, params as P);
      } catch (error) {
        if (error instanceof RpcError) throw error;
        exchange.refusal = asFailure(error);
        throw new RpcError(INVALID_REQUEST, '');
      }
    };
  server.setRequestHandler(
    ListToolsRequestSchema,
    handled((exchange) => tools.list(exchange)),
  );
  server.setRequestHandler(
    CallToolRequestSchema,
    handled((exchange, params: { name: string; arguments?: Record<string, unknown> | undefined }) =>
      tools.call(exchange, params.name, params.arguments ?? {}),
    ),
  );
  server.setRequestHandler(
    ListResourcesRequestSchema,
    handled((exchange) => resources.list(exchange)),
  );
  server.setRequestHandler(
    ListResourceTemplatesRequestSchema,
    handled((exchange) => resources.templates(exchange)),
  );
  server.setRequestHandler(
    ReadResourceRequestSchema,
    handled((exchange, { uri }: { uri: string }) => resources.read(exchange, uri)),
  );
  server.setRequestHandler(
    ListPromptsRequestSchema,
    handled((exchange) => prompts.list(exchange)),
  );
  server.setRequestHandler(
    GetPromptRequestSchema,
    handled((exchange, params: { name: string; arguments?: Record<string, string> | undefined }) =>
      prompts.get(exchange, params.name, params.arguments ?? {}),
    ),
  );

  const transport: Transport = {
    start: async () => undefined,
    close: async () => undefined,
    send: async (message: JSONRPCMessage) => {
      if ('method' in message || typeof message.id !== 'number') return;
      // The SDK's result and error are what an Answer is; it types them as its own union.
      waiting.get(message.id)?.(
        ('result' in message ? { result: message.result } : { error: message.error }) as Answer,
      );
    },
  };
  const connected = server.connect(transport);

  return async (method, params, exchange) => {
    await connected;
    const schema = Object.hasOwn(PARAMS, method) ? PARAMS[method] : undefined;
    const parsed = schema?.safeParse(params);
    if (!CALLS.has(method) || parsed?.success === false) await exchange.admit();
    if (parsed?.success === false) {
      throw invalidParams(new Failure('invalid_parameter', { errors: inputErrors(parsed.error, params) }));
    }
    const id = ++last;
    exchanges.set(id, exchange);
    try {
      return await new Promise<Answer>((resolve) => {
        waiting.set(id, resolve);
        transport.onmessage?.({ jsonrpc: '2.0', id, method, params: given(method, parsed?.data ?? {}) });
      });
    } finally {
      exchanges.delete(id);
      waiting.delete(id);
    }
  };
}

/** `initialize` is answered in a version of ours: the SDK would also agree to older ones (contract, MCP endpoint). */
const given = (method: string, params: Params): Record<string, unknown> =>
  method === 'initialize'
    ? { ...params, capabilities: {}, protocolVersion: versionOf(params['protocolVersion']) ?? VERSIONS[0] }
    : { ...params };

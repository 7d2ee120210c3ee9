import { z } from 'zod';
import { accepts } from '../../core/accepted-values.ts';
import { isObject } from '../../core/json.ts';
import type { McpEvents } from '../../events/mcp/mcp-events.ts';
import { once } from '../../flow/once.ts';
import { inputErrors, refusalOf } from '../../gateway/input-errors.ts';
import type { Declarations } from '../../gateway/load.ts';
import { METHOD_NOT_FOUND, type Params, RpcError } from '../jsonrpc/envelope.ts';
import { eventsCapability, mcpEvents, PollParams, SubscribeParams, UnsubscribeParams } from './events.ts';
import { INSTRUCTIONS } from './instructions.ts';
import type { Answer } from './lifecycle.ts';
import { modernResult } from './modern.ts';
import { mcpPrompts } from './prompts.ts';
import { invalidParams } from './refusals.ts';
import type { McpRequest } from './request.ts';
import { mcpResources } from './resources.ts';
import { mcpSkills, SKILLS } from './skills.ts';
import { mcpTools } from './tools.ts';
import { MODERN, SERVED } from './versions.ts';

export interface RpcOptions extends Omit<Declarations, 'skills'> {
  readonly version: string;
  readonly baseUrl: string;
  /** Undefined: the gateway serves no events over MCP. */
  readonly events?: McpEvents | undefined;
}

/** Answers one request that the gate has read. Throws an RpcError or a Failure to refuse it. */
export type Dispatch = (name: string, params: Params, mcpRequest: McpRequest) => Promise<Answer>;

interface Method {
  readonly params: z.ZodObject;
  answer(mcpRequest: McpRequest, params: Params): Promise<object>;
  /** True if the method calls an operation, whose call then checks the bearer token. */
  readonly proves: boolean;
}

function method<S extends z.ZodObject>(
  params: S,
  answer: (mcpRequest: McpRequest, params: z.output<S>) => Promise<object>,
  proves = false,
): Method {
  // The cast is correct: `answer` gets only input that the schema `params` has accepted.
  return { params, answer: answer as Method['answer'], proves };
}

const NO_EVENTS: ReturnType<typeof eventsCapability> = {};

/** Params of a method that lists something. Every list fits on one page, so no cursor is valid. */
const Page = z.object({ cursor: accepts(z.undefined(), 'no cursor, because the list has one page').optional() });
const Uri = z.object({ uri: z.string() });
/** Not checked here. A zod record would drop `__proto__`, but the operation's own schema must see and refuse it. */
const Arguments = accepts(z.custom<Readonly<Record<string, unknown>>>(isObject), 'an object').default({});

/**
 * Params of the methods that the SDK answers. Checked before the SDK does, because its own check would send a dump of
 * the error to the client.
 */
const LIFECYCLE: Readonly<Record<string, z.ZodObject>> = {
  initialize: z.object({
    protocolVersion: z.string(),
    capabilities: z.record(z.string(), z.unknown()),
    clientInfo: z.object({ name: z.string(), version: z.string() }),
  }),
  ping: z.object({}),
};

/**
 * Answers the methods of all versions. The SDK answers `initialize` and `ping` of the older versions (lifecycle.ts). It
 * is loaded for the first of them, because its schemas take 0.2 s of each start. The gateway's own methods run without
 * the SDK, which would check params and results a second time.
 */
export function openRpc(options: RpcOptions): Dispatch {
  const { registry, version, baseUrl } = options;
  const tools = mcpTools(registry, baseUrl);
  const resources = mcpResources(options.resources, registry);
  const prompts = mcpPrompts(options.prompts, registry);
  const skills = mcpSkills(options.skillFiles, registry);
  const methods: ReadonlyMap<string, Method> = new Map([
    ['tools/list', method(Page, (mcpRequest) => tools.list(mcpRequest))],
    [
      'tools/call',
      method(
        z.object({ name: z.string(), arguments: Arguments }),
        (mcpRequest, { name, arguments: input }) => tools.call(mcpRequest, name, input),
        true,
      ),
    ],
    [
      'resources/list',
      method(Page, async (mcpRequest) => ({
        resources: [...(await resources.list(mcpRequest)), ...(await skills.resources(mcpRequest))],
      })),
    ],
    ['resources/templates/list', method(Page, (mcpRequest) => resources.templates(mcpRequest))],
    [
      'resources/read',
      method(
        Uri,
        (mcpRequest, { uri }) => (skills.owns(uri) ? skills.read(mcpRequest, uri) : resources.read(mcpRequest, uri)),
        true,
      ),
    ],
    ['skills/list', method(Page, (mcpRequest) => skills.list(mcpRequest))],
    ['skills/get', method(Uri, (mcpRequest, { uri }) => skills.get(mcpRequest, uri))],
    ['prompts/list', method(Page, (mcpRequest) => prompts.list(mcpRequest))],
    [
      'prompts/get',
      method(z.object({ name: z.string(), arguments: Arguments }), (mcpRequest, params) =>
        prompts.get(mcpRequest, params.name, params.arguments),
      ),
    ],
    ...(options.events ? eventMethods(mcpEvents(registry, options.events)) : []),
  ]);

  const identity = { name: 'installation-gateway', version };
  const offered = (era: 'modern' | 'legacy') => {
    const { extensions, ...events } = options.events ? eventsCapability(options.events.text, era) : NO_EVENTS;
    return {
      capabilities: { tools: {}, resources: {}, prompts: {}, ...events, extensions: { [SKILLS]: {}, ...extensions } },
      instructions: INSTRUCTIONS,
    };
  };
  const modern: ReadonlyMap<string, Method> = new Map([
    ...methods,
    [
      'server/discover',
      method(z.object({}), async (mcpRequest) => {
        await mcpRequest.admit();
        return { supportedVersions: SERVED, ...offered('modern') };
      }),
    ],
  ]);
  const lifecycle = once(async () => {
    const { openLifecycle } = await import('./lifecycle.ts');
    return openLifecycle(
      { ...identity, title: 'Installation Gateway', websiteUrl: `${baseUrl}/docs` },
      offered('legacy'),
    );
  });

  return async (name, params, mcpRequest) => {
    const isModern = mcpRequest.version === MODERN;
    const known = (isModern ? modern : methods).get(name);
    const schema = known?.params ?? (!isModern && Object.hasOwn(LIFECYCLE, name) ? LIFECYCLE[name] : undefined);
    const parsed = schema?.safeParse(params);
    if (!parsed?.success || !known?.proves) await mcpRequest.admit();
    if (!schema || !parsed) throw new RpcError(METHOD_NOT_FOUND, 'There is no such method.');
    if (!parsed.success) throw invalidParams(refusalOf(inputErrors({ input: schema }, parsed.error, params)));
    if (known) {
      const result = await known.answer(mcpRequest, parsed.data);
      return { result: isModern ? modernResult(name, result, identity) : result };
    }
    return (await lifecycle())(name, parsed.data);
  };
}

/** The methods of the extension for events. Every version can call them. */
const eventMethods = (events: ReturnType<typeof mcpEvents>): [string, Method][] => [
  ['events/list', method(Page, (mcpRequest) => events.list(mcpRequest))],
  ['events/poll', method(PollParams, (mcpRequest, params) => events.poll(mcpRequest, params), true)],
  ['events/subscribe', method(SubscribeParams, (mcpRequest, params) => events.subscribe(mcpRequest, params), true)],
  [
    'events/unsubscribe',
    method(UnsubscribeParams, (mcpRequest, params) => events.unsubscribe(mcpRequest, params), true),
  ],
];

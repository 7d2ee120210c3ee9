import { z } from 'zod';
import { accepts } from '../../core/accepted-values.js';
import { inputErrors, refusalOf } from '../../gateway/input-errors.js';
import { once } from '../http/document.js';
import { isObject, METHOD_NOT_FOUND, RpcError } from '../jsonrpc/envelope.js';
import { eventsCapability, mcpEvents, PollParams, SubscribeParams, UnsubscribeParams } from './events.js';
import { INSTRUCTIONS } from './instructions.js';
import { discover, modernResult } from './modern.js';
import { mcpPrompts } from './prompts.js';
import { invalidParams } from './refusals.js';
import { mcpResources } from './resources.js';
import { mcpSkills, SKILLS } from './skills.js';
import { mcpTools } from './tools.js';
import { MODERN } from './versions.js';
function method(params, answer, proves = false) {
    // The cast is correct: `answer` gets only input that the schema `params` has accepted.
    return { params, answer: answer, proves };
}
const NO_EVENTS = {};
/** Params of a method that lists something. Every list fits on one page, so no cursor is valid. */
const Page = z.object({ cursor: accepts(z.undefined(), 'no cursor, because the list has one page').optional() });
const Uri = z.object({ uri: z.string() });
/** Not checked here. A zod record would drop `__proto__`, but the operation's own schema must see and refuse it. */
const Arguments = accepts(z.custom(isObject), 'an object').default({});
/**
 * Params of the methods that the SDK answers. Checked before the SDK does, because its own check would send a dump of
 * the error to the client.
 */
const LIFECYCLE = {
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
export function openRpc(options) {
    const { registry, version, baseUrl } = options;
    const tools = mcpTools(registry, baseUrl);
    const resources = mcpResources(options.resources, registry);
    const prompts = mcpPrompts(options.prompts, registry);
    const skills = mcpSkills(options.skillFiles, registry);
    const methods = new Map([
        ['tools/list', method(Page, (mcpRequest) => tools.list(mcpRequest))],
        [
            'tools/call',
            method(z.object({ name: z.string(), arguments: Arguments }), (mcpRequest, { name, arguments: input }) => tools.call(mcpRequest, name, input), true),
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
            method(Uri, (mcpRequest, { uri }) => (skills.owns(uri) ? skills.read(mcpRequest, uri) : resources.read(mcpRequest, uri)), true),
        ],
        ['skills/list', method(Page, (mcpRequest) => skills.list(mcpRequest))],
        ['skills/get', method(Uri, (mcpRequest, { uri }) => skills.get(mcpRequest, uri))],
        ['prompts/list', method(Page, (mcpRequest) => prompts.list(mcpRequest))],
        [
            'prompts/get',
            method(z.object({ name: z.string(), arguments: Arguments }), (mcpRequest, params) => prompts.get(mcpRequest, params.name, params.arguments)),
        ],
        ...(options.events ? eventMethods(mcpEvents(registry, options.events)) : []),
    ]);
    const identity = { name: 'installation-gateway', version };
    const offered = (era) => {
        const { extensions, ...events } = options.events ? eventsCapability(options.events.text, era) : NO_EVENTS;
        return {
            capabilities: { tools: {}, resources: {}, prompts: {}, ...events, extensions: { [SKILLS]: {}, ...extensions } },
            instructions: INSTRUCTIONS,
        };
    };
    const modern = new Map([
        ...methods,
        ['server/discover', method(z.object({}), (mcpRequest) => discover(mcpRequest, offered('modern')))],
    ]);
    const lifecycle = once(async () => {
        const { openLifecycle } = await import('./lifecycle.js');
        return openLifecycle({ ...identity, title: 'Installation Gateway', websiteUrl: `${baseUrl}/docs` }, offered('legacy'));
    });
    return async (name, params, mcpRequest) => {
        const isModern = mcpRequest.version === MODERN;
        const known = (isModern ? modern : methods).get(name);
        const schema = known?.params ?? (!isModern && Object.hasOwn(LIFECYCLE, name) ? LIFECYCLE[name] : undefined);
        const parsed = schema?.safeParse(params);
        if (!parsed?.success || !known?.proves)
            await mcpRequest.admit();
        if (!schema || !parsed)
            throw new RpcError(METHOD_NOT_FOUND, 'There is no such method.');
        if (!parsed.success)
            throw invalidParams(refusalOf(inputErrors({ input: schema }, parsed.error, params)));
        if (known) {
            const result = await known.answer(mcpRequest, parsed.data);
            return { result: isModern ? modernResult(name, result, identity) : result };
        }
        return (await lifecycle())(name, parsed.data);
    };
}
/** The methods of the extension for events. Every version can call them. */
const eventMethods = (events) => [
    ['events/list', method(Page, (mcpRequest) => events.list(mcpRequest))],
    ['events/poll', method(PollParams, (mcpRequest, params) => events.poll(mcpRequest, params), true)],
    ['events/subscribe', method(SubscribeParams, (mcpRequest, params) => events.subscribe(mcpRequest, params), true)],
    [
        'events/unsubscribe',
        method(UnsubscribeParams, (mcpRequest, params) => events.unsubscribe(mcpRequest, params), true),
    ],
];
//# sourceMappingURL=rpc.js.map
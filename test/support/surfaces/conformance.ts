import { createHmac, randomBytes } from 'node:crypto';
import { isObject } from '../../../src/core/json.ts';
import { INVALID_PARAMS, type Params, RpcError } from '../../../src/surfaces/jsonrpc/envelope.ts';
import type { Answer } from '../../../src/surfaces/mcp/lifecycle.ts';
import { modernResult } from '../../../src/surfaces/mcp/modern.ts';
import { type Dispatch, openRpc, type RpcOptions } from '../../../src/surfaces/mcp/rpc.ts';
import { MODERN } from './mcp.ts';

/**
 * The tools, resources and prompts that the public conformance suite calls by name. They stand behind the gateway's own
 * gate: HTTP, bearer, version, headers, `_meta` and quota. These fixtures ask the client for input, which the gateway
 * itself never does.
 */
export function withFixtures(options: RpcOptions): Dispatch {
  const ours = openRpc(options);
  return async (method, params, mcpRequest): Promise<Answer> => {
    const isModern = mcpRequest.version === MODERN;
    const added = LISTS[method];
    if (added) {
      const answer = await ours(method, params, mcpRequest);
      if ('error' in answer) return answer;
      const [member, entries] = added;
      const known: unknown[] = Object(answer.result)[member];
      return { result: { ...answer.result, [member]: [...known, ...entries] } };
    }
    const fixture = FIXTURES[method]?.[String(params['name'] ?? params['uri'])];
    if (!fixture) return ours(method, params, mcpRequest);
    await mcpRequest.admit();
    const result = fixture(asked(params));
    return { result: isModern ? modernResult(method, result, { name: 'fixtures', version: options.version }) : result };
  };
}

interface Asked {
  readonly args: Params;
  readonly responses: Params;
  readonly state: string | undefined;
  readonly capabilities: Params;
}

function asked(params: Params): Asked {
  const part = (value: unknown): Params => (isObject(value) ? value : {});
  const { requestState } = params;
  return {
    args: part(params['arguments']),
    responses: part(params['inputResponses']),
    state: typeof requestState === 'string' ? opened(requestState) : undefined,
    capabilities: part(part(params['_meta'])['io.modelcontextprotocol/clientCapabilities']),
  };
}

const KEY = randomBytes(32);
const digest = (text: string): string => createHmac('sha256', KEY).update(text).digest('hex');
const sealed = (text: string): string => `${text}.${digest(text)}`;
function opened(state: string): string {
  const [text = '', mac] = state.split('.');
  if (mac !== digest(text)) throw new RpcError(INVALID_PARAMS, 'The member requestState is not the one that was sent.');
  return text;
}

const text = (said: string): object => ({ content: [{ type: 'text', text: said }] });
const IMAGE = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
const AUDIO = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=';
const image = { type: 'image', data: IMAGE, mimeType: 'image/png' };
const embedded = (uri: string): object => ({ type: 'resource', resource: { uri, mimeType: 'text/plain', text: 'x' } });

const elicit = (message: string, member: string, type = 'string'): object => ({
  method: 'elicitation/create',
  params: { message, requestedSchema: { type: 'object', properties: { [member]: { type } }, required: [member] } },
});
const sampling = {
  method: 'sampling/createMessage',
  params: {
    messages: [{ role: 'user', content: { type: 'text', text: 'What is the capital of France?' } }],
    maxTokens: 9,
  },
};
const roots = { method: 'roots/list', params: {} };
const NAME = { user_name: elicit('What is your name?', 'name') };
const OK = { confirm: elicit('Please confirm', 'ok', 'boolean') };
const MANY = { ...NAME, greeting: sampling, client_roots: roots };

const ask = (inputRequests: object, state?: string): object => ({
  resultType: 'input_required',
  inputRequests,
  ...(state !== undefined && { requestState: sealed(state) }),
});
/** Asks for `requests` until all have an answer, and, with `state`, until the client sends the state back. */
const needs =
  (requests: object, done: object = text('done'), state?: string) =>
  (given: Asked): object =>
    Object.keys(requests).every((key) => isObject(given.responses[key])) && given.state === state
      ? done
      : ask(requests, state);

type Fixture = (given: Asked) => object;

const TOOLS: Readonly<Record<string, Fixture>> = {
  test_simple_text: () => text('This is a simple text response for testing.'),
  test_image_content: () => ({ content: [image] }),
  test_audio_content: () => ({ content: [{ type: 'audio', data: AUDIO, mimeType: 'audio/wav' }] }),
  test_embedded_resource: () => ({ content: [embedded('test://embedded-resource')] }),
  test_multiple_content_types: () => ({
    content: [{ type: 'text', text: 'Multiple content types test:' }, image, embedded('test://mixed-content-resource')],
  }),
  test_error_handling: () => ({ ...text('This tool intentionally returns an error for testing'), isError: true }),
  test_logging_tool: () => text('No log, because the request names no level.'),
  test_streaming_elicitation: needs(NAME),
  test_missing_capability({ capabilities }) {
    if (isObject(capabilities['sampling'])) return text('sampling');
    throw new RpcError(-32021, 'The client must declare sampling.', { requiredCapabilities: { sampling: {} } });
  },
  test_input_required_result_elicitation: needs(NAME),
  test_input_required_result_sampling: needs({ capital_question: sampling }),
  test_input_required_result_list_roots: needs({ client_roots: roots }),
  test_input_required_result_request_state: needs(OK, text('state-ok'), 'asked'),
  test_input_required_result_tampered_state: needs(OK, text('state-ok'), 'asked'),
  test_input_required_result_multiple_inputs: needs(MANY, text('done'), 'asked'),
  test_input_required_result_multi_round({ state }) {
    if (state === undefined) return ask({ step1: elicit('Step 1: What is your name?', 'name') }, 'first');
    if (state === 'first') return ask({ step2: elicit('Step 2: What is your favorite color?', 'color') }, 'second');
    return text('done');
  },
  test_input_required_result_capabilities: ({ capabilities }) =>
    ask({
      ...(isObject(capabilities['sampling']) && { greeting: sampling }),
      ...(isObject(capabilities['elicitation']) && NAME),
    }),
};

const says = (...contents: object[]): object => ({ messages: contents.map((content) => ({ role: 'user', content })) });
const said = (words: string): object => ({ type: 'text', text: words });

const PROMPTS: Readonly<Record<string, Fixture>> = {
  test_simple_prompt: () => says(said('This is a simple prompt for testing.')),
  test_prompt_with_arguments: ({ args }) =>
    says(said(`Prompt with arguments: arg1='${args['arg1']}', arg2='${args['arg2']}'`)),
  test_prompt_with_embedded_resource: ({ args }) =>
    says(embedded(String(args['resourceUri'])), said('Please process the embedded resource above.')),
  test_prompt_with_image: () => says(image, said('Please analyze the image above.')),
  test_input_required_result_prompt: needs({ user_context: elicit('What context?', 'context') }, says(said('x'))),
};
const ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  test_prompt_with_arguments: ['arg1', 'arg2'],
  test_prompt_with_embedded_resource: ['resourceUri'],
};

const holds = (uri: string, content: object): Fixture => {
  return () => ({ contents: [{ uri, ...content }] });
};
const RESOURCES: Readonly<Record<string, Fixture>> = {
  'test://static-text': holds('test://static-text', { mimeType: 'text/plain', text: 'The static text.' }),
  'test://static-binary': holds('test://static-binary', { mimeType: 'image/png', blob: IMAGE }),
  'test://template/123/data': holds('test://template/123/data', {
    mimeType: 'application/json',
    text: JSON.stringify({ id: '123', templateTest: true, data: 'Data for ID: 123' }),
  }),
};

const FIXTURES: Readonly<Record<string, Readonly<Record<string, Fixture>>>> = {
  'tools/call': TOOLS,
  'prompts/get': PROMPTS,
  'resources/read': RESOURCES,
};
const LISTS: Readonly<Record<string, readonly [string, readonly object[]]>> = {
  'tools/list': [
    'tools',
    Object.keys(TOOLS).map((name) => ({ name, description: 'A fixture.', inputSchema: { type: 'object' } })),
  ],
  'prompts/list': [
    'prompts',
    Object.keys(PROMPTS).map((name) => ({
      name,
      description: 'A fixture.',
      arguments: (ARGUMENTS[name] ?? []).map((argument) => ({ name: argument, required: true })),
    })),
  ],
  'resources/list': ['resources', Object.keys(RESOURCES).map((uri) => ({ uri, name: uri }))],
  'resources/templates/list': ['resourceTemplates', [{ uriTemplate: 'test://template/{id}/data', name: 'template' }]],
};

import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
const Settings = z.object({
    AGENT_API: z.enum(['openai', 'anthropic']),
    // The reports tell the address, and a user part can hold a secret.
    AGENT_BASE_URL: z
        .url({ protocol: /^https?$/ })
        .refine((url) => !/^https?:\/\/[^/?#]*@/i.test(url), 'an address without a user part'),
    AGENT_API_KEY: z.string().default(''),
    AGENT_MODEL: z.string().min(1),
    AGENT_TURNS: z.coerce.number().int().min(1).max(100).default(20),
    AGENT_SECONDS: z.coerce.number().min(0.1).max(3_600).default(180),
});
/** Undefined if the environment names no model. */
export function modelOf(env) {
    // Without its interface, the figures of the scripted solver would pass for those of the model.
    if (env['AGENT_API'] === undefined && env['AGENT_BASE_URL'] === undefined && env['AGENT_MODEL'] === undefined) {
        return undefined;
    }
    const { success, data, error } = Settings.safeParse(env);
    if (!success)
        throw new Error(error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '));
    return {
        api: data.AGENT_API,
        baseUrl: data.AGENT_BASE_URL.replace(/\/$/, ''),
        key: data.AGENT_API_KEY,
        model: data.AGENT_MODEL,
        turns: data.AGENT_TURNS,
        seconds: data.AGENT_SECONDS,
    };
}
const ArgumentsObject = z.record(z.string(), z.unknown());
const objectOf = (value) => ArgumentsObject.safeParse(value).data;
const parsed = (text) => {
    try {
        return JSON.parse(text);
    }
    catch {
        return undefined; // the model is told that its arguments are no JSON
    }
};
const count = z.number().nullish();
const Choice = z.object({
    finish_reason: z.string().nullish(),
    message: z.looseObject({
        content: z.string().nullish(),
        refusal: z.string().nullish(),
        tool_calls: z
            .array(z.looseObject({ id: z.string(), function: z.looseObject({ name: z.string(), arguments: z.string() }) }))
            .nullish(),
    }),
});
const OpenAiReply = z.object({
    choices: z.tuple([Choice]).rest(z.unknown()),
    usage: z.object({ prompt_tokens: count, completion_tokens: count }).nullish(),
});
const AnthropicReply = z.object({
    content: z.array(z.union([
        z.looseObject({ type: z.literal('text'), text: z.string() }),
        z.looseObject({ type: z.literal('tool_use'), id: z.string(), name: z.string(), input: z.unknown() }),
        z.looseObject({ type: z.string() }),
    ])),
    stop_reason: z.string().nullish(),
    usage: z
        .object({
        input_tokens: count,
        cache_creation_input_tokens: count,
        cache_read_input_tokens: count,
        output_tokens: count,
    })
        .nullish(),
});
const DIALECTS = {
    openai: {
        path: '/chat/completions',
        headers: (key) => ({ Authorization: `Bearer ${key}` }),
        body: (model, system, messages, tools) => ({
            model,
            messages: [{ role: 'system', content: system }, ...messages],
            tools: tools.map(({ name, description, inputSchema: parameters }) => ({
                type: 'function',
                function: { name, description, parameters },
            })),
        }),
        read: (reply) => {
            const { choices: [{ message, finish_reason }], usage, } = OpenAiReply.parse(reply);
            return {
                text: message.content ?? '',
                wanted: (message.tool_calls ?? []).map(({ id, function: { name, arguments: args } }) => ({
                    ...{ id, name },
                    args: objectOf(parsed(args || '{}')),
                })),
                hasRefused: typeof message.refusal === 'string' || finish_reason === 'content_filter',
                input: usage?.prompt_tokens ?? 0,
                output: usage?.completion_tokens ?? 0,
                message: { role: 'assistant', ...message },
            };
        },
        results: (answers) => answers.map(({ id, text }) => ({ role: 'tool', tool_call_id: id, content: text })),
    },
    anthropic: {
        path: '/v1/messages',
        headers: (key) => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' }),
        body: (model, system, messages, tools) => ({
            ...{ model, system, messages, max_tokens: 4_096 },
            tools: tools.map(({ name, description, inputSchema: input_schema }) => ({ name, description, input_schema })),
        }),
        read: (reply) => {
            const { content, stop_reason, usage } = AnthropicReply.parse(reply);
            const { input_tokens, cache_creation_input_tokens: made, cache_read_input_tokens: cached } = usage ?? {};
            return {
                text: content.map((part) => ('text' in part && typeof part.text === 'string' ? part.text : '')).join('\n'),
                wanted: content.flatMap((part) => part.type === 'tool_use' && 'input' in part
                    ? [{ id: String(part['id']), name: String(part['name']), args: objectOf(part.input) }]
                    : []),
                hasRefused: stop_reason === 'refusal',
                input: (input_tokens ?? 0) + (made ?? 0) + (cached ?? 0),
                output: usage?.output_tokens ?? 0,
                message: { role: 'assistant', content },
            };
        },
        results: (answers) => [
            {
                role: 'user',
                content: answers.map(({ id, text, isError }) => ({
                    ...{ type: 'tool_result', tool_use_id: id, content: text },
                    is_error: isError,
                })),
            },
        ],
    },
};
const RULES = `You answer questions of a shop's support team with the tools. Do what the user asks, and nothing else.
End your last message with one line that begins with "Answer:" and holds all that the user asked for,
in at most 1,000 characters.`;
const TRIES = 3;
const LONGEST_WAIT = 20_000;
/** Sends a request again if the model's server is busy. Any other failure ends the attempt. */
async function posted(model, dialect, body, signal) {
    for (let tried = 1;; tried++) {
        const response = await fetch(`${model.baseUrl}${dialect.path}`, {
            method: 'POST',
            headers: { 'Content-Type': 'application/json', ...dialect.headers(model.key) },
            body: JSON.stringify(body),
            signal,
        });
        const text = await response.text();
        if (response.ok)
            return JSON.parse(text);
        const isBusy = response.status === 429 || response.status >= 500;
        if (!isBusy || tried === TRIES)
            throw new Error(`status ${response.status}: ${text.slice(0, 200)}`);
        const wait = Number(response.headers.get('retry-after') ?? tried) * 1_000;
        await pause(Math.min(Number.isFinite(wait) ? wait : 1_000, LONGEST_WAIT), undefined, { signal });
    }
}
/** Lets a model use the tools until it answers. Whatever goes wrong ends this attempt only, and is told. */
export const asking = (model) => async ({ host, ask }) => {
    const dialect = DIALECTS[model.api];
    const signal = AbortSignal.timeout(model.seconds * 1_000);
    const system = [host.instructions, RULES].filter(Boolean).join('\n\n');
    const messages = [{ role: 'user', content: ask }];
    const tokens = { input: 0, output: 0 };
    let malformed = 0;
    const late = aborted(signal);
    const told = (end, message, fault) => ({
        ...{ end, message, tokens, malformed },
        ...(fault !== undefined && { fault: model.key === '' ? fault : fault.replaceAll(model.key, '***') }),
    });
    try {
        for (let turn = 0; turn < model.turns; turn++) {
            const reply = dialect.read(await posted(model, dialect, dialect.body(model.model, system, messages, host.tools), signal));
            tokens.input += reply.input;
            tokens.output += reply.output;
            if (reply.hasRefused)
                return told('refused', '', 'the model refused');
            if (reply.wanted.length === 0) {
                return reply.text.trim() === ''
                    ? told('failed', '', 'neither a text nor a call')
                    : told('answered', reply.text);
            }
            const answers = [];
            for (const { id, name, args } of reply.wanted) {
                signal.throwIfAborted();
                if (!args)
                    malformed++;
                const answer = args
                    ? await Promise.race([host.call(name, args), late])
                    : { text: 'The arguments are not a JSON object.', isError: true };
                answers.push({ id, ...answer });
            }
            messages.push(reply.message, ...dialect.results(answers));
        }
        return told('turns', '', `no answer after ${model.turns} replies`);
    }
    catch (error) {
        if (signal.aborted)
            return told('timeout', '', `no answer after ${model.seconds} s`);
        return told('failed', '', error instanceof Error ? error.message : String(error));
    }
};
function aborted(signal) {
    const end = new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    // Nobody may be waiting when the time is over.
    end.catch(() => undefined);
    return end;
}
//# sourceMappingURL=driver.js.map